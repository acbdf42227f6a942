//! The commands, each doing what it is for.

use crate::program::{Folder, root, tilewright, with_input};

/// Targets for which an example is made.
fn targets_of(file: &str) -> &'static [&'static str] {
    match file {
        "ring_shift" | "ship" | "alltoall" => &["gfx1250", "gfx942", "gfx950"],
        _ => &["gfx1250", "gfx942", "gfx950", "sm_80", "sm_90a", "sm_100a"],
    }
}

#[test]
fn every_example_runs_on_every_target_that_fits() {
    let examples = [
        "ship",
        "alltoall",
        "ring_shift",
        "ldmatrix_x2",
        "ldmatrix_trans_swizzle",
        "stmatrix_x4",
        "reg_roundtrip",
        "gmem_smem",
        "fallback_4x6",
    ];
    for example in examples {
        for target in targets_of(example) {
            let file = format!("examples/{example}.tile");
            tilewright(&["run", &file, "--target", target]).ends(0).prints(&[
                "chosen",
                "checked ",
                " bytes on ",
                " ranks",
            ]);
        }
    }
}

#[test]
fn ring_shift_chooses_sdma_and_says_why_the_others_lost() {
    let outcome = tilewright(&["run", "examples/ring_shift.tile"]).ends(0);
    let outcome = outcome.prints(&["sdma_put", "chosen", "peer_ldst", "on 4 ranks"]);
    assert!(outcome.out.contains("lost") || outcome.out.contains("rejected"), "{}", outcome.out);
}

#[test]
fn run_takes_ranks_seeds_and_device() {
    let last = u64::MAX.to_string();
    tilewright(&["run", "examples/ring_shift.tile", "--seed", &last, "--seeds", "2"])
        .ends(2)
        .says(&["beyond the last seed"]);
    tilewright(&["run", "examples/ring_shift.tile", "--ranks", "7", "--seed", "5", "--seeds", "3"])
        .ends(0)
        .prints(&["on 7 ranks", "3 seeds"]);
    tilewright(&["run", "examples/ring_shift.tile", "--device", "reference"]).ends(0).prints(&["reference"]);
    let outcome = tilewright(&["run", "examples/ring_shift.tile", "--json"]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("JSON");
    assert_eq!((&json["ok"], &json["target"]), (&true.into(), &"gfx950".into()));
    assert_eq!(json["runs"][0]["ranks"], 4);
    assert!(json["runs"][0]["bytes"].as_u64() > Some(0));
    assert_eq!(json["copies"][0]["chosen"], "sdma_put");
}

#[test]
fn run_that_fails_says_in_json_of_what() {
    let json = |args: &[&str]| -> serde_json::Value {
        let outcome = tilewright(&[&["run", "--json"], args].concat()).ends(1);
        serde_json::from_str(&outcome.out).expect("one JSON value")
    };
    let file = "tests/faults/no_signal.tile";
    let failed = json(&[file, "--seed", "5", "--seeds", "2", "--alone"]);
    assert_eq!((&failed["ok"], &failed["seed"]), (&false.into(), &5.into()));
    let known = ["file", "target", "device"].map(|key| failed[key].as_str().unwrap_or_default());
    assert_eq!(known, [file, "gfx950", "sim"]);
    assert!(failed["diagnostics"][0]["code"].is_string());
    // Nothing else is known of what is not there.
    let early = json(&["none.tile"]);
    assert_eq!((&early["ok"], &early["file"], early.get("target")), (&false.into(), &"none.tile".into(), None));
}

#[test]
fn run_simulates_amd_targets_unless_told_otherwise() {
    let file = "examples/ring_shift.tile";
    tilewright(&["run", file]).ends(0).prints(&["sim against the reference"]);
    tilewright(&["run", file, "--unchecked", "--seeds", "2"]).ends(0).prints(&["sim against the reference, 2 seeds"]);
    tilewright(&["run", file, "--alone"]).ends(0).prints(&["sim alone"]);
    tilewright(&["run", file, "--device", "lanes"]).ends(0).prints(&["lanes against the reference"]);
    tilewright(&["run", file, "--device", "lanes", "--unchecked"]).ends(2).says(&["--unchecked is for the simulator"]);
    tilewright(&["run", "tests/faults/no_signal.tile", "--alone"]).ends(1).says(&["TW0035", "`recv` of rank"]);
}

/// On a machine with a GPU that fits the first run is the GPU's; on any other one it is that of `lanes`, which says why.
#[test]
fn run_takes_the_gpu_where_there_is_one_and_says_where_there_is_none() {
    let run = ["run", "examples/ldmatrix_x2.tile", "--target", "sm_90a"];
    let outcome = tilewright(&run).ends(0);
    let asked = tilewright(&[&run[..], &["--device", "cuda"]].concat());
    if asked.status == Some(0) {
        asked.prints(&["cuda against the reference"]);
        outcome.prints(&["cuda against the reference"]);
    } else {
        let why = asked.err.lines().find(|line| line.contains("cuda device") || line.contains("the code is for"));
        let why = why.and_then(|line| line.split_once(": ")).map(|(_, why)| why.to_owned()).expect(&asked.err);
        asked.ends(1).says(&["TW0034", "--device lanes"]);
        outcome.says(&[&format!("note: run on lanes: {why}")]).prints(&["lanes against the reference"]);
    }
    let amd = tilewright(&["run", "examples/ring_shift.tile", "--device", "cuda"]).ends(1);
    amd.says(&["TW0034"]);
}

#[test]
fn run_tells_virtual_time_and_writes_traces() {
    let folder = Folder::new("trace");
    let out = folder.path("trace.json");
    let outcome = tilewright(&["run", "examples/ring_shift.tile", "--trace", &out, "--seeds", "2"]).ends(0);
    outcome.prints(&["virtual time, by figures measured on gfx950", "256 B to rank 1"]);
    let trace: serde_json::Value = serde_json::from_slice(&std::fs::read(&out).expect("a trace")).expect("JSON");
    assert_eq!((&trace["otherData"]["seed"], &trace["otherData"]["target"]), (&"0".into(), &"gfx950".into()));
    let named = |name: &str| trace["traceEvents"].as_array().is_some_and(|all| all.iter().any(|e| e["name"] == name));
    assert!(named("ring_shift") && named("ring_shift.tile:13") && named("put 256 B to `recv` of rank 1"));
    let outcome = tilewright(&["run", "examples/ring_shift.tile", "--json"]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("JSON");
    let time = &json["runs"][0]["virtual_time"][3];
    assert_eq!(
        (&time["rank"], &time["links"][0]["bytes"], &time["queues"][0]["packets"]),
        (&3.into(), &256.into(), &2.into())
    );
    assert!(time["end_ps"].as_u64().is_some_and(|end| (8_000_000..14_000_000).contains(&end)), "{time}");
    // Nothing is written for a run that fails, and nothing is asked of what has no time.
    let none = &folder.path("none.json");
    tilewright(&["run", "tests/faults/no_signal.tile", "--alone", "--trace", none]).ends(1);
    assert!(!std::path::Path::new(none).exists());
    tilewright(&["run", "examples/ring_shift.tile", "--device", "lanes", "--trace", none])
        .ends(2)
        .says(&["--trace is of"]);
    tilewright(&["run", "examples/ring_shift.tile", "--trace", "/no/such/folder/t.json"])
        .ends(1)
        .says(&["cannot write"]);
}

#[test]
fn run_picks_an_allowed_target_or_says_what_is_allowed() {
    let text = "kernel k(a: global<f32>[64], b: global<f32>[64]) launch(grid = [1], block = [64]) { copy b <- a by cta; }\n\
                run k { targets = [\"sm_90a\"]; a = iota; expect b == a; }\n";
    with_input(&["run", "-"], text.as_bytes()).ends(0).prints(&["for sm_90a"]);
    with_input(&["run", "-", "--target", "gfx950"], text.as_bytes()).ends(1).says(&["allow sm_90a"]);
    let no_run = text.lines().next().unwrap_or_default();
    with_input(&["run", "-"], no_run.as_bytes()).ends(1).says(&["no run block"]);
    let wrong = text.replace("b == a", "b == 3.0");
    with_input(&["run", "-"], wrong.as_bytes()).ends(1).says(&["TW0037"]);
}

#[test]
fn report_is_a_table_and_json() {
    let file = "examples/ldmatrix_x2.tile";
    tilewright(&["report", file, "--target", "sm_90a"]).ends(0).prints(&[
        "ldstmatrix",
        "num = 2",
        "gmem_smem",
        "rejected",
    ]);
    let outcome = tilewright(&["report", file, "--target", "sm_90a", "--json"]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("JSON");
    assert_eq!(json["target"], "sm_90a");
    let copies = json["copies"].as_array().expect("copies");
    assert_eq!(copies.len(), 3);
    assert!(copies.iter().any(|copy| copy["chosen"] == "ldstmatrix" && copy["params"]["num"] == 2));
    for copy in copies {
        assert!(copy["line"].as_u64() > Some(0) && copy["kernel"] == "ldmatrix_x2");
        let candidates = copy["candidates"].as_array().expect("candidates");
        assert_eq!(candidates.iter().filter(|c| c["verdict"] == "chosen").count(), 1);
        for name in ["ldstmatrix", "reg", "gmem_smem", "fallback", "peer_ldst"] {
            let candidate = candidates.iter().find(|c| c["variant"] == name).expect(name);
            assert!(!candidate["reason"].as_str().unwrap_or_default().is_empty(), "{candidate}");
        }
    }
}

#[test]
fn stmatrix_needs_sm_90_and_the_report_says_so() {
    let outcome = tilewright(&["report", "examples/stmatrix_x4.tile", "--target", "sm_80"]).ends(0);
    outcome.prints(&["stmatrix needs sm_90", "sm_80: reg"]);
}

#[test]
fn compile_writes_every_stage() {
    let folder = Folder::new("stages");
    let file = "examples/ldmatrix_x2.tile";
    let out = folder.path("out.ptx");
    tilewright(&["compile", file, "--target", "sm_90a", "--emit", "asm", "-o", &out]).ends(0);
    let ptx = std::fs::read_to_string(&out).expect("written");
    assert!(ptx.contains("ldmatrix.sync.aligned.m8n8.x2.shared.b16"), "{ptx}");
    assert!(ptx.contains(".target sm_90a") && ptx.contains(".entry ldmatrix_x2("));
    tilewright(&["compile", file, "--emit", "tile"]).ends(0).prints(&["copy frag <- tile by warp"]);
    tilewright(&["compile", file, "--emit", "lowered"]).ends(0).prints(&["vec.copy("]);
    tilewright(&["compile", file, "--emit", "llvm"]).ends(0).prints(&["define", "@ldmatrix_x2"]);
    let bundle = folder.path("out.twb");
    tilewright(&["compile", file, "--emit", "bundle", "-o", &bundle]).ends(0);
    assert!(std::fs::read(&bundle).expect("written").starts_with(b"TWBUNDLE"));
}

#[test]
fn compile_makes_amd_code_objects() {
    let folder = Folder::new("hsaco");
    let gfx9: [&str; 2] = ["s_waitcnt vmcnt(0)", "sc0 sc1"];
    let gfx12 = ["s_wait_storecnt 0x0", "scope:SCOPE_SYS"];
    for (target, own) in [("gfx942", gfx9), ("gfx950", gfx9), ("gfx1250", gfx12)] {
        let out = folder.path(target);
        tilewright(&["compile", "examples/ship.tile", "--target", target, "--emit", "obj", "-o", &out]).ends(0);
        let elf = std::fs::read(&out).expect("written");
        assert!(elf.starts_with(b"\x7fELF") && elf[18..20] == [224, 0], "AMDGPU ELF");
        for name in ["ship.kd", "ship", "amdhsa.kernels"] {
            assert!(elf.windows(name.len()).any(|w| w == name.as_bytes()), "{name}");
        }
        let asm = tilewright(&["compile", "examples/ship.tile", "--target", target, "--emit", "asm"]).ends(0);
        asm.prints(&["ship:", "global_store"]).prints(&own);
    }
}

#[test]
fn objects_for_cuda_need_ptxas() {
    let mut command =
        crate::program::command(&["compile", "examples/ldmatrix_x2.tile", "--target", "sm_90a", "--emit", "obj"]);
    let output = command.env("PATH", "/nowhere").output().expect("starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--ptxas PATH"));
}

#[test]
fn print_after_and_time() {
    let outcome =
        tilewright(&["compile", "examples/ship.tile", "--emit", "lowered", "--print-after", "select-copies", "--time"]);
    let outcome = outcome.ends(0).prints(&["// after select-copies", "posted"]).says(&["select-copies", "total"]);
    let after = outcome.out.split("// after select-copies").nth(1).unwrap_or_default();
    assert!(after.contains("kernel ship"), "{after}");
}

#[test]
fn opt_runs_chosen_passes() {
    let outcome =
        tilewright(&["opt", "examples/ship.tile", "--passes", "verify,select-copies", "--target", "gfx950"]).ends(0);
    let outcome = outcome.prints(&["sdma.put(", "posted"]);
    // What it prints can be put through the next pass.
    let next = with_input(&["opt", "-", "--passes", "place-waits"], outcome.out.as_bytes()).ends(0);
    assert!(!next.out.contains("posted"), "{}", next.out);
}

#[test]
fn check_says_what_it_saw() {
    tilewright(&["check", "examples/ship.tile"]).ends(0).says(&["examples/ship.tile: ok, 1 kernel, 1 run block"]);
    tilewright(&["check", "examples/ship.tile", "--target", "gfx942"]).ends(0).says(&["ok for gfx942"]);
}

#[test]
fn fmt_formats_in_place_and_checks() {
    let folder = Folder::new("fmt");
    let text = "// kept\nkernel   k( a:global<f32>[64] )  launch(grid=[1],block=[64]) { sync   cta; // kept too\n}\n";
    let file = folder.write("a.tile", text);
    tilewright(&["fmt", "--check", &file]).ends(1).prints(&[&file]);
    assert_eq!(std::fs::read_to_string(&file).expect("read"), text, "--check changes nothing");
    tilewright(&["fmt", &file]).ends(0);
    let formatted = std::fs::read_to_string(&file).expect("read");
    assert!(formatted.contains("// kept\n") && formatted.contains("    sync cta; // kept too\n"), "{formatted}");
    tilewright(&["fmt", "--check", &file]).ends(0);
    let piped = with_input(&["fmt", "-"], text.as_bytes()).ends(0);
    assert_eq!(piped.out, formatted);
    let bad = folder.write("bad.tile", "kernel {");
    tilewright(&["fmt", &bad, &file]).ends(1).says(&["bad.tile"]);
    assert_eq!(folder.names(), ["a.tile", "bad.tile"]);
}

#[test]
fn examples_are_formatted() {
    for entry in std::fs::read_dir(root().join("examples")).expect("examples").flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "tile") {
            tilewright(&["fmt", "--check", &path.to_string_lossy()]).ends(0);
        }
    }
}

#[test]
fn targets_are_listed() {
    tilewright(&["targets"])
        .ends(0)
        .prints(&["gfx1250", "gfx942", "gfx950", "sm_80", "sm_90a", "sm_100a", "sdma", "stmatrix"]);
    let outcome = tilewright(&["targets", "--json"]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("JSON");
    assert_eq!(json["targets"].as_array().map(Vec::len), Some(6));
}

#[test]
fn a_report_shows_what_each_lane_accesses() {
    let outcome = tilewright(&["report", "examples/ldmatrix_x2.tile", "--target", "sm_90a", "--lanes"]).ends(0);
    outcome.prints(&["nv.ldmatrix: ", "lane -> first element of the row", "31: "]);
}
