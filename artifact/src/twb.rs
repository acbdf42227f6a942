//! The `.twb` file: a header of 28 bytes, then the bundle as MessagePack.
//!
//! Header, little endian: 8 bytes magic `TWBUNDLE`, u32 format version, u64 bytes of the body, u64 FNV-1a hash of the body.
//!
//! What must hold here: any change to the serialised types raises [`FORMAT_VERSION`]; a reader takes its own version only,
//! and says both where they differ. The hash finds accidents, it is no protection against intent, so the body is still read
//! with care: from a slice, where MessagePack lengths cannot make the reader allocate more than there are bytes.

use std::fmt;

use serde::Deserialize;

use crate::Bundle;

/// Version of the `.twb` format that this crate writes and reads.
pub const FORMAT_VERSION: u32 = 2;

/// Lists and maps inside one another that a body may have; the reader recurses, so deeper ones are an error.
const MAX_DEPTH: usize = 64;

const MAGIC: &[u8; 8] = b"TWBUNDLE";
const HEADER_BYTES: usize = 8 + 4 + 8 + 8;

/// A bundle could not be written or read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArtifactError {
    /// The bytes do not begin as a bundle does.
    NotABundle,
    /// The bundle was written in another version of the format.
    Version {
        /// Version in the file.
        found: u32,
    },
    /// The file ends too early.
    Truncated {
        /// Bytes that it should have.
        expected: u64,
        /// Bytes that it has.
        found: u64,
    },
    /// Bytes follow the end.
    Trailing {
        /// How many.
        extra: u64,
    },
    /// The body is not the one that was written.
    Damaged,
    /// The body is not a bundle's.
    Malformed(String),
    /// The bundle contradicts itself.
    Invalid(String),
    /// The bundle could not be written.
    Encode(String),
}

impl fmt::Display for ArtifactError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ArtifactError::NotABundle => f.write_str("this is not a .twb bundle"),
            ArtifactError::Version { found } => {
                write!(f, "the bundle has format version {found}, this program reads version {FORMAT_VERSION}")
            }
            ArtifactError::Truncated { expected, found } => {
                write!(f, "the bundle is cut off: it has {found} bytes of {expected}")
            }
            ArtifactError::Trailing { extra } => write!(f, "{extra} bytes follow the end of the bundle"),
            ArtifactError::Damaged => f.write_str("the bundle is damaged: its content does not match its hash"),
            ArtifactError::Malformed(what) => write!(f, "the bundle's content cannot be read: {what}"),
            ArtifactError::Invalid(what) => write!(f, "the bundle contradicts itself: {what}"),
            ArtifactError::Encode(what) => write!(f, "the bundle cannot be written: {what}"),
        }
    }
}

impl std::error::Error for ArtifactError {}

impl Bundle {
    /// The bytes of a `.twb` file.
    ///
    /// # Errors
    /// [`ArtifactError::Invalid`] if [`Bundle::check`] finds a fault, [`ArtifactError::Encode`] if the encoder does.
    pub fn to_twb(&self) -> Result<Vec<u8>, ArtifactError> {
        self.check()?;
        let body = rmp_serde::to_vec_named(self).map_err(|error| ArtifactError::Encode(error.to_string()))?;
        let mut file = Vec::with_capacity(HEADER_BYTES + body.len());
        file.extend_from_slice(MAGIC);
        file.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        file.extend_from_slice(&(body.len() as u64).to_le_bytes());
        file.extend_from_slice(&hash(&body).to_le_bytes());
        file.extend_from_slice(&body);
        Ok(file)
    }

    /// The bundle in the bytes of a `.twb` file.
    ///
    /// # Errors
    /// An [`ArtifactError`] that says what is wrong with the bytes.
    pub fn from_twb(file: &[u8]) -> Result<Bundle, ArtifactError> {
        let body = body_of(file)?;
        let mut reader = rmp_serde::Deserializer::from_read_ref(body);
        reader.set_max_depth(MAX_DEPTH);
        let bundle = Bundle::deserialize(&mut reader).map_err(|error| ArtifactError::Malformed(error.to_string()))?;
        bundle.check()?;
        Ok(bundle)
    }
}

/// The body of a file whose header is right and whose hash agrees.
fn body_of(file: &[u8]) -> Result<&[u8], ArtifactError> {
    let found = file.len() as u64;
    let cut = ArtifactError::Truncated { expected: HEADER_BYTES as u64, found };
    // A file that is cut inside the magic is cut, not foreign.
    let magic = &file[..file.len().min(MAGIC.len())];
    if !MAGIC.starts_with(magic) {
        return Err(ArtifactError::NotABundle);
    }
    let mut rest = file.get(MAGIC.len()..).ok_or_else(|| cut.clone())?;
    let (version, after) = rest.split_first_chunk::<4>().ok_or_else(|| cut.clone())?;
    let version = u32::from_le_bytes(*version);
    if version != FORMAT_VERSION {
        return Err(ArtifactError::Version { found: version });
    }
    rest = after;
    let (length, after) = rest.split_first_chunk::<8>().ok_or_else(|| cut.clone())?;
    let (expected_hash, body) = after.split_first_chunk::<8>().ok_or(cut)?;
    let expected = u64::from_le_bytes(*length).saturating_add(HEADER_BYTES as u64);
    if found < expected {
        return Err(ArtifactError::Truncated { expected, found });
    }
    if found > expected {
        return Err(ArtifactError::Trailing { extra: found - expected });
    }
    if hash(body) != u64::from_le_bytes(*expected_hash) {
        return Err(ArtifactError::Damaged);
    }
    Ok(body)
}

/// 64-bit FNV-1a. Every step is a bijection of the state, so a change of one byte always changes the result.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |state, byte| (state ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[cfg(test)]
pub(crate) mod testing {
    //! A file with any body under a right header, to reach the body's reader in tests.

    /// Wraps `body`.
    pub(crate) fn wrap(body: &[u8]) -> Vec<u8> {
        let mut file = super::MAGIC.to_vec();
        file.extend_from_slice(&super::FORMAT_VERSION.to_le_bytes());
        file.extend_from_slice(&(body.len() as u64).to_le_bytes());
        file.extend_from_slice(&super::hash(body).to_le_bytes());
        file.extend_from_slice(body);
        file
    }

    /// Bytes before the body.
    pub(crate) const HEADER: usize = super::HEADER_BYTES;
}
