//! The mutants that may live, by the reason why.
//!
//! What must hold: a reason says what makes the mutant behave as the kernel does *there*; where the same change matters
//! elsewhere, the reason names the kernel in which it is killed.

/// Why some mutants survive.
#[derive(Debug)]
pub(crate) struct Reason {
    /// The reason.
    #[expect(dead_code, reason = "for the reader, and for `Debug`")]
    pub(crate) why: &'static str,
    /// Whether hardware could go wrong where the simulator does not.
    pub(crate) lenient: bool,
    /// Whose it is.
    pub(crate) of: &'static [Row],
}

/// Kernel, or `*`; instruction without register numbers; which of the same text, from 0, empty for all; what was done.
/// A row with `*` for the kernel means only those that have such an instruction; all of its mutants must survive.
pub(crate) type Row = (&'static str, &'static str, &'static [usize], &'static [&'static str]);

/// Whether a row means this mutant.
pub(crate) fn is(row: &Row, kernel: &str, text: &str, nth: usize, what: &str) -> bool {
    let (kernels, name, numbers, whats) = row;
    (*kernels == "*" || *kernels == kernel)
        && *name == text
        && (numbers.is_empty() || numbers.contains(&nth))
        && whats.contains(&what)
}

// The instructions of a post, in the order of the code: the ring's packets (two halves of 16 bytes each), then the write pointer,
// the doorbell and the committed pointer with a full wait before each. `V` with addresses in vector registers.
const WAIT: &str = "s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)";
const PACKET: &str = "global_store_dwordx4 v, v, s";
const PACKET_REST: &str = "global_store_dwordx4 v, v, s offset:16";
const PACKET_V: &str = "global_store_dwordx4 v, v, off";
/// Stores of the write pointer (0) and the committed pointer (1).
const POINTER: &str = "global_store_dwordx2 v, v, s sc1";
const POINTER_V: &str = "global_store_dwordx2 v, v, off sc1";
const DOORBELL: &str = "global_store_dwordx2 v, v, s sc0 sc1";
const DOORBELL_V: &str = "global_store_dwordx2 v, v, off sc0 sc1";
/// The read position that posters last saw.
const SEEN: &str = "global_load_dwordx2 v, v, s offset:48 sc1";
const SEEN_V: &str = "global_load_dwordx2 v, v, off offset:48 sc1";
const SET_SEEN: &str = "global_store_dwordx2 v, v, s offset:48 sc1";
const SET_SEEN_V: &str = "global_store_dwordx2 v, v, off offset:48 sc1";
/// Loads of the committed pointer: before the post's turn (0), and where it drains.
const COMMITTED: &str = "global_load_dwordx2 v, v, s sc1";
const COMMITTED_V: &str = "global_load_dwordx2 v, v, off sc1";
/// Loads of the engine's read pointer for room (0), and where the queue drains (1, 2); signals.
const FAR: &str = "global_load_dwordx2 v, v, s sc0 sc1";
const FAR_V: &str = "global_load_dwordx2 v, v, off sc0 sc1";
const LDS_WAIT: &str = "s_waitcnt lgkmcnt(0)";
const MEMORY_WAIT: &str = "s_waitcnt vmcnt(0)";

const NO_VM: &str = "without vmcnt";
const NO_LGKM: &str = "without lgkmcnt";
const NO_LGKM_TWICE: &str = "without lgkmcnt, and the next one, too";
const NO_SC0: &str = "without sc0";
const NO_SC1: &str = "without sc1";
const NO_SCOPE: &str = "without sc0 sc1";
const REMOVED: &str = "removed";
const BEFORE_BARRIER: &str = "swapped with the next, s_barrier";
const BEFORE_WAIT: &str = "swapped with the next, s_waitcnt vmcnt(0) expcnt(0) lgkmcnt(0)";

/// See the head of this file.
pub(crate) const REASONS: &[Reason] = &[
    Reason {
        why: "Stores capture their data when they issue; expcnt counts exports and GDS, which there are not.",
        lenient: false,
        of: &[("*", WAIT, &[], &["without expcnt"])],
    },
    Reason {
        why: "No scalar load and no LDS access is in flight there: mori's wait is for everything.",
        lenient: false,
        of: &[
            ("crowd", WAIT, &[0, 2, 3], &[NO_LGKM]),
            ("fetch", WAIT, &[0, 2, 3], &[NO_LGKM]),
            ("ring_shift", WAIT, &[0, 2, 3], &[NO_LGKM]),
            ("stage", WAIT, &[0, 2, 3], &[NO_LGKM]),
            ("full", WAIT, &[0, 2, 3], &[NO_LGKM]),
            ("ship", WAIT, &[0, 2, 3], &[NO_LGKM]),
            ("alltoall", WAIT, &[0, 1, 2, 3], &[NO_LGKM]),
            ("signals", WAIT, &[0, 1, 2, 3], &[NO_LGKM]),
            ("crowd", WAIT, &[2], &[NO_LGKM_TWICE]),
            ("fetch", WAIT, &[2], &[NO_LGKM_TWICE]),
            ("ring_shift", WAIT, &[2], &[NO_LGKM_TWICE]),
            ("stage", WAIT, &[2], &[NO_LGKM_TWICE]),
            ("full", WAIT, &[2], &[NO_LGKM_TWICE]),
            ("ship", WAIT, &[2], &[NO_LGKM_TWICE]),
            ("alltoall", WAIT, &[0, 1, 2], &[NO_LGKM_TWICE]),
            ("signals", WAIT, &[0, 1, 2], &[NO_LGKM_TWICE]),
        ],
    },
    Reason {
        why: "The ring is waited for twice, behind its stores and before the write pointer; both waits less is killed.",
        lenient: false,
        of: &[
            ("crowd", WAIT, &[0, 1], &[NO_VM]),
            ("fetch", WAIT, &[0, 1], &[NO_VM]),
            ("ring_shift", WAIT, &[0, 1], &[NO_VM]),
            ("stage", WAIT, &[0, 1], &[NO_VM]),
            ("full", WAIT, &[0, 1], &[NO_VM]),
            ("ship", WAIT, &[0, 1], &[NO_VM]),
            ("alltoall", WAIT, &[0], &[NO_VM]),
            ("signals", WAIT, &[0], &[NO_VM]),
            ("crowd", PACKET_REST, &[1], &[BEFORE_WAIT]),
            ("fetch", PACKET_REST, &[0], &[BEFORE_WAIT]),
            ("ring_shift", PACKET_REST, &[1], &[BEFORE_WAIT]),
            ("stage", PACKET_REST, &[1], &[BEFORE_WAIT]),
            ("full", PACKET_REST, &[0], &[BEFORE_WAIT]),
            ("ship", PACKET_REST, &[0], &[BEFORE_WAIT]),
        ],
    },
    Reason {
        why: "Two pieces of a packet, published together by the write pointer.",
        lenient: false,
        of: &[
            ("fetch", PACKET, &[0], &["swapped with the next store, global_store_dwordx4 v, v, s offset:16"]),
            ("full", PACKET, &[0], &["swapped with the next store, global_store_dwordx4 v, v, s offset:16"]),
            ("ring_shift", PACKET, &[0], &["swapped with the next store, global_store_dwordx4 v, v, s offset:16"]),
            ("crowd", PACKET_REST, &[0], &["swapped with the next store, global_store_dwordx4 v, v, s"]),
            ("stage", PACKET_REST, &[0], &["swapped with the next store, global_store_dwordx4 v, v, s"]),
            ("alltoall", PACKET_V, &[0, 1], &["swapped with the next store, global_store_dwordx4 v, v, off offset:16"]),
            ("signals", PACKET_V, &[0], &["swapped with the next store, global_store_dwordx4 v, v, off offset:16"]),
        ],
    },
    Reason {
        why: "The write pointer is in uncached memory and retires before the doorbell, which releases it to the engine; no wave \
              reads it.",
        lenient: false,
        of: &[("*", POINTER, &[0], &[NO_SC1]), ("*", POINTER_V, &[0], &[NO_SC1])],
    },
    Reason {
        why: "One wave posts on each queue: it alone uses the committed pointer, whose order to the doorbell is between posters. \
              Killed in `crowd`.",
        lenient: false,
        of: &[
            ("fetch", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, s sc1"]),
            ("ring_shift", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, s sc1"]),
            ("stage", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, s sc1"]),
            ("full", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, s sc1"]),
            ("ship", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, s sc1"]),
            ("alltoall", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, off sc1"]),
            ("signals", WAIT, &[3], &[NO_VM, "swapped with the next, global_store_dwordx2 v, v, off sc1"]),
            ("fetch", DOORBELL, &[0], &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, s sc1"]),
            (
                "ring_shift",
                DOORBELL,
                &[0],
                &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, s sc1"],
            ),
            ("stage", DOORBELL, &[0], &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, s sc1"]),
            ("full", DOORBELL, &[0], &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, s sc1"]),
            ("ship", DOORBELL, &[0], &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, s sc1"]),
            (
                "alltoall",
                DOORBELL_V,
                &[0],
                &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, off sc1"],
            ),
            (
                "signals",
                DOORBELL_V,
                &[0],
                &[BEFORE_WAIT, "swapped with the next store, global_store_dwordx2 v, v, off sc1"],
            ),
            ("fetch", POINTER, &[1], &[NO_SC1]),
            ("ring_shift", POINTER, &[1], &[NO_SC1]),
            ("stage", POINTER, &[1], &[NO_SC1]),
            ("full", POINTER, &[1], &[NO_SC1]),
            ("ship", POINTER, &[1], &[NO_SC1]),
            ("alltoall", POINTER_V, &[1], &[NO_SC1]),
            ("signals", POINTER_V, &[1], &[NO_SC1]),
            ("fetch", COMMITTED, &[0, 1], &[NO_SC1]),
            ("ring_shift", COMMITTED, &[0, 1], &[NO_SC1]),
            ("stage", COMMITTED, &[0, 1], &[NO_SC1]),
            ("full", COMMITTED, &[0, 1], &[NO_SC1]),
            ("ship", COMMITTED, &[0, 1], &[NO_SC1]),
            ("alltoall", COMMITTED_V, &[0, 2], &[NO_SC1]),
            ("signals", COMMITTED_V, &[0], &[NO_SC1]),
        ],
    },
    Reason {
        why: "One wave posts on each queue: it alone uses the read position that posters last saw. Killed in `crowd`.",
        lenient: false,
        of: &[
            ("fetch", SEEN, &[0], &[NO_SC1]),
            ("ring_shift", SEEN, &[0], &[NO_SC1]),
            ("stage", SEEN, &[0], &[NO_SC1]),
            ("full", SEEN, &[0], &[NO_SC1]),
            ("ship", SEEN, &[0], &[NO_SC1]),
            ("alltoall", SEEN_V, &[0], &[NO_SC1]),
            ("signals", SEEN_V, &[0], &[NO_SC1]),
            ("fetch", SET_SEEN, &[0], &[NO_SC1]),
            ("ring_shift", SET_SEEN, &[0], &[NO_SC1]),
            ("stage", SET_SEEN, &[0], &[NO_SC1]),
            ("full", SET_SEEN, &[0], &[NO_SC1]),
            ("ship", SET_SEEN, &[0], &[NO_SC1]),
            ("alltoall", SET_SEEN_V, &[0], &[NO_SC1]),
            ("signals", SET_SEEN_V, &[0], &[NO_SC1]),
        ],
    },
    Reason {
        why: "What posters last saw only saves them a look at the engine's read pointer.",
        lenient: false,
        of: &[("*", SET_SEEN, &[0], &[REMOVED]), ("*", SET_SEEN_V, &[0], &[REMOVED])],
    },
    Reason {
        why: "The engine has long been idle when the only post of the launch looks at its read pointer, and has read none of the \
              ring's bytes that follow. Killed in `full`.",
        lenient: false,
        of: &[
            ("crowd", FAR, &[0], &[NO_SC0]),
            ("fetch", FAR, &[0], &[NO_SC0, NO_SC1, NO_SCOPE]),
            ("ring_shift", FAR, &[0], &[NO_SC0, NO_SC1, NO_SCOPE]),
            ("stage", FAR, &[0], &[NO_SC0, NO_SC1, NO_SCOPE]),
            ("ship", FAR, &[0], &[NO_SC0, NO_SC1, NO_SCOPE]),
            ("alltoall", FAR_V, &[0], &[NO_SC0, NO_SC1, NO_SCOPE]),
            ("signals", FAR_V, &[0], &[NO_SC0, NO_SC1, NO_SCOPE]),
        ],
    },
    Reason {
        why: "Nothing behind the drain relies on what the engine did before: no source is written, and what arrives is read behind \
              a signal, or not at all. Killed in `crowd` and `fetch`.",
        lenient: false,
        of: &[
            ("ring_shift", FAR, &[1, 2], &[NO_SC0]),
            ("stage", FAR, &[1, 2], &[NO_SC0]),
            ("ship", FAR, &[1, 2], &[NO_SC0]),
            ("alltoall", FAR_V, &[2, 3], &[NO_SC0]),
        ],
    },
    Reason {
        why: "The first look never finds so long a queue drained; the second one, in the loop, is killed.",
        lenient: false,
        of: &[("full", FAR, &[1], &[NO_SC0])],
    },
    Reason {
        why: "Nothing behind the signal's wait reads what arrived. Killed in `ring_shift`.",
        lenient: false,
        of: &[
            ("alltoall", FAR_V, &[4, 5], &[NO_SC0]),
            ("signals", FAR_V, &[1, 2], &[NO_SC0]),
            ("alltoall", "buffer_inv sc0 sc1", &[0], &[REMOVED, NO_SC0, NO_SC1, NO_SCOPE]),
        ],
    },
    Reason {
        why: "Two barriers, with a wait each, of which one would do: `sync cta`, and the copy's own. Both less is killed.",
        lenient: false,
        of: &[
            ("stage", MEMORY_WAIT, &[1, 2], &[NO_VM, BEFORE_BARRIER]),
            ("stage", "s_barrier", &[0, 1], &[REMOVED]),
            ("stage", "s_barrier", &[0], &["swapped with the next, s_waitcnt vmcnt(0)"]),
            ("fetch", "s_barrier", &[0, 1], &[REMOVED]),
            ("fetch", "s_barrier", &[1], &["swapped with the next, global_load_dwordx2 v, v, s"]),
        ],
    },
    Reason {
        why: "The write-back is waited for with the ring's packets, too, before the doorbell.",
        lenient: false,
        of: &[
            ("stage", "buffer_wbl2 sc0 sc1", &[0], &["swapped with the next, s_waitcnt vmcnt(0)"]),
            ("stage", MEMORY_WAIT, &[3], &[NO_VM]),
            ("stage", MEMORY_WAIT, &[2], &["without vmcnt, and the next one, too"]),
        ],
    },
    Reason {
        why: "The poster's invalidate, behind its wait, is for the first-level cache of the whole workgroup.",
        lenient: false,
        of: &[("fetch", "s_barrier", &[0], &["swapped with the next, buffer_inv sc0 sc1"])],
    },
    Reason {
        why: "The barrier says that the source of the put may be used again, and nobody uses it; the next one is there anyway.",
        lenient: false,
        of: &[
            ("stage", "s_barrier", &[2], &[REMOVED]),
            ("stage", "s_barrier", &[1], &["removed, and the next one, too"]),
        ],
    },
    Reason {
        why: "No access to memory is in flight there: every load has been waited for where its value was used.",
        lenient: false,
        of: &[
            ("fetch", "buffer_inv sc0 sc1", &[0], &["swapped with the next, s_waitcnt vmcnt(0)"]),
            ("fetch", MEMORY_WAIT, &[5], &[NO_VM, BEFORE_BARRIER]),
            ("stage", MEMORY_WAIT, &[11], &[NO_VM, BEFORE_BARRIER]),
            ("full", MEMORY_WAIT, &[5], &[NO_VM, "swapped with the next, buffer_inv sc0 sc1"]),
        ],
    },
    Reason {
        why: "LLVM's wait before a barrier, for LDS: there is none in flight, and scalar loads are waited for before their use.",
        lenient: false,
        of: &[("stage", LDS_WAIT, &[10], &[NO_LGKM, BEFORE_BARRIER]), ("ring_shift", LDS_WAIT, &[9], &[NO_LGKM])],
    },
    Reason {
        why: "LLVM waits where paths meet, for a path that has not waited: the one around the first lane's part, which no wave \
              takes, or that of a chunk without bytes.",
        lenient: false,
        of: &[
            ("full", LDS_WAIT, &[4], &[NO_LGKM, "swapped with the next, global_load_dwordx2 v, v, s offset:48 sc1"]),
            ("ship", LDS_WAIT, &[6], &[NO_LGKM, NO_LGKM_TWICE, "swapped with the next, global_store_dwordx4 v, v, s"]),
        ],
    },
    Reason {
        why: "The wait is for what came before; a load that issues before it is waited for, too, which is no harm.",
        lenient: false,
        of: &[
            ("ship", LDS_WAIT, &[9], &["swapped with the next, global_load_dwordx2 v, v, s sc1"]),
            ("alltoall", MEMORY_WAIT, &[2], &["swapped with the next, global_load_dwordx2 v, v, off offset:48 sc1"]),
            (
                "signals",
                "s_waitcnt vmcnt(1)",
                &[0],
                &["swapped with the next, global_load_dwordx2 v, v, off offset:48 sc1"],
            ),
        ],
    },
    Reason {
        why: "Each lane reads back from LDS what it wrote itself, and LDS keeps a wave's accesses in order.",
        lenient: false,
        of: &[
            ("gmem_smem", LDS_WAIT, &[1], &[NO_LGKM, BEFORE_BARRIER]),
            ("gmem_smem", "s_barrier", &[0], &[REMOVED]),
            ("reg_roundtrip", LDS_WAIT, &[1], &[NO_LGKM]),
        ],
    },
    Reason {
        why: "The barrier orders LDS; of global memory each lane has its own bytes.",
        lenient: false,
        of: &[
            ("rounds", "global_store_dword v, v, off", &[0, 1], &[BEFORE_BARRIER]),
            ("rounds", "s_barrier", &[1], &["swapped with the next, global_load_dword v, v, off offset:2048"]),
            ("rounds", "s_barrier", &[3], &["swapped with the next, global_load_dword v, v, off"]),
        ],
    },
    Reason {
        why: "The last barrier: no round follows that would write the tile.",
        lenient: false,
        of: &[("rounds", "s_barrier", &[5], &[REMOVED])],
    },
];

/// Kernel, instructions of the kinds that are mutated which no seed reaches, and why.
pub(crate) const UNREACHED: &[(&str, usize, &str)] = &[
    ("ship", 2, "a chunk without bytes"),
    ("alltoall", 36, "slices without bytes: their notify is the post of `signals`"),
];
