//! tilewright passes
