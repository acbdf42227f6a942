//! The tile IR: types, layouts, buffers, expressions, statements, text, verifier and reference interpreter.
//!
//! This crate knows no target, reads no file and is the only place with syntax.

pub mod cast;
pub mod diag;
pub mod dim;
pub mod dtype;
pub mod env;
pub mod eval;
pub mod expr;
pub mod facts;
pub mod interp;
pub mod layout;
pub mod module;
pub mod name;
pub mod op;
pub mod signals;
pub mod space;
pub mod span;
pub mod stmt;
pub mod text;
pub mod threads;
pub mod types;
pub mod verify;

pub use diag::{Code, Diagnostic, Severity};
pub use dim::Dim;
pub use dtype::{DType, DTypeClass, ScalarTy};
pub use expr::{BinOp, CommField, Expr, ExprKind, Special, UnOp};
pub use facts::Facts;
pub use layout::{Axis, Iter, Layout, LayoutError, Swizzle, TileLayout};
pub use module::{BufferTy, Item, Kernel, Launch, Module, Param, ParamTy, Run, WarpWidth, WhereParam};
pub use name::Name;
pub use op::{OpRow, OpSet};
pub use space::{Scope, Space};
pub use span::Span;
pub use stmt::{
    Alloc, AttrValue, Block, Completion, CopyAttrs, Index, Place, PlaceIndex, PrimArg, PrimOp, Region, Source, Stmt,
    StmtKind, TileKind, TileOp,
};
