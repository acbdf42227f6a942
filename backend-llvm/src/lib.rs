//! tilewright backend-llvm
