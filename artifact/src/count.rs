//! How many notifies one rank sends another in one launch: a formula that a runtime evaluates without a compiler.
//!
//! The formula is a postfix program: each step pushes a value or replaces the topmost ones. So reading one from a file needs no
//! recursion, and evaluating one is a loop.
//!
//! What must hold here: the values are those of the compiler's expressions, to the bit. Integers are 64 bits wide and hold their
//! own type's value, sign-extended or zero-extended; arithmetic wraps at the width of the type; `/` and `%` by zero give 0 and
//! round towards zero; shift counts are taken modulo the width. Bools are 0 and 1.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ArgInfo, ArgKind};

/// The type that an operation computes in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IntType {
    /// 1 to 64 bits.
    pub bits: u8,
    /// Two's complement?
    pub signed: bool,
}

impl IntType {
    /// What the language calls `index`: 64 bits, signed.
    pub const INDEX: IntType = IntType { bits: 64, signed: true };

    /// The value of the low bits as this type has it.
    pub fn cut(self, value: i64) -> i64 {
        let spare = 64 - u32::from(self.bits.clamp(1, 64));
        let top = (value as u64) << spare;
        if self.signed { top as i64 >> spare } else { (top >> spare) as i64 }
    }
}

/// Operations on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient towards zero; 0 if the divisor is 0.
    Div,
    /// What the quotient leaves; 0 if the divisor is 0.
    Rem,
    /// The lesser.
    Min,
    /// The greater.
    Max,
    /// Bits of both.
    And,
    /// Bits of either.
    Or,
    /// Bits of one.
    Xor,
    /// Left shift.
    Shl,
    /// Right shift, with the sign if the type has one.
    Shr,
    /// 1 if equal.
    Eq,
    /// 1 if not equal.
    Ne,
    /// 1 if less.
    Lt,
    /// 1 if less or equal.
    Le,
    /// 1 if greater.
    Gt,
    /// 1 if greater or equal.
    Ge,
}

impl CountOp {
    fn apply(self, ty: IntType, x: i64, y: i64) -> i64 {
        let order = if ty.signed { x.cmp(&y) } else { (x as u64).cmp(&(y as u64)) };
        let width = i64::from(ty.bits.clamp(1, 64));
        let value = match self {
            CountOp::Add => x.wrapping_add(y),
            CountOp::Sub => x.wrapping_sub(y),
            CountOp::Mul => x.wrapping_mul(y),
            CountOp::Div | CountOp::Rem if y == 0 => 0,
            CountOp::Div if ty.signed => x.wrapping_div(y),
            CountOp::Div => (x as u64 / y as u64) as i64,
            CountOp::Rem if ty.signed => x.wrapping_rem(y),
            CountOp::Rem => (x as u64 % y as u64) as i64,
            CountOp::Min if order.is_gt() => y,
            CountOp::Max if order.is_lt() => y,
            CountOp::Min | CountOp::Max => x,
            CountOp::And => x & y,
            CountOp::Or => x | y,
            CountOp::Xor => x ^ y,
            CountOp::Shl => x << y.rem_euclid(width),
            CountOp::Shr if ty.signed => x >> y.rem_euclid(width),
            CountOp::Shr => (x as u64 >> y.rem_euclid(width)) as i64,
            CountOp::Eq => return i64::from(order.is_eq()),
            CountOp::Ne => return i64::from(order.is_ne()),
            CountOp::Lt => return i64::from(order.is_lt()),
            CountOp::Le => return i64::from(order.is_le()),
            CountOp::Gt => return i64::from(order.is_gt()),
            CountOp::Ge => return i64::from(order.is_ge()),
        };
        ty.cut(value)
    }
}

/// One step of a formula.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CountStep {
    /// Pushes a number.
    Int(i64),
    /// Pushes the sender's rank on the node.
    Sender,
    /// Pushes the receiver's rank on the node.
    Receiver,
    /// Pushes the number of ranks of the node.
    LsaSize,
    /// Pushes the number of all ranks.
    WorldSize,
    /// Pushes the `where` parameter of that name.
    Where(String),
    /// Converts the topmost value to a type.
    Cut(IntType),
    /// Replaces the topmost bool by its opposite.
    Not,
    /// Replaces the two topmost values, of that type both, by one.
    Op(CountOp, IntType),
    /// Replaces the three topmost values `condition`, `a`, `b` by `a` if the condition is not 0, else by `b`.
    Select,
}

/// What a formula is evaluated for.
#[derive(Clone, Copy)]
pub struct CountValues<'a> {
    /// Who notifies: rank on the node.
    pub sender: i64,
    /// Who is notified: rank on the node.
    pub receiver: i64,
    /// Ranks of the node.
    pub lsa_size: i64,
    /// All ranks.
    pub world_size: i64,
    /// Values of `where` parameters as their type has them.
    pub wheres: &'a dyn Fn(&str) -> Option<i64>,
}

impl fmt::Debug for CountValues<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CountValues({} -> {} of {})", self.sender, self.receiver, self.lsa_size)
    }
}

/// A formula; see the head of this file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Count {
    steps: Vec<CountStep>,
}

impl Count {
    /// The formula of these steps. What is wrong with them the check of the bundle says.
    pub fn new(steps: Vec<CountStep>) -> Count {
        Count { steps }
    }

    /// Its steps.
    pub fn steps(&self) -> &[CountStep] {
        &self.steps
    }

    /// Its value; `None` if a `where` parameter has none, or the steps are no formula.
    pub fn evaluate(&self, values: &CountValues<'_>) -> Option<i64> {
        let mut stack: Vec<i64> = Vec::new();
        for step in &self.steps {
            let value = match step {
                CountStep::Int(value) => *value,
                CountStep::Sender => values.sender,
                CountStep::Receiver => values.receiver,
                CountStep::LsaSize => values.lsa_size,
                CountStep::WorldSize => values.world_size,
                CountStep::Where(name) => (values.wheres)(name)?,
                CountStep::Cut(ty) => ty.cut(stack.pop()?),
                CountStep::Not => i64::from(stack.pop()? == 0),
                CountStep::Op(op, ty) => {
                    let y = stack.pop()?;
                    op.apply(*ty, stack.pop()?, y)
                }
                CountStep::Select => {
                    let (b, a) = (stack.pop()?, stack.pop()?);
                    if stack.pop()? != 0 { a } else { b }
                }
            };
            stack.push(value);
        }
        let value = stack.pop()?;
        stack.is_empty().then_some(value)
    }

    /// What is wrong with the steps, for a kernel with these arguments; `None` if nothing.
    pub(crate) fn check(&self, args: &[ArgInfo]) -> Option<String> {
        let mut height = 0usize;
        for step in &self.steps {
            let takes = match step {
                CountStep::Cut(_) | CountStep::Not => 1,
                CountStep::Op(..) => 2,
                CountStep::Select => 3,
                _ => 0,
            };
            if let CountStep::Where(name) = step
                && !args.iter().any(|arg| arg.kind == ArgKind::Where && arg.name == *name)
            {
                return Some(format!("it reads `{name}`, which is no symbolic extent of the kernel"));
            }
            if let CountStep::Cut(ty) | CountStep::Op(_, ty) = step
                && !(1..=64).contains(&ty.bits)
            {
                return Some(format!("it computes in {} bits", ty.bits));
            }
            match height.checked_sub(takes) {
                Some(left) => height = left + 1,
                None => return Some("a step has too few operands".to_owned()),
            }
        }
        (height != 1).then(|| format!("it leaves {height} values, not one"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INDEX: IntType = IntType::INDEX;

    fn value(steps: &[CountStep]) -> Option<i64> {
        let wheres = |name: &str| (name == "n").then_some(5);
        let values = CountValues { sender: 2, receiver: 3, lsa_size: 4, world_size: 8, wheres: &wheres };
        Count::new(steps.to_vec()).evaluate(&values)
    }

    #[test]
    fn a_neighbour_is_notified_n_times() {
        // select((r + 1) % lsa_size == me, n * 2, 0)
        let steps = [
            CountStep::Sender,
            CountStep::Int(1),
            CountStep::Op(CountOp::Add, INDEX),
            CountStep::LsaSize,
            CountStep::Op(CountOp::Rem, INDEX),
            CountStep::Receiver,
            CountStep::Op(CountOp::Eq, INDEX),
            CountStep::Where("n".to_owned()),
            CountStep::Int(2),
            CountStep::Op(CountOp::Mul, INDEX),
            CountStep::Int(0),
            CountStep::Select,
        ];
        assert_eq!(value(&steps), Some(10));
        let mut opposite = steps.to_vec();
        opposite.insert(7, CountStep::Not);
        assert_eq!(value(&opposite), Some(0));
    }

    #[test]
    fn operations_follow_their_type() {
        let op = |op, bits, signed, x, y| {
            let ty = IntType { bits, signed };
            let cut = |v| [CountStep::Int(v), CountStep::Cut(ty)];
            value(&[&cut(x)[..], &cut(y), &[CountStep::Op(op, ty)]].concat()).unwrap()
        };
        assert_eq!(op(CountOp::Add, 8, false, 200, 100), 44);
        assert_eq!(op(CountOp::Add, 8, true, 100, 100), -56);
        assert_eq!(op(CountOp::Sub, 32, false, 1, 2), 0xffff_ffff);
        assert_eq!(op(CountOp::Lt, 64, false, -1, 2), 0, "2^64 - 1 is not below 2");
        assert_eq!(op(CountOp::Lt, 64, true, -1, 2), 1);
        assert_eq!(op(CountOp::Div, 64, false, -1, 2), i64::MAX);
        assert_eq!(op(CountOp::Div, 64, true, i64::MIN, -1), i64::MIN);
        assert_eq!((op(CountOp::Div, 64, true, 7, 0), op(CountOp::Rem, 64, true, 7, 0)), (0, 0));
        assert_eq!((op(CountOp::Div, 64, true, -7, 2), op(CountOp::Rem, 64, true, -7, 2)), (-3, -1));
        assert_eq!((op(CountOp::Min, 64, true, -7, 2), op(CountOp::Max, 64, true, -7, 2)), (-7, 2));
        assert_eq!(op(CountOp::Shl, 32, false, 3, 33), 6, "the count is modulo the width");
        assert_eq!((op(CountOp::Shr, 8, true, -8, 1), op(CountOp::Shr, 8, false, -8, 1)), (-4, 124));
        assert_eq!((op(CountOp::And, 64, true, 6, 3), op(CountOp::Or, 64, true, 6, 3)), (2, 7));
        assert_eq!((op(CountOp::Xor, 64, true, 6, 3), op(CountOp::Ge, 64, true, 3, 3)), (5, 1));
    }

    #[test]
    fn what_is_no_formula_has_no_value_and_is_found() {
        let n = ArgInfo {
            name: "n".to_owned(),
            kind: ArgKind::Where,
            dtype: "u64".to_owned(),
            bytes: 8,
            offset: 0,
            hidden: false,
        };
        let fault = |steps: &[CountStep]| Count::new(steps.to_vec()).check(std::slice::from_ref(&n));
        let add = CountStep::Op(CountOp::Add, INDEX);
        assert_eq!(fault(&[CountStep::Where("n".to_owned()), CountStep::Int(1), add.clone()]), None);
        let one = CountStep::Int(1);
        for wrong in [
            vec![],
            vec![add.clone()],
            vec![one.clone(), add],
            vec![one.clone(), one.clone()],
            vec![one.clone(), one, CountStep::Select],
            vec![CountStep::Where("m".to_owned())],
        ] {
            assert!(fault(&wrong).is_some(), "{wrong:?}");
            assert_eq!(value(&wrong), None, "{wrong:?}");
        }
        let wide = IntType { bits: 65, signed: true };
        assert_eq!(fault(&[CountStep::Int(1), CountStep::Cut(wide)]), Some("it computes in 65 bits".to_owned()));
    }
}
