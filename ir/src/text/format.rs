//! The formatter: canonical line breaks and spaces, every token and every comment kept.
//!
//! It works on tokens, not on the tree, so literals stay as written and the result means the same by construction. Must
//! hold: formatting twice changes nothing; `format(print(m)) == print(m)`. Commas before a closing bracket go; comments
//! inside a statement move to its line's end or above it; single blank lines between statements stay.

mod spacing;

use super::lexer::{Tok, Token, lex};
use super::parser::{MAX_ERRORS, parse};
use super::print::MAX_LINE;
use crate::diag::Diagnostic;
use crate::span::Span;
use spacing::Spacing;

/// The source in canonical style.
///
/// # Errors
/// What the parser says about a source that is not correct.
pub fn format(source: &str) -> Result<String, Vec<Diagnostic>> {
    parse(source).into_result()?;
    let lexed = lex(source, MAX_ERRORS);
    let mut f = Formatter {
        source,
        tokens: lexed.tokens,
        at: 0,
        comments: lexed.comments,
        next_comment: 0,
        lines: Vec::new(),
        open: false,
        pending: Vec::new(),
        prev_end: 0,
        spacing: Spacing::default(),
    };
    f.module();
    Ok(f.render())
}

/// A comment on a line of its own.
struct Comment {
    text: String,
    blank_before: bool,
}

/// A line of the result, with what stands around it.
struct Line {
    indent: usize,
    before: Vec<Comment>,
    blank_before: bool,
    text: String,
    trailing: Option<String>,
}

struct Formatter<'s> {
    source: &'s str,
    tokens: Vec<Token>,
    at: usize,
    comments: Vec<Span>,
    next_comment: usize,
    lines: Vec<Line>,
    /// Does the next token go on the last line?
    open: bool,
    /// Comments that go before the next line.
    pending: Vec<Comment>,
    /// End of the last token or comment that was read.
    prev_end: usize,
    spacing: Spacing,
}

impl Formatter<'_> {
    fn token(&self) -> Token {
        self.nth(0)
    }

    fn nth(&self, n: usize) -> Token {
        let last = self.tokens.len() - 1; // the lexer always makes an `Eof`
        self.tokens[(self.at + n).min(last)]
    }

    fn text(&self, span: Span) -> &str {
        self.source.get(span.lo as usize..span.hi as usize).unwrap_or_default()
    }

    fn at_word(&self, word: &str) -> bool {
        self.token().kind == Tok::Word && self.text(self.token().span) == word
    }

    /// Is there a comment between the current token and the token with index `end`?
    fn comment_before(&self, end: usize) -> bool {
        let hi = self.tokens[end.min(self.tokens.len() - 1)].span.lo;
        self.comments.get(self.next_comment..).unwrap_or_default().iter().any(|c| {
            let lo = self.token().span.lo;
            c.lo > lo && c.lo < hi
        })
    }

    /// An empty line between what was read last and byte `lo`?
    fn blank_line_before(&self, lo: usize) -> bool {
        let gap = self.source.get(self.prev_end..lo).unwrap_or_default();
        gap.bytes().filter(|b| *b == b'\n').count() >= 2
    }

    /// Puts the comments before byte `lo` where they belong.
    fn take_comments(&mut self, lo: u32) {
        while let Some(span) = self.comments.get(self.next_comment).copied().filter(|c| c.lo < lo) {
            self.next_comment += 1;
            let text = self.text(span).trim_end().to_owned();
            let start = span.lo as usize;
            let line_start = self.source.get(..start).unwrap_or_default().rfind('\n').map_or(0, |n| n + 1);
            let own_line = self.source.get(line_start..start).unwrap_or_default().trim().is_empty();
            let blank_before = self.blank_line_before(start);
            self.prev_end = span.hi as usize;
            match self.lines.last_mut() {
                Some(line) if !own_line && line.trailing.is_none() => line.trailing = Some(text),
                // Between `}` and `else`: there is nothing above it that is not inside the block.
                Some(line) if (!own_line || self.open) && line.text.starts_with('}') => {
                    let trailing = line.trailing.take().map_or(text.clone(), |t| format!("{t} {text}"));
                    line.trailing = Some(trailing);
                }
                Some(line) if !own_line || self.open => {
                    // Inside a statement: above it, in place of the line itself.
                    line.before.push(Comment { text, blank_before: line.blank_before });
                    line.blank_before = false;
                }
                _ => self.pending.push(Comment { text, blank_before }),
            }
        }
    }

    /// Writes the current token on the open line, or on a new one.
    fn bump(&mut self, indent: usize) {
        let token = self.token();
        self.take_comments(token.span.lo);
        let blank_before = self.blank_line_before(token.span.lo as usize) && token.kind != Tok::RBrace;
        if !self.open {
            let before = std::mem::take(&mut self.pending);
            let first = self.lines.last().is_none_or(|l| l.text.ends_with('{'));
            let mut line = Line { indent, before, blank_before, text: String::new(), trailing: None };
            if first {
                line.set_blank(false);
            }
            self.lines.push(line);
            self.open = true;
            self.spacing.start_line();
        }
        let text = self.source.get(token.span.lo as usize..token.span.hi as usize).unwrap_or_default();
        let next = self.nth(1).kind;
        let drop = token.kind == Tok::Comma && matches!(next, Tok::RParen | Tok::RBracket);
        if let Some(line) = self.lines.last_mut()
            && !drop
        {
            self.spacing.write(&mut line.text, token.kind, text, next);
        }
        self.prev_end = token.span.hi as usize;
        self.at += 1;
    }

    fn end_line(&mut self) {
        self.open = false;
    }

    fn module(&mut self) {
        while self.token().kind != Tok::Eof {
            let first = self.lines.len();
            if self.at_word("kernel") {
                self.kernel_head();
            } else {
                self.until_brace(0); // run NAME
            }
            self.body();
            if let Some(line) = self.lines.get_mut(first) {
                line.set_blank(first > 0);
            }
        }
        self.take_comments(u32::MAX);
    }

    /// Tokens up to, not including, `{`.
    fn until_brace(&mut self, indent: usize) {
        while !matches!(self.token().kind, Tok::LBrace | Tok::Eof) {
            self.bump(indent);
        }
    }

    /// Everything of a kernel before its `{`.
    fn kernel_head(&mut self) {
        let close = self.matching_paren(self.at + 2);
        let vertical = self.comments_after_paren(close) || !self.fits(close);
        self.bump(0); // kernel
        self.bump(0); // name
        self.bump(0); // (
        if vertical {
            self.end_line();
        }
        let mut depth = 0usize;
        while self.at < close {
            let kind = self.token().kind;
            match kind {
                Tok::LParen | Tok::LBracket => depth += 1,
                Tok::RParen | Tok::RBracket => depth = depth.saturating_sub(1),
                _ => {}
            }
            self.bump(1);
            if vertical && depth == 0 && kind == Tok::Comma {
                self.end_line();
            }
        }
        if vertical {
            self.end_line();
        }
        self.bump(0); // )
        self.end_line();
        while !matches!(self.token().kind, Tok::LBrace | Tok::Eof) {
            if self.at_word("launch") {
                self.end_line();
            }
            self.bump(1);
        }
        self.end_line();
    }

    /// Is there a comment between the `(` of the parameters and the token `close`?
    fn comments_after_paren(&self, close: usize) -> bool {
        let lo = self.nth(2).span.lo;
        let hi = self.tokens[close.min(self.tokens.len() - 1)].span.lo;
        self.comments.iter().any(|c| c.lo > lo && c.lo < hi)
    }

    /// Index of the `)` that closes the `(` at index `open`.
    fn matching_paren(&self, open: usize) -> usize {
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(open) {
            match token.kind {
                Tok::LParen => depth += 1,
                Tok::RParen => depth = depth.saturating_sub(1),
                _ => {}
            }
            if depth == 0 {
                return i;
            }
        }
        self.tokens.len() - 1
    }

    /// Would the tokens up to and including `close` fit on one line?
    fn fits(&self, close: usize) -> bool {
        let mut spacing = Spacing::default();
        let mut line = String::new();
        for i in self.at..=close {
            let token = self.tokens[i.min(self.tokens.len() - 1)];
            let next = self.tokens[(i + 1).min(self.tokens.len() - 1)].kind;
            if token.kind != Tok::Comma || !matches!(next, Tok::RParen | Tok::RBracket) {
                spacing.write(&mut line, token.kind, self.text(token.span), next);
            }
        }
        line.chars().count() <= MAX_LINE
    }

    /// `{ … }` with nested blocks; without recursion.
    fn body(&mut self) {
        let mut indent = 0;
        loop {
            let kind = self.token().kind;
            match kind {
                Tok::LBrace => {
                    let empty = self.nth(1).kind == Tok::RBrace && !self.comment_before(self.at + 1);
                    self.bump(indent);
                    if empty {
                        self.bump(indent);
                        self.end_block();
                    } else {
                        indent += 1;
                        self.end_line();
                    }
                }
                Tok::RBrace => {
                    self.take_comments(self.token().span.lo);
                    self.close_comments(indent);
                    indent = indent.saturating_sub(1);
                    self.bump(indent);
                    self.end_block();
                }
                Tok::Semi => {
                    self.bump(indent);
                    self.end_line();
                }
                Tok::Eof => return,
                _ => self.bump(indent),
            }
            if indent == 0 && !self.open && matches!(kind, Tok::RBrace | Tok::LBrace) {
                return;
            }
        }
    }

    /// After a `}`: the line goes on only with `else`.
    fn end_block(&mut self) {
        if !self.at_word("else") {
            self.end_line();
        }
    }

    /// Comments before a `}` belong to the block: they get a line of their own, at its indentation.
    fn close_comments(&mut self, indent: usize) {
        if self.pending.is_empty() {
            return;
        }
        let before = std::mem::take(&mut self.pending);
        let first = self.lines.last().is_none_or(|l| l.text.ends_with('{'));
        let mut line = Line { indent, before, blank_before: false, text: String::new(), trailing: None };
        if first {
            line.set_blank(false);
        }
        self.lines.push(line);
    }

    fn render(self) -> String {
        let mut out = String::new();
        for line in &self.lines {
            let pad = "    ".repeat(line.indent);
            for c in &line.before {
                push_line(&mut out, c.blank_before, &pad, &c.text, None);
            }
            if !line.text.is_empty() {
                push_line(&mut out, line.blank_before, &pad, &line.text, line.trailing.as_deref());
            }
        }
        for c in &self.pending {
            push_line(&mut out, c.blank_before, "", &c.text, None);
        }
        out
    }
}

impl Line {
    /// Sets whether an empty line stands before the line and the comments above it.
    fn set_blank(&mut self, blank: bool) {
        match self.before.first_mut() {
            Some(comment) => comment.blank_before = blank,
            None => self.blank_before = blank,
        }
    }
}

fn push_line(out: &mut String, blank: bool, pad: &str, text: &str, trailing: Option<&str>) {
    if blank && !out.is_empty() {
        out.push('\n');
    }
    out.push_str(pad);
    out.push_str(text);
    if let Some(comment) = trailing {
        out.push(' ');
        out.push_str(comment);
    }
    out.push('\n');
}
