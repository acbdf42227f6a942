//! Runs the commands that README.md shows, so that what a newcomer types works.
//!
//! Looked at: lines of fenced `sh` blocks. Left out: `git clone`, `cd`, and `cargo test` (the tests have just run when
//! this runs in `.ci/run`).

use std::fs;
use std::path::Path;
use std::process::Command;

/// One line for each command that fails.
pub(crate) fn faults(root: &Path) -> Vec<String> {
    let text = match fs::read_to_string(root.join("README.md")) {
        Ok(text) => text,
        Err(e) => return vec![format!("cannot read README.md: {e}")],
    };
    let commands: Vec<&str> = commands(&text).filter(|line| !is_left_out(line)).collect();
    if commands.is_empty() {
        return vec!["README.md shows no command".to_string()];
    }
    commands.into_iter().filter_map(|command| run(root, command)).collect()
}

/// The lines of all `sh` blocks, without comments.
fn commands(text: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    text.lines().filter_map(move |line| {
        if line.starts_with("```") {
            inside = line == "```sh";
            return None;
        }
        let command = line.split(" #").next().unwrap_or_default().trim();
        (inside && !command.is_empty() && !command.starts_with('#')).then_some(command)
    })
}

fn is_left_out(command: &str) -> bool {
    ["git clone", "cd ", "cargo test"].iter().any(|start| command.starts_with(start))
}

fn run(root: &Path, command: &str) -> Option<String> {
    println!("$ {command}");
    match Command::new("sh").args(["-c", command]).current_dir(root).status() {
        Ok(status) if status.success() => None,
        Ok(status) => Some(format!("README.md: `{command}` ends with {status}")),
        Err(e) => Some(format!("README.md: `{command}` cannot be run: {e}")),
    }
}
