//! Grids as an SVG picture: cells with text, coloured by owner, and a legend.

use std::fmt::Write;

use super::Grid;
use super::picture::colour;

/// Height of a cell, in pixels.
const CELL: usize = 24;
/// Width of a character at 12 pixels, a little more than monospaced fonts have.
const LETTER: usize = 8;
/// Space around everything.
const MARGIN: usize = 20;
/// Most owners in the legend; the rest are counted.
const MOST_LEGEND: usize = 64;
/// Owners in a line of the legend.
const LEGEND_COLUMNS: usize = 16;

/// The whole file: `title` above, then each grid with its legend.
pub fn svg(title: &str, grids: &[Grid]) -> String {
    let mut body = String::new();
    let mut y = MARGIN + 14;
    let mut width = 2 * MARGIN + title.chars().count() * 9;
    text(&mut body, MARGIN, y, "start", 15, title);
    for grid in grids {
        y += 34;
        width = width.max(draw(&mut body, grid, &mut y));
    }
    let height = y + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"DejaVu Sans Mono, Menlo, Consolas, monospace\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// One grid with its title at `y`, which moves on; the width it needs.
fn draw(out: &mut String, grid: &Grid, y: &mut usize) -> usize {
    let columns = grid.columns.len().max(1);
    let letters = |s: &String| s.chars().count();
    let longest =
        grid.cells.iter().map(|c| letters(&c.text)).chain(grid.columns.iter().map(letters)).max().unwrap_or(1);
    let w = (longest * LETTER + 10).max(CELL);
    let left = MARGIN + grid.rows.iter().map(letters).max().unwrap_or(1) * LETTER + 10;
    let heading = format!("{} ({})", grid.title, grid.key);
    text(out, MARGIN, *y, "start", 13, &heading);
    *y += 22;
    for (c, name) in grid.columns.iter().enumerate() {
        text(out, left + c * w + w / 2, *y, "middle", 11, name);
    }
    *y += 8;
    for (name, row) in grid.rows.iter().zip(grid.cells.chunks(columns)) {
        text(out, left - 8, *y + 16, "end", 11, name);
        for (c, cell) in row.iter().enumerate() {
            let x = left + c * w;
            let fill = cell.owner.map_or_else(|| "#f2f2f2".to_owned(), hex);
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{CELL}\" fill=\"{fill}\" stroke=\"#808080\" stroke-width=\"0.5\"/>",
            );
            if !cell.text.is_empty() {
                text(out, x + w / 2, *y + 16, "middle", 12, &cell.text);
            }
        }
        *y += CELL;
    }
    let legend = legend(out, grid, left, y);
    (left + columns * w + MARGIN).max(legend).max(2 * MARGIN + heading.chars().count() * LETTER)
}

/// What the colours mean; the width it needs.
fn legend(out: &mut String, grid: &Grid, left: usize, y: &mut usize) -> usize {
    let owners = grid.owners_seen();
    let entry = 50;
    *y += 24;
    let more = owners.len().saturating_sub(MOST_LEGEND);
    let rest = if more > 0 { format!(", {more} more of them") } else { String::new() };
    text(out, left, *y, "start", 12, &format!("colour: {}{rest}", grid.owners));
    *y += 8;
    let shown: Vec<i64> = owners.into_iter().take(MOST_LEGEND).collect();
    for row in shown.chunks(LEGEND_COLUMNS) {
        for (k, owner) in row.iter().enumerate() {
            let x = left + k * entry;
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"14\" height=\"14\" fill=\"{}\" stroke=\"#808080\" stroke-width=\"0.5\"/>",
                hex(*owner)
            );
            text(out, x + 18, *y + 12, "start", 11, &owner.to_string());
        }
        *y += 20;
    }
    left + shown.len().min(LEGEND_COLUMNS) * entry + MARGIN
}

fn hex(owner: i64) -> String {
    let [r, g, b] = colour(owner);
    format!("#{r:02x}{g:02x}{b:02x}")
}

fn text(out: &mut String, x: usize, y: usize, anchor: &str, size: usize, words: &str) {
    let safe = words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let _ = writeln!(out, "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" font-size=\"{size}\">{safe}</text>");
}
