//! Where completion waits go: rules of `place-waits`, each on the smallest block that shows it.

mod common;

use common::{body, run};

const HEAD: &str = "kernel k(comm: devcomm, a: window<u8>[64], b: window<u8>[64], g: global<u8>[64])
    launch(grid = [1], block = [64])
{
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
";

fn placed(stmts: &str) -> String {
    body(&format!("{HEAD}{stmts}\n}}\n"), &["place-waits"])
}

const PUT: &str = "sdma.put(b@next![0], a![0], next, 64, queue = 0, coop = block);
    t = posted queue(next, 0) by cta;
    wait t;\n";

/// Index of the line that holds `needle`.
fn line(text: &str, needle: &str) -> usize {
    text.lines().position(|l| l.contains(needle)).unwrap_or_else(|| panic!("no `{needle}` in\n{text}"))
}

#[test]
fn the_wait_sinks_to_the_write_of_the_source() {
    let text = placed(&format!("{PUT} g[0] = 1; a[0] = 2; g[1] = 3;"));
    assert!(line(&text, "g[0]") < line(&text, "quiet_queue"), "{text}");
    assert!(line(&text, "quiet_queue") < line(&text, "a[0]"), "{text}");
    assert_eq!(text.matches("quiet_queue").count(), 1, "{text}");
}

#[test]
fn reading_the_source_needs_no_wait() {
    let text = placed(&format!("{PUT} let x = a[0]; g[0] = x;"));
    assert!(line(&text, "g[0]") < line(&text, "quiet_queue"), "{text}");
}

#[test]
fn a_barrier_is_not_passed() {
    let text = placed(&format!("{PUT} g[0] = 1; sync cta; g[1] = 2;"));
    assert!(line(&text, "quiet_queue") < line(&text, "sync cta"), "{text}");
}

#[test]
fn what_a_get_writes_is_waited_for_and_acquired() {
    let text = placed(
        "sdma.get(a![0], b@next![0], next, 64, queue = 0, coop = block);
    t = posted queue(next, 0) by cta;
    wait t;
    g[1] = 2;
    let x = a[0];
    g[0] = x;",
    );
    assert!(line(&text, "g[1]") < line(&text, "quiet_queue"), "{text}");
    assert_eq!(line(&text, "quiet_queue") + 1, line(&text, "fence.acquire"), "{text}");
    assert!(line(&text, "fence.acquire") < line(&text, "let x"), "{text}");
}

#[test]
fn two_puts_to_one_queue_share_a_wait() {
    let text = placed(&format!("{PUT}{}", PUT.replace("t = ", "u = ").replace("wait t", "wait u")));
    assert_eq!(text.matches("quiet_queue").count(), 1, "{text}");
    assert_eq!(text.matches("sdma.put").count(), 2, "{text}");
}

#[test]
fn an_authors_wait_stays_where_it_is() {
    let text = placed(
        "sdma.put(b@next![0], a![0], next, 64, queue = 0, coop = block);
    t = posted queue(next, 0) by cta;
    g[0] = 1;
    wait t;
    g[1] = 2;",
    );
    assert!(line(&text, "g[0]") < line(&text, "quiet_queue"), "{text}");
    assert!(line(&text, "quiet_queue") < line(&text, "g[1]"), "{text}");
}

#[test]
fn a_post_in_a_branch_is_waited_for_in_the_branch() {
    let text = placed(&format!("if comm.lsa_size > 1 {{ {PUT} }} g[0] = 1;"));
    assert!(line(&text, "quiet_queue") < line(&text, "g[0]"), "{text}");
    assert!(text.lines().nth(line(&text, "quiet_queue")).unwrap().starts_with("    "), "{text}");
}

#[test]
fn done_needs_no_wait() {
    let text = placed("t = posted done;\n wait t;");
    assert!(!text.contains("wait") && !text.contains("posted"), "{text}");
}

#[test]
fn a_wait_without_its_post_is_an_error() {
    let errors = run(&format!("{HEAD} wait t;\n}}\n"), &["place-waits"]).unwrap_err();
    assert_eq!(errors[0].code, tilewright_ir::Code::TOKEN_USE);
}
