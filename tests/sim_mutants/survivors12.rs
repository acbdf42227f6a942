//! The mutants of gfx1250 that may live, by the reason why.
//!
//! What must hold: see [`survivors`](super::survivors).

use super::survivors::Reason;

// The instructions of a post, in the order of the code.
/// The reservation.
const RESERVE: &str = "global_atomic_add_u64 v, v, v, s th:TH_ATOMIC_RETURN scope:SCOPE_DEV";
/// The read position that posters last saw.
const SEEN: &str = "global_load_b64 v, v, s offset:48 scope:SCOPE_DEV";
const SET_SEEN: &str = "global_store_b64 v, v, s offset:48 scope:SCOPE_DEV";
/// Loads of the engine's read pointer for room (0), and where the queue drains (1, 2); signals.
const FAR: &str = "global_load_b64 v, v, s scope:SCOPE_SYS";
/// The ring's packets, in halves of 16 bytes.
const PACKET: &str = "global_store_b128 v, v, s";
const PACKET_REST: &str = "global_store_b128 v, v, s offset:16";
/// Behind the packets (0), and before the write pointer (1).
const WRITE_BACK: &str = "global_wb scope:SCOPE_DEV";
/// Loads of the committed pointer: before the post's turn (0), and where it drains.
const COMMITTED: &str = "global_load_b64 v, v, s scope:SCOPE_DEV";
/// Stores of the write pointer (0) and the committed pointer (1).
const POINTER: &str = "global_store_b64 v, v, s scope:SCOPE_DEV";
const DOORBELL: &str = "global_store_b64 v, v, s scope:SCOPE_SYS";
const STORES: &str = "s_wait_storecnt 0x0";
const LOADS: &str = "s_wait_loadcnt 0x0";
const LDS: &str = "s_wait_dscnt 0x0";
const TRANSLATED: &str = "s_wait_xcnt 0x0";
const SIGNAL: &str = "s_barrier_signal -1";
const MEET: &str = "s_barrier_wait 0xffff";

const REMOVED: &str = "removed";
const BOTH_HALVES: &str = "removed with its wait";
const AT_CU: &str = "at SCOPE_CU";
const AT_DEV: &str = "at SCOPE_DEV";
const NO_STORES: &str = "without storecnt";
const NO_STORES_TWICE: &str = "without storecnt, and the next one, too";
const NO_LOADS: &str = "without loadcnt";
const NO_LOADS_TWICE: &str = "without loadcnt, and the next one, too";
const NO_XCNT: &str = "without xcnt";
const NO_XCNT_TWICE: &str = "without xcnt, and the next one, too";
const BEFORE_STORES: &str = "swapped with the next, s_wait_storecnt 0x0";
const BEFORE_LOADS: &str = "swapped with the next, s_wait_loadcnt 0x0";
const BEFORE_TRANSLATED: &str = "swapped with the next, s_wait_xcnt 0x0";
const BEFORE_SIGNAL: &str = "swapped with the next, s_barrier_signal -1";
const BEFORE_POINTER: &str = "swapped with the next, global_store_b64 v, v, s scope:SCOPE_DEV";
const BEFORE_DOORBELL: &str = "swapped with the next, global_store_b64 v, v, s scope:SCOPE_SYS";
const BEFORE_OTHER_POINTER: &str = "swapped with the next store, global_store_b64 v, v, s scope:SCOPE_DEV";
const BEFORE_SCALARS: &str = "swapped with the next, s_wait_kmcnt 0x0";
const BEFORE_WRITE_BACK: &str = "swapped with the next, global_wb scope:SCOPE_DEV";
const PAST_PACKET: &str = "swapped with the next store, global_store_b128 v, v, s";
const PAST_PACKET_REST: &str = "swapped with the next store, global_store_b128 v, v, s offset:16";

/// See the head of this file.
pub(crate) const REASONS: &[Reason] = &[
    Reason {
        why: "Each lane reads back from LDS what it wrote itself, and LDS keeps a wave's accesses in order.",
        lenient: false,
        of: &[
            ("gmem_smem", LDS, &[0], &["without dscnt", BEFORE_SIGNAL]),
            ("gmem_smem", SIGNAL, &[0], &[BOTH_HALVES]),
            ("gmem_smem", MEET, &[0], &[REMOVED]),
        ],
    },
    Reason {
        why: "The barrier orders LDS; of global memory each lane has its own bytes.",
        lenient: false,
        of: &[
            ("rounds", "global_store_b32 v, v, off", &[0], &[BEFORE_STORES]),
            ("rounds", STORES, &[0, 1], &[NO_STORES, BEFORE_SIGNAL, NO_STORES_TWICE]),
            ("rounds", MEET, &[1], &["swapped with the next, global_load_b32 v, v, off offset:2048"]),
            ("rounds", "global_store_b32 v, v, off offset:2048", &[0], &[BEFORE_STORES]),
            ("rounds", MEET, &[3], &["swapped with the next, global_load_b32 v, v, off offset:4096"]),
            ("rounds", "global_store_b32 v, v, off offset:4096", &[0], &[BEFORE_STORES]),
            ("rounds", STORES, &[2], &[NO_STORES, BEFORE_SIGNAL]),
        ],
    },
    Reason {
        why: "The last barrier: no round follows that would write the tile.",
        lenient: false,
        of: &[("rounds", SIGNAL, &[5], &[BOTH_HALVES]), ("rounds", MEET, &[5], &[REMOVED])],
    },
    Reason {
        why: "Two barriers, with a wait each, of which one would do: `sync cta`, and the copy's own.",
        lenient: false,
        of: &[
            ("stage", STORES, &[0, 1], &[NO_STORES, BEFORE_SIGNAL]),
            ("stage", SIGNAL, &[0, 1], &[BOTH_HALVES]),
            ("stage", MEET, &[0], &[BEFORE_LOADS]),
            ("fetch", SIGNAL, &[0, 1], &[BOTH_HALVES]),
            ("fetch", MEET, &[1], &[REMOVED, "swapped with the next, global_load_b64 v, v, s scale_offset"]),
        ],
    },
    Reason {
        why: "The barrier, or the fence, says that what came before is done, and nobody uses it behind: no \
              source is written again, and what arrives is read behind a signal.",
        lenient: false,
        of: &[
            ("ring_shift", STORES, &[4], &[NO_STORES, BEFORE_SIGNAL, NO_STORES_TWICE]),
            ("ring_shift", SIGNAL, &[0], &[BOTH_HALVES]),
            ("stage", STORES, &[7], &[NO_STORES, BEFORE_SIGNAL, NO_STORES_TWICE]),
            ("stage", SIGNAL, &[2], &[BOTH_HALVES]),
            ("fetch", STORES, &[4], &[NO_STORES, BEFORE_SIGNAL, NO_STORES_TWICE]),
            ("crowd32", STORES, &[4], &[NO_STORES, "swapped with the next, global_inv scope:SCOPE_SYS"]),
        ],
    },
    Reason {
        why: "Nothing that the counter counts is in flight there: every load has been waited for where its value \
              was used, `global_inv` acts at once, and stores come later.",
        lenient: false,
        of: &[
            ("ring_shift", LOADS, &[7], &[NO_LOADS, BEFORE_STORES]),
            ("ring_shift", STORES, &[5], &[NO_STORES, BEFORE_SIGNAL]),
            ("stage", LOADS, &[1, 2], &[NO_LOADS, BEFORE_STORES, NO_LOADS_TWICE]),
            ("stage", "global_wb scope:SCOPE_SYS", &[0], &[BEFORE_LOADS]),
            ("stage", LOADS, &[3, 11], &[NO_LOADS, BEFORE_STORES]),
            ("stage", STORES, &[8], &[NO_STORES, BEFORE_SIGNAL]),
            ("fetch", "global_inv scope:SCOPE_SYS", &[0], &[BEFORE_LOADS]),
            ("fetch", LOADS, &[5], &[NO_LOADS, BEFORE_STORES]),
            ("fetch", STORES, &[5], &[NO_STORES, BEFORE_SIGNAL]),
        ],
    },
    Reason {
        why: "The write-back is waited for with the ring's packets, too, before the doorbell.",
        lenient: false,
        of: &[("stage", STORES, &[2], &[NO_STORES, NO_STORES_TWICE]), ("stage", STORES, &[1], &[NO_STORES_TWICE])],
    },
    Reason {
        why: "The ring is written back twice, behind its stores and before the write pointer, and waited for a \
              third time before the doorbell, which is what engines act on. Both write-backs less is killed, and so is \
              the last wait.",
        lenient: false,
        of: &[
            ("ring_shift", PACKET_REST, &[1], &[BEFORE_WRITE_BACK]),
            ("ring_shift", WRITE_BACK, &[0, 1], &[REMOVED, AT_CU, BEFORE_STORES]),
            ("ring_shift", STORES, &[0], &[NO_STORES, "swapped with the next, s_wait_xcnt 0x2", NO_STORES_TWICE]),
            ("ring_shift", STORES, &[1], &[NO_STORES, BEFORE_SCALARS]),
            ("stage", PACKET_REST, &[1], &[BEFORE_WRITE_BACK]),
            ("stage", WRITE_BACK, &[0, 1], &[REMOVED, AT_CU, BEFORE_STORES]),
            ("stage", STORES, &[3], &[NO_STORES, NO_STORES_TWICE]),
            ("stage", STORES, &[4], &[NO_STORES, BEFORE_SCALARS]),
            ("fetch", PACKET_REST, &[0], &[BEFORE_WRITE_BACK]),
            ("fetch", WRITE_BACK, &[0, 1], &[REMOVED, AT_CU, BEFORE_STORES]),
            ("fetch", STORES, &[0], &[NO_STORES, BEFORE_TRANSLATED, NO_STORES_TWICE]),
            ("fetch", STORES, &[1], &[NO_STORES, BEFORE_SCALARS]),
            ("crowd32", PACKET_REST, &[1], &[BEFORE_WRITE_BACK]),
            ("crowd32", WRITE_BACK, &[0, 1], &[REMOVED, AT_CU, BEFORE_STORES]),
            ("crowd32", STORES, &[0], &[NO_STORES, NO_STORES_TWICE]),
            ("crowd32", STORES, &[1], &[NO_STORES, BEFORE_SCALARS]),
        ],
    },
    Reason {
        why: "Two pieces of a packet, published together by the write pointer.",
        lenient: false,
        of: &[
            ("ring_shift", PACKET, &[0], &[PAST_PACKET]),
            ("ring_shift", PACKET, &[1], &[PAST_PACKET_REST]),
            ("stage", PACKET, &[0], &[PAST_PACKET]),
            ("stage", PACKET, &[1], &[PAST_PACKET_REST]),
            ("fetch", PACKET, &[0], &[PAST_PACKET_REST]),
            ("crowd32", PACKET, &[0, 1], &[PAST_PACKET_REST]),
            ("crowd32", PACKET_REST, &[0], &[PAST_PACKET]),
        ],
    },
    Reason {
        why: "Two waits that follow each other, in the other order.",
        lenient: false,
        of: &[
            ("ring_shift", STORES, &[2, 3], &[BEFORE_TRANSLATED]),
            ("stage", STORES, &[5, 6], &[BEFORE_TRANSLATED]),
            ("fetch", STORES, &[2, 3], &[BEFORE_TRANSLATED]),
            ("crowd32", STORES, &[2, 3], &[BEFORE_TRANSLATED]),
            ("crowd32", LOADS, &[5], &[BEFORE_TRANSLATED]),
        ],
    },
    Reason {
        why: "The wait keeps a page fault from making the hardware execute again what came before the store. \
              Addresses always translate here.",
        lenient: true,
        of: &[
            ("ring_shift", TRANSLATED, &[2], &[NO_XCNT, BEFORE_DOORBELL, NO_XCNT_TWICE]),
            ("ring_shift", TRANSLATED, &[3], &[NO_XCNT, BEFORE_POINTER, NO_XCNT_TWICE]),
            ("stage", TRANSLATED, &[3], &[NO_XCNT, BEFORE_DOORBELL, NO_XCNT_TWICE]),
            ("stage", TRANSLATED, &[4], &[NO_XCNT, BEFORE_POINTER, NO_XCNT_TWICE]),
            ("fetch", TRANSLATED, &[3], &[NO_XCNT, BEFORE_DOORBELL, NO_XCNT_TWICE]),
            ("fetch", TRANSLATED, &[4], &[NO_XCNT, BEFORE_POINTER]),
            ("crowd32", TRANSLATED, &[1], &[NO_XCNT, BEFORE_DOORBELL, NO_XCNT_TWICE]),
            ("crowd32", TRANSLATED, &[2], &[NO_XCNT, BEFORE_POINTER, NO_XCNT_TWICE]),
        ],
    },
    Reason {
        why: "What has returned was translated: the wait for its own counter came first. LLVM counts the two \
              apart.",
        lenient: false,
        of: &[
            ("ring_shift", "s_wait_xcnt 0x2", &[0], &[NO_XCNT, NO_XCNT_TWICE]),
            ("ring_shift", TRANSLATED, &[4], &[NO_XCNT]),
            ("stage", TRANSLATED, &[5], &[NO_XCNT]),
            ("fetch", TRANSLATED, &[2], &[NO_XCNT, NO_XCNT_TWICE]),
            ("fetch", TRANSLATED, &[6], &[NO_XCNT]),
            ("crowd32", TRANSLATED, &[3, 4], &[NO_XCNT, NO_XCNT_TWICE]),
            ("crowd32", TRANSLATED, &[5], &[NO_XCNT]),
        ],
    },
    Reason {
        why: "One wave posts on each queue: it alone uses the committed pointer and the read position that \
              posters last saw, and their order to the doorbell is between posters. Killed in `crowd32`.",
        lenient: false,
        of: &[
            ("ring_shift", SEEN, &[0], &[AT_CU]),
            ("ring_shift", SET_SEEN, &[0], &[AT_CU]),
            ("ring_shift", COMMITTED, &[0, 1], &[AT_CU]),
            ("ring_shift", DOORBELL, &[0], &[BEFORE_STORES, BEFORE_OTHER_POINTER]),
            ("ring_shift", STORES, &[3], &[NO_STORES, NO_STORES_TWICE]),
            ("ring_shift", POINTER, &[1], &[AT_CU]),
            ("stage", SEEN, &[0], &[AT_CU]),
            ("stage", SET_SEEN, &[0], &[AT_CU]),
            ("stage", COMMITTED, &[0, 1], &[AT_CU]),
            ("stage", DOORBELL, &[0], &[BEFORE_STORES, BEFORE_OTHER_POINTER]),
            ("stage", STORES, &[6], &[NO_STORES, NO_STORES_TWICE]),
            ("stage", POINTER, &[1], &[AT_CU]),
            ("fetch", SEEN, &[0], &[AT_CU]),
            ("fetch", SET_SEEN, &[0], &[AT_CU]),
            ("fetch", COMMITTED, &[0, 1], &[AT_CU]),
            ("fetch", DOORBELL, &[0], &[BEFORE_STORES, BEFORE_OTHER_POINTER]),
            ("fetch", STORES, &[3], &[NO_STORES, NO_STORES_TWICE]),
            ("fetch", POINTER, &[1], &[AT_CU]),
        ],
    },
    Reason {
        why: "What posters last saw only saves them a look at the engine's read pointer.",
        lenient: false,
        of: &[
            ("ring_shift", SET_SEEN, &[0], &[REMOVED]),
            ("stage", SET_SEEN, &[0], &[REMOVED]),
            ("fetch", SET_SEEN, &[0], &[REMOVED]),
            ("crowd32", SET_SEEN, &[0], &[REMOVED]),
        ],
    },
    Reason {
        why: "The engine has long been idle when a post looks at its read pointer, and has read none of the \
              ring's bytes that follow. Killed in `full` on gfx950.",
        lenient: false,
        of: &[
            ("ring_shift", FAR, &[0], &[AT_DEV, AT_CU]),
            ("stage", FAR, &[0], &[AT_DEV, AT_CU]),
            ("fetch", FAR, &[0], &[AT_DEV, AT_CU]),
            ("crowd32", FAR, &[0], &[AT_DEV]),
        ],
    },
    Reason {
        why: "Nothing behind the drain relies on what the engine did before. Killed in `crowd32` and `fetch`.",
        lenient: false,
        of: &[("ring_shift", FAR, &[1, 2], &[AT_DEV]), ("stage", FAR, &[1, 2], &[AT_DEV])],
    },
    Reason {
        why: "All posters are of one workgroup, and so of one L2, in which the atomic is then performed; engines \
              do not read the counter.",
        lenient: false,
        of: &[
            ("ring_shift", RESERVE, &[0], &[AT_CU]),
            ("stage", RESERVE, &[0], &[AT_CU]),
            ("fetch", RESERVE, &[0], &[AT_CU]),
            ("crowd32", RESERVE, &[0], &[AT_CU]),
        ],
    },
];

/// Kernel, instructions of the kinds that are mutated which no seed reaches, and why.
pub(crate) const UNREACHED: &[(&str, usize, &str)] = &[];
