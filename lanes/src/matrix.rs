//! `nv.ldmatrix` and `nv.stmatrix`: 8x8 matrices of 16-bit elements between shared memory and the registers of a warp.

use tilewright_ir::interp::RunError;
use tilewright_ir::interp::resolve::{RArg, RPlace, RPrim};
use tilewright_ir::{Code, Diagnostic, Space, Span};

use crate::sched::{At, Cta, Machine};
use crate::trace::{Access, Move};
use crate::warp::Warp;

/// Bytes of one row, and the alignment that each must have (PTX: ldmatrix, stmatrix).
const ROW_BYTES: i64 = 16;

impl<'r, 'k> Machine<'r, 'k> {
    /// Executes one of the two ops for a whole warp.
    pub(crate) fn matrix(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp<'r, 'k>,
        op: &RPrim<'k>,
        mask: u64,
        load: bool,
        span: Span,
    ) -> Result<(), RunError> {
        let fault = |code, message: String| Err(Diagnostic::error(code, span, message));
        if self.k.warp != 32 || mask != u64::from(u32::MAX) {
            let message = format!("`{}` is executed by {} of 32 lanes", op.op.op, mask.count_ones());
            return fault(Code::COLLECTIVE_UNDER_GUARD, message);
        }
        let num = op.op.attr_int("num").unwrap_or(1);
        let trans = op.op.attr_bool("trans");
        let Some((memory, registers)) = operands(op) else {
            return fault(Code::OP_OPERANDS, format!("`{}` takes places", op.op.op));
        };
        if ![1, 2, 4].contains(&num) || registers.len() as i64 != num {
            return fault(Code::OP_OPERANDS, format!("{num} matrices with {} register places", registers.len()));
        }
        let b = &self.k.buffers[memory.buf];
        let bits16 = |p: &RPlace| self.k.buffers[p.buf].dtype.bits() == 16;
        if b.space != Space::Shared || !bits16(memory) || !registers.iter().all(|p| bits16(p)) {
            let message = format!("`{}` moves 16-bit elements of shared memory, `{}` is {}", op.op.op, b.name, b.dtype);
            return fault(Code::OP_OPERANDS, message);
        }
        let rows = self.rows(cta, warp, memory, num, span)?;
        // All lanes read before any of them writes.
        let mut moves = Vec::with_capacity(64 * num as usize);
        let mut told = Vec::with_capacity(moves.capacity());
        for (matrix, place) in registers.iter().enumerate() {
            let points = self.points(cta, warp, place, mask, span)?;
            for lane in 0..32u32 {
                let register = self.locate(cta, warp, place, points.of(lane), 2, span)?;
                for e in 0..2 {
                    let (row, column) = (lane as usize / 4, 2 * (i64::from(lane) % 4) + e);
                    let (row, column) = if trans { (column as usize, row as i64) } else { (row, column) };
                    let at = rows[8 * matrix + row];
                    let element = At { element: at.element + column, ..at };
                    let register = At { element: register.element + e, ..register };
                    let (to, from) = if load { (register, element) } else { (element, register) };
                    told.push(Move { lane, to: to.element, from: from.element, n: 1 });
                    moves.push(if load { (register, element) } else { (element, register) });
                }
            }
        }
        let (dtype, name) = (b.dtype, op.op.op.to_string());
        self.note(cta, warp, |k| {
            let names = [registers[0].buf, memory.buf].map(|b| k.buffers[b].name.to_string());
            let [register, memory] = names;
            Access {
                op: name,
                buffers: if load { [register, memory] } else { [memory, register] },
                rows: rows.iter().zip(0..).map(|(at, lane)| (lane, at.element)).collect(),
                moves: told,
            }
        });
        let mut values = Vec::with_capacity(moves.len());
        for (_, from) in &moves {
            values.push(self.get(cta, warp, *from, dtype, span)?);
        }
        for ((to, _), bits) in moves.into_iter().zip(values) {
            self.put(cta, warp, to, dtype, bits, span)?;
        }
        Ok(())
    }

    /// The row addresses that the first `8 * num` lanes give.
    fn rows(&self, cta: &Cta, warp: &Warp<'_, '_>, memory: &RPlace, num: i64, span: Span) -> Result<Vec<At>, RunError> {
        let b = &self.k.buffers[memory.buf];
        let mut rows: Vec<At> = Vec::with_capacity(8 * num as usize);
        let points = self.points(cta, warp, memory, warp.full, span)?;
        for lane in 0..8 * num as u32 {
            let at = self.locate(cta, warp, memory, points.of(lane), 8, span)?;
            if 2 * at.element % ROW_BYTES != 0 || i64::from(b.align) < ROW_BYTES {
                let message = format!(
                    "row address of lane {lane} is byte {} of `{}` (aligned to {}), no multiple of {ROW_BYTES}",
                    2 * at.element,
                    b.name,
                    b.align
                );
                return Err(Diagnostic::error(Code::OP_OPERANDS, span, message));
            }
            rows.push(at);
        }
        Ok(rows)
    }
}

/// The memory place and the register places.
fn operands<'a>(op: &'a RPrim<'_>) -> Option<(&'a RPlace, Vec<&'a RPlace>)> {
    let places: Option<Vec<&RPlace>> = op
        .args
        .iter()
        .map(|a| match a {
            RArg::Place(p) => Some(p),
            RArg::Expr(_) => None,
        })
        .collect();
    let (first, rest) = places?.split_first().map(|(f, r)| (*f, r.to_vec()))?;
    Some((first, rest))
}
