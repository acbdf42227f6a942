//! Tests of the whole workspace, in one binary so that LLVM is linked once.

mod arithmetic;
mod codes;
mod common;
mod edges;
mod examples;
mod faults;
mod field_reports;
mod held;
mod launch_shapes;
mod malformed;
mod peers;
mod runtime;
mod sdma_debug;
mod sdma_failures;
mod sdma_ops;
mod sdma_sizes;
mod sim_launches;
mod sim_machine;
mod stages;
mod suggest;
mod virtual_time;
