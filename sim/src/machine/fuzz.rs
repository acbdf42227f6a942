//! Random instructions on random registers: whatever decodes and is simulated ends with a value or a fault.

use super::step::{Registers, Run, Step};
use crate::exec::control;
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

#[test]
fn no_instruction_panics() {
    let mut rng = Rng::new(20);
    let id = WaveId { actor: 0, rank: 0, xcd: 0, cu: 0, group: 0, workgroup: [0; 3], wave: 0 };
    let registers = Registers { vgprs: 512, accum_offset: 256, generation: Generation::Gfx9 };
    let mut wave = WaveState::new(id, 512, 256, 0x1000, 0x3f0);
    let mut executed = 0;
    for round in 0..150_000u32 {
        if round % 100 == 0 {
            wave.sgprs.iter_mut().for_each(|sgpr| *sgpr = value(&mut rng));
            wave.vgprs.iter_mut().flatten().for_each(|lane| *lane = value(&mut rng));
            wave.mode = rng.next_u32() & 0x3f0;
        }
        let words = [word(&mut rng), rng.next_u32(), rng.next_u32()];
        for chip in [Chip::Gfx942, Chip::Gfx950] {
            let Ok(inst) = decode(&words, chip) else { continue };
            let Ok(step) = Step::new(inst, registers) else { continue };
            let undefined = step.undefined(&wave);
            let result = match step.run {
                Run::Alu(function) => function(&mut wave, &step.inst),
                Run::Control => control::execute(&mut wave, &step.inst, true).map(|_| ()),
                _ => continue,
            };
            executed += u32::from(result.is_ok());
            if undefined != 0 {
                let _ = step.mark_undefined(&mut wave, undefined);
            }
        }
    }
    assert!(executed > 50_000, "{executed} instructions were executed");
}
