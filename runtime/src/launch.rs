//! The checks before a launch.
//!
//! What must hold here: each refusal is one sentence that names what is needed, what is there and what to do.

use tilewright_artifact::{ArgKind, KernelInfo};

use crate::driver::{Address, DeviceKind, Limits};
use crate::rank::LsaRank;

/// A launch that is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The communicator has no queues at all.
    #[error(
        "the kernel needs {needed} SDMA queue(s) to each peer, the communicator has none: is SDMA enabled (MORI_ENABLE_SDMA=1)?"
    )]
    NoQueues {
        /// Queues that the kernel needs.
        needed: u32,
    },
    /// The communicator has too few queues. Queue ids are never taken modulo the count.
    #[error(
        "the kernel needs {needed} SDMA queues to each peer, the communicator has {available}: make it with at least {needed}"
    )]
    TooFewQueues {
        /// Queues that the kernel needs.
        needed: u32,
        /// Queues to each peer.
        available: u32,
    },
    /// A block has more threads than the device runs.
    #[error("kernel `{kernel}` has {threads} threads in a block, {device} runs at most {limit}")]
    TooManyThreads {
        /// The kernel.
        kernel: String,
        /// Its threads per block.
        threads: u64,
        /// The device.
        device: String,
        /// What it runs.
        limit: u32,
    },
    /// A launch shape that the values of the `where` parameters do not give.
    #[error("kernel `{kernel}`: {what}; a grid and a block have from 1 to 2^32 - 1 in each direction")]
    Shape {
        /// The kernel.
        kernel: String,
        /// What has no value.
        what: String,
    },
    /// A block needs more shared memory than the device has.
    #[error("kernel `{kernel}` needs {bytes} bytes of shared memory in a block, {device} has {limit}")]
    TooMuchSharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that it needs.
        bytes: u32,
        /// The device.
        device: String,
        /// Bytes that it has.
        limit: u32,
    },
    /// The kernel takes a communicator or windows, and the device makes none.
    #[error(
        "kernel `{kernel}` copies between ranks, which the {device} device cannot: it has neither windows nor copy engines"
    )]
    NoCommunicator {
        /// The kernel.
        kernel: String,
        /// The device.
        device: DeviceKind,
    },
    /// Two arguments share memory. The compiler takes buffers for apart.
    #[error(
        "kernel `{kernel}`: `{first}` of {first_rank} and `{second}` of {second_rank} share {bytes} bytes from {address}; give \
         each argument memory of its own"
    )]
    Alias {
        /// The kernel.
        kernel: String,
        /// The argument that begins first.
        first: String,
        /// Its rank.
        first_rank: LsaRank,
        /// The other one.
        second: String,
        /// Its rank.
        second_rank: LsaRank,
        /// Where the shared bytes begin.
        address: Address,
        /// How many there are at least.
        bytes: u64,
    },
    /// The module has no such kernel.
    #[error("the module has no kernel `{name}`; it has {known}")]
    NoKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
}

/// Checks that a communicator with `available` queues to each peer can run a kernel that needs `min_queues`.
///
/// # Errors
/// [`LaunchError::NoQueues`] or [`LaunchError::TooFewQueues`].
pub const fn check_queues(min_queues: u32, available: u32) -> Result<(), LaunchError> {
    if min_queues <= available {
        Ok(())
    } else if available == 0 {
        Err(LaunchError::NoQueues { needed: min_queues })
    } else {
        Err(LaunchError::TooFewQueues { needed: min_queues, available })
    }
}

/// Whether the kernel needs a communicator: it takes one or a window, or uses queues.
pub fn needs_communicator(kernel: &KernelInfo) -> bool {
    kernel.min_queues > 0 || kernel.args.iter().any(|arg| matches!(arg.kind, ArgKind::DevComm | ArgKind::Window))
}

/// Checks a kernel against a device and a communicator with `queues` queues to each peer (0 if there is none).
///
/// # Errors
/// The first [`LaunchError`] in the order threads, shared memory, queues.
pub fn check_launch(kernel: &KernelInfo, limits: &Limits, queues: u32) -> Result<(), LaunchError> {
    let threads = kernel.threads_per_block();
    if threads > u64::from(limits.threads_per_block) {
        return Err(LaunchError::TooManyThreads {
            kernel: kernel.name.clone(),
            threads,
            device: limits.name.clone(),
            limit: limits.threads_per_block,
        });
    }
    if kernel.lds_bytes > limits.shared_bytes {
        return Err(LaunchError::TooMuchSharedMemory {
            kernel: kernel.name.clone(),
            bytes: kernel.lds_bytes,
            device: limits.name.clone(),
            limit: limits.shared_bytes,
        });
    }
    check_queues(kernel.min_queues, queues)
}

/// Memory that an argument of a launch is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Range<'a> {
    /// Where it begins.
    pub(crate) start: Address,
    /// Its bytes.
    pub(crate) bytes: u64,
    /// The argument's name.
    pub(crate) name: &'a str,
    /// The argument's rank.
    pub(crate) rank: LsaRank,
}

/// Checks that no two ranges share a byte; empty ones share nothing. All ranks together: what one process maps of several
/// GPUs lies in one address space.
///
/// # Errors
/// [`LaunchError::Alias`] with the lowest pair.
pub(crate) fn check_aliases(kernel: &str, mut ranges: Vec<Range<'_>>) -> Result<(), LaunchError> {
    ranges.retain(|range| range.bytes > 0);
    ranges.sort_by_key(|range| (range.start, range.rank));
    for pair in ranges.windows(2) {
        let end = |range: &Range<'_>| range.start.0.saturating_add(range.bytes);
        let shared = end(&pair[0]).min(end(&pair[1])).saturating_sub(pair[1].start.0);
        if shared > 0 {
            return Err(LaunchError::Alias {
                kernel: kernel.to_owned(),
                first: pair[0].name.to_owned(),
                first_rank: pair[0].rank,
                second: pair[1].name.to_owned(),
                second_rank: pair[1].rank,
                address: pair[1].start,
                bytes: shared,
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tilewright_target::{GFX942, GFX950, Target};

    use super::*;

    fn limits(target: &Target) -> Limits {
        Limits::of(target)
    }

    fn kernel() -> KernelInfo {
        KernelInfo {
            name: "ship".to_owned(),
            args: vec![],
            grid: [1; 3],
            block: [64, 1, 1],
            lds_bytes: 0,
            min_queues: 3,
            signals: vec![],
            signals_by_hand: false,
            sizes: Default::default(),
        }
    }

    #[test]
    fn too_few_queues_are_refused_in_one_sentence() {
        assert_eq!(check_queues(0, 0), Ok(()));
        assert_eq!(check_queues(2, 2), Ok(()));
        assert_eq!(
            check_queues(4, 2).unwrap_err().to_string(),
            "the kernel needs 4 SDMA queues to each peer, the communicator has 2: make it with at least 4"
        );
        assert_eq!(
            check_queues(1, 0).unwrap_err().to_string(),
            "the kernel needs 1 SDMA queue(s) to each peer, the communicator has none: is SDMA enabled (MORI_ENABLE_SDMA=1)?"
        );
    }

    #[test]
    fn a_launch_must_fit_the_device() {
        assert_eq!(check_launch(&kernel(), &limits(&GFX950), 3), Ok(()));
        assert_eq!(
            check_launch(&kernel(), &limits(&GFX950), 2),
            Err(LaunchError::TooFewQueues { needed: 3, available: 2 })
        );
        let tall = KernelInfo { block: [64, 64, 1], ..kernel() };
        assert_eq!(
            check_launch(&tall, &limits(&GFX950), 3).unwrap_err().to_string(),
            "kernel `ship` has 4096 threads in a block, gfx950 runs at most 1024"
        );
        // 96 KiB of LDS fit gfx950 and not gfx942.
        let wide = KernelInfo { lds_bytes: 96 * 1024, ..kernel() };
        assert_eq!(check_launch(&wide, &limits(&GFX950), 3), Ok(()));
        assert_eq!(
            check_launch(&wide, &limits(&GFX942), 3).unwrap_err().to_string(),
            "kernel `ship` needs 98304 bytes of shared memory in a block, gfx942 has 65536"
        );
    }
    #[test]
    fn ranges_that_touch_are_apart_and_ranges_that_overlap_are_found() {
        let range = |start, bytes, name, rank| Range { start: Address(start), bytes, name, rank: LsaRank::new(rank) };
        let check = |ranges: &[Range<'_>]| check_aliases("k", ranges.to_vec());
        assert_eq!(check(&[range(256, 256, "b", 0), range(0, 256, "a", 0), range(512, 8, "c", 1)]), Ok(()));
        assert_eq!(check(&[range(0, 64, "a", 0), range(32, 0, "b", 0)]), Ok(()));
        assert_eq!(
            check(&[range(0x140, 64, "b", 1), range(0x100, 128, "a", 0)]).unwrap_err().to_string(),
            "kernel `k`: `a` of lsa rank 0 and `b` of lsa rank 1 share 64 bytes from 0x140; give each argument memory of its own"
        );
        // One inside the other, with a third behind the inner one.
        assert!(check(&[range(0, 100, "a", 0), range(200, 8, "c", 0), range(10, 4, "b", 0)]).is_err());
        assert!(check(&[range(u64::MAX - 1, 8, "a", 0), range(u64::MAX, 1, "b", 0)]).is_ok(), "ends saturate");
    }
}
