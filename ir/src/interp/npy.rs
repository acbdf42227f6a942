//! Reads `.npy` files (NumPy's format, versions 1 to 3): little-endian, row-major.

use super::addr::get_bits;
use crate::dtype::{DType, DTypeClass};

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Array {
    /// Extents, the slowest first.
    pub(super) shape: Vec<i64>,
    /// Raw bits of the elements in row-major order.
    pub(super) bits: Vec<u64>,
}

/// Reads a file for a buffer of `dtype`. Types that NumPy has not (bf16, f8) are unsigned integers of the same size;
/// elements of 4 bits take one byte each.
///
/// # Errors
/// A phrase that says what does not fit.
pub(super) fn read(file: &[u8], dtype: DType) -> Result<Array, String> {
    let (header, data) = split(file)?;
    if field(header, "fortran_order")?.trim_start().starts_with('T') {
        return Err("column-major files are not read; numpy.ascontiguousarray makes them row-major".to_owned());
    }
    let descr = field(header, "descr")?;
    let descr = descr.trim_start().trim_start_matches(['\'', '"']);
    let descr = descr.split(['\'', '"']).next().unwrap_or_default();
    let size = dtype.bits().div_ceil(8);
    let fits = kinds(dtype).chars().any(|k| descr.ends_with(&format!("{k}{size}"))) && !descr.starts_with('>');
    if !fits {
        return Err(format!("elements are `{}`, the buffer's are {dtype}", cut(descr)));
    }
    if !data.len().is_multiple_of(size as usize) {
        return Err("the data ends inside an element".to_owned());
    }
    let whole = match size {
        1 => DType::U8,
        2 => DType::U16,
        4 => DType::U32,
        _ => DType::U64,
    };
    let bits: Vec<u64> = (0..(data.len() / size as usize) as i64).filter_map(|i| get_bits(data, whole, i)).collect();
    let shape = shape(header)?;
    let elements = shape.iter().try_fold(1i64, |all, extent| all.checked_mul(*extent));
    if elements != Some(bits.len() as i64) {
        return Err(format!("its shape is {}, and it holds {} elements", shown(&shape), bits.len()));
    }
    Ok(Array { shape, bits })
}

/// A file, as NumPy writes it.
pub(super) fn write(dtype: DType, array: &Array) -> Vec<u8> {
    let size = dtype.bits().div_ceil(8) as usize;
    let kind = kinds(dtype).chars().next().unwrap_or('u');
    let order = if size == 1 { '|' } else { '<' };
    let extents: String = array.shape.iter().map(|extent| format!("{extent}, ")).collect();
    let mut header =
        format!("{{'descr': '{order}{kind}{size}', 'fortran_order': False, 'shape': ({}), }}", extents.trim_end());
    // Magic, version, length, header and a newline together are a multiple of 64 bytes.
    let before = 10;
    header.push_str(&" ".repeat(64 - (before + header.len() + 1) % 64));
    header.push('\n');
    let mut out = b"\x93NUMPY\x01\x00".to_vec();
    out.extend((header.len() as u16).to_le_bytes());
    out.extend(header.as_bytes());
    for bits in &array.bits {
        let signed = dtype.class() == DTypeClass::Signed && dtype.bits() < 8;
        let unused = 64 - dtype.bits();
        let value = if signed { ((*bits << unused) as i64 >> unused) as u64 } else { *bits };
        out.extend(&value.to_le_bytes()[..size]);
    }
    out
}

/// NumPy's letters for the type, the one to write first.
fn kinds(dtype: DType) -> &'static str {
    match dtype.class() {
        DTypeClass::Float if matches!(dtype, DType::F64 | DType::F32 | DType::F16) => "f",
        DTypeClass::Float => "uV",
        DTypeClass::Signed => "i",
        DTypeClass::Unsigned => "u",
        DTypeClass::Bool => "bu",
    }
}

/// The extents in the header: `(2, 3)`, `(2,)` or `()`.
fn shape(header: &str) -> Result<Vec<i64>, String> {
    let text = field(header, "shape")?.trim_start();
    let found = text.split_inclusive([')', '\n']).next().unwrap_or_default().trim_end();
    let inside = text.strip_prefix('(').and_then(|text| text.split_once(')')).map(|(inside, _)| inside);
    let extents = inside.map(|inside| inside.split(',').map(str::trim).filter(|extent| !extent.is_empty()));
    let numbers = extents.map(|all| all.map(|extent| extent.parse().ok().filter(|n| *n >= 0)).collect());
    numbers.flatten().ok_or_else(|| format!("the shape in its header is `{}`, no list of extents", cut(found)))
}

/// The header and the data behind it.
fn split(file: &[u8]) -> Result<(&str, &[u8]), String> {
    let rest = file.strip_prefix(b"\x93NUMPY").ok_or("no .npy file")?;
    let short = || "it ends inside the header: the file is cut off".to_owned();
    let (version, rest) = rest.split_first_chunk::<2>().ok_or_else(short)?;
    let (length, rest) = match version {
        [1, 0] => rest.split_first_chunk().map(|(length, rest)| (usize::from(u16::from_le_bytes(*length)), rest)),
        [2 | 3, 0] => rest.split_first_chunk().map(|(length, rest)| (u32::from_le_bytes(*length) as usize, rest)),
        [major, minor] => {
            return Err(format!("its version is {major}.{minor}; 1.0, 2.0 and 3.0 are read"));
        }
    }
    .ok_or_else(short)?;
    let (header, data) = rest.split_at_checked(length).ok_or_else(short)?;
    Ok((std::str::from_utf8(header).map_err(|_| "its header is not UTF-8")?, data))
}

/// A text for a message, its first 60 characters.
fn cut(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// A shape for a message, its first 8 extents.
pub(super) fn shown(shape: &[i64]) -> String {
    match shape.get(..8) {
        Some(first) if shape.len() > 8 => {
            let first: Vec<String> = first.iter().map(i64::to_string).collect();
            format!("[{}, ...] of {} axes", first.join(", "), shape.len())
        }
        _ => format!("{shape:?}"),
    }
}

/// The text after `'key':`.
fn field<'a>(header: &'a str, key: &str) -> Result<&'a str, String> {
    let missing = || format!("the header has no `{key}`");
    let at = header.find(&format!("'{key}'")).ok_or_else(missing)?;
    header[at..].split_once(':').map(|(_, v)| v).ok_or_else(missing)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16).to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    fn bits(descr: &str, shape: &str, data: &[u8], dtype: DType) -> Result<Vec<u64>, String> {
        read(&file(descr, shape, data), dtype).map(|array| array.bits)
    }

    #[test]
    fn reads_and_refuses() {
        assert_eq!(bits("<u2", "(2,)", &[1, 0, 2, 1], DType::U16), Ok(vec![1, 0x102]));
        assert_eq!(bits("<u2", "(1, 2)", &[1, 0, 2, 1], DType::BF16), Ok(vec![1, 0x102]));
        assert_eq!(bits("|u1", "()", &[9], DType::U8), Ok(vec![9]));
        assert!(bits(">u2", "(2,)", &[1, 0, 2, 1], DType::U16).is_err());
        assert!(bits("<f4", "(2,)", &[0; 8], DType::I32).is_err());
        for shape in ["(3,)", "(-2,)", "2", "(a,)", "(4294967296, 4294967296)"] {
            assert!(bits("<u2", shape, &[1, 0, 2, 1], DType::U16).is_err(), "{shape}");
        }
        assert!(read(b"\x93NUMPY\x01\x00\xff\xff", DType::U8).is_err());
    }

    #[test]
    fn what_is_refused_is_said_in_words() {
        let good = file("<u2", "(2,)", &[1, 0, 2, 1]);
        let says = |file: &[u8], words: &str| {
            let why = read(file, DType::U16).expect_err(words);
            assert!(why.contains(words) && why.len() < 150, "{why}");
        };
        for (major, minor) in [(0, 0), (4, 0), (1, 1)] {
            let mut bad = good.clone();
            bad[6..8].copy_from_slice(&[major, minor]);
            says(&bad, &format!("its version is {major}.{minor}"));
        }
        for length in [6, 7, 9, 30] {
            says(&good[..length], "the file is cut off");
        }
        says(&good[..5], "no .npy file");
        says(&file("<u2", "(0x2, 1e3)", &[]), "is `(0x2, 1e3)`, no list");
        says(&file("<u2", &"(".repeat(60_000), &[]), &format!("`{}...`", "(".repeat(60)));
        says(&file("<u2", &format!("({})", "2, ".repeat(15)), &[]), "[2, 2, 2, 2, 2, 2, 2, 2, ...] of 15 axes");
        let text = b"{'descr': '<u2', 'fortran_order': True, 'shape': (2,), }";
        says(&[b"\x93NUMPY\x03\x00\x38\0\0\0", &text[..]].concat(), "numpy.ascontiguousarray");
        says(b"\x93NUMPY\x01\x00\x01\x00\xff", "not UTF-8");
    }

    #[test]
    fn what_is_written_is_what_numpy_writes() {
        // numpy.save of numpy.arange(3, dtype="<u2").reshape(1, 3), NumPy 2.
        let array = Array { shape: vec![1, 3], bits: vec![0, 1, 2] };
        let written = write(DType::U16, &array);
        let mut expected =
            b"\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, 'shape': (1, 3), }".to_vec();
        expected.resize(127, b' ');
        expected.extend(b"\n\x00\x00\x01\x00\x02\x00");
        // Our tuple has a comma behind its last extent, which Python reads as the same.
        assert_eq!(String::from_utf8_lossy(&written), String::from_utf8_lossy(&expected).replace("3), } ", "3,), }"));
        for dtype in [DType::U16, DType::BF16, DType::F16] {
            assert_eq!(read(&write(dtype, &array), dtype), Ok(array.clone()));
        }
        let nibbles = Array { shape: vec![2], bits: vec![0x7, 0xf] };
        assert!(write(DType::I4, &nibbles).ends_with(&[0x07, 0xff]), "a sign is kept");
        assert!(write(DType::U4, &nibbles).ends_with(&[0x07, 0x0f]));
    }
}
