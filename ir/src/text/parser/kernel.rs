//! Kernels: parameters, `where` list, launch shape; and the shapes and types that buffers share.

use super::{PResult, Parser, Tok};
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::dtype::{DType, ScalarTy};
use crate::layout::Layout;
use crate::module::{BufferTy, Kernel, Launch, Param, ParamTy, WarpWidth, WhereParam};
use crate::name::Name;
use crate::space::Space;
use crate::text::words::near;

/// The type of a scalar that is written with this word.
fn scalar_ty(word: &str) -> Option<ScalarTy> {
    match word {
        "index" => Some(ScalarTy::Index),
        "lsa_rank" => Some(ScalarTy::LsaRank),
        "world_rank" => Some(ScalarTy::WorldRank),
        _ => DType::parse(word).map(ScalarTy::Num),
    }
}

impl Parser<'_> {
    pub(super) fn kernel(&mut self) -> PResult<Kernel> {
        self.expect_word("kernel")?;
        let span = self.span();
        let name = self.name("the name of the kernel")?;
        let params = self.list(Tok::LParen, Tok::RParen, Parser::param)?;
        let mut wheres = Vec::new();
        if self.eat_word("where") {
            wheres = self.list(Tok::LParen, Tok::RParen, Parser::where_param)?;
        }
        if !self.at_word("launch") {
            let error = self.expected("`launch(grid = […], block = […])`");
            return Err(error);
        }
        let launch = self.launch()?;
        let body = self.block()?;
        Ok(Kernel { name, params, wheres, launch, body, span })
    }

    /// The name of a parameter: the words of run blocks would be ambiguous there.
    fn param_name(&mut self) -> PResult<Name> {
        if let word @ ("rank" | "ranks" | "targets") = self.word() {
            let message = format!("`{word}` cannot name a parameter");
            let help = format!("in run blocks `{word}` has a meaning of its own; take another name");
            let error = Diagnostic::error(Code::SYNTAX, self.span(), message).help(help);
            self.report(error);
        }
        self.name("the name of a parameter")
    }

    fn where_param(&mut self) -> PResult<WhereParam> {
        let span = self.span();
        let name = self.param_name()?;
        self.expect(Tok::Colon)?;
        let dtype = self.dtype()?;
        Ok(WhereParam { name, dtype, span: span.to(self.prev_span()) })
    }

    fn param(&mut self) -> PResult<Param> {
        let span = self.span();
        let hidden = self.eat_word("hidden");
        let name = self.param_name()?;
        self.expect(Tok::Colon)?;
        let word = self.word();
        let ty = match word {
            "devcomm" => {
                self.bump();
                ParamTy::DevComm
            }
            "global" | "window" => ParamTy::Buffer(self.buffer_ty()?),
            "shared" | "local" => {
                let error = self.error(format!("a parameter cannot be in `{word}` memory"));
                return Err(Box::new(error.help(format!("make it inside the kernel: `{word} {name}: …;`"))));
            }
            _ => match scalar_ty(word) {
                Some(ty) => {
                    self.bump();
                    ParamTy::Scalar(ty)
                }
                None => {
                    return Err(Box::new(self.expected("the type of a parameter").help(
                        "parameters are devcomm, scalars (f32, u64, lsa_rank, …), global<dtype>[…] and window<dtype>[…]",
                    )));
                }
            },
        };
        Ok(Param { name, ty, hidden, span: span.to(self.prev_span()) })
    }

    /// `global<f16>[8, 16] layout … align 64`
    fn buffer_ty(&mut self) -> PResult<BufferTy> {
        let space = if self.at_word("window") { Space::Window } else { Space::Global };
        self.bump();
        self.expect(Tok::Lt)?;
        let dtype = self.dtype()?;
        self.expect(Tok::Gt)?;
        let (shape, layout, align) = self.shape_layout_align()?;
        Ok(BufferTy { space, dtype, shape, layout, align })
    }

    /// `[8, 16] layout … align 64`: what follows the dtype of every buffer.
    pub(super) fn shape_layout_align(&mut self) -> PResult<(Vec<Dim>, Option<Layout>, Option<u32>)> {
        let shape = self.shape()?;
        let layout = if self.eat_word("layout") { Some(self.layout()?) } else { None };
        let align = if self.eat_word("align") { Some(self.u32("an alignment in bytes")?) } else { None };
        Ok((shape, layout, align))
    }

    fn shape(&mut self) -> PResult<Vec<Dim>> {
        self.list(Tok::LBracket, Tok::RBracket, |p| Ok(Dim::from_expr(&p.expr()?)))
    }

    pub(super) fn dtype(&mut self) -> PResult<DType> {
        let word = self.word();
        if let Some(dtype) = DType::parse(word) {
            self.bump();
            return Ok(dtype);
        }
        let names: Vec<&str> = DType::ALL.iter().map(|d| d.as_str()).collect();
        let mut error = self.expected("a dtype");
        match near(word, &names).first() {
            Some(likely) => error.help.push(format!("did you mean `{likely}`?")),
            None => error.help.push(format!("dtypes are {}", names.join(", "))),
        }
        Err(error)
    }

    /// Type of a `let`.
    pub(super) fn scalar_type(&mut self) -> PResult<ScalarTy> {
        match scalar_ty(self.word()) {
            Some(ty) => {
                self.bump();
                Ok(ty)
            }
            None => Err(Box::new(
                self.expected("the type of a scalar").help("scalars are index, lsa_rank, world_rank and the dtypes"),
            )),
        }
    }

    fn launch(&mut self) -> PResult<Launch> {
        let start = self.expect_word("launch")?;
        let (mut grid, mut block, mut warp) = (None, None, None);
        let settings = self.list(Tok::LParen, Tok::RParen, |p| {
            let key = p.word();
            let key_span = p.span();
            let known = match key {
                "grid" => grid.is_none(),
                "block" => block.is_none(),
                "warp" => warp.is_none(),
                _ => {
                    let error = p.expected("`grid`, `block` or `warp`");
                    let likely = near(key, &["grid", "block", "warp"]);
                    return Err(match likely.first() {
                        Some(word) => Box::new(error.help(format!("did you mean `{word}`?"))),
                        None => error,
                    });
                }
            };
            if !known {
                return Err(Box::new(Diagnostic::error(Code::SYNTAX, key_span, format!("`{key}` is given twice"))));
            }
            p.bump();
            p.expect(Tok::Assign)?;
            match key {
                "grid" => grid = Some(p.shape()?),
                "block" => block = Some(p.shape()?),
                _ => warp = Some(p.warp_width()?),
            }
            Ok(())
        });
        settings?;
        let span = start.to(self.prev_span());
        let missing = |what: &str| {
            let error = Diagnostic::error(Code::SYNTAX, span, format!("`launch` lacks `{what} = […]`"));
            Box::new(error.help("write `launch(grid = [1], block = [64])`"))
        };
        let grid = grid.ok_or_else(|| missing("grid"))?;
        let block = block.ok_or_else(|| missing("block"))?;
        Ok(Launch { grid, block, warp: warp.unwrap_or_default(), span })
    }

    fn warp_width(&mut self) -> PResult<WarpWidth> {
        if self.eat_word("target") {
            return Ok(WarpWidth::Target);
        }
        if !self.at(Tok::Int) {
            return Err(self.expected("a warp width: 32, 64 or `target`"));
        }
        Ok(WarpWidth::Lanes(self.u32("a warp width")?))
    }
}
