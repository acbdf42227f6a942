//! Copies that `after` holds back and copies to two destinations: what carries them, and what is refused.

use tilewright::{Options, compile_text};
use tilewright_testing::{check_copy_matches_reference, compile, show};

const RING: &str = "let next = (me + 1) % comm.lsa_size; let prev = (me + comm.lsa_size - 1) % comm.lsa_size;";

/// A kernel of 64 threads with this body; flags are zero, which they wait for.
fn kernel(body: &str) -> String {
    format!(
        "kernel k(comm: devcomm, a: window<f32>[64], b: window<f32>[64] align 32, c: window<f32>[64] align 32, d: window<f32>[64],
                  flag: window<u32>[64], wide: window<u64>[64])
            launch(grid = [1], block = [64])
        {{ signal s; signal u; {RING} {body} }}
        run k {{ ranks = 4; a = random(seed = 1); flag = 0; wide = 0; }}"
    )
}

/// The lowered text of a kernel that is right on every executor.
fn lowered(body: &str) -> String {
    show::lowered(&check_copy_matches_reference(&kernel(body), "gfx950", &Options::default()))
}

fn errors(body: &str, target: &str) -> String {
    let target = tilewright::target(target).expect("known");
    let all = compile_text(&kernel(body), target, &Options::default()).expect_err("it is wrong");
    all.iter().map(|d| format!("{} {} {}\n", d.code, d.message, d.help.join(" "))).collect()
}

#[test]
fn a_flag_and_the_copy_are_one_post() {
    for (scope, copy) in
        [("cta", "b@next <- a"), ("warp", "b@next <- a"), ("thread", "b@next[thread.x] <- a[thread.x]")]
    {
        let at = if scope == "thread" { "thread.x" } else { "3" };
        let text = lowered(&format!("copy {copy} by {scope}, after flag[{at}] == 0;"));
        assert_eq!(text.matches("sdma.post_wait_mem_put_ptr(").count(), 1, "{scope}: {text}");
        assert!(!text.contains("mem.wait_eq") && !text.contains("sdma.put("), "{scope}: {text}");
        assert!(text.contains("fence.acquire(scope = system)"), "what the flag told of may be read: {text}");
    }
    let text = lowered("copy b <- a@next by cta, after flag[0] == 0;");
    assert!(text.contains("sdma.post_wait_mem_put_ptr("), "a get, too: {text}");
}

#[test]
fn lanes_that_share_a_rank_notify_it_once() {
    let each = "copy b@next[thread.x] <- a[thread.x] by thread, notify s, after flag[thread.x] == 0; wait s from prev;";
    let text = lowered(each);
    assert!(text.contains("sdma.post_wait_mem(") && text.contains("sdma.put("), "{text}");
    let apart = "if thread.x < comm.lsa_size {
            copy b@lsa(thread.x)[me] <- a[thread.x] by thread, notify s, after flag[thread.x] == 0;
            wait s from lsa(thread.x) by thread;
        }";
    let text = lowered(apart);
    assert!(text.contains("sdma.post_wait_mem_put_ptr(") && text.contains("remote_signal = true"), "{text}");
}

#[test]
fn queues_that_wait_are_kept_apart() {
    // `s` is on queue 0, `u` on queue 1: what is held by neither goes to queue 2, plain copies to one that nothing parks.
    let text = lowered("copy b@next <- a by cta, after flag[0] == 0; copy c@next <- a by cta;");
    assert!(text.contains("queue = 2)") && text.contains("queue = 0"), "{text}");
    let text =
        lowered("copy b@next <- a by cta, notify s, after flag[0] == 0; copy c@next <- a by cta; wait s from prev;");
    let plain = text.lines().find(|l| l.contains("sdma.put(")).expect("a put");
    assert!(plain.contains("queue = 1"), "{text}");
}

#[test]
fn a_signal_shared_with_a_held_copy_is_warned_of() {
    let warned = |first: &str, second: &str| {
        let body = format!(
            "copy b@next <- a by cta, notify {first}, after flag[0] == 0; copy c@next <- a by cta, notify {second}; wait s from prev;"
        );
        let compiled = compile(&kernel(&body), "gfx950", &Options::default());
        compiled.warnings.iter().any(|d| d.message.contains("stuck behind a held one"))
    };
    assert!(warned("s", "s"));
    assert!(!warned("u", "s") && !warned("s", "u"));
}

#[test]
fn threads_wait_where_an_engine_cannot() {
    for (body, why) in [
        ("copy b@next <- a by cta, after wide[0] == 0;", "`wide` is u64, an engine compares 32 bits"),
        (
            "fill flag[0..1] <- 0 by cta; sync cta; copy b@next <- a by cta, after flag[0] == 0;",
            "this kernel stores to `flag`",
        ),
        (
            "signal s2; signal s3; signal s4; signal s5; signal s6; signal s7; copy b@next <- a by cta, after flag[0] == 0;",
            "all queues of the peer belong to signals",
        ),
    ] {
        let text = lowered(body);
        assert!(text.contains("mem.wait_eq(") && text.contains("sdma.put("), "{text}");
        let compiled = compile(&kernel(body), "gfx950", &Options::default());
        let notes = format!("{:?}", compiled.report);
        assert!(notes.contains(why), "{why}: {notes}");
        // Nobody can wait for an asynchronous copy but an engine.
        let later = body.replace("copy b@next", "t = copy_async b@next") + " wait t;";
        let said = errors(&later, "gfx950");
        assert!(said.contains("TW0029") && said.contains(why), "{said}");
    }
    let said = errors("t = copy_async d <- c by cta, after flag[0] == 0; wait t;", "gfx950");
    assert!(said.contains("TW0029") && said.contains("`gmem_smem` carries this copy"), "{said}");
}

#[test]
fn a_signal_holds_copies_of_every_scope() {
    let first = "copy b@next <- a by cta, notify s;";
    for held in [
        "t = copy_async c@next <- b by cta, notify u, after s from prev; wait u from prev; wait t;",
        "copy c@next <- b by cta, notify u, after s from prev; wait u from prev;",
        "copy c@next[thread.x] <- b[thread.x] by thread, notify u, after s from prev; wait u from prev;",
    ] {
        let text = lowered(&format!("{first} {held}"));
        assert!(text.contains("sdma.post_wait_signal("), "{text}");
        assert!(text.contains("s_base![index(prev)]"), "running totals: {text}");
    }
    // Copies by threads are held back by threads.
    let text = lowered(&format!("{first} copy d <- b by cta, after s from prev;"));
    assert!(text.contains("sdma.wait_signal(") && !text.contains("post_wait_signal"), "{text}");
}

#[test]
fn a_broadcast_is_taken_when_asked_for_or_faster() {
    let asked = "copy b@next, c@me <- a by cta, notify s, variant = \"sdma_broadcast\"; wait s from prev;";
    let text = lowered(asked);
    assert_eq!(text.matches("sdma.put_broadcast(").count(), 1, "{text}");
    assert!(text.contains("local_signal = true, remote_signal = true"), "{text}");
    // Run time alone says whether `next` is this rank.
    let remote = "copy b@next, c@prev <- a by cta, notify s, variant = \"sdma_broadcast\"; wait s from prev;";
    assert_eq!(lowered(remote).matches("sdma.put_broadcast(").count(), 2);
    let text = lowered("copy b@me, c@me <- a by cta, notify s; wait s from me;");
    assert!(text.contains("sdma.put_broadcast("), "both destinations are here, which is faster: {text}");
    let text = lowered("copy b@next, c@me <- a by cta;");
    assert!(!text.contains("sdma.put_broadcast("), "{text}");
    let report =
        format!("{:?}", compile(&kernel("copy b@next, c@me <- a by cta;"), "gfx950", &Options::default()).report);
    assert!(report.contains("sdma_broadcast") && report.contains("one copy each"), "{report}");
}

#[test]
fn a_broadcast_that_would_be_wrong_is_refused() {
    let forced = |copy: &str| errors(&format!("{copy}, variant = \"sdma_broadcast\";"), "gfx950");
    for (copy, why) in [
        ("copy b@next, d@me <- a by cta", "base of `d`"),
        ("copy b@next[0..32], c@me[4..36] <- a[0..32] by cta", "distance of `b` and `c`"),
        ("copy b@next[thread.x], c@me[thread.x] <- a[thread.x] by thread, notify s", "once a wave"),
        ("copy b@next <- a by cta, notify s; copy c@next, c@prev <- a by cta, notify s", "notified by another copy"),
        ("copy b@next, c@me <- a by cta, after flag[0] == 0", "held back"),
    ] {
        let said = forced(copy);
        assert!(said.contains(why), "{why}: {said}");
    }
    let single = forced("copy b@next <- a by cta");
    assert!(single.contains("it carries 2 destinations at once"), "{single}");
}

#[test]
fn overlaps_are_seen_whatever_this_rank_is_called() {
    for rank in ["@me", "@comm.lsa_rank", ""] {
        for variant in ["", ", variant = \"sdma_put\""] {
            let said = errors(&format!("copy b{rank}[1..33] <- b[0..32] by cta, notify s{variant};"), "gfx950");
            let refused = said.contains("TW0043") || rank.is_empty() && said.contains("TW0021");
            assert!(refused, "{rank}{variant}: {said}");
        }
    }
}

#[test]
fn flags_that_threads_may_have_stored_are_not_the_engines_to_poll() {
    let text = "copy flag@me[0..1] <- flag[1..2] by cta, variant = \"peer_ldst\", carry = any; copy b@next <- a by cta, after flag[0] == 0;";
    assert!(lowered(text).contains("mem.wait_eq("));
}

#[test]
fn a_signed_flag_may_be_negative() {
    let body = "copy b@next <- a by cta, after low[0] == -2;";
    let text = kernel(body)
        .replace("flag: window<u32>[64]", "flag: window<u32>[64], low: window<i32>[1]")
        .replace("flag = 0;", "flag = 0; low = -2;");
    let text = show::lowered(&check_copy_matches_reference(&text, "gfx950", &Options::default()));
    assert!(text.contains("sdma.post_wait_mem_put_ptr(") && text.contains("4294967294"), "{text}");
}

#[test]
fn other_nodes_are_refused_with_the_way_to_them() {
    let said = errors("let far = comm.rank; copy b@far <- a by cta;", "gfx950");
    assert!(said.contains("TW0020") && said.contains("cross-node goes through GDA"), "{said}");
}
