//! Host images of device buffers, each between two rows of guard bytes.
//!
//! An image is what is copied to a device and back: guard, data, guard. A kernel that writes outside its buffer damages a
//! guard, and the check names the first damaged byte.
//!
//! What must hold here: guards are as long as the widest alignment we promise, so data keep that alignment; guard bytes
//! depend on their place, so that a guard copied elsewhere, or one shifted, is damage too.

/// Bytes of guard on each side, and alignment of the data in an image that is itself aligned to it.
pub const GUARD_BYTES: usize = 256;

/// A buffer between its guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedBuffer {
    name: String,
    image: Vec<u8>,
}

/// A guard byte that changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("buffer `{buffer}` of {bytes} bytes: guard byte at offset {offset} is {found:#04x}, was {expected:#04x}")]
pub struct GuardDamage {
    /// The buffer.
    pub buffer: String,
    /// Bytes of its data.
    pub bytes: usize,
    /// Offset from the start of the data: negative before it, `bytes` or more behind it.
    pub offset: i64,
    /// What the guard held.
    pub expected: u8,
    /// What it holds.
    pub found: u8,
}

/// An image that cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImageError {
    /// It has another length than the buffer's.
    #[error("buffer `{buffer}` has an image of {expected} bytes, {found} bytes came back")]
    Length {
        /// The buffer.
        buffer: String,
        /// Bytes of its image.
        expected: usize,
        /// Bytes that came back.
        found: usize,
    },
    /// Two buffers have one name.
    #[error("there is a buffer `{0}` already")]
    Duplicate(String),
}

/// The guard byte at position `at` of an image.
fn guard_byte(at: usize) -> u8 {
    // 251 is prime, so the row has no period that divides a power of two; neither zero nor 0xff, the likeliest stray values.
    (at % 251) as u8 + 2
}

impl GuardedBuffer {
    /// A buffer with this content.
    pub fn new(name: impl Into<String>, data: &[u8]) -> Self {
        let mut image = Vec::with_capacity(data.len() + 2 * GUARD_BYTES);
        image.extend((0..GUARD_BYTES).map(guard_byte));
        image.extend_from_slice(data);
        let end = image.len();
        image.extend((end..end + GUARD_BYTES).map(guard_byte));
        GuardedBuffer { name: name.into(), image }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its content without guards.
    pub fn data(&self) -> &[u8] {
        &self.image[GUARD_BYTES..self.image.len() - GUARD_BYTES]
    }

    /// Its content without guards, to change.
    pub fn data_mut(&mut self) -> &mut [u8] {
        let end = self.image.len() - GUARD_BYTES;
        &mut self.image[GUARD_BYTES..end]
    }

    /// Guard, content, guard: what a device is given. The content begins at [`GUARD_BYTES`].
    pub fn image(&self) -> &[u8] {
        &self.image
    }

    /// Takes back the image that a device returned, guards and all, and checks nothing yet.
    ///
    /// # Errors
    /// [`ImageError::Length`] if it is not as long as the one that was given out.
    pub fn set_image(&mut self, image: &[u8]) -> Result<(), ImageError> {
        if image.len() != self.image.len() {
            return Err(ImageError::Length {
                buffer: self.name.clone(),
                expected: self.image.len(),
                found: image.len(),
            });
        }
        self.image.copy_from_slice(image);
        Ok(())
    }

    /// Checks both guards.
    ///
    /// # Errors
    /// [`GuardDamage`] with the damaged byte of the lowest address.
    pub fn check(&self) -> Result<(), GuardDamage> {
        let bytes = self.data().len();
        let behind = GUARD_BYTES + bytes;
        let damaged = (0..GUARD_BYTES).chain(behind..self.image.len()).find(|at| self.image[*at] != guard_byte(*at));
        match damaged {
            None => Ok(()),
            Some(at) => Err(GuardDamage {
                buffer: self.name.clone(),
                bytes,
                // A Vec is no longer than i64::MAX bytes.
                offset: at as i64 - GUARD_BYTES as i64,
                expected: guard_byte(at),
                found: self.image[at],
            }),
        }
    }
}

/// The buffers of one rank in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryImage {
    buffers: Vec<GuardedBuffer>,
}

impl MemoryImage {
    /// No buffers.
    pub fn new() -> Self {
        MemoryImage::default()
    }

    /// Adds a buffer.
    ///
    /// # Errors
    /// [`ImageError::Duplicate`] if there is one of its name.
    pub fn add(&mut self, buffer: GuardedBuffer) -> Result<(), ImageError> {
        if self.get(buffer.name()).is_some() {
            return Err(ImageError::Duplicate(buffer.name().to_owned()));
        }
        self.buffers.push(buffer);
        Ok(())
    }

    /// The buffer of that name.
    pub fn get(&self, name: &str) -> Option<&GuardedBuffer> {
        self.buffers.iter().find(|buffer| buffer.name() == name)
    }

    /// The buffer of that name, to change.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut GuardedBuffer> {
        self.buffers.iter_mut().find(|buffer| buffer.name() == name)
    }

    /// All buffers.
    pub fn buffers(&self) -> &[GuardedBuffer] {
        &self.buffers
    }

    /// Checks the guards of all buffers.
    ///
    /// # Errors
    /// [`GuardDamage`] of the first damaged buffer.
    pub fn check(&self) -> Result<(), GuardDamage> {
        self.buffers.iter().try_for_each(GuardedBuffer::check)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> MemoryImage {
        let mut image = MemoryImage::new();
        image.add(GuardedBuffer::new("send", &[1, 2, 3])).unwrap();
        image.add(GuardedBuffer::new("recv", &[0; 16])).unwrap();
        image
    }

    #[test]
    fn writing_inside_is_no_damage() {
        let mut image = image();
        image.get_mut("recv").unwrap().data_mut().fill(0xff);
        assert_eq!(image.check(), Ok(()));
        assert_eq!(image.get("recv").unwrap().data(), [0xff; 16]);
        assert_eq!(image.get("send").unwrap().data(), [1, 2, 3]);
    }

    #[test]
    fn every_guard_byte_is_watched() {
        for at in (0..GUARD_BYTES).chain(GUARD_BYTES + 16..2 * GUARD_BYTES + 16) {
            for value in [0, 0xff] {
                let mut image = image();
                let recv = image.get_mut("recv").unwrap();
                let mut bytes = recv.image().to_vec();
                bytes[at] = value;
                recv.set_image(&bytes).unwrap();
                let damage = image.check().unwrap_err();
                assert_eq!((damage.buffer.as_str(), damage.offset), ("recv", at as i64 - 256));
            }
        }
    }

    #[test]
    fn the_lowest_damaged_byte_is_reported() {
        let mut image = image();
        let recv = image.get_mut("recv").unwrap();
        let mut bytes = recv.image().to_vec();
        bytes[256 + 16 + 4..][..8].fill(0);
        recv.set_image(&bytes).unwrap();
        assert_eq!(
            image.check().unwrap_err().to_string(),
            "buffer `recv` of 16 bytes: guard byte at offset 20 is 0x00, was 0x1b"
        );
        let recv = image.get_mut("recv").unwrap();
        bytes[255] = 9;
        recv.set_image(&bytes).unwrap();
        assert_eq!(image.check().unwrap_err().offset, -1);
    }

    #[test]
    fn a_shifted_guard_is_damage() {
        let mut buffer = GuardedBuffer::new("b", &[0; 64]);
        let mut bytes = buffer.image().to_vec();
        // A store of 16 guard bytes from one place over another.
        bytes.copy_within(0..16, 32);
        buffer.set_image(&bytes).unwrap();
        assert_eq!(buffer.check().unwrap_err().offset, 32 - 256);
    }

    #[test]
    fn wrong_lengths_and_names_are_refused() {
        let mut image = image();
        assert_eq!(
            image.get_mut("send").unwrap().set_image(&[0; 3]).unwrap_err().to_string(),
            "buffer `send` has an image of 515 bytes, 3 bytes came back"
        );
        assert_eq!(image.add(GuardedBuffer::new("send", &[])), Err(ImageError::Duplicate("send".to_owned())));
        assert_eq!(image.buffers().len(), 2);
        assert_eq!(GuardedBuffer::new("empty", &[]).check(), Ok(()));
    }
}
