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
        let name = row.file(header).and_then(|file| dwarf.attr_string(unit, file.path_name()).ok());
        let name = name.map(|name| Rc::from(name.to_string_lossy().as_ref()));
        let line = match (row.end_sequence(), name, row.line()) {
            (false, Some(name), Some(line)) => Some((name, u32::try_from(line.get()).unwrap_or(u32::MAX))),
            _ => None,
        };
        rows.push(Row { address: row.address(), line });
    }
    Ok(())
}
