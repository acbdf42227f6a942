//! The count formulas of signals, from expressions of the IR to what the artifact holds.
//!
//! Must hold: a formula has the value that `tilewright_ir::eval` gives the expression; an expression that the artifact's
//! operations cannot say has no formula.

use tilewright_artifact::{Count, CountOp, CountStep, IntType};
use tilewright_ir::dtype::DTypeClass;
use tilewright_ir::signals::SENDER;
use tilewright_ir::{BinOp, CommField, DType, Expr, ExprKind, Kernel, ScalarTy, Special, UnOp};

/// The formula of an expression over the sender `r`, the communicator and the `where` parameters of `kernel`; `None` if it
/// reads anything else.
pub(crate) fn formula(expr: &Expr, kernel: &Kernel) -> Option<Count> {
    let part = part(expr, kernel)?;
    matches!(part.ty, Ty::Int(_)).then(|| Count::new(part.steps))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ty {
    Bool,
    Int(IntType),
}

const INDEX: Ty = Ty::Int(IntType::INDEX);

/// A subexpression: its steps and type; the number, if it is a literal, which takes the type of the other operand.
struct Part {
    steps: Vec<CountStep>,
    ty: Ty,
    literal: Option<i64>,
}

impl Part {
    fn index(step: CountStep) -> Option<Part> {
        Some(Part { steps: vec![step], ty: INDEX, literal: None })
    }

    fn literal(value: i64) -> Option<Part> {
        Some(Part { steps: vec![CountStep::Int(value)], ty: INDEX, literal: Some(value) })
    }

    /// The same in another type, if it is a literal.
    fn taking(self, ty: IntType) -> Option<Part> {
        self.literal.map(|value| Part { steps: vec![CountStep::Int(ty.cut(value))], ty: Ty::Int(ty), literal: None })
    }
}

fn part(expr: &Expr, kernel: &Kernel) -> Option<Part> {
    match &expr.kind {
        ExprKind::Int(value) => Part::literal(*value),
        ExprKind::Bool(value) => {
            Some(Part { steps: vec![CountStep::Int(i64::from(*value))], ty: Ty::Bool, literal: None })
        }
        ExprKind::Var(name) if name == SENDER => Part::index(CountStep::Sender),
        ExprKind::Var(name) => {
            let found = kernel.wheres.iter().find(|known| known.name == *name)?;
            let steps = vec![CountStep::Where(name.to_string())];
            Some(Part { steps, ty: int_type(ScalarTy::Num(found.dtype))?, literal: None })
        }
        ExprKind::Special(Special::Me) | ExprKind::Comm(_, CommField::LsaRank) => Part::index(CountStep::Receiver),
        ExprKind::Comm(_, CommField::LsaSize) => Part::index(CountStep::LsaSize),
        ExprKind::Comm(_, CommField::WorldSize) => Part::index(CountStep::WorldSize),
        ExprKind::Unary(UnOp::Neg, a) => negated(part(a, kernel)?),
        ExprKind::Unary(UnOp::Not, a) => {
            let mut a = part(a, kernel).filter(|a| a.ty == Ty::Bool)?;
            a.steps.push(CountStep::Not);
            Some(a)
        }
        ExprKind::Binary(op, a, b) => binary(*op, part(a, kernel)?, part(b, kernel)?),
        ExprKind::Select(condition, a, b) => {
            let mut condition = part(condition, kernel).filter(|part| part.ty == Ty::Bool)?;
            let (a, b, ty) = unified(part(a, kernel)?, part(b, kernel)?)?;
            condition.steps.extend(a.steps.into_iter().chain(b.steps).chain([CountStep::Select]));
            Some(Part { steps: condition.steps, ty, literal: None })
        }
        ExprKind::Cast(ty, a) => {
            let Ty::Int(ty) = int_type(*ty)? else { return None };
            let mut steps = part(a, kernel)?.steps;
            steps.push(CountStep::Cut(ty));
            Some(Part { steps, ty: Ty::Int(ty), literal: None })
        }
        ExprKind::Float(_) | ExprKind::Special(_) | ExprKind::Comm(_, CommField::Rank) => None,
    }
}

/// The type as values of it are computed with; `None` for floats.
fn int_type(ty: ScalarTy) -> Option<Ty> {
    let dtype = match ty {
        ScalarTy::Num(dtype) => dtype,
        _ => DType::I64,
    };
    let bits = u8::try_from(dtype.bits()).ok()?;
    match dtype.class() {
        DTypeClass::Float => None,
        DTypeClass::Bool => Some(Ty::Bool),
        class => Some(Ty::Int(IntType { bits, signed: class == DTypeClass::Signed })),
    }
}

fn negated(a: Part) -> Option<Part> {
    if let Some(value) = a.literal {
        return Part::literal(value.wrapping_neg());
    }
    let Ty::Int(ty) = a.ty else { return None };
    let steps = [CountStep::Int(0)].into_iter().chain(a.steps).chain([CountStep::Op(CountOp::Sub, ty)]);
    Some(Part { steps: steps.collect(), ty: a.ty, literal: None })
}

/// Both in their common type.
fn unified(a: Part, b: Part) -> Option<(Part, Part, Ty)> {
    match (a.ty, b.ty) {
        (x, y) if x == y => Some((a, b, x)),
        (_, Ty::Int(ty)) if a.literal.is_some() => Some((a.taking(ty)?, b, Ty::Int(ty))),
        (Ty::Int(ty), _) if b.literal.is_some() => Some((a, b.taking(ty)?, Ty::Int(ty))),
        // 64 bits hold the values of all types as they are.
        (Ty::Int(_), Ty::Int(_)) => Some((a, b, INDEX)),
        _ => None,
    }
}

fn binary(op: BinOp, a: Part, b: Part) -> Option<Part> {
    let what = count_op(op);
    let (a, b, ty) = match (op, a.ty, b.ty) {
        (BinOp::Shl | BinOp::Shr, Ty::Int(_), Ty::Int(other)) if a.literal.is_some() => {
            (a.taking(other)?, b, Ty::Int(other))
        }
        (BinOp::Shl | BinOp::Shr, Ty::Int(own), Ty::Int(_)) => (a, b, Ty::Int(own)),
        _ => unified(a, b)?,
    };
    let logic = matches!(op, BinOp::And | BinOp::Or | BinOp::Xor | BinOp::LAnd | BinOp::LOr);
    let both = match ty {
        Ty::Bool if logic || op.is_comparison() => IntType { bits: 1, signed: false },
        Ty::Int(ty) if !matches!(op, BinOp::LAnd | BinOp::LOr) => ty,
        _ => return None,
    };
    let ty = if op.is_comparison() { Ty::Bool } else { ty };
    let steps = a.steps.into_iter().chain(b.steps).chain([CountStep::Op(what, both)]);
    Some(Part { steps: steps.collect(), ty, literal: None })
}

fn count_op(op: BinOp) -> CountOp {
    match op {
        BinOp::Add => CountOp::Add,
        BinOp::Sub => CountOp::Sub,
        BinOp::Mul => CountOp::Mul,
        BinOp::Div => CountOp::Div,
        BinOp::Rem => CountOp::Rem,
        BinOp::Min => CountOp::Min,
        BinOp::Max => CountOp::Max,
        BinOp::And | BinOp::LAnd => CountOp::And,
        BinOp::Or | BinOp::LOr => CountOp::Or,
        BinOp::Xor => CountOp::Xor,
        BinOp::Shl => CountOp::Shl,
        BinOp::Shr => CountOp::Shr,
        BinOp::Eq => CountOp::Eq,
        BinOp::Ne => CountOp::Ne,
        BinOp::Lt => CountOp::Lt,
        BinOp::Le => CountOp::Le,
        BinOp::Gt => CountOp::Gt,
        BinOp::Ge => CountOp::Ge,
    }
}

#[cfg(test)]
mod tests {
    use tilewright_artifact::CountValues;
    use tilewright_ir::eval::{Value, Values, eval_int};
    use tilewright_ir::signals::counts;
    use tilewright_ir::text::parse;
    use tilewright_ir::{Name, StmtKind};

    use super::*;

    struct At {
        sender: i64,
        receiver: i64,
        size: i64,
        n: i64,
    }

    impl Values for At {
        fn var(&self, name: &Name) -> Option<Value> {
            match name.as_str() {
                SENDER => Some(Value::index(self.sender)),
                "n" => Some(Value::int(ScalarTy::Num(DType::U32), self.n)),
                "m" => Some(Value::int(ScalarTy::Num(DType::U64), self.n)),
                "b" => Some(Value::int(ScalarTy::Num(DType::I8), self.n)),
                _ => None,
            }
        }
        fn special(&self, special: Special) -> Option<i64> {
            (special == Special::Me).then_some(self.receiver)
        }
        fn comm(&self, field: CommField) -> Option<i64> {
            match field {
                CommField::LsaRank => Some(self.receiver),
                CommField::LsaSize | CommField::WorldSize => Some(self.size),
                CommField::Rank => None,
            }
        }
    }

    /// Compares formula and expression for all pairs of ranks of small nodes.
    fn compare(expr: &Expr, kernel: &Kernel) {
        let count = formula(expr, kernel).unwrap_or_else(|| panic!("no formula for {expr:?}"));
        for size in 1..5 {
            for (sender, receiver) in (0..size).flat_map(|s| (0..size).map(move |r| (s, r))) {
                for n in [0, 1, 2, 7, 100, 127] {
                    let at = At { sender, receiver, size, n };
                    let wheres = |_: &str| Some(n);
                    let values = CountValues { sender, receiver, lsa_size: size, world_size: size, wheres: &wheres };
                    let expected = eval_int(expr, &at).expect("a value");
                    assert_eq!(
                        count.evaluate(&values),
                        Some(expected),
                        "{sender} -> {receiver} of {size}, {n}: {expr:?}"
                    );
                }
            }
        }
    }

    fn kernel(body: &str) -> Kernel {
        let text = format!(
            "kernel k(comm: devcomm, send: window<u8>[64], recv: window<u8>[64]) where(n: u32, m: u64, b: i8)
                launch(grid = [1], block = [64]) {{ {body} }}"
        );
        let parsed = parse(&text);
        assert!(parsed.diagnostics.is_empty(), "{:?}", parsed.diagnostics);
        parsed.module.kernels().next().expect("a kernel").clone()
    }

    #[test]
    fn counts_of_kernels_are_what_the_expressions_are() {
        let ring = "signal s; let next = (comm.lsa_rank + 1) % comm.lsa_size;";
        for body in [
            "copy recv@next <- send by cta, notify s;",
            "for k in 0..n { copy recv@next <- send by cta, notify s; }",
            "for k in 0..n { for j in 0..m * 2 { copy recv@next <- send by cta, notify s; } }",
            "for p in 0..comm.lsa_size { copy recv@lsa(p) <- send by cta, notify s; }",
            "for p in 0..comm.lsa_size { if p != comm.lsa_rank { copy recv@lsa(p) <- send by cta, notify s; } }",
            "if comm.lsa_rank == 0 { copy recv@next <- send by cta, notify s; }",
            "if n > 2 { copy recv@next, recv@comm.lsa_rank <- send by cta, notify s; }",
        ] {
            let kernel = kernel(&format!("{ring} {body}"));
            let total = counts(&kernel, 64).totals.swap_remove(0);
            compare(&total.count.unwrap_or_else(|error| panic!("{body}: {error:?}")), &kernel);
        }
    }

    #[test]
    fn arithmetic_is_that_of_the_language() {
        for text in [
            "n * n + m",
            "n - 3",
            "m - 3",
            "b * b",
            "b - 100 - 100",
            "m / 3 - m % 5",
            "n / 0 + 7 % n",
            "-b * 3",
            "-5 / 2",
            "min(n, m) + max(b, 3)",
            "1 << n",
            "n << 31",
            "m >> 1 ^ 3",
            "select(n < m, n, m - 1)",
            "u8(n * 300) + b",
            "select(n - 1 > 5 && !(m == 7), 1, 2)",
            "index(n) - 5",
            "select((n > 1) == (m > 1), b & 6, b | 1)",
            "comm.world_size * 2 - comm.lsa_rank",
        ] {
            let kernel = kernel(&format!("let x = {text};"));
            let Some(StmtKind::Let { value, .. }) = kernel.body.first().map(|stmt| &stmt.kind) else {
                panic!("{text}: {:?}", kernel.body)
            };
            compare(value, &kernel);
        }
    }

    #[test]
    fn what_the_runtime_does_not_know_has_no_formula() {
        for text in ["comm.rank", "f32(n)", "thread.x", "n > 1"] {
            let kernel = kernel(&format!("let x = {text};"));
            let Some(StmtKind::Let { value, .. }) = kernel.body.first().map(|stmt| &stmt.kind) else {
                panic!("{text}")
            };
            assert_eq!(formula(value, &kernel), None, "{text}");
        }
    }
}
