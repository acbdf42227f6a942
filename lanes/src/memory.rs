//! Buffers as allocations of their own, with guard bytes on both sides.

use tilewright_ir::interp::UNINITIALISED;

/// Guard bytes on each side.
pub(crate) const GUARD: usize = 64;

/// What guards hold; no value that a test is likely to write.
const PATTERN: u8 = 0xB7;

/// One buffer.
#[derive(Clone, Debug)]
pub(crate) struct Allocation {
    bytes: Vec<u8>,
}

impl Default for Allocation {
    fn default() -> Allocation {
        Allocation::blank(0)
    }
}

impl Allocation {
    /// `len` bytes without contents.
    pub(crate) fn blank(len: usize) -> Allocation {
        Allocation::filled(len, UNINITIALISED)
    }

    /// `len` bytes of one value.
    pub(crate) fn filled(len: usize, value: u8) -> Allocation {
        let mut bytes = vec![PATTERN; len + 2 * GUARD];
        bytes[GUARD..GUARD + len].fill(value);
        Allocation { bytes }
    }

    /// These contents.
    pub(crate) fn with(data: &[u8]) -> Allocation {
        let mut a = Allocation::blank(data.len());
        a.data_mut().copy_from_slice(data);
        a
    }

    /// The contents.
    pub(crate) fn data(&self) -> &[u8] {
        &self.bytes[GUARD..self.bytes.len() - GUARD]
    }

    /// The contents, to change.
    pub(crate) fn data_mut(&mut self) -> &mut [u8] {
        let end = self.bytes.len() - GUARD;
        &mut self.bytes[GUARD..end]
    }

    /// Offset from the start of the contents of the first guard byte that was changed.
    pub(crate) fn damage(&self) -> Option<i64> {
        let end = self.bytes.len() - GUARD;
        let guards = (0..GUARD).chain(end..self.bytes.len());
        guards.into_iter().find(|i| self.bytes[*i] != PATTERN).map(|i| i as i64 - GUARD as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damage_is_found_on_both_sides() {
        let mut a = Allocation::with(&[1, 2, 3]);
        assert_eq!((a.data(), a.damage()), ([1, 2, 3].as_slice(), None));
        a.bytes[GUARD + 3] = 0;
        assert_eq!(a.damage(), Some(3));
        a.bytes[GUARD - 1] = 0;
        assert_eq!(a.damage(), Some(-1));
    }
}
