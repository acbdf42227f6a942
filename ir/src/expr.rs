//! Pure expressions over scalars.
//!
//! Expressions read no memory and have no effect: a load is a statement (`let x = buf[i];`). So an expression may be
//! copied, moved and folded freely by any pass. Integer arithmetic is 64-bit two's complement and wraps; `/` and `%`
//! round towards zero; division by zero gives 0 (defined, so that folding and every executor agree).

use crate::dtype::ScalarTy;
use crate::name::Name;
use crate::span::Span;

/// An expression and its place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it was written.
    pub span: Span,
}

/// The kinds of expressions.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExprKind {
    /// Integer literal. Takes the type of the other operand; alone it is `index`.
    Int(i64),
    /// Floating literal, as the bits of an f64 so that equality is exact. Takes the type of the other operand; alone f32.
    Float(u64),
    /// `true` or `false`.
    Bool(bool),
    /// A let, loop variable, scalar parameter or `where` parameter. In run blocks also `rank` and `ranks`.
    Var(Name),
    /// A built-in id such as `thread.x`.
    Special(Special),
    /// A field of a `devcomm` parameter, e.g. `comm.lsa_rank`.
    Comm(Name, CommField),
    /// One operand.
    Unary(UnOp, Box<Expr>),
    /// Two operands.
    Binary(BinOp, Box<Expr>, Box<Expr>),
    /// `select(cond, a, b)`: both sides are evaluated (they are pure).
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `f32(x)`, `index(x)`, `lsa(x)`: conversion to the named type.
    Cast(ScalarTy, Box<Expr>),
}

/// Built-in ids. All have type `index` except `Me`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Special {
    /// `thread.x`, `thread.y`, `thread.z`: index in the CTA; the number is the dimension 0..3.
    Thread(u8),
    /// `thread.linear`: x + y * block.x-extent + z * ...
    ThreadLinear,
    /// `thread.lane`: `thread.linear % warp`.
    Lane,
    /// `thread.warp`: `thread.linear / warp`.
    Warp,
    /// `block.x`, `block.y`, `block.z`: index of the CTA in the grid.
    Block(u8),
    /// `grid.x`, `grid.y`, `grid.z`: extents of the grid in CTAs.
    Grid(u8),
    /// `me`: this rank, an `lsa_rank`. Needs a `devcomm` parameter.
    Me,
}

impl Special {
    /// Every special with its text form.
    pub const ALL: &'static [(Special, &'static str)] = &[
        (Special::Thread(0), "thread.x"),
        (Special::Thread(1), "thread.y"),
        (Special::Thread(2), "thread.z"),
        (Special::ThreadLinear, "thread.linear"),
        (Special::Lane, "thread.lane"),
        (Special::Warp, "thread.warp"),
        (Special::Block(0), "block.x"),
        (Special::Block(1), "block.y"),
        (Special::Block(2), "block.z"),
        (Special::Grid(0), "grid.x"),
        (Special::Grid(1), "grid.y"),
        (Special::Grid(2), "grid.z"),
        (Special::Me, "me"),
    ];

    /// Text form.
    pub fn as_str(self) -> &'static str {
        Special::ALL.iter().find(|(s, _)| *s == self).map_or("?", |(_, t)| t)
    }

    /// Does the value differ between threads of one CTA?
    pub fn is_thread_dependent(self) -> bool {
        matches!(self, Special::Thread(_) | Special::ThreadLinear | Special::Lane | Special::Warp)
    }
}

/// Fields of a `devcomm` parameter (mori's `ccoDevComm`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CommField {
    /// `lsa_rank`: this rank among those of the node; type `lsa_rank`.
    LsaRank,
    /// `lsa_size`: number of ranks on the node; type `index`.
    LsaSize,
    /// `rank`: this rank among all; type `world_rank`.
    Rank,
    /// `world_size`: number of all ranks; type `index`.
    WorldSize,
}

impl CommField {
    /// Every field with its text form.
    pub const ALL: [(CommField, &'static str); 4] = [
        (CommField::LsaRank, "lsa_rank"),
        (CommField::LsaSize, "lsa_size"),
        (CommField::Rank, "rank"),
        (CommField::WorldSize, "world_size"),
    ];

    /// Text form, without the dot.
    pub fn as_str(self) -> &'static str {
        CommField::ALL.iter().find(|(f, _)| *f == self).map_or("?", |(_, t)| t)
    }
}

/// Operators with one operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum UnOp {
    /// `-x`
    Neg,
    /// `!b`, on bool only
    Not,
}

/// Operators with two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum BinOp {
    /// `a + b`
    Add,
    /// `a - b`
    Sub,
    /// `a * b`
    Mul,
    /// `a / b`
    Div,
    /// `a % b`
    Rem,
    /// `min(a, b)`
    Min,
    /// `max(a, b)`
    Max,
    /// `a & b` on integers
    And,
    /// `a | b` on integers
    Or,
    /// `a ^ b` on integers
    Xor,
    /// `a << b`; the count is taken modulo the width
    Shl,
    /// `a >> b`, arithmetic for signed types; the count is taken modulo the width
    Shr,
    /// `a == b`
    Eq,
    /// `a != b`
    Ne,
    /// `a < b`
    Lt,
    /// `a <= b`
    Le,
    /// `a > b`
    Gt,
    /// `a >= b`
    Ge,
    /// `a && b` on bool
    LAnd,
    /// `a || b` on bool
    LOr,
}

impl BinOp {
    /// Infix text, or the function name for `min` and `max`.
    pub fn as_str(self) -> &'static str {
        match self {
            BinOp::Add => "+",
            BinOp::Sub => "-",
            BinOp::Mul => "*",
            BinOp::Div => "/",
            BinOp::Rem => "%",
            BinOp::Min => "min",
            BinOp::Max => "max",
            BinOp::And => "&",
            BinOp::Or => "|",
            BinOp::Xor => "^",
            BinOp::Shl => "<<",
            BinOp::Shr => ">>",
            BinOp::Eq => "==",
            BinOp::Ne => "!=",
            BinOp::Lt => "<",
            BinOp::Le => "<=",
            BinOp::Gt => ">",
            BinOp::Ge => ">=",
            BinOp::LAnd => "&&",
            BinOp::LOr => "||",
        }
    }

    /// Binding power for printing and parsing, higher binds tighter (Rust's order). `min` and `max` are calls: `None`.
    pub fn precedence(self) -> Option<u8> {
        Some(match self {
            BinOp::Mul | BinOp::Div | BinOp::Rem => 9,
            BinOp::Add | BinOp::Sub => 8,
            BinOp::Shl | BinOp::Shr => 7,
            BinOp::And => 6,
            BinOp::Xor => 5,
            BinOp::Or => 4,
            BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge => 3,
            BinOp::LAnd => 2,
            BinOp::LOr => 1,
            BinOp::Min | BinOp::Max => return None,
        })
    }

    /// Comparisons give bool; they do not chain.
    pub fn is_comparison(self) -> bool {
        matches!(self, BinOp::Eq | BinOp::Ne | BinOp::Lt | BinOp::Le | BinOp::Gt | BinOp::Ge)
    }
}

impl From<i64> for Expr {
    fn from(value: i64) -> Expr {
        Expr::int(value)
    }
}

impl Expr {
    /// An expression without a place in the text.
    pub fn new(kind: ExprKind) -> Expr {
        Expr { kind, span: Span::NONE }
    }

    /// Integer literal.
    pub fn int(value: i64) -> Expr {
        Expr::new(ExprKind::Int(value))
    }

    /// Variable.
    pub fn var(name: &Name) -> Expr {
        Expr::new(ExprKind::Var(name.clone()))
    }

    /// Built-in id.
    pub fn special(s: Special) -> Expr {
        Expr::new(ExprKind::Special(s))
    }

    /// `a op b`, without folding.
    pub fn binary(op: BinOp, a: Expr, b: Expr) -> Expr {
        Expr::new(ExprKind::Binary(op, Box::new(a), Box::new(b)))
    }

    /// The value of an integer literal.
    pub fn as_int(&self) -> Option<i64> {
        match self.kind {
            ExprKind::Int(v) => Some(v),
            _ => None,
        }
    }

    /// `self + b`, dropping zeros and folding literals.
    #[expect(clippy::should_implement_trait, reason = "folds, so it is not the plain operator; and operands are moved")]
    pub fn add(self, b: Expr) -> Expr {
        match (self.as_int(), b.as_int()) {
            (Some(0), _) => b,
            (_, Some(0)) => self,
            (Some(x), Some(y)) => Expr::int(x.wrapping_add(y)),
            _ => Expr::binary(BinOp::Add, self, b),
        }
    }

    /// `self * b`, dropping ones, folding literals and zeros.
    #[expect(clippy::should_implement_trait, reason = "folds, so it is not the plain operator; and operands are moved")]
    pub fn mul(self, b: Expr) -> Expr {
        match (self.as_int(), b.as_int()) {
            (Some(0), _) | (_, Some(1)) => self,
            (Some(1), _) | (_, Some(0)) => b,
            (Some(x), Some(y)) => Expr::int(x.wrapping_mul(y)),
            _ => Expr::binary(BinOp::Mul, self, b),
        }
    }

    /// `self / b` for a non-negative `self`, dropping division by one.
    pub fn div_by(self, b: i64) -> Expr {
        match (self.as_int(), b) {
            (_, 1) => self,
            (Some(x), y) if y != 0 => Expr::int(x.wrapping_div(y)),
            _ => Expr::binary(BinOp::Div, self, Expr::int(b)),
        }
    }

    /// `self % b` for a non-negative `self`.
    pub fn rem_by(self, b: i64) -> Expr {
        match (self.as_int(), b) {
            (_, 1) => Expr::int(0),
            (Some(x), y) if y != 0 => Expr::int(x.wrapping_rem(y)),
            _ => Expr::binary(BinOp::Rem, self, Expr::int(b)),
        }
    }

    /// Calls `f` on this expression and all below it, parents first.
    pub fn walk(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match &self.kind {
            ExprKind::Unary(_, a) | ExprKind::Cast(_, a) => a.walk(f),
            ExprKind::Binary(_, a, b) => {
                a.walk(f);
                b.walk(f);
            }
            ExprKind::Select(a, b, c) => {
                a.walk(f);
                b.walk(f);
                c.walk(f);
            }
            ExprKind::Int(_)
            | ExprKind::Float(_)
            | ExprKind::Bool(_)
            | ExprKind::Var(_)
            | ExprKind::Special(_)
            | ExprKind::Comm(..) => {}
        }
    }

    /// Rebuilds the expression bottom up: `f` gets each node after its operands were rebuilt and may replace it.
    pub fn rewrite(&self, f: &mut dyn FnMut(Expr) -> Expr) -> Expr {
        let kind = match &self.kind {
            ExprKind::Unary(op, a) => ExprKind::Unary(*op, Box::new(a.rewrite(f))),
            ExprKind::Cast(ty, a) => ExprKind::Cast(*ty, Box::new(a.rewrite(f))),
            ExprKind::Binary(op, a, b) => ExprKind::Binary(*op, Box::new(a.rewrite(f)), Box::new(b.rewrite(f))),
            ExprKind::Select(c, a, b) => {
                ExprKind::Select(Box::new(c.rewrite(f)), Box::new(a.rewrite(f)), Box::new(b.rewrite(f)))
            }
            leaf => leaf.clone(),
        };
        f(Expr { kind, span: self.span })
    }

    /// Does the value differ between threads of one CTA, looking only at built-in ids (variables are resolved by
    /// `is_var_thread_dependent`)?
    pub fn is_thread_dependent(&self, is_var_thread_dependent: &dyn Fn(&Name) -> bool) -> bool {
        let mut found = false;
        self.walk(&mut |e| match &e.kind {
            ExprKind::Special(s) => found |= s.is_thread_dependent(),
            ExprKind::Var(n) => found |= is_var_thread_dependent(n),
            _ => {}
        });
        found
    }
}
