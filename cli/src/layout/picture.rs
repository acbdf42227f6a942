//! Grids: the picture of a layout before it is drawn.

use super::{MOST_CELLS, Question, Spot};

/// One cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cell {
    /// What stands in it.
    pub text: String,
    /// Who owns it: a thread, or a bank of 4 bytes; decides the colour. `None`: nothing is there.
    pub owner: Option<i64>,
}

/// A rectangle of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grid {
    /// What it shows, for people.
    pub title: String,
    /// How a cell is read.
    pub key: String,
    /// What the colour is: `lane`, `thread`, `bank`.
    pub owners: &'static str,
    /// Labels of the rows.
    pub rows: Vec<String>,
    /// Labels of the columns.
    pub columns: Vec<String>,
    /// Row by row.
    pub cells: Vec<Cell>,
}

/// Most places of one element that are written in its cell.
const MOST_OWNERS: usize = 2;

/// The pictures of a layout: elements by their place in the shape and, for memory, addresses in their order.
///
/// # Errors
/// Why there is none, in a sentence.
pub fn grids(q: &Question) -> Result<Vec<Grid>, String> {
    if !q.enumerable() {
        return Err("no picture: the layout has numbers that are not constant, or too many places".to_owned());
    }
    if q.size() > MOST_CELLS {
        return Err(format!("no picture: {} elements are more than the {MOST_CELLS} that one can read", q.size()));
    }
    let elements = elements(q);
    let mut out = vec![elements];
    if q.is_memory() {
        let most = (0..q.size()).flat_map(|flat| q.spots(flat)).map(|s| s.m).max().unwrap_or(0);
        let least = (0..q.size()).flat_map(|flat| q.spots(flat)).map(|s| s.m).min().unwrap_or(0);
        if least >= 0 && most < MOST_CELLS {
            out.push(addresses(q, most + 1));
        }
    }
    Ok(out)
}

/// Columns: of the trailing dimensions as many as fit 32 cells, at least the last one; and rows.
fn split(shape: &[i64]) -> (usize, i64) {
    let mut columns = shape.last().copied().unwrap_or(1);
    let mut at = shape.len().saturating_sub(1);
    while at > 1 && columns * shape[at - 1] <= 32 {
        at -= 1;
        columns *= shape[at];
    }
    (at, columns.max(1))
}

/// Coordinates of a number in these dimensions.
fn coordinates(mut flat: i64, shape: &[i64]) -> String {
    let mut out = Vec::new();
    for n in shape.iter().rev() {
        out.push((flat % n.max(&1)).to_string());
        flat /= n.max(&1);
    }
    out.reverse();
    out.join(",")
}

fn elements(q: &Question) -> Grid {
    let (at, columns) = split(&q.shape);
    let (outer, inner) = q.shape.split_at(at);
    let rows = q.size() / columns;
    let cell = |flat: i64| {
        let spots = q.spots(flat);
        let mut text: Vec<String> = spots.iter().take(MOST_OWNERS).map(|s| place(q, *s)).collect();
        if spots.len() > MOST_OWNERS {
            text.push(format!("+{}", spots.len() - MOST_OWNERS));
        }
        Cell { text: text.join(" "), owner: spots.first().map(|s| owner(q, *s)) }
    };
    let key = match (q.is_memory(), q.lanes_only()) {
        (true, _) => "a cell holds the address, in elements".to_owned(),
        (_, true) => "a cell holds lane:register; every warp has a copy".to_owned(),
        _ if i64::from(q.threads) <= i64::from(q.warp) => "a cell holds thread:register".to_owned(),
        _ => "a cell holds warp/lane:register".to_owned(),
    };
    Grid {
        title: format!("element -> {}", if q.is_memory() { "address" } else { "(lane, register)" }),
        key,
        owners: if q.is_memory() {
            "bank"
        } else if q.lanes_only() {
            "lane"
        } else {
            "thread"
        },
        rows: (0..rows).map(|r| coordinates(r, outer)).collect(),
        columns: (0..columns).map(|c| coordinates(c, inner)).collect(),
        cells: (0..q.size()).map(cell).collect(),
    }
}

fn addresses(q: &Question, count: i64) -> Grid {
    let last = q.shape.last().copied().unwrap_or(1).max(1);
    // One row of banks a row where that is not too wide.
    let bank_row = 4 * i64::from(q.banks) * 8 / i64::from(q.dtype.bits());
    let columns = if bank_row <= 32 {
        bank_row
    } else if last <= 32 {
        last
    } else {
        32
    }
    .min(count)
    .max(1);
    let rows = count / columns + i64::from(count % columns != 0);
    let mut cells = vec![Cell { text: String::new(), owner: None }; (rows * columns) as usize];
    for flat in 0..q.size() {
        for spot in q.spots(flat) {
            if let Some(cell) = usize::try_from(spot.m).ok().and_then(|m| cells.get_mut(m)) {
                let text = coordinates(flat, &q.shape);
                cell.text = if cell.text.is_empty() { text } else { format!("{} {text}", cell.text) };
                cell.owner = Some(owner(q, spot));
            }
        }
    }
    Grid {
        title: "address -> element".to_owned(),
        key: "a cell holds the coordinates of the element".to_owned(),
        owners: "bank",
        rows: (0..rows).map(|r| (r * columns).to_string()).collect(),
        columns: (0..columns).map(|c| format!("+{c}")).collect(),
        cells,
    }
}

/// `lane:register`, `warp/lane:register` or the address.
fn place(q: &Question, spot: Spot) -> String {
    let warp = i64::from(q.warp.max(1));
    if q.is_memory() {
        spot.m.to_string()
    } else if q.lanes_only() || i64::from(q.threads) <= warp {
        format!("{}:{}", spot.thread, spot.m)
    } else {
        format!("{}/{}:{}", spot.thread.div_euclid(warp), spot.thread.rem_euclid(warp), spot.m)
    }
}

/// The thread, or for memory the bank.
fn owner(q: &Question, spot: Spot) -> i64 {
    if q.is_memory() {
        let byte = spot.m.wrapping_mul(i64::from(q.dtype.bits())).div_euclid(8);
        byte.div_euclid(4).rem_euclid(i64::from(q.banks.max(1)))
    } else {
        spot.thread
    }
}

impl Grid {
    /// The owners that occur, in order.
    pub fn owners_seen(&self) -> Vec<i64> {
        let mut seen: Vec<i64> = self.cells.iter().filter_map(|c| c.owner).collect();
        seen.sort_unstable();
        seen.dedup();
        seen
    }
}

/// A colour for an owner: neighbours differ in hue, and the text on it stays readable. Red, green, blue from 0 to 255.
pub(super) fn colour(owner: i64) -> [u8; 3] {
    // Steps of the golden angle spread the hues; lightness alternates a little.
    let hue = (owner.rem_euclid(1024) as f64 * 137.508).rem_euclid(360.0);
    let light = if owner.rem_euclid(2) == 0 { 0.80 } else { 0.70 };
    let chroma = 0.55 * (1.0 - f64::abs(2.0 * light - 1.0)) * 1.6;
    let x = chroma * (1.0 - f64::abs((hue / 60.0).rem_euclid(2.0) - 1.0));
    let (r, g, b) = match (hue / 60.0) as u32 {
        0 => (chroma, x, 0.0),
        1 => (x, chroma, 0.0),
        2 => (0.0, chroma, x),
        3 => (0.0, x, chroma),
        4 => (x, 0.0, chroma),
        _ => (chroma, 0.0, x),
    };
    let m = light - chroma / 2.0;
    [r, g, b].map(|v| ((v + m).clamp(0.0, 1.0) * 255.0) as u8)
}
