//! Run blocks.

use super::{PResult, Parser, Tok};
use crate::diag::{Code, Diagnostic};
use crate::expr::{Expr, ExprKind};
use crate::module::{Expect, ExpectValue, Run, RunRegion, RunValue, Setting};
use crate::span::Span;
use crate::text::print::names_value;

impl Parser<'_> {
    pub(super) fn run(&mut self) -> PResult<Run> {
        self.expect_word("run")?;
        let (kernel, span) = self.used_name("the name of a kernel")?;
        let mut run = Run { kernel, ranks: None, targets: None, settings: Vec::new(), expects: Vec::new(), span };
        self.expect(Tok::LBrace)?;
        while !self.at(Tok::RBrace) {
            if self.at(Tok::Eof) || self.at_word("kernel") || self.at_word("run") {
                return Err(self.expected("`}`"));
            }
            let start = self.at;
            let nesting = self.nesting;
            if let Err(error) = self.run_stmt(&mut run) {
                self.report(*error);
                self.nesting = nesting;
                self.skip_statement();
                if self.at == start {
                    self.bump();
                }
            }
        }
        self.expect(Tok::RBrace)?;
        resolve_values(&mut run);
        Ok(run)
    }

    fn run_stmt(&mut self, run: &mut Run) -> PResult<()> {
        let start = self.span();
        match self.word() {
            "ranks" => {
                let ranks = self.run_key(run.ranks.is_some())?;
                run.ranks = Some(ranks.u32("a number of ranks")?);
            }
            "targets" => {
                let p = self.run_key(run.targets.is_some())?;
                run.targets = Some(p.list(Tok::LBracket, Tok::RBracket, Parser::string)?);
            }
            "expect" => run.expects.push(self.run_expect()?),
            _ => {
                let is_let = self.eat_word("let");
                if is_let && matches!(self.word(), "rank" | "ranks" | "targets") {
                    return Err(self.error(format!("`{}` has a meaning of its own in run blocks", self.word())));
                }
                let name = self.name("a setting, `let`, `expect` or `}`")?;
                self.expect(Tok::Assign)?;
                let value = self.run_value()?;
                run.settings.push(Setting { is_let, name, value, span: start.to(self.prev_span()) });
            }
        }
        self.semicolon("")
    }

    /// `ranks =` or `targets =`, which may come once.
    fn run_key(&mut self, given: bool) -> PResult<&mut Self> {
        if given {
            return Err(self.error(format!("`{}` is given twice", self.word())));
        }
        self.bump();
        self.expect(Tok::Assign)?;
        Ok(self)
    }

    fn run_value(&mut self) -> PResult<RunValue> {
        match self.word() {
            "iota" => {
                self.bump();
                Ok(RunValue::Iota)
            }
            "random" => {
                self.bump();
                self.expect(Tok::LParen)?;
                self.expect_word("seed")?;
                self.expect(Tok::Assign)?;
                let seed = self.seed()?;
                self.expect(Tok::RParen)?;
                Ok(RunValue::Random { seed })
            }
            "npy" => {
                self.bump();
                self.expect(Tok::LParen)?;
                let file = self.string()?;
                self.expect(Tok::RParen)?;
                Ok(RunValue::Npy(file))
            }
            _ => Ok(RunValue::Expr(self.expr()?)),
        }
    }

    /// A seed: the whole range of u64.
    fn seed(&mut self) -> PResult<u64> {
        if !self.at(Tok::Int) {
            return Err(self.expected("a seed"));
        }
        let span = self.bump().span;
        let text: String = self.text_at(span).chars().filter(|c| *c != '_').collect();
        let value = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            Some(hex) => u64::from_str_radix(hex, 16),
            None => text.parse(),
        };
        if value.is_err() {
            self.report(Diagnostic::error(Code::LITERAL_RANGE, span, format!("seed `{text}` does not fit 64 bits")));
        }
        Ok(value.unwrap_or(0))
    }

    fn run_expect(&mut self) -> PResult<Expect> {
        let start = self.bump().span;
        let lhs = self.run_region()?;
        if self.at(Tok::Assign) {
            return Err(Box::new(self.expected("`==`").help("what must hold is written with `==`")));
        }
        self.expect(Tok::Eq)?;
        let rhs = self.expect_value()?;
        let mut each = None;
        if self.eat_word("for") {
            let var = self.name("the name of a variable")?;
            self.expect_word("in")?;
            let lo = self.expr()?;
            self.expect(Tok::DotDot)?;
            each = Some((var, lo, self.expr()?));
        }
        let cond = if self.eat_word("if") { Some(self.expr()?) } else { None };
        Ok(Expect { lhs, rhs, each, cond, span: start.to(self.prev_span()) })
    }

    /// A region, or an expression. A bare name is a region until `resolve_values` knows better.
    fn expect_value(&mut self) -> PResult<ExpectValue> {
        let next = self.nth(1).kind;
        let ends = next == Tok::Semi || matches!(self.nth_word(1), "for" | "if") || next == Tok::RBrace;
        if self.at_name() && (ends || matches!(next, Tok::At | Tok::LBracket)) {
            return Ok(ExpectValue::Region(self.run_region()?));
        }
        Ok(ExpectValue::Value(self.expr()?))
    }

    fn run_region(&mut self) -> PResult<RunRegion> {
        let (buf, start) = self.used_name("an argument")?;
        let (rank, index) = self.region_rest()?;
        Ok(RunRegion { buf, rank, index: index.unwrap_or_default(), span: start.to(self.prev_span()) })
    }
}

/// Turns bare names on the right of expectations that name a value, not a buffer, into values.
fn resolve_values(run: &mut Run) {
    let mut values: Vec<(usize, Expr)> = Vec::new();
    for (i, expect) in run.expects.iter().enumerate() {
        if let ExpectValue::Region(RunRegion { buf, rank: None, index, span }) = &expect.rhs
            && index.is_empty()
            && names_value(run, expect, buf)
        {
            let span: Span = *span;
            values.push((i, Expr { kind: ExprKind::Var(buf.clone()), span }));
        }
    }
    for (i, value) in values {
        run.expects[i].rhs = ExpectValue::Value(value);
    }
}
