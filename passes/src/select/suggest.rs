//! `suggest`: other layouts of a shared buffer that remove bank conflicts or let a faster variant carry a copy.
//!
//! What must hold: nothing is offered that was not tried. Each candidate layout is put into the kernel, the kernel goes
//! through the whole pipeline, and it is offered for a copy only if this copy gets cheaper or freer of conflicts and no
//! other copy of the kernel gets dearer. This costs many compiles of a kernel, so only the report asks for it.

use tilewright_ir::text::print_layout;
use tilewright_ir::{
    Alloc, Axis, Block, BufferTy, Dim, Item, Iter, Kernel, Layout, Module, Name, Space, StmtKind, Swizzle, TileLayout,
};

use super::engine::time;
use crate::pipeline::{self, CandidateDecision, CopyDecision, PassCx, Verdict};

/// Bytes of the widest access: what a padding or a swizzle keeps together.
const ACCESS_BITS: i64 = 128;
/// Bits of a word of a bank.
const BANK_BITS: i64 = 32;
/// Kernels with more copies than this get no suggestions: each candidate layout compiles all of them.
const MOST_COPIES: usize = 256;
/// Buffers of a kernel that are tried, in the order of their copies.
const MOST_BUFFERS: usize = 16;

/// For each of `decisions` (of compiling `tile` with `cx`), what would make it better; empty for most.
pub fn suggest(tile: &Module, cx: &PassCx, decisions: &[CopyDecision]) -> Vec<Vec<String>> {
    let mut out = vec![Vec::new(); decisions.len()];
    for kernel in tile.kernels() {
        let mine: Vec<usize> = (0..decisions.len()).filter(|i| decisions[*i].kernel == kernel.name).collect();
        if mine.len() > MOST_COPIES {
            continue;
        }
        for buffer in buffers(&mine, decisions) {
            let trials = trials(kernel, &buffer, cx, mine.len());
            for (position, i) in mine.iter().enumerate() {
                if in_trouble(&decisions[*i], &buffer) {
                    out[*i].extend(offers(&trials, position, &mine, decisions, &buffer));
                }
            }
        }
    }
    out
}

/// Shared buffers of copies that could be better, each once.
fn buffers(mine: &[usize], decisions: &[CopyDecision]) -> Vec<Name> {
    let mut names: Vec<Name> = Vec::new();
    for decision in mine.iter().map(|i| &decisions[*i]) {
        for conflict in decision.conflicts.iter().filter(|c| in_trouble(decision, &c.operand)) {
            if !names.contains(&conflict.operand) && names.len() < MOST_BUFFERS {
                names.push(conflict.operand.clone());
            }
        }
    }
    names
}

/// Does the copy access the buffer with conflicts, or was a variant turned away for its layouts?
fn in_trouble(decision: &CopyDecision, buffer: &Name) -> bool {
    let turned_away = decision.candidates.iter().any(|c| c.about_layout);
    decision.conflicts.iter().any(|c| c.operand == *buffer && (c.ways > 1 || turned_away))
}

/// A layout that fits, and what becomes of the kernel's copies.
struct Trial {
    layout: Layout,
    /// Bytes that the buffer grows.
    growth: i64,
    decisions: Vec<CopyDecision>,
}

/// Tries every candidate layout of a buffer.
fn trials(kernel: &Kernel, buffer: &Name, cx: &PassCx, copies: usize) -> Vec<Trial> {
    let mut found = Vec::new();
    allocs(&kernel.body, buffer, &mut found);
    // A name that is made twice is two buffers; which of them a suggestion is about could not be said.
    let [alloc] = found.as_slice() else { return Vec::new() };
    let bytes = |layout: Option<Layout>| storage_bytes(&Alloc { layout, ..alloc.clone() });
    let before = bytes(alloc.layout.clone());
    let mut trials = Vec::new();
    for layout in candidates(alloc, cx.target.lds_banks) {
        let mut changed = kernel.clone();
        relayout(&mut changed.body, buffer, &layout);
        let mut module = Module::default();
        module.items.push(Item::Kernel(changed));
        let Ok(state) = pipeline::run(module, cx, &mut ()) else { continue };
        let growth = bytes(Some(layout.clone())) - before;
        if state.decisions.len() == copies {
            trials.push(Trial { layout, growth, decisions: state.decisions });
        }
    }
    trials
}

fn storage_bytes(alloc: &Alloc) -> i64 {
    let ty = BufferTy::from(alloc);
    let elements = ty.layout().storage_elems(&ty.shape).ok().and_then(|n| n.as_const());
    elements.and_then(|n| alloc.dtype.bytes_for(n)).unwrap_or(0)
}

/// The shared allocations of that name.
fn allocs(block: &Block, name: &Name, out: &mut Vec<Alloc>) {
    tilewright_ir::stmt::walk_block(block, &mut |stmt| match &stmt.kind {
        StmtKind::Alloc(alloc) if alloc.name == *name && alloc.space == Space::Shared => out.push(alloc.clone()),
        _ => {}
    });
}

/// Gives the allocation of that name another layout.
fn relayout(block: &mut Block, name: &Name, layout: &Layout) {
    for stmt in block {
        match &mut stmt.kind {
            StmtKind::Alloc(alloc) if alloc.name == *name => alloc.layout = Some(layout.clone()),
            StmtKind::For { body, .. } => relayout(body, name, layout),
            StmtKind::If { then, els, .. } => {
                relayout(then, name, layout);
                els.iter_mut().for_each(|els| relayout(els, name, layout));
            }
            _ => {}
        }
    }
}

/// Extent and stride of each digit in memory; `None` for layouts that are not plain numbers on `m`.
fn plain(tile: &TileLayout) -> Option<Vec<(i64, i64)>> {
    let fits = tile.replica.is_empty() && tile.offset.values().all(|o| o.is(0));
    let digit = |it: &Iter| {
        let (extent, stride) = (it.extent.as_const()?, it.stride.as_const()?);
        (it.axis == Axis::M && stride >= 0).then_some((extent, stride))
    };
    tile.shard.iter().map(digit).collect::<Option<Vec<_>>>().filter(|_| fits)
}

/// Strides that are those of rows: what is below fits into one, what is above is a multiple of one.
fn pitches(digits: &[(i64, i64)], least: i64) -> Vec<i64> {
    let is_row = |pitch: i64| {
        let inside = digits.iter().filter(|(_, s)| *s < pitch);
        let reach = inside.fold(1i64, |r, (e, s)| r.saturating_add((e - 1).saturating_mul(*s)));
        reach <= pitch && digits.iter().all(|(_, s)| *s < pitch || s % pitch == 0)
    };
    let mut all: Vec<i64> =
        digits.iter().filter(|(e, s)| *e > 1 && *s >= least && is_row(*s)).map(|(_, s)| *s).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Layouts worth a try, the simplest first: rows padded to whole accesses, by one more, by one word of a bank; then
/// swizzles of accesses: bits of the row's number (above the accesses of a row and of all banks) into those of the access
/// in the row.
fn candidates(alloc: &Alloc, banks: u32) -> Vec<Layout> {
    let ty = BufferTy::from(alloc);
    let base = ty.layout();
    let Some(digits) = plain(&base.tile) else { return Vec::new() };
    let bits = i64::from(alloc.dtype.bits());
    let (access, word) = (ACCESS_BITS / bits, (BANK_BITS / bits).max(1));
    let pitches = pitches(&digits, access.max(2));
    let mut out: Vec<Layout> = Vec::new();
    for pitch in &pitches {
        let whole = (pitch + access - 1) / access * access;
        for padded in [whole, whole + access, pitch + word] {
            let Some(tile) = with_pitch(&base.tile, *pitch, padded) else { continue };
            out.push(Layout::from(tile));
        }
    }
    for pitch in pitches.iter().filter(|p| p.count_ones() == 1) {
        let (per_element, row) = (access.trailing_zeros(), pitch.trailing_zeros());
        // log2 of the accesses that all banks serve together.
        let line = (i64::from(banks) * BANK_BITS / ACCESS_BITS).max(1).ilog2();
        for swizzle_len in (1..=line).rev() {
            let atom_len = row.saturating_sub(per_element).max(line);
            let swizzle = Swizzle { per_element, swizzle_len, atom_len, inner: true };
            out.push(Layout { tile: base.tile.clone(), swizzle: Some(swizzle) });
        }
    }
    out.retain(|layout| *layout != base);
    out
}

/// The layout with rows `padded` apart instead of `pitch`.
fn with_pitch(tile: &TileLayout, pitch: i64, padded: i64) -> Option<TileLayout> {
    let mut tile = tile.clone();
    for it in &mut tile.shard {
        let stride = it.stride.as_const()?;
        if stride >= pitch {
            it.stride = Dim::Const((stride / pitch).checked_mul(padded)?);
        }
    }
    Some(tile)
}

/// The best padding and the best swizzle among the trials for the copy at `position` of the kernel.
fn offers(trials: &[Trial], position: usize, mine: &[usize], decisions: &[CopyDecision], buffer: &Name) -> Vec<String> {
    let before = &decisions[mine[position]];
    let better = |t: &&Trial| {
        let after = &t.decisions[position];
        let (old, new) = ((cost(before), ways(before)), (cost(after), ways(after)));
        let others = mine.iter().zip(&t.decisions).all(|(i, d)| cost(d) <= cost(&decisions[*i]));
        others && new.0 <= old.0 && (new.0 < old.0 || new.1 < old.1)
    };
    let best = |swizzled: bool| {
        let kind = trials.iter().filter(|t| t.layout.swizzle.is_some() == swizzled).filter(better);
        kind.min_by_key(|t| (cost(&t.decisions[position]), ways(&t.decisions[position]), t.growth))
    };
    [best(false), best(true)].into_iter().flatten().map(|t| words(t, before, &t.decisions[position], buffer)).collect()
}

/// Predicted picoseconds of the variant that was chosen.
fn cost(decision: &CopyDecision) -> u64 {
    let chosen = |c: &&CandidateDecision| c.verdict == Verdict::Chosen;
    decision.candidates.iter().find(chosen).and_then(|c| c.cost).map_or(0, |c| c.picoseconds)
}

/// The worst conflicts of a copy.
fn ways(decision: &CopyDecision) -> u64 {
    decision.conflicts.iter().map(|c| c.ways).max().unwrap_or(1)
}

fn words(trial: &Trial, before: &CopyDecision, after: &CopyDecision, buffer: &Name) -> String {
    let mut gains = Vec::new();
    match (ways(before), ways(after)) {
        (old, 1) if old > 1 => gains.push(format!("removes {old}-way bank conflicts")),
        (old, new) if new < old => gains.push(format!("makes {new}-way bank conflicts of {old}-way")),
        _ => {}
    }
    if after.chosen != before.chosen {
        gains.push(format!("lets `{}` carry it", after.chosen));
    }
    if gains.is_empty() {
        gains.push("makes it cheaper".to_owned());
    }
    let cost = match (cost(before), cost(after)) {
        (old, new) if new < old => format!(", predicted {} instead of {}", time(new), time(old)),
        _ => String::new(),
    };
    let growth = match trial.growth {
        0 => String::new(),
        more => format!(", {more:+} B of shared memory"),
    };
    format!("`{buffer}`: `layout {}` {}{cost}{growth}", print_layout(&trial.layout), gains.join(" and "))
}

#[cfg(test)]
mod tests {
    use tilewright_ir::DType;

    use super::*;

    fn layouts(dtype: DType, shape: &[i64], layout: Option<Layout>, banks: u32) -> Vec<String> {
        let shape = shape.iter().map(|n| Dim::Const(*n)).collect();
        let alloc = Alloc { name: Name::new("tile"), space: Space::Shared, dtype, shape, layout, align: None };
        candidates(&alloc, banks).iter().map(print_layout).collect()
    }

    #[test]
    fn rows_are_padded_and_swizzled() {
        let all = layouts(DType::F16, &[8, 64], None, 32);
        let want = ["S[(8,64):(72,1)]", "S[(8,64):(66,1)]", "S[(8,64):(64,1)] swizzle(3,3,3)"];
        assert!(want.iter().all(|text| all.iter().any(|have| have == text)), "{all:#?}");
        assert!(layouts(DType::F32, &[4, 32], None, 64).contains(&"S[(4,32):(32,1)] swizzle(2,4,4)".to_owned()));
        assert!(layouts(DType::I4, &[4, 64], None, 32).contains(&"S[(4,64):(96,1)]".to_owned()));
    }

    #[test]
    fn a_row_that_is_no_multiple_of_an_access_is_filled_up() {
        let row = TileLayout::from_shard(vec![Iter::new(8, 68, Axis::M), Iter::new(64, 1, Axis::M)]);
        let all = layouts(DType::F16, &[8, 64], Some(row.into()), 32);
        assert_eq!(all[..2], ["S[(8,64):(72,1)]", "S[(8,64):(80,1)]"]);
    }

    #[test]
    fn outer_strides_grow_with_the_row() {
        let all = layouts(DType::F16, &[2, 8, 64], None, 32);
        assert!(all.contains(&"S[(2,8,64):(576,72,1)]".to_owned()), "{all:#?}");
    }

    #[test]
    fn nothing_is_made_of_what_is_not_rows() {
        let spread = TileLayout::from_shard(vec![Iter::new(8, 3, Axis::M), Iter::new(4, 2, Axis::M)]);
        assert!(layouts(DType::F32, &[8, 4], Some(spread.into()), 32).is_empty());
        assert!(layouts(DType::F32, &[4], None, 32).is_empty());
    }
}
