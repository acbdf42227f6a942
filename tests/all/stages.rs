//! Snapshots of each example on each target that accepts it: report, lowered IR, LLVM IR and assembly.
//!
//! They hold kernel bodies only; long assembly is cut to the memory, synchronisation and control instructions (post,
//! waits, accesses), which is what a reviewer looks at.

use tilewright::backend::Want;
use tilewright::{Compiled, Options, compile_text, report};
use tilewright_target::Target;
use tilewright_testing::{assert_text_snapshot, show};

use crate::common::{Example, examples, root};

/// Settings of every snapshot: beside each other in one folder, named after file, stage and target.
fn snapshot(example: &Example, stage: &str, target: &Target, text: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("tests/snapshots/examples"));
    settings.set_prepend_module_to_snapshot(false);
    let name = format!("{}.{stage}.{}", example.name, target.name);
    settings.bind(|| assert_text_snapshot!(name, text));
}

fn compiled(example: &Example, target: &'static Target) -> Compiled {
    let options = Options { want: Want::Asm, llvm_ir: true, suggest: true, ..Options::default() };
    compile_text(&example.text, target, &options)
        .unwrap_or_else(|all| panic!("{} on {}: {all:#?}", example.name, target.name))
}

/// Takes the same snapshot of every example on every target that it names.
fn of_all(stage: &str, text: fn(&Example, &Compiled) -> String) {
    let mut failed = Vec::new();
    for example in examples() {
        for target in example.targets() {
            let shown = text(&example, &compiled(&example, target));
            // All differences in one go, so that they can be reviewed together.
            let check = std::panic::AssertUnwindSafe(|| snapshot(&example, stage, target, &shown));
            if std::panic::catch_unwind(check).is_err() {
                failed.push(format!("{} on {}", example.name, target.name));
            }
        }
    }
    assert!(failed.is_empty(), "{stage} changed: {failed:#?}");
}

#[test]
fn reports() {
    of_all("report", |example, compiled| report::table(compiled, &example.name));
}

#[test]
fn lowered_ir() {
    of_all("lowered", |_, compiled| show::lowered(compiled));
}

#[test]
fn llvm_ir() {
    of_all("llvm", |_, compiled| show::llvm(compiled));
}

#[test]
fn assembly() {
    of_all("asm", |_, compiled| show::asm(compiled));
}
