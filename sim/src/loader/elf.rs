//! The ELF container: header, segments, dynamic symbols, the metadata note.
//!
//! What must hold here: everything is read through program headers and the dynamic symbol table, as a real loader does;
//! lengths are checked before anything is copied.

use std::collections::BTreeMap;

use object::LittleEndian;
use object::elf::{DT_RELASZ, DT_RELSZ, ET_DYN, FileHeader64, PF_W, PF_X, PT_DYNAMIC, PT_LOAD, PT_NOTE, SHT_DYNSYM};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Sym};
use tilewright_target::{TARGETS, Target};

use super::{LoadError, MAX_IMAGE_BYTES, Segment};

/// Owner and type of the metadata note.
const NOTE_OWNER: &[u8] = b"AMDGPU";
const NOTE_TYPE: u32 = 32;

type Header = FileHeader64<LittleEndian>;

const LE: LittleEndian = LittleEndian;

/// A defined symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) address: u64,
    pub(super) bytes: u64,
}

/// What the loader needs of the file.
#[derive(Debug)]
pub(super) struct Elf {
    pub(super) segments: Vec<Segment>,
    pub(super) symbols: BTreeMap<String, Symbol>,
    pub(super) metadata: Vec<u8>,
}

/// Reads the container and checks its header against the device.
pub(super) fn read(file: &[u8], target: &'static Target) -> Result<Elf, LoadError> {
    let not_elf = |error: object::read::Error| LoadError::NotElf(error.to_string());
    let header = Header::parse(file).map_err(not_elf)?;
    if !header.is_class_64() || !header.is_little_endian() {
        return Err(LoadError::NotElf("it is not for a 64-bit little-endian machine".to_owned()));
    }
    check_header(header, target)?;
    let program = header.program_headers(LE, file).map_err(not_elf)?;
    let mut segments = Vec::new();
    let mut metadata = None;
    for entry in program {
        match entry.p_type(LE) {
            PT_LOAD => segments.push(read_segment(entry, file)?),
            PT_NOTE => metadata = metadata.or(read_note(entry, file)?),
            PT_DYNAMIC => check_relocations(entry, file)?,
            _ => {}
        }
    }
    check_segments(&segments)?;
    let symbols = read_symbols(header, file).map_err(not_elf)?;
    Ok(Elf { segments, symbols, metadata: metadata.ok_or(LoadError::MissingMetadata)? })
}

/// The ELF header must be the one that the device's code objects have.
fn check_header(header: &Header, target: &'static Target) -> Result<(), LoadError> {
    let facts = target.elf.ok_or(LoadError::NoElfDevice(target.name))?;
    let ident = header.e_ident();
    let fields = [
        ("machine", u32::from(header.e_machine(LE)), u32::from(facts.machine)),
        ("OSABI", u32::from(ident.os_abi), u32::from(facts.os_abi)),
        ("ABI version", u32::from(ident.abi_version), u32::from(facts.abi_version)),
        ("type", u32::from(header.e_type(LE)), u32::from(ET_DYN)),
    ];
    for (field, found, expected) in fields {
        if found != expected {
            return Err(LoadError::Header { field, found, expected, device: target.name });
        }
    }
    let flags = header.e_flags(LE);
    if flags & 0xff != facts.mach() {
        return Err(LoadError::Target { object: chip_of(flags), device: target.name });
    }
    if flags != facts.e_flags {
        return Err(LoadError::Flags { found: flags, expected: facts.e_flags, device: target.name });
    }
    Ok(())
}

/// Name of the chip that the flags stand for.
fn chip_of(flags: u32) -> String {
    let known = TARGETS.iter().find(|target| target.elf.is_some_and(|elf| elf.mach() == flags & 0xff));
    known.map_or_else(|| format!("an unknown chip (ELF e_flags {flags:#x})"), |target| target.name.to_owned())
}

fn read_segment(entry: &object::elf::ProgramHeader64<LittleEndian>, file: &[u8]) -> Result<Segment, LoadError> {
    let (address, memory_bytes) = (entry.p_vaddr(LE), entry.p_memsz(LE));
    let bytes = entry.data(LE, file).map_err(|()| {
        let (at, bytes) = entry.file_range(LE);
        LoadError::NotElf(format!(
            "a segment of {bytes} bytes at {at:#x} lies outside the file of {} bytes",
            file.len()
        ))
    })?;
    if (bytes.len() as u64) > memory_bytes {
        return Err(LoadError::Malformed(format!(
            "the segment at {address:#x} has {} bytes of content in {memory_bytes} bytes of memory",
            bytes.len()
        )));
    }
    if address.checked_add(memory_bytes).is_none_or(|end| end > MAX_IMAGE_BYTES) {
        return Err(LoadError::Malformed(format!(
            "the segment at {address:#x} of {memory_bytes} bytes ends above the limit of {MAX_IMAGE_BYTES} bytes"
        )));
    }
    Ok(Segment {
        address,
        memory_bytes,
        bytes: bytes.to_vec(),
        executable: entry.p_flags(LE) & PF_X != 0,
        writable: entry.p_flags(LE) & PF_W != 0,
    })
}

/// Segments ascend and do not overlap; so their contents together are no longer than the image may be.
fn check_segments(segments: &[Segment]) -> Result<(), LoadError> {
    for pair in segments.windows(2) {
        if pair[1].address < pair[0].end() {
            return Err(LoadError::Malformed(format!(
                "the segment at {:#x} begins before the end {:#x} of the one before it",
                pair[1].address,
                pair[0].end()
            )));
        }
    }
    Ok(())
}

/// The metadata in a note segment, if it is there.
fn read_note(entry: &object::elf::ProgramHeader64<LittleEndian>, file: &[u8]) -> Result<Option<Vec<u8>>, LoadError> {
    let broken = |error: object::read::Error| LoadError::NotElf(error.to_string());
    let Some(mut notes) = entry.notes(LE, file).map_err(broken)? else { return Ok(None) };
    while let Some(note) = notes.next().map_err(broken)? {
        if note.name() == NOTE_OWNER && note.n_type(LE) == NOTE_TYPE {
            return Ok(Some(note.desc().to_vec()));
        }
    }
    Ok(None)
}

/// Our kernels refer to nothing outside themselves; an object that needs relocations would run with wrong addresses.
fn check_relocations(entry: &object::elf::ProgramHeader64<LittleEndian>, file: &[u8]) -> Result<(), LoadError> {
    let entries = entry.dynamic(LE, file).map_err(|error| LoadError::NotElf(error.to_string()))?.unwrap_or(&[]);
    for tag in entries {
        let sizes_relocations = [DT_RELASZ, DT_RELSZ].into_iter().any(|size| tag.d_tag(LE) == u64::from(size));
        if sizes_relocations && tag.d_val(LE) != 0 {
            return Err(LoadError::Relocations(tag.d_val(LE)));
        }
    }
    Ok(())
}

/// All defined dynamic symbols by name.
fn read_symbols(header: &Header, file: &[u8]) -> object::read::Result<BTreeMap<String, Symbol>> {
    let table = header.sections(LE, file)?.symbols(LE, file, SHT_DYNSYM)?;
    let mut symbols = BTreeMap::new();
    for symbol in table.iter() {
        if symbol.is_undefined(LE) {
            continue;
        }
        let name = String::from_utf8_lossy(symbol.name(LE, table.strings())?).into_owned();
        symbols.insert(name, Symbol { address: symbol.st_value(LE), bytes: symbol.st_size(LE) });
    }
    Ok(symbols)
}

/// The content at `address`, `None` unless all `bytes` bytes lie in the content of one segment.
pub(super) fn bytes_at(segments: &[Segment], address: u64, bytes: u64) -> Option<&[u8]> {
    segments.iter().find_map(|segment| {
        let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
        let end = start.checked_add(usize::try_from(bytes).ok()?)?;
        segment.bytes.get(start..end)
    })
}
