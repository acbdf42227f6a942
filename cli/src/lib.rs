//! tilewright cli
