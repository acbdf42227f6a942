//! The mutants of a kernel: one wait, fence, scope bit, barrier or store less, or two of them swapped.
//!
//! What must hold: a mutant differs from the kernel in the words of the instructions it names and in nothing else; each still
//! decodes, and a cleared bit changes nothing but that bit's meaning.

use tilewright_sim::isa::{Chip, Format, Inst, Op, Operand, Scope, decode};

use crate::code::Site;

/// `s_nop 0`.
const NOP: u32 = 0xbf80_0000;

/// Fields of `s_waitcnt`: name and mask. A field of all ones is no wait.
const COUNTERS: [(&str, u32); 3] = [("vmcnt", 0xc00f), ("expcnt", 0x0070), ("lgkmcnt", 0x0f00)];

/// A changed kernel.
#[derive(Clone)]
pub(crate) struct Mutant {
    /// Text and number of the instruction; of the first one where two are concerned.
    pub(crate) text: String,
    pub(crate) nth: usize,
    /// What was done to it.
    pub(crate) what: String,
    /// Index of a dword of the code, and what is there now.
    pub(crate) patch: Vec<(usize, u32)>,
}

/// What a mutation is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Wait,
    Fence,
    Barrier,
    Load,
    Store,
    Other,
}

fn role(site: &Site) -> Role {
    let text = site.text.as_str();
    let name = text.split(' ').next().unwrap_or_default();
    match site.inst.op {
        _ if counters(site).next().is_some() || site.inst.op == Op::SWaitcnt => Role::Wait,
        Op::SBarrier | Op::SBarrierSignal | Op::SBarrierWait => Role::Barrier,
        _ if matches!(name, "buffer_wbl2" | "buffer_inv" | "global_wb" | "global_inv") => Role::Fence,
        _ if !matches!(site.inst.format, Format::Global | Format::Flat) => Role::Other,
        _ if name.contains("_load_") => Role::Load,
        _ => Role::Store,
    }
}

fn mutant(site: &Site, what: impl Into<String>, patch: Vec<(usize, u32)>) -> Mutant {
    Mutant { text: site.text.clone(), nth: site.nth, what: what.into(), patch }
}

fn nops(site: &Site) -> Vec<(usize, u32)> {
    (0..usize::from(site.inst.len)).map(|word| (site.at + word, NOP)).collect()
}

/// A word that is no instruction: whoever comes here stops.
const TRAP: u32 = 0xffff_ffff;

/// Stands in the way of whoever reaches `site`.
pub(crate) fn probe(site: &Site) -> Vec<(usize, u32)> {
    vec![(site.at, TRAP)]
}

/// Whether there is anything to mutate.
pub(crate) fn is_subject(site: &Site) -> bool {
    role(site) != Role::Other
}

/// All mutants of one instruction, alone or with one that stands near it.
pub(crate) fn mutants(sites: &[Site], index: usize, chip: Chip) -> Vec<Mutant> {
    let site = &sites[index];
    let mut all = Vec::new();
    match role(site) {
        Role::Wait => all.extend(counters(site).map(|(name, word)| without_counter(site, name, word))),
        Role::Barrier | Role::Store => {
            all.push(mutant(site, "removed", nops(site)));
            all.extend(without_its_wait(sites, index));
        }
        Role::Fence => {
            all.push(mutant(site, "removed", nops(site)));
            all.extend(without_scopes(site, chip));
        }
        Role::Load | Role::Other => {}
    }
    if matches!(role(site), Role::Load | Role::Store) {
        all.extend(without_scopes(site, chip));
    }
    all.extend(swapped_with_next(sites, index));
    all.extend(swapped_stores(sites, index));
    all
}

/// Both of two that follow each other gone: two waits for the same counter, two barriers, or two write-backs. What one of them does for the
/// other is no reason to have neither. `survived` says of which of them one alone may go.
pub(crate) fn pairs(sites: &[Site], survived: impl Fn(&Mutant) -> bool) -> Vec<Mutant> {
    let mut all = Vec::new();
    let fence = "global_wb scope:SCOPE_DEV";
    for kind in ["vmcnt", "lgkmcnt", "loadcnt", "storecnt", "dscnt", "kmcnt", "xcnt", "s_barrier", fence] {
        let one = |site: &Site| match counters(site).find(|(name, _)| *name == kind) {
            Some((name, word)) => Some(without_counter(site, name, word)),
            None => (site.text == kind).then(|| mutant(site, "removed", nops(site))),
        };
        let alone: Vec<Mutant> = sites.iter().filter_map(one).collect();
        for pair in alone.windows(2).filter(|pair| pair.iter().all(&survived)) {
            let what = format!("{}, and the next one, too", pair[0].what);
            let patch = [pair[0].patch.clone(), pair[1].patch.clone()].concat();
            all.push(Mutant { what, patch, ..pair[0].clone() });
        }
    }
    all
}

/// The counters that a wait names, each with the instruction that does not wait for it.
fn counters(site: &Site) -> impl Iterator<Item = (&'static str, u32)> {
    let word = site.inst.raw[0];
    let all = match site.inst.op {
        Op::SWaitcnt => {
            let named = COUNTERS.into_iter().filter(|(_, mask)| word & mask != *mask);
            named.map(|(name, mask)| (name, word | mask)).collect()
        }
        Op::SWaitLoadcnt => vec![("loadcnt", NOP)],
        Op::SWaitStorecnt => vec![("storecnt", NOP)],
        Op::SWaitDscnt => vec![("dscnt", NOP)],
        Op::SWaitKmcnt => vec![("kmcnt", NOP)],
        Op::SWaitXcnt => vec![("xcnt", NOP)],
        // Two fields of six bits.
        Op::SWaitLoadcntDscnt => vec![("loadcnt", word | 0x3f00), ("dscnt", word | 0x3f)],
        Op::SWaitStorecntDscnt => vec![("storecnt", word | 0x3f00), ("dscnt", word | 0x3f)],
        _ => Vec::new(),
    };
    all.into_iter()
}

fn without_counter(site: &Site, name: &str, word: u32) -> Mutant {
    mutant(site, format!("without {name}"), vec![(site.at, word)])
}

/// Both halves of gfx1250's barrier.
fn without_its_wait(sites: &[Site], index: usize) -> Option<Mutant> {
    let site = &sites[index];
    let wait = sites[index + 1..].iter().find(|next| next.inst.op == Op::SBarrierWait)?;
    let both = [nops(site), nops(wait)].concat();
    (site.inst.op == Op::SBarrierSignal).then(|| mutant(site, "removed with its wait", both))
}

/// The scope of gfx1250 made less.
fn smaller_scopes(site: &Site, chip: Chip) -> Vec<Mutant> {
    let (mem, raw) = (site.inst.mem, site.inst.raw);
    let smaller = [(Scope::Dev, "at SCOPE_DEV"), (Scope::Cu, "at SCOPE_CU")];
    let at = |(scope, what): (Scope, &str)| {
        let word = raw[1] & !(3 << 18) | (scope as u32) << 18;
        let now = decode(&[raw[0], word, raw[2]], chip).expect("a smaller scope is an instruction, too");
        assert!(now.op == site.inst.op && now.src == site.inst.src && now.mem.scope == scope, "{}", site.text);
        mutant(site, what, vec![(site.at + 1, word)])
    };
    smaller.into_iter().filter(|(scope, _)| *scope < mem.scope).map(at).collect()
}

/// Each scope bit that is set, cleared; and both.
fn without_scopes(site: &Site, chip: Chip) -> Vec<Mutant> {
    if chip == Chip::Gfx1250 {
        return smaller_scopes(site, chip);
    }
    let (mem, raw) = (site.inst.mem, site.inst.raw);
    let (bit0, bit1) = match site.inst.format {
        Format::Mubuf => (14, 15),
        _ => (16, 25),
    };
    let clear = |name: &str, bits: u32| {
        let word = raw[0] & !bits;
        let mut words = raw;
        words[0] = word;
        let now = decode(&words[..usize::from(site.inst.len)], chip).expect("a scope bit less is an instruction, too");
        let both = name == "sc0 sc1";
        assert!(now.op == site.inst.op && now.src == site.inst.src && now.mem.offset == mem.offset, "{}", site.text);
        assert!(now.mem.sc0 == (mem.sc0 && name == "sc1") && now.mem.sc1 == (mem.sc1 && !both && name == "sc0"));
        mutant(site, format!("without {name}"), vec![(site.at, word)])
    };
    let mut all = Vec::new();
    if mem.sc0 {
        all.push(clear("sc0", 1 << bit0));
    }
    if mem.sc1 {
        all.push(clear("sc1", 1 << bit1));
    }
    if mem.sc0 && mem.sc1 {
        all.push(clear("sc0 sc1", 1 << bit0 | 1 << bit1));
    }
    all
}

/// A wait, fence, barrier or access to memory behind the one that it stands before.
fn swapped_with_next(sites: &[Site], index: usize) -> Option<Mutant> {
    let (site, next) = (&sites[index], sites.get(index + 1)?);
    let alike = site.inst.raw == next.inst.raw;
    let access = |site: &Site| matches!(role(site), Role::Load | Role::Store);
    // A global access is none of a wait's business that names only counters of others; a FLAT one may be.
    let loads = role(site) == Role::Load || site.inst.dst_width() > 0;
    let counts = |name: &str| matches!(name, "vmcnt" | "xcnt") || name == if loads { "loadcnt" } else { "storecnt" };
    let apart = access(site)
        && site.inst.format == Format::Global
        && role(next) == Role::Wait
        && counters(next).all(|(name, _)| !counts(name));
    let other = |site: &Site| role(site) == Role::Other;
    if other(site) || other(next) || next.target || alike || apart || (access(site) && access(next)) {
        return None;
    }
    Some(mutant(site, format!("swapped with the next, {}", next.text), exchanged(&[next, site], site.at)))
}

/// A store and the next one of the same straight line of code, exchanged; none if a register changes in between.
fn swapped_stores(sites: &[Site], index: usize) -> Option<Mutant> {
    let site = &sites[index];
    if role(site) != Role::Store || site.inst.dst_width() > 0 {
        return None;
    }
    let mut between = Vec::new();
    for next in &sites[index + 1..] {
        if next.target || (next.inst.format == Format::Sopp && next.text.contains("branch")) {
            return None;
        }
        if role(next) == Role::Store && next.inst.len == site.inst.len {
            let changed = between.iter().any(|inst| writes_source(inst, &site.inst) || writes_source(inst, &next.inst));
            let patch = [exchanged(&[next], site.at), exchanged(&[site], next.at)].concat();
            let what = format!("swapped with the next store, {}", next.text);
            return (!changed && next.inst.dst_width() == 0).then(|| mutant(site, what, patch));
        }
        between.push(next.inst);
    }
    None
}

/// The words of `sites` one behind the other from `at` on.
fn exchanged(sites: &[&Site], at: usize) -> Vec<(usize, u32)> {
    let words = sites.iter().flat_map(|site| &site.inst.raw[..usize::from(site.inst.len)]);
    words.enumerate().map(|(index, word)| (at + index, *word)).collect()
}

/// Whether `writer` writes a register that `reader` reads.
fn writes_source(writer: &Inst, reader: &Inst) -> bool {
    let written = [(writer.dst, writer.dst_width()), (writer.sdst, writer.sdst_width())];
    let meet = |(dst, dst_width): (Operand, usize), (src, src_width): (Operand, usize)| match (dst, src) {
        (Operand::Sgpr(a), Operand::Sgpr(b)) | (Operand::Vgpr(a), Operand::Vgpr(b)) => {
            let (a, b) = (usize::from(a), usize::from(b));
            a < b + src_width && b < a + dst_width
        }
        _ => false,
    };
    (0..4).any(|source| written.iter().any(|to| meet(*to, (reader.src[source], reader.src_width(source)))))
}
