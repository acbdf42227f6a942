//! Expressions: operator precedence with an explicit stack, so that only parentheses and calls recurse.

use super::{MAX_CHAIN, PResult, Parser, Tok};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
use crate::name::Name;
use crate::span::Span;
use crate::text::words::near;

/// An expression with the height of its tree.
struct Sub {
    expr: Expr,
    height: u32,
}

/// Ids as CUDA and HIP name them, and as they are named here.
const CUDA_IDS: [(&str, &str); 3] = [("threadIdx", "thread"), ("blockIdx", "block"), ("gridDim", "grid")];

impl Sub {
    fn leaf(kind: ExprKind, span: Span) -> Sub {
        Sub { expr: Expr { kind, span }, height: 1 }
    }
}

/// Value of an integer literal as written, with a minus in front or not; `None` if it leaves `i64`.
pub(super) fn int_value(text: &str, negative: bool) -> Option<i64> {
    let digits: String = text.chars().filter(|c| *c != '_').collect();
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None => digits.parse::<u64>().ok()?,
    };
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(v)) => Some(v),
        (true, Ok(v)) => Some(-v),
        (true, Err(_)) if magnitude == i64::MIN.unsigned_abs() => Some(i64::MIN),
        _ => None,
    }
}

fn binary_op(kind: Tok) -> Option<BinOp> {
    Some(match kind {
        Tok::Plus => BinOp::Add,
        Tok::Minus => BinOp::Sub,
        Tok::Star => BinOp::Mul,
        Tok::Slash => BinOp::Div,
        Tok::Percent => BinOp::Rem,
        Tok::And => BinOp::And,
        Tok::Or => BinOp::Or,
        Tok::Xor => BinOp::Xor,
        Tok::Shl => BinOp::Shl,
        Tok::Shr => BinOp::Shr,
        Tok::Eq => BinOp::Eq,
        Tok::Ne => BinOp::Ne,
        // `a <-1` without a space: no `<-` can follow a whole expression, so it is `<` and a minus.
        Tok::Lt | Tok::Arrow => BinOp::Lt,
        Tok::Le => BinOp::Le,
        Tok::Gt => BinOp::Gt,
        Tok::Ge => BinOp::Ge,
        Tok::AndAnd => BinOp::LAnd,
        Tok::OrOr => BinOp::LOr,
        _ => return None,
    })
}

/// Does this token continue an expression?
pub(super) fn is_operator(kind: Tok) -> bool {
    binary_op(kind).is_some()
}

/// The type that a conversion function converts to.
fn conversion(word: &str) -> Option<ScalarTy> {
    match word {
        "index" => Some(ScalarTy::Index),
        "lsa" => Some(ScalarTy::LsaRank),
        "world" => Some(ScalarTy::WorldRank),
        _ => DType::parse(word).map(ScalarTy::Num),
    }
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> PResult<Expr> {
        Ok(self.sub_expr(0)?.expr)
    }

    /// A product: an expression without `+` and weaker operators outside parentheses.
    pub(super) fn product(&mut self) -> PResult<Expr> {
        Ok(self.sub_expr(BinOp::Mul.precedence().unwrap_or(0))?.expr)
    }

    /// The rank after `@`: an atom, which may be followed by an index of the buffer.
    pub(super) fn rank_atom(&mut self) -> PResult<Expr> {
        Ok(self.atom(true)?.expr)
    }

    /// Operators that bind at least as tight as `min`.
    fn sub_expr(&mut self, min: u8) -> PResult<Sub> {
        let mut operands = vec![self.unary()?];
        let mut ops: Vec<(BinOp, u8)> = Vec::new();
        while let Some(op) = binary_op(self.kind()) {
            let precedence = op.precedence().unwrap_or(0);
            if precedence < min {
                break;
            }
            while let Some((top, _)) = ops.last().copied().filter(|(_, p)| *p >= precedence) {
                if top.is_comparison() && op.is_comparison() {
                    let error = self.error("comparisons do not chain");
                    return Err(Box::new(error.help("write `a < b && b < c`, or use parentheses")));
                }
                self.reduce(&mut operands, &mut ops)?;
            }
            if self.at(Tok::Arrow) {
                let token = &mut self.tokens[self.at];
                token.kind = Tok::Minus;
                token.span.lo += 1;
            } else {
                self.bump();
            }
            ops.push((op, precedence));
            operands.push(self.unary()?);
        }
        while !ops.is_empty() {
            self.reduce(&mut operands, &mut ops)?;
        }
        operands.pop().ok_or_else(|| self.expected("an expression"))
    }

    /// Replaces the last two operands by the result of the last operator.
    fn reduce(&self, operands: &mut Vec<Sub>, ops: &mut Vec<(BinOp, u8)>) -> PResult<()> {
        if let (Some((op, _)), Some(b), Some(a)) = (ops.pop(), operands.pop(), operands.pop()) {
            let height = self.higher(a.height.max(b.height))?;
            let span = a.expr.span.to(b.expr.span);
            let kind = ExprKind::Binary(op, Box::new(a.expr), Box::new(b.expr));
            operands.push(Sub { expr: Expr { kind, span }, height });
        }
        Ok(())
    }

    fn higher(&self, height: u32) -> PResult<u32> {
        if height >= MAX_CHAIN {
            let message = format!("expression deeper than {MAX_CHAIN} operators");
            let error = Diagnostic::error(Code::TOO_DEEP, self.span(), message);
            return Err(Box::new(error.help("name parts of it with `let`")));
        }
        Ok(height + 1)
    }

    fn unary(&mut self) -> PResult<Sub> {
        let mut ops: Vec<(UnOp, Span)> = Vec::new();
        loop {
            let op = match self.kind() {
                Tok::Minus => UnOp::Neg,
                Tok::Bang => UnOp::Not,
                _ => break,
            };
            self.higher(u32::try_from(ops.len()).unwrap_or(MAX_CHAIN))?;
            ops.push((op, self.bump().span));
        }
        let mut sub = match ops.last().copied() {
            Some((UnOp::Neg, minus)) if self.at_number() => {
                ops.pop();
                self.number(Some(minus))?
            }
            _ => self.atom(false)?,
        };
        for (op, span) in ops.into_iter().rev() {
            let height = self.higher(sub.height)?;
            let span = span.to(sub.expr.span);
            sub = Sub { expr: Expr { kind: ExprKind::Unary(op, Box::new(sub.expr)), span }, height };
        }
        Ok(sub)
    }

    fn at_number(&self) -> bool {
        matches!(self.kind(), Tok::Int | Tok::Float) || matches!(self.word(), "nan" | "inf")
    }

    /// A number, negative if there was a minus.
    fn number(&mut self, minus: Option<Span>) -> PResult<Sub> {
        let token = self.bump();
        let text = self.text_at(token.span);
        let span = minus.unwrap_or(token.span).to(token.span);
        let sign = if minus.is_some() { -1.0 } else { 1.0 };
        let value = match token.kind {
            Tok::Int => {
                let value = int_value(text, minus.is_some());
                if value.is_none() {
                    let message = format!("integer `{text}` does not fit 64 bits");
                    let error = Diagnostic::error(Code::LITERAL_RANGE, span, message);
                    self.report(error.help("integers run from -0x8000_0000_0000_0000 to 0x7fff_ffff_ffff_ffff"));
                }
                return Ok(Sub::leaf(ExprKind::Int(value.unwrap_or(0)), span));
            }
            Tok::Float => {
                let digits: String = text.chars().filter(|c| *c != '_').collect();
                let value = digits.parse::<f64>().unwrap_or(0.0);
                if value.is_infinite() {
                    let error =
                        Diagnostic::error(Code::LITERAL_RANGE, span, format!("`{text}` is beyond the largest f64"));
                    self.report(error.help("write `inf` for infinity"));
                }
                sign * value
            }
            _ if text == "inf" => sign * f64::INFINITY,
            _ => return self.nan(span, minus.is_some()),
        };
        Ok(Sub::leaf(ExprKind::Float(value.to_bits()), span))
    }

    /// `nan`, or `nan(bits)` for a NaN with other bits than the usual ones.
    fn nan(&mut self, span: Span, negative: bool) -> PResult<Sub> {
        const QUIET: u64 = 0x7ff8_0000_0000_0000;
        const SIGN: u64 = 1 << 63;
        let mut bits = QUIET;
        let mut end = span;
        if self.at(Tok::LParen) {
            self.bump();
            let value = self.int_in("the bits of a NaN", 0x7ff0_0000_0000_0001, 0x7fff_ffff_ffff_ffff)?;
            bits = value.unsigned_abs();
            end = self.expect(Tok::RParen)?.span;
        }
        let bits = if negative { bits | SIGN } else { bits };
        Ok(Sub::leaf(ExprKind::Float(bits), span.to(end)))
    }

    /// `indexed`: may `[` follow, because the atom is a rank after `@`?
    fn atom(&mut self, indexed: bool) -> PResult<Sub> {
        match self.kind() {
            Tok::LParen => {
                self.enter()?;
                let open = self.bump().span;
                let mut sub = self.sub_expr(0)?;
                sub.expr.span = open.to(self.expect(Tok::RParen)?.span);
                self.leave();
                Ok(sub)
            }
            Tok::Int | Tok::Float => self.number(None),
            Tok::Word => self.word_atom(indexed),
            _ => Err(self.expected("an expression")),
        }
    }

    fn word_atom(&mut self, indexed: bool) -> PResult<Sub> {
        let word = self.word();
        let span = self.span();
        match word {
            "true" | "false" => {
                self.bump();
                Ok(Sub::leaf(ExprKind::Bool(word == "true"), span))
            }
            "nan" | "inf" => self.number(None),
            "me" => {
                self.bump();
                Ok(Sub::leaf(ExprKind::Special(Special::Me), span))
            }
            "thread" | "block" | "grid" => self.special(),
            "min" | "max" | "select" => self.call(word),
            _ if conversion(word).is_some() => self.call(word),
            _ if self.at_name() => self.named(indexed),
            _ => Err(self.expected("an expression")),
        }
    }

    /// `thread.x` and its like.
    fn special(&mut self) -> PResult<Sub> {
        let (family, start) = (self.word(), self.bump().span);
        if !self.at(Tok::Dot) {
            return Err(Box::new(
                self.expected("`.`").help(format!("`{family}` is written with a field: `{family}.x`")),
            ));
        }
        self.bump();
        let text = format!("{family}.{}", self.word());
        let Some((special, _)) = Special::ALL.iter().find(|(_, t)| *t == text) else {
            let fields: Vec<&str> = Special::ALL
                .iter()
                .filter_map(|(_, t)| t.strip_prefix(family).and_then(|rest| rest.strip_prefix('.')))
                .collect();
            let error = self.expected(&format!("a field of `{family}`"));
            return Err(Box::new(error.help(format!("its fields are {}", fields.join(", ")))));
        };
        let end = self.bump().span;
        Ok(Sub::leaf(ExprKind::Special(*special), start.to(end)))
    }

    /// `min(a, b)`, `select(c, a, b)`, `f32(x)`.
    fn call(&mut self, function: &str) -> PResult<Sub> {
        let start = self.bump().span;
        if !self.at(Tok::LParen) {
            return Err(self.expected(&format!("`(` after the function `{function}`")));
        }
        self.enter()?;
        let args = self.list(Tok::LParen, Tok::RParen, |p| p.sub_expr(0))?;
        self.leave();
        let span = start.to(self.prev_span());
        let height = self.higher(args.iter().map(|a| a.height).max().unwrap_or(0))?;
        let given = args.len();
        let mut args = args.into_iter().map(|a| Box::new(a.expr));
        let takes = |n: usize| {
            let message = format!("`{function}` takes {n} arguments, found {given}");
            Box::new(Diagnostic::error(Code::SYNTAX, span, message))
        };
        let kind = match (function, conversion(function), args.next(), args.next(), args.next()) {
            ("min", _, Some(a), Some(b), None) => ExprKind::Binary(BinOp::Min, a, b),
            ("max", _, Some(a), Some(b), None) => ExprKind::Binary(BinOp::Max, a, b),
            ("select", _, Some(c), Some(a), Some(b)) if given == 3 => ExprKind::Select(c, a, b),
            (_, Some(ty), Some(a), None, None) => ExprKind::Cast(ty, a),
            ("min" | "max", ..) => return Err(takes(2)),
            ("select", ..) => return Err(takes(3)),
            _ => return Err(takes(1)),
        };
        Ok(Sub { expr: Expr { kind, span }, height })
    }

    /// A variable or a field of a communicator.
    fn named(&mut self, indexed: bool) -> PResult<Sub> {
        let start = self.span();
        let name = Name::new(self.bump_text());
        match self.kind() {
            Tok::Dot => {
                self.bump();
                let word = self.word();
                let Some((field, _)) = CommField::ALL.iter().find(|(_, t)| *t == word) else {
                    let names = CommField::ALL.map(|(_, t)| t);
                    let mut error = self.expected(&format!("a field of the communicator `{name}`"));
                    let cuda = CUDA_IDS.iter().find(|(theirs, _)| *theirs == name.as_str());
                    if let (Some((_, ours)), "x" | "y" | "z") = (cuda, word) {
                        error.message = format!("`{name}.{word}` is written `{ours}.{word}` here");
                        error.help.push("the ids of a kernel are thread, block and grid".to_owned());
                        return Err(error);
                    }
                    match near(word, &names).first() {
                        Some(likely) => error.help.push(format!("did you mean `{name}.{likely}`?")),
                        None => error.help.push(format!("its fields are {}", names.join(", "))),
                    }
                    return Err(error);
                };
                let span = start.to(self.bump().span);
                if self.at(Tok::LParen) {
                    return Err(self.statement_op(&format!("{name}.{word}")));
                }
                Ok(Sub::leaf(ExprKind::Comm(name, *field), span))
            }
            Tok::LParen => Err(self.statement_op(name.as_str())),
            Tok::LBracket if !indexed => Err(self.load_in_expr(&name, start)),
            Tok::At if self.nth(2).kind == Tok::LBracket => Err(self.load_in_expr(&name, start)),
            Tok::Bang if self.nth(1).kind == Tok::LBracket && !indexed => Err(self.load_in_expr(&name, start)),
            _ => Ok(Sub::leaf(ExprKind::Var(name), start)),
        }
    }

    fn load_in_expr(&self, name: &Name, span: Span) -> Box<Diagnostic> {
        let message = format!("load of `{name}` inside an expression");
        Box::new(
            Diagnostic::error(Code::SYNTAX, span, message)
                .help(format!("loads are statements: bind it with `let` first (`let x = {name}[…];`)")),
        )
    }

    fn statement_op(&self, name: &str) -> Box<Diagnostic> {
        let error = self.error(format!("`{name}` is no function"));
        Box::new(error.help(
            "functions in expressions are min, max, select and conversions such as f32(x); other ops are statements: \
             `let x = op(…);`",
        ))
    }
}
