//! Text form: what the parser, the printer and the formatter promise, on written and on generated modules.

mod arbitrary;
mod builder;
mod docs;
mod errors;

use std::path::PathBuf;

use arbitrary::Gen;
use proptest::prelude::*;
use tilewright_ir::text::{format, parse, parse_expr, parse_layout, print, print_expr, print_layout};
use tilewright_ir::verify::{Level, verify_for};
use tilewright_ir::{OpSet, interp};

/// The files of `examples/`, by name.
pub(crate) fn examples() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let entries = std::fs::read_dir(&folder).expect("examples/ is there");
    let mut files: Vec<(String, String)> = entries
        .map(|e| e.expect("readable").path())
        .filter(|p| p.extension().is_some_and(|e| e == "tile"))
        .map(|p| (p.file_name().unwrap().to_string_lossy().into_owned(), std::fs::read_to_string(&p).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 9, "found {} examples", files.len());
    files
}

#[test]
fn examples_round_trip() {
    for (name, source) in examples() {
        let parsed = parse(&source);
        assert_eq!(parsed.diagnostics, [], "{name}");
        let again = parse(&print(&parsed.module));
        assert_eq!(again.diagnostics, [], "{name}");
        assert_eq!(again.module, parsed.module, "{name}");
    }
}

#[test]
fn examples_verify() {
    for (name, source) in examples() {
        for warp in [32, 64] {
            let found = verify_for(&parse(&source).module, Level::Tile, &OpSet::default(), warp);
            assert_eq!(found, [], "{name} on warps of {warp}");
        }
    }
}

/// The interpreter says yes to every run block, on warps of both widths and under several schedules.
#[test]
fn examples_run() {
    for (name, source) in examples() {
        let module = parse(&source).module;
        for run in module.runs() {
            let kernel = module.kernel(run.kernel.as_str()).unwrap();
            let mut input = interp::prepare(run, kernel, &|_| Err("no file".to_owned())).unwrap();
            for (warp, seed) in [(32, 1), (64, 2), (64, 3)] {
                input.seed = seed;
                let output = interp::run(kernel, warp, &input).unwrap_or_else(|e| panic!("{name}: {e:?}"));
                let bytes =
                    interp::check_expects(run, kernel, &input, &output).unwrap_or_else(|e| panic!("{name}: {e:?}"));
                assert!(bytes > 0, "{name} checks nothing");
            }
        }
    }
}

#[test]
fn examples_are_formatted() {
    for (name, source) in examples() {
        assert_eq!(format(&source).unwrap(), source, "{name}");
        assert!(source.starts_with("//"), "{name} has no head comment");
        assert!(source.contains("expect"), "{name} checks nothing");
        assert!(source.lines().all(|l| l.chars().count() <= 120), "{name} has a long line");
    }
}

#[test]
fn numbers_and_signs() {
    let same = [
        "-5",
        "-(5)",
        "-(-5)",
        "--x",
        "-9223372036854775808",
        "a - -5",
        "a < -1",
        "-(1.5)",
        "-inf",
        "-nan",
        "!(a == b)",
        "nan(0x7ff0000000000001)",
        "(a + b) * c",
        "a - (b - c)",
        "(a < b) == c",
        "a | b ^ c & d << 1 + 2 * 3",
        "-0.0",
    ];
    for text in same {
        assert_eq!(print_expr(&parse_expr(text).unwrap()), text);
    }
    let other =
        [("0xFF", "255"), ("1_000", "1000"), ("(a * b) + c", "a * b + c"), ("a <-1", "a < -1"), ("1e3", "1000.0")];
    for (text, canonical) in other {
        assert_eq!(print_expr(&parse_expr(text).unwrap()), canonical);
    }
}

#[test]
fn formatter_keeps_words_and_comments() {
    let source = "\
// head
kernel k ( a :global< f32 >[ 8 ],// first

  // second
  b: global<f32>[0x8],) launch ( grid=[1,],block=[64] ) { // body

  let x=-1+(2*3)  ;   let y = a [ 0 ];


  // kept

  copy b[ .. ] <- a // why
     by cta ; // how
  if x<-1 { } else /* no comment */
";
    assert!(format(source).is_err());
    let source =
        source.replace("else /* no comment */", "// odd\n else { sync cta; // last\n\n // end\n } }// tail\n//eof");
    let formatted = "\
// head
kernel k(
    a: global<f32>[8], // first

    // second
    b: global<f32>[0x8]
)
    launch(grid = [1], block = [64])
{ // body
    let x = -1 + (2 * 3);
    let y = a[0];

    // kept

    // how
    copy b[..] <- a by cta; // why
    if x < -1 {} else { // odd
        sync cta; // last

        // end
    }
} // tail
//eof
";
    assert_eq!(format(&source).unwrap(), formatted);
    assert_eq!(format(formatted).unwrap(), formatted);
}

/// `text` between the tokens of `source`: as if somebody had formatted it badly.
fn mangle(source: &str, bytes: &[u8]) -> String {
    let mut out = String::new();
    let mut n = 0;
    let mut in_comment = false;
    for c in source.chars() {
        in_comment = if c == '\n' { false } else { in_comment || out.ends_with('/') && c == '/' };
        if c == ' ' && !in_comment {
            n += 1;
            let gaps = [" ", "  ", "\n", " // note\n", "\n// own line\n\n\n", "\t"];
            out.push_str(gaps[usize::from(bytes.get(n).copied().unwrap_or(0)) % gaps.len()]);
        } else {
            out.push(c);
        }
    }
    out
}

/// Comments of a source, sorted: their order may change within a statement, their words may not. Only for sources whose
/// strings hold no `//`.
fn comments(source: &str) -> Vec<String> {
    let lines = source.lines().filter_map(|l| l.split_once("//").map(|(_, c)| c));
    let mut words: Vec<String> =
        lines.flat_map(|c| c.split_whitespace()).filter(|w| *w != "//").map(str::to_owned).collect();
    words.sort();
    words
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn modules_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let module = Gen::new(&bytes).module();
        let text = print(&module);
        let parsed = parse(&text);
        prop_assert_eq!(&parsed.diagnostics, &[], "{}", &text);
        prop_assert_eq!(&parsed.module, &module, "{}", &text);
        prop_assert_eq!(print(&parsed.module), text);
    }

    #[test]
    fn print_is_formatted(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let text = print(&Gen::new(&bytes).module());
        prop_assert_eq!(format(&text).unwrap(), text);
    }

    #[test]
    fn expressions_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let expr = Gen::new(&bytes).expr();
        let text = print_expr(&expr);
        prop_assert_eq!(parse_expr(&text), Ok(expr), "{}", text);
    }

    #[test]
    fn layouts_round_trip(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        let layout = Gen::new(&bytes).layout();
        let text = print_layout(&layout);
        prop_assert_eq!(parse_layout(&text), Ok(layout), "{}", text);
    }

    #[test]
    fn formatting_settles(which in 0usize..9, bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let (_, source) = &examples()[which];
        let bad = mangle(source, &bytes);
        prop_assume!(parse(&bad).diagnostics.is_empty());
        let once = format(&bad).unwrap();
        prop_assert_eq!(parse(&once).module, parse(source).module, "{}", &once);
        prop_assert_eq!(format(&once).unwrap(), once.clone(), "{}", &bad);
        prop_assert_eq!(comments(&once), comments(&bad));
    }

    #[test]
    fn noise_is_no_panic(noise in any::<Vec<u8>>()) {
        parse(&String::from_utf8_lossy(&noise));
    }

    #[test]
    fn shuffled_tokens_are_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let words = [
            "kernel", "run", "k", "(", ")", "[", "]", "{", "}", "launch", "grid", "=", "block", "1", ",", ";", ":", "f16",
            "global", "<", ">", "<-", "copy", "by", "cta", "let", "x", "@", "!", "..", "if", "else", "for", "in", "layout",
            "S", "+", "-", "expect", "==", "\"s\"", "wait", "from", "posted", "1.5", "thread", ".", "nan", "swizzle",
        ];
        let text: Vec<&str> = bytes.iter().map(|b| words[usize::from(*b) % words.len()]).collect();
        let parsed = parse(&text.join(" "));
        prop_assert!(parsed.diagnostics.len() <= 50);
        let inside = format!("kernel k() launch(grid = [1], block = [1]) {{ {} }}", text.join(" "));
        prop_assert!(parse(&inside).diagnostics.len() <= 50);
    }
}
