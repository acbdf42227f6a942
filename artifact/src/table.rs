//! Aligned tables for people.
//!
//! Must hold: columns are separated by two spaces, no line ends in a space, and the last column may be of any length.

/// Lines of `rows`, each column as wide as its widest cell, indented by `indent` spaces.
pub fn table(rows: &[Vec<String>], indent: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.push_str(&" ".repeat(width - cell.chars().count() + 2));
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

/// Picoseconds as a short time: `512 ps`, `4.5 ns`, `11 us`.
pub fn time(picoseconds: u64) -> String {
    // Three figures: a prediction is not better than that.
    let units = [("ps", 1.0), ("ns", 1e3), ("us", 1e6), ("ms", 1e9), ("s", 1e12)];
    let value = picoseconds as f64;
    let (unit, scale) = units.iter().rev().find(|(_, scale)| value >= *scale).unwrap_or(&units[0]);
    let scaled = value / scale;
    let decimals = if scaled >= 99.95 || *unit == "ps" {
        0
    } else if scaled >= 9.995 {
        1
    } else {
        2
    };
    format!("{scaled:.decimals$} {unit}")
}

/// Text from a file for a terminal: what would move the cursor or change colours stands as `\u{fffd}`.
pub fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && c != '\n' { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["a".into(), "bb".into(), "c".into()], vec!["ééé".into(), "".into(), "d e".into()]];
        assert_eq!(table(&rows, 1), " a    bb  c\n ééé      d e\n");
        assert_eq!(table(&[], 2), "");
    }

    #[test]
    fn times_have_three_figures() {
        let shown: Vec<String> = [0, 999, 4_500, 11_000_000, 140_000_000, 2_700_000_000_000].map(time).to_vec();
        assert_eq!(shown, ["0 ps", "999 ps", "4.50 ns", "11.0 us", "140 us", "2.70 s"]);
    }

    #[test]
    fn control_characters_are_not_printed() {
        assert_eq!(printable("a\u{1b}[31mb\r\nc\u{9b}"), "a\u{fffd}[31mb\u{fffd}\nc\u{fffd}");
    }
}
