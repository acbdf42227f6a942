//! The neutral primitive ops on the lanes of a warp.

use tilewright_ir::interp::RunError;
use tilewright_ir::interp::resolve::{RArg, RPlace, RPrim};
use tilewright_ir::{Code, Diagnostic, Space, Span};
use tilewright_target::VectorSpace;

use crate::intrinsic::LaneCtx;
use crate::sched::{At, Cta, Machine};
use crate::trace::{Access, Move};
use crate::warp::{Flow, Wait, Warp, lanes_of};

pub(crate) type Res<T> = Result<T, RunError>;

pub(crate) fn fault<T>(code: Code, span: Span, message: impl Into<String>) -> Res<T> {
    Err(Diagnostic::error(code, span, message))
}

pub(crate) fn expr_arg<'a, 'k>(
    op: &'a RPrim<'k>,
    n: usize,
    span: Span,
) -> Res<&'a tilewright_ir::interp::typed::RExpr> {
    match op.args.get(n) {
        Some(RArg::Expr(e)) => Ok(e),
        _ => fault(Code::OP_OPERANDS, span, format!("operand {n} of `{}` must be a scalar", op.op.op)),
    }
}

pub(crate) fn place_arg<'a, 'k>(op: &'a RPrim<'k>, n: usize, span: Span) -> Res<&'a RPlace> {
    match op.args.get(n) {
        Some(RArg::Place(p)) => Ok(p),
        _ => fault(Code::OP_OPERANDS, span, format!("operand {n} of `{}` must be a place", op.op.op)),
    }
}

impl<'r, 'k> Machine<'r, 'k> {
    /// Executes a primitive op for the active lanes of a warp.
    pub(crate) fn prim(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp<'r, 'k>,
        op: &'r RPrim<'k>,
        mask: u64,
        span: Span,
    ) -> Res<Flow> {
        match op.op.op.as_str() {
            "vec.copy" => self.vec_copy(cta, warp, op, mask, span)?,
            "barrier" => return self.barrier(cta, warp, op.op.attr_sym("scope").unwrap_or("cta"), mask, span),
            "fence.acquire" | "fence.release" => {}
            "mem.wait_eq" => return self.wait_eq(cta, warp, op, mask, span),
            "nv.ldmatrix" => self.matrix(cta, warp, op, mask, true, span)?,
            "nv.stmatrix" => self.matrix(cta, warp, op, mask, false, span)?,
            name if name.starts_with("sdma.") => return self.engine_op(cta, warp, op, mask, span),
            name => match self.options.intrinsics.find(name) {
                Some(run) => run(&mut LaneCtx { machine: self, cta, warp, op, mask, span })?,
                None => return fault(Code::UNKNOWN_OP, span, format!("nobody says what `{name}` does on lanes")),
            },
        }
        Ok(Flow::Next)
    }

    fn vec_copy(&mut self, cta: &mut Cta, warp: &mut Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<()> {
        let (dst, src) = (place_arg(op, 0, span)?, place_arg(op, 1, span)?);
        let n = op.op.attr_int("n").unwrap_or(1);
        let dtype = self.k.buffers[dst.buf].dtype;
        let bits = i64::from(dtype.bits());
        if self.k.buffers[src.buf].dtype.bits() != dtype.bits()
            || ![8, 16, 32, 64, 128].contains(&n.saturating_mul(bits))
        {
            let from = self.k.buffers[src.buf].dtype;
            return fault(Code::OP_OPERANDS, span, format!("{n} elements from {from} to {dtype} are no access"));
        }
        let bytes = n * bits / 8;
        let align = op.op.attr_int("align").filter(|a| *a > 0).unwrap_or(bytes);
        self.check_width(dst, bytes, span)?;
        self.check_width(src, bytes, span)?;
        // All lanes read before any of them writes: they are in lockstep.
        let mut values: Vec<(At, [u8; 16])> = Vec::with_capacity(mask.count_ones() as usize);
        let mut moves = Vec::new();
        let (to, from) = (self.points(cta, warp, dst, mask, span)?, self.points(cta, warp, src, mask, span)?);
        for lane in lanes_of(mask) {
            let from = self.locate(cta, warp, src, from.of(lane), n, span)?;
            let to = self.locate(cta, warp, dst, to.of(lane), n, span)?;
            self.check_align(warp, src, from, align, lane, span)?;
            self.check_align(warp, dst, to, align, lane, span)?;
            let start = (from.element * bits / 8) as usize;
            let mut value = [0u8; 16];
            let Some(data) = self.data(cta, warp, from).get(start..start + bytes as usize) else {
                return fault(Code::INTERNAL, span, "access that was in bounds is not there");
            };
            value[..bytes as usize].copy_from_slice(data);
            values.push((to, value));
            if self.trace.is_some() {
                moves.push(Move { lane, to: to.element, from: from.element, n });
            }
        }
        self.note(cta, warp, |k| Access {
            op: "vec.copy".to_owned(),
            buffers: [dst.buf, src.buf].map(|b| k.buffers[b].name.to_string()),
            rows: Vec::new(),
            moves,
        });
        for (to, value) in values {
            let start = (to.element * bits / 8) as usize;
            let Some(data) = self.data_mut(cta, warp, to).get_mut(start..start + bytes as usize) else {
                return fault(Code::INTERNAL, span, "access that was in bounds is not there");
            };
            data.copy_from_slice(&value[..bytes as usize]);
        }
        Ok(())
    }

    /// Does the target have accesses this wide?
    fn check_width(&self, place: &RPlace, bytes: i64, span: Span) -> Res<()> {
        let b = &self.k.buffers[place.buf];
        let space = match b.space {
            Space::Local => return Ok(()),
            Space::Shared => VectorSpace::Shared,
            Space::Global | Space::Window => VectorSpace::Global,
        };
        let most = i64::from(self.target.max_vector_bytes(space));
        if bytes > most {
            let message = format!("access of {bytes} bytes to `{}`, {} has at most {most}", b.name, self.target.name);
            return fault(Code::OP_OPERANDS, span, message);
        }
        Ok(())
    }

    /// Memory operands are aligned to `align` bytes; elements of sub-byte types start at a byte everywhere.
    fn check_align(&self, warp: &Warp<'_, '_>, place: &RPlace, at: At, align: i64, lane: u32, span: Span) -> Res<()> {
        let b = &self.k.buffers[place.buf];
        let bit = at.element * i64::from(b.dtype.bits());
        // Device memory comes from allocators that align to 256 bytes and more (see `BufferTy::align_bytes`).
        let base = if b.space.is_device_memory() { i64::from(b.align).max(256) } else { i64::from(b.align) };
        let in_memory = b.space != Space::Local;
        if bit % 8 != 0 || (in_memory && (bit / 8 % align != 0 || base % align != 0)) {
            let message = format!(
                "thread {} accesses byte {} of `{}`, which must be aligned to {align} bytes (the buffer is to {base})",
                warp.first + lane,
                bit / 8,
                b.name
            );
            return fault(Code::OP_OPERANDS, span, message);
        }
        Ok(())
    }

    pub(crate) fn barrier(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp<'r, 'k>,
        scope: &str,
        mask: u64,
        span: Span,
    ) -> Res<Flow> {
        if mask != warp.full {
            let message = format!(
                "barrier of scope {scope} is reached by {} of {} lanes of warp {}",
                mask.count_ones(),
                warp.full.count_ones(),
                warp.number
            );
            return fault(Code::COLLECTIVE_UNDER_GUARD, span, message);
        }
        let number = warp.number as usize;
        let (barrier, index) = match scope {
            "warp" => return Ok(Flow::Next),
            "warpgroup" => (cta.warpgroups.get_mut(number / 4), number % 4),
            _ => (Some(&mut cta.barrier), number),
        };
        let Some(barrier) = barrier else { return fault(Code::INTERNAL, span, "warp without a warpgroup") };
        // Stage 0: not come yet. Otherwise one more than the generation in which it came.
        if warp.stage == 0 {
            let came = barrier.generation;
            if barrier.arrive(index) {
                return Ok(Flow::Next);
            }
            warp.stage = came.wrapping_add(1).max(1);
        } else if barrier.generation.wrapping_add(1).max(1) != warp.stage {
            return Ok(Flow::Next);
        }
        Ok(Flow::Wait(Wait::Barrier { scope: scope.to_owned() }))
    }

    fn wait_eq(&mut self, cta: &mut Cta, warp: &mut Warp<'r, 'k>, op: &RPrim<'k>, mask: u64, span: Span) -> Res<Flow> {
        let (place, value) = (place_arg(op, 0, span)?, expr_arg(op, 1, span)?);
        let b = &self.k.buffers[place.buf];
        let bits = b.dtype.bits();
        if !b.space.is_device_memory() || (bits != 32 && bits != 64) {
            return fault(Code::OP_OPERANDS, span, format!("`{}` is no 32- or 64-bit device memory", b.name));
        }
        let points = self.points(cta, warp, place, mask, span)?;
        for lane in lanes_of(mask) {
            let at = self.locate(cta, warp, place, points.of(lane), 1, span)?;
            let want = warp.eval(value, lane) & (u64::MAX >> (64 - bits));
            if self.get(cta, warp, at, b.dtype, span)? != want {
                let what = format!("`{}![{}]` in thread {}", b.name, at.element, warp.first + lane);
                return Ok(Flow::Wait(Wait::Flag { what }));
            }
        }
        Ok(Flow::Next)
    }
}
