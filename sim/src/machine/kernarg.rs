//! The argument block of a launch: the caller's bytes and the hidden arguments behind them.
//!
//! What must hold here: each hidden argument that the metadata names is filled by its kind; an unknown kind is refused rather
//! than left as it is.

use super::Launch;
use crate::exec::{PRIVATE_BASE_HI, SHARED_BASE_HI};
use crate::fault::{Exec, Fault, FaultKind};
use crate::loader::Kernel;

/// The bytes of the argument block.
///
/// # Errors
/// [`FaultKind::Launch`] if the caller's bytes do not fit what the kernel takes, or a hidden argument is unknown.
pub(crate) fn block(kernel: &Kernel, launch: &Launch) -> Exec<Vec<u8>> {
    let refuse = |reason: String| Fault::new(FaultKind::Launch { reason });
    let metadata = &kernel.metadata;
    let hidden = |kind: &str| kind.starts_with("hidden_");
    let taken =
        metadata.args.iter().filter(|arg| !hidden(&arg.kind)).map(|arg| arg.offset + arg.bytes).max().unwrap_or(0);
    if launch.args.len() as u64 != taken {
        return Err(refuse(format!(
            "kernel `{}` takes {taken} bytes of arguments, the launch gives {}",
            kernel.name,
            launch.args.len()
        )));
    }
    let mut block = vec![0; metadata.kernarg_bytes as usize];
    let Some(own) = block.get_mut(..launch.args.len()) else {
        return Err(refuse(format!("the argument block of `{}` is shorter than its arguments", kernel.name)));
    };
    own.copy_from_slice(&launch.args);
    for arg in metadata.args.iter().filter(|arg| hidden(&arg.kind)) {
        let value = hidden_value(&arg.kind, launch)
            .ok_or_else(|| refuse(format!("kernel `{}` wants `{}`, which is not known", kernel.name, arg.kind)))?;
        let bytes = value.to_le_bytes();
        let count = (arg.bytes as usize).min(bytes.len());
        if let Some(slot) = block.get_mut(arg.offset as usize..arg.offset as usize + count) {
            slot.copy_from_slice(&bytes[..count]);
        }
    }
    Ok(block)
}

/// The value of a hidden argument by its kind. Services of a host (printf, device malloc, device enqueue) do not exist: their
/// pointers are null.
fn hidden_value(kind: &str, launch: &Launch) -> Option<u64> {
    let axis = |prefix: &str| match kind.strip_prefix(prefix) {
        Some("x") => Some(0),
        Some("y") => Some(1),
        Some("z") => Some(2),
        _ => None,
    };
    if let Some(axis) = axis("hidden_block_count_") {
        return Some(u64::from(launch.grid[axis]));
    }
    if let Some(axis) = axis("hidden_group_size_") {
        return Some(u64::from(launch.block[axis]));
    }
    // Grids are whole blocks, at offset zero.
    if axis("hidden_remainder_").or_else(|| axis("hidden_global_offset_")).is_some() {
        return Some(0);
    }
    Some(match kind {
        "hidden_grid_dims" => match (launch.grid[2] * launch.block[2], launch.grid[1] * launch.block[1]) {
            (2.., _) => 3,
            (_, 2..) => 2,
            _ => 1,
        },
        "hidden_dynamic_lds_size" => u64::from(launch.dynamic_lds),
        "hidden_private_base" => u64::from(PRIVATE_BASE_HI),
        "hidden_shared_base" => u64::from(SHARED_BASE_HI),
        "hidden_none"
        | "hidden_printf_buffer"
        | "hidden_hostcall_buffer"
        | "hidden_multigrid_sync_arg"
        | "hidden_heap_v1"
        | "hidden_default_queue"
        | "hidden_completion_action"
        | "hidden_queue_ptr" => 0,
        _ => return None,
    })
}
