//! tilewright backend-cuda
