//! Values with operators, and parts of buffers.

use std::ops::{Add, BitAnd, BitOr, BitXor, Div, Mul, Neg, Not, Rem, Shl, Shr, Sub};

use crate::dim::Dim;
use crate::dtype::ScalarTy;
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::module::RunRegion;
use crate::name::Name;
use crate::span::Span;
use crate::stmt::{Index, Place, PlaceIndex, Region};

/// An expression that knows the operators; nothing is folded. Comparisons are methods, since Rust's give `bool`.
#[derive(Clone, Debug, PartialEq)]
pub struct Val(pub Expr);

impl From<i64> for Val {
    fn from(value: i64) -> Val {
        Val(Expr::int(value))
    }
}

impl From<f64> for Val {
    fn from(value: f64) -> Val {
        Val(Expr::new(ExprKind::Float(value.to_bits())))
    }
}

impl From<bool> for Val {
    fn from(value: bool) -> Val {
        Val(Expr::new(ExprKind::Bool(value)))
    }
}

impl From<&Val> for Val {
    fn from(value: &Val) -> Val {
        value.clone()
    }
}

impl From<Expr> for Val {
    fn from(value: Expr) -> Val {
        Val(value)
    }
}

impl From<Val> for Dim {
    fn from(value: Val) -> Dim {
        Dim::from_expr(&value.0)
    }
}

impl From<&Val> for Dim {
    fn from(value: &Val) -> Dim {
        Dim::from_expr(&value.0)
    }
}

macro_rules! operators {
    ($($trait:ident $method:ident $op:ident;)*) => { $(
        impl<R: Into<Val>> $trait<R> for Val {
            type Output = Val;

            fn $method(self, other: R) -> Val {
                Val(Expr::binary(BinOp::$op, self.0, other.into().0))
            }
        }

        impl<R: Into<Val>> $trait<R> for &Val {
            type Output = Val;

            fn $method(self, other: R) -> Val {
                Val(Expr::binary(BinOp::$op, self.0.clone(), other.into().0))
            }
        }
    )* };
}

operators! {
    Add add Add;
    Sub sub Sub;
    Mul mul Mul;
    Div div Div;
    Rem rem Rem;
    BitAnd bitand And;
    BitOr bitor Or;
    BitXor bitxor Xor;
    Shl shl Shl;
    Shr shr Shr;
}

impl Neg for Val {
    type Output = Val;

    fn neg(self) -> Val {
        Val(Expr::new(ExprKind::Unary(UnOp::Neg, Box::new(self.0))))
    }
}

impl Not for Val {
    type Output = Val;

    fn not(self) -> Val {
        Val(Expr::new(ExprKind::Unary(UnOp::Not, Box::new(self.0))))
    }
}

macro_rules! methods {
    ($($(#[$doc:meta])* $method:ident $op:ident;)*) => {
        /// Operators that Rust cannot overload.
        impl Val { $(
            $(#[$doc])*
            #[must_use]
            pub fn $method(&self, other: impl Into<Val>) -> Val {
                Val(Expr::binary(BinOp::$op, self.0.clone(), other.into().0))
            }
        )* }
    };
}

methods! {
    /// `self == other`
    eq Eq;
    /// `self != other`
    ne Ne;
    /// `self < other`
    lt Lt;
    /// `self <= other`
    le Le;
    /// `self > other`
    gt Gt;
    /// `self >= other`
    ge Ge;
    /// `self && other`
    and LAnd;
    /// `self || other`
    or LOr;
    /// `min(self, other)`
    min Min;
    /// `max(self, other)`
    max Max;
}

/// A variable, parameter or symbolic extent by name.
pub fn var(name: &str) -> Val {
    Val(Expr::var(&Name::new(name)))
}

/// A built-in id such as `thread.x`.
pub fn special(id: Special) -> Val {
    Val(Expr::special(id))
}

/// `me`: this rank.
pub fn me() -> Val {
    special(Special::Me)
}

fn comm_field(comm: &str, field: CommField) -> Val {
    Val(Expr::new(ExprKind::Comm(Name::new(comm), field)))
}

/// `comm.lsa_rank`
pub fn lsa_rank(comm: &str) -> Val {
    comm_field(comm, CommField::LsaRank)
}

/// `comm.lsa_size`
pub fn lsa_size(comm: &str) -> Val {
    comm_field(comm, CommField::LsaSize)
}

/// `comm.world_size`
pub fn world_size(comm: &str) -> Val {
    comm_field(comm, CommField::WorldSize)
}

/// A conversion such as `f32(x)`.
pub fn cast(ty: ScalarTy, value: impl Into<Val>) -> Val {
    Val(Expr::new(ExprKind::Cast(ty, Box::new(value.into().0))))
}

/// `lsa(x)`: an integer as a rank on this node.
pub fn lsa(value: impl Into<Val>) -> Val {
    cast(ScalarTy::LsaRank, value)
}

/// `select(cond, a, b)`
pub fn select(cond: impl Into<Val>, a: impl Into<Val>, b: impl Into<Val>) -> Val {
    let [cond, a, b] = [cond.into(), a.into(), b.into()].map(|v| Box::new(v.0));
    Val(Expr::new(ExprKind::Select(cond, a, b)))
}

/// Part of a buffer: the whole until an index is given; then one call a dimension.
#[derive(Clone, Debug, PartialEq)]
pub struct Tile {
    buf: Name,
    rank: Option<Expr>,
    index: Option<Vec<Index>>,
}

/// The whole of a buffer.
pub fn tile(buf: &str) -> Tile {
    Tile { buf: Name::new(buf), rank: None, index: None }
}

impl Tile {
    /// `buf@rank`: that rank's copy of a window.
    #[must_use]
    pub fn on(mut self, rank: impl Into<Val>) -> Tile {
        self.rank = Some(rank.into().0);
        self
    }

    fn dimension(mut self, index: Index) -> Tile {
        self.index.get_or_insert_default().push(index);
        self
    }

    /// Next dimension: one index.
    #[must_use]
    pub fn at(self, index: impl Into<Val>) -> Tile {
        self.dimension(Index::At(index.into().0))
    }

    /// Next dimension: `lo..hi`.
    #[must_use]
    pub fn range(self, lo: impl Into<Val>, hi: impl Into<Val>) -> Tile {
        self.dimension(Index::Range(Some(lo.into().0), Some(hi.into().0)))
    }

    /// Next dimension: `lo..`.
    #[must_use]
    pub fn from(self, lo: impl Into<Val>) -> Tile {
        self.dimension(Index::Range(Some(lo.into().0), None))
    }

    /// Next dimension: `..hi`.
    #[must_use]
    pub fn to(self, hi: impl Into<Val>) -> Tile {
        self.dimension(Index::Range(None, Some(hi.into().0)))
    }

    /// Next dimension: `..`, all of it.
    #[must_use]
    pub fn all(self) -> Tile {
        self.dimension(Index::Range(None, None))
    }
}

impl From<&str> for Tile {
    fn from(buf: &str) -> Tile {
        tile(buf)
    }
}

impl From<Tile> for Region {
    fn from(Tile { buf, rank, index }: Tile) -> Region {
        Region { buf, rank, index, span: Span::NONE }
    }
}

impl From<Tile> for RunRegion {
    fn from(Tile { buf, rank, index }: Tile) -> RunRegion {
        RunRegion { buf, rank, index: index.unwrap_or_default(), span: Span::NONE }
    }
}

/// One element of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Elem(pub(super) Place);

/// `buf[i, j]`
pub fn elem<V: Into<Val>>(buf: &str, index: impl IntoIterator<Item = V>) -> Elem {
    let index = index.into_iter().map(|v| v.into().0).collect();
    Elem(Place { buf: Name::new(buf), rank: None, index: PlaceIndex::Logical(index), span: Span::NONE })
}

impl Elem {
    /// `buf@rank[…]`: that rank's copy of a window.
    #[must_use]
    pub fn on(mut self, rank: impl Into<Val>) -> Elem {
        self.0.rank = Some(rank.into().0);
        self
    }
}
