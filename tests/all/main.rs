//! Tests of the whole workspace, in one binary so that LLVM is linked once.

mod edges;
