//! Contents of buffers compared byte by byte.

/// The first difference in words, and how many bytes differ; `None` if there is none. `element` is the size of one element in
/// bytes, at least 1: the values of the whole element are shown, the most significant byte first.
pub fn difference(want: &[u8], have: &[u8], element: usize) -> Option<String> {
    let element = element.max(1);
    if want.len() != have.len() {
        return Some(format!("it has {} bytes, {} expected", have.len(), want.len()));
    }
    let at = want.iter().zip(have).position(|(a, b)| a != b)?;
    let count = want.iter().zip(have).filter(|(a, b)| a != b).count();
    let (begin, end) = (at - at % element, (at - at % element).saturating_add(element).min(want.len()));
    let hex = |bytes: &[u8]| bytes.iter().rev().map(|byte| format!("{byte:02x}")).collect::<String>();
    Some(format!(
        "{count} of {} bytes, first at byte {at} (element {} in memory): 0x{}, 0x{} expected",
        want.len(),
        at / element,
        hex(&have[begin..end]),
        hex(&want[begin..end]),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_name_the_element() {
        assert_eq!(difference(&[1, 2], &[1, 2], 1), None);
        let words = difference(&[0, 0, 1, 2], &[0, 0, 1, 3], 2).expect("differs");
        assert_eq!(words, "1 of 4 bytes, first at byte 3 (element 1 in memory): 0x0301, 0x0201 expected");
        assert!(difference(&[0], &[], 1).expect("shorter").contains("0 bytes, 1 expected"));
        assert!(difference(&[0], &[1], usize::MAX).is_some() && difference(&[0], &[1], 0).is_some());
    }
}
