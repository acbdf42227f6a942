//! The list of diagnostic codes: one row each, explanation and example included.
//!
//! Must hold: codes are unique and sorted, no code is ever given a new meaning, and each has a test under
//! `tests/errors/` that marks the offending line. Codes of later stages take their example from their test file.

use std::fmt;

/// A diagnostic code; printed `TW0001`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TW{:04}", self.0)
    }
}

impl Code {
    /// Reads `TW0007` (case does not matter).
    pub fn parse(text: &str) -> Option<Code> {
        let digits = text.strip_prefix("TW").or_else(|| text.strip_prefix("tw"))?;
        (digits.len() == 4).then(|| digits.parse().ok().map(Code))?
    }
}

/// What a code means.
#[derive(Clone, Copy, Debug)]
pub struct CodeInfo {
    /// The code.
    pub code: Code,
    /// Short title, a noun phrase.
    pub title: &'static str,
    /// What it means and the way out, in sentences.
    pub explanation: &'static str,
    /// A `.tile` example that gives this code.
    pub example: &'static str,
}

macro_rules! codes {
    ($($num:literal $name:ident $title:literal $explanation:literal $example:expr;)*) => {
        impl Code {
            $(#[doc = $title] pub const $name: Code = Code($num);)*
        }

        /// Every code, in order.
        pub const CODES: &[CodeInfo] = &[
            $(CodeInfo { code: Code($num), title: $title, explanation: $explanation, example: $example },)*
        ];
    };
}

codes! {
    1 UNKNOWN_TOKEN "character that starts no token"
        "The source has a character that no word, number, string or sign of the language begins with. Remove it; \
         outside comments and strings the text is ASCII."
        "kernel k() launch(grid = [1], block = [1]) {\n    let x = 1 ?;\n}\n";
    2 SYNTAX "syntax error"
        "The text does not follow the grammar at this place: the message says what was expected and what stands \
         there. The parser goes on after the next `;` or `}`, so later errors are real ones."
        "kernel k(a: global<f32>[4]) launch(grid = [1], block = [4]) {\n    copy a = a by cta;\n}\n";
    3 TOO_DEEP "nesting deeper than the limit"
        "Blocks, parentheses and operator chains may nest only so deep, because passes recurse over them. Name \
         parts of a long expression with `let`, and turn repeated nesting into loops."
        "kernel k() launch(grid = [1], block = [1]) {\n\
         \x20\x20\x20 let x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))));\n\
         }\n";
    4 LITERAL_RANGE "literal out of range"
        "A number does not fit the type that it is used as: 300 is no u8, -1 is no unsigned value. Use a value of \
         the type, or a wider type."
        "kernel k(a: global<u8>[4]) launch(grid = [1], block = [1]) {\n    a[0] = 300;\n}\n";
    5 UNKNOWN_NAME "unknown name"
        "The name is not defined, or its block has ended. Names are visible from the statement after their \
         definition to the end of the block; kernels and parameters are visible in run blocks by their own names."
        "kernel k(a: global<f32>[4]) launch(grid = [1], block = [1]) {\n    a[i] = 1.0;\n}\n";
    6 DUPLICATE_NAME "name defined twice"
        "A name is defined while another definition of it is visible. There is no shadowing: take another name, or \
         end the block of the first one before."
        "kernel k(a: global<f32>[4]) launch(grid = [1], block = [1]) {\n    let a = 1;\n}\n";
    7 TYPE_MISMATCH "types do not fit"
        "Operands or values have types that cannot be combined. Integers of different types compute as `index`; \
         floats combine only with the same float type or a literal; conditions are bool. Convert with a cast such \
         as `f32(x)`."
        "kernel k(a: global<f32>[4]) launch(grid = [1], block = [1]) {\n    a[0] = thread.x;\n}\n";
    8 WRONG_KIND "name used as something it is not"
        "The name exists, but is of another kind than this place needs: a buffer where a value is wanted, a let \
         where a signal is wanted. To use an element of a buffer in an expression, load it first with `let x = \
         buffer[i];`."
        "kernel k(a: global<f32>[4]) launch(grid = [1], block = [1]) {\n    let x = a + 1.0;\n}\n";
    9 BAD_SHAPE "shape that no buffer can have"
        "Extents are at least 1 and constant, or expressions over `where` parameters for buffers that are passed \
         in. A buffer must also fit its memory: 2^47 bytes on a device, 2 GiB shared, 64 KiB of registers a \
         thread."
        "kernel k(a: global<f32>[0]) launch(grid = [1], block = [1]) {}\n";
    10 LAYOUT_SHAPE "layout does not admit the shape"
        "The extents of the layout's shard iters multiply to another number of elements than the shape has. Add \
         the missing digits, or change the shape."
        "kernel k(a: global<f32>[8, 8] layout S[(8,4):(4,1)]) launch(grid = [1], block = [1]) {}\n";
    11 BAD_LAYOUT "layout that is not well formed"
        "The layout puts two elements in one place, uses thread axes that do not go together or a thread that the \
         launch does not have, has a bad swizzle, or uses thread axes on memory that is not `local`."
        "kernel k(a: global<f32>[8, 8] layout S[(8,8):(4,1)]) launch(grid = [1], block = [1]) {}\n";
    12 INDEX_COUNT "wrong number of indices"
        "A region or an element needs one index for each dimension of its buffer; a region without brackets is the \
         whole buffer. The rank of a window is not an index: it is written `window@rank[…]`."
        "kernel k(a: global<f32>[8, 8]) launch(grid = [1], block = [1]) {\n    a[0] = 1.0;\n}\n";
    13 OUT_OF_BOUNDS "index or region outside the buffer"
        "An index or a bound is known to lie outside its dimension, or a range has no element. Only what is known \
         at compile time is checked here; the rest is checked when a kernel is interpreted."
        "kernel k(a: global<f32>[8]) launch(grid = [1], block = [1]) {\n    a[8] = 1.0;\n}\n";
    14 EXTENT_MISMATCH "copy between regions of different extents"
        "The extents of source and destination that are not 1 must be equal, in order. Cut both to the same \
         region; to set every element to one value use `fill`."
        "kernel k(a: global<f32>[8], b: global<f32>[4]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 copy b <- a by cta;\n}\n";
    15 DTYPE_MISMATCH "copy between different dtypes"
        "A copy moves bits and converts nothing, be it one element or a tile. Convert with `cast`, through \
         registers, or give both buffers one dtype."
        "kernel k(a: global<f32>[8], b: global<f16>[8]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 copy b <- a by cta;\n}\n";
    16 SPACE_NOT_ALLOWED "memory space not allowed here"
        "Only windows have copies on other ranks, only copies reach them, and one end of a copy is on this rank. \
         Lists of destinations are for windows and global buffers."
        "kernel k(c: devcomm, a: global<f32>[8]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 fill a@me <- 0.0 by cta;\n}\n";
    17 SCOPE_NEEDS_THREADS "scope does not fit the launch"
        "A warpgroup is four whole warps, so the launch needs a multiple of 4 times the warp width; a barrier \
         needs more than one thread."
        "kernel k(a: global<f32>[8]) launch(grid = [1], block = [96], warp = 32) {\n\
         \x20\x20\x20 fill a <- 0.0 by warpgroup;\n}\n";
    18 GUARD_NOT_UNDERSTOOD "guard on thread ids that cannot be understood"
        "An op of a group stands under a condition that picks threads by a value that is not known when compiling. \
         Use thread ids and constants only, or `by thread`. Conditions that are the same for all threads are always \
         fine."
        "kernel k(a: global<f32>[8], n: u32) launch(grid = [1], block = [64]) {\n\
         \x20\x20\x20 if thread.x < n { fill a <- 0.0 by cta; }\n}\n";
    19 COLLECTIVE_UNDER_GUARD "collective op where only some of its threads run"
        "A barrier, a wait of a group or a collective op stands where only some threads of the group come; the \
         others would be waited for for ever. Move it out of the `if`, or let whole groups through."
        "kernel k() launch(grid = [1], block = [64]) {\n    if thread.x < 32 { sync cta; }\n}\n";
    20 RANK_TYPE "rank of the wrong kind"
        "A rank on the node (`lsa_rank`) is needed: `comm.lsa_rank`, `me`, `(rank + n) % comm.lsa_size`, or \
         `lsa(e)` of an integer. Ranks of the job (`world_rank`) are numbered apart and never mix with them."
        "kernel k(c: devcomm, w: window<f32>[8], a: global<f32>[8]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 copy w@(me + 1) <- a by cta;\n}\n";
    21 SIGNAL_USE "signal used wrongly"
        "A signal is declared once, in the outermost block, and has one of the 8 queues; it is notified by copies \
         into a window at `@rank`, and a wait needs a notify that precedes it in the text."
        "kernel k(a: global<f32>[8]) launch(grid = [1], block = [8]) {\n    signal s;\n}\n";
    22 EXPECTED_NOT_AFFINE "number of notifies is not known"
        "A wait counts the notifies of the sending rank that precede it. The number must follow from what is the \
         same on every rank: constants, `where` parameters, ranks, loop variables. A scalar parameter may differ \
         between ranks, a loaded value does: make the parameter a `where` parameter, or write the number with \
         `expected = …`."
        "kernel k(c: devcomm, w: window<f32>[8], a: global<f32>[8], n: u32) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 signal s;\n    for i in 0..n { copy w@me <- a by cta, notify s; }\n    wait s from me;\n\
         }\n";
    23 BAD_LAUNCH "launch that cannot be"
        "The grid has one to three extents of at least 1, over constants and `where` parameters; the block one to \
         three constants, at most 1024 threads in all; a warp has 32 or 64 lanes."
        "kernel k() launch(grid = [1], block = [2048]) {}\n";
    24 LEVEL "op that is not allowed at this level"
        "Authors do not write hidden parameters and `posted` statements; tile ops are gone after copy selection; \
         lowered code has only lets, flat loads and stores, loops, conditions and primitive ops."
        "kernel k(hidden a: global<f32>[8]) launch(grid = [1], block = [8]) {}\n";
    25 UNKNOWN_OP "unknown primitive op"
        "There is no primitive op of this name, neither among the neutral ones nor among those of the target. The \
         reference lists them."
        "kernel k(a: global<f32>[8]) launch(grid = [1], block = [8]) {\n    vec.move(a![0], a![4], n = 4);\n}\n";
    26 OP_OPERANDS "wrong operands of a primitive op"
        "A primitive op takes the operands of its row in the op table: values, or places written `buffer![flat]`; \
         copy engines take windows only."
        "kernel k(a: global<f32>[8]) launch(grid = [1], block = [8]) {\n    vec.copy(a![0], n = 4);\n}\n";
    27 TOKEN_USE "token used wrongly"
        "`copy_async` makes a token, and each token is waited for exactly once on every path, after the copy and \
         in the same trip of the same loops."
        "kernel k(a: global<f32>[8], b: global<f32>[8]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 t = copy_async b <- a by cta;\n}\n";
    28 BAD_RUN "run block that cannot be run"
        "A run sets every scalar and `where` parameter of its kernel, the latter to one value for all ranks, on 1 \
         to 64 ranks. Buffers that are not set start with every byte 0xCD."
        "kernel k(n: u32) launch(grid = [1], block = [1]) {}\n\nrun k { ranks = 2; }\n";
    29 BAD_ATTR "attribute that does not fit"
        "The attribute does not exist, is given twice, has a value that it cannot have, or belongs to another kind \
         of op."
        "kernel k(a: global<f32>[8], b: global<f32>[8]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 copy b <- a by cta, vec = 24;\n}\n";
    30 LOCAL_OWNER "register element that the thread does not own"
        "A layout with thread axes says which thread holds an element; a thread read or wrote one that another \
         thread holds. Move data between threads through shared memory, or by a copy of a wider scope."
        include_str!("../../../tests/errors/late/TW0030.tile");
    31 VARIANT_DECLINED "forced variant declines"
        "The variant named by `variant = …` cannot carry this copy; the message has its reason with the numbers \
         that failed. Change what it names, or leave the choice to the compiler."
        include_str!("../../../tests/errors/late/TW0031.tile");
    32 NO_VARIANT "no variant accepts the copy"
        "No way to carry this copy is known for the target. The copy report lists each variant with its reason."
        include_str!("../../../tests/errors/late/TW0032.tile");
    33 SCALAR_FALLBACK "copy carried element by element"
        "No faster variant accepts the copy, so each element is moved alone. The copy report says why each one \
         declined; often an alignment or a stride is all that is missing."
        include_str!("../../../tests/errors/late/TW0033.tile");
    34 TARGET_REFUSES "target cannot run this"
        "The target lacks what the kernel needs, such as copy engines for windows or a warp width. Choose another \
         target, or name the targets of a run with `targets = […]`."
        include_str!("../../../tests/errors/late/TW0034.tile");
    35 RACE "read of memory that another rank or thread may be writing"
        "Nothing orders this access after a write by another thread or rank. Within a CTA put `sync cta` between \
         them; across ranks let the copy `notify` a signal and `wait` for it."
        include_str!("../../../tests/errors/late/TW0035.tile");
    36 DEADLOCK "wait that nobody satisfies"
        "Every thread that could go on waits for something. The message lists who waits for what, and the values \
         that were reached."
        include_str!("../../../tests/errors/late/TW0036.tile");
    37 RUN_MISMATCH "result differs"
        "After the run a buffer holds other bytes than the run block expects, or than the reference interpreter \
         computes. The message has the first element that differs."
        include_str!("../../../tests/errors/late/TW0037.tile");
    38 UNKNOWN_TARGET "unknown target"
        "There is no target of this name. `tilewright targets` lists them."
        include_str!("../../../tests/errors/late/TW0038.tile");
    39 TOO_LARGE "program too large"
        "The source, or what would come of it, is beyond a limit of the compiler that keeps its time and memory in \
         bounds. Use loops instead of repeated statements, or split the kernel."
        include_str!("../../../tests/errors/late/TW0039.tile");
    40 INTERNAL "fault of the compiler"
        "The compiler broke one of its own rules. The program is not to blame; please report it with the source."
        "// No program should give this code; one that does shows a fault of the compiler.\n";
    41 NOT_UNIFORM "operand that differs between the threads of one op"
        "The threads of a group execute an op together, so its ranks, bounds and values have one value in the \
         group. Use `by thread` where each thread has its own."
        "kernel k(a: global<f32>[8], b: global<f32>[8]) launch(grid = [1], block = [8]) {\n\
         \x20\x20\x20 copy b[thread.x] <- a[thread.x] by cta;\n}\n";
    42 UNROLL "loop that cannot be unrolled"
        "`unroll for` repeats its body, so its number of trips is a constant of at most 4096. Use `for` otherwise."
        "kernel k(n: u32) launch(grid = [1], block = [8]) {\n    unroll for i in 0..n { }\n}\n";
    43 OVERLAP "copy between regions that overlap"
        "Source and destination of a copy must not overlap: its elements move in no particular order. Copy through \
         another buffer, with a `sync` between the two copies."
        include_str!("../../../tests/errors/late/TW0043.tile");
    44 UNDEFINED_READ "read of memory that nothing has written"
        "An op reads an element of shared memory or of registers before anything was written there. What it gets is \
         undefined: the executors fill such memory with 0xCD bytes, a GPU leaves there what was. Write it first, or \
         read the part that was written."
        include_str!("../../../tests/errors/late/TW0044.tile");
    45 REGISTERS "more registers than a thread has"
        "The `local` buffers that exist at one time take more registers than the target gives a thread of so large a \
         CTA, so part of them will be kept in memory. Spread the tile over more threads, or work on smaller ones."
        include_str!("../../../tests/errors/late/TW0045.tile");
    46 MACHINE "machine code goes wrong"
        "The simulator executed the machine code, and an instruction or a packet did what hardware forbids or leaves \
         undefined: it read what nothing has written, took a misaligned address, trapped, or left copies behind at the \
         end of the kernel. The message names wave, lane and address, or queue, packet and dwords."
        include_str!("../../../tests/errors/late/TW0046.tile");
}

/// The row of a code.
pub fn explain(code: Code) -> Option<&'static CodeInfo> {
    CODES.iter().find(|row| row.code == code)
}
