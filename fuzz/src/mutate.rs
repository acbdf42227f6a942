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

/// A text of the corpus with one to eight changes.
pub(crate) fn mutate(corpus: &[String], random: &mut SplitMix64) -> String {
    let mut text = pick(corpus, random).clone().into_bytes();
    for _ in 0..1 + below(random, 8) {
        change(&mut text, corpus, random);
    }
    String::from_utf8_lossy(&text).into_owned()
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
    (random.next() % n.max(1) as u64) as usize
}

fn pick<'a, T>(from: &'a [T], random: &mut SplitMix64) -> &'a T {
    &from[below(random, from.len())]
}
