//! Changing a text at random: bytes, words, numbers, lines, and pieces of other texts.
//!
//! Must hold: the result depends on the corpus and the generator only.

use tilewright_ir::interp::SplitMix64;

/// Words of the language, to be put anywhere.
const WORDS: &[&str] = &[
    "kernel",
    "run",
    "copy",
    "copy_async",
    "fill",
    "cast",
    "add",
    "let",
    "for",
    "unroll for",
    "if",
    "else",
    "sync cta;",
    "shared",
    "local",
    "global",
    "window",
    "layout",
    "swizzle(3,3,3)",
    "align",
    "signal",
    "wait",
    "notify",
    "from",
    "by thread",
    "by warp",
    "by warpgroup",
    "by cta",
    "assume",
    "launch",
    "grid",
    "block",
    "warp = 32",
    "where",
    "thread.x",
    "thread.lane",
    "thread.warp",
    "me",
    "comm.lsa_rank",
    "comm.lsa_size",
    "lsa(0)",
    "@me",
    "<-",
    "..",
    "S[",
    "R[2:4@warpid]",
    "@laneid",
    "@tx",
    "+ 5@warpid",
    "f32",
    "f16",
    "bf16",
    "u8",
    "i4",
    "bool",
    "index",
    "lsa_rank",
    "iota",
    "random(seed = 1)",
    "expect",
    "carry = any",
    "variant = \"reg\"",
    "vec = 32",
    "allow = unmeasured",
    "after",
    "vec.copy(",
    "sdma.put(",
    "barrier(scope = cta);",
    "{",
    "}",
    "(",
    ")",
    "[",
    "]",
    ";",
    ":",
    ",",
    "=",
    "==",
    "&&",
    "||",
    "-",
    "/",
    "%",
    "!",
    "\"",
];

/// Numbers at the edges of ranges.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "7",
    "16",
    "31",
    "32",
    "33",
    "64",
    "65",
    "127",
    "128",
    "255",
    "256",
    "1024",
    "65536",
    "2147483648",
    "4294967295",
    "4294967296",
    "1099511627776",
    "9223372036854775807",
    "18446744073709551615",
    "99999999999999999999",
    "-1",
    "0.5",
    "1e400",
];

/// Words that may stand for each other: a change within a class often leaves a file right.
const CLASSES: &[&[&str]] = &[
    &["by thread", "by warp", "by warpgroup", "by cta"],
    &[
        "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "u64", "i32", "u32", "i16", "u16", "i8", "u8", "i4",
        "u4", "f4", "bool",
    ],
    &["global", "window"],
    &["shared", "local"],
    &["@laneid", "@warpid", "@tx", "@tid_in_wg", "@wid_in_wg", "@wgid", ""],
    &["thread.x", "thread.linear", "thread.lane", "thread.warp", "block.x"],
    &["warp = 32", "warp = 64", "warp = target"],
    &["iota", "random(seed = 1)", "0"],
    &[" + ", " - ", " * ", " / ", " % ", " & ", " ^ "],
    &[" < ", " <= ", " == ", " != ", " >= "],
    &["swizzle(3,3,3)", "swizzle(2,3,3)", "swizzle_outer(3,3,3)", ""],
    &[", notify ready", ", carry = any", ", vec = 32", ", variant = \"fallback\"", ""],
    &["copy ", "t = copy_async ", "add "],
    &["sync cta;", "sync warp;", ""],
];

/// The texts that cases are made from.
pub(crate) struct Corpus {
    /// All of them.
    pub(crate) all: Vec<String>,
    /// Those without errors.
    pub(crate) right: Vec<String>,
}

/// A text of the corpus, changed: half of the cases gently, so that many stay right, the others anyhow.
pub(crate) fn mutate(corpus: &Corpus, random: &mut SplitMix64) -> String {
    let gentle = below(random, 2) == 0;
    let mut text = pick(if gentle { &corpus.right } else { &corpus.all }, random).clone().into_bytes();
    let most = 1 + below(random, 6);
    for _ in 0..1 + below(random, most) {
        if gentle {
            change_gently(&mut text, random);
        } else {
            change(&mut text, &corpus.all, random);
        }
    }
    String::from_utf8_lossy(&text).into_owned()
}

/// Replaces a number or a word by another of its kind.
fn change_gently(text: &mut Vec<u8>, random: &mut SplitMix64) {
    let at = below(random, text.len() + 1);
    if below(random, 3) == 0 {
        return replace_number(text, at, random);
    }
    let class = pick(CLASSES, random);
    let places: Vec<(usize, usize)> = class
        .iter()
        .filter(|word| !word.is_empty())
        .flat_map(|word| {
            let hits = text.windows(word.len()).enumerate().filter(|(_, w)| *w == word.as_bytes());
            hits.map(|(at, _)| (at, word.len())).collect::<Vec<_>>()
        })
        .collect();
    if !places.is_empty() {
        let (at, length) = *pick(&places, random);
        text.splice(at..at + length, pick(class, random).bytes());
    }
}

fn change(text: &mut Vec<u8>, corpus: &[String], random: &mut SplitMix64) {
    let at = below(random, text.len() + 1);
    let span = |text: &[u8], random: &mut SplitMix64| at..text.len().min(at + below(random, 40));
    match below(random, 9) {
        0 if at < text.len() => text[at] ^= 1 << below(random, 7),
        1 => drop(text.drain(span(text, random))),
        2 => {
            let piece: Vec<u8> = text[span(text, random)].to_vec();
            let to = below(random, text.len() + 1);
            text.splice(to..to, piece);
        }
        3 => drop(text.splice(at..at, format!(" {} ", pick(WORDS, random)).into_bytes())),
        4 | 5 => replace_number(text, at, random),
        6 => swap_lines(text, random),
        7 => {
            let other = pick(corpus, random).as_bytes();
            let from = below(random, other.len() + 1);
            let piece = other[from..other.len().min(from + below(random, 120))].to_vec();
            text.splice(at..at, piece);
        }
        _ => text.truncate(at),
    }
}

/// Replaces the first number at or after `at`.
fn replace_number(text: &mut Vec<u8>, at: usize, random: &mut SplitMix64) {
    let Some(begin) = text[at..].iter().position(u8::is_ascii_digit).map(|offset| at + offset) else { return };
    let length = text[begin..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    text.splice(begin..begin + length, pick(NUMBERS, random).bytes());
}

fn swap_lines(text: &mut Vec<u8>, random: &mut SplitMix64) {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    if lines.len() > 1 {
        let (a, b) = (below(random, lines.len()), below(random, lines.len()));
        lines.swap(a, b);
        *text = lines.concat();
    }
}

/// A number below `n`; 0 if there is none.
fn below(random: &mut SplitMix64, n: usize) -> usize {
    random.below(n)
}

fn pick<'a, T>(from: &'a [T], random: &mut SplitMix64) -> &'a T {
    &from[below(random, from.len())]
}
