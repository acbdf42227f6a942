//! Wrong sources: what the message says, where it points, and that nothing panics.

use tilewright_ir::text::{format, parse, parse_expr, parse_layout};
use tilewright_ir::{Code, Diagnostic};

use crate::examples;

fn in_kernel(body: &str) -> String {
    format!("kernel k(a: global<f32>[8]) launch(grid = [1], block = [64]) {{\n{body}\n}}\n")
}

/// The only error of a kernel with this body.
fn only_error(body: &str) -> Diagnostic {
    let source = in_kernel(body);
    let diagnostics = parse(&source).diagnostics;
    assert_eq!(diagnostics.len(), 1, "{body}: {diagnostics:#?}");
    diagnostics.into_iter().next().unwrap()
}

fn check(body: &str, line: usize, message: &str, help: &str) {
    let source = in_kernel(body);
    let error = only_error(body);
    assert_eq!(error.message, message, "{body}");
    assert_eq!(error.span.line_in(&source), line, "{body}");
    assert!(error.help.iter().any(|h| h.contains(help)) || help.is_empty() && error.help.is_empty(), "{error:#?}");
}

#[test]
fn common_slips() {
    check("let x = 1\nlet y = 2;", 2, "expected `;`, found the reserved word `let`", "");
    check("copy a <- b;", 2, "expected `by`, found `;`", "by cta");
    check("copy a = b by cta;", 2, "expected `<-`, found `=`", "copy dst <- src by cta");
    check("copy a <- b by block;", 2, "expected a scope, found the reserved word `block`", "warpgroup");
    check(
        "copy a <- b by cta, notfy s;",
        2,
        "expected an attribute of the copy, found `notfy`",
        "did you mean `notify`?",
    );
    check("copy a <- b by cta, notify s, notify t;", 2, "`notify` is given twice", "");
    check("let x = a[0] + 1;", 2, "load of `a` inside an expression", "loads are statements");
    check("let x = 1 + a[0];", 2, "load of `a` inside an expression", "bind it with `let` first");
    check("a[0] = a[1];", 2, "load of `a` inside an expression", "bind it with `let` first");
    check("a[0] <- 5;", 2, "expected `=`, found `<-`", "fill d <- e by cta");
    check("x = 5;", 2, "`x` cannot be assigned to", "let");
    check("let f16 = 5;", 2, "expected a name after `let`, found the reserved word `f16`", "take another name");
    check("if 1 < 2 < 3 {}", 2, "comparisons do not chain", "a < b && b < c");
    check("if x = 3 {}", 2, "expected `{`, found `=`", "==");
    check("let x = foo(3);let y = sin(x) + 1;", 2, "expected `;`, found `+`", "");
    check("let y = 1 + sin(3);", 2, "`sin` is no function", "min, max, select");
    check("let x = thread.w;", 2, "expected a field of `thread`, found `w`", "x, y, z, linear, lane, warp");
    check("let x = comm.lsa_rnk;", 2, "expected a field of the communicator `comm`, found `lsa_rnk`", "comm.lsa_rank");
    check("local x: f61[4];", 2, "expected a dtype, found `f61`", "did you mean `f64`?");
    check("cpoy a <- b by cta;", 2, "no statement begins with `cpoy`", "did you mean `copy`?");
    check("add a <- b by cta;", 2, "`add` takes 2 sources, found 1", "");
    check("copy a <- 5 by cta;", 2, "expected a buffer, found `5`", "fill dst <- value");
    check("let x = 9223372036854775808;", 2, "integer `9223372036854775808` does not fit 64 bits", "integers run from");
    check("let x = 1e999;", 2, "`1e999` is beyond the largest f64", "inf");
    check("signal s queue 5000000000;", 2, "a queue id `5000000000` is not between 0 and 4294967295", "");
    check("let x = min(1);", 2, "`min` takes 2 arguments, found 1", "");
    check("local x: f32[8] layout S[(8,2):(1)];", 2, "2 extents but 1 strides", "");
    check("local x: f32[8] layout (8):(1);", 2, "expected a layout, found `(`", "begins with `S[");
    check("copy a <- b by cta, variant = \"\\q\";", 2, "unknown escape `\\q` in a string", "known are");
    check("copy a <- b by cta, variant = \"x;\n;", 2, "string without an end on its line", "close it");
}

#[test]
fn several_errors_in_one_go() {
    let source = "kernel a( launch(grid = [1], block = [1]) {}\n\
                  kernel b() launch(grid = [1], block = [1]) {\n  let = 1;\n  copy x y by cta;\n  if { sync cta; }\n  sync ctaa;\n}\n\
                  run c { ranks = x; d = ; expect e = f; }\nfoo\nkernel d() launch(block = [1]) {}\n";
    let parsed = parse(source);
    let lines: Vec<usize> = parsed.diagnostics.iter().map(|d| d.span.line_in(source)).collect();
    assert_eq!(lines, [1, 3, 4, 5, 6, 8, 8, 8, 9, 10], "{:#?}", parsed.diagnostics);
    assert!(parsed.diagnostics.iter().all(|d| d.is_error() && d.code == Code::SYNTAX));
}

#[test]
fn codes() {
    let code = |body: &str| only_error(body).code;
    assert_eq!(code("let x = 1; #$?"), Code::UNKNOWN_TOKEN);
    assert_eq!(code("let x = 0x1_0000_0000_0000_0000;"), Code::LITERAL_RANGE);
    assert_eq!(code("copy a <- b by cta, foo = 1;"), Code::BAD_ATTR);
    assert_eq!(code("local x: f32[1] layout S[1:(1,2)];"), Code::SYNTAX);
}

#[test]
fn deep_nesting_is_an_error() {
    for (open, close) in [("(", ")"), ("(", ""), ("-", ""), ("!", ""), ("1+", ""), ("min(1,", ")"), ("select(", "")] {
        let n = 100_000;
        let text = format!("{}1{}", open.repeat(n), close.repeat(n));
        let errors = parse_expr(&text).unwrap_err();
        assert_eq!(errors[0].code, Code::TOO_DEEP, "{open}");
        assert!(parse(&in_kernel(&format!("let x = {text};"))).diagnostics.iter().any(|d| d.code == Code::TOO_DEEP));
    }
    for (open, close) in [("{", "}"), ("if true {", "}"), ("for i in 0..1 {", "}"), ("if true {} else ", ""), ("{", "")]
    {
        let text = in_kernel(&format!("{}{}", open.repeat(100_000), close.repeat(100_000)));
        let parsed = parse(&text);
        assert!(!parsed.diagnostics.is_empty() && parsed.diagnostics.len() <= 50, "{open}");
        assert!(format(&text).is_err());
    }
    // The rest is not read at a wrong depth: one error, not fifty.
    let text = in_kernel(&format!("{}{}", "if true {} else ".repeat(100_000), "{}"));
    assert_eq!(parse(&text).diagnostics.iter().map(|d| d.code).collect::<Vec<_>>(), [Code::TOO_DEEP]);
    assert!(parse_layout(&format!("S[{}", "(".repeat(100_000))).is_err());
    assert_eq!(parse_expr(&format!("{}1", "1 - ".repeat(900))).map(|_| ()), Ok(()));
}

#[test]
fn allowed_nesting_fits_a_small_stack() {
    let body = format!("{}let x = {}1{};{}", "if true {".repeat(60), "(-".repeat(60), ")".repeat(60), "}".repeat(60));
    let source = in_kernel(&body);
    let thread = std::thread::Builder::new().stack_size(1 << 20).spawn(move || {
        let parsed = parse(&source);
        assert_eq!(parsed.diagnostics, []);
        assert_eq!(parse(&tilewright_ir::text::print(&parsed.module)).module, parsed.module);
    });
    thread.unwrap().join().unwrap();
}

#[test]
fn every_prefix_of_an_example_is_no_panic() {
    for (name, source) in examples() {
        for end in (0..source.len()).filter(|i| source.is_char_boundary(*i)) {
            let parsed = parse(&source[..end]);
            // A prefix without errors is whole: every item that begins in it is there.
            if parsed.diagnostics.is_empty() {
                let begun = source[..end].lines().filter(|l| l.starts_with("kernel ") || l.starts_with("run ")).count();
                assert_eq!(parsed.module.items.len(), begun, "{name} at {end}");
                assert_eq!(parsed.module.items[..], parse(&source).module.items[..begun], "{name} at {end}");
            }
        }
    }
}

#[test]
fn errors_are_limited_and_sources_too() {
    let many = in_kernel(&"let;\n".repeat(1000));
    assert_eq!(parse(&many).diagnostics.len(), 50);
    let large = " ".repeat((16 << 20) + 1);
    assert_eq!(parse(&large).diagnostics[0].code, Code::TOO_LARGE);
    assert_eq!(parse("").diagnostics, []);
    assert_eq!(parse("\u{feff}// only a comment").diagnostics.len(), 1);
}
