//! Why a code object was refused.
//!
//! What must hold here: each message is one sentence; where two things disagree it names both.

/// A code object that cannot be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LoadError {
    /// Not an ELF file of the right class, or its tables point outside it.
    #[error("this is not a linked AMD code object: {0}")]
    NotElf(String),
    /// The device takes no code objects.
    #[error("device {0} does not run AMD code objects")]
    NoElfDevice(&'static str),
    /// A field of the ELF header differs from what the device needs.
    #[error("object has ELF {field} {found}, device {device} needs {expected}")]
    Header {
        /// The field.
        field: &'static str,
        /// Its value in the object.
        found: u32,
        /// Its value for the device.
        expected: u32,
        /// The device.
        device: &'static str,
    },
    /// The object was made for another chip.
    #[error("object is for {object}, device is {device}")]
    Target {
        /// The object's chip.
        object: String,
        /// The device's chip.
        device: &'static str,
    },
    /// The object was made for other settings of the chip.
    #[error("object has ELF e_flags {found:#x}, device {device} needs {expected:#x} (xnack and sramecc \"any\")")]
    Flags {
        /// `e_flags` of the object.
        found: u32,
        /// `e_flags` for the device.
        expected: u32,
        /// The device.
        device: &'static str,
    },
    /// The object breaks a rule of the format.
    #[error("malformed code object: {0}")]
    Malformed(String),
    /// The object asks for relocations, which the loader does not apply.
    #[error("the code object needs {0} bytes of dynamic relocations, the loader applies none")]
    Relocations(u64),
    /// There is no metadata note.
    #[error("the code object has no AMDGPU metadata note")]
    MissingMetadata,
    /// The metadata cannot be read.
    #[error("the metadata of the code object cannot be read: {0}")]
    Metadata(String),
    /// A kernel of the metadata has no such symbol.
    #[error("kernel `{kernel}` is in the metadata, but the object has no symbol `{symbol}`")]
    MissingSymbol {
        /// The kernel.
        kernel: String,
        /// The symbol.
        symbol: String,
    },
    /// A descriptor has no metadata.
    #[error("the object has the descriptor `{symbol}`, but the metadata has no such kernel")]
    NoMetadata {
        /// The descriptor's symbol.
        symbol: String,
    },
    /// Two sources disagree about a kernel.
    #[error("kernel `{kernel}`: {first} says {what} {first_value}, {second} {second_value}")]
    Mismatch {
        /// The kernel.
        kernel: String,
        /// What they disagree about.
        what: &'static str,
        /// One source.
        first: &'static str,
        /// What it says.
        first_value: u64,
        /// The other source.
        second: &'static str,
        /// What it says.
        second_value: u64,
    },
    /// A kernel asks for more than the device has.
    #[error("kernel `{kernel}` needs {wanted} {what}, device {device} has {limit}")]
    Limit {
        /// The kernel.
        kernel: String,
        /// What it asks for.
        what: &'static str,
        /// How much of it.
        wanted: u64,
        /// How much there is.
        limit: u64,
        /// The device.
        device: &'static str,
    },
    /// There is no kernel of that name.
    #[error("the code object has no kernel `{name}`; it has {}", known.join(", "))]
    NoKernel {
        /// The name.
        name: String,
        /// The names that exist.
        known: Vec<String>,
    },
}
