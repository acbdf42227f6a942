//! A grid on a terminal, or in plain text.

use super::Grid;
use super::picture::colour;

/// The grid as lines, each cell on a background in its owner's colour where `coloured`.
pub fn terminal(grid: &Grid, coloured: bool) -> String {
    let columns = grid.columns.len().max(1);
    let label = grid.rows.iter().map(String::len).max().unwrap_or(0);
    let width = |c: usize| {
        let cells = grid.cells.iter().skip(c).step_by(columns).map(|cell| cell.text.chars().count());
        cells.chain([grid.columns.get(c).map_or(0, String::len)]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut out = format!("{} ({}; {})\n", grid.title, grid.key, by(grid, coloured));
    let mut head = " ".repeat(label);
    for (name, w) in grid.columns.iter().zip(&widths) {
        head.push_str(&format!(" {name:>w$} "));
    }
    out.push_str(head.trim_end());
    out.push('\n');
    for (name, row) in grid.rows.iter().zip(grid.cells.chunks(columns)) {
        let mut line = format!("{name:>label$}");
        for (cell, w) in row.iter().zip(&widths) {
            let text = format!(" {:>w$} ", if cell.owner.is_none() { "." } else { &cell.text });
            match cell.owner {
                Some(owner) if coloured => {
                    let [r, g, b] = colour(owner);
                    line.push_str(&format!("\x1b[30;48;2;{r};{g};{b}m{text}\x1b[0m"));
                }
                _ => line.push_str(&text),
            }
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

fn by(grid: &Grid, coloured: bool) -> String {
    if coloured {
        format!("coloured by {}", grid.owners)
    } else {
        format!("{} {}s", grid.owners_seen().len(), grid.owners)
    }
}
