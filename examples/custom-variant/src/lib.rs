//! A copy variant of its own, in a crate of its own: streaming loads from global memory into registers.
//!
//! Data that is used once need not push other data out of the caches. AMD GPUs have a bit for that in their loads, NVIDIA's
//! have `ld.global.cs`. Tilewright's own variants use neither, so this crate brings
//!
//! - a variant, [`StreamLoad`], that plans like `reg` and writes another op;
//! - that op, [`STREAM_LOAD`], with its effects, its meaning on the lanes of a warp, and its instructions;
//! - [`extension`], which holds both and goes into `tilewright::Options`.
//!
//! docs/add-a-copy-variant.md walks through this file; its code blocks are compiled with this crate's tests.

use tilewright::extension::*;

/// Copies of at least this many bytes count as streams: less stays in a first-level cache without harm (the smallest
/// that our targets have is 16 KiB a CU).
const STREAM_BYTES: i64 = 4096;

/// What this crate brings along.
pub fn extension() -> Extension {
    Extension::new("custom-variant").variant(StreamLoad).op(STREAM_LOAD, on_lanes, lower)
}

/// `stream_load`: global memory to registers, past the caches.
///
/// **Accepts**: own global memory on the source side, registers on the other; whole bytes; what `reg` accepts of layouts.
/// **Emits**: `stream.load`, in the place of `vec.copy`.
/// **Completes**: when its statements have run.
/// **Cost**: that of `reg`, an eighth less from `STREAM_BYTES` on: a guess, and marked as one.
/// **Targets**: all.
pub struct StreamLoad;

impl CopyVariant for StreamLoad {
    fn info(&self) -> VariantInfo {
        VariantInfo { name: "stream_load", op: "copy", priority: 10 }
    }

    fn plan(&self, group: &CopyGroup, target: &Target) -> Result<Candidate, Reject> {
        let view = gate::single(group)?;
        if view.src.space() != Space::Global || view.dst.space() != Space::Local {
            return Err(Reject::Spaces {
                src: view.src.space().to_string(),
                dst: view.dst.space().to_string(),
                need: "global memory to registers",
            });
        }
        if view.src.dtype().bits() < 8 {
            return Err(Reject::Dtype { have: view.src.dtype(), need: "whole bytes" });
        }
        if view.src_written {
            let why = format!("`{}` is written in this kernel, so it is no stream", view.src.buf);
            return Err(Reject::Attribute { why });
        }
        let mut candidate = plan_vectors_as(STREAM_LOAD.name, view, target)?;
        let bytes = bytes_of(view);
        // Equal cost would do, too: of equals the one listed first is taken, and that is the backend's.
        if bytes.is_some_and(|bytes| bytes >= STREAM_BYTES) {
            candidate.cost.picoseconds -= candidate.cost.picoseconds / 8;
            candidate.cost.basis = Basis::Unmeasured;
        }
        candidate.params.push(("bytes", bytes.map_or(ParamValue::Text("symbolic".to_owned()), ParamValue::Int)));
        Ok(candidate)
    }
}

/// Bytes of the copy; `None` if an extent is symbolic.
fn bytes_of(view: &CopyView) -> Option<i64> {
    let elements = view.extents.iter().try_fold(1i64, |n, extent| n.checked_mul(extent.as_const()?))?;
    view.src.dtype().bytes_for(elements)
}

/// `stream.load(destination, source, n = …)`: `vec.copy` for data that is used once.
pub const STREAM_LOAD: OpRow = OpRow {
    name: "stream.load",
    args: &[ArgKind::Write, ArgKind::Read],
    rest: None,
    attrs: &[
        AttrRow { name: "n", kind: AttrKind::Int(1, 256), required: true },
        AttrRow { name: "align", kind: AttrKind::Int(1, 256), required: false },
    ],
    result: None,
    order: Order::None,
    warp_collective: false,
    doc: "Loads `n` consecutive elements of global memory that are used once into registers, as one access.",
};

/// What it does on the lanes of a warp: each active lane moves its own elements.
fn on_lanes(ctx: &mut LaneCtx<'_, '_, '_>) -> Result<(), Diagnostic> {
    let Some(AttrValue::Int(n)) = ctx.attr("n").cloned() else {
        return Err(ctx.error(Code::OP_OPERANDS, "`stream.load` needs `n`"));
    };
    for lane in ctx.lanes() {
        for i in 0..n {
            let bits = ctx.read(1, lane, i)?;
            ctx.write(0, lane, i, bits)?;
        }
    }
    Ok(())
}

/// Its instructions.
fn lower(b: &mut OpBuilder<'_, '_, '_, '_>) -> Result<(), LowerError> {
    let (_, dtype) = b.place_type(1)?;
    let n = b.attr_int("n").unwrap_or(1);
    let bytes = dtype.bytes_for(n).and_then(|bytes| u32::try_from(bytes).ok()).unwrap_or(0);
    let align = b.attr_int("align").and_then(|align| u32::try_from(align).ok()).unwrap_or(bytes);
    let words: &[u32] = match bytes {
        16 => &[32; 4],
        8 => &[32; 2],
        4 => &[32],
        2 => &[16],
        _ => &[],
    };
    let value = if b.target().vendor == Vendor::Nvidia && !words.is_empty() && align >= bytes {
        let source = b.address(1)?;
        let parts = b.ptx(ptx(bytes), words, &[source])?;
        b.join(&parts)?
    } else {
        b.load(1, bytes, align, Hint::NonTemporal)?
    };
    b.store(0, value, bytes, Hint::Plain)
}

/// `ld.global.cs` of so many bytes; the last operand is the address (PTX ISA: ld, cache operators; every target has it).
fn ptx(bytes: u32) -> &'static str {
    match bytes {
        16 => "ld.global.cs.v4.b32 {$0, $1, $2, $3}, [$4];",
        8 => "ld.global.cs.v2.b32 {$0, $1}, [$2];",
        4 => "ld.global.cs.b32 $0, [$1];",
        _ => "ld.global.cs.b16 $0, [$1];",
    }
}

/// The document's code blocks, for `cargo test --doc`.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/add-a-copy-variant.md")]
struct Walkthrough;
