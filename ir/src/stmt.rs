//! Structured statements.
//!
//! Statements run in order; each declares its effects through its kind (and, for primitive ops, through the op table).
//! There is no control-flow graph: `for`, `unroll for` and `if` nest. The same statements serve the tile level (tile ops
//! on regions) and the lowered level (primitive ops on flat places); `Level` in the verifier says which kinds are legal.

use crate::dim::Dim;
use crate::dtype::{DType, ScalarTy};
use crate::expr::Expr;
use crate::layout::Layout;
use crate::name::Name;
use crate::space::{Scope, Space};
use crate::span::Span;

/// A statement and its place in the text.
#[derive(Clone, Debug, PartialEq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it was written; statements made by a pass carry the span of what they came from.
    pub span: Span,
}

/// Statements in order.
pub type Block = Vec<Stmt>;

/// The kinds of statements.
#[derive(Clone, Debug, PartialEq)]
pub enum StmtKind {
    /// `let x = e;` or `let x: f32 = e;` — names a value; evaluated once, here.
    Let {
        /// The new name.
        name: Name,
        /// Type, if written; the value is converted only between integer types.
        ty: Option<ScalarTy>,
        /// The value.
        value: Expr,
    },
    /// `let x = buf[i, j];` — loads one element.
    Load {
        /// The new name.
        name: Name,
        /// The element.
        from: Place,
    },
    /// `buf[i, j] = e;` — stores one element.
    Store {
        /// The element.
        to: Place,
        /// The value; must have the buffer's dtype (or be a literal).
        value: Expr,
    },
    /// `shared tile: f16[8, 16] layout …;` or `local …`. Contents start undefined.
    Alloc(Alloc),
    /// `for i in lo..hi { }`, step 1; `unroll for` asks for the body to be repeated, `hi - lo` must then be constant.
    For {
        /// Loop variable, an `index`.
        var: Name,
        /// First value.
        lo: Expr,
        /// One past the last value.
        hi: Expr,
        /// Repeat the body instead of looping?
        unroll: bool,
        /// The body.
        body: Block,
    },
    /// `if cond { } else { }`.
    If {
        /// A bool; may differ between threads.
        cond: Expr,
        /// Runs where it holds.
        then: Block,
        /// Runs where it does not.
        els: Option<Block>,
    },
    /// `sync cta;` — barrier among the threads of the scope, and their memory becomes visible to each other.
    Sync(Scope),
    /// `assume(e);` — a fact for the compiler; checked by every executor.
    Assume(Expr),
    /// `signal ready;` — declares a signal. The queue id is fixed at compile time: written, or given by the compiler.
    Signal {
        /// The signal's name.
        name: Name,
        /// `signal ready queue 1;`
        queue: Option<u32>,
    },
    /// `wait t;` — waits for the copy that made this token.
    WaitToken(Name),
    /// `wait ready from r by cta;` — waits until rank `r` has done every notify of the signal towards this rank that
    /// precedes this wait in program order.
    WaitSignal {
        /// The signal.
        signal: Name,
        /// The notifying rank, an `lsa_rank`.
        from: Expr,
        /// Who waits; `cta` if not written.
        scope: Scope,
        /// `expected = e`: the number of notifies since the launch, where it cannot be derived.
        expected: Option<Expr>,
    },
    /// A tile op.
    Tile(TileOp),
    /// A primitive op: one row of the op table or a target intrinsic.
    Prim(PrimOp),
    /// `t = posted queue(peer, 0) by cta;` — the copy just posted completes so. Made by `select-copies`, used up by
    /// `place-waits`.
    Posted {
        /// The token that `wait` names.
        token: Name,
        /// How it completes.
        completion: Completion,
    },
}

/// A buffer made inside a kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Alloc {
    /// Its name.
    pub name: Name,
    /// `Shared` or `Local`.
    pub space: Space,
    /// Element type.
    pub dtype: DType,
    /// Logical extents, constants.
    pub shape: Vec<Dim>,
    /// Layout; row-major in memory of its own if none is given (each thread has a whole copy of a `local` then).
    pub layout: Option<Layout>,
    /// Least alignment of the base in bytes, a power of two.
    pub align: Option<u32>,
}

/// One element of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// The buffer.
    pub buf: Name,
    /// For windows: whose copy; `None` is this rank's.
    pub rank: Option<Expr>,
    /// Which element.
    pub index: PlaceIndex,
    /// Where it was written.
    pub span: Span,
}

/// How an element is named.
#[derive(Clone, Debug, PartialEq)]
pub enum PlaceIndex {
    /// `buf[i, j]`: by logical index; the layout says where it lives.
    Logical(Vec<Expr>),
    /// `buf![e]`: by position in the buffer's own memory, in elements (for `local`: in this thread's registers).
    Flat(Expr),
}

/// Part of a buffer: a box of logical indices.
#[derive(Clone, Debug, PartialEq)]
pub struct Region {
    /// The buffer.
    pub buf: Name,
    /// For windows: whose copy; `None` is this rank's.
    pub rank: Option<Expr>,
    /// One entry a dimension; `None` is the whole buffer.
    pub index: Option<Vec<Index>>,
    /// Where it was written.
    pub span: Span,
}

/// One dimension of a region.
#[derive(Clone, Debug, PartialEq)]
pub enum Index {
    /// `i`: one index; the dimension has extent 1 in the region.
    At(Expr),
    /// `lo..hi`, `lo..`, `..hi`, `..`.
    Range(Option<Expr>, Option<Expr>),
}

/// Tile ops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileKind {
    /// `copy dst, dst2 <- src`
    Copy,
    /// `t = copy_async dst <- src`
    CopyAsync,
    /// `fill dst <- expr`
    Fill,
    /// `cast dst <- src`: converts the dtype.
    Cast,
    /// `add dst <- a, b`, elementwise
    Add,
    /// `sub dst <- a, b`
    Sub,
    /// `mul dst <- a, b`
    Mul,
    /// `min dst <- a, b`
    Min,
    /// `max dst <- a, b`
    Max,
}

impl TileKind {
    /// Every kind with its mnemonic.
    pub const ALL: [(TileKind, &'static str); 9] = [
        (TileKind::Copy, "copy"),
        (TileKind::CopyAsync, "copy_async"),
        (TileKind::Fill, "fill"),
        (TileKind::Cast, "cast"),
        (TileKind::Add, "add"),
        (TileKind::Sub, "sub"),
        (TileKind::Mul, "mul"),
        (TileKind::Min, "min"),
        (TileKind::Max, "max"),
    ];

    /// Mnemonic.
    pub fn as_str(self) -> &'static str {
        TileKind::ALL.iter().find(|(k, _)| *k == self).map_or("?", |(_, t)| t)
    }

    /// Number of sources.
    pub fn arity(self) -> usize {
        match self {
            TileKind::Copy | TileKind::CopyAsync | TileKind::Fill | TileKind::Cast => 1,
            TileKind::Add | TileKind::Sub | TileKind::Mul | TileKind::Min | TileKind::Max => 2,
        }
    }
}

/// Source of a tile op.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A tile.
    Region(Region),
    /// A value, for `fill`.
    Value(Expr),
}

/// One tile op.
#[derive(Clone, Debug, PartialEq)]
pub struct TileOp {
    /// Which.
    pub kind: TileKind,
    /// `t = copy_async …`: the token made.
    pub token: Option<Name>,
    /// Destinations: one, or several for `copy` into windows.
    pub dsts: Vec<Region>,
    /// Sources, `kind.arity()` of them.
    pub srcs: Vec<Source>,
    /// Who executes it.
    pub scope: Scope,
    /// Attributes of copies; default for the others.
    pub attrs: CopyAttrs,
}

/// What may be said about a copy, after its scope.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CopyAttrs {
    /// `notify ready`: adds exactly one to the signal at each destination rank per executed copy.
    pub notify: Option<Name>,
    /// `carry = any`: a peer copy may be carried by the CUs, too.
    pub carry_any: bool,
    /// `allow = unmeasured`: forms whose cost nobody measured may be taken.
    pub allow_unmeasured: bool,
    /// `after flag[i] == epoch` or `after hop from prev`: what holds the copy back.
    pub after: Option<After>,
    /// `variant = "name"`: force this variant.
    pub variant: Option<String>,
    /// `vec = 128`: force the width of each access, in bits.
    pub vec: Option<u32>,
    /// `plan = "name"`: force a plan of the peer-copy planner.
    pub plan: Option<String>,
}

/// What a copy waits for before it starts.
#[derive(Clone, Debug, PartialEq)]
pub enum After {
    /// `after flag[i] == epoch`: until the flag, in memory of this rank, has this value.
    Flag(Place, Expr),
    /// `after hop from prev`: until all notifies of a signal by a rank that precede this copy in program order have come.
    Signal {
        /// The signal.
        signal: Name,
        /// The notifying rank.
        from: Expr,
        /// Number of notifies since the launch, where it is written (`expected = e`).
        expected: Option<Expr>,
    },
}

/// How a posted copy becomes complete.
#[derive(Clone, Debug, PartialEq)]
pub enum Completion {
    /// It was complete when its ops returned (for the threads that ran them).
    Done,
    /// When the queue towards `peer` has drained.
    Queue {
        /// Peer rank whose queue it is.
        peer: Expr,
        /// Queue id.
        queue: u32,
        /// Scope that posted it: the same scope waits.
        scope: Scope,
    },
}

/// A primitive op: `name(arg, …, attr = value, …)`, optionally with a result: `let x = name(…);`.
#[derive(Clone, Debug, PartialEq)]
pub struct PrimOp {
    /// Name of the result, for ops that have one.
    pub result: Option<Name>,
    /// Mnemonic: a row of the op table, or a target intrinsic.
    pub op: Name,
    /// Operands, in the order of the row.
    pub args: Vec<PrimArg>,
    /// Attributes, constants; in the order of the row.
    pub attrs: Vec<(Name, AttrValue)>,
}

impl PrimOp {
    /// An op without result.
    pub fn new(op: &str, args: Vec<PrimArg>, attrs: Vec<(&str, AttrValue)>) -> PrimOp {
        let attrs = attrs.into_iter().map(|(n, v)| (Name::new(n), v)).collect();
        PrimOp { result: None, op: Name::new(op), args, attrs }
    }

    /// The attribute with this name.
    pub fn attr(&self, name: &str) -> Option<&AttrValue> {
        self.attrs.iter().find(|(n, _)| n == name).map(|(_, v)| v)
    }

    /// An integer attribute.
    pub fn attr_int(&self, name: &str) -> Option<i64> {
        match self.attr(name) {
            Some(AttrValue::Int(v)) => Some(*v),
            _ => None,
        }
    }

    /// A boolean attribute; absent is false.
    pub fn attr_bool(&self, name: &str) -> bool {
        matches!(self.attr(name), Some(AttrValue::Bool(true)))
    }

    /// A symbol attribute such as `scope = cta`.
    pub fn attr_sym(&self, name: &str) -> Option<&str> {
        match self.attr(name) {
            Some(AttrValue::Sym(v)) => Some(v.as_str()),
            _ => None,
        }
    }
}

/// Operand of a primitive op.
#[derive(Clone, Debug, PartialEq)]
pub enum PrimArg {
    /// A scalar.
    Expr(Expr),
    /// A place in memory or registers, always with a flat index.
    Place(Place),
}

/// Value of an attribute of a primitive op.
#[derive(Clone, Debug, PartialEq)]
pub enum AttrValue {
    /// Integer.
    Int(i64),
    /// `true` or `false`.
    Bool(bool),
    /// A word, e.g. `cta`.
    Sym(Name),
}

impl Stmt {
    /// A statement with a place.
    pub fn new(kind: StmtKind, span: Span) -> Stmt {
        Stmt { kind, span }
    }

    /// The blocks directly inside.
    pub fn blocks(&self) -> Vec<&Block> {
        match &self.kind {
            StmtKind::For { body, .. } => vec![body],
            StmtKind::If { then, els, .. } => std::iter::once(then).chain(els).collect(),
            _ => Vec::new(),
        }
    }
}

impl Place {
    /// `buf![flat]`, this rank's.
    pub fn flat(buf: &Name, flat: Expr) -> Place {
        Place { buf: buf.clone(), rank: None, index: PlaceIndex::Flat(flat), span: Span::NONE }
    }
}

impl Region {
    /// The whole of a buffer, this rank's.
    pub fn whole(buf: &Name) -> Region {
        Region { buf: buf.clone(), rank: None, index: None, span: Span::NONE }
    }
}

/// Calls `f` on every statement of the block and of the blocks inside, parents first.
pub fn walk_block<'a>(block: &'a Block, f: &mut dyn FnMut(&'a Stmt)) {
    for stmt in block {
        f(stmt);
        match &stmt.kind {
            StmtKind::For { body, .. } => walk_block(body, f),
            StmtKind::If { then, els, .. } => {
                walk_block(then, f);
                if let Some(els) = els {
                    walk_block(els, f);
                }
            }
            _ => {}
        }
    }
}
