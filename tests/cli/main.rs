//! Tests of the `tilewright` program, through its binary.
