//! Test `sim_mutants`: what the simulator finds when the emitted machine code lacks something that memory needs.
//!
//! Every `s_waitcnt` (and each counter of it), `buffer_wbl2`, `buffer_inv`, scope bit, barrier and store to memory of the
//! kernels below, and what gfx1250 has in their place, is taken away in a mutant of its own, or changes place with what
//! follows. A mutant is *killed* by a fault, a deadlock, the limit of steps or a wrong byte under one of the seeds. One that
//! survives must stand in a list with the reason ([`survivors`], [`survivors12`]); one that stands there and is killed makes
//! the list stale. Either fails the test.
//!
//! What must hold: the kernel itself passes under every seed, with the same bytes.

mod code;
mod mutate;
mod subject;
mod survivors;
mod survivors12;

use tilewright_sim::isa::Chip;

use code::Code;
use mutate::{Mutant, is_subject, mutants, pairs, probe};
use subject::Subject;
use survivors::{REASONS, Reason, Row, UNREACHED, is};

/// What became of the mutants of a kernel.
#[derive(Default)]
struct Tally {
    killed: usize,
    equivalent: usize,
    lenient: usize,
    /// Instructions that no seed reaches: their mutants say nothing.
    unreached: Vec<String>,
    /// What fails the test, a line each.
    wrong: Vec<String>,
}

/// Runs all mutants of a kernel for a chip.
fn judge(name: &str, text: &str, target: &str, ranks: u32, seeds: u64) {
    let (reasons, allowed) = match target {
        "gfx1250" => (survivors12::REASONS, survivors12::UNREACHED),
        _ => (REASONS, UNREACHED),
    };
    let subject = Subject::new(name, text, target, ranks, seeds);
    let code = Code::of(subject.object(), subject.target());
    let chip = Chip::named(target).expect("a chip");
    let mut tally = Tally::default();
    let mut used = Vec::new();
    let mut survivors: Vec<Mutant> = Vec::new();
    for (index, site) in code.sites.iter().enumerate().filter(|(_, site)| is_subject(site)) {
        if subject.killer(&code.patched(&probe(site))).is_none() {
            tally.unreached.push(format!("`{}` #{}", site.text, site.nth));
            continue;
        }
        for mutant in mutants(&code.sites, index, chip) {
            let killer = subject.killer(&code.patched(&mutant.patch));
            record(name, &mutant, killer.as_deref(), reasons, &mut used, &mut tally);
            survivors.extend(killer.is_none().then_some(mutant));
        }
    }
    for mutant in pairs(&code.sites, |one| survivors.iter().any(|survivor| survivor.patch == one.patch)) {
        let killer = subject.killer(&code.patched(&mutant.patch));
        record(name, &mutant, killer.as_deref(), reasons, &mut used, &mut tally);
    }
    for reason in reasons {
        for row in reason.of.iter().filter(|row| row.0 == name && !used.contains(row)) {
            tally.wrong.push(format!("is listed, and no such mutant survives: {row:?}"));
        }
    }
    let Tally { killed, equivalent, lenient, unreached, wrong } = tally;
    println!(
        "{name} on {target}: {killed} killed, {equivalent} equivalent, {lenient} lenient, {} unreached",
        unreached.len()
    );
    let allowed = allowed.iter().find(|(kernel, ..)| *kernel == name).map_or(0, |(_, count, _)| *count);
    assert!(wrong.is_empty(), "{name} on {target}:\n{}", wrong.join("\n"));
    assert_eq!(unreached.len(), allowed, "{name} on {target}: instructions that no seed reaches: {unreached:#?}");
    assert!(killed > 0, "{name} on {target}: nothing was killed");
}

/// Counts a mutant and looks it up.
fn record(
    kernel: &str,
    mutant: &Mutant,
    killer: Option<&str>,
    reasons: &'static [Reason],
    used: &mut Vec<&'static Row>,
    tally: &mut Tally,
) {
    let Mutant { text, nth, what, .. } = mutant;
    let rows = reasons.iter().flat_map(|reason| reason.of.iter().map(move |row| (reason, row)));
    let found: Vec<_> = rows.filter(|(_, row)| is(row, kernel, text, *nth, what)).collect();
    match (killer, &found[..]) {
        (Some(_), []) => tally.killed += 1,
        (None, [(reason, row)]) => {
            used.push(row);
            let count = if reason.lenient { &mut tally.lenient } else { &mut tally.equivalent };
            *count += 1;
        }
        (None, []) => tally.wrong.push(format!("survives: `{text}` #{nth}, {what}")),
        (Some(words), _) => tally.wrong.push(format!("is listed and killed: `{text}` #{nth}, {what}: {words}")),
        (None, _) => tally.wrong.push(format!("is listed twice: `{text}` #{nth}, {what}")),
    }
}

/// A test for each kernel and chip: ranks, and seeds that a mutant runs with before it counts as survivor.
macro_rules! kernels {
    ($($test:ident: $file:literal, $target:literal, $ranks:literal, $seeds:literal;)*) => {
        $(#[test] fn $test() {
            let file = $file.rsplit('/').next().expect("a name").strip_suffix(".tile").expect("a .tile file");
            judge(file, include_str!(concat!("../../", $file)), $target, $ranks, $seeds);
        })*
    };
}

kernels! {
    gmem_smem: "examples/gmem_smem.tile", "gfx950", 1, 12;
    reg_roundtrip: "examples/reg_roundtrip.tile", "gfx950", 1, 12;
    rounds: "tests/sim_mutants/kernels/rounds.tile", "gfx950", 1, 12;
    ring_shift: "examples/ring_shift.tile", "gfx950", 2, 12;
    ring_shift_gfx942: "examples/ring_shift.tile", "gfx942", 2, 6;
    ship: "examples/ship.tile", "gfx950", 2, 12;
    alltoall: "examples/alltoall.tile", "gfx950", 3, 12;
    stage: "tests/sim_mutants/kernels/stage.tile", "gfx950", 2, 12;
    crowd: "tests/sim_mutants/kernels/crowd.tile", "gfx950", 2, 24;
    full: "tests/sim_mutants/kernels/full.tile", "gfx950", 1, 8;
    signals: "tests/sim_mutants/kernels/signals.tile", "gfx950", 3, 12;
    fetch: "tests/sim_mutants/kernels/fetch.tile", "gfx950", 2, 12;
    gmem_smem_gfx1250: "examples/gmem_smem.tile", "gfx1250", 1, 12;
    rounds_gfx1250: "tests/sim_mutants/kernels/rounds.tile", "gfx1250", 1, 12;
    ring_shift_gfx1250: "examples/ring_shift.tile", "gfx1250", 2, 8;
    stage_gfx1250: "tests/sim_mutants/kernels/stage.tile", "gfx1250", 2, 8;
    crowd32_gfx1250: "tests/sim_mutants/kernels/crowd32.tile", "gfx1250", 2, 24;
    fetch_gfx1250: "tests/sim_mutants/kernels/fetch.tile", "gfx1250", 2, 8;
}
