//! Random instructions on random registers: whatever decodes and is simulated ends with a value or a fault.

use super::step::{Registers, Run, Step};
use crate::exec::{control, dual};
use crate::isa::{Chip, decode};
use crate::rng::Rng;
use crate::wave::{Generation, WaveId, WaveState};

/// A word that often is the first of an ALU instruction.
fn word(rng: &mut Rng) -> u32 {
    let random = rng.next_u32();
    match rng.below(8) {
        // VOP3 and VOP3P, where most operations are.
        0..=2 => 0xd000_0000 | random & 0x03ff_ffff,
        3 => 0xd380_0000 | random & 0x007f_ffff,
        // VOP1, VOPC, and SOP1, SOPC, SOPP.
        4 => 0x7c00_0000 | random & 0x03ff_ffff,
        5 => 0xbe80_0000 | random & 0x01ff_ffff,
        _ => random,
    }
}

/// Values that arithmetic trips over more often than random ones.
fn value(rng: &mut Rng) -> u32 {
    const EDGES: [u32; 12] = [
        0,
        1,
        31,
        32,
        0x7fff_ffff,
        0x8000_0000,
        u32::MAX,
        0x7f80_0000,
        0x7f80_0001,
        0x7fc0_0000,
        0x007f_ffff,
        0x8000_8000,
    ];
    match rng.below(3) {
        0 => EDGES[rng.below(EDGES.len() as u32) as usize],
        _ => rng.next_u32(),
    }
}

/// A word that often is the first of an ALU instruction of gfx1250.
fn word12(rng: &mut Rng) -> u32 {
    let random = rng.next_u32();
    match rng.below(8) {
        // VOP3, VOP3P, VOPD, VOPD3.
        0..=2 => 0xd400_0000 | random & 0x03ff_ffff,
        3 => 0xcc00_0000 | random & 0x00ff_ffff,
        4 => 0xc800_0000 | random & 0x07ff_ffff,
        // VOP1, VOPC, and SOP1, SOPC, SOPP.
        5 => 0x7c00_0000 | random & 0x03ff_ffff,
        6 => 0xbe80_0000 | random & 0x01ff_ffff,
        _ => random,
    }
}

/// Executes random instructions; how many.
fn execute(chips: &[Chip], generation: Generation, rounds: u32, word: fn(&mut Rng) -> u32) -> u32 {
    let mut rng = Rng::new(20);
    let id = WaveId { actor: 0, rank: 0, xcd: 0, cu: 0, group: 0, workgroup: [0; 3], wave: 0 };
    let accum_offset = if generation == Generation::Gfx9 { 256 } else { 512 };
    let registers = Registers { vgprs: 512, accum_offset, generation };
    let mut wave = WaveState::new(id, 512, accum_offset, 0x1000, 0x3f0).with_generation(generation);
    let mut executed = 0;
    for round in 0..rounds {
        if round % 100 == 0 {
            wave.sgprs.iter_mut().for_each(|sgpr| *sgpr = value(&mut rng));
            wave.vgprs.iter_mut().flatten().for_each(|lane| *lane = value(&mut rng));
            wave.mode = rng.next_u32() & 0x3f0;
        }
        let words = [word(&mut rng), rng.next_u32(), rng.next_u32()];
        for chip in chips {
            let Ok(inst) = decode(&words, *chip) else { continue };
            let Ok(step) = Step::new(inst, registers) else { continue };
            let undefined = step.undefined(&wave);
            let result = match (step.run, &step.second) {
                (Run::Alu(function), _) => function(&mut wave, &step.inst),
                (Run::Dual(first, second), Some(other)) => {
                    dual::execute(&mut wave, (first, &step.inst), (second, &other.inst))
                }
                (Run::Control, _) => control::execute(&mut wave, &step.inst, true).map(|_| ()),
                _ => continue,
            };
            executed += u32::from(result.is_ok());
            if undefined != 0 {
                let _ = step.mark_undefined(&mut wave, undefined);
            }
        }
    }
    executed
}

#[test]
fn no_instruction_panics() {
    let executed = execute(&[Chip::Gfx942, Chip::Gfx950], Generation::Gfx9, 150_000, word);
    assert!(executed > 50_000, "{executed} instructions were executed");
}

#[test]
fn no_instruction_of_gfx1250_panics() {
    let executed = execute(&[Chip::Gfx1250], Generation::Gfx12, 150_000, word12);
    assert!(executed > 20_000, "{executed} instructions were executed");
}
