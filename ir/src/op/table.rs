//! The neutral primitive ops, one row each.
//!
//! Units: `n` and flat indices are in elements of the buffer they belong to; `bytes` in bytes. "Active" means the
//! threads that reach the op.
//!
//! The `sdma.*` ops are the calls of mori's `ccoSdma`. Each of those that name a queue has it as the attribute `queue`, or as
//! one more operand behind the others. A number that is written down is checked at launch (the communicator must have that
//! many queues); one that is computed and that the communicator does not have makes the op do nothing, as in mori.

use super::{ArgKind, AttrKind, AttrRow, OpRow, Order};

const fn attr(name: &'static str, kind: AttrKind) -> AttrRow {
    AttrRow { name, kind, required: false }
}

const fn required(name: &'static str, kind: AttrKind) -> AttrRow {
    AttrRow { name, kind, required: true }
}

const SCOPES: AttrKind = AttrKind::Sym(&["cta", "warp", "warpgroup"]);
const FENCES: AttrKind = AttrKind::Sym(&["system", "agent", "cta", "warp"]);
const COOP: AttrKind = AttrKind::Sym(&["thread", "warp", "block"]);
const MODE: AttrKind = AttrKind::Sym(&["independent", "same_queue"]);
const QUEUE: AttrKind = AttrKind::Int(0, 7); // hardware cap of 8 queues a peer: seed 001, "Turning it on"

/// Comparisons of a wait that an engine does, mori's `ccoSdmaCmp*`; the first is mori's default.
const COMPARE: AttrKind = AttrKind::Sym(&["eq", "always", "lt", "le", "ne", "ge", "gt"]);
/// Only 32 bits are compared: seed 001, "postWaitMem".
const MASK: AttrKind = AttrKind::Int(0, u32::MAX as i64);

/// The queue, where it is no attribute.
const QUEUE_OPERAND: Option<(ArgKind, usize)> = Some((ArgKind::Int, 1));

/// Attributes of `sdma.put` and `sdma.get`, as mori's template arguments.
const POST: &[AttrRow] = &[
    attr("queue", QUEUE),
    attr("coop", COOP),
    attr("mode", MODE),
    attr("local_signal", AttrKind::Bool),
    attr("remote_signal", AttrKind::Bool),
    attr("aggregate", AttrKind::Bool),
    attr("signal_per_copy", AttrKind::Bool),
];

/// Every neutral op, by name.
pub const OPS: &[OpRow] = &[
    OpRow {
        name: "barrier",
        args: &[],
        rest: None,
        attrs: &[required("scope", SCOPES)],
        result: None,
        order: Order::Barrier,
        warp_collective: true,
        doc: "All threads of the scope meet; what each wrote before to shared and device memory is visible to all after.",
    },
    OpRow {
        name: "fence.acquire",
        args: &[],
        rest: None,
        attrs: &[required("scope", FENCES)],
        result: None,
        order: Order::Fence,
        warp_collective: false,
        doc: "Accesses after it see what was released to a flag read before it.",
    },
    OpRow {
        name: "fence.release",
        args: &[],
        rest: None,
        attrs: &[required("scope", FENCES)],
        result: None,
        order: Order::Fence,
        warp_collective: false,
        doc: "Accesses before it are visible to the scope before any access after it.",
    },
    OpRow {
        name: "mem.wait_eq",
        args: &[ArgKind::Read, ArgKind::Value],
        rest: None,
        attrs: &[],
        result: None,
        order: Order::Wait,
        warp_collective: false,
        doc: "Each active thread polls a 32- or 64-bit element in device memory with system scope until it equals the value; acquires.",
    },
    OpRow {
        name: "nv.ldmatrix",
        args: &[ArgKind::Read, ArgKind::Write],
        rest: Some((ArgKind::Write, 3)),
        attrs: &[required("num", AttrKind::Int(1, 4)), required("trans", AttrKind::Bool)],
        result: None,
        order: Order::None,
        warp_collective: true,
        doc: "Loads `num` (1, 2, 4) 8x8 matrices of 16-bit elements from shared memory: lanes 8i..8i+8 each give the address of \
              one 16-byte row of matrix i; lane l receives elements 2*(l%4), 2*(l%4)+1 of row l/4 of matrix i (with `trans`: of \
              column l/4) as the two elements at the i-th destination.",
    },
    OpRow {
        name: "nv.stmatrix",
        args: &[ArgKind::Write, ArgKind::Read],
        rest: Some((ArgKind::Read, 3)),
        attrs: &[required("num", AttrKind::Int(1, 4)), required("trans", AttrKind::Bool)],
        result: None,
        order: Order::None,
        warp_collective: true,
        doc: "Stores `num` 8x8 matrices of 16-bit elements to shared memory: the inverse of nv.ldmatrix.",
    },
    OpRow {
        name: "sdma.commit",
        args: &[ArgKind::Rank],
        rest: QUEUE_OPERAND,
        attrs: &[attr("queue", QUEUE), attr("coop", COOP)],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "Rings the doorbell of one queue towards a peer for ops posted with `aggregate`; coop = thread: of each \
              distinct queue of the active lanes, coop = warp, block: by the scope's first thread. Two waves must not \
              commit one queue at once.",
    },
    OpRow {
        name: "sdma.commit_all",
        args: &[ArgKind::Rank],
        rest: None,
        attrs: &[required("coop", AttrKind::Sym(&["warp", "block"]))],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "What mori's commit does at warp and block scope: thread n of the scope, if it is active, rings queue n \
              towards its peer, for every queue that the communicator has.",
    },
    OpRow {
        name: "sdma.get",
        args: &[ArgKind::EngineWrite, ArgKind::EngineRead, ArgKind::Rank, ArgKind::Int],
        rest: QUEUE_OPERAND,
        attrs: POST,
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "Posts a copy of `bytes` (4th operand) from a peer's window (2nd, with @peer) to this rank's (1st), on the \
              queue towards the peer (3rd). Posts what mori's ccoSdma::get posts, adds no fence; zero bytes post \
              nothing.",
    },
    OpRow {
        name: "sdma.post_wait_mem",
        args: &[ArgKind::EngineReadPtr, ArgKind::Int, ArgKind::Rank],
        rest: QUEUE_OPERAND,
        attrs: &[
            attr("queue", QUEUE),
            attr("coop", COOP),
            attr("aggregate", AttrKind::Bool),
            attr("cmp", COMPARE),
            attr("mask", MASK),
        ],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "Posts a wait: what is posted to the queue towards the peer (3rd operand) behind it runs only once `flag & \
              mask` `cmp` value (2nd) holds. The flag (1st) is a 32- or 64-bit element of this rank's memory, of which \
              the low 32 bits are compared, unsigned; `mask` is all ones if absent. coop = thread: each active lane \
              posts its own, one lane after the other; otherwise the scope's first thread posts.",
    },
    OpRow {
        name: "sdma.post_wait_mem_put_ptr",
        args: &[
            ArgKind::EngineReadPtr,
            ArgKind::Int,
            ArgKind::EngineWritePtr,
            ArgKind::EngineReadPtr,
            ArgKind::Rank,
            ArgKind::Int,
        ],
        rest: QUEUE_OPERAND,
        attrs: &[
            attr("queue", QUEUE),
            attr("cmp", COMPARE),
            attr("mask", MASK),
            attr("local_signal", AttrKind::Bool),
            attr("remote_signal", AttrKind::Bool),
        ],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "sdma.post_wait_mem (flag, value: 1st and 2nd operand) and sdma.put_ptr (destination, source, peer, bytes) \
              in one reservation with one doorbell, for each active lane; lanes with distinct queues post in parallel, \
              and each has signals of its own. Zero bytes post the wait and the signals, and nothing without a signal.",
    },
    OpRow {
        name: "sdma.post_wait_signal",
        args: &[ArgKind::Rank, ArgKind::Int, ArgKind::Rank],
        rest: Some((ArgKind::Int, 2)),
        attrs: &[
            attr("queue", QUEUE),
            attr("signal_queue", QUEUE),
            attr("coop", COOP),
            attr("aggregate", AttrKind::Bool),
        ],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "As sdma.post_wait_mem on a signal slot: until the signals of a source rank (1st operand) on queue id \
              `signal_queue` are at least the 2nd operand, of which 32 bits are compared. `signal_queue` is the last \
              operand if it is no attribute.",
    },
    OpRow {
        name: "sdma.put",
        args: &[ArgKind::EngineWrite, ArgKind::EngineRead, ArgKind::Rank, ArgKind::Int],
        rest: QUEUE_OPERAND,
        attrs: POST,
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "Posts a copy of `bytes` (4th operand) from this rank's window (2nd) to the peer's (1st, with @peer), on \
              the queue towards the peer (3rd). coop = thread: each active lane posts its own; one group (and one \
              signal) per wave and queue. coop = warp, block: the scope's first thread posts. Posts what mori's \
              ccoSdma::put posts, adds no fence; zero bytes post nothing, signals included.",
    },
    OpRow {
        name: "sdma.put_broadcast",
        args: &[
            ArgKind::EngineWrite,
            ArgKind::EngineWrite,
            ArgKind::EngineRead,
            ArgKind::Rank,
            ArgKind::Rank,
            ArgKind::Int,
        ],
        rest: QUEUE_OPERAND,
        attrs: &[
            attr("queue", QUEUE),
            attr("coop", COOP),
            attr("local_signal", AttrKind::Bool),
            attr("remote_signal", AttrKind::Bool),
            attr("aggregate", AttrKind::Bool),
        ],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "Posts one copy of `bytes` (6th operand) from this rank's window (3rd) to two destinations (1st and 2nd) \
              of two ranks (4th, which selects the queue, and 5th, which may be this rank). The two addresses must \
              agree in their low five bits. `remote_signal` adds one at each distinct destination rank other than this \
              one. coop = thread: one active lane after the other.",
    },
    OpRow {
        name: "sdma.put_ptr",
        args: &[ArgKind::EngineWritePtr, ArgKind::EngineReadPtr, ArgKind::Rank, ArgKind::Int],
        rest: QUEUE_OPERAND,
        attrs: POST,
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "sdma.put with places in any device memory: the destination is the peer's memory as it is mapped here.",
    },
    OpRow {
        name: "sdma.quiet",
        args: &[ArgKind::Rank],
        rest: None,
        attrs: &[attr("coop", COOP)],
        result: None,
        order: Order::Wait,
        warp_collective: false,
        doc: "Waits until every queue towards a peer has drained to its last rung packet. coop = warp, block: thread n \
              of the scope polls queue n, then the scope meets.",
    },
    OpRow {
        name: "sdma.quiet_queue",
        args: &[ArgKind::Rank],
        rest: QUEUE_OPERAND,
        attrs: &[attr("queue", QUEUE), attr("coop", COOP)],
        result: None,
        order: Order::Wait,
        warp_collective: false,
        doc: "Waits until the queue towards a peer has drained to its last rung packet. coop = warp, block: the first \
              thread polls, then the scope meets.",
    },
    OpRow {
        name: "sdma.signal",
        args: &[ArgKind::Rank],
        rest: QUEUE_OPERAND,
        attrs: &[attr("queue", QUEUE), attr("coop", COOP), attr("mode", MODE)],
        result: None,
        order: Order::Post,
        warp_collective: false,
        doc: "Posts the bare atomic that adds one to this rank's slot of the peer's signals: what `notify` of a copy of \
              zero bytes is. One per group, as for sdma.put.",
    },
    OpRow {
        name: "sdma.wait_signal",
        args: &[ArgKind::Rank, ArgKind::Int],
        rest: QUEUE_OPERAND,
        attrs: &[attr("queue", QUEUE)],
        result: None,
        order: Order::Wait,
        warp_collective: false,
        doc: "Each active thread polls the signal slot of a source rank with system scope until its value is at least \
              the 2nd operand, unsigned. Adds no fence.",
    },
    OpRow {
        name: "vec.copy",
        args: &[ArgKind::Write, ArgKind::Read],
        rest: None,
        attrs: &[required("n", AttrKind::Int(1, 256)), attr("align", AttrKind::Int(1, 256))],
        result: None,
        order: Order::None,
        warp_collective: false,
        doc: "Moves `n` consecutive elements as one access of n * bits (8, 16, 32, 64 or 128 bits). Memory operands are \
              aligned to `align` bytes, the access's width if absent.",
    },
];
