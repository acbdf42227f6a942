//! Source lines of instructions, from the DWARF line tables of the object.
//!
//! What must hold here: line tables are a help for messages only; an object without them, or with broken ones, runs the same.

use std::rc::Rc;

use gimli::{EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

/// Rows by address, ascending.
#[derive(Clone, Debug)]
pub(crate) struct LineTable {
    rows: Vec<Row>,
}

#[derive(Clone, Debug)]
struct Row {
    /// Offset in the image from which on it holds.
    address: u64,
    /// File and line; `None` behind the end of a sequence, and where the compiler gives no line.
    line: Option<(Rc<str>, u32)>,
}

type Reader<'a> = EndianSlice<'a, LittleEndian>;

impl LineTable {
    /// The line tables of an object file, `None` if it has none that can be read.
    pub(crate) fn read(file: &[u8]) -> Option<LineTable> {
        let object = object::File::parse(file).ok()?;
        let section = |id: gimli::SectionId| -> Result<Reader<'_>, gimli::Error> {
            let data = object.section_by_name(id.name()).and_then(|section| section.data().ok()).unwrap_or(&[]);
            Ok(EndianSlice::new(data, LittleEndian))
        };
        let dwarf = gimli::Dwarf::load(section).ok()?;
        let mut rows = Vec::new();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            // A unit that cannot be read takes its lines with it, not those of the others.
            let _ = dwarf.unit(header).and_then(|unit| unit_rows(&dwarf, &unit, &mut rows));
        }
        rows.sort_by_key(|row: &Row| row.address);
        (!rows.is_empty()).then_some(LineTable { rows })
    }

    /// File and line of the instruction at `offset` in the image.
    pub(crate) fn find(&self, offset: u64) -> Option<(String, u32)> {
        let behind = self.rows.partition_point(|row| row.address <= offset);
        let (file, line) = self.rows.get(behind.checked_sub(1)?)?.line.as_ref()?;
        Some((file.to_string(), *line))
    }
}

fn unit_rows(
    dwarf: &gimli::Dwarf<Reader<'_>>,
    unit: &gimli::Unit<Reader<'_>>,
    rows: &mut Vec<Row>,
) -> Result<(), gimli::Error> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut program = program.rows();
    while let Some((header, row)) = program.next_row()? {
        let text = |value| dwarf.attr_string(unit, value).ok().map(|text| text.to_string_lossy().into_owned());
        let name = row.file(header).and_then(|file| {
            let name = text(file.path_name())?;
            // Directory 0 is where the compiler ran.
            let folder = (file.directory_index() != 0).then(|| file.directory(header)).flatten().and_then(text);
            let folder = folder.filter(|folder| !folder.is_empty() && !name.starts_with('/'));
            Some(Rc::<str>::from(folder.map_or_else(|| name.clone(), |folder| format!("{folder}/{name}"))))
        });
        let line = match (row.end_sequence(), name, row.line()) {
            (false, Some(name), Some(line)) => Some((name, u32::try_from(line.get()).unwrap_or(u32::MAX))),
            _ => None,
        };
        rows.push(Row { address: row.address(), line });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::LineTable;

    /// What LLVM 22.1 wrote for a kernel of 0x6c bytes at 0x1600 in `examples/k.tile`: abbreviations, units, strings, lines. The
    /// line program stands at line 3 for the first 12 bytes, at line 0 (no line) for 4 more, then at line 5.
    const SECTIONS: [(&str, &[u8]); 4] = [
        (".debug_abbrev", b"\x01\x11\0\x25\x0e\x13\x05\x03\x0e\x10\x17\x11\x01\x12\x06\0\0\0"),
        (
            ".debug_info",
            b"\x22\0\0\0\x04\0\0\0\0\0\x08\x01\0\0\0\0\x02\0\x02\0\0\0\0\0\0\0\0\x16\0\0\0\0\0\0\x6c\0\0\0",
        ),
        (".debug_str", b"t\0examples/k.tile\0"),
        (
            ".debug_line",
            b"\x40\0\0\0\x04\0\x27\0\0\0\x04\x01\x01\xfb\x0e\x0d\0\x01\x01\x01\x01\0\0\0\x01\0\0\x01examples\0\0k.tile\0\x01\
              \0\0\0\0\x09\x02\0\x16\0\0\0\0\0\0\x14\x39\x25\x02\x17\0\x01\x01",
        ),
    ];

    /// An ELF file of nothing but these sections.
    fn elf() -> Vec<u8> {
        let mut file = vec![0; 64];
        let mut names = vec![0u8];
        let mut headers = vec![0u8; 64];
        let mut add = |file: &mut Vec<u8>, name: &str, kind: u32, data: Option<&[u8]>| {
            let name_at = names.len() as u32;
            names.extend(name.bytes().chain([0]));
            let data = data.unwrap_or(&names).to_vec();
            let mut header = [name_at.to_le_bytes(), kind.to_le_bytes()].concat();
            let [offset, size] = [file.len() as u64, data.len() as u64];
            header.extend([0, 0, offset, size, 0, 1, 0].iter().flat_map(|field: &u64| field.to_le_bytes()));
            headers.extend(header);
            file.extend(data);
        };
        for (name, data) in SECTIONS {
            add(&mut file, name, 1, Some(data));
        }
        add(&mut file, ".shstrtab", 3, None);
        let table = file.len() as u64;
        file.extend(headers);
        file[..20].copy_from_slice(b"\x7fELF\x02\x01\x01\x40\x04\0\0\0\0\0\0\0\x03\0\xe0\0");
        file[20..24].copy_from_slice(&1u32.to_le_bytes());
        file[40..48].copy_from_slice(&table.to_le_bytes());
        for (at, value) in [(52, 64u16), (58, 64), (60, 6), (62, 5)] {
            file[at..at + 2].copy_from_slice(&value.to_le_bytes());
        }
        file
    }

    #[test]
    fn addresses_have_lines() {
        let table = LineTable::read(&elf()).expect("line tables");
        let line = |address| table.find(address).map(|(file, line)| format!("{file}:{line}"));
        assert_eq!(line(0x15ff), None, "before the kernel");
        assert_eq!(line(0x1600).as_deref(), Some("examples/k.tile:3"));
        assert_eq!(line(0x160b).as_deref(), Some("examples/k.tile:3"));
        assert_eq!(line(0x160c), None, "an instruction without a line");
        assert_eq!(line(0x1610).as_deref(), Some("examples/k.tile:5"));
        assert_eq!(line(0x166b).as_deref(), Some("examples/k.tile:5"));
        assert_eq!(line(0x166c), None, "behind the kernel");
    }

    #[test]
    fn objects_without_tables_have_no_lines() {
        assert!(LineTable::read(&[]).is_none());
        assert!(LineTable::read(include_bytes!("../../fixtures/scale.gfx942.hsaco")).is_none());
    }
}
