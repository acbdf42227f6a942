//! tilewright ir
