//! Names in scope and what they stand for in LLVM.
//!
//! Must hold: a name bound in a block ends with it; the verifier forbids shadowing, so lookups find one meaning.

use std::collections::BTreeMap;

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

/// Meanings of each name, the innermost last, and what each open block has bound.
#[derive(Default)]
pub(crate) struct Names<'ctx> {
    meanings: BTreeMap<Name, Vec<Meaning<'ctx>>>,
    blocks: Vec<Vec<Name>>,
}

impl<'ctx> Names<'ctx> {
    pub(crate) fn enter(&mut self) {
        self.blocks.push(Vec::new());
    }

    pub(crate) fn leave(&mut self) {
        for name in self.blocks.pop().unwrap_or_default() {
            if let Some(stack) = self.meanings.get_mut(&name) {
                stack.pop();
            }
        }
    }

    pub(crate) fn bind(&mut self, name: &Name, meaning: Meaning<'ctx>) {
        self.meanings.entry(name.clone()).or_default().push(meaning);
        if let Some(block) = self.blocks.last_mut() {
            block.push(name.clone());
        }
    }

    fn find(&self, name: &Name) -> Option<&Meaning<'ctx>> {
        self.meanings.get(name)?.last()
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
