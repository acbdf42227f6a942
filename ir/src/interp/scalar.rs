//! Scalars of run blocks: the names that have a value so far, and the value of an expression over them.

use indexmap::IndexMap;

use super::typed::{self, Ids, Names};
use crate::diag::Diagnostic;
use crate::dtype::ScalarTy;
use crate::expr::Expr;
use crate::name::Name;

/// A typed value; `bits` in the canonical form of `num`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scalar {
    pub(super) ty: ScalarTy,
    pub(super) bits: u64,
}

/// Names with values.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    names: IndexMap<Name, (usize, ScalarTy)>,
    slots: Vec<u64>,
}

impl Names for Scope {
    fn slot(&self, name: &Name) -> Option<(usize, ScalarTy, bool)> {
        self.names.get(name).map(|(slot, ty)| (*slot, *ty, true))
    }

    fn has_ids(&self) -> bool {
        false
    }
}

impl Scope {
    /// `rank` and `ranks`.
    pub(super) fn for_run(rank: u32, ranks: u32) -> Scope {
        let mut scope = Scope::default();
        scope.set(&Name::new("rank"), Scalar { ty: ScalarTy::LsaRank, bits: u64::from(rank) });
        scope.set(&Name::new("ranks"), Scalar { ty: ScalarTy::Index, bits: u64::from(ranks) });
        scope
    }

    /// Gives a name a value; the newest holds.
    pub(super) fn set(&mut self, name: &Name, value: Scalar) {
        self.slots.push(value.bits);
        self.names.insert(name.clone(), (self.slots.len() - 1, value.ty));
    }

    /// Value of an expression.
    pub(super) fn eval(&self, expr: &Expr) -> Result<Scalar, Diagnostic> {
        let e = typed::expr(self, expr)?;
        Ok(Scalar { ty: e.ty, bits: e.eval(&Ids::default(), &self.slots) })
    }

    /// Value of an expression as a type.
    pub(super) fn eval_as(&self, expr: &Expr, ty: ScalarTy) -> Result<Scalar, Diagnostic> {
        let e = typed::expr_as(self, expr, ty)?;
        Ok(Scalar { ty, bits: e.eval(&Ids::default(), &self.slots) })
    }
}
