//! Records of NVIDIA chips, one file each.
//!
//! What must hold here: each file holds one record with every field written out and sourced.

pub(crate) mod sm_100a;
pub(crate) mod sm_80;
pub(crate) mod sm_90a;
