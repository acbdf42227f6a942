//! A row of the golden file as a kernel of ours, with the contents that its buffers start with.
//!
//! Every byte is seen: shared and local buffers are filled before the copy and written out after it position by position,
//! registers of all threads, padding and everything outside the region included.

use std::collections::BTreeMap;

use tilewright_ir::interp::{LaunchInput, SplitMix64, put_bits, storage_bytes, storage_elements};
use tilewright_ir::layout::{Iter, TileLayout};
use tilewright_ir::text::print_layout;
use tilewright_ir::{Axis, BufferTy, DType, Dim, Layout, Name, Space, Swizzle};

use crate::model::{self, Case, Cell, Same, Side};

/// Steps that a run may take.
const MAX_STEPS: u64 = 200_000_000;

/// The dtype of ours that holds the same bits. Vectors such as `float16x2` are one integer of their width.
pub(crate) fn dtype(name: &str) -> Result<DType, String> {
    let unknown = || format!("unknown dtype {name}");
    let ours = match name {
        "bfloat16" => "bf16".to_owned(),
        "float8_e4m3fn" => "f8e4m3".to_owned(),
        "float8_e5m2" => "f8e5m2".to_owned(),
        "float4_e2m1fn" => "f4".to_owned(),
        other => other.replace("float", "f").replace("uint", "u").replace("int", "i"),
    };
    if let Some((base, count)) = name.split_once('x').filter(|(b, _)| !b.is_empty()) {
        let count: u32 = count.parse().map_err(|_| unknown())?;
        return DType::parse(&format!("u{}", dtype(base)?.bits() * count)).ok_or_else(unknown);
    }
    DType::parse(&ours).ok_or_else(unknown)
}

/// A side with everything of ours.
struct Ours<'a> {
    side: &'a Side,
    name: &'static str,
    ty: BufferTy,
    /// Elements of storage, of one thread if local.
    storage: i64,
}

fn iters(list: &[model::Iter]) -> Vec<Iter> {
    list.iter().map(|it| Iter::new(it.extent, it.stride, Axis::parse(&it.axis))).collect()
}

fn layout(l: &model::Layout) -> Layout {
    let mut tile = TileLayout { shard: iters(&l.shard), replica: iters(&l.replica), ..TileLayout::default() };
    for (axis, d) in &l.offset {
        tile.offset.insert(Axis::parse(axis), Dim::Const(*d));
    }
    let swizzle =
        l.swizzle.map(|s| Swizzle { per_element: s.per_element, swizzle_len: s.len, atom_len: s.atom, inner: s.inner });
    Layout { swizzle, ..tile.into() }
}

fn ours<'a>(side: &'a Side, name: &'static str) -> Result<Ours<'a>, String> {
    let space = match side.mem.as_str() {
        "global" => Space::Global,
        "local" => Space::Local,
        mem if mem.starts_with("shared") => Space::Shared,
        mem => return Err(format!("unknown memory {mem}")),
    };
    let shape = side.shape.iter().map(|e| Dim::Const(*e)).collect();
    let ty = BufferTy { space, dtype: dtype(&side.dtype)?, shape, layout: Some(layout(&side.layout)), align: None };
    let storage = storage_elements(&ty, &|_| None).map_err(|d| d.message)?;
    Ok(Ours { side, name, ty, storage })
}

impl Ours<'_> {
    fn shape(&self) -> String {
        self.side.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
    }

    fn layout(&self) -> String {
        self.ty.layout.as_ref().map(print_layout).unwrap_or_default()
    }

    /// Elements that are kept, over all threads.
    fn total(&self, threads: i64) -> i64 {
        if self.side.is_local() { self.storage * threads } else { self.storage }
    }

    fn params(&self, threads: i64) -> Vec<String> {
        let (name, dtype) = (self.name, self.ty.dtype);
        if self.ty.space == Space::Global {
            return vec![format!("{name}: global<{dtype}>[{}] layout {}", self.shape(), self.layout())];
        }
        let n = self.total(threads);
        vec![format!("{name}_in: global<{dtype}>[{n}]"), format!("{name}_out: global<{dtype}>[{n}]")]
    }

    fn alloc(&self) -> String {
        match self.ty.space {
            Space::Global => String::new(),
            space => {
                format!("    {space} {}: {}[{}] layout {};\n", self.name, self.ty.dtype, self.shape(), self.layout())
            }
        }
    }

    /// Moves all of the storage between the buffer and `name_in` or `name_out`.
    fn stage(&self, threads: i64, out: bool) -> String {
        if self.ty.space == Space::Global {
            return String::new();
        }
        let (name, total) = (self.name, self.storage);
        let step = |at: &str| match out {
            true => format!("let v = {name}![e]; {name}_out![{at}] = v;"),
            false => format!("let v = {name}_in![{at}]; {name}![e] = v;"),
        };
        if self.side.is_local() {
            let inner = step(&format!("thread.linear * {total} + e"));
            return format!("    for e in 0..{total} {{ {inner} }}\n");
        }
        if self.ty.dtype.bits() < 8 {
            // Two elements of one byte belong to one thread.
            return format!("    if thread.linear == 0 {{ for e in 0..{total} {{ {} }} }}\n", step("e"));
        }
        let trips = (total + threads - 1) / threads;
        let inner = format!("let e = i * {threads} + thread.linear; if e < {total} {{ {} }}", step("e"));
        format!("    for i in 0..{trips} {{ {inner} }}\n")
    }

    fn region(&self, loop_var: Option<&str>) -> String {
        let mut parts: Vec<String> = self.side.region.iter().map(|(lo, hi)| format!("{lo}..{hi}")).collect();
        if let (Some(var), Some(first)) = (loop_var, parts.first_mut()) {
            let lo = self.side.region[0].0;
            *first = if lo == 0 { var.to_owned() } else { format!("{var} + {lo}") };
        }
        format!("{}[{}]", self.name, parts.join(", "))
    }
}

/// The attributes that say the same as the forced variant.
fn attributes(dispatch: Option<&str>) -> String {
    match dispatch {
        None | Some("ldgsts") => String::new(),
        Some(name) => match name.strip_prefix("vec_").and_then(|n| n.strip_suffix('b')) {
            Some(bits) => format!(", vec = {bits}"),
            None => format!(", variant = \"{name}\""),
        },
    }
}

/// The kernel; without `staged` only the copy, to be counted.
pub(crate) fn kernel(case: &Case, staged: bool) -> Result<String, String> {
    let sides = [ours(&case.src, "src")?, ours(&case.dst, "dst")?];
    let params: Vec<String> = sides.iter().flat_map(|s| s.params(case.threads)).collect();
    let mut out = format!("kernel golden({})\n", params.join(", "));
    out += &format!("    launch(grid = [1], block = [{}], warp = 32)\n{{\n", case.threads);
    sides.iter().for_each(|s| out += &s.alloc());
    if staged {
        sides.iter().for_each(|s| out += &s.stage(case.threads, false));
        out += "    sync cta;\n";
    }
    let var = case.loop_dim0.map(|_| "stage");
    let (op, token) = if case.is_async { ("t = copy_async", " wait t;") } else { ("copy", "") };
    let mut copy = format!(
        "{op} {} <- {} by {}{};{token}",
        sides[1].region(var),
        sides[0].region(var),
        case.scope,
        attributes(case.dispatch.as_deref())
    );
    if let Some(trips) = case.loop_dim0 {
        copy = format!("for stage in 0..{trips} {{ {copy} }}");
    }
    if let Some(cond) = case.guard_text()? {
        copy = format!("if {cond} {{ {copy} }}");
    }
    out += &format!("    {copy}\n");
    if staged {
        out += "    sync cta;\n";
        sides.iter().for_each(|s| out += &s.stage(case.threads, true));
    }
    out += "}\n";
    Ok(out)
}

/// The contents of one side, by cell; what is not listed is not there.
pub(crate) struct Contents {
    dtype: DType,
    storage: i64,
    values: Vec<u64>,
}

impl Contents {
    fn random(ours: &Ours<'_>, threads: i64, rng: &mut SplitMix64) -> Contents {
        let bits = ours.ty.dtype.bits();
        let mask = if ours.ty.dtype == DType::Bool { 1 } else { u64::MAX >> (64 - bits.min(64)) };
        let values = (0..ours.total(threads)).map(|_| rng.next() & mask).collect();
        Contents { dtype: ours.ty.dtype, storage: ours.storage, values }
    }

    fn index(&self, (t, m): Cell) -> Option<usize> {
        let inside = (0..self.storage).contains(&m);
        usize::try_from(t * self.storage + m).ok().filter(|i| inside && *i < self.values.len())
    }

    pub(crate) fn get(&self, cell: Cell) -> Option<u64> {
        self.index(cell).map(|i| self.values[i])
    }

    pub(crate) fn set(&mut self, cell: Cell, value: u64) {
        if let Some(i) = self.index(cell) {
            self.values[i] = value;
        }
    }

    /// As bytes.
    pub(crate) fn bytes(&self) -> Result<Vec<u8>, String> {
        let count = self.dtype.bytes_for(self.values.len() as i64).and_then(|n| usize::try_from(n).ok());
        let mut out = vec![0u8; count.ok_or("too large")?];
        for (i, v) in self.values.iter().enumerate() {
            put_bits(&mut out, self.dtype, i as i64, *v).ok_or("outside")?;
        }
        Ok(out)
    }
}

/// What a run starts with, and what the model says that it ends with, by parameter name.
pub(crate) struct Start {
    pub(crate) input: LaunchInput,
    pub(crate) expected: BTreeMap<String, Vec<u8>>,
}

/// Contents for a run with a seed. Cells of the source that must agree do: all places of one element, and elements that
/// share a place at the destination.
pub(crate) fn start(case: &Case, seed: u64) -> Result<Start, String> {
    let (src, dst) = (ours(&case.src, "src")?, ours(&case.dst, "dst")?);
    let mut rng = SplitMix64::new(seed);
    let mut from = Contents::random(&src, case.threads, &mut rng);
    let mut to = Contents::random(&dst, case.threads, &mut rng);
    let cells =
        |side: &Side| -> Vec<Vec<Cell>> { side.elements().iter().map(|x| side.cells(*x, case.threads)).collect() };
    let (have, want) = (cells(&case.src), cells(&case.dst));
    let mut same = Same::default();
    let mut taken: BTreeMap<Cell, Cell> = BTreeMap::new();
    for (a, b) in have.iter().zip(&want) {
        let Some(first) = a.first() else { continue };
        a.iter().for_each(|c| same.join(*first, *c));
        for c in b {
            let other = *taken.entry(*c).or_insert(*first);
            same.join(other, *first);
        }
    }
    for c in have.iter().flatten() {
        let value = from.get(same.root(*c)).ok_or("a place outside the storage")?;
        from.set(*c, value);
    }
    let before = [from.bytes()?, to.bytes()?];
    for group in case.groups() {
        for (a, b) in have.iter().zip(&want) {
            let active = |c: &&Cell| !case.dst.is_local() || group.contains(&c.0) && case.reaches(c.0);
            let Some(value) = a.first().and_then(|c| from.get(*c)) else { continue };
            b.iter().filter(active).for_each(|c| to.set(*c, value));
        }
    }
    let after = [from.bytes()?, to.bytes()?];
    collect([&src, &dst], before, after, seed)
}

fn collect(sides: [&Ours<'_>; 2], before: [Vec<u8>; 2], after: [Vec<u8>; 2], seed: u64) -> Result<Start, String> {
    let mut buffers: Vec<(Name, Vec<u8>)> = Vec::new();
    let mut expected = BTreeMap::new();
    for ((side, before), after) in sides.into_iter().zip(before).zip(after) {
        let name = side.name;
        if side.ty.space == Space::Global {
            let size = storage_bytes(&side.ty, &|_| None).map_err(|d| d.message)?;
            assert_eq!(size, before.len() as i64, "storage of `{name}`");
            buffers.push((Name::new(name), before));
            expected.insert(name.to_owned(), after);
        } else {
            let empty = vec![0u8; before.len()];
            expected.insert(format!("{name}_in"), before.clone());
            expected.insert(format!("{name}_out"), after);
            buffers.push((Name::new(&format!("{name}_in")), before));
            buffers.push((Name::new(&format!("{name}_out")), empty));
        }
    }
    let input = LaunchInput {
        ranks: 1,
        scalars: vec![Default::default()],
        buffers: vec![buffers.into_iter().collect()],
        seed,
        max_steps: MAX_STEPS,
        ..LaunchInput::default()
    };
    Ok(Start { input, expected })
}
