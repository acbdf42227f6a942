//! tilewright runtime
