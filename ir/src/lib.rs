//! The tile IR, and the language that it is written in.
//!
//! This crate knows no target, reads no file and is the only place with syntax. Its data types are the language: what
//! follows says what they mean. The grammar stands in `text/parser/mod.rs`; `docs/language.md` is the guide for users.
//! Every example here is parsed by a test.
//!
//! # A file
//!
//! A `.tile` file is a list of kernels and run blocks; a run block says how to run a kernel and what must hold then.
//!
//! ```tile
//! // 32x32 floats through shared memory.
//! kernel through(a: global<f32>[32, 32], b: global<f32>[32, 32])
//!     launch(grid = [1], block = [128])
//! {
//!     shared tile: f32[32, 32];
//!     copy tile <- a by cta;
//!     sync cta;
//!     copy b <- tile by cta;
//! }
//!
//! run through {
//!     a = random(seed = 1);
//!     expect b == a;
//! }
//! ```
//!
//! Names have lexical scope: a name is visible from its statement to the end of its block. A visible name is never
//! defined again (an error); disjoint blocks may use the same name. The words of the language are no names.
//!
//! A kernel runs as a grid of CTAs (blocks, workgroups) of threads, the same on every rank. Threads are numbered
//! `thread.linear = x + y * X + z * X * Y`. A **warp** is `warp` consecutive threads, where `warp` is 32, 64, or the
//! width of the target's wave (the default); a **warpgroup** is four warps. `thread.lane` is `thread.linear % warp`.
//!
//! # Types and buffers
//!
//! Elements: f64 f32 f16 bf16 f8e4m3 f8e5m2 f4, i64 i32 i16 i8 i4, u64 u32 u16 u8 u4, bool. Elements smaller than a
//! byte are packed, the first in the low bits. A scalar is an element type, `index` (a signed 64-bit integer: literals,
//! ids, loop variables), `lsa_rank` or `world_rank`.
//!
//! A buffer has an element type, a shape, a layout and a memory space:
//!
//! | space | whose | made by |
//! |---|---|---|
//! | `global` | memory of this rank | a parameter |
//! | `window` | memory of every rank of the node, at the same place in each | a parameter |
//! | `shared` | one CTA | a statement |
//! | `local` | one thread's registers | a statement |
//!
//! ```tile
//! kernel buffers(comm: devcomm, w: window<f16>[n, 64], g: global<f32>[8, 16] align 64, scale: f32, peer: lsa_rank)
//!     where(n: u64)
//!     launch(grid = [n / 64, 2], block = [128], warp = 32)
//! {
//!     shared tile: f16[8, 64] layout S[(8,64):(72,1)] align 128;
//!     local acc: f32[4];
//! }
//! ```
//!
//! `where` parameters are non-negative integers given at launch; shapes, layouts and the grid may use them. They are
//! passed after the author's arguments; arguments that the compiler adds (`hidden`) come last. A buffer is as large as
//! the span of its layout. The base of a parameter is aligned to 16 bytes, or to what `align` says. A buffer made by a
//! statement belongs to the block around it; its contents start undefined.
//!
//! # Layouts
//!
//! A layout says where each element lives. `S[extents:strides]` splits the flat (row-major) index of an element into
//! digits, the last one fastest, and adds `digit * stride` into each digit's axis. The axis `m`, which is not written,
//! is memory, in elements. Thread axes name who holds the element: `laneid` (lane in the warp), `warpid` (warp in the
//! CTA), `wid_in_wg` (warp in the warpgroup), `wgid` (warpgroup), `tid_in_wg` (thread in the warpgroup), `tx` (thread
//! in the CTA). `+ R[…]` adds replicas: the element lives at these places, too. `+ 5@warpid` adds an offset.
//! `swizzle(p,l,a)` then permutes memory: with `q = m >> p` and `mask = 2^l - 1`, `q ^= (q & (mask << a)) >> a`; the
//! low `p` bits stay. `swizzle_outer` goes the other way, `q ^= (q & mask) << a`. Without a layout a buffer is
//! row-major.
//!
//! ```tile-layout
//! S[(8,4,2,2):(4@laneid,1@laneid,2,1)]
//! S[(32,8):(1@laneid,1)] + R[2:4@warpid] + 5@warpid
//! S[(64,16):(1,64)] swizzle(3,3,3)
//! S[(n / 8,8):(8 * ld,ld)]
//! ```
//!
//! **Registers.** Storage of a `local` buffer is per thread: positions on `m` are that thread's registers. If the
//! layout has thread axes, an element is held by the threads whose coordinates match: all of them, where the layout
//! gives fewer axes than it takes to name one thread (only `laneid`: one copy in each warp). Without thread axes every
//! thread has a copy of the whole.
//!
//! # Expressions
//!
//! Expressions are pure: no effects, and no loads. Arithmetic on integers wraps; mixed integer types compute as
//! `index`; `/` and `%` round towards zero, and by zero give 0; a shift count is taken modulo the width. Floats mix
//! only with their own type and with literals; a literal takes the type of the other operand. `min`, `max`, `select(c,
//! a, b)` (both sides are evaluated) and conversions such as `f32(x)` are calls. Operators bind as in Rust; comparisons
//! do not chain; `&&` and `||` are on bools and evaluate both sides.
//!
//! ```tile-body
//! let i = thread.x + block.x * 64;
//! let last: u32 = u32(min(i, 1023));
//! let x = data[i, 0];
//! let y = select(x > 0.5, x, -x) * 2.0;
//! data[i, 0] = y;
//! if i % 2 == 0 && i != 62 {
//!     data[i, 1] = 0.0;
//! } else if i < 32 {
//!     data[i, 1] = 1.0;
//! }
//! unroll for k in 0..4 {
//!     data[i, k] = 2.0;
//! }
//! assume(n % 16 == 0);
//! ```
//!
//! A load is the statement `let x = buf[i, j];` and reads one element, a store `buf[i, j] = e;` writes one, both by
//! each thread that reaches them. `for i in lo..hi` counts up by 1, its bounds are evaluated once. `unroll for` asks
//! for the body to be repeated. `assume(e)` is a fact that the compiler may use; if it does not hold, the program has
//! no meaning (executors check it).
//!
//! # Tile ops and scopes
//!
//! A tile op works on boxes of buffers and is executed by a named group of threads together: `thread`, `warp`,
//! `warpgroup` or `cta`. It runs once per group that reaches it.
//!
//! ```tile-body
//! copy tile[0..8, ..] <- data[8..16, 0..64] by cta;
//! copy acc <- data[thread.x, 0..4] by thread;
//! fill acc <- 0.0 by thread;
//! add acc <- acc, acc by thread;
//! cast half <- acc by thread;
//! copy recv@next[0, ..], keep@me[0, ..] <- send[3, ..] by cta, notify ready, carry = any;
//! ```
//!
//! A region has one entry a dimension, `i`, `lo..hi`, `lo..`, `..hi` or `..`; a bare name is the whole buffer. `copy`
//! moves the element at each index of the source box to the same index of each destination box; the extents without the
//! ones must agree, and so must the types (`cast` converts). Where several threads hold a source element any of them
//! gives it; every active thread that holds a destination element gets it. Source and destination must not overlap; an
//! elementwise op may have its destination as a source. An op by `thread` is one op for each active thread, each with
//! its own regions.
//!
//! **How** an op is carried out is the compiler's choice and is in its report. `variant = "…"`, `vec = 128` and `plan =
//! "…"` force a choice, `carry = any` and `allow = unmeasured` widen it. None of them changes what is computed.
//!
//! **Guards.** An `if` on thread ids narrows the threads that execute the ops inside. By `thread` any guard will do.
//! For wider scopes it must be known at compile time which threads are left: a condition over thread ids and constants;
//! anything else is an error, never ignored. `sync` and other ops that need all threads of a group must be reached by
//! all of it.
//!
//! **No op implies a barrier.** What one thread wrote to shared or device memory may be read by another after `sync`,
//! in the same CTA. `sync scope;` is the only barrier there is.
//!
//! # Ranks and windows
//!
//! A node runs `comm.lsa_size` ranks, one GPU each; `me` (or `comm.lsa_rank`) is this one. `recv@r` is rank r's copy of
//! a window; `recv` alone is `recv@me`. `r` must be an `lsa_rank`: `me`, `comm.lsa_rank`, a parameter of that type,
//! `lsa(i)`, or `(rank ± integers) % comm.lsa_size`. In other arithmetic a rank is an integer. A `world_rank` counts
//! all ranks of the job and never mixes with an `lsa_rank`.
//!
//! # Completion, visibility, signals
//!
//! When a **blocking** `copy` returns, its source may be overwritten and its local destinations may be read by the
//! scope that ran it. Nothing more: a peer may read what was put into its window only after a signal. `t = copy_async
//! …;` says that only after `wait t;`. The copy may start any time before; `after flag[i] == e` holds it back until a
//! local flag has a value, `after hop from r` until rank r has done every notify of `hop` that `wait hop from r` would wait
//! for here. A blocking copy waits for that too; when it returns its threads see what the flag or signal told of.
//!
//! `signal ready;` declares a signal. Each rank has a counter for each signal and source rank, which is never reset.
//! `copy … , notify ready` adds exactly one to the counter at each destination rank per executed copy, when the data
//! has landed, whatever its size; by `thread`, once per wave and destination rank. `wait ready from r` waits until rank
//! r has done every notify of `ready` towards this rank that comes before this point of the program, r thought to be at
//! the same point, in this launch and all before it. That number must be computable from launch-uniform values; where
//! it is not, `expected = e` gives the number since the launch. After the wait, the scope that waited (default `cta`;
//! `by thread`: each thread for itself, without a barrier) sees the data.
//!
//! ```tile
//! kernel ring(comm: devcomm, send: window<f16>[8, 16], recv: window<f16>[8, 16], out: global<f16>[8, 16])
//!     launch(grid = [1], block = [64])
//! {
//!     signal ready;
//!     let next = (me + 1) % comm.lsa_size;
//!     let prev = (me + comm.lsa_size - 1) % comm.lsa_size;
//!     copy recv@next <- send by cta, notify ready;
//!     wait ready from prev;
//!     copy out <- recv by cta;
//! }
//! ```
//!
//! A signal lives on one queue of the copy engine, written (`signal ready queue 1;`) or chosen: the lowest free one.
//!
//! # The lowered level
//!
//! The passes replace tile ops by **primitive ops**, rows of `op::OPS` or intrinsics of a target, on flat places:
//! `buf![e]` is position `e` of the buffer's own memory in elements, for `local` in this thread's registers. At this
//! level there are only lets, loads and stores of flat places, buffers, loops, ifs, assumes and primitive ops. A
//! primitive op may also be written at the tile level.
//!
//! ```tile-lowered
//! vec.copy(acc![0], data![thread.x * 4], n = 4);
//! barrier(scope = cta);
//! t = posted queue(next, 0) by cta;
//! wait t;
//! ```
//!
//! # Run blocks
//!
//! `ranks` (default 1), `targets` (default all); arguments are set by name to a scalar or a fill: an expression (every
//! element), `iota` (counts over all ranks: rank r starts at `r * elements`, wrapping), `random(seed = n)` or
//! `npy("file")`. `rank` and `ranks` are known; `let` names a value. A buffer without a setting starts with every byte
//! 0xCD. Expectations hold on every rank after the run; `buf@r` is rank r's copy of any buffer. The right side is a
//! region (element by element) or a value (for every element); a bare name is a region unless it is a `let`, `rank`,
//! `ranks` or the `for` variable.
//!
//! ```tile
//! run ring {
//!     ranks = 4;
//!     targets = ["gfx950"];
//!     send = iota;
//!     let prev = (rank + ranks - 1) % ranks;
//!     expect out == send@prev;
//!     expect recv[i, ..] == send@prev[i, ..] for i in 0..8 if i != 3;
//! }
//! ```
//!
//! # What is undefined
//!
//! A program has no defined result, and every executor that can see it reports it, if it: reads memory that nobody
//! wrote; indexes outside a buffer; reads or writes what another thread or rank may be writing without a `sync`, wait
//! or signal between; copies between overlapping boxes; breaks an `assume`; uses the destination of an asynchronous
//! copy before its `wait`, or changes its source; waits for what nobody notifies; reaches a `sync` or a collective op
//! with only some of its threads; leaves a copy in flight at its end. Everything else is defined, and all executors
//! agree on it bit by bit.

pub mod builder;
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
mod shared;
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
    After, Alloc, AttrValue, Block, Completion, CopyAttrs, Index, Place, PlaceIndex, PrimArg, PrimOp, Region, Source,
    Stmt, StmtKind, TileKind, TileOp,
};
