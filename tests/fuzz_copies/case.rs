//! A case as data, and its text.
//!
//! Must hold: the text is a whole `.tile` file with a run block, so that a failing case is run again with `tilewright run`.

use std::fmt::Write;

use tilewright_ir::text::print_layout;
use tilewright_ir::{DType, Layout, Scope, Space};

use crate::owners;

/// Where a side of the copy lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Device memory.
    Global,
    /// This rank's window.
    Window,
    /// The next rank's window.
    Peer,
    /// Shared memory.
    Shared,
    /// Registers.
    Local,
}

impl Place {
    /// The memory space.
    pub fn space(self) -> Space {
        match self {
            Place::Global => Space::Global,
            Place::Window | Place::Peer => Space::Window,
            Place::Shared => Space::Shared,
            Place::Local => Space::Local,
        }
    }
}

/// First index of a region in one dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// A number.
    At(i64),
    /// A scalar parameter of this value.
    Param(i64),
    /// `it * step + base` with the loop's variable.
    Loop {
        /// Step of each trip.
        step: i64,
        /// Index in the first trip.
        base: i64,
    },
    /// The number of the group that carries the copy out.
    Group,
}

/// One operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Side {
    /// Where.
    pub place: Place,
    /// Extents of the buffer.
    pub shape: Vec<i64>,
    /// Extents of the region; without ones they are the same on both sides.
    pub extents: Vec<i64>,
    /// Begin of the region.
    pub begin: Vec<Begin>,
    /// Row-major where there is none.
    pub layout: Option<Layout>,
    /// Alignment of the base in bytes, where it is stated.
    pub align: Option<u32>,
    /// The dimension whose extent is the `where` parameter `n`.
    pub symbolic: Option<usize>,
    /// The dimension whose extent is a `where` parameter of this side's own; the region takes a part that is written out.
    pub pitch: Option<usize>,
}

/// How thread ids are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compare {
    /// `==`
    Eq,
    /// `<`
    Lt,
    /// `>=`
    Ge,
}

/// One comparison of a guard, such as `thread.lane < 8`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard {
    /// `lane`, `warp`, `linear`.
    pub id: &'static str,
    /// Comparison.
    pub op: Compare,
    /// With what.
    pub value: i64,
}

/// A kernel with one copy under test.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Lanes of a warp.
    pub warp: u32,
    /// Threads of the CTA.
    pub threads: u32,
    /// Elements.
    pub dtype: DType,
    /// Who carries the copy out.
    pub scope: Scope,
    /// Destination.
    pub dst: Side,
    /// Source.
    pub src: Side,
    /// Comparisons around the copy, all of which must hold.
    pub guard: Vec<Guard>,
    /// Trips of the loop around the copy; 1 is no loop.
    pub trips: i64,
    /// Width that is asked for, in bits.
    pub vec: Option<u32>,
    /// Number of ranks, where one side is a peer's.
    pub ranks: u32,
    /// `carry = any`.
    pub carry_any: bool,
    /// Does the copy notify a signal, for which the kernel then waits?
    pub notify: bool,
    /// `copy_async`, and `wait` right behind it?
    pub is_async: bool,
    /// A number that is said to divide `n`; 1 says nothing.
    pub divides: i64,
}

/// Number of the group of `scope` that a thread is in; the empty string where there is one group.
pub(crate) fn group_text(scope: Scope, threads: u32, warp: u32) -> &'static str {
    if groups(scope, threads, warp) <= 1 {
        return "0";
    }
    match scope {
        Scope::Thread => "thread.linear",
        Scope::Warp => "thread.warp",
        Scope::Warpgroup => "thread.warp / 4",
        Scope::Cta => "0",
    }
}

/// Groups of `scope` in the CTA.
pub(crate) fn groups(scope: Scope, threads: u32, warp: u32) -> i64 {
    i64::from(threads.div_ceil(scope.threads(warp, threads).max(1)))
}

fn guard_text(guard: &[Guard]) -> String {
    let one = |g: &Guard| {
        let op = match g.op {
            Compare::Eq => "==",
            Compare::Lt => "<",
            Compare::Ge => ">=",
        };
        format!("thread.{} {op} {}", g.id, g.value)
    };
    guard.iter().map(one).collect::<Vec<_>>().join(" && ")
}

fn list(items: impl IntoIterator<Item = i64>) -> String {
    items.into_iter().map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
}

impl Side {
    /// `[4, 8] layout …`
    fn type_text(&self, name: &str) -> String {
        let extent = |(d, n): (usize, &i64)| match d {
            _ if self.symbolic == Some(d) => "n".to_owned(),
            _ if self.pitch == Some(d) => format!("{name}_n"),
            _ => n.to_string(),
        };
        let mut out = format!("[{}]", self.shape.iter().enumerate().map(extent).collect::<Vec<_>>().join(", "));
        if let Some(l) = &self.layout {
            let _ = write!(out, " layout {}", print_layout(l));
        }
        if let Some(a) = self.align {
            let _ = write!(out, " align {a}");
        }
        out
    }

    fn region_text(&self, name: &str, group: &str) -> String {
        let mut entries = Vec::new();
        for (d, begin) in self.begin.iter().enumerate() {
            let (n, e) = (self.shape[d], self.extents[d]);
            let lo = match begin {
                Begin::At(0) if e == n && self.pitch != Some(d) && (self.symbolic == Some(d) || n > 1) => {
                    entries.push("..".to_owned());
                    continue;
                }
                Begin::At(b) if e > 1 => {
                    entries.push(format!("{b}..{}", b + e));
                    continue;
                }
                Begin::At(b) => b.to_string(),
                Begin::Param(_) => format!("{name}{d}"),
                Begin::Loop { step: 1, base: 0 } => "it".to_owned(),
                Begin::Loop { step, base } => format!("it * {step} + {base}"),
                Begin::Group => group.to_owned(),
            };
            entries.push(if e == 1 { lo } else { format!("{lo}..{lo} + {e}") });
        }
        let rank = if self.place == Place::Peer { "@next" } else { "" };
        format!("{name}{rank}[{}]", entries.join(", "))
    }
}

/// The parts of the file while it is written.
#[derive(Default)]
struct Parts {
    params: Vec<String>,
    wheres: Vec<String>,
    settings: Vec<String>,
    allocs: Vec<String>,
    before: Vec<String>,
    after: Vec<String>,
    seed: u32,
}

impl Parts {
    fn buffer(&mut self, text: String, name: &str) {
        self.params.push(text);
        self.seed += 1;
        self.settings.push(format!("{name} = random(seed = {});", self.seed));
    }
}

impl Case {
    /// How the frame's copies of registers are forced: element by element, so that they share little with what is tested.
    /// Elements below a byte have to go as whole bytes.
    fn frame(&self) -> &'static str {
        if self.dtype.bits() < 8 { "" } else { ", variant = \"fallback\"" }
    }

    /// Is a window of the node used?
    pub fn has_window(&self) -> bool {
        [&self.dst, &self.src].iter().any(|s| matches!(s.place, Place::Window | Place::Peer))
    }

    /// Is it a copy between ranks?
    pub fn has_peer(&self) -> bool {
        [&self.dst, &self.src].iter().any(|s| s.place == Place::Peer)
    }

    /// The whole file.
    pub fn text(&self) -> String {
        let mut p = Parts::default();
        if self.has_window() {
            p.params.push("comm: devcomm".to_owned());
        }
        self.side(&mut p, &self.dst, "dst");
        self.side(&mut p, &self.src, "src");
        if let Some(n) = [&self.dst, &self.src].iter().find_map(|s| s.symbolic.map(|d| s.shape[d])) {
            p.wheres.push("n: u64".to_owned());
            p.settings.push(format!("n = {n};"));
        }
        let mut out = format!("kernel k({})\n", p.params.join(", "));
        if !p.wheres.is_empty() {
            let _ = writeln!(out, "    where({})", p.wheres.join(", "));
        }
        let _ = writeln!(out, "    launch(grid = [1], block = [{}], warp = {})\n{{", self.threads, self.warp);
        if self.notify {
            out.push_str("    signal ready;\n");
        }
        if self.divides > 1 {
            let _ = writeln!(out, "    assume(n % {} == 0);", self.divides);
        }
        for line in p.allocs.iter().chain(&p.before) {
            let _ = writeln!(out, "    {line}");
        }
        if self.has_peer() {
            out.push_str("    let next = (me + 1) % comm.lsa_size;\n");
        }
        out.push_str("    sync cta;\n");
        self.copy(&mut out);
        if self.notify {
            out.push_str("    wait ready from (me + comm.lsa_size - 1) % comm.lsa_size;\n");
        }
        out.push_str("    sync cta;\n");
        p.after.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
        out.push_str("}\n\nrun k {\n");
        if self.has_peer() {
            let _ = writeln!(out, "    ranks = {};", self.ranks);
        }
        p.settings.iter().for_each(|line| out.push_str(&format!("    {line}\n")));
        out.push_str("}\n");
        out
    }

    /// The copy under test with its guard and loop.
    fn copy(&self, out: &mut String) {
        let group = group_text(self.scope, self.threads, self.warp);
        let (dst, src) = (self.dst.region_text("dst", group), self.src.region_text("src", group));
        let vec = self.vec.map_or(String::new(), |v| format!(", vec = {v}"));
        let carry = if self.carry_any { ", carry = any" } else { "" };
        let notify = if self.notify { ", notify ready" } else { "" };
        let mut text = format!("copy {dst} <- {src} by {}{vec}{carry}{notify};", self.scope);
        if self.is_async {
            text = format!("t = {} wait t;", text.replacen("copy", "copy_async", 1));
        }
        if self.trips > 1 {
            text = format!("for it in 0..{} {{ {text} }}", self.trips);
        }
        if !self.guard.is_empty() {
            text = format!("if {} {{ {text} }}", guard_text(&self.guard));
        }
        let _ = writeln!(out, "    {text}");
    }

    fn side(&self, p: &mut Parts, side: &Side, name: &'static str) {
        let (t, ty) = (self.dtype, side.type_text(name));
        if let Some(d) = side.pitch {
            p.wheres.push(format!("{name}_n: u64"));
            p.settings.push(format!("{name}_n = {};", side.shape[d]));
        }
        match side.place {
            Place::Global => p.buffer(format!("{name}: global<{t}>{ty}"), name),
            Place::Window | Place::Peer => p.buffer(format!("{name}: window<{t}>{ty}"), name),
            Place::Shared => {
                p.allocs.push(format!("shared {name}: {t}{ty};"));
                let shape = list(side.shape.iter().copied());
                p.buffer(format!("{name}_in: global<{t}>[{shape}]"), &format!("{name}_in"));
                p.before.push(format!("copy {name} <- {name}_in by cta;"));
                if name == "dst" {
                    p.buffer(format!("{name}_out: global<{t}>[{shape}]"), &format!("{name}_out"));
                    p.after.push(format!("copy {name}_out <- {name} by cta;"));
                }
            }
            Place::Local => self.registers(p, side, name),
        }
        for (d, begin) in side.begin.iter().enumerate() {
            if let Begin::Param(v) = begin {
                p.params.push(format!("{name}{d}: i32"));
                p.settings.push(format!("{name}{d} = {v};"));
            }
        }
    }

    /// Registers are filled and brought back by the smallest groups that hold one copy of the whole, replica by replica.
    fn registers(&self, p: &mut Parts, side: &Side, name: &'static str) {
        let t = self.dtype;
        p.allocs.push(format!("local {name}: {t}{};", side.type_text(name)));
        let tile = side.layout.as_ref().map(|l| &l.tile);
        let scope = tile.map_or(Scope::Thread, owners::scope);
        // Whoever holds a source element may give it, so all that carry one copy out together hold the same.
        let filled = if name == "src" { scope.max(self.scope) } else { scope };
        let of = |s| (groups(s, self.threads, self.warp), group_text(s, self.threads, self.warp));
        let shape = |count| list(std::iter::once(count).chain(side.shape.iter().copied()));
        let rest = ", ..".repeat(side.shape.len());
        let (count, group) = of(filled);
        p.buffer(format!("{name}_in: global<{t}>[{}]", shape(count)), &format!("{name}_in"));
        p.before.push(format!("copy {name} <- {name}_in[{group}{rest}] by {scope}{};", self.frame()));
        if name != "dst" {
            return;
        }
        let (count, group) = of(scope);
        let shape = shape(count);
        let classes = tile.map_or_else(|| vec![Vec::new()], |tile| owners::classes(tile, self.warp));
        p.buffer(format!("{name}_out: global<{t}>[{}, {shape}]", classes.len()), &format!("{name}_out"));
        for (c, guard) in classes.iter().enumerate() {
            let copy = format!("copy {name}_out[{c}, {group}{rest}] <- {name} by {scope}{};", self.frame());
            p.after.push(if guard.is_empty() { copy } else { format!("if {} {{ {copy} }}", guard_text(guard)) });
        }
    }
}
