//! tilewright sim
