//! tilewright backend-amdgpu
