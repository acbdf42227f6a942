//! Reserved words, and guessing what a misspelt word was meant to be.

use crate::dtype::DType;
use crate::stmt::TileKind;

/// Words that are no names anywhere, beside dtypes and the mnemonics of tile ops.
const RESERVED: [&str; 45] = [
    "align",
    "assume",
    "block",
    "by",
    "devcomm",
    "else",
    "expect",
    "false",
    "for",
    "from",
    "global",
    "grid",
    "hidden",
    "if",
    "in",
    "index",
    "inf",
    "iota",
    "kernel",
    "launch",
    "layout",
    "let",
    "local",
    "lsa",
    "lsa_rank",
    "me",
    "nan",
    "npy",
    "posted",
    "random",
    "run",
    "select",
    "shared",
    "signal",
    "sync",
    "thread",
    "true",
    "unroll",
    "wait",
    "where",
    "window",
    "world",
    "world_rank",
    "swizzle",
    "swizzle_outer",
];

/// May this word not be used as a name?
pub(super) fn is_reserved(word: &str) -> bool {
    RESERVED.contains(&word) || DType::parse(word).is_some() || TileKind::ALL.iter().any(|(_, text)| *text == word)
}

/// Is `text` a name that a `.tile` file can hold: a word, not reserved?
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    let first = bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_');
    first && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_') && !is_reserved(text)
}

/// The candidates that differ from `word` by at most two edits, nearest first.
pub(super) fn near<'a>(word: &str, candidates: &[&'a str]) -> Vec<&'a str> {
    let mut found: Vec<(usize, &str)> = candidates.iter().map(|c| (distance(word, c), *c)).collect();
    found.retain(|(d, c)| *d <= 2 && *d < c.len());
    found.sort();
    found.into_iter().map(|(_, c)| c).collect()
}

/// Edit distance of two words, counted in bytes; words longer than 32 bytes are simply far apart.
fn distance(a: &str, b: &str) -> usize {
    if a.len() > 32 || b.len() > 32 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = i;
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let next = (diagonal + usize::from(x != y)).min(row[j] + 1).min(row[j + 1] + 1);
            diagonal = row[j + 1];
            row[j + 1] = next;
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert!(is_name("ready") && is_name("_x1") && is_name("rank"));
        assert!(!is_name("") && !is_name("1a") && !is_name("a.b") && !is_name("f16") && !is_name("copy"));
    }

    #[test]
    fn near_words() {
        assert_eq!(near("notfy", &["notify", "carry"]), ["notify"]);
        assert_eq!(near("foo", &["notify", "carry"]), [] as [&str; 0]);
        assert_eq!(distance("kitten", "sitting"), 3);
    }
}
