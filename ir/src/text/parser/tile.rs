//! Tile ops with their attributes, and primitive ops.

use super::{PResult, Parser, Tok};
use crate::diag::{Code, Diagnostic};
use crate::name::Name;
use crate::span::Span;
use crate::stmt::{After, AttrValue, CopyAttrs, PrimArg, PrimOp, Source, StmtKind, TileKind, TileOp};
use crate::text::words::near;

/// Attributes of copies.
const ATTRS: [&str; 8] = ["notify", "carry", "allow", "after", "expected", "variant", "vec", "plan"];

const NO_SCOPE: &str = "say who executes it: `by cta`, `by warpgroup`, `by warp` or `by thread`";

impl Parser<'_> {
    /// `copy d1, d2 <- s by cta, notify ready;`, after the token's name if there is one.
    pub(super) fn tile_op(&mut self, token: Option<Name>) -> PResult<StmtKind> {
        let word = self.word();
        let Some((kind, _)) = TileKind::ALL.into_iter().find(|(_, text)| *text == word) else {
            return Err(self.expected("a tile op"));
        };
        let start = self.bump().span;
        let mut dsts = vec![self.region()?];
        while self.eat(Tok::Comma) {
            dsts.push(self.region()?);
        }
        if !self.at(Tok::Arrow) {
            let error = self.expected("`<-`");
            return Err(Box::new(
                error.help(format!("a tile op reads from right to left: `{word} dst <- src by cta;`")),
            ));
        }
        self.bump();
        let srcs = self.sources(kind, start)?;
        if !self.at_word("by") {
            return Err(Box::new(self.expected("`by`").help(NO_SCOPE)));
        }
        self.bump();
        let scope = self.scope()?;
        let attrs = self.copy_attrs()?;
        self.semicolon("")?;
        Ok(StmtKind::Tile(TileOp { kind, token, dsts, srcs, scope, attrs }))
    }

    fn sources(&mut self, kind: TileKind, start: Span) -> PResult<Vec<Source>> {
        if kind == TileKind::Fill {
            return Ok(vec![Source::Value(self.expr()?)]);
        }
        if !self.at_name() && !self.at(Tok::Word) {
            let error = self.expected("a buffer");
            return Err(Box::new(error.help("to set every element to one value write `fill dst <- value by cta;`")));
        }
        let mut srcs = vec![Source::Region(self.region()?)];
        while self.eat(Tok::Comma) {
            srcs.push(Source::Region(self.region()?));
        }
        if srcs.len() != kind.arity() {
            let (name, n) = (kind.as_str(), kind.arity());
            let message = format!("`{name}` takes {n} source{}, found {}", if n == 1 { "" } else { "s" }, srcs.len());
            return Err(Box::new(Diagnostic::error(Code::SYNTAX, start, message)));
        }
        Ok(srcs)
    }

    fn copy_attrs(&mut self) -> PResult<CopyAttrs> {
        let mut attrs = CopyAttrs::default();
        let mut seen: Vec<&str> = Vec::new();
        while self.eat(Tok::Comma) {
            let word = self.word();
            if !ATTRS.contains(&word) {
                let mut error = self.expected("an attribute of the copy");
                error.code = if self.at(Tok::Word) { Code::BAD_ATTR } else { error.code };
                match near(word, &ATTRS).first() {
                    Some(likely) => error.help.push(format!("did you mean `{likely}`?")),
                    None => error.help.push(format!("attributes are {}", ATTRS.join(", "))),
                }
                return Err(error);
            }
            if seen.contains(&word) {
                let message = format!("`{word}` is given twice");
                return Err(Box::new(Diagnostic::error(Code::BAD_ATTR, self.span(), message)));
            }
            seen.push(word);
            self.bump();
            self.copy_attr(word, &mut attrs)?;
        }
        Ok(attrs)
    }

    /// One attribute, after its word.
    fn copy_attr(&mut self, word: &str, attrs: &mut CopyAttrs) -> PResult<()> {
        match word {
            "notify" => attrs.notify = Some(self.name("the name of a signal")?),
            "after" => {
                attrs.after = Some(if self.nth_word(1) == "from" {
                    self.after_signal()?
                } else {
                    let place = self.place()?;
                    self.expect(Tok::Eq)?;
                    After::Flag(place, self.expr()?)
                });
            }
            "expected" => {
                let Some(After::Signal { expected, .. }) = &mut attrs.after else {
                    let message = "`expected` belongs to `after signal from rank`";
                    return Err(Box::new(Diagnostic::error(Code::BAD_ATTR, self.span(), message)));
                };
                self.expect(Tok::Assign)?;
                *expected = Some(self.expr()?);
            }
            _ => {
                self.expect(Tok::Assign)?;
                match word {
                    "carry" => {
                        self.expect_word("any")?;
                        attrs.carry_any = true;
                    }
                    "allow" => {
                        self.expect_word("unmeasured")?;
                        attrs.allow_unmeasured = true;
                    }
                    "variant" => attrs.variant = Some(self.string()?),
                    "plan" => attrs.plan = Some(self.string()?),
                    _ => attrs.vec = Some(self.u32("a width in bits")?),
                }
            }
        }
        Ok(())
    }

    /// `hop from prev`.
    fn after_signal(&mut self) -> PResult<After> {
        let signal = self.name("the name of a signal")?;
        self.bump();
        Ok(After::Signal { signal, from: self.expr()?, expected: None })
    }

    /// Does a primitive op with a result begin here: `word.word(` or `word(` where the word is no function?
    pub(super) fn at_prim(&self) -> bool {
        if !self.at(Tok::Word) {
            return false;
        }
        let mut n = 0;
        while self.nth(n + 1).kind == Tok::Dot && self.nth(n + 2).kind == Tok::Word {
            n += 2;
        }
        self.nth(n + 1).kind == Tok::LParen && (n > 0 || self.at_name())
    }

    /// `family.name(args, attr = value);`, after `let x =` if there is a result.
    pub(super) fn prim_stmt(&mut self, result: Option<Name>) -> PResult<StmtKind> {
        let start = self.span();
        self.bump();
        while self.eat(Tok::Dot) {
            if !self.at(Tok::Word) {
                return Err(self.expected("the rest of the op's name"));
            }
            self.bump();
        }
        let words: Vec<&str> = self.text_at(start.to(self.prev_span())).split('.').map(str::trim).collect();
        let op = Name::from(words.join("."));
        let (mut args, mut attrs) = (Vec::new(), Vec::new());
        self.enter()?;
        self.list(Tok::LParen, Tok::RParen, |p| {
            if p.at(Tok::Word) && p.nth(1).kind == Tok::Assign {
                attrs.push(p.prim_attr()?);
            } else if attrs.is_empty() {
                args.push(p.prim_arg()?);
            } else {
                return Err(p.error("operand after an attribute"));
            }
            Ok(())
        })?;
        self.leave();
        self.semicolon("")?;
        Ok(StmtKind::Prim(PrimOp { result, op, args, attrs }))
    }

    fn prim_arg(&mut self) -> PResult<PrimArg> {
        if self.at_name() && matches!(self.nth(1).kind, Tok::LBracket | Tok::At | Tok::Bang) {
            return Ok(PrimArg::Place(self.place()?));
        }
        Ok(PrimArg::Expr(self.expr()?))
    }

    fn prim_attr(&mut self) -> PResult<(Name, AttrValue)> {
        let name = Name::new(self.bump_text());
        self.expect(Tok::Assign)?;
        let value = match self.word() {
            "true" => AttrValue::Bool(true),
            "false" => AttrValue::Bool(false),
            "" => return Ok((name, AttrValue::Int(self.int_in("an integer or a word", i64::MIN, i64::MAX)?))),
            word => AttrValue::Sym(Name::new(word)),
        };
        self.bump();
        Ok((name, value))
    }
}
