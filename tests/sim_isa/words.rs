//! Random dwords: of each family's prefix, and of any.

use crate::judge::Tally;
use crate::random::Random;

/// The prefixes: what they are, the fixed bits, the free ones.
const PREFIXES: &[(&str, u32, u32)] = &[
    ("SOP2", 0x8000_0000, 0x3fff_ffff),
    ("SOPK", 0xb000_0000, 0x0fff_ffff),
    ("SOP1", 0xbe80_0000, 0x007f_ffff),
    ("SOPC", 0xbf00_0000, 0x007f_ffff),
    ("SOPP", 0xbf80_0000, 0x007f_ffff),
    ("SMEM", 0xc000_0000, 0x03ff_ffff),
    ("VOP2", 0x0000_0000, 0x7fff_ffff),
    ("VOP1", 0x7e00_0000, 0x01ff_ffff),
    ("VOPC", 0x7c00_0000, 0x01ff_ffff),
    ("SDWA", 0x0000_00f9, 0x7fff_fe00),
    ("DPP", 0x0000_00fa, 0x7fff_fe00),
    ("VOP3", 0xd000_0000, 0x03ff_ffff),
    ("VOP3P", 0xd380_0000, 0x007f_ffff),
    ("DS", 0xd800_0000, 0x03ff_ffff),
    ("FLAT", 0xdc00_0000, 0x03ff_ffff),
    ("MUBUF", 0xe000_0000, 0x03ff_ffff),
    ("MTBUF", 0xe800_0000, 0x03ff_ffff),
    ("any", 0x0000_0000, 0xffff_ffff),
];

/// Words of each prefix, chip by chip.
const COUNT: u32 = 20_000;

#[test]
fn random_words() {
    let mut chips = crate::chips();
    for (number, &(name, fixed, free)) in PREFIXES.iter().enumerate() {
        let mut random = Random::new(number as u64 + 1);
        let mut tally = Tally::default();
        for _ in 0..COUNT {
            let mut words = [fixed | random.sparse() & free, random.sparse(), random.sparse(), 0];
            if name == "FLAT" && random.below(2) == 0 {
                // No scalar address.
                words[1] |= 0x7f << 16;
            }
            if name == "DS" {
                // Unused registers are zero.
                words[1] &= [0xff, 0xffff, 0xff_ffff, 0xff00_00ff][random.below(4) as usize];
            }
            if name.starts_with("VOP3") && random.below(2) == 0 {
                // Vector registers.
                words[1] |= 1 << 8 | 1 << 17 | 1 << 26;
            }
            for (chip, llvm) in &mut chips {
                tally.compare(*chip, llvm, words);
            }
        }
        tally.report(name);
        assert!(tally.same > 500, "{name}: only {} alike", tally.same);
    }
}

/// Every immediate of the instructions that print theirs in words.
#[test]
fn every_immediate() {
    const CARRIERS: &[(&str, u32, u32)] = &[
        ("s_waitcnt", 0xbf8c_0000, 0),
        ("s_sendmsg", 0xbf90_0000, 0),
        ("s_set_gpr_idx_mode", 0xbf9d_0000, 0),
        ("s_getreg_b32", 0xb894_0000, 0),
        ("ds_swizzle_b32", 0xd87a_0000, 0x0a00_0014),
    ];
    let mut chips = crate::chips();
    for &(name, word, second) in CARRIERS {
        let mut tally = Tally::default();
        for immediate in 0..0x1_0000 {
            // The chips print alike; both are asked in turn.
            let (chip, llvm) = &mut chips[immediate as usize % 2];
            tally.compare(*chip, llvm, [word | immediate, second, 0, 0]);
        }
        tally.report(name);
        assert_eq!(tally.same, 0x1_0000, "{name}");
    }
}
