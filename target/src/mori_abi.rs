//! Memory layout of the structures that mori's host library hands to kernels.
//!
//! What must hold here: offsets and sizes are those that mori's own headers gave when evaluated in a device kernel (golden,
//! "Layout"; gfx950 and gfx1201 agreed). A kernel takes [`dev_comm`] by value and windows as pointers to [`window_device`], so
//! code that follows these numbers runs under a communicator that mori made. Offsets and sizes are in bytes; every integer is
//! little endian. Queue (peer, q) has the handle `device_handles[peer * sdma_num_queue + q]`, and its signals count in slot
//! `sender_lsa_rank * sdma_num_queue + q` of the pool of whoever is signalled. A window's bytes for rank p start at
//! `win_base + p * stride_4g * 2^32`.

/// One field of a structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldLayout {
    /// Our name for it.
    pub name: &'static str,
    /// Bytes from the start of the structure.
    pub offset: u32,
    /// Size in bytes.
    pub bytes: u32,
}

/// A structure's size, alignment and fields in ascending order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructLayout {
    /// mori's name for it.
    pub name: &'static str,
    /// Size in bytes.
    pub size: u32,
    /// Alignment in bytes.
    pub align: u32,
    /// Its fields.
    pub fields: &'static [FieldLayout],
}

/// Writes a module with `SIZE`, `ALIGN`, one offset constant per field and the same as a table, so that they cannot differ.
macro_rules! layout {
    ($(#[$doc:meta])* $module:ident = $name:literal, size $size:literal, align $align:literal, {
        $($(#[$field_doc:meta])* $field:ident: $offset:literal, $bytes:literal;)*
    }) => {
        $(#[$doc])*
        pub mod $module {
            /// Size in bytes.
            pub const SIZE: u32 = $size;
            /// Alignment in bytes.
            pub const ALIGN: u32 = $align;
            $($(#[$field_doc])* pub const $field: u32 = $offset;)*
            /// The whole structure as a table.
            pub const LAYOUT: super::StructLayout = super::StructLayout {
                name: $name,
                size: SIZE,
                align: ALIGN,
                fields: &[$(super::FieldLayout { name: stringify!($field), offset: $offset, bytes: $bytes }),*],
            };
        }
    };
}

layout! {
    /// `ccoDevComm`, passed to kernels by value.
    dev_comm = "ccoDevComm", size 200, align 8, {
        /// World rank, i32.
        RANK: 0, 4;
        /// World size, i32.
        WORLD_SIZE: 4, 4;
        /// Ranks on this node, i32.
        LSA_SIZE: 8, 4;
        /// Own rank on this node, i32.
        LSA_RANK: 12, 4;
        /// World rank of this node's first rank, i32.
        MY_NODE_START: 16, 4;
        /// Kind of GDA connection; not used by SDMA.
        GDA_CONN_TYPE: 20, 4;
        /// Start of the flat address space over all ranks, pointer.
        FLAT_BASE: 24, 8;
        /// Bytes of that space for each rank, u64.
        PER_RANK_SIZE: 32, 8;
        /// Table of windows, pointer.
        WINDOW_TABLE: 40, 8;
        /// Window of the communicator's own resources, pointer.
        RESOURCE_WINDOW: 48, 8;
        /// A copy of that window, [`window_device`](super::window_device).
        RESOURCE_WINDOW_INLINED: 56, 32;
        /// Inter-node state; not used by SDMA.
        IBGDA: 88, 48;
        /// Barrier of the node, handle.
        LSA_BARRIER: 136, 8;
        /// Barrier of the rail, handle.
        RAIL_GDA_BARRIER: 144, 8;
        /// Hybrid barrier, node part, handle.
        HYBRID_LSA_BARRIER: 152, 8;
        /// Hybrid barrier, rail part, handle.
        HYBRID_RAIL_GDA_BARRIER: 160, 8;
        /// The SDMA part, [`sdma_context`](super::sdma_context).
        SDMA: 168, 32;
    }
}

layout! {
    /// `ccoSdmaContext`, at [`dev_comm::SDMA`].
    sdma_context = "ccoSdmaContext", size 32, align 8, {
        /// Queues to each peer, u32; zero if SDMA is not available.
        SDMA_NUM_QUEUE: 0, 4;
        /// Table of pointers to queue handles, pointer; entries of ranks without SDMA are null.
        DEVICE_HANDLES: 8, 8;
        /// Own signal pool of u64 slots, pointer.
        SIGNAL_BUF: 16, 8;
        /// Table of pointers to the peers' signal pools, pointer.
        PEER_SIGNAL_PTRS: 24, 8;
    }
}

layout! {
    /// `ccoWindowDevice`, what a window argument points to.
    window_device = "ccoWindowDevice", size 32, align 8, {
        /// Address of rank 0's bytes, pointer.
        WIN_BASE: 0, 8;
        /// Distance from one rank's bytes to the next in units of 2^32 bytes, u32.
        STRIDE_4G: 8, 4;
        /// The rank whose own window this is, i32: "local" means this rank's bytes.
        LSA_RANK: 12, 4;
        /// Inter-node state; not used by SDMA.
        IBGDA_WIN: 16, 16;
    }
}

layout! {
    /// `ccoSdmaQueueDeviceHandle`, one per (peer, queue): six pointers and a value. Positions count bytes and never wrap.
    sdma_queue_device_handle = "ccoSdmaQueueDeviceHandle", size 56, align 8, {
        /// The ring, pointer.
        QUEUE_BUF: 0, 8;
        /// Read position that the engine writes, pointer to u64.
        RPTR: 8, 8;
        /// Write position that the engine may read, pointer to u64.
        WPTR: 16, 8;
        /// Doorbell, pointer to u64.
        DOORBELL: 24, 8;
        /// Position up to which ring space is reserved, pointer to u64.
        CACHED_WPTR: 32, 8;
        /// Position up to which packets are published, pointer to u64.
        COMMITTED_WPTR: 40, 8;
        /// Last read position that a producer saw: a u64 in place, not a pointer, shared by all producers.
        CACHED_HW_READ_INDEX: 48, 8;
    }
}

/// Bytes of one signal slot (u64).
pub const SIGNAL_BYTES: u32 = 8;

/// Bytes in one unit of `STRIDE_4G`.
pub const STRIDE_UNIT_BYTES: u64 = 1 << 32;

/// All structures.
pub const LAYOUTS: [StructLayout; 4] =
    [dev_comm::LAYOUT, sdma_context::LAYOUT, window_device::LAYOUT, sdma_queue_device_handle::LAYOUT];

/// Offset of a field of [`sdma_context`] inside [`dev_comm`].
pub const fn in_dev_comm(sdma_context_offset: u32) -> u32 {
    dev_comm::SDMA + sdma_context_offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_aligned_ascending_and_inside() {
        for layout in LAYOUTS {
            let mut end = 0;
            for field in layout.fields {
                assert!(field.offset >= end, "{}.{} overlaps", layout.name, field.name);
                // Bigger members are made of 8-byte parts at most.
                assert_eq!(field.offset % field.bytes.min(8), 0, "{}.{} misaligned", layout.name, field.name);
                end = field.offset + field.bytes;
            }
            assert_eq!(end.next_multiple_of(layout.align), layout.size, "{} has unnamed bytes at its end", layout.name);
        }
    }

    #[test]
    fn nested_structures_have_their_own_size() {
        let size_of = |layout: StructLayout, name: &str| layout.fields.iter().find(|f| f.name == name).unwrap().bytes;
        assert_eq!(size_of(dev_comm::LAYOUT, "SDMA"), sdma_context::SIZE);
        assert_eq!(size_of(dev_comm::LAYOUT, "RESOURCE_WINDOW_INLINED"), window_device::SIZE);
    }

    #[test]
    fn literal_offsets_of_the_read_out() {
        assert_eq!((dev_comm::SIZE, dev_comm::LSA_SIZE, dev_comm::LSA_RANK, dev_comm::SDMA), (200, 8, 12, 168));
        assert_eq!(in_dev_comm(sdma_context::DEVICE_HANDLES), 176);
        assert_eq!(in_dev_comm(sdma_context::SIGNAL_BUF), 184);
        assert_eq!(in_dev_comm(sdma_context::PEER_SIGNAL_PTRS), 192);
        assert_eq!(sdma_queue_device_handle::CACHED_HW_READ_INDEX, 48);
    }
}
