//! Finding a target by name.
//!
//! What must hold here: [`TARGETS`] is sorted by name, every record of the crate is in it once, and a name that is not in it
//! is an error. There is no default target.

use std::fmt;

use crate::record::Target;

/// Every target this version compiles for, sorted by name.
pub static TARGETS: &[&Target] =
    &[&crate::GFX1250, &crate::GFX942, &crate::GFX950, &crate::SM_100A, &crate::SM_80, &crate::SM_90A];

/// Longest name that is compared and repeated in a message, in characters.
const LONGEST_NAME: usize = 40;

/// A name that is no target's. Its message names the near ones and all that exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTarget {
    /// What was asked for, cut to 40 characters.
    pub name: String,
    /// Names with the least edit distance, nearest first; empty if nothing is close.
    pub near: Vec<&'static str>,
}

impl fmt::Display for UnknownTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown target `{}`", self.name)?;
        if !self.near.is_empty() {
            let near: Vec<String> = self.near.iter().map(|name| format!("`{name}`")).collect();
            write!(f, "; did you mean {}?", near.join(" or "))?;
        }
        let all: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        write!(f, "{} known targets: {}", if self.near.is_empty() { ";" } else { "" }, all.join(", "))
    }
}

impl std::error::Error for UnknownTarget {}

/// The target called `name`, exactly as written in [`TARGETS`].
///
/// # Errors
/// [`UnknownTarget`] for anything else, with the near names.
pub fn lookup(name: &str) -> Result<&'static Target, UnknownTarget> {
    if let Some(target) = TARGETS.iter().find(|target| target.name == name) {
        return Ok(target);
    }
    let short: String = name.chars().take(LONGEST_NAME).collect();
    let mut ranked: Vec<(usize, &'static str)> =
        TARGETS.iter().map(|target| (edit_distance(&short.to_ascii_lowercase(), target.name), target.name)).collect();
    ranked.sort_unstable();
    // More than half of the known name wrong is no slip of the finger any more.
    let near = ranked.iter().filter(|(distance, known)| distance * 2 <= known.len()).map(|(_, known)| *known).take(2);
    Err(UnknownTarget { name: short, near: near.collect() })
}

/// Levenshtein distance in characters.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_found() {
        let names: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
        assert_eq!(names, ["gfx1250", "gfx942", "gfx950", "sm_100a", "sm_80", "sm_90a"]);
        assert!(names.is_sorted());
        for name in names {
            assert_eq!(lookup(name).map(|target| target.name), Ok(name));
        }
    }

    #[test]
    fn a_slip_gets_near_names_and_the_whole_list() {
        let error = lookup("sm_90").unwrap_err();
        assert_eq!(error.near, ["sm_80", "sm_90a"]);
        assert_eq!(
            lookup("gfx95").unwrap_err().to_string(),
            "unknown target `gfx95`; did you mean `gfx950` or `gfx942`? known targets: gfx1250, gfx942, gfx950, sm_100a, sm_80, sm_90a"
        );
        assert_eq!(lookup("GFX950").unwrap_err().near[0], "gfx950");
    }

    #[test]
    fn a_later_chip_is_unknown_not_a_default() {
        let error = lookup("gfx1251").unwrap_err();
        assert_eq!(error.near[0], "gfx1250");
    }

    #[test]
    fn nonsense_gets_the_list_only_and_is_cut() {
        let error = lookup(&"x".repeat(100_000)).unwrap_err();
        assert_eq!(error.name.len(), LONGEST_NAME);
        assert!(error.near.is_empty());
        assert!(error.to_string().ends_with("`; known targets: gfx1250, gfx942, gfx950, sm_100a, sm_80, sm_90a"));
        assert!(lookup("").unwrap_err().near.is_empty());
    }

    #[test]
    fn distances() {
        assert_eq!(edit_distance("", "abc"), 3);
        assert_eq!(edit_distance("abc", "abc"), 0);
        assert_eq!(edit_distance("kitten", "sitting"), 3);
    }
}
