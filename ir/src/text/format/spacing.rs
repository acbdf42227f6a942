//! Where a space stands between two tokens. Must agree with the printer.

use super::Tok;
use crate::stmt::TileKind;

/// An open bracket.
#[derive(Clone, Copy, PartialEq)]
enum Open {
    /// Commas are followed by a space.
    Wide,
    /// Inside `S[…]`, `R[…]` and `swizzle(…)`: no spaces at commas and colons.
    Tight,
}

/// What the last token was, for the next one.
#[derive(Clone, Copy, Default, PartialEq)]
enum Last {
    /// Nothing yet on this line.
    #[default]
    Start,
    /// No space follows: `(`, `[`, `@`, `.`, `..`, a unary operator.
    Glue,
    /// The end of an operand or of anything after which an operator is binary.
    Operand,
    /// A word after which an operand begins: `if`, `in`, `from`.
    Before,
    /// `global` or `window`, before `<`.
    Generic,
    /// `S` or `R`, which may open a tight bracket.
    Shard,
    /// `swizzle`.
    Swizzle,
    /// `,` or `:` inside a tight bracket; the flag says that it was `:`.
    Tight(bool),
    /// Anything that is followed by a space.
    Wide,
}

/// State of the line being written.
#[derive(Default)]
pub(super) struct Spacing {
    last: Last,
    open: Vec<Open>,
    /// After the word `layout`, until the layout ends.
    layout: bool,
    /// Inside `global<…>`.
    generic: bool,
    /// Tokens on this line so far.
    count: usize,
    /// In a tile op, before its arrow.
    tile_op: bool,
}

impl Spacing {
    pub(super) fn start_line(&mut self) {
        *self = Spacing::default();
    }

    /// Appends a token to the line.
    pub(super) fn write(&mut self, line: &mut String, kind: Tok, text: &str, next: Tok) {
        let tight = self.open.last() == Some(&Open::Tight);
        let after_operand = matches!(self.last, Last::Operand | Last::Generic | Last::Shard | Last::Swizzle);
        let unary = matches!(kind, Tok::Minus | Tok::Bang) && !after_operand;
        let flat_index = kind == Tok::Bang && after_operand && next == Tok::LBracket;
        let generic = kind == Tok::Lt && self.last == Last::Generic || kind == Tok::Gt && self.generic;
        let glued_left = match kind {
            Tok::Comma | Tok::Semi | Tok::Colon | Tok::RParen | Tok::RBracket | Tok::At | Tok::Dot => true,
            Tok::DotDot => self.last != Last::Wide,
            Tok::LParen | Tok::LBracket => after_operand,
            Tok::RBrace => line.ends_with('{'),
            _ => generic || flat_index,
        };
        let space = match self.last {
            Last::Start | Last::Glue | Last::Tight(_) => false,
            _ => !glued_left,
        };
        if space {
            line.push(' ');
        }
        let arrow_in_expr = kind == Tok::Arrow && !(self.tile_op && self.open.is_empty());
        line.push_str(if arrow_in_expr { "< -" } else { text });
        self.last = match kind {
            Tok::Word => self.word(text),
            Tok::LParen | Tok::LBracket => {
                self.open.push(self.opens(kind, tight));
                Last::Glue
            }
            Tok::RParen | Tok::RBracket => {
                self.open.pop();
                Last::Operand
            }
            Tok::Comma | Tok::Colon if tight => Last::Tight(kind == Tok::Colon),
            Tok::At | Tok::Dot | Tok::DotDot => Last::Glue,
            Tok::Int | Tok::Float | Tok::Str => Last::Operand,
            _ if unary || flat_index || arrow_in_expr => Last::Glue,
            Tok::Lt if generic => {
                self.generic = true;
                Last::Glue
            }
            Tok::Gt if generic => {
                self.generic = false;
                Last::Operand
            }
            Tok::Arrow => {
                self.tile_op = false;
                Last::Wide
            }
            _ => Last::Wide,
        };
        if kind == Tok::Comma && self.open.len() <= 1 {
            self.layout = false;
        }
        self.count += 1;
    }

    fn word(&mut self, text: &str) -> Last {
        if self.last != Last::Glue && TileKind::ALL.iter().any(|(_, t)| *t == text) && matches!(self.count, 0 | 2) {
            self.tile_op = true;
        }
        match text {
            "layout" => {
                self.layout = true;
                Last::Operand
            }
            "S" | "R" if self.layout && self.last != Last::Glue => Last::Shard,
            "swizzle" | "swizzle_outer" => Last::Swizzle,
            "global" | "window" => Last::Generic,
            "if" | "in" | "from" => Last::Before,
            _ => Last::Operand,
        }
    }

    /// What kind of bracket opens here.
    fn opens(&self, kind: Tok, tight: bool) -> Open {
        let list = match self.last {
            Last::Shard => kind == Tok::LBracket,
            Last::Swizzle => true,
            // `S[(` and `:(`: the lists of extents and strides.
            Last::Glue | Last::Tight(true) => tight && kind == Tok::LParen,
            _ => false,
        };
        if list { Open::Tight } else { Open::Wide }
    }
}
