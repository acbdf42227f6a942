//! Tile ops under a guard that no thread of the launch meets: nothing is left of them, and no variant is asked.

mod common;

use common::body;

#[test]
fn ops_that_no_thread_reaches_vanish() {
    let text = body(
        "kernel k(a: global<f32>[64], b: global<f32>[64])
    launch(grid = [1], block = [64], warp = 32)
{
    if thread.warp == 5 {
        copy b <- a by warp;
        fill b <- 0.0 by cta;
        t = copy_async b <- a by warp;
        wait t;
    }
}
",
        &["select-copies", "place-waits"],
    );
    for word in ["copy", "fill", "wait", "vec."] {
        assert!(!text.contains(word), "`{word}` in\n{text}");
    }
}
