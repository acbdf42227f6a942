//! mori's structures as bytes.
//!
//! What must hold here: offsets come from `target::mori_abi` only; what a kernel of ours never reads (inter-node state, barrier
//! handles) is zero, as mori leaves it where there is none.

use tilewright_target::mori_abi::{dev_comm, in_dev_comm, sdma_context, sdma_queue_device_handle, window_device};

/// Fields of a `ccoDevComm`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DevComm {
    /// World rank.
    pub rank: i32,
    /// World size.
    pub world_size: i32,
    /// Ranks on this node.
    pub lsa_size: i32,
    /// Own rank on this node.
    pub lsa_rank: i32,
    /// World rank of this node's first rank.
    pub node_start: i32,
    /// Start of the flat address space.
    pub flat_base: u64,
    /// Bytes of it for each rank.
    pub per_rank_bytes: u64,
    /// Queues to each peer.
    pub queues: u32,
    /// Address of the table of pointers to queue handles.
    pub handles: u64,
    /// Address of the own signal pool.
    pub signals: u64,
    /// Address of the table of pointers to the peers' signal pools.
    pub peer_signals: u64,
}

fn put32(bytes: &mut [u8], offset: u32, value: u32) {
    bytes[offset as usize..offset as usize + 4].copy_from_slice(&value.to_le_bytes());
}

fn put64(bytes: &mut [u8], offset: u32, value: u64) {
    bytes[offset as usize..offset as usize + 8].copy_from_slice(&value.to_le_bytes());
}

impl DevComm {
    /// The structure as a kernel takes it by value.
    pub fn bytes(&self) -> Vec<u8> {
        let mut out = vec![0; dev_comm::SIZE as usize];
        let ints = [
            (dev_comm::RANK, self.rank),
            (dev_comm::WORLD_SIZE, self.world_size),
            (dev_comm::LSA_SIZE, self.lsa_size),
            (dev_comm::LSA_RANK, self.lsa_rank),
            (dev_comm::MY_NODE_START, self.node_start),
        ];
        for (offset, value) in ints {
            put32(&mut out, offset, value as u32);
        }
        put64(&mut out, dev_comm::FLAT_BASE, self.flat_base);
        put64(&mut out, dev_comm::PER_RANK_SIZE, self.per_rank_bytes);
        put32(&mut out, in_dev_comm(sdma_context::SDMA_NUM_QUEUE), self.queues);
        put64(&mut out, in_dev_comm(sdma_context::DEVICE_HANDLES), self.handles);
        put64(&mut out, in_dev_comm(sdma_context::SIGNAL_BUF), self.signals);
        put64(&mut out, in_dev_comm(sdma_context::PEER_SIGNAL_PTRS), self.peer_signals);
        out
    }
}

/// A `ccoWindowDevice`.
pub fn window_bytes(base: u64, stride_4g: u32, lsa_rank: i32) -> Vec<u8> {
    let mut out = vec![0; window_device::SIZE as usize];
    put64(&mut out, window_device::WIN_BASE, base);
    put32(&mut out, window_device::STRIDE_4G, stride_4g);
    put32(&mut out, window_device::LSA_RANK, lsa_rank as u32);
    out
}

/// Addresses of the six counters of a queue and of its ring: what a handle holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAddresses {
    /// The handle itself.
    pub handle: u64,
    /// The ring.
    pub ring: u64,
    /// Read position, written by the engine.
    pub rptr: u64,
    /// Write position.
    pub wptr: u64,
    /// Doorbell.
    pub doorbell: u64,
    /// Position up to which ring space is reserved.
    pub cached_wptr: u64,
    /// Position up to which packets are published.
    pub committed_wptr: u64,
}

impl QueueAddresses {
    /// The handle's bytes; the last read position that a producer saw stands in it by value.
    pub fn handle_bytes(&self, cached_hw_read_index: u64) -> Vec<u8> {
        use sdma_queue_device_handle as handle;
        let mut out = vec![0; handle::SIZE as usize];
        let fields = [
            (handle::QUEUE_BUF, self.ring),
            (handle::RPTR, self.rptr),
            (handle::WPTR, self.wptr),
            (handle::DOORBELL, self.doorbell),
            (handle::CACHED_WPTR, self.cached_wptr),
            (handle::COMMITTED_WPTR, self.committed_wptr),
            (handle::CACHED_HW_READ_INDEX, cached_hw_read_index),
        ];
        for (offset, value) in fields {
            put64(&mut out, offset, value);
        }
        out
    }

    /// Address of the last read position that a producer saw.
    pub const fn read_index(&self) -> u64 {
        self.handle + sdma_queue_device_handle::CACHED_HW_READ_INDEX as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_communicator_has_its_fields_where_mori_reads_them() {
        let comm = DevComm {
            rank: 11,
            world_size: 16,
            lsa_size: 8,
            lsa_rank: 3,
            node_start: 8,
            flat_base: 0x1000_0000_0000,
            per_rank_bytes: 0x5_0000_0000,
            queues: 4,
            handles: 0xa1,
            signals: 0xa2,
            peer_signals: 0xa3,
        };
        let bytes = comm.bytes();
        assert_eq!(bytes.len(), 200);
        assert_eq!(bytes[..20], [11, 0, 0, 0, 16, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 8, 0, 0, 0]);
        assert_eq!(bytes[24..40], [0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0]);
        assert_eq!(bytes[40..168], [0; 128]);
        let sdma = [4, 0, 0, 0, 0, 0, 0, 0, 0xa1, 0, 0, 0, 0, 0, 0, 0, 0xa2, 0, 0, 0, 0, 0, 0, 0, 0xa3];
        assert_eq!(bytes[168..193], sdma);
    }

    #[test]
    fn windows_and_handles() {
        let bytes = window_bytes(0x1000_0000_0000, 5, 3);
        assert_eq!(bytes[..16], [0, 0, 0, 0, 0, 0x10, 0, 0, 5, 0, 0, 0, 3, 0, 0, 0]);
        assert_eq!(bytes[16..], [0; 16]);
        let queue =
            QueueAddresses { handle: 0x100, ring: 1, rptr: 2, wptr: 3, doorbell: 4, cached_wptr: 5, committed_wptr: 6 };
        let bytes = queue.handle_bytes(7);
        assert_eq!(bytes.iter().step_by(8).copied().collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!((bytes.len(), queue.read_index()), (56, 0x130));
    }
}
