//! The only place with syntax: lexer, parser, printer, formatter.
//!
//! Must hold: `parse(print(m)) == m` for every module that the verifier accepts, at every level, as long as its
//! expressions and blocks nest no deeper than `MAX_NESTING`; the parser never panics and never recurses deeper than that.
//! The grammar is in the head comment of `parser/mod.rs`, the meaning in the head comment of the crate.

mod format;
mod lexer;
mod parser;
mod print;
mod print_expr;
mod words;

pub use format::format;
pub use parser::{MAX_CHAIN, MAX_ERRORS, MAX_NESTING, Parsed, parse, parse_expr, parse_layout};
pub use print::{
    print, print_dtype_shape, print_kernel, print_layout, print_place, print_region, print_run, print_stmt,
};
pub use print_expr::print_expr;
pub use words::is_name;
