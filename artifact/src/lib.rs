//! tilewright artifact
