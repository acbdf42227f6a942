//! A small machine that runs the statements of one copy for all threads of a CTA, in lock step, with one value an
//! element, and compares with what the layouts of the whole buffers say.
//!
//! It shares no code with the partition: places come from applying whole layouts to logical indices, owners from comparing
//! coordinates. It also checks what hardware would not forgive: places outside the storage, accesses that are not aligned
//! to their width, bytes written by two threads.

use std::collections::{BTreeMap, BTreeSet};

use super::{CopyView, Operand, Queues};
use tilewright_ir::facts::Facts;
use tilewright_ir::layout::Interval;
use tilewright_ir::threads::ActiveSet;
use tilewright_ir::{
    Axis, BinOp, Block, BufferTy, CopyAttrs, DType, Dim, Expr, ExprKind, Launch, Layout, Name, Place, PlaceIndex,
    PrimArg, PrimOp, Scope, Space, Span, Stmt, StmtKind, UnOp, WarpWidth,
};

/// A value: which logical element of the source (or what was there before).
pub(crate) type Id = i64;
/// What the destination holds before.
pub(crate) const OLD: Id = -1;

/// One side of a test copy.
#[derive(Clone, Debug)]
pub(crate) struct Buf {
    pub(crate) space: Space,
    pub(crate) shape: Vec<i64>,
    pub(crate) layout: Layout,
    pub(crate) region: Vec<(Dim, i64)>,
    pub(crate) align: Option<u32>,
    pub(crate) rank: Option<Expr>,
}

/// A test copy.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) dst: Buf,
    pub(crate) src: Buf,
    pub(crate) dtype: DType,
    pub(crate) scope: Scope,
    pub(crate) block: i64,
    pub(crate) warp: u32,
    pub(crate) guard: Option<Expr>,
    pub(crate) facts: Facts,
    pub(crate) attrs: CopyAttrs,
}

impl Buf {
    pub(crate) fn whole(space: Space, shape: &[i64], layout: Layout) -> Buf {
        let region = shape.iter().map(|n| (Dim::ZERO, *n)).collect();
        Buf { space, shape: shape.to_vec(), layout, region, align: None, rank: None }
    }

    /// The region `begin..begin + extent` in each dimension.
    pub(crate) fn part(mut self, region: &[(i64, i64)]) -> Buf {
        self.region = region.iter().map(|(b, e)| (Dim::Const(*b), *e)).collect();
        self
    }

    fn shape_dims(&self) -> Vec<Dim> {
        self.shape.iter().map(|n| Dim::Const(*n)).collect()
    }

    fn operand(&self, name: &str, dtype: DType, warp: u32, facts: &Facts) -> Operand {
        let region: Vec<Interval> =
            self.region.iter().map(|(b, e)| Interval { begin: b.clone(), extent: Dim::Const(*e) }).collect();
        let shape = self.shape_dims();
        let slice = self.layout.slice(&shape, &region, Some(warp), facts).map_err(|e| e.to_string());
        let ty = BufferTy { space: self.space, dtype, shape, layout: Some(self.layout.clone()), align: self.align };
        Operand { buf: Name::new(name), ty, rank: self.rank.clone(), region, slice }
    }

    /// Places of logical index `at`: `(coordinates on thread axes, address)` for the element and its replicas.
    fn places(&self, at: &[i64]) -> Vec<(Vec<(Axis, i64)>, i64)> {
        let layout = self.layout.over(&self.shape_dims());
        let flat = at.iter().zip(&self.shape).fold(0, |f, (i, n)| f * n + i);
        let point = layout.tile.apply_flat(flat).unwrap();
        let mut out = vec![point.into_iter().collect::<BTreeMap<Axis, i64>>()];
        for it in &layout.tile.replica {
            let (e, s) = (it.extent.as_const().unwrap(), it.stride.as_const().unwrap());
            out = out
                .iter()
                .flat_map(|p| {
                    (0..e).map(|k| {
                        let mut p = p.clone();
                        *p.entry(it.axis.clone()).or_insert(0) += k * s;
                        p
                    })
                })
                .collect();
        }
        let axes = layout.tile.thread_axes();
        let split = |p: BTreeMap<Axis, i64>| {
            let m = p.get(&Axis::M).copied().unwrap_or(0);
            let m = layout.swizzle.map_or(m, |s| s.apply(m));
            (axes.iter().map(|a| (a.clone(), p.get(a).copied().unwrap_or(0))).collect(), m)
        };
        out.into_iter().map(split).collect()
    }

    fn indices(extents: &[i64]) -> Vec<Vec<i64>> {
        let mut out = vec![Vec::new()];
        for e in extents {
            out = out.iter().flat_map(|p| (0..*e).map(|k| [p.clone(), vec![k]].concat())).collect();
        }
        out
    }

    /// Elements of storage.
    fn storage(&self) -> i64 {
        let last = Buf::indices(&self.shape).iter().flat_map(|at| self.places(at)).map(|(_, m)| m).max();
        last.unwrap_or(0) + 1
    }
}

/// Coordinate of thread `t` on an axis.
fn coordinate(axis: &Axis, t: i64, warp: i64) -> i64 {
    match axis {
        Axis::LaneId => t % warp,
        Axis::WarpId => t / warp,
        Axis::WidInWg => t / warp % 4,
        Axis::WgId => t / warp / 4,
        Axis::TidInWg => t % (4 * warp),
        Axis::Tx => t,
        other => panic!("axis {other} in a test"),
    }
}

impl Case {
    pub(crate) fn launch(&self) -> Launch {
        let warp = WarpWidth::Lanes(self.warp);
        Launch { grid: vec![Dim::ONE], block: vec![Dim::Const(self.block)], warp, span: Span::NONE }
    }

    pub(crate) fn active(&self) -> ActiveSet {
        let all = ActiveSet::all(&self.launch(), self.warp);
        match &self.guard {
            Some(cond) => all.narrow(cond, &tilewright_ir::env::Env::default()),
            None => all,
        }
    }

    pub(crate) fn view(&self) -> CopyView {
        let dst = self.dst.operand("dst", self.dtype, self.warp, &self.facts);
        CopyView {
            extents: dst.region.iter().map(|i| i.extent.clone()).filter(|e| !e.is(1)).collect(),
            dst,
            src: self.src.operand("src", self.dtype, self.warp, &self.facts),
            scope: self.scope,
            is_async: false,
            attrs: self.attrs.clone(),
            notify_queue: None,
            notify_shared: false,
            gate: None,
            queues: Queues { plain: 0, held: Some(1) },
            later_ranks: Vec::new(),
            active: self.active(),
            cta_threads: self.block as u32,
            block: [self.block, 1, 1],
            warp: self.warp,
            facts: self.facts.clone(),
            src_written: false,
            span: Span::NONE,
        }
    }

    /// Runs the block and says what is wrong with it.
    pub(crate) fn check(&self, block: &Block) -> Result<Stats, String> {
        let mut machine = Machine::new(self);
        let active = self.active();
        let mut threads: Vec<Thread> =
            active.iter().map(|t| Thread { t: i64::from(t), vars: BTreeMap::new() }).collect();
        machine.block(block, &mut threads)?;
        machine.compare(&active)?;
        Ok(machine.stats)
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stats {
    /// Vector accesses run, over all threads.
    pub(crate) vectors: usize,
    /// Single elements moved.
    pub(crate) elements: usize,
    /// Matrix instructions run, over all warps.
    pub(crate) matrices: usize,
}

#[derive(Clone, Debug)]
struct Thread {
    t: i64,
    vars: BTreeMap<Name, i64>,
}

struct Machine<'a> {
    case: &'a Case,
    /// Of `dst` and `src`: elements of memory, or of thread `t`'s registers.
    memory: [BTreeMap<(i64, i64), Id>; 2],
    size: [i64; 2],
    /// Thread that last wrote a byte of the destination, and whether it wrote a part of it only.
    writer: BTreeMap<i64, (i64, bool)>,
    stats: Stats,
}

impl<'a> Machine<'a> {
    fn new(case: &'a Case) -> Machine<'a> {
        let mut src = BTreeMap::new();
        let warp = i64::from(case.warp);
        for (id, at) in Buf::indices(&case.src.shape).into_iter().enumerate() {
            for (coords, m) in case.src.places(&at) {
                for t in 0..case.block {
                    if coords.iter().all(|(a, v)| coordinate(a, t, warp) == *v) {
                        src.insert((storage_of(case.src.space, t), m), id as Id);
                    }
                }
            }
        }
        let size = [case.dst.storage(), case.src.storage()];
        Machine { case, memory: [BTreeMap::new(), src], size, writer: BTreeMap::new(), stats: Stats::default() }
    }

    fn side(&self, place: &Place) -> Result<usize, String> {
        match place.buf.as_str() {
            "dst" => Ok(0),
            "src" => Ok(1),
            other => Err(format!("unknown buffer {other}")),
        }
    }

    /// Storage, side and checked element address of a place, for an access of `n` elements.
    fn locate(&self, place: &Place, thread: &Thread, n: i64) -> Result<(usize, i64, i64), String> {
        let side = self.side(place)?;
        let PlaceIndex::Flat(e) = &place.index else { return Err("logical place".to_owned()) };
        let m = eval(e, thread, self.case.warp)?;
        let buf = [&self.case.dst, &self.case.src][side];
        if m < 0 || m + n > self.size[side] {
            return Err(format!("thread {}: {}![{m}] + {n} of {} elements", thread.t, place.buf, self.size[side]));
        }
        if m % n != 0 {
            return Err(format!("thread {}: {}![{m}] is not aligned to {n} elements", thread.t, place.buf));
        }
        Ok((side, storage_of(buf.space, thread.t), m))
    }

    fn read(&self, place: &Place, thread: &Thread, n: i64) -> Result<Vec<Id>, String> {
        let (side, store, m) = self.locate(place, thread, n)?;
        Ok((m..m + n).map(|k| self.memory[side].get(&(store, k)).copied().unwrap_or(OLD)).collect())
    }

    fn write(&mut self, place: &Place, thread: &Thread, values: &[Id]) -> Result<(), String> {
        let (side, store, m) = self.locate(place, thread, values.len() as i64)?;
        if side != 0 {
            return Err("the source is written".to_owned());
        }
        let bits = i64::from(self.case.dtype.bits());
        for (k, v) in values.iter().enumerate() {
            let at = m + k as i64;
            self.memory[0].insert((store, at), *v);
            if self.case.dst.space != Space::Local && bits < 8 {
                let part = values.len() as i64 * bits < 8;
                let before = self.writer.insert(at * bits / 8, (thread.t, part));
                if let Some((by, was_part)) = before
                    && by != thread.t
                    && (part || was_part)
                {
                    return Err(format!("threads {by} and {} write one byte, at element {at}", thread.t));
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block, threads: &mut [Thread]) -> Result<(), String> {
        for stmt in block {
            self.stmt(stmt, threads)?;
        }
        Ok(())
    }

    fn stmt(&mut self, stmt: &Stmt, threads: &mut [Thread]) -> Result<(), String> {
        match &stmt.kind {
            StmtKind::Let { name, value, .. } => {
                for th in threads {
                    let v = eval(value, th, self.case.warp)?;
                    th.vars.insert(name.clone(), v);
                }
            }
            StmtKind::Load { name, from } => {
                for th in threads {
                    let v = self.read(from, th, 1)?[0];
                    th.vars.insert(name.clone(), v);
                }
            }
            StmtKind::Store { to, value } => {
                for th in threads {
                    let v = eval(value, th, self.case.warp)?;
                    self.write(to, th, &[v])?;
                    self.stats.elements += 1;
                }
            }
            StmtKind::For { var, lo, hi, body, .. } => self.repeat(var, lo, hi, body, threads)?,
            StmtKind::If { cond, then, els: None } => {
                let mut inside = Vec::new();
                for th in threads.iter() {
                    if eval(cond, th, self.case.warp)? != 0 {
                        inside.push(th.clone());
                    }
                }
                self.block(then, &mut inside)?;
            }
            StmtKind::Prim(op) if op.op == "vec.copy" => self.vec_copy(op, threads)?,
            StmtKind::Prim(op) if op.op == "nv.ldmatrix" || op.op == "nv.stmatrix" => self.matrix(op, threads)?,
            other => return Err(format!("unexpected {other:?}")),
        }
        Ok(())
    }

    fn repeat(&mut self, var: &Name, lo: &Expr, hi: &Expr, body: &Block, threads: &mut [Thread]) -> Result<(), String> {
        let Some(first) = threads.first() else { return Ok(()) };
        let (lo, hi) = (eval(lo, first, self.case.warp)?, eval(hi, first, self.case.warp)?);
        for i in lo..hi {
            for th in threads.iter_mut() {
                th.vars.insert(var.clone(), i);
            }
            self.block(body, threads)?;
        }
        Ok(())
    }

    fn vec_copy(&mut self, op: &PrimOp, threads: &mut [Thread]) -> Result<(), String> {
        let n = op.attr_int("n").ok_or("no n")?;
        let [PrimArg::Place(dst), PrimArg::Place(src)] = op.args.as_slice() else { return Err("operands".to_owned()) };
        if ![8, 16, 32, 64, 128].contains(&(n * i64::from(self.case.dtype.bits()))) {
            return Err(format!("{n} elements of {} are no access", self.case.dtype));
        }
        for th in threads {
            let values = self.read(src, th, n)?;
            self.write(dst, th, &values)?;
            self.stats.vectors += 1;
        }
        Ok(())
    }

    /// By the definition in the op table.
    fn matrix(&mut self, op: &PrimOp, threads: &mut [Thread]) -> Result<(), String> {
        let num = op.attr_int("num").ok_or("no num")?;
        let trans = op.attr_bool("trans");
        let load = op.op == "nv.ldmatrix";
        let places: Vec<&Place> = op
            .args
            .iter()
            .map(|a| match a {
                PrimArg::Place(p) => Ok(p),
                PrimArg::Expr(_) => Err("operand".to_owned()),
            })
            .collect::<Result<_, _>>()?;
        for warp in threads.chunks(32) {
            if warp.len() != 32 || warp.iter().enumerate().any(|(k, th)| th.t % 32 != k as i64) {
                return Err("a matrix instruction by part of a warp".to_owned());
            }
            self.stats.matrices += 1;
            // All 32 addresses must be good, used or not.
            let rows = warp.iter().map(|th| self.locate(places[0], th, 8)).collect::<Result<Vec<_>, _>>()?;
            for i in 0..num as usize {
                for (lane, th) in warp.iter().enumerate() {
                    for e in 0..2 {
                        let (row, col) = (lane / 4, 2 * (lane % 4) + e);
                        let (row, col) = if trans { (col, row) } else { (row, col) };
                        let (_, _, start) = rows[8 * i + row];
                        self.matrix_element(&places, th, i, start + col as i64, e as i64, load)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn matrix_element(
        &mut self,
        places: &[&Place],
        th: &Thread,
        i: usize,
        m: i64,
        e: i64,
        load: bool,
    ) -> Result<(), String> {
        let mut reg = places[1 + i].clone();
        self.locate(&reg, th, 2)?; // a pair of registers is one 32-bit register
        let PlaceIndex::Flat(at) = &reg.index else { return Err("logical".to_owned()) };
        reg.index = PlaceIndex::Flat(at.clone().add(Expr::int(e)));
        let mut memory = places[0].clone();
        memory.index = PlaceIndex::Flat(Expr::int(m));
        let (to, from) = if load { (reg, memory) } else { (memory, reg) };
        let values = self.read(&from, th, 1)?;
        self.write(&to, th, &values)
    }

    /// Every element of the region is at every place it should be, and nothing else has changed.
    fn compare(&self, active: &ActiveSet) -> Result<(), String> {
        let case = self.case;
        let warp = i64::from(case.warp);
        let size = i64::from(case.scope.threads(case.warp, case.block as u32));
        let mut allowed = BTreeSet::new();
        let groups: BTreeSet<i64> = active.iter().map(|t| i64::from(t) / size).collect();
        for group in groups {
            let members: Vec<i64> = active.iter().map(i64::from).filter(|t| t / size == group).collect();
            let begin = |buf: &Buf| -> Vec<i64> {
                let th = Thread { t: members[0], vars: BTreeMap::new() };
                buf.region.iter().map(|(b, _)| eval(&b.to_expr(), &th, case.warp).unwrap()).collect()
            };
            let indices = |buf: &Buf| -> Vec<Vec<i64>> {
                let extents: Vec<i64> = buf.region.iter().map(|(_, e)| *e).collect();
                let b = begin(buf);
                Buf::indices(&extents).into_iter().map(|at| at.iter().zip(&b).map(|(i, b)| i + b).collect()).collect()
            };
            for (to, from) in indices(&case.dst).into_iter().zip(indices(&case.src)) {
                let id = from.iter().zip(&case.src.shape).fold(0, |f, (i, n)| f * n + i);
                for (coords, m) in case.dst.places(&to) {
                    let stores: BTreeSet<i64> = match case.dst.space {
                        Space::Local => members
                            .iter()
                            .copied()
                            .filter(|t| coords.iter().all(|(a, v)| coordinate(a, *t, warp) == *v))
                            .collect(),
                        _ => BTreeSet::from([0]),
                    };
                    for store in stores {
                        allowed.insert((store, m));
                        let have = self.memory[0].get(&(store, m)).copied().unwrap_or(OLD);
                        if have != id {
                            return Err(format!("dst{to:?} at {m} (thread {store}) is {have}, should be {id}"));
                        }
                    }
                }
            }
        }
        match self.memory[0].keys().find(|k| !allowed.contains(k)) {
            Some((store, m)) => Err(format!("wrote {m} (thread {store}) outside the destination")),
            None => Ok(()),
        }
    }
}

fn storage_of(space: Space, t: i64) -> i64 {
    if space == Space::Local { t } else { 0 }
}

fn eval(e: &Expr, th: &Thread, warp: u32) -> Result<i64, String> {
    use tilewright_ir::Special;
    let warp_i = i64::from(warp);
    Ok(match &e.kind {
        ExprKind::Int(v) => *v,
        ExprKind::Bool(b) => i64::from(*b),
        ExprKind::Var(n) => *th.vars.get(n).ok_or_else(|| format!("`{n}` is not set"))?,
        ExprKind::Special(Special::Lane) => th.t % warp_i,
        ExprKind::Special(Special::Warp) => th.t / warp_i,
        ExprKind::Special(Special::ThreadLinear | Special::Thread(0)) => th.t,
        ExprKind::Unary(UnOp::Neg, a) => -eval(a, th, warp)?,
        ExprKind::Unary(UnOp::Not, a) => i64::from(eval(a, th, warp)? == 0),
        ExprKind::Select(c, a, b) => eval(if eval(c, th, warp)? != 0 { a } else { b }, th, warp)?,
        ExprKind::Binary(op, a, b) => {
            let (x, y) = (eval(a, th, warp)?, eval(b, th, warp)?);
            match op {
                BinOp::Add => x + y,
                BinOp::Sub => x - y,
                BinOp::Mul => x * y,
                BinOp::Div => x.checked_div(y).unwrap_or(0),
                BinOp::Rem => x.checked_rem(y).unwrap_or(0),
                BinOp::And => x & y,
                BinOp::Or => x | y,
                BinOp::Xor => x ^ y,
                BinOp::Shl => x << y,
                BinOp::Shr => x >> y,
                BinOp::Eq => i64::from(x == y),
                BinOp::Lt => i64::from(x < y),
                BinOp::Ge => i64::from(x >= y),
                BinOp::LAnd => i64::from(x != 0 && y != 0),
                BinOp::LOr => i64::from(x != 0 || y != 0),
                other => return Err(format!("operator {other:?}")),
            }
        }
        other => return Err(format!("expression {other:?}")),
    })
}
