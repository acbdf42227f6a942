//! The facade of Tilewright: from a text to a checked compile, in memory; and everything behind the `tilewright` program.
//!
//! ```
//! use tilewright::{Options, compile_text};
//!
//! let text = "kernel k(a: global<f32>[32], b: global<f32>[32]) launch(grid = [1], block = [32]) { copy b <- a by cta; }";
//! let target = tilewright::target("sm_90a").expect("known");
//! let compiled = compile_text(text, target, &Options::default()).expect("right");
//! assert_eq!(compiled.report.copies.len(), 1);
//! ```
//!
//! What was compiled runs through [`runtime`], on the simulator or on hardware:
//!
//! ```
//! use tilewright::backend::Want;
//! use tilewright::runtime::device::sim::{SimDevice, SimOptions};
//! use tilewright::runtime::{Args, Comm, LsaRank};
//! use tilewright::{Options, bundle, compile_text};
//!
//! let text = "
//! kernel shift(comm: devcomm, send: window<u32>[64], recv: window<u32>[64]) launch(grid = [1], block = [64]) {
//!     signal ready;
//!     let next = (comm.lsa_rank + 1) % comm.lsa_size;
//!     let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
//!     copy recv@next <- send by cta, notify ready;
//!     wait ready from prev;
//! }";
//! let target = tilewright::target("gfx950").expect("known");
//! let options = Options { want: Want::Object, ..Options::default() };
//! let compiled = compile_text(text, target, &options).expect("right");
//! let artifact = bundle::artifact(&compiled).expect("machine code");
//!
//! // Two ranks with two queues to each peer.
//! let comm = Comm::new(&SimDevice::new(target, SimOptions::default()), 2, 2)?;
//! let kernel = comm.load(&artifact.code, &artifact.kernels)?.kernel("shift")?;
//! let (send, recv) = (comm.window(256, "send")?, comm.window(256, "recv")?);
//! send.write(LsaRank::new(0), 0, &[7; 256])?;
//! send.write(LsaRank::new(1), 0, &[8; 256])?;
//! let args = Args::new().window("send", &send).window("recv", &recv);
//! let stream = comm.stream();
//! // On all ranks at once; launches follow each other, and each counts on from the signals of the last.
//! for _ in 0..3 {
//!     stream.launch(&kernel, &[args.clone(), args.clone()])?;
//! }
//! stream.synchronise()?;
//! assert_eq!(recv.to_vec(LsaRank::new(1))?, [7; 256]);
//! assert_eq!(comm.total(LsaRank::new(1), LsaRank::new(0), kernel.info().signals[0].queue)?, 3);
//! # Ok::<(), tilewright::runtime::Error>(())
//! ```
//!
//! Must hold: this is the only crate that reads files ([`files`]), the environment or the clock ([`session`]).

pub mod backend;
pub mod bundle;
pub mod checked;
pub mod cmd;
mod compile;
pub mod device;
pub mod extension;
pub mod files;
pub mod layout;
mod observe;
pub mod ptxas;
pub mod render;
pub mod report;
pub mod session;
mod totals;

pub use compile::{Compiled, Options, compile_module, compile_text, parse_and_verify, run_passes};
pub use tilewright_artifact as artifact;
pub use tilewright_artifact::table;
pub use tilewright_ir as ir;
pub use tilewright_runtime as runtime;
pub use tilewright_target::lookup as target;
