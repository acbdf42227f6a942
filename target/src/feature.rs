//! Copy instructions that a chip has or lacks, as flags and width lists.
//!
//! What must hold here: a width list is ascending and in the unit that its name states; an empty list means "does not
//! exist". LLVM aborts the process on an intrinsic that the chip lacks, so each flag here gates the emission of one family.

/// Which copy instructions exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Features {
    /// `ldmatrix.sync.aligned.m8n8.x{1,2,4}[.trans].shared.b16`.
    pub ldmatrix_b16: bool,
    /// `ldmatrix.sync.aligned.m16n16.x{1,2}.trans.shared.b8` and the `m8n16` unpacking forms.
    pub ldmatrix_b8: bool,
    /// `stmatrix.sync.aligned.m8n8.x{1,2,4}[.trans].shared.b16`.
    pub stmatrix_b16: bool,
    /// `stmatrix.sync.aligned.m16n8.x{1,2,4}.trans.shared.b8`.
    pub stmatrix_b8: bool,
    /// `cp.async.{ca,cg}.shared.global`: bytes per lane. `.cg` takes 16 only.
    pub cp_async_bytes: &'static [u32],
    /// `cp.async.bulk` global <-> shared with an mbarrier or a bulk group.
    pub bulk_copy: bool,
    /// `cp.async.bulk.tensor` (tensor map).
    pub tensor_copy: bool,
    /// `mbarrier.*.expect_tx` and `try_wait`.
    pub mbarrier_tx: bool,
    /// `elect.sync`.
    pub elect_sync: bool,
    /// Thread block clusters.
    pub clusters: bool,
    /// `global_load_lds_*`: bytes per lane. The LDS side is one uniform base plus lane times width: no scatter.
    pub direct_to_lds_bytes: &'static [u32],
    /// `ds_read_*_tr_*`: bits per element.
    pub lds_transpose_read_bits: &'static [u32],
    /// `v_permlane16_swap_b32` and `v_permlane32_swap_b32`.
    pub permlane_swap: bool,
}
