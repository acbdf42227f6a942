//! Run blocks.

use super::val::{Tile, Val};
use super::{BuildError, Errors};
use crate::module::{Expect, ExpectValue, Item, Run, RunValue, Setting};
use crate::span::Span;

/// Makes a run block.
#[derive(Clone, Debug)]
pub struct RunBuilder {
    run: Run,
    errors: Errors,
}

impl RunBuilder {
    /// A run of this kernel on one rank.
    pub fn new(kernel: &str) -> RunBuilder {
        let mut errors = Errors::default();
        let kernel = errors.name("a kernel", kernel);
        let span = Span::NONE;
        RunBuilder {
            run: Run { kernel, ranks: None, targets: None, settings: Vec::new(), expects: Vec::new(), span },
            errors,
        }
    }

    /// `ranks = n;`
    #[must_use]
    pub fn ranks(mut self, n: u32) -> Self {
        self.run.ranks = Some(n);
        self
    }

    /// `targets = […];`
    #[must_use]
    pub fn targets<'t>(mut self, targets: impl IntoIterator<Item = &'t str>) -> Self {
        self.run.targets = Some(targets.into_iter().map(str::to_owned).collect());
        self
    }

    fn setting(mut self, is_let: bool, name: &str, value: RunValue) -> Self {
        let name = self.errors.name("a setting", name);
        self.run.settings.push(Setting { is_let, name, value, span: Span::NONE });
        self
    }

    /// `let name = value;`
    #[must_use]
    pub fn let_(self, name: &str, value: impl Into<Val>) -> Self {
        self.setting(true, name, RunValue::Expr(value.into().0))
    }

    /// `name = value;`
    #[must_use]
    pub fn set(self, name: &str, value: impl Into<Val>) -> Self {
        self.setting(false, name, RunValue::Expr(value.into().0))
    }

    /// `name = iota;`
    #[must_use]
    pub fn iota(self, name: &str) -> Self {
        self.setting(false, name, RunValue::Iota)
    }

    /// `name = random(seed = n);`
    #[must_use]
    pub fn random(self, name: &str, seed: u64) -> Self {
        self.setting(false, name, RunValue::Random { seed })
    }

    /// `name = npy("file");`
    #[must_use]
    pub fn npy(self, name: &str, file: &str) -> Self {
        self.setting(false, name, RunValue::Npy(file.to_owned()))
    }

    fn expectation(mut self, lhs: Tile, rhs: ExpectValue) -> Self {
        let expect = Expect { lhs: lhs.into(), rhs, each: None, cond: None, span: Span::NONE };
        self.run.expects.push(expect);
        self
    }

    /// `expect lhs == rhs;`, both regions.
    #[must_use]
    pub fn expect(self, lhs: impl Into<Tile>, rhs: impl Into<Tile>) -> Self {
        self.expectation(lhs.into(), ExpectValue::Region(rhs.into().into()))
    }

    /// `expect lhs == value;` for every element.
    #[must_use]
    pub fn expect_value(self, lhs: impl Into<Tile>, value: impl Into<Val>) -> Self {
        self.expectation(lhs.into(), ExpectValue::Value(value.into().0))
    }

    /// `for var in lo..hi` for the expectation before.
    #[must_use]
    pub fn for_each(mut self, var: &str, lo: impl Into<Val>, hi: impl Into<Val>) -> Self {
        let var = self.errors.name("a variable", var);
        if let Some(expect) = self.run.expects.last_mut() {
            expect.each = Some((var, lo.into().0, hi.into().0));
        }
        self
    }

    /// `if cond` for the expectation before.
    #[must_use]
    pub fn if_(mut self, cond: impl Into<Val>) -> Self {
        if let Some(expect) = self.run.expects.last_mut() {
            expect.cond = Some(cond.into().0);
        }
        self
    }

    /// The run block.
    ///
    /// # Errors
    /// The first thing that was wrong.
    pub fn build(self) -> Result<Run, BuildError> {
        let name = self.run.kernel.clone();
        match self.errors.finish(&name, Item::Run(self.run))? {
            Item::Run(run) => Ok(run),
            Item::Kernel(_) => Err(BuildError::NotText { item: name.to_string(), message: "not a run".to_owned() }),
        }
    }
}
