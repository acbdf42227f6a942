//! Layouts: `S[(8,4):(4@laneid,1@laneid)] + R[2:4@warpid] + 5@warpid swizzle(3,3,3)`.

use super::{PResult, Parser, Tok};
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::layout::{Axis, Iter, Layout, Swizzle, TileLayout};

impl Parser<'_> {
    /// A layout. Offsets on the same axis add up; a swizzle alone has an empty tile.
    pub(super) fn layout(&mut self) -> PResult<Layout> {
        let mut tile = TileLayout::default();
        if !self.at_swizzle() {
            if !(self.at_word("S") && self.nth(1).kind == Tok::LBracket) {
                let error = self.expected("a layout");
                return Err(Box::new(
                    error.help("a layout begins with `S[extents:strides]`, or is a `swizzle(p,l,a)`"),
                ));
            }
            self.bump();
            tile.shard = self.iters()?;
            while self.eat(Tok::Plus) {
                self.layout_part(&mut tile)?;
            }
        }
        let swizzle = if self.at_swizzle() { Some(self.swizzle()?) } else { None };
        Ok(Layout { tile, swizzle })
    }

    fn at_swizzle(&self) -> bool {
        matches!(self.word(), "swizzle" | "swizzle_outer")
    }

    /// What follows a `+`: replicas or an offset.
    fn layout_part(&mut self, tile: &mut TileLayout) -> PResult<()> {
        if self.nth(1).kind == Tok::LBracket {
            match self.word() {
                "R" => {
                    self.bump();
                    tile.replica.extend(self.iters()?);
                    return Ok(());
                }
                "S" => {
                    let error = self.error("a layout has one `S[…]`");
                    return Err(Box::new(error.help("put all digits into one: `S[(8,4):(4,1)]`; replicas are `R[…]`")));
                }
                _ => {}
            }
        }
        let value = Dim::from_expr(&self.product()?);
        let axis = self.axis()?;
        let slot = tile.offset.entry(axis).or_insert(Dim::ZERO);
        *slot = slot.add(&value);
        Ok(())
    }

    /// `@laneid`, or nothing: memory.
    fn axis(&mut self) -> PResult<Axis> {
        if !self.eat(Tok::At) {
            return Ok(Axis::M);
        }
        if !self.at(Tok::Word) {
            return Err(self.expected("an axis such as `laneid`"));
        }
        Ok(Axis::parse(self.bump_text()))
    }

    /// `[8:1]` or `[(8,4):(4@laneid,1)]`.
    fn iters(&mut self) -> PResult<Vec<Iter>> {
        let start = self.expect(Tok::LBracket)?.span;
        let extent = |p: &mut Self| Ok(Dim::from_expr(&p.expr()?));
        let stride = |p: &mut Self| {
            let value = Dim::from_expr(&p.expr()?);
            Ok((value, p.axis()?))
        };
        let listed = self.at(Tok::LParen) && self.is_tuple();
        let extents = if listed { self.list(Tok::LParen, Tok::RParen, extent)? } else { vec![extent(self)?] };
        self.expect(Tok::Colon)?;
        let strides = if listed && self.at(Tok::LParen) {
            self.list(Tok::LParen, Tok::RParen, stride)?
        } else {
            vec![stride(self)?]
        };
        let span = start.to(self.expect(Tok::RBracket)?.span);
        if extents.len() != strides.len() {
            let message = format!("{} extents but {} strides", extents.len(), strides.len());
            return Err(Box::new(Diagnostic::error(Code::BAD_LAYOUT, span, message)));
        }
        let pairs = extents.into_iter().zip(strides);
        Ok(pairs.map(|(extent, (stride, axis))| Iter { extent, stride, axis }).collect())
    }

    /// Is the `(` at hand the list of extents, not a parenthesis of an expression? The list's `)` is followed by `:`.
    fn is_tuple(&self) -> bool {
        let mut depth = 0usize;
        for (i, token) in self.tokens.iter().enumerate().skip(self.at) {
            match token.kind {
                Tok::LParen => depth += 1,
                Tok::RParen => depth = depth.saturating_sub(1),
                Tok::Semi | Tok::LBrace | Tok::Eof => return true,
                _ => {}
            }
            if depth == 0 {
                return self.tokens.get(i + 1).is_none_or(|t| t.kind == Tok::Colon);
            }
        }
        true
    }

    fn swizzle(&mut self) -> PResult<Swizzle> {
        let inner = self.at_word("swizzle");
        let start = self.bump().span;
        let numbers = self.list(Tok::LParen, Tok::RParen, |p| p.u32("a number of address bits"))?;
        let span = start.to(self.prev_span());
        match numbers[..] {
            [per_element, swizzle_len, atom_len] => Ok(Swizzle { per_element, swizzle_len, atom_len, inner }),
            _ => {
                let message = format!("a swizzle takes 3 numbers, found {}", numbers.len());
                let help = "swizzle(elements that move as one, bits XORed, distance), the first as its log2";
                Err(Box::new(Diagnostic::error(Code::BAD_LAYOUT, span, message).help(help)))
            }
        }
    }
}
