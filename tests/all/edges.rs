//! The house has only the edges that the design lists; LLVM and HIP are nowhere else.
//!
//! The table is the one of docs/architecture.md; inside the workspace "may use" is a permission, so an edge that nobody uses
//! is no error.

use std::process::Command;

use serde_json::Value;

/// What each crate may use of the workspace. `*` may use all.
const EDGES: &[(&str, &[&str])] = &[
    ("tilewright-ir", &[]),
    ("tilewright-target", &[]),
    ("tilewright-passes", &["tilewright-ir", "tilewright-target"]),
    ("tilewright-lanes", &["tilewright-ir", "tilewright-target"]),
    ("tilewright-backend-llvm", &["tilewright-ir", "tilewright-target"]),
    ("tilewright-backend-amdgpu", BACKEND),
    ("tilewright-backend-cuda", BACKEND),
    ("tilewright-artifact", &[]),
    ("tilewright-sim", &["tilewright-target", "tilewright-artifact"]),
    ("tilewright-runtime", &["tilewright-target", "tilewright-artifact", "tilewright-sim"]),
    ("tilewright", ALL),
    ("tilewright-runner", &["tilewright-target", "tilewright-artifact", "tilewright-runtime"]),
    ("tilewright-testing", &["tilewright"]),
    ("tilewright-fake-hip", &["tilewright-target", "tilewright-sim"]),
    ("tilewright-capi", &["tilewright-target", "tilewright-artifact", "tilewright-sim", "tilewright-runtime"]),
    ("tilewright-tests", ALL),
    ("tilewright-benches", ALL),
    ("tilewright-fuzz", ALL),
    ("tilewright-xtask", ALL),
];

/// What a backend may use.
const BACKEND: &[&str] =
    &["tilewright-ir", "tilewright-target", "tilewright-passes", "tilewright-backend-llvm", "tilewright-artifact"];

/// Everything.
const ALL: &[&str] = &["*"];

/// The crates that may see LLVM.
const LLVM_CRATES: &[&str] = &["tilewright-backend-llvm", "tilewright-backend-amdgpu", "tilewright-backend-cuda"];

/// A dependency of a workspace package.
struct Edge {
    from: String,
    to: String,
    /// Only for its tests?
    dev: bool,
    /// Only with a feature?
    optional: bool,
}

/// Every dependency that a manifest of the workspace states.
fn edges() -> Vec<Edge> {
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest])
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let mut edges = Vec::new();
    for package in metadata["packages"].as_array().expect("packages") {
        for dependency in package["dependencies"].as_array().expect("dependencies") {
            edges.push(Edge {
                from: package["name"].as_str().unwrap_or_default().to_string(),
                to: dependency["name"].as_str().unwrap_or_default().to_string(),
                dev: dependency["kind"].as_str() == Some("dev"),
                optional: dependency["optional"].as_bool() == Some(true),
            });
        }
    }
    assert!(edges.len() > 20, "found only {} dependencies", edges.len());
    edges
}

#[test]
fn workspace_edges_are_those_of_the_design() {
    let mut wrong = Vec::new();
    for edge in edges().iter().filter(|edge| edge.to.starts_with("tilewright") && !edge.dev) {
        let allowed = EDGES.iter().find(|(name, _)| *name == edge.from).map(|(_, to)| *to);
        match allowed {
            Some(to) if to == ALL || to.contains(&edge.to.as_str()) => {}
            Some(_) => wrong.push(format!("{} -> {}", edge.from, edge.to)),
            None => wrong.push(format!("{} is not in the table", edge.from)),
        }
    }
    assert!(wrong.is_empty(), "edges outside the design: {wrong:#?}");
}

#[test]
fn tests_of_a_crate_add_no_edge_backwards() {
    // A dev-dependency on a later crate would make the earlier one untestable without it.
    let position = |name: &str| EDGES.iter().position(|(crate_name, _)| *crate_name == name);
    for edge in edges().iter().filter(|edge| edge.to.starts_with("tilewright") && edge.dev) {
        let (from, to) = (position(&edge.from), position(&edge.to));
        assert!(to < from || EDGES[from.unwrap_or(0)].1 == ALL, "{} tests with {}", edge.from, edge.to);
    }
}

#[test]
fn every_crate_is_in_the_table() {
    let manifest = include_str!("../../Cargo.toml");
    let members = manifest.split("members = [").nth(1).and_then(|rest| rest.split(']').next()).expect("members");
    assert_eq!(members.matches('"').count() / 2, EDGES.len(), "members of the workspace: {members}");
}

#[test]
fn llvm_is_seen_by_the_backends_only() {
    for edge in edges() {
        if ["inkwell", "llvm-sys"].contains(&edge.to.as_str()) {
            assert!(LLVM_CRATES.contains(&edge.from.as_str()), "{} uses {}", edge.from, edge.to);
        }
    }
}

#[test]
fn hip_is_seen_by_the_runtime_only() {
    // Optional and off by default: the build script of `hip-sys` needs ROCm headers.
    let all = edges();
    for edge in all.iter().filter(|edge| edge.to.contains("hip-sys")) {
        assert!(edge.from == "tilewright-runtime" && edge.optional, "{} uses {}", edge.from, edge.to);
    }
    // Whoever depended on the fake library would be linked with it wherever AMD's is meant.
    assert!(all.iter().all(|edge| edge.to != "tilewright-fake-hip"));
}

#[test]
fn runners_see_neither_ir_nor_llvm() {
    // Spelled out beside the table, because a runner that travels to a GPU machine depends on it.
    for edge in edges().iter().filter(|edge| ["tilewright-sim", "tilewright-runtime"].contains(&edge.from.as_str())) {
        let forbidden = edge.to == "tilewright-ir" || edge.to.contains("llvm") || edge.to.contains("backend");
        assert!(!forbidden, "{} uses {}", edge.from, edge.to);
    }
}
