//! Primitive ops. Rules, all from the op's row:
//! - the op exists; it has as many operands as its row, each of its kind; places are flat;
//! - values have the dtype of the first place; operands of copy engines are windows;
//! - attributes are those of the row, of their kind, each once; required ones are there;
//! - a result is named only for ops that have one;
//! - a `vec.copy` is one access on both sides;
//! - collective ops are reached by whole groups.

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::dtype::DType;
use crate::env::Entity;
use crate::op::{ArgKind, AttrKind, OPS, OpRow, Order};
use crate::space::{Scope, Space};
use crate::span::Span;
use crate::stmt::{AttrValue, Place, PlaceIndex, PrimArg, PrimOp};
use crate::types::{expect_integral, expect_lsa_rank, expect_value, nearest};

impl Checker<'_> {
    pub(super) fn prim(&mut self, op: &PrimOp, span: Span) {
        let Some(row) = self.ops.find(op.op.as_str()).copied() else {
            let d = Diagnostic::error(Code::UNKNOWN_OP, span, format!("there is no op `{}`", op.op));
            let known = OPS.iter().chain(self.ops.extra).map(|r| r.name);
            let near = nearest(op.op.as_str(), known).map(str::to_owned);
            return self.report(match near {
                Some(n) => d.help(format!("did you mean `{n}`?")),
                None => d.help("`tilewright explain ops` lists them"),
            });
        };
        self.operands(op, &row, span);
        self.op_attrs(op, &row, span);
        if row.name == "vec.copy" {
            self.access(op, span);
        }
        if row.name.starts_with("sdma.") {
            self.engine_op(op, &row, span);
        }
        if op.result.is_some() && row.result.is_none() {
            let d = Diagnostic::error(Code::OP_OPERANDS, span, format!("`{}` has no result", row.name));
            self.report(d.help("write it as a statement"));
        }
        if row.warp_collective {
            let scope = match (row.order, op.attr_sym("scope").and_then(Scope::parse)) {
                (Order::Barrier, Some(scope)) => scope,
                _ => Scope::Warp,
            };
            self.whole_groups(&format!("`{}`", row.name), scope, span);
        }
    }

    /// `vec.copy`: both sides have elements of one size, `n` of them are one access, and a position that is known is
    /// aligned to it.
    fn access(&mut self, op: &PrimOp, span: Span) {
        let Some(n) = op.attr_int("n").filter(|n| (1..=256).contains(n)) else { return };
        let mut sides = Vec::new();
        for arg in &op.args {
            if let PrimArg::Place(Place { buf, index: PlaceIndex::Flat(e), .. }) = arg
                && let Some(ty) = self.env.buffer(buf)
            {
                let at = self.value(e).and_then(|d| d.as_const());
                sides.push((buf.clone(), ty.dtype, ty.space, at));
            }
        }
        let bad = |message: String, help: &str| Diagnostic::error(Code::OP_OPERANDS, span, message).help(help);
        if let [(to, a, ..), (from, b, ..)] = &sides[..]
            && a.bits() != b.bits()
        {
            let message = format!("`{to}` has elements of {} bits, `{from}` of {}", a.bits(), b.bits());
            return self.report(bad(message, "`vec.copy` moves elements as they are; use `cast` to convert"));
        }
        for (buf, dtype, space, at) in sides {
            let bits = n.saturating_mul(i64::from(dtype.bits()));
            if !(4..=256).contains(&bits) || bits & (bits - 1) != 0 {
                let message = format!("{n} elements of {dtype} are {bits} bits, which is no access");
                return self.report(bad(message, "an access has 8, 16, 32, 64 or 128 bits"));
            }
            let align = op.attr_int("align").unwrap_or(bits / 8).max(1);
            let Some(byte) = at.and_then(|i| i.checked_mul(i64::from(dtype.bits()))).map(|b| b / 8) else { continue };
            if space != Space::Local && byte % align != 0 {
                let message = format!("byte {byte} of `{buf}` is not a multiple of {align}");
                self.report(bad(message, "move fewer elements at once, or write `align = …`"));
            }
        }
    }

    fn operands(&mut self, op: &PrimOp, row: &OpRow, span: Span) {
        let most = row.args.len() + row.rest.map_or(0, |(_, n)| n);
        let got = op.args.len();
        if got < row.args.len() || got > most {
            let want = if most == row.args.len() { most.to_string() } else { format!("{} to {most}", row.args.len()) };
            let message = format!("`{}` takes {want} operands, found {got}", row.name);
            return self.report(Diagnostic::error(Code::OP_OPERANDS, span, message).help(row.doc));
        }
        let mut dtype = op.args.iter().find_map(|a| match a {
            PrimArg::Place(p) => self.env.buffer(&p.buf).map(|b| b.dtype),
            PrimArg::Expr(_) => None,
        });
        let kinds =
            row.args.iter().copied().chain(std::iter::repeat_n(row.rest.map_or(ArgKind::Int, |(k, _)| k), most));
        for (i, (arg, kind)) in op.args.iter().zip(kinds).enumerate() {
            self.operand_kind(row, i, arg, kind, &mut dtype, span);
        }
    }

    fn operand_kind(
        &mut self,
        row: &OpRow,
        i: usize,
        arg: &PrimArg,
        kind: ArgKind,
        dtype: &mut Option<DType>,
        span: Span,
    ) {
        let wants_place = kind.is_place();
        let wrong = |found: &str, want: &str| {
            let message = format!("operand {} of `{}` is {found}", i + 1, row.name);
            Diagnostic::error(Code::OP_OPERANDS, span, message).help(format!("it takes {want}"))
        };
        match arg {
            PrimArg::Place(place) if wants_place => {
                if !matches!(place.index, PlaceIndex::Flat(_)) {
                    return self.report(wrong("named by a logical index", "a place `buffer![flat]`"));
                }
                let Some(ty) = self.place(place) else { return };
                dtype.get_or_insert(ty.dtype);
                let engine = matches!(kind, ArgKind::EngineRead | ArgKind::EngineWrite);
                if engine && ty.space != Space::Window {
                    self.report(wrong(&format!("in {} memory", ty.space), "a place in a window"));
                }
                let any = matches!(kind, ArgKind::EngineReadPtr | ArgKind::EngineWritePtr);
                if any && !ty.space.is_device_memory() {
                    self.report(wrong(&format!("in {} memory", ty.space), "a place in a window or in global memory"));
                }
            }
            PrimArg::Place(_) => self.report(wrong("a place", "a value")),
            PrimArg::Expr(e) if wants_place => {
                let is_buffer = match &e.kind {
                    crate::ExprKind::Var(n) => matches!(self.env.lookup(n), Some(Entity::Buffer(_))),
                    _ => false,
                };
                self.report(wrong(if is_buffer { "a buffer" } else { "a value" }, "a place `buffer![flat]`"));
            }
            PrimArg::Expr(e) => match (kind, *dtype) {
                (ArgKind::Rank, _) => {
                    self.check(e, expect_lsa_rank);
                }
                (ArgKind::Value, Some(d)) => {
                    self.check(e, |e, env| expect_value(e, d, env));
                }
                (ArgKind::Value, None) => {
                    self.ty(e);
                }
                _ => {
                    self.check(e, expect_integral);
                }
            },
        }
    }

    fn op_attrs(&mut self, op: &PrimOp, row: &OpRow, span: Span) {
        for (i, (name, value)) in op.attrs.iter().enumerate() {
            let Some(attr) = row.attrs.iter().find(|a| name == a.name) else {
                let known: Vec<&str> = row.attrs.iter().map(|a| a.name).collect();
                let d = Diagnostic::error(Code::BAD_ATTR, span, format!("`{}` has no attribute `{name}`", row.name));
                let list = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                self.report(d.help(format!("it has {list}")));
                continue;
            };
            if op.attrs[..i].iter().any(|(n, _)| n == name) {
                let message = format!("attribute `{name}` of `{}` is given twice", row.name);
                self.report(Diagnostic::error(Code::BAD_ATTR, span, message));
            }
            let fits = match (attr.kind, value) {
                (AttrKind::Int(lo, hi), AttrValue::Int(v)) => (lo..=hi).contains(v),
                (AttrKind::Bool, AttrValue::Bool(_)) => true,
                (AttrKind::Sym(words), AttrValue::Sym(v)) => words.iter().any(|w| v == w),
                _ => false,
            };
            if !fits {
                let want = match attr.kind {
                    AttrKind::Int(lo, hi) => format!("an integer in {lo}..={hi}"),
                    AttrKind::Bool => "true or false".to_owned(),
                    AttrKind::Sym(words) => format!("one of {}", words.join(", ")),
                };
                let shown = match value {
                    AttrValue::Int(v) => v.to_string(),
                    AttrValue::Bool(v) => v.to_string(),
                    AttrValue::Sym(v) => v.to_string(),
                };
                let message = format!("attribute `{name}` of `{}` is {shown}", row.name);
                self.report(Diagnostic::error(Code::BAD_ATTR, span, message).help(format!("it takes {want}")));
            }
        }
        for attr in row.attrs.iter().filter(|a| a.required && op.attr(a.name).is_none()) {
            let message = format!("`{}` lacks the attribute `{}`", row.name, attr.name);
            self.report(Diagnostic::error(Code::BAD_ATTR, span, message));
        }
    }
}
