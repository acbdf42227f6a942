//! Random valid encodings of every row of gfx1250's tables.

use tilewright_sim::isa::table::gfx12;
use tilewright_sim::isa::table::{
    ATOMIC, DELAY, DUAL_X, DUAL_Y, E64, IMM, KEEPS, LITERAL, LOAD, LONG_ONLY, MATRIX, NO_DPP, NO_LITERAL, NO_VGPR,
    PREFETCH, REGISTER_ONLY, Row, STORE, TIED, TO_LDS, TWO, Ty,
};
use tilewright_sim::isa::{Format, Op};

use crate::judge::Tally;
use crate::random::Random;

/// Encodings of each row and form.
const COUNT: u32 = 60;

/// How a row is encoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Plain,
    Literal,
    /// A literal of 64 bits.
    Wide,
    Dpp16,
    Dpp8,
    /// The 64-bit form; the number to add to the opcode.
    Long(u32),
    LongLiteral(u32),
    LongDpp16(u32),
    LongDpp8(u32),
    /// First or second of two, in 64 or in 96 bits.
    Dual {
        second: bool,
        long: bool,
    },
}

/// The tables with their formats.
fn tables() -> Vec<(Format, &'static [Row])> {
    vec![
        (Format::Sop2, gfx12::SOP2),
        (Format::Sopk, gfx12::SOPK),
        (Format::Sop1, gfx12::SOP1),
        (Format::Sopc, gfx12::SOPC),
        (Format::Sopp, gfx12::SOPP),
        (Format::Smem, gfx12::SMEM),
        (Format::Vop1, gfx12::VOP1),
        (Format::Vop2, gfx12::VOP2),
        (Format::Vopc, gfx12::VOPC),
        (Format::Vop3, gfx12::VOP3),
        (Format::Vop3p, gfx12::VOP3P),
        (Format::Vopd, gfx12::VOPD),
        (Format::Ds, gfx12::DS),
        (Format::Flat, gfx12::FLAT),
        (Format::Global, gfx12::GLOBAL),
        (Format::Scratch, gfx12::SCRATCH),
        (Format::Mubuf, gfx12::BUFFER),
    ]
}

/// The forms of a row.
fn forms(format: Format, row: &Row) -> Vec<Form> {
    let literal = row.src[0] != Ty::None && !row.has(REGISTER_ONLY) && !row.has(NO_LITERAL) && !row.has(IMM);
    // A literal of 64 bits that belongs to the instruction leaves no place for another.
    let literal = literal && !(row.has(LITERAL) && row.dst == Ty::F64);
    let wide = literal && matches!(row.src[0], Ty::B64 | Ty::F64);
    let lanes = !row.has(NO_DPP);
    let base = match format {
        Format::Vopc => 0,
        Format::Vop2 => 0x100,
        Format::Vop1 => 0x180,
        Format::Vop3 => 0,
        Format::Sop2 | Format::Sop1 | Format::Sopc => {
            return those(&[(true, Form::Plain), (literal, Form::Literal), (wide, Form::Wide)]);
        }
        Format::Vop3p if row.has(MATRIX) => return vec![Form::Long(0)],
        Format::Vop3p => {
            return those(&[
                (true, Form::Long(0)),
                (true, Form::LongLiteral(0)),
                (lanes, Form::LongDpp16(0)),
                (lanes, Form::LongDpp8(0)),
            ]);
        }
        Format::Vopd => return dual_forms(row),
        _ => return vec![Form::Plain],
    };
    let (short, long) = (format != Format::Vop3, format == Format::Vop3 || row.has(E64));
    let long_literal = literal && row.src.iter().all(|ty| ty.dwords() < 3);
    those(&[
        (short, Form::Plain),
        (short && literal, Form::Literal),
        (short && wide, Form::Wide),
        (short && lanes, Form::Dpp16),
        (short && lanes, Form::Dpp8),
        (long, Form::Long(base)),
        (long && long_literal, Form::LongLiteral(base)),
        (long && lanes, Form::LongDpp16(base)),
        (long && lanes, Form::LongDpp8(base)),
    ])
}

/// The forms that there are.
fn those(forms: &[(bool, Form)]) -> Vec<Form> {
    forms.iter().filter(|(there, _)| *there).map(|(_, form)| *form).collect()
}

/// First or second, in 64 or 96 bits.
fn dual_forms(row: &Row) -> Vec<Form> {
    let (long, short) = (!row.has(LITERAL), !row.has(LONG_ONLY));
    // The short form has four bits for the first opcode.
    let first = row.has(DUAL_X);
    those(&[
        (first && long, Form::Dual { second: false, long: true }),
        (first && short && row.code < 16, Form::Dual { second: false, long: false }),
        (row.has(DUAL_Y) && long, Form::Dual { second: true, long: true }),
        (row.has(DUAL_Y) && short, Form::Dual { second: true, long: false }),
    ])
}

/// A scalar register at which a tuple of `dwords` dwords may begin.
fn scalar_register(random: &mut Random, dwords: u8) -> u32 {
    match (dwords, random.below(8)) {
        (1, 0) => random.pick(&[102, 105, 106, 107, 110, 124]),
        (1, _) => random.below(106),
        (2, 0) => random.pick(&[104, 106, 108, 118]),
        (2, _) => random.below(53) * 2,
        _ => random.below(21) * 4,
    }
}

/// A scalar source: a register or an inline constant.
fn scalar_source(random: &mut Random, dwords: u8) -> u32 {
    match random.below(4) {
        0 => 128 + random.below(81),
        1 => random.pick(&[124, 230, 235, 236, 237, 238, 239, 240, 241, 242, 243, 244, 245, 246, 247, 248, 253]),
        _ => scalar_register(random, dwords),
    }
}

/// Source `i` of a row, in nine bits; `low` keeps 16-bit operands in the lower half of the registers.
fn source(random: &mut Random, row: &Row, i: usize, low: bool) -> u32 {
    let ty = row.src[i];
    let half = low && ty.is_half();
    match ty {
        Ty::None => 0,
        Ty::M32 => scalar_register(random, 1),
        Ty::S32 => scalar_source(random, 1),
        _ if row.has(NO_VGPR) => scalar_source(random, 1),
        _ if row.has(REGISTER_ONLY) && (i == 0 || row.has(TIED)) || ty.dwords() > 2 || random.below(2) == 0 => {
            256 + vector_register(random, ty.dwords(), half)
        }
        _ => scalar_source(random, ty.dwords()),
    }
}

fn vector_register(random: &mut Random, dwords: u8, low: bool) -> u32 {
    if low { random.below(128) } else { random.vector_register(dwords) }
}

/// A valid encoding of the row.
fn encode(random: &mut Random, format: Format, form: Form, row: &Row) -> [u32; 4] {
    let code = u32::from(row.code);
    match format {
        Format::Sop2 | Format::Sop1 | Format::Sopc | Format::Sopk | Format::Sopp => scalar(random, format, form, row),
        Format::Smem => smem(random, row),
        Format::Vop1 | Format::Vop2 | Format::Vopc | Format::Vop3 => match form {
            Form::Long(base) | Form::LongLiteral(base) | Form::LongDpp16(base) | Form::LongDpp8(base) => {
                long(random, code + base, form, format == Format::Vopc, row)
            }
            _ => short(random, format, form, row),
        },
        Format::Vop3p if row.has(MATRIX) => matrix(random, row),
        Format::Vop3p => packed(random, form, row),
        Format::Vopd => match form {
            Form::Dual { second, long: false } => dual(random, second, row),
            Form::Dual { second, .. } => long_dual(random, second, row),
            _ => [0; 4],
        },
        Format::Ds => ds(random, row),
        Format::Flat | Format::Global | Format::Scratch => flat(random, format, row),
        _ => buffer(random, row),
    }
}

fn scalar(random: &mut Random, format: Format, form: Form, row: &Row) -> [u32; 4] {
    let code = u32::from(row.code);
    let mut field = |i: usize| match (i, form, row.src[i]) {
        (0, Form::Literal, _) => 255,
        (0, Form::Wide, _) => 254,
        (_, _, Ty::None) => 0,
        (_, _, ty) if row.has(REGISTER_ONLY) => scalar_register(random, ty.dwords()),
        (_, _, ty) => scalar_source(random, ty.dwords()),
    };
    let second = if row.op == Op::SFmamkF32 { 2 } else { 1 };
    let (first, second) = (field(0), field(second));
    let register = if row.dst == Ty::None { row.src[0] } else { row.dst };
    let dst = if register == Ty::None { 0 } else { scalar_register(random, register.dwords()) };
    let mut immediate = random.sparse() & 0xffff;
    if row.has(DELAY) {
        immediate = random.below(12) | random.below(6) << 4 | random.below(12) << 7;
    }
    let word = match format {
        Format::Sop2 => 2 << 30 | code << 23 | dst << 16 | second << 8 | first,
        Format::Sop1 if row.has(IMM) => 0x17d << 23 | dst << 16 | code << 8 | random.below(256),
        Format::Sop1 => 0x17d << 23 | dst << 16 | code << 8 | first,
        Format::Sopc => 0x17e << 23 | code << 16 | second << 8 | first,
        Format::Sopk => 0xb << 28 | code << 23 | dst << 16 | immediate,
        _ if row.has(IMM) => 0x17f << 23 | code << 16 | immediate,
        _ => 0x17f << 23 | code << 16,
    };
    [word, random.literal(), random.literal(), 0]
}

fn smem(random: &mut Random, row: &Row) -> [u32; 4] {
    let data = match row.dst {
        Ty::None if row.has(PREFETCH) => random.below(32),
        Ty::None => 0,
        ty => scalar_register(random, ty.dwords()),
    };
    let base = if row.src[0] == Ty::None { 0 } else { scalar_register(random, row.src[0].dwords()) / 2 };
    let most = if row.src[0] == Ty::S128 { 0x7f_ffff } else { 0xff_ffff };
    let register = [124, scalar_register(random, 1)][random.below(2) as usize];
    let lo = 0x3d << 26 | u32::from(row.code) << 13 | data << 6 | base;
    if row.src[0] == Ty::None && !row.has(PREFETCH) {
        return [lo, register << 25, 0, 0];
    }
    let hints = random.below(2) << 20 | random.below(4) << 21 | random.below(4) << 23;
    let hints = if row.has(LOAD) { hints } else { 0 };
    let scaled = if row.has(LOAD) { random.below(2) << 24 } else { 0 };
    [lo | hints, register << 25 | scaled | random.sparse() & most, random.sparse(), 0]
}

/// The dword of lanes.
fn lanes(random: &mut Random, sixteen: bool, first: u32) -> u32 {
    if !sixteen {
        return first | random.u32() << 8;
    }
    let ctrl = [
        random.below(256),
        0x101 + random.below(15),
        0x111 + random.below(15),
        0x121 + random.below(15),
        0x140 + random.below(2),
        0x150 + random.below(32),
    ];
    first | random.pick(&ctrl) << 8 | random.below(4) << 18 | random.below(256) << 24
}

fn short(random: &mut Random, format: Format, form: Form, row: &Row) -> [u32; 4] {
    let code = u32::from(row.code);
    let first = match form {
        Form::Literal => 255,
        Form::Wide => 254,
        Form::Dpp16 => 250,
        Form::Dpp8 => random.pick(&[233, 234]),
        _ => source(random, row, 0, true),
    };
    let dst = match row.dst {
        Ty::None => 0,
        Ty::S32 => random.below(106),
        ty => vector_register(random, ty.dwords(), ty.is_half()),
    };
    // The literal of some stands between the sources.
    let at = if matches!(row.op, Op::VFmamkF16 | Op::VFmamkF32 | Op::VFmamkF64) { 2 } else { 1 };
    let second = vector_register(random, row.src[at].dwords(), row.src[at].is_half());
    let lo = match format {
        Format::Vopc => 0x3e << 25 | code << 17 | second << 9,
        Format::Vop1 => 0x3f << 25 | dst << 17 | code << 9,
        _ => code << 25 | dst << 17 | second << 9,
    };
    let mut extra = random.literal();
    if matches!(form, Form::Dpp16 | Form::Dpp8) {
        let register = vector_register(random, 1, row.src[0].is_half());
        extra = lanes(random, form == Form::Dpp16, register);
        for i in 0..2 {
            if form == Form::Dpp16 && row.bits.used >> i & 1 != 0 && random.below(2) == 0 {
                extra |= random.below(4) << (20 + 2 * i);
            }
        }
    }
    [lo | first, extra, random.literal(), 0]
}

/// Modifier bits that the row has, some of them set.
fn modifiers(random: &mut Random, row: &Row) -> u32 {
    if random.below(3) == 0 { 0 } else { random.u32() & u32::from(row.bits.used) }
}

/// Sources of a 64-bit encoding in its second dword, and the dword behind it.
fn sources(random: &mut Random, form: Form, row: &Row) -> (u32, u32) {
    let (mut fields, mut behind) = (0, random.literal());
    for i in 0..3 {
        let field = match (i, form) {
            (0, Form::LongLiteral(_)) => 255,
            (0, Form::LongDpp16(_)) => 250,
            (0, Form::LongDpp8(_)) => random.pick(&[233, 234]),
            // Mixed precision with lanes takes only vector registers in the second place.
            (1, Form::LongDpp16(_) | Form::LongDpp8(_)) if row.bits.used >> 12 & 1 != 0 => 256 + random.below(256),
            _ => source(random, row, i, false),
        };
        fields |= field << (9 * i);
    }
    if matches!(form, Form::LongDpp16(_) | Form::LongDpp8(_)) {
        let register = random.below(256);
        behind = lanes(random, matches!(form, Form::LongDpp16(_)), register);
    }
    (fields, behind)
}

fn long(random: &mut Random, code: u32, form: Form, compare: bool, row: &Row) -> [u32; 4] {
    let dst = match (compare, row.dst, row.sdst) {
        (true, _, Ty::None) => 126,
        (true, ..) => scalar_register(random, 1),
        (_, Ty::None, _) => 0,
        (_, Ty::S32, _) => random.below(106),
        (_, ty, _) => random.vector_register(ty.dwords()),
    };
    let set = modifiers(random, row);
    let mut lo = 0x35 << 26 | code << 16 | dst | (set >> 6 & 1) << 15;
    if row.sdst != Ty::None && !compare {
        lo |= scalar_register(random, 1) << 8;
    } else {
        lo |= (set >> 3 & 7) << 8 | (set >> 9 & 15) << 11;
    }
    let (fields, behind) = sources(random, form, row);
    [lo, fields | (set & 7) << 29 | (set >> 7 & 3) << 27, behind, 0]
}

fn packed(random: &mut Random, form: Form, row: &Row) -> [u32; 4] {
    let set = modifiers(random, row);
    let lo = 0xcc << 24 | u32::from(row.code) << 16 | random.vector_register(row.dst.dwords());
    let lo = lo | (set >> 3 & 7) << 8 | (set >> 6 & 1) << 15 | (set >> 7 & 7) << 11 | (set >> 12 & 1) << 14;
    let (fields, behind) = sources(random, form, row);
    [lo, fields | (set & 7) << 29 | (set >> 10 & 3) << 27, behind, 0]
}

fn matrix(random: &mut Random, row: &Row) -> [u32; 4] {
    let set = modifiers(random, row);
    let lo = 0xcc << 24 | u32::from(row.code) << 16 | random.vector_register(row.dst.dwords());
    let lo = lo | (set >> 3 & 7) << 8 | (set >> 6 & 1) << 15 | (set >> 7 & 7) << 11 | (set >> 12 & 1) << 14;
    let mut hi = (set & 7) << 29 | 3 << 27;
    for (i, ty) in row.src.iter().take(3).enumerate() {
        let constant = i == 2 && !row.has(TIED) && random.below(4) == 0;
        let source = if constant { 128 + random.below(81) } else { 256 + random.vector_register(ty.dwords()) };
        hi |= source << (9 * i);
    }
    [lo, hi, 0, 0]
}

/// Another operation beside the one in question: an addition.
const ADDITION: u32 = 4;

fn dual(random: &mut Random, second: bool, row: &Row) -> [u32; 4] {
    let code = u32::from(row.code);
    let (first, other) = (source(random, row, 0, false), 256 + random.below(256));
    let at = if row.op == Op::VFmamkF32 { 2 } else { 1 };
    let register = if row.src[at] == Ty::None { 0 } else { random.below(256) };
    let (dst, beside, more) = (random.below(256), random.below(128), random.below(256));
    let words = if second {
        let lo = 0x32 << 26 | ADDITION << 22 | code << 17 | more << 9 | other;
        [lo, dst << 24 | beside << 17 | register << 9 | first]
    } else {
        let lo = 0x32 << 26 | code << 22 | ADDITION << 17 | register << 9 | first;
        [lo, dst << 24 | beside << 17 | more << 9 | other]
    };
    [words[0], words[1], random.literal(), 0]
}

fn long_dual(random: &mut Random, second: bool, row: &Row) -> [u32; 4] {
    let code = u32::from(row.code);
    let first = source(random, row, 0, false);
    let register = |random: &mut Random, ty: Ty| if ty == Ty::None { 0 } else { random.vector_register(ty.dwords()) };
    let next = register(random, row.src[1]);
    let third = match row.src[2] {
        Ty::M32 => scalar_register(random, 1),
        Ty::None if row.op == Op::VBitop2B32 => random.below(256),
        ty => register(random, ty),
    };
    let dst = random.vector_register(row.dst.dwords());
    let negated = (0..3).filter(|i| matches!(row.src[*i], Ty::F32 | Ty::F64)).fold(0, |mask, i| mask | 1 << i);
    let negated = negated & random.below(8);
    let (other, more, beside) = (256 + random.below(256), random.below(256), random.below(256));
    if second {
        let lo = 0xcf << 24 | ADDITION << 18 | code << 12 | other;
        [lo, more << 16 | negated << 12 | first, dst << 24 | third << 16 | next << 8 | beside, 0]
    } else {
        let lo = 0xcf << 24 | code << 18 | ADDITION << 12 | first;
        [lo, third << 24 | next << 16 | negated << 9 | other, beside << 24 | more << 8 | dst, 0]
    }
}

fn ds(random: &mut Random, row: &Row) -> [u32; 4] {
    let registers = row.dst != Ty::None || row.src != [Ty::None; 4];
    let offset = if registers || row.has(TWO) { random.u32() & 0xffff } else { 0 };
    let lo = 0x36 << 26 | u32::from(row.code) << 18 | offset;
    let mut field = |ty: Ty| if ty == Ty::None { 0 } else { random.vector_register(ty.dwords()) };
    [lo, field(row.src[0]) | field(row.src[1]) << 8 | field(row.src[2]) << 16 | field(row.dst) << 24, 0, 0]
}

fn flat(random: &mut Random, format: Format, row: &Row) -> [u32; 4] {
    let prefix = match format {
        Format::Flat => 0xec,
        Format::Scratch => 0xed,
        _ => 0xee,
    };
    let cache = row.dst == Ty::None && row.src == [Ty::None; 4];
    let scalar = match (format, random.below(2)) {
        (_, 0) => 124,
        _ if cache => 124,
        (Format::Scratch, _) => random.below(106),
        _ => random.below(53) * 2,
    };
    let lo = prefix << 24 | u32::from(row.code) << 14 | random.below(2) << 7 | scalar;
    let vector = if format == Format::Scratch { random.below(2) << 17 } else { 0 };
    let to_lds = row.has(TO_LDS) && !row.has(STORE);
    let returned = random.vector_register(if to_lds { 1 } else { row.dst.dwords() });
    let data = random.vector_register(row.src[1].dwords()) << 23;
    let hints = random.below(2) << 16 | random.below(4) << 18 | random.below(8) << 20;
    let offset = if cache { 0 } else { random.u32() << 8 };
    [lo, returned | vector | hints | data, random.vector_register(2) | offset, 0]
}

fn buffer(random: &mut Random, row: &Row) -> [u32; 4] {
    let lo = 0x31 << 26 | u32::from(row.code) << 14 | random.below(2) << 7 | scalar_register(random, 1);
    let stored = row.has(STORE) || row.has(ATOMIC);
    let data = random.vector_register(if stored { row.src[1] } else { row.dst }.dwords());
    let hints = random.below(4) << 18 | random.below(8) << 20 | random.below(4) << 30;
    let resource = random.below(25) * 4;
    [lo, data | resource << 9 | hints, random.vector_register(2) | (random.u32() & 0x7f_ffff) << 8, 0]
}

#[test]
fn every_row() {
    let (chip, mut llvm) = crate::gfx1250();
    let mut random = Random::new(12);
    let mut tally = Tally::default();
    let mut missing = Vec::new();
    for (format, rows) in tables() {
        for row in rows {
            for form in forms(format, row) {
                let mut alike = 0;
                for _ in 0..COUNT {
                    let words = encode(&mut random, format, form, row);
                    alike += u32::from(tally.compare(chip, &mut llvm, words));
                }
                // Few are no instruction, such as a pair that begins at an odd register.
                if alike <= COUNT / 3 {
                    missing.push(format!("{:?} {form:?} of {format:?}: {alike} of {COUNT}", row.op));
                }
            }
            assert!(!row.dst.is_half() || !format_is_vector(format) || row.has(KEEPS), "{:?} keeps the half", row.op);
        }
    }
    tally.report("rows of gfx1250");
    assert!(missing.is_empty(), "rows that decode too seldom:\n{}", missing.join("\n"));
}

fn format_is_vector(format: Format) -> bool {
    matches!(format, Format::Vop1 | Format::Vop2 | Format::Vop3 | Format::Vop3p)
}
