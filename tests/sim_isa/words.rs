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

/// gfx1250's prefixes.
const NEWER: &[(&str, u32, u32)] = &[
    ("SOP2", 0x8000_0000, 0x3fff_ffff),
    ("SOPK", 0xb000_0000, 0x0fff_ffff),
    ("SOP1", 0xbe80_0000, 0x007f_ffff),
    ("SOPC", 0xbf00_0000, 0x007f_ffff),
    ("SOPP", 0xbf80_0000, 0x007f_ffff),
    ("SMEM", 0xf400_0000, 0x03ff_ffff),
    ("VOP2", 0x0000_0000, 0x7fff_ffff),
    ("VOP1", 0x7e00_0000, 0x01ff_ffff),
    ("VOPC", 0x7c00_0000, 0x01ff_ffff),
    ("DPP16", 0x0000_00fa, 0x7fff_fe00),
    ("DPP8", 0x0000_00e9, 0x7fff_fe00),
    ("VOP3", 0xd400_0000, 0x03ff_ffff),
    ("VOP3P", 0xcc00_0000, 0x00ff_ffff),
    ("VOPD", 0xc800_0000, 0x03ff_ffff),
    ("VOPD3", 0xcf00_0000, 0x00ff_f1ff),
    ("VDS", 0xd800_0000, 0x03fc_ffff),
    ("VFLAT", 0xec00_0000, 0x00ff_ffff),
    ("VSCRATCH", 0xed00_0000, 0x00ff_ffff),
    ("VGLOBAL", 0xee00_0000, 0x00ff_ffff),
    ("VBUFFER", 0xc400_0000, 0x03bf_ffff),
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

#[test]
fn random_words_of_gfx1250() {
    let (chip, mut llvm) = crate::gfx1250();
    for (number, &(name, fixed, free)) in NEWER.iter().enumerate() {
        let mut random = Random::new(number as u64 + 101);
        let mut tally = Tally::default();
        for _ in 0..COUNT {
            let mut words = [fixed | random.sparse() & free, random.sparse(), random.sparse(), random.sparse()];
            let half = random.below(2) == 0;
            match name {
                // Unused registers are zero.
                "VDS" => words[1] &= [0xff, 0xffff, 0xff_ffff, 0xff00_00ff][random.below(4) as usize],
                // No scalar address; nor a bit of scratch alone.
                "VFLAT" | "VGLOBAL" | "VSCRATCH" => {
                    words[0] = if half { words[0] & !127 | 124 } else { words[0] };
                    words[1] &= if name == "VSCRATCH" { !0 } else { !(1 << 17) };
                }
                "VBUFFER" => (words[1], words[2]) = (words[1] & !(3 << 16), words[2] & 0x7fff_ffff),
                // Vector registers, and neither operands nor modifiers that few opcodes have.
                "VOP3" if half => {
                    words[0] &= !(0x7f << 8);
                    words[1] = words[1] & 0x07ff_ffff | 1 << 8 | 1 << 17 | 1 << 26;
                }
                "VOP3P" if half => words[1] |= 1 << 8 | 1 << 17 | 1 << 26,
                "VOPD" => (words[0], words[1]) = (words[0] | 1 << 8, words[1] | 1 << 8),
                "VOPD3" => {
                    (words[0], words[1]) = (words[0] | 1 << 8, words[1] & 0x00ff_01ff | 1 << 8);
                    words[2] &= 0xff00_ffff;
                }
                _ => {}
            }
            tally.compare(chip, &mut llvm, words);
        }
        tally.report(&format!("gfx1250 {name}"));
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

/// The same for gfx1250.
#[test]
fn every_immediate_of_gfx1250() {
    const CARRIERS: &[(&str, u32)] = &[
        ("s_wait_alu", 0xbf88_0000),
        ("s_wait_loadcnt_dscnt", 0xbfc8_0000),
        ("s_sendmsg", 0xbfb6_0000),
        ("s_getreg_b32", 0xb894_0000),
        ("s_sleep", 0xbf83_0000),
        ("s_version", 0xb080_0000),
    ];
    let (chip, mut llvm) = crate::gfx1250();
    for &(name, word) in CARRIERS {
        let mut tally = Tally::default();
        for immediate in 0..0x1_0000 {
            tally.compare(chip, &mut llvm, [word | immediate, 0, 0, 0]);
        }
        tally.report(name);
        assert_eq!(tally.same, 0x1_0000, "{name}");
    }
    let mut tally = Tally::default();
    for value in 0..1 << 11 {
        tally.compare(chip, &mut llvm, [0xbf87_0000 | value, 0, 0, 0]);
    }
    tally.report("s_delay_alu");
    assert_eq!((tally.same, tally.refused), (12 * 6 * 12, 2048 - 12 * 6 * 12));
}
