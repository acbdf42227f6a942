//! Modules: kernels with their launch shape, and run blocks that check them.

use crate::dim::Dim;
use crate::dtype::{DType, ScalarTy};
use crate::expr::Expr;
use crate::layout::{Layout, TileLayout};
use crate::name::Name;
use crate::space::Space;
use crate::span::Span;
use crate::stmt::{Alloc, Block};

/// One `.tile` file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Module {
    /// Kernels and run blocks in the order of the text.
    pub items: Vec<Item>,
}

/// Top-level item.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A kernel.
    Kernel(Kernel),
    /// A run block.
    Run(Run),
}

impl Module {
    /// The kernels, in order.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.items.iter().filter_map(|i| match i {
            Item::Kernel(k) => Some(k),
            Item::Run(_) => None,
        })
    }

    /// The kernels, to change.
    pub fn kernels_mut(&mut self) -> impl Iterator<Item = &mut Kernel> {
        self.items.iter_mut().filter_map(|i| match i {
            Item::Kernel(k) => Some(k),
            Item::Run(_) => None,
        })
    }

    /// The run blocks, in order.
    pub fn runs(&self) -> impl Iterator<Item = &Run> {
        self.items.iter().filter_map(|i| match i {
            Item::Run(r) => Some(r),
            Item::Kernel(_) => None,
        })
    }

    /// The kernel with this name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels().find(|k| k.name == name)
    }
}

/// A kernel.
#[derive(Clone, Debug, PartialEq)]
pub struct Kernel {
    /// Its name, also the symbol in the object file.
    pub name: Name,
    /// Parameters in the author's order; hidden ones that the compiler added follow.
    pub params: Vec<Param>,
    /// `where(n: u64, …)`: symbolic extents, passed after the author's arguments and before hidden parameters.
    pub wheres: Vec<WhereParam>,
    /// Launch shape.
    pub launch: Launch,
    /// The body.
    pub body: Block,
    /// The kernel's head (its name).
    pub span: Span,
}

/// A symbolic extent: a non-negative integer given at launch, usable in shapes and layouts.
#[derive(Clone, Debug, PartialEq)]
pub struct WhereParam {
    /// Its name.
    pub name: Name,
    /// An integer dtype: how it is passed. In expressions it is an `index`.
    pub dtype: DType,
    /// Where it was written.
    pub span: Span,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Param {
    /// Its name.
    pub name: Name,
    /// What is passed.
    pub ty: ParamTy,
    /// Added by the compiler (printed with `hidden` in front)?
    pub hidden: bool,
    /// Where it was written.
    pub span: Span,
}

/// What a parameter is.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamTy {
    /// The communicator, mori's `ccoDevComm`, passed by value.
    DevComm,
    /// A scalar (also `lsa_rank`, `world_rank`).
    Scalar(ScalarTy),
    /// A buffer in `global` or `window` space.
    Buffer(BufferTy),
}

/// Type of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferTy {
    /// Where it lives.
    pub space: Space,
    /// Element type.
    pub dtype: DType,
    /// Logical extents. A window's shape is that of one rank's part.
    pub shape: Vec<Dim>,
    /// Layout; `None` is row-major (and, for `local`, private to each thread).
    pub layout: Option<Layout>,
    /// Least alignment of the base in bytes; `None`: see `align_bytes`.
    pub align: Option<u32>,
}

impl BufferTy {
    /// The layout, row-major where none was written.
    pub fn layout(&self) -> Layout {
        self.layout.clone().unwrap_or_else(|| TileLayout::row_major(&self.shape).into())
    }

    /// Alignment of the base in bytes that may be relied on: what was written, else 16 (cudaMalloc, hipMalloc and mori's
    /// windows give 256 and more). Shared and local buffers are ours to align: they have 16 at least, whatever was written.
    pub fn align_bytes(&self) -> u32 {
        let written = self.align.unwrap_or(16);
        if self.space.is_device_memory() { written } else { written.max(16) }
    }
}

impl From<&Alloc> for BufferTy {
    fn from(a: &Alloc) -> BufferTy {
        BufferTy { space: a.space, dtype: a.dtype, shape: a.shape.clone(), layout: a.layout.clone(), align: a.align }
    }
}

/// Warp width of a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WarpWidth {
    /// The target's own.
    #[default]
    Target,
    /// 32 or 64 lanes.
    Lanes(u32),
}

/// Launch shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// CTAs in x, y, z (one to three given); constants or expressions over `where` parameters.
    pub grid: Vec<Dim>,
    /// Threads in x, y, z (one to three given); constants.
    pub block: Vec<Dim>,
    /// `warp = 32 | 64 | target`.
    pub warp: WarpWidth,
    /// Where it was written.
    pub span: Span,
}

impl Launch {
    /// Threads a CTA; `None` if a block dimension is not a constant or the product is out of range.
    pub fn threads(&self) -> Option<u32> {
        let mut n: u32 = 1;
        for d in &self.block {
            n = n.checked_mul(u32::try_from(d.as_const()?).ok()?)?;
        }
        Some(n)
    }

    /// Extent of the block in dimension `d`: 1 where none was given.
    pub fn block_dim(&self, d: usize) -> i64 {
        self.block.get(d).map_or(Some(1), Dim::as_const).unwrap_or(1)
    }
}

impl WarpWidth {
    /// Lanes of a warp on a target with `target` lanes a wave.
    pub fn lanes(self, target: u32) -> u32 {
        match self {
            WarpWidth::Target => target,
            WarpWidth::Lanes(n) => n,
        }
    }
}

/// A run block: how to run a kernel and what must hold afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The kernel.
    pub kernel: Name,
    /// `ranks = 4;` — default 1.
    pub ranks: Option<u32>,
    /// `targets = ["gfx950", …];` — where it must run; `None`: on all.
    pub targets: Option<Vec<String>>,
    /// Lets and argument settings, in order.
    pub settings: Vec<Setting>,
    /// What must hold on every rank.
    pub expects: Vec<Expect>,
    /// The kernel's name in the head.
    pub span: Span,
}

/// `let prev = e;` or `send = iota;`, evaluated once a rank with `rank` and `ranks` in scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Let, or the setting of an argument?
    pub is_let: bool,
    /// Name of the let, parameter or `where` parameter.
    pub name: Name,
    /// The value.
    pub value: RunValue,
    /// Where it was written.
    pub span: Span,
}

/// What fills an argument.
#[derive(Clone, Debug, PartialEq)]
pub enum RunValue {
    /// A scalar, or every element of a buffer.
    Expr(Expr),
    /// `iota`: logical elements count 0, 1, 2, … over all ranks: rank `r` starts at `r * elements`; wraps to the dtype.
    Iota,
    /// `random(seed = n)`: bytes from a fixed generator, different for each rank and buffer; no NaNs in float buffers.
    Random {
        /// The seed.
        seed: u64,
    },
    /// `npy("file.npy")`: contents from a file.
    Npy(String),
}

/// `expect lhs == rhs;`, optionally `for s in lo..hi` and `if cond`. Buffers that are no argument of a setting start
/// with every byte 0xCD.
#[derive(Clone, Debug, PartialEq)]
pub struct Expect {
    /// Left region.
    pub lhs: RunRegion,
    /// Right side.
    pub rhs: ExpectValue,
    /// `for s in lo..hi`: the expectation holds for each value.
    pub each: Option<(Name, Expr, Expr)>,
    /// `if cond`: only where this holds.
    pub cond: Option<Expr>,
    /// Where it was written.
    pub span: Span,
}

/// Right side of an expectation.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectValue {
    /// The same elements as this region, by logical index.
    Region(RunRegion),
    /// Every element has this value.
    Value(Expr),
}

/// A region in a run block, as it is after the run. `rank` may name another rank's copy of *any* buffer, global too.
#[derive(Clone, Debug, PartialEq)]
pub struct RunRegion {
    /// Argument name.
    pub buf: Name,
    /// `buf@e`: whose; `None`: the rank that checks.
    pub rank: Option<Expr>,
    /// One entry a dimension; fewer than the rank: the rest is whole.
    pub index: Vec<crate::stmt::Index>,
    /// Where it was written.
    pub span: Span,
}
