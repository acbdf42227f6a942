//! `tilewright-run`: bundles made here and run by the program alone, from an empty folder and with an empty environment.
//!
//! What must hold: the program's report is that of the compiler; what is wrong with a bundle, or with what a kernel leaves, is
//! exit 1 with a sentence; nothing panics.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tilewright::artifact::{Bundle, report_text};
use tilewright::backend::Want;
use tilewright::bundle::bundle;
use tilewright::{Compiled, Options, compile_text, parse_and_verify, target};

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("tilewright-runner-{name}-{}", std::process::id()));
        std::fs::create_dir_all(path.join("empty")).expect("temporary folder");
        Folder(path)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).expect("written");
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs the program in an empty folder, without any environment: no PATH, no toolchain.
fn run(folder: &Folder, file: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tilewright-run"));
    command.env_clear().current_dir(folder.0.join("empty")).arg(file).args(args);
    let Output { status, stdout, stderr } = command.output().expect("the program starts");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(stdout), text(stderr));
    assert!(!err.contains("panicked"), "{err}");
    (status.code(), out, err)
}

/// A bundle of an example for some targets, and its compiles.
fn example(name: &str, targets: &[&str], ranks: Option<u32>) -> (Bundle, Vec<Compiled>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../examples/{name}.tile"));
    let text = std::fs::read_to_string(path).expect("an example");
    let (module, _) = parse_and_verify(&text).expect("right");
    let compile = |name: &&str| {
        let target = target(name).expect("known");
        let options = Options { want: Want::finished(target), ..Options::default() };
        compile_text(&text, target, &options).unwrap_or_else(|all| panic!("{name}: {all:#?}"))
    };
    let compiled: Vec<Compiled> = targets.iter().map(compile).collect();
    let npy = |_: &str| Err("no files here".to_owned());
    (bundle(&format!("{name}.tile"), &module, &compiled, ranks, &npy).expect("a bundle"), compiled)
}

#[test]
fn a_bundle_runs_from_an_empty_folder_and_reports_as_the_compiler_does() {
    let folder = Folder::new("runs");
    let targets = ["gfx942", "gfx950", "gfx1250"];
    for (name, ranks) in [("ring_shift", 4), ("alltoall", 2), ("gmem_smem", 1)] {
        let asked = (name == "alltoall").then_some(2);
        let (bundle, compiled) = example(name, &targets, asked);
        let after = &bundle.parts[0].launches[0].as_ref().expect("a launch").after;
        let bytes: usize = after.iter().flatten().map(|content| bundle.content(*content).len()).sum();
        let file = folder.write("b.twb", &bundle.to_twb().expect("written"));
        let (status, out, err) = run(&folder, &file, &["--device", "sim", "--seed", "3"]);
        assert_eq!((status, err.as_str()), (Some(0), ""), "{name}: {out}");
        for one in &compiled {
            let report = report_text(&one.report, &format!("{name}.tile"));
            assert!(out.contains(&report), "{name}: no\n{report}\nin\n{out}");
            let target = one.target.name;
            let line = format!(
                "checked {bytes} bytes on {ranks} ranks: `{name}` for {target}, sim against the reference, seed 3\n"
            );
            assert!(out.contains(&line), "{name}: no {line} in {out}");
        }
        let (status, out, _) = run(&folder, &file, &["--target", "gfx942", "--json", "--seeds", "2", "--unchecked"]);
        let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        assert_eq!((status, &json["ok"], json["parts"].as_array().map(Vec::len)), (Some(0), &true.into(), Some(1)));
        assert_eq!((&json["parts"][0]["target"], &json["parts"][0]["runs"][0]["seeds"]), (&"gfx942".into(), &2.into()));
    }
}

#[test]
fn a_kernel_that_leaves_other_bytes_fails() {
    let folder = Folder::new("differs");
    let (mut bundle, _) = example("ring_shift", &["gfx950"], None);
    let launch = bundle.parts[0].launches[0].as_mut().expect("a launch");
    // Of rank 2 the second buffer, `recv`: the last byte of its content after the launch.
    assert_eq!(bundle.cases[0].ranks[2].buffers[1].name, "recv");
    let mut content = bundle.contents[launch.after[2][1] as usize].0.clone();
    let last = content.len() - 1;
    content[last] ^= 0x40;
    launch.after[2][1] = bundle.contents.len() as u32;
    bundle.contents.push(tilewright::artifact::Blob(content));
    let file = folder.write("b.twb", &bundle.to_twb().expect("written"));
    let (status, out, err) = run(&folder, &file, &["--device", "sim"]);
    assert_eq!(status, Some(1));
    assert!(!out.contains("checked"), "{out}");
    let words = "error: `ring_shift` for gfx950 on sim, seed 0: `recv` on rank 2 differs: 1 of 256 bytes, first at byte 255 \
                 (element 127 in memory): 0x";
    assert!(err.starts_with(words), "{err}");
}

#[test]
fn a_fault_of_the_machine_is_told_with_its_place() {
    let folder = Folder::new("fault");
    let text = "kernel k(a: global<u32>[64], b: global<u32>[64], shift: u32) launch(grid = [1], block = [64]) {
    let x = a[thread.linear + index(shift)]; b[thread.linear] = x;
}
run k { a = iota; shift = 0; expect b == a; }";
    let (module, _) = parse_and_verify(text).expect("right");
    let gfx950 = target("gfx950").expect("known");
    let options = Options { want: Want::Object, file: Some("k.tile".to_owned()), ..Options::default() };
    let compiled = vec![compile_text(text, gfx950, &options).expect("right")];
    let mut bundle = bundle("k.tile", &module, &compiled, None, &|_| Err(String::new())).expect("a bundle");
    // The kernel reads behind the end of its buffer.
    bundle.cases[0].ranks[0].scalars[0].1 = 32;
    let file = folder.write("b.twb", &bundle.to_twb().expect("written"));
    let (status, _, err) = run(&folder, &file, &["--device", "sim"]);
    assert_eq!(status, Some(1));
    assert!(err.contains("`a` of rank 0") && err.contains("k.tile:2"), "{err}");
    // Less memory than the kernel may reach is refused before it runs.
    let before = bundle.cases[0].ranks[0].buffers[0].before as usize;
    bundle.contents[before].0.truncate(128);
    let file = folder.write("short.twb", &bundle.to_twb().expect("written"));
    let (status, _, err) = run(&folder, &file, &["--device", "sim"]);
    assert_eq!(status, Some(1));
    assert!(err.contains("`a` of kernel `k` is given 128 bytes on lsa rank 0, the kernel reaches 256"), "{err}");
}

#[test]
fn where_nothing_fits_it_says_not_run() {
    let folder = Folder::new("not-run");
    let (bundle, _) = example("gmem_smem", &["sm_90a"], None);
    let file = folder.write("b.twb", &bundle.to_twb().expect("written"));
    let (status, out, _) = run(&folder, &file, &["--device", "sim"]);
    assert_eq!(status, Some(1));
    assert_eq!(out, "not run: `gmem_smem`\n  sm_90a: sim: the simulator executes AMD code only\n");
    let (status, out, _) = run(&folder, &file, &["--device", "hip"]);
    assert_eq!(status, Some(1));
    assert!(out.starts_with("not run: `gmem_smem`\n  sm_90a: no hip device"), "{out}");
    let (status, out, _) = run(&folder, &file, &["--json", "--device", "sim"]);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, &json["ok"], &json["not_run"][0]), (Some(1), &false.into(), &"gmem_smem".into()));
}

#[test]
fn targets_that_were_left_out_are_told() {
    let folder = Folder::new("left-out");
    let (bundle, _) = example("gmem_smem", &["gfx950", "sm_90a"], None);
    let file = folder.write("b.twb", &bundle.to_twb().expect("written"));
    let (status, out, err) = run(&folder, &file, &["--device", "sim"]);
    assert_eq!((status, out.matches("checked").count()), (Some(0), 1), "{out}");
    assert_eq!(err, "note: not run for sm_90a: sim: the simulator executes AMD code only\n");
}

#[test]
fn a_run_block_runs_on_the_targets_that_it_allows() {
    let folder = Folder::new("targets");
    let text =
        "kernel k(a: global<u32>[64], b: global<u32>[64]) launch(grid = [1], block = [64]) { copy b <- a by cta; }
run k { a = iota; expect b == a; targets = [\"gfx942\"]; }
run k { a = 7; expect b == 7; targets = [\"gfx950\"]; }";
    let (module, _) = parse_and_verify(text).expect("right");
    let compile = |name: &str| {
        let options = Options { want: Want::Object, ..Options::default() };
        compile_text(text, target(name).expect("known"), &options).expect("right")
    };
    let compiled = vec![compile("gfx942"), compile("gfx950")];
    let bundle = bundle("k.tile", &module, &compiled, None, &|_| Err(String::new())).expect("a bundle");
    let file = folder.write("b.twb", &bundle.to_twb().expect("written"));
    let (status, out, _) = run(&folder, &file, &["--device", "sim"]);
    assert_eq!((status, out.matches("checked").count()), (Some(0), 2), "{out}");
    // The other run block has nowhere to run then.
    let (status, out, _) = run(&folder, &file, &["--device", "sim", "--target", "gfx942"]);
    assert_eq!((status, out.matches("checked").count()), (Some(0), 1), "{out}");
}

#[test]
fn files_that_are_no_bundle_are_refused() {
    let folder = Folder::new("foreign");
    let refused = |file: &Path, args: &[&str], words: &str| {
        let (status, out, err) = run(&folder, file, args);
        assert_eq!((status, out.as_str()), (Some(1), ""));
        assert!(err.contains(words), "no `{words}` in {err}");
    };
    refused(Path::new("nowhere.twb"), &[], "cannot read `nowhere.twb`");
    refused(&folder.0, &[], "it is no regular file");
    refused(Path::new("/dev/zero"), &[], "it is no regular file");
    refused(&folder.write("junk.twb", b"junk"), &[], "this is not a .twb bundle");
    let (mut bundle, _) = example("gmem_smem", &["gfx950"], None);
    let whole = bundle.to_twb().expect("written");
    refused(&folder.write("cut.twb", &whole[..whole.len() / 2]), &[], "cut off");
    refused(
        &folder.write("b.twb", &whole),
        &["--target", "sm_80"],
        "holds no code for `sm_80`; it holds code for gfx950",
    );
    bundle.cases.clear();
    bundle.parts[0].launches.clear();
    refused(&folder.write("none.twb", &bundle.to_twb().expect("written")), &[], "no run blocks");
    let (status, out, _) = run(&folder, Path::new("nowhere.twb"), &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    assert_eq!((status, &json["ok"]), (Some(1), &false.into()));
    let last = u64::MAX.to_string();
    let (status, _, err) = run(&folder, Path::new("b.twb"), &["--seed", &last, "--seeds", "2"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("beyond the last seed"), "{err}");
    let (status, _, err) = run(&folder, Path::new("b.twb"), &["--device", "gpu"]);
    assert_eq!(status, Some(2));
    assert!(err.contains("unknown device"), "{err}");
    assert_eq!(run(&folder, Path::new("--help"), &[]).0, Some(0));
}
