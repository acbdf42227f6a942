//! Recursive-descent parser with recovery: several errors in one go, never a panic.
//!
//! The grammar (`?` optional, `*` repeated, `,*` separated by commas, a comma may also end a list):
//!
//! ```text
//! module  = (kernel | run)*
//! kernel  = "kernel" NAME "(" param,* ")" ("where" "(" (NAME ":" DTYPE),* ")")? launch block
//! param   = "hidden"? NAME ":" ("devcomm" | scalar | ("global" | "window") "<" DTYPE ">" shape extra)
//! launch  = "launch" "(" "grid" "=" shape "," "block" "=" shape ("," "warp" "=" (INT | "target"))? ")"
//! shape   = "[" expr,* "]"            extra = ("layout" layout)? ("align" INT)?
//! scalar  = DTYPE | "index" | "lsa_rank" | "world_rank"
//! block   = "{" stmt* "}"
//! stmt    = "let" NAME (":" scalar)? "=" expr ";"  |  "let" NAME "=" (place | prim) ";"
//!         | place "=" expr ";"  |  prim ";"
//!         | ("shared" | "local") NAME ":" DTYPE shape extra ";"
//!         | "unroll"? "for" NAME "in" expr ".." expr block
//!         | "if" expr block ("else" (block | if))?
//!         | "sync" scope ";"  |  "assume" "(" expr ")" ";"  |  "signal" NAME ("queue" INT)? ";"
//!         | "wait" NAME ";"  |  "wait" NAME "from" expr ("by" scope)? ("," "expected" "=" expr)? ";"
//!         | (NAME "=")? tileop ";"
//!         | NAME "=" "posted" ("done" | "queue" "(" expr "," INT ")" "by" scope) ";"
//! tileop  = MNEMONIC region,* "<-" (region,* | expr) "by" scope ("," attr)*
//! attr    = "notify" NAME | "carry" "=" "any" | "allow" "=" "unmeasured" | "after" place "==" expr
//!         | "variant" "=" STRING | "vec" "=" INT | "plan" "=" STRING
//! scope   = "thread" | "warp" | "warpgroup" | "cta"
//! prim    = WORD ("." WORD)* "(" (place | expr | WORD "=" (INT | BOOL | WORD)),* ")"
//! region  = NAME ("@" atom)? ("[" index,* "]")?      index = expr | expr? ".." expr?
//! place   = NAME ("@" atom)? ("[" expr,* "]" | "!" "[" expr "]")
//! layout  = swizzle | part ("+" part)* swizzle?      part = "S" iters | "R" iters | product ("@" WORD)?
//! iters   = "[" expr ":" stride "]" | "[" "(" expr,* ")" ":" "(" stride,* ")" "]"     stride = expr ("@" WORD)?
//! swizzle = ("swizzle" | "swizzle_outer") "(" INT "," INT "," INT ")"
//! run     = "run" NAME "{" setting* "}"
//! setting = "ranks" "=" INT ";"  |  "targets" "=" "[" STRING,* "]" ";"  |  "let"? NAME "=" value ";"
//!         | "expect" region "==" (region | expr) ("for" NAME "in" expr ".." expr)? ("if" expr)? ";"
//! value   = "iota" | "random" "(" "seed" "=" INT ")" | "npy" "(" STRING ")" | expr
//! expr    = unary (BINARY unary)*                    Rust's precedence; comparisons do not chain
//! unary   = ("-" | "!")* atom                        a minus right before a number is part of the number
//! atom    = INT | FLOAT | "nan" | "inf" | "true" | "false" | NAME | NAME "." WORD | "me" | "(" expr ")"
//!         | ("thread" | "block" | "grid") "." WORD
//!         | ("min" | "max" | "select" | DTYPE | "index" | "lsa" | "world") "(" expr,* ")"
//! ```

mod expr;
mod kernel;
mod layout;
mod run;
mod stmt;
mod tile;

use super::lexer::{Tok, Token, lex};
use super::words::is_reserved;
use crate::diag::{Code, Diagnostic};
use crate::expr::Expr;
use crate::layout::Layout;
use crate::module::{Item, Module};
use crate::name::Name;
use crate::span::Span;

/// Deepest nesting of blocks, parentheses and calls, all counted together.
pub const MAX_NESTING: u32 = 128;

/// Deepest expression tree, operator chains included: passes recurse over expressions.
pub const MAX_CHAIN: u32 = 1000;

/// Errors reported for one source; the rest would mostly be consequences.
pub const MAX_ERRORS: usize = 50;

/// What a source says, as far as it could be understood.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The items without those parts that have errors. Only to be used when there are none.
    pub module: Module,
    /// Everything that is wrong, in the order of the text.
    pub diagnostics: Vec<Diagnostic>,
}

impl Parsed {
    /// The module, if there are no errors.
    ///
    /// # Errors
    /// All diagnostics.
    pub fn into_result(self) -> Result<Module, Vec<Diagnostic>> {
        if self.diagnostics.is_empty() { Ok(self.module) } else { Err(self.diagnostics) }
    }
}

/// Parses a `.tile` file.
pub fn parse(source: &str) -> Parsed {
    let mut p = Parser::new(source);
    let module = p.module();
    Parsed { module, diagnostics: p.finish() }
}

/// Parses one expression, e.g. from a command line.
///
/// # Errors
/// What is wrong with it; spans are offsets into `source`.
pub fn parse_expr(source: &str) -> Result<Expr, Vec<Diagnostic>> {
    parse_one(source, Parser::expr)
}

/// Parses one layout, e.g. `S[(8,4):(4@laneid,1)] swizzle(3,3,3)`.
///
/// # Errors
/// What is wrong with it; spans are offsets into `source`.
pub fn parse_layout(source: &str) -> Result<Layout, Vec<Diagnostic>> {
    parse_one(source, Parser::layout)
}

fn parse_one<'s, T>(source: &'s str, f: fn(&mut Parser<'s>) -> PResult<T>) -> Result<T, Vec<Diagnostic>> {
    let mut p = Parser::new(source);
    let result =
        f(&mut p).and_then(|value| if p.at(Tok::Eof) { Ok(value) } else { Err(p.expected("the end of the text")) });
    let value = result.map_err(|e| p.report(*e)).ok();
    let diagnostics = p.finish();
    match value {
        Some(value) if diagnostics.is_empty() => Ok(value),
        _ => Err(diagnostics),
    }
}

/// Result of a rule. The error is boxed to keep the common path small.
pub(super) type PResult<T> = Result<T, Box<Diagnostic>>;

/// Reading position in the tokens of one source.
pub(super) struct Parser<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    /// Index of the current token; the last token is `Eof` and stays current for ever.
    at: usize,
    /// Blocks, parentheses and calls that are open.
    nesting: u32,
    /// The rest of the text is left unread.
    stopped: bool,
    diagnostics: Vec<Diagnostic>,
}

impl<'s> Parser<'s> {
    fn new(source: &'s str) -> Parser<'s> {
        let lexed = lex(source, MAX_ERRORS);
        Parser { source, tokens: lexed.tokens, at: 0, nesting: 0, stopped: false, diagnostics: lexed.diagnostics }
    }

    fn finish(mut self) -> Vec<Diagnostic> {
        self.diagnostics.sort_by_key(|d| d.span.lo);
        self.diagnostics
    }

    /// Keeps an error, unless there are too many or one at the same place (it would be a consequence). Text nested too
    /// deeply is not read on: what follows would be read at the wrong depth, and each error would be a consequence.
    fn report(&mut self, error: Diagnostic) {
        if self.stopped {
            return;
        }
        if error.code == Code::TOO_DEEP {
            self.stopped = true;
            self.at = self.tokens.len() - 1;
        }
        let known = self.diagnostics.iter().any(|d| d.span.lo == error.span.lo);
        if !known && self.diagnostics.len() < MAX_ERRORS {
            self.diagnostics.push(error);
        }
    }

    fn token(&self) -> Token {
        self.nth(0)
    }

    /// The token `n` after the current one.
    fn nth(&self, n: usize) -> Token {
        let last = self.tokens.len() - 1; // the lexer always makes an `Eof`
        self.tokens[(self.at + n).min(last)]
    }

    fn kind(&self) -> Tok {
        self.token().kind
    }

    fn at(&self, kind: Tok) -> bool {
        self.kind() == kind
    }

    fn span(&self) -> Span {
        self.token().span
    }

    /// Place of the token before the current one.
    fn prev_span(&self) -> Span {
        self.at.checked_sub(1).map_or(Span::NONE, |i| self.tokens[i].span)
    }

    fn text_at(&self, span: Span) -> &'s str {
        self.source.get(span.lo as usize..span.hi as usize).unwrap_or_default()
    }

    /// Text of the token `n` after the current one, if it is a word; else empty.
    fn nth_word(&self, n: usize) -> &'s str {
        let token = self.nth(n);
        if token.kind == Tok::Word { self.text_at(token.span) } else { "" }
    }

    fn word(&self) -> &'s str {
        self.nth_word(0)
    }

    fn at_word(&self, word: &str) -> bool {
        self.word() == word
    }

    /// Is the current token a word that may be a name?
    fn at_name(&self) -> bool {
        self.at(Tok::Word) && !is_reserved(self.word())
    }

    fn bump(&mut self) -> Token {
        let token = self.token();
        if token.kind != Tok::Eof {
            self.at += 1;
        }
        token
    }

    /// The text of the current token, which is then behind us.
    fn bump_text(&mut self) -> &'s str {
        let span = self.bump().span;
        self.text_at(span)
    }

    fn eat(&mut self, kind: Tok) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// What the current token is, for `found …`.
    fn found(&self) -> String {
        match self.kind() {
            Tok::Word if is_reserved(self.word()) => format!("the reserved word `{}`", self.word()),
            Tok::Word | Tok::Int | Tok::Float | Tok::Str => {
                let text: String = self.text_at(self.span()).chars().take(40).collect();
                format!("`{text}`")
            }
            kind => kind.describe().to_owned(),
        }
    }

    /// The error "expected X, found Y" at the current token.
    fn expected(&self, what: &str) -> Box<Diagnostic> {
        self.error(format!("expected {what}, found {}", self.found()))
    }

    /// A syntax error at the current token.
    fn error(&self, message: impl Into<String>) -> Box<Diagnostic> {
        Box::new(Diagnostic::error(Code::SYNTAX, self.span(), message))
    }

    fn expect(&mut self, kind: Tok) -> PResult<Token> {
        if self.at(kind) { Ok(self.bump()) } else { Err(self.expected(kind.describe())) }
    }

    fn expect_word(&mut self, word: &str) -> PResult<Span> {
        if self.at_word(word) { Ok(self.bump().span) } else { Err(self.expected(&format!("`{word}`"))) }
    }

    /// The `;` at the end of a statement. Where only the `;` itself is missing, says so and goes on.
    fn semicolon(&mut self, help: &str) -> PResult<()> {
        if self.eat(Tok::Semi) {
            return Ok(());
        }
        let prev = self.prev_span();
        let mut error = self.expected("`;`");
        if !help.is_empty() {
            error.help.push(help.to_owned());
        }
        let gap = self.source.get(prev.hi as usize..self.span().lo as usize).unwrap_or_default();
        let ends_here = self.at(Tok::RBrace) || self.at(Tok::Eof) || gap.contains('\n');
        if !ends_here || self.at(Tok::Arrow) || self.at(Tok::Assign) {
            return Err(error);
        }
        // The statement's own line is the place to look at, not the next one.
        error.span = Span { lo: prev.hi.saturating_sub(1), hi: prev.hi };
        "add `;` after this".clone_into(&mut error.label);
        self.report(*error);
        Ok(())
    }

    /// A new or used name; `what` says which for the error.
    fn name(&mut self, what: &str) -> PResult<Name> {
        if self.at_name() {
            return Ok(Name::new(self.bump_text()));
        }
        let mut error = self.expected(what);
        if self.at(Tok::Word) {
            error.help.push(format!("`{}` is a word of the language; take another name", self.word()));
        }
        Err(error)
    }

    /// Counts one more open block or parenthesis.
    fn enter(&mut self) -> PResult<()> {
        if self.nesting >= MAX_NESTING {
            let message = format!("nesting deeper than {MAX_NESTING} blocks and parentheses");
            let error = Diagnostic::error(Code::TOO_DEEP, self.span(), message);
            return Err(Box::new(error.help("name inner parts with `let`, or split the kernel")));
        }
        self.nesting += 1;
        Ok(())
    }

    fn leave(&mut self) {
        self.nesting = self.nesting.saturating_sub(1);
    }

    /// `open item, item, close`; a comma may stand before `close`.
    fn list<T>(&mut self, open: Tok, close: Tok, mut item: impl FnMut(&mut Self) -> PResult<T>) -> PResult<Vec<T>> {
        self.expect(open)?;
        let mut items = Vec::new();
        while !self.at(close) {
            items.push(item(self)?);
            if !self.eat(Tok::Comma) && !self.at(close) {
                return Err(self.expected(&format!("`,` or {}", close.describe())));
            }
        }
        self.expect(close)?;
        Ok(items)
    }

    /// An integer literal between `lo` and `hi`, for places where no expression is allowed.
    fn int_in(&mut self, what: &str, lo: i64, hi: i64) -> PResult<i64> {
        let start = self.span();
        let negative = self.at(Tok::Minus) && self.nth(1).kind == Tok::Int;
        if negative {
            self.bump();
        }
        if !self.at(Tok::Int) {
            return Err(self.expected(what));
        }
        let span = start.to(self.bump().span);
        match expr::int_value(self.text_at(self.prev_span()), negative) {
            Some(v) if (lo..=hi).contains(&v) => Ok(v),
            _ => {
                let message = format!("{what} `{}` is not between {lo} and {hi}", self.text_at(span));
                self.report(Diagnostic::error(Code::LITERAL_RANGE, span, message));
                Ok(lo)
            }
        }
    }

    fn u32(&mut self, what: &str) -> PResult<u32> {
        let value = self.int_in(what, 0, i64::from(u32::MAX))?;
        Ok(u32::try_from(value).unwrap_or(0)) // the range was checked
    }

    /// A string literal, escapes resolved.
    fn string(&mut self) -> PResult<String> {
        let token = if self.at(Tok::Str) { self.bump() } else { return Err(self.expected("a string")) };
        let raw = self.text_at(token.span);
        let body = raw.strip_prefix('"').unwrap_or(raw);
        let body = body.strip_suffix('"').unwrap_or(body);
        match unescape(body) {
            Ok(text) => Ok(text),
            Err(escape) => {
                let error =
                    Diagnostic::error(Code::SYNTAX, token.span, format!("unknown escape `\\{escape}` in a string"));
                self.report(error.help("known are \\\\ \\\" \\n \\r \\t \\u{hex}"));
                Ok(String::new())
            }
        }
    }

    /// Skips the rest of a statement: up to `;` or over a `{ }`, never over the `}` that closes the block around it.
    fn skip_statement(&mut self) {
        loop {
            match self.kind() {
                Tok::Semi => {
                    self.bump();
                    return;
                }
                Tok::LBrace => {
                    self.skip_braces();
                    return;
                }
                Tok::RBrace | Tok::Eof => return,
                Tok::Word if self.at_word("kernel") || self.at_word("run") => return,
                _ => {
                    self.bump();
                }
            }
        }
    }

    /// Skips `{ … }` with everything inside, without recursion.
    fn skip_braces(&mut self) {
        let mut open = 0usize;
        loop {
            match self.kind() {
                Tok::LBrace => open += 1,
                Tok::RBrace => open = open.saturating_sub(1),
                Tok::Eof => return,
                _ => {}
            }
            self.bump();
            if open == 0 {
                return;
            }
        }
    }

    fn module(&mut self) -> Module {
        let mut module = Module::default();
        while !self.at(Tok::Eof) {
            let start = self.at;
            let item = match self.word() {
                "kernel" => self.kernel().map(Item::Kernel),
                "run" => self.run().map(Item::Run),
                _ => Err(self.expected("`kernel` or `run`")),
            };
            self.nesting = 0;
            match item {
                Ok(item) => module.items.push(item),
                Err(error) => {
                    self.report(*error);
                    self.skip_item(start);
                }
            }
        }
        module
    }

    /// Skips to the next `kernel` or `run`; both are reserved, so they begin an item. `start`: where the item that
    /// failed began.
    fn skip_item(&mut self, start: usize) {
        if self.at == start {
            self.bump();
        }
        while !(self.at(Tok::Eof) || self.at_word("kernel") || self.at_word("run")) {
            self.bump();
        }
    }
}

/// Resolves escapes; the error is the character after the backslash that is none.
fn unescape(body: &str) -> Result<String, String> {
    let mut out = String::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some(c @ ('\\' | '"')) => out.push(c),
            Some('u') => {
                let rest = chars.as_str();
                let code = rest.strip_prefix('{').and_then(|r| r.split_once('}'));
                let Some((hex, after)) = code else { return Err("u".to_owned()) };
                let c = u32::from_str_radix(hex, 16).ok().and_then(char::from_u32);
                out.push(c.ok_or_else(|| format!("u{{{hex}}}"))?);
                chars = after.chars();
            }
            Some(c) => return Err(c.to_string()),
            None => return Err(String::new()),
        }
    }
    Ok(out)
}
