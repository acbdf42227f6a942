//! Real objects, and the same objects with single places changed.
//!
//! What must hold here: the objects in `fixtures/` came out of LLVM and rust-lld (`fixtures/scale.ll`); every change is one
//! that a wrong linker, a wrong target or a damaged file would cause, and the message names both sides.

use tilewright_artifact::{ArgInfo, ArgKind, KernelInfo};
use tilewright_target::{GFX942, GFX950, SM_90A};

use super::*;
use crate::wave::Generation;

const OBJECT: &[u8] = include_bytes!("../../fixtures/scale.gfx950.hsaco");
const OTHER: &[u8] = include_bytes!("../../fixtures/scale.gfx942.hsaco");

/// File offset of the descriptor of `scale` (its address is the same).
const DESCRIPTOR: usize = 0x6c0;

/// The message for the object after `change`.
fn refused(change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut file = OBJECT.to_vec();
    change(&mut file);
    CodeObject::load(&file, &GFX950).unwrap_err().to_string()
}

/// Replaces `from`, which must occur `times` times, by `to` of the same length.
fn replace(file: &mut [u8], from: &[u8], to: &[u8], times: usize) {
    assert_eq!(from.len(), to.len());
    let places: Vec<usize> = (0..=file.len() - from.len()).filter(|at| file[*at..].starts_with(from)).collect();
    assert_eq!(places.len(), times, "{from:?} at {places:?}");
    for at in places {
        file[at..at + to.len()].copy_from_slice(to);
    }
}

#[test]
fn a_real_object_loads() {
    let object = CodeObject::load(OBJECT, &GFX950).unwrap();
    assert_eq!(object.target, "gfx950");
    let names: Vec<&str> = object.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["scale", "empty"]);
    let kernel = object.kernel("scale").unwrap();
    // Figures of the assembly listing and of readelf.
    assert_eq!((kernel.descriptor_address, kernel.entry, kernel.code_bytes), (0x6c0, 0x1800, 68));
    assert_eq!(
        kernel.descriptor,
        KernelDescriptor {
            group_segment_bytes: 128,
            private_segment_bytes: 0,
            kernarg_bytes: 20,
            entry_offset: 0x1140,
            rsrc1: 0x00af_0040,
            rsrc2: 0x384,
            rsrc3: 0,
            properties: 8,
            kernarg_preload: 0,
        }
    );
    assert_eq!(kernel.descriptor.user_sgprs(Generation::Gfx9), 2);
    assert!(kernel.descriptor.has_kernarg_pointer() && !kernel.descriptor.is_wave32());
    assert_eq!(kernel.descriptor.workgroup_ids(), [true; 3]);
    assert_eq!(
        (kernel.descriptor.vector_registers(Generation::Gfx9), kernel.descriptor.accum_offset(Generation::Gfx9)),
        (8, 4)
    );
    assert_eq!((kernel.metadata.vgprs, kernel.metadata.sgprs, kernel.metadata.wavefront_lanes), (3, 10, 64));
    let args: Vec<(&str, u64, u64)> =
        kernel.metadata.args.iter().map(|arg| (arg.name.as_str(), arg.offset, arg.bytes)).collect();
    assert_eq!(args, [("out", 0, 8), ("in", 8, 8), ("n", 16, 4)]);
    // `empty` is the one instruction s_endpgm.
    let empty = object.kernel("empty").unwrap();
    assert_eq!(object.bytes_at(empty.entry, empty.code_bytes), Some(&[0x00, 0x00, 0x81, 0xbf][..]));
    assert_eq!(object.image_bytes(), 0x3000);
    assert!(CodeObject::load(OTHER, &GFX942).is_ok());
}

#[test]
fn an_object_may_begin_at_any_address() {
    let mut shifted = vec![0];
    shifted.extend_from_slice(OBJECT);
    assert_eq!(CodeObject::load(&shifted[1..], &GFX950), CodeObject::load(OBJECT, &GFX950));
}

#[test]
fn the_wrong_chip_is_named_on_both_sides() {
    let error = CodeObject::load(OTHER, &GFX950).unwrap_err();
    assert_eq!(error, LoadError::Target { object: "gfx942".to_owned(), device: "gfx950" });
    assert_eq!(error.to_string(), "object is for gfx942, device is gfx950");
    assert_eq!(
        refused(|file| file[0x30] = 0x4a),
        "object is for an unknown chip (ELF e_flags 0x54a), device is gfx950"
    );
    // The header says gfx950, the metadata does not.
    assert_eq!(refused(|file| replace(file, b"--gfx950", b"--gfx90a", 1)), "object is for gfx90a, device is gfx950");
    assert_eq!(
        CodeObject::load(OBJECT, &SM_90A).unwrap_err().to_string(),
        "device sm_90a does not run AMD code objects"
    );
}

#[test]
fn header_fields_are_checked() {
    assert_eq!(refused(|file| file[18] = 62), "object has ELF machine 62, device gfx950 needs 224");
    assert_eq!(refused(|file| file[7] = 0), "object has ELF OSABI 0, device gfx950 needs 64");
    assert_eq!(refused(|file| file[8] = 3), "object has ELF ABI version 3, device gfx950 needs 4");
    assert_eq!(refused(|file| file[16] = 1), "object has ELF type 1, device gfx950 needs 3");
    assert_eq!(
        refused(|file| file[0x31] = 0x07),
        "object has ELF e_flags 0x74f, device gfx950 needs 0x54f (xnack and sramecc \"any\")"
    );
    assert!(refused(|file| file[0] = 0).starts_with("this is not a linked AMD code object"));
    assert!(refused(|file| file[4] = 1).starts_with("this is not a linked AMD code object"));
    assert!(refused(|file| file[5] = 2).starts_with("this is not a linked AMD code object"));
}

#[test]
fn descriptor_and_metadata_must_agree() {
    assert_eq!(refused(|file| file[DESCRIPTOR] = 0), "kernel `scale`: metadata says LDS bytes 128, descriptor 0");
    assert_eq!(
        refused(|file| file[DESCRIPTOR + 4] = 16),
        "kernel `scale`: metadata says scratch bytes 0, descriptor 16"
    );
    assert_eq!(
        refused(|file| file[DESCRIPTOR + 8] = 24),
        "kernel `scale`: metadata says argument bytes 20, descriptor 24"
    );
    assert_eq!(
        refused(|file| file[DESCRIPTOR + 17] = 0x12),
        "kernel `scale`: descriptor says the entry address 6400, symbol 6144"
    );
    assert_eq!(
        refused(|file| file[DESCRIPTOR + 57] = 0x04),
        "kernel `scale`: metadata says the wave width 64, descriptor 32"
    );
    assert_eq!(
        refused(|file| file[DESCRIPTOR + 30] = 1),
        "malformed code object: kernel `scale`: reserved bytes 24 to 43 of the descriptor are not zero"
    );
}

#[test]
fn limits_of_the_device_hold() {
    // A device with less LDS: the object's own figure cannot grow without moving bytes.
    let small = Target { lds_bytes: 64, name: "small", ..GFX950 };
    let small: &'static Target = Box::leak(Box::new(small));
    assert_eq!(
        CodeObject::load(OBJECT, small).unwrap_err().to_string(),
        "kernel `scale` needs 128 LDS bytes, device small has 64"
    );
}

#[test]
fn symbols_must_exist_on_both_sides() {
    assert_eq!(
        refused(|file| replace(file, b"\0scale.kd\0", b"\0scalx.kd\0", 2)),
        "kernel `scale` is in the metadata, but the object has no symbol `scale.kd`"
    );
    assert_eq!(
        refused(|file| replace(file, b"\0scale\0", b"\0scalx\0", 2)),
        "kernel `scale` is in the metadata, but the object has no symbol `scale`"
    );
    assert_eq!(
        refused(|file| replace(file, b".symbol\xa8empty.kd", b".symbol\xa8scale.kd", 1)),
        "malformed code object: the metadata has the descriptor `scale.kd` twice"
    );
    // Without a list of kernels every descriptor is an orphan.
    assert_eq!(
        refused(|file| replace(file, b"amdhsa.kernels", b"amdhsa.kernelx", 1)),
        "the object has the descriptor `empty.kd`, but the metadata has no such kernel"
    );
}

#[test]
fn the_metadata_note_must_be_there_and_readable() {
    assert_eq!(
        refused(|file| replace(file, b"AMDGPU\0", b"AMDGPX\0", 1)),
        "the code object has no AMDGPU metadata note"
    );
    assert!(
        refused(|file| replace(file, b".symbol\xa8scale", b".symbox\xa8scale", 1))
            .starts_with("the metadata of the code object cannot be read: missing field `.symbol`")
    );
    assert_eq!(
        refused(|file| replace(file, b"amdhsa.version\x92\x01\x02", b"amdhsa.version\x92\x02\x00", 1)),
        "the metadata of the code object cannot be read: its version is [2, 0], this loader reads [1, 2]"
    );
    assert_eq!(
        refused(|file| replace(file, b".offset\x10", b".offset\x11", 1)),
        "the metadata of the code object cannot be read: kernel `scale`: argument `n` ends outside the argument block of \
         20 bytes"
    );
}

#[test]
fn segments_are_checked() {
    // Program header 2 is the code: 64 + 2 * 56. p_vaddr at +16, p_filesz at +32, p_memsz at +40.
    let code = 64 + 2 * 56;
    assert!(refused(|file| file[code + 18] = 0xff).contains("begins before the end"), "code above what follows it");
    assert!(refused(|file| file[code + 36] = 0xff).contains("lies outside the file"));
    assert!(refused(|file| file[code + 47] = 0xff).contains("ends above the limit"));
    assert!(refused(|file| file[code + 41] = 0).contains("bytes of content in"));
    // Not executable: flags at +4.
    assert_eq!(
        refused(|file| file[code + 4] = 4),
        "malformed code object: kernel `scale`: the code at 0x1800 is outside the object"
    );
}

#[test]
fn entries_are_aligned() {
    // Symbol 1 of the dynamic table (24 bytes each, value at +8) and the descriptor move the entry together by one instruction.
    assert_eq!(
        refused(|file| {
            file[0x590 + 24 + 8] = 0x04;
            file[DESCRIPTOR + 16] = 0x44;
        }),
        "malformed code object: kernel `scale`: entry 0x1804 is not a multiple of 256"
    );
}

#[test]
fn relocations_are_refused() {
    // The first entry of the dynamic segment becomes DT_RELASZ (8) with 24 bytes.
    assert_eq!(
        refused(|file| {
            file[0xd40..0xd48].copy_from_slice(&8u64.to_le_bytes());
            file[0xd48..0xd50].copy_from_slice(&24u64.to_le_bytes());
        }),
        "the code object needs 24 bytes of dynamic relocations, the loader applies none"
    );
}

#[test]
fn no_truncation_and_no_flipped_byte_panics() {
    for length in 0..OBJECT.len() {
        assert!(CodeObject::load(&OBJECT[..length], &GFX950).is_err(), "{length}");
    }
    for at in 0..OBJECT.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut file = OBJECT.to_vec();
            file[at] ^= change;
            // Bytes of code, comments and static symbols may change without harm; none may panic.
            let _ = CodeObject::load(&file, &GFX950);
        }
    }
}

#[test]
fn nested_metadata_ends_in_an_error() {
    let error = metadata::read(&[0x91; 1 << 20]).unwrap_err();
    assert!(matches!(error, LoadError::Metadata(_)));
    // An unknown field may hold anything, nested lists included.
    let mut note = vec![0x81, 0xa1, b'x'];
    note.extend_from_slice(&[0x91; 1 << 20]);
    assert!(matches!(metadata::read(&note).unwrap_err(), LoadError::Metadata(_)));
}

#[test]
fn unknown_kernels_get_the_list() {
    let object = CodeObject::load(OBJECT, &GFX950).unwrap();
    assert_eq!(
        object.kernel("scales").unwrap_err().to_string(),
        "the code object has no kernel `scales`; it has scale, empty"
    );
}

#[test]
fn the_artifact_must_describe_the_object() {
    let object = CodeObject::load(OBJECT, &GFX950).unwrap();
    let arg = |name: &str, kind, bytes, offset| ArgInfo {
        name: name.to_owned(),
        kind,
        dtype: "f32".to_owned(),
        bytes,
        offset,
        hidden: false,
    };
    let mut info = KernelInfo {
        name: "scale".to_owned(),
        args: vec![
            arg("out", ArgKind::Global, 8, 0),
            arg("in", ArgKind::Global, 8, 8),
            arg("n", ArgKind::Scalar, 4, 16),
        ],
        grid: [1; 3],
        block: [64, 1, 1],
        lds_bytes: 128,
        min_queues: 0,
        signals: vec![],
        signals_by_hand: false,
        sizes: Default::default(),
    };
    let kernel = object.kernel("scale").unwrap();
    assert_eq!(kernel.check_against(&info), Ok(()));
    info.lds_bytes = 64;
    assert_eq!(
        kernel.check_against(&info).unwrap_err().to_string(),
        "kernel `scale`: artifact says LDS bytes 64, metadata 128"
    );
    info.lds_bytes = 128;
    info.args.pop();
    assert_eq!(
        kernel.check_against(&info).unwrap_err().to_string(),
        "kernel `scale`: artifact says argument bytes 16, metadata 20"
    );
}
