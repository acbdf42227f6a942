//! AMD code objects, as the simulator's loader reads them.

use tilewright_artifact::{ArgKind, KernelInfo};
use tilewright_sim::loader::{CodeObject, Kernel, LoadError};
use tilewright_target::{TARGETS, Target, Vendor};

use super::{ArgFacts, InspectError, KernelFacts, Object, ask_all};

/// `e_machine` of AMD GPUs, and where it and `e_flags` are in a 64-bit ELF header.
const EM_AMDGPU: u16 = 224;
const MACHINE_AT: usize = 18;
const FLAGS_AT: usize = 48;

/// What is in an AMD code object; `None` if the bytes are none.
pub(super) fn object(file: &[u8]) -> Option<Result<Object, InspectError>> {
    if !file.starts_with(b"\x7fELF\x02\x01") || read_u16(file, MACHINE_AT)? != EM_AMDGPU {
        return None;
    }
    let Some(flags) = file.get(FLAGS_AT..FLAGS_AT + 4).and_then(|four| <[u8; 4]>::try_from(four).ok()) else {
        return Some(Err(InspectError::Broken("the ELF header of the code object is cut off".to_owned())));
    };
    let flags = u32::from_le_bytes(flags);
    let made_for: Option<&'static Target> =
        TARGETS.iter().copied().find(|target| target.elf.is_some_and(|elf| elf.mach() == flags & 0xff));
    let loaded = made_for.map(|target| CodeObject::load(file, target));
    let kernels = match &loaded {
        Some(Ok(object)) => object.kernels.iter().map(kernel).collect(),
        _ => Vec::new(),
    };
    Some(Ok(Object {
        kind: "AMD code object".to_owned(),
        target: made_for.map_or_else(|| format!("a chip with the number {:#x}", flags & 0xff), |t| t.name.to_owned()),
        bytes: file.len() as u64,
        facts: vec![("ELF e_flags".to_owned(), format!("{flags:#x}"))],
        kernels,
        chips: ask_all(|target| refusal(file, target)),
    }))
}

fn read_u16(file: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes([*file.get(at)?, *file.get(at + 1)?]))
}

/// Why a chip refuses the file.
fn refusal(file: &[u8], target: &'static Target) -> Option<String> {
    match CodeObject::load(file, target) {
        Ok(_) => None,
        Err(LoadError::NoElfDevice(name)) if target.vendor == Vendor::Nvidia => {
            Some(format!("{name} is an NVIDIA chip and runs no AMD code objects"))
        }
        Err(error) => Some(error.to_string()),
    }
}

fn kernel(kernel: &Kernel) -> KernelFacts {
    let meta = &kernel.metadata;
    let fact = |name: &str, value: String| (name.to_owned(), value);
    let mut facts = vec![
        fact("code", format!("{} bytes", kernel.code_bytes)),
        fact("wave", format!("{} lanes", meta.wavefront_lanes)),
        fact("block", format!("at most {} threads", meta.max_threads_per_block)),
        fact("registers", format!("{} scalar, {} vector, {} accumulation", meta.sgprs, meta.vgprs, meta.agprs)),
        fact("spills", format!("{} scalar, {} vector", meta.sgpr_spills, meta.vgpr_spills)),
        fact("LDS", format!("{} bytes", meta.group_segment_bytes)),
        fact("scratch", format!("{} bytes a lane", meta.private_segment_bytes)),
        fact("argument block", format!("{} bytes, aligned to {}", meta.kernarg_bytes, meta.kernarg_align)),
    ];
    if meta.uses_dynamic_stack {
        facts.push(fact("stack", "without a known bound".to_owned()));
    }
    let args = meta.args.iter();
    let args = args.map(|arg| ArgFacts {
        offset: arg.offset,
        bytes: arg.bytes,
        name: arg.name.clone(),
        kind: arg.kind.clone(),
    });
    KernelFacts { name: kernel.name.clone(), facts, args: args.collect() }
}

/// Adds what a bundle says of a kernel: its launch, its queues and signals, its arguments by what they are.
pub(super) fn describe(kernel: &mut KernelFacts, info: &KernelInfo) {
    let [x, y, z] = info.grid;
    let [bx, by, bz] = info.block;
    let launch = ("launch".to_owned(), format!("{x} x {y} x {z} blocks of {bx} x {by} x {bz} threads"));
    if kernel.facts.contains(&launch) {
        return;
    }
    kernel.facts.push(launch);
    if kernel.facts.iter().any(|(name, _)| name == "queues") {
        return;
    }
    kernel.facts.push(("queues".to_owned(), format!("at least {} to each peer", info.min_queues)));
    for signal in &info.signals {
        let text = format!("`{}` on queue {}, raised {} times by a launch", signal.name, signal.queue, signal.text);
        kernel.facts.push(("signal".to_owned(), text));
    }
    kernel.args = info
        .args
        .iter()
        .map(|arg| ArgFacts {
            offset: u64::from(arg.offset),
            bytes: u64::from(arg.bytes),
            name: arg.name.clone(),
            kind: arg_kind(arg.kind, &arg.dtype),
        })
        .collect();
}

/// What an argument is, in words.
fn arg_kind(kind: ArgKind, dtype: &str) -> String {
    match kind {
        ArgKind::DevComm => "ccoDevComm, by value".to_owned(),
        ArgKind::Window => format!("window of {dtype}"),
        ArgKind::Global => format!("global memory of {dtype}"),
        ArgKind::Scalar => dtype.to_owned(),
        ArgKind::Where => format!("extent, {dtype}"),
        ArgKind::Hidden => "added by the compiler".to_owned(),
    }
}
