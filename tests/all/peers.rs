//! Copies between ranks by loads and stores keep what an engine keeps: the threads of the scope meet before and behind.

use tilewright::Options;
use tilewright_testing::{check_copy_matches_reference, show};

fn lowered(copy: &str, target: &str) -> String {
    let text = format!(
        "kernel k(comm: devcomm, a: window<f32>[128], b: window<f32>[128], o: global<f32>[128])
            launch(grid = [1], block = [128])
        {{
            let next = (me + 1) % comm.lsa_size;
            {copy}
            sync cta;
            copy o <- a by cta;
        }}
        run k {{ ranks = 2; a = random(seed = 1); b = random(seed = 2); }}"
    );
    let all = show::lowered(&check_copy_matches_reference(&text, target, &Options::default()));
    all.split("o![").next().unwrap_or_default().to_owned()
}

#[test]
fn threads_meet_around_a_peer_copy() {
    for target in ["gfx950", "sm_90a"] {
        let barriers = |copy: &str| lowered(copy, target).matches("barrier(").count() - 1; // the author's
        assert_eq!(barriers("copy b <- a@next by cta, carry = any, variant = \"peer_ldst\";"), 2, "{target}");
        assert_eq!(barriers("copy b@next <- a by cta, carry = any, variant = \"peer_ldst\";"), 2, "{target}");
        // Nobody can meet where threads are missing, nor is there anything to meet for by thread.
        let some = "if thread.x < 64 { copy b <- a@next by cta, carry = any, variant = \"peer_ldst\"; }";
        assert_eq!(barriers(some), 0, "{target}");
        let each = "copy b[thread.x] <- a@next[thread.x] by thread, carry = any, variant = \"peer_ldst\";";
        assert_eq!(barriers(each), 0, "{target}");
    }
}
