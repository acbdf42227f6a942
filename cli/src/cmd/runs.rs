//! Which run blocks, and with them which kernels, a target is concerned with.

use tilewright_ir::{Item, Module, Run};
use tilewright_target::Target;

/// Does the run block allow the target?
pub(super) fn allows(run: &Run, target: &Target) -> bool {
    run.targets.as_ref().is_none_or(|targets| targets.iter().any(|name| name == target.name))
}

/// The run blocks that allow the target, and their kernels: others need not compile for it.
pub(super) fn runnable(module: &Module, target: &Target) -> Module {
    keep(module, target, false)
}

/// The same, and the kernels without a run block, which are for any target.
pub(super) fn meant(module: &Module, target: &Target) -> Module {
    keep(module, target, true)
}

fn keep(module: &Module, target: &Target, without_runs: bool) -> Module {
    let mut part = module.clone();
    part.items.retain(|item| match item {
        Item::Run(run) => allows(run, target),
        Item::Kernel(kernel) => {
            let mut runs = module.runs().filter(|run| run.kernel == kernel.name).peekable();
            (without_runs && runs.peek().is_none()) || runs.any(|run| allows(run, target))
        }
    });
    part
}
