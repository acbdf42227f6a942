//! Ops that a backend (or an out-of-tree crate) brings along: what they do on the lanes of a warp, as closures.

use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use tilewright_ir::interp::resolve::{RArg, RPrim};
use tilewright_ir::interp::{get_bits, put_bits};
use tilewright_ir::{AttrValue, Code, DType, Diagnostic, Span};

use crate::sched::{At, Cta, Machine};
use crate::warp::Warp;

/// The lane semantics of one op.
pub type Intrinsic = dyn Fn(&mut LaneCtx<'_, '_, '_>) -> Result<(), Diagnostic> + Send + Sync;

/// Ops by name. A neutral op cannot be replaced: the executor's own come first.
#[derive(Clone, Default)]
pub struct Intrinsics {
    ops: IndexMap<String, Arc<Intrinsic>>,
}

impl fmt::Debug for Intrinsics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ops.keys()).finish()
    }
}

impl Intrinsics {
    /// No ops.
    pub fn new() -> Intrinsics {
        Intrinsics::default()
    }

    /// Adds an op, executed once for the active lanes of a warp together.
    pub fn add(
        &mut self,
        name: &str,
        op: impl Fn(&mut LaneCtx<'_, '_, '_>) -> Result<(), Diagnostic> + Send + Sync + 'static,
    ) {
        self.ops.insert(name.to_owned(), Arc::new(op));
    }

    /// All of `other` as well; where both have an op, `other`'s is taken.
    pub fn extend(&mut self, other: &Intrinsics) {
        self.ops.extend(other.ops.iter().map(|(name, op)| (name.clone(), op.clone())));
    }

    pub(crate) fn find(&self, name: &str) -> Option<Arc<Intrinsic>> {
        self.ops.get(name).cloned()
    }
}

/// What an op sees: the active lanes of one warp, its operands, memory.
pub struct LaneCtx<'a, 'r, 'k> {
    pub(crate) machine: &'a mut Machine<'r, 'k>,
    pub(crate) cta: &'a mut Cta,
    pub(crate) warp: &'a mut Warp<'r, 'k>,
    pub(crate) op: &'r RPrim<'k>,
    pub(crate) mask: u64,
    pub(crate) span: Span,
}

impl LaneCtx<'_, '_, '_> {
    /// Numbers of the active lanes, ascending.
    pub fn lanes(&self) -> Vec<u32> {
        (0..64).filter(|l| self.mask >> l & 1 == 1).collect()
    }

    /// Are all lanes of the warp active?
    pub fn is_whole_warp(&self) -> bool {
        self.mask == self.warp.full
    }

    /// Lanes of a warp.
    pub fn warp_size(&self) -> u32 {
        self.machine.k.warp
    }

    /// This rank.
    pub fn rank(&self) -> usize {
        self.cta.rank
    }

    /// An attribute as written.
    pub fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.op.op.attr(name)
    }

    /// Value of scalar operand `arg` in a lane, in canonical bits.
    ///
    /// # Errors
    /// `TW0026` if there is no such operand.
    pub fn value(&self, arg: usize, lane: u32) -> Result<u64, Diagnostic> {
        match self.op.args.get(arg) {
            Some(RArg::Expr(e)) if self.exists(lane) => Ok(self.warp.eval(e, lane)),
            _ => Err(self.operand(arg)),
        }
    }

    /// Bits of the element `offset` elements behind place operand `arg` of a lane.
    ///
    /// # Errors
    /// `TW0013` outside the buffer, `TW0026` if there is no such operand.
    pub fn read(&mut self, arg: usize, lane: u32, offset: i64) -> Result<u64, Diagnostic> {
        let (at, dtype) = self.place(arg, lane, offset)?;
        let data = self.machine.data(self.cta, self.warp, at);
        get_bits(data, dtype, at.element).ok_or_else(|| self.operand(arg))
    }

    /// Writes the element `offset` elements behind place operand `arg` of a lane.
    ///
    /// # Errors
    /// As `read`.
    pub fn write(&mut self, arg: usize, lane: u32, offset: i64, bits: u64) -> Result<(), Diagnostic> {
        let (at, dtype) = self.place(arg, lane, offset)?;
        let data = self.machine.data_mut(self.cta, self.warp, at);
        put_bits(data, dtype, at.element, bits).ok_or_else(|| self.operand(arg))
    }

    /// Byte offset in its buffer of the element at place operand `arg` of a lane; for alignment checks.
    ///
    /// # Errors
    /// As `read`.
    pub fn byte_offset(&mut self, arg: usize, lane: u32) -> Result<i64, Diagnostic> {
        let (at, dtype) = self.place(arg, lane, 0)?;
        Ok(at.element * i64::from(dtype.bits()) / 8)
    }

    /// Sets the op's result in a lane, in canonical bits; nothing if the op has none.
    pub fn set_result(&mut self, lane: u32, bits: u64) {
        if let Some(slot) = self.op.result.filter(|_| self.exists(lane)) {
            self.warp.set(lane, slot, bits);
        }
    }

    /// A fault at this statement.
    pub fn error(&self, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::error(code, self.span, message)
    }

    fn exists(&self, lane: u32) -> bool {
        lane < 64 && self.warp.full >> lane & 1 == 1
    }

    /// Place operand `arg` of a lane.
    fn place(&self, arg: usize, lane: u32, offset: i64) -> Result<(At, DType), Diagnostic> {
        match self.op.args.get(arg) {
            Some(RArg::Place(p)) if self.exists(lane) => {
                let mut point = self.machine.points(self.cta, self.warp, p, 1 << lane, self.span)?.of(lane);
                point.element = point.element.wrapping_add(offset);
                let at = self.machine.locate(self.cta, self.warp, p, point, 1, self.span)?;
                Ok((at, self.machine.k.buffers[p.buf].dtype))
            }
            _ => Err(self.operand(arg)),
        }
    }

    fn operand(&self, arg: usize) -> Diagnostic {
        self.error(Code::OP_OPERANDS, format!("`{}` has no fitting operand {arg}", self.op.op.op))
    }
}
