//! What the lanes of the first warp access: for people who want to see a fragment's map, and for tests that pin it.
//!
//! Must hold: only looked at, never steering; the tables are what was executed, not what a variant believes.

use std::fmt::Write;

/// One memory op of the first warp of the first CTA of rank 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// The op, such as `nv.ldmatrix`.
    pub op: String,
    /// Buffer written, buffer read.
    pub buffers: [String; 2],
    /// For ops in which a lane gives an address for others (matrices): lane and first element of the row, in elements of
    /// the memory's buffer.
    pub rows: Vec<(u32, i64)>,
    /// Lane, position in the lane's part of the destination, position in its part of the source, elements; in the memory of
    /// each buffer. For matrices one entry an element.
    pub moves: Vec<Move>,
}

/// Elements that move together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The lane.
    pub lane: u32,
    /// First element in the destination.
    pub to: i64,
    /// First element in the source.
    pub from: i64,
    /// How many.
    pub n: i64,
}

impl Access {
    /// Tables as text: `lane -> address` where there are rows, then a line a lane with what goes where.
    pub fn table(&self) -> String {
        let [to, from] = &self.buffers;
        let mut out = format!("{}: {to} <- {from}\n", self.op);
        if !self.rows.is_empty() {
            out.push_str("  lane -> first element of the row\n");
            for rows in self.rows.chunks(8) {
                let cells: Vec<String> = rows.iter().map(|(lane, at)| format!("{lane:>2}: {at:<4}")).collect();
                let _ = writeln!(out, "    {}", cells.join("  ").trim_end());
            }
        }
        let _ = writeln!(out, "  lane: {to} <- {from}");
        let range = |at: i64, n: i64| if n == 1 { at.to_string() } else { format!("{at}..{}", at + n) };
        let mut lanes: Vec<u32> = self.moves.iter().map(|m| m.lane).collect();
        lanes.sort_unstable();
        lanes.dedup();
        for lane in lanes {
            let mut mine: Vec<Move> = Vec::new();
            for m in self.moves.iter().filter(|m| m.lane == lane) {
                match mine.last_mut() {
                    Some(last) if (last.to + last.n, last.from + last.n) == (m.to, m.from) => last.n += m.n,
                    _ => mine.push(*m),
                }
            }
            let cells: Vec<String> =
                mine.iter().map(|m| format!("{} <- {}", range(m.to, m.n), range(m.from, m.n))).collect();
            let _ = writeln!(out, "    {lane:>2}: {}", cells.join(", "));
        }
        out
    }
}
