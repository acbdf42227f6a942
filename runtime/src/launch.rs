//! The checks before a launch.
//!
//! What must hold here: each refusal is one sentence that names what is needed, what is there and what to do.

use tilewright_artifact::KernelInfo;
use tilewright_target::Target;

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
        device: &'static str,
        /// What it runs.
        limit: u32,
    },
    /// A block needs more shared memory than the device has.
    #[error("kernel `{kernel}` needs {bytes} bytes of shared memory in a block, {device} has {limit}")]
    TooMuchSharedMemory {
        /// The kernel.
        kernel: String,
        /// Bytes that it needs.
        bytes: u32,
        /// The device.
        device: &'static str,
        /// Bytes that it has.
        limit: u32,
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

/// Checks a kernel against a device and a communicator with `queues` queues to each peer (0 if there is none).
///
/// # Errors
/// The first [`LaunchError`] in the order threads, shared memory, queues.
pub fn check_launch(kernel: &KernelInfo, target: &Target, queues: u32) -> Result<(), LaunchError> {
    let threads = kernel.threads_per_block();
    if threads > u64::from(target.max_threads_per_block) {
        return Err(LaunchError::TooManyThreads {
            kernel: kernel.name.clone(),
            threads,
            device: target.name,
            limit: target.max_threads_per_block,
        });
    }
    if kernel.lds_bytes > target.lds_bytes {
        return Err(LaunchError::TooMuchSharedMemory {
            kernel: kernel.name.clone(),
            bytes: kernel.lds_bytes,
            device: target.name,
            limit: target.lds_bytes,
        });
    }
    check_queues(kernel.min_queues, queues)
}

#[cfg(test)]
mod tests {
    use tilewright_target::{GFX942, GFX950};

    use super::*;

    fn kernel() -> KernelInfo {
        KernelInfo {
            name: "ship".to_owned(),
            args: vec![],
            grid: [1; 3],
            block: [64, 1, 1],
            lds_bytes: 0,
            min_queues: 3,
            signals: vec![],
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
        assert_eq!(check_launch(&kernel(), &GFX950, 3), Ok(()));
        assert_eq!(check_launch(&kernel(), &GFX950, 2), Err(LaunchError::TooFewQueues { needed: 3, available: 2 }));
        let tall = KernelInfo { block: [64, 64, 1], ..kernel() };
        assert_eq!(
            check_launch(&tall, &GFX950, 3).unwrap_err().to_string(),
            "kernel `ship` has 4096 threads in a block, gfx950 runs at most 1024"
        );
        // 96 KiB of LDS fit gfx950 and not gfx942.
        let wide = KernelInfo { lds_bytes: 96 * 1024, ..kernel() };
        assert_eq!(check_launch(&wide, &GFX950, 3), Ok(()));
        assert_eq!(
            check_launch(&wide, &GFX942, 3).unwrap_err().to_string(),
            "kernel `ship` needs 98304 bytes of shared memory in a block, gfx942 has 65536"
        );
    }
}
