//! Statements and blocks, with recovery at `;` and `}`.

use super::{PResult, Parser, Tok};
use crate::diag::{Code, Diagnostic};
use crate::expr::Expr;
use crate::name::Name;
use crate::space::{Scope, Space};
use crate::span::Span;
use crate::stmt::{Alloc, Block, Completion, Index, Place, PlaceIndex, Region, Stmt, StmtKind, TileKind};
use crate::text::words::near;

/// Words that begin a statement, for guessing at misspelt ones.
const STARTS: [&str; 21] = [
    "let",
    "shared",
    "local",
    "for",
    "unroll",
    "if",
    "sync",
    "assume",
    "signal",
    "wait",
    "copy",
    "copy_async",
    "fill",
    "cast",
    "add",
    "sub",
    "mul",
    "min",
    "max",
    "posted",
    "else",
];

impl Parser<'_> {
    /// `{ … }`; statements with errors are left out.
    pub(super) fn block(&mut self) -> PResult<Block> {
        self.enter()?;
        self.expect(Tok::LBrace)?;
        let mut block = Vec::new();
        while !self.at(Tok::RBrace) {
            if self.at(Tok::Eof) || self.at_word("kernel") || self.at_word("run") {
                return Err(self.expected("`}`"));
            }
            let start = self.at;
            let nesting = self.nesting;
            match self.stmt() {
                Ok(stmt) => block.push(stmt),
                Err(error) => {
                    self.report(*error);
                    self.nesting = nesting;
                    self.skip_statement();
                    if self.at == start {
                        self.bump();
                    }
                }
            }
        }
        self.expect(Tok::RBrace)?;
        self.leave();
        Ok(block)
    }

    fn stmt(&mut self) -> PResult<Stmt> {
        let start = self.span();
        let kind = match self.word() {
            "let" => self.let_stmt()?,
            "shared" | "local" => self.alloc()?,
            "for" | "unroll" => return self.for_stmt(),
            "if" => return self.if_stmt(),
            "sync" => {
                self.bump();
                let scope = self.scope()?;
                self.semicolon("")?;
                StmtKind::Sync(scope)
            }
            "assume" => self.assume()?,
            "signal" => self.signal()?,
            "wait" => self.wait()?,
            word if TileKind::ALL.iter().any(|(_, text)| *text == word) => self.tile_op(None)?,
            _ if self.at_name() => self.named_stmt()?,
            _ if self.at(Tok::Word) && self.nth(1).kind == Tok::Dot => self.prim_stmt(None)?,
            _ => return Err(self.expected("a statement or `}`")),
        };
        Ok(Stmt { kind, span: start.to(self.prev_span()) })
    }

    /// A statement that begins with a name: store, primitive op, or something that makes a token.
    fn named_stmt(&mut self) -> PResult<StmtKind> {
        match self.nth(1).kind {
            Tok::LParen | Tok::Dot => self.prim_stmt(None),
            Tok::Assign => self.token_stmt(),
            Tok::LBracket | Tok::At | Tok::Bang => self.store(),
            _ => {
                let word = self.word();
                let mut error = self.error(format!("no statement begins with `{word}`"));
                if let Some(likely) = near(word, &STARTS).first() {
                    error.help.push(format!("did you mean `{likely}`?"));
                }
                Err(error)
            }
        }
    }

    /// `t = copy_async …;` or `t = posted …;`
    fn token_stmt(&mut self) -> PResult<StmtKind> {
        let start = self.span();
        let token = self.name("the name of a token")?;
        self.expect(Tok::Assign)?;
        if TileKind::ALL.iter().any(|(_, text)| *text == self.word()) && self.nth(1).kind != Tok::LParen {
            return self.tile_op(Some(token));
        }
        if !self.at_word("posted") {
            let message = format!("`{token}` cannot be assigned to");
            let error = Diagnostic::error(Code::SYNTAX, start, message);
            let help = format!(
                "values never change: name a new one with `let`; to store into a buffer write `{token}[…] = …`"
            );
            return Err(Box::new(error.help(help)));
        }
        self.bump();
        let completion = if self.eat_word("done") {
            Completion::Done
        } else if self.eat_word("queue") {
            self.expect(Tok::LParen)?;
            let peer = self.expr()?;
            self.expect(Tok::Comma)?;
            let queue = self.u32("a queue id")?;
            self.expect(Tok::RParen)?;
            self.expect_word("by")?;
            Completion::Queue { peer, queue, scope: self.scope()? }
        } else {
            return Err(self.expected("`done` or `queue(peer, id) by scope`"));
        };
        self.semicolon("")?;
        Ok(StmtKind::Posted { token, completion })
    }

    /// `let x = e;`, `let x: ty = e;`, `let x = buf[i];`, `let x = op(…);`
    fn let_stmt(&mut self) -> PResult<StmtKind> {
        self.bump();
        let name = self.name("a name after `let`")?;
        let ty = if self.eat(Tok::Colon) { Some(self.scalar_type()?) } else { None };
        if self.at(Tok::Arrow) {
            return Err(Box::new(self.expected("`=`").help("`let` takes `=`; `<-` belongs to tile ops")));
        }
        self.expect(Tok::Assign)?;
        if ty.is_none() && self.at_prim() {
            return self.prim_stmt(Some(name));
        }
        if self.at_name() && matches!(self.nth(1).kind, Tok::LBracket | Tok::At | Tok::Bang) {
            let from = self.place()?;
            if let Some(span) = ty.map(|_| from.span) {
                let error = Diagnostic::error(Code::SYNTAX, span, "a load takes its type from the buffer");
                return Err(Box::new(error.help("leave the type out, or convert in a second `let`")));
            }
            if !self.at(Tok::Semi) && super::expr::is_operator(self.kind()) {
                let message = format!("load of `{}` inside an expression", from.buf);
                let error = Diagnostic::error(Code::SYNTAX, from.span, message);
                let help = format!("loads are statements: bind it with `let` first (`let x = {}[…];`)", from.buf);
                return Err(Box::new(error.help(help)));
            }
            self.semicolon("")?;
            return Ok(StmtKind::Load { name, from });
        }
        let value = self.expr()?;
        self.semicolon("")?;
        Ok(StmtKind::Let { name, ty, value })
    }

    fn store(&mut self) -> PResult<StmtKind> {
        let to = self.place()?;
        if self.at(Tok::Arrow) {
            return Err(Box::new(
                self.expected("`=`")
                    .help("one element is stored with `=`; to fill or copy a tile name the op: `fill d <- e by cta;`"),
            ));
        }
        self.expect(Tok::Assign)?;
        let value = self.expr()?;
        self.semicolon("")?;
        Ok(StmtKind::Store { to, value })
    }

    fn alloc(&mut self) -> PResult<StmtKind> {
        let space = if self.at_word("shared") { Space::Shared } else { Space::Local };
        self.bump();
        let name = self.name("the name of a buffer")?;
        self.expect(Tok::Colon)?;
        let dtype = self.dtype()?;
        let (shape, layout, align) = self.shape_layout_align()?;
        self.semicolon("")?;
        Ok(StmtKind::Alloc(Alloc { name, space, dtype, shape, layout, align }))
    }

    fn for_stmt(&mut self) -> PResult<Stmt> {
        let start = self.span();
        let unroll = self.eat_word("unroll");
        self.expect_word("for")?;
        let var = self.name("the name of the loop variable")?;
        self.expect_word("in")?;
        let lo = self.expr()?;
        self.expect(Tok::DotDot)?;
        let hi = self.expr()?;
        let span = start.to(self.prev_span());
        let body = self.block()?;
        Ok(Stmt { kind: StmtKind::For { var, lo, hi, unroll, body }, span })
    }

    fn if_stmt(&mut self) -> PResult<Stmt> {
        let start = self.span();
        self.expect_word("if")?;
        let cond = self.expr()?;
        if self.at(Tok::Assign) {
            return Err(Box::new(self.expected("`{`").help("equality is written `==`")));
        }
        let span = start.to(self.prev_span());
        let then = self.block()?;
        let mut els = None;
        if self.eat_word("else") {
            els = Some(if self.at_word("if") {
                self.enter()?;
                let inner = self.if_stmt()?;
                self.leave();
                vec![inner]
            } else {
                self.block()?
            });
        }
        Ok(Stmt { kind: StmtKind::If { cond, then, els }, span })
    }

    fn assume(&mut self) -> PResult<StmtKind> {
        self.bump();
        self.expect(Tok::LParen)?;
        let fact = self.expr()?;
        self.expect(Tok::RParen)?;
        self.semicolon("")?;
        Ok(StmtKind::Assume(fact))
    }

    fn signal(&mut self) -> PResult<StmtKind> {
        self.bump();
        let name = self.name("the name of a signal")?;
        let queue = if self.eat_word("queue") { Some(self.u32("a queue id")?) } else { None };
        self.semicolon("")?;
        Ok(StmtKind::Signal { name, queue })
    }

    fn wait(&mut self) -> PResult<StmtKind> {
        self.bump();
        let name = self.name("a token or a signal")?;
        if !self.eat_word("from") {
            self.semicolon("to wait for a signal write `wait s from rank;`")?;
            return Ok(StmtKind::WaitToken(name));
        }
        let from = self.expr()?;
        let scope = if self.eat_word("by") { self.scope()? } else { Scope::Cta };
        let mut expected = None;
        if self.eat(Tok::Comma) {
            self.expect_word("expected")?;
            self.expect(Tok::Assign)?;
            expected = Some(self.expr()?);
        }
        self.semicolon("")?;
        Ok(StmtKind::WaitSignal { signal: name, from, scope, expected })
    }

    pub(super) fn scope(&mut self) -> PResult<Scope> {
        let Some(scope) = Scope::parse(self.word()) else {
            let mut error = self.expected("a scope");
            match near(self.word(), &["thread", "warp", "warpgroup", "cta"]).first() {
                Some(likely) => error.help.push(format!("did you mean `{likely}`?")),
                None => error.help.push("scopes are thread, warp, warpgroup and cta".to_owned()),
            }
            return Err(error);
        };
        self.bump();
        Ok(scope)
    }

    /// `@rank`, if there.
    pub(super) fn at_rank(&mut self) -> PResult<Option<Expr>> {
        if self.eat(Tok::At) { Ok(Some(self.rank_atom()?)) } else { Ok(None) }
    }

    /// `buf[i, j]` or `buf![e]`, with `@rank`.
    pub(super) fn place(&mut self) -> PResult<Place> {
        let start = self.span();
        let buf = self.name("a buffer")?;
        let rank = self.at_rank()?;
        let index = if self.eat(Tok::Bang) {
            self.expect(Tok::LBracket)?;
            let flat = self.expr()?;
            self.expect(Tok::RBracket)?;
            PlaceIndex::Flat(flat)
        } else if self.at(Tok::LBracket) {
            PlaceIndex::Logical(self.list(Tok::LBracket, Tok::RBracket, |p| {
                if p.at(Tok::DotDot) { Err(p.not_one_element()) } else { p.expr() }
            })?)
        } else {
            return Err(self.expected(&format!("the index of an element of `{buf}`, `[…]`")));
        };
        Ok(Place { buf, rank, index, span: start.to(self.prev_span()) })
    }

    fn not_one_element(&self) -> Box<Diagnostic> {
        let error = self.error("a range where one element is meant");
        Box::new(error.help("tiles are moved by tile ops: `copy dst <- src by cta;`"))
    }

    /// `buf`, `buf@rank[i, lo..hi]`
    pub(super) fn region(&mut self) -> PResult<Region> {
        let start = self.span();
        let buf = self.name("a buffer")?;
        let (rank, index) = self.region_rest()?;
        Ok(Region { buf, rank, index, span: start.to(self.prev_span()) })
    }

    /// What follows the buffer's name in a region.
    pub(super) fn region_rest(&mut self) -> PResult<(Option<Expr>, Option<Vec<Index>>)> {
        let rank = self.at_rank()?;
        let index =
            if self.at(Tok::LBracket) { Some(self.list(Tok::LBracket, Tok::RBracket, Parser::index)?) } else { None };
        Ok((rank, index))
    }

    /// One dimension of a region.
    fn index(&mut self) -> PResult<Index> {
        let lo = if self.at(Tok::DotDot) { None } else { Some(self.expr()?) };
        if !self.eat(Tok::DotDot) {
            return match lo {
                Some(e) => Ok(Index::At(e)),
                None => Err(self.expected("an index")),
            };
        }
        let open = matches!(self.kind(), Tok::Comma | Tok::RBracket);
        let hi = if open { None } else { Some(self.expr()?) };
        Ok(Index::Range(lo, hi))
    }

    /// A name that something was called before; kept here because tile ops and run blocks use it.
    pub(super) fn used_name(&mut self, what: &str) -> PResult<(Name, Span)> {
        let span = self.span();
        Ok((self.name(what)?, span))
    }
}
