//! Reads `.npy` files (NumPy's format, versions 1 to 3): little-endian, row-major.

use super::addr::get_bits;
use crate::dtype::{DType, DTypeClass};

/// Raw bits of the elements of a file for a buffer of `dtype`, in row-major order. Types that NumPy has not (bf16, f8) are
/// read from unsigned integers of the same size; sub-byte types from one byte an element.
///
/// # Errors
/// A phrase that says what does not fit.
pub(super) fn elements(file: &[u8], dtype: DType) -> Result<Vec<u64>, String> {
    let (header, data) = split(file).ok_or("no .npy file")?;
    if field(header, "fortran_order")?.trim_start().starts_with('T') {
        return Err("column-major files are not read".to_owned());
    }
    let descr = field(header, "descr")?;
    let descr = descr.trim_start().trim_start_matches(['\'', '"']);
    let descr = descr.split(['\'', '"']).next().unwrap_or_default();
    let size = dtype.bits().div_ceil(8);
    let kinds = match dtype.class() {
        DTypeClass::Float if matches!(dtype, DType::F64 | DType::F32 | DType::F16) => "f",
        DTypeClass::Float => "uV",
        DTypeClass::Signed => "i",
        DTypeClass::Unsigned => "u",
        DTypeClass::Bool => "bu",
    };
    let fits = kinds.chars().any(|k| descr.ends_with(&format!("{k}{size}"))) && !descr.starts_with('>');
    if !fits {
        return Err(format!("elements are `{descr}`, the buffer's are {dtype}"));
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
    Ok((0..(data.len() / size as usize) as i64).filter_map(|i| get_bits(data, whole, i)).collect())
}

fn split(file: &[u8]) -> Option<(&str, &[u8])> {
    let rest = file.strip_prefix(b"\x93NUMPY")?;
    let (length, start) = match rest.first()? {
        1 => (usize::from(u16::from_le_bytes([*rest.get(2)?, *rest.get(3)?])), 4),
        _ => (u32::from_le_bytes([*rest.get(2)?, *rest.get(3)?, *rest.get(4)?, *rest.get(5)?]) as usize, 6),
    };
    let end = length.checked_add(start)?;
    Some((std::str::from_utf8(rest.get(start..end)?).ok()?, rest.get(end..)?))
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

    fn file(descr: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}\n");
        let mut out = b"\x93NUMPY\x01\x00".to_vec();
        out.extend((header.len() as u16).to_le_bytes());
        out.extend(header.as_bytes());
        out.extend(data);
        out
    }

    #[test]
    fn reads_and_refuses() {
        assert_eq!(elements(&file("<u2", &[1, 0, 2, 1]), DType::U16), Ok(vec![1, 0x102]));
        assert_eq!(elements(&file("<u2", &[1, 0, 2, 1]), DType::BF16), Ok(vec![1, 0x102]));
        assert!(elements(&file(">u2", &[1, 0, 2, 1]), DType::U16).is_err());
        assert!(elements(&file("<f4", &[0; 8]), DType::I32).is_err());
        assert!(elements(b"\x93NUMPY\x01\x00\xff\xff", DType::U8).is_err());
    }
}
