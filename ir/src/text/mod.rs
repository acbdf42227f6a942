//! The only place with syntax: lexer, parser, printer, formatter.
//!
//! Must hold: `parse(print(m)) == m` for every module that the verifier accepts, at every level; the parser never panics
//! and never recurses deeper than its limit.

mod print_expr;

pub use print_expr::print_expr;
