//! The command line.

use std::path::PathBuf;

/// Executes the run blocks of a .twb bundle and checks what they leave, without compiler and LLVM
#[derive(Debug, clap::Parser)]
#[command(name = "tilewright-run", version)]
pub(crate) struct Args {
    /// The bundle, made by `tilewright compile FILE --emit bundle -o FILE.twb`
    pub(crate) bundle: PathBuf,
    /// Run on this device: cuda, hip or sim [default: a GPU that fits, else the simulator]
    #[arg(long, value_name = "DEVICE", value_parser = kind)]
    pub(crate) device: Option<&'static str>,
    /// Run the code for this target only
    #[arg(long, value_name = "TARGET")]
    pub(crate) target: Option<String>,
    /// Seed of the simulator's scheduling and completion times
    #[arg(long, value_name = "S", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Run with this many seeds, one after the other, from --seed on
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) seeds: u64,
    /// Simulate without the checks for races, initialisation and copies in flight
    #[arg(long)]
    pub(crate) unchecked: bool,
    /// Give a simulated launch up after this many instructions
    #[arg(long, value_name = "N", default_value_t = 1 << 30)]
    pub(crate) max_steps: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// Kinds of device, the ones to be preferred first.
pub(crate) const KINDS: &[&str] = &["cuda", "hip", "sim"];

fn kind(name: &str) -> Result<&'static str, String> {
    let known = KINDS.iter().find(|known| **known == name).copied();
    known.ok_or_else(|| format!("unknown device; there are {}", KINDS.join(", ")))
}
