//! From source text to tokens.
//!
//! Words are one kind of token; the parser knows which are reserved (`words.rs`). Comments are kept aside with their
//! places, for the formatter. Every byte of the source belongs to a token, a comment, white space, or a reported error.

use logos::Logos;

use crate::diag::{Code, Diagnostic};
use crate::span::Span;

/// Kinds of tokens.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f]+")]
pub(super) enum Tok {
    /// `// …` up to the end of the line.
    #[regex(r"//[^\n]*", allow_greedy = true)]
    Comment,
    /// Name or keyword.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    /// Decimal or hexadecimal integer, `_` between digits.
    #[regex(r"[0-9][0-9_]*|0[xX][0-9a-fA-F_]+")]
    Int,
    /// Number with a point or an exponent.
    #[regex(r"[0-9][0-9_]*\.[0-9][0-9_]*([eE][+-]?[0-9]+)?|[0-9][0-9_]*[eE][+-]?[0-9]+")]
    Float,
    /// `"…"` on one line, with escapes.
    #[regex(r#""([^"\\\n]|\\[^\n])*""#)]
    Str,
    /// `"…` without an end on its line: an error.
    #[regex(r#""([^"\\\n]|\\[^\n])*\\?"#)]
    OpenStr,
    #[token("(")]
    LParen,
    #[token(")")]
    RParen,
    #[token("[")]
    LBracket,
    #[token("]")]
    RBracket,
    #[token("{")]
    LBrace,
    #[token("}")]
    RBrace,
    #[token(",")]
    Comma,
    #[token(";")]
    Semi,
    #[token(":")]
    Colon,
    #[token(".")]
    Dot,
    #[token("..")]
    DotDot,
    #[token("@")]
    At,
    #[token("!")]
    Bang,
    #[token("=")]
    Assign,
    #[token("<-")]
    Arrow,
    #[token("==")]
    Eq,
    #[token("!=")]
    Ne,
    #[token("<")]
    Lt,
    #[token("<=")]
    Le,
    #[token(">")]
    Gt,
    #[token(">=")]
    Ge,
    #[token("<<")]
    Shl,
    #[token(">>")]
    Shr,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("&")]
    And,
    #[token("|")]
    Or,
    #[token("^")]
    Xor,
    #[token("&&")]
    AndAnd,
    #[token("||")]
    OrOr,
    /// End of the source; not made by logos.
    Eof,
}

impl Tok {
    /// Text of a token that is always written the same, in backquotes; a description for the others.
    pub(super) fn describe(self) -> &'static str {
        match self {
            Tok::Comment => "a comment",
            Tok::Word => "a name",
            Tok::Int => "an integer",
            Tok::Float => "a number",
            Tok::Str | Tok::OpenStr => "a string",
            Tok::LParen => "`(`",
            Tok::RParen => "`)`",
            Tok::LBracket => "`[`",
            Tok::RBracket => "`]`",
            Tok::LBrace => "`{`",
            Tok::RBrace => "`}`",
            Tok::Comma => "`,`",
            Tok::Semi => "`;`",
            Tok::Colon => "`:`",
            Tok::Dot => "`.`",
            Tok::DotDot => "`..`",
            Tok::At => "`@`",
            Tok::Bang => "`!`",
            Tok::Assign => "`=`",
            Tok::Arrow => "`<-`",
            Tok::Eq => "`==`",
            Tok::Ne => "`!=`",
            Tok::Lt => "`<`",
            Tok::Le => "`<=`",
            Tok::Gt => "`>`",
            Tok::Ge => "`>=`",
            Tok::Shl => "`<<`",
            Tok::Shr => "`>>`",
            Tok::Plus => "`+`",
            Tok::Minus => "`-`",
            Tok::Star => "`*`",
            Tok::Slash => "`/`",
            Tok::Percent => "`%`",
            Tok::And => "`&`",
            Tok::Or => "`|`",
            Tok::Xor => "`^`",
            Tok::AndAnd => "`&&`",
            Tok::OrOr => "`||`",
            Tok::Eof => "the end of the file",
        }
    }
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) kind: Tok,
    pub(super) span: Span,
}

/// What the lexer made of a source.
pub(super) struct Lexed {
    /// Tokens without comments; the last is `Eof`.
    pub(super) tokens: Vec<Token>,
    /// Comments, in order.
    pub(super) comments: Vec<Span>,
    /// Characters that start no token.
    pub(super) diagnostics: Vec<Diagnostic>,
}

/// Longest source, in bytes: far above any real file, and small enough that the tokens fit in memory.
pub(super) const MAX_SOURCE: usize = 16 << 20;

/// Splits a source into tokens. At most `max_errors` errors are reported.
pub(super) fn lex(source: &str, max_errors: usize) -> Lexed {
    let mut out = Lexed { tokens: Vec::new(), comments: Vec::new(), diagnostics: Vec::new() };
    if source.len() > MAX_SOURCE {
        let message = format!("source of {} bytes is larger than {MAX_SOURCE} bytes", source.len());
        out.diagnostics.push(Diagnostic::error(Code::TOO_LARGE, Span::NONE, message));
        out.tokens.push(Token { kind: Tok::Eof, span: Span::NONE });
        return out;
    }
    let mut bad: Option<Span> = None; // characters side by side that start no token give one error
    for (token, range) in Tok::lexer(source).spanned() {
        let span = Span::new(range.start, range.end);
        let Ok(kind) = token else {
            match &mut bad {
                Some(b) if b.hi == span.lo => *b = b.to(span),
                _ => {
                    report_bad(&mut out, source, bad.replace(span), max_errors);
                }
            }
            continue;
        };
        match kind {
            Tok::Comment => out.comments.push(span),
            Tok::OpenStr => {
                if out.diagnostics.len() < max_errors {
                    let d = Diagnostic::error(Code::SYNTAX, span, "string without an end on its line");
                    out.diagnostics.push(d.help("close it with `\"`"));
                }
                out.tokens.push(Token { kind: Tok::Str, span });
            }
            _ => out.tokens.push(Token { kind, span }),
        }
    }
    report_bad(&mut out, source, bad, max_errors);
    out.tokens.push(Token { kind: Tok::Eof, span: Span::new(source.len(), source.len()) });
    out
}

fn report_bad(out: &mut Lexed, source: &str, bad: Option<Span>, max_errors: usize) {
    let Some(span) = bad else { return };
    if out.diagnostics.len() >= max_errors {
        return;
    }
    let text: String = source.get(span.lo as usize..span.hi as usize).unwrap_or_default().chars().take(16).collect();
    let message = format!("no token starts with `{}`", text.escape_debug());
    let error = Diagnostic::error(Code::UNKNOWN_TOKEN, span, message);
    out.diagnostics.push(match text.starts_with('\u{feff}') {
        true => error.help("this is a byte order mark: save the file as UTF-8 without it"),
        false => error,
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<Tok> {
        lex(source, 50).tokens.iter().map(|t| t.kind).collect()
    }

    #[test]
    fn ranges_are_no_floats() {
        assert_eq!(kinds("0..8"), [Tok::Int, Tok::DotDot, Tok::Int, Tok::Eof]);
        assert_eq!(kinds("1.5e-3"), [Tok::Float, Tok::Eof]);
        assert_eq!(kinds("0xFF_u"), [Tok::Int, Tok::Word, Tok::Eof]);
    }

    #[test]
    fn bad_characters_side_by_side_are_one_error() {
        let lexed = lex("a ### b # c", 50);
        assert_eq!(lexed.diagnostics.len(), 2);
        assert_eq!(lexed.diagnostics[0].span.lo, 2);
        assert_eq!(lexed.diagnostics[0].span.hi, 5);
    }

    #[test]
    fn comments_are_kept_aside() {
        let lexed = lex("a // b\n// c\nd", 50);
        assert_eq!(lexed.comments.len(), 2);
        assert_eq!(lexed.tokens.len(), 3);
    }

    #[test]
    fn long_tokens_need_no_stack() {
        let long = format!("// {}\n\"{}\" {}", "x".repeat(1 << 20), "y".repeat(1 << 20), "z".repeat(1 << 20));
        assert_eq!(kinds(&long), [Tok::Str, Tok::Word, Tok::Eof]);
    }
}
