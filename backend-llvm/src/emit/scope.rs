//! Names in scope and what they stand for in LLVM.
//!
//! Must hold: a name bound in a block ends with it; the verifier forbids shadowing, so lookups find one meaning.

use inkwell::values::PointerValue;
use tilewright_ir::{BufferTy, Name, Span};

use super::scalar::Value;
use super::{Error, Result};

/// A buffer.
#[derive(Clone, Debug)]
pub(crate) struct Buffer<'ctx> {
    /// Its type.
    pub(crate) ty: BufferTy,
    /// Its first element; for a window the `ccoWindowDevice`.
    pub(crate) pointer: PointerValue<'ctx>,
}

#[derive(Clone, Debug)]
pub(crate) enum Meaning<'ctx> {
    Value(Value<'ctx>),
    Buffer(Buffer<'ctx>),
}

/// Blocks from the outermost in; few names each, so a search from the end is quick.
#[derive(Default)]
pub(crate) struct Names<'ctx> {
    bound: Vec<(Name, Meaning<'ctx>)>,
    blocks: Vec<usize>,
}

impl<'ctx> Names<'ctx> {
    pub(crate) fn enter(&mut self) {
        self.blocks.push(self.bound.len());
    }

    pub(crate) fn leave(&mut self) {
        if let Some(start) = self.blocks.pop() {
            self.bound.truncate(start);
        }
    }

    pub(crate) fn bind(&mut self, name: &Name, meaning: Meaning<'ctx>) {
        self.bound.push((name.clone(), meaning));
    }

    fn find(&self, name: &Name) -> Option<&Meaning<'ctx>> {
        self.bound.iter().rev().find(|(n, _)| n == name).map(|(_, meaning)| meaning)
    }

    pub(crate) fn value(&self, name: &Name, span: Span) -> Result<Value<'ctx>> {
        match self.find(name) {
            Some(Meaning::Value(value)) => Ok(*value),
            _ => Err(Error::malformed(span, format!("`{}` is no value here", name.as_str()))),
        }
    }

    pub(crate) fn buffer(&self, name: &Name, span: Span) -> Result<Buffer<'ctx>> {
        match self.find(name) {
            Some(Meaning::Buffer(buffer)) => Ok(buffer.clone()),
            _ => Err(Error::malformed(span, format!("`{}` is no buffer here", name.as_str()))),
        }
    }
}
