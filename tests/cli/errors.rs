//! Usage, diagnostics, codes, streams.

use std::process::Stdio;

use crate::program::{Folder, command, tilewright, with_input};

const GOOD: &str = "kernel k(a: global<f32>[64], b: global<f32>[64])\n    launch(grid = [1], block = [64])\n{\n    copy b <- a by cta;\n}\n";

#[test]
fn usage_is_two_and_goes_to_standard_error() {
    for args in [
        &["frobnicate"][..],
        &[],
        &["compile"],
        &["compile", "examples/ship.tile", "--emit", "banana"],
        &["run", "examples/ship.tile", "--ranks", "0"],
        &["run", "examples/ship.tile", "--device", "abacus"],
        &["opt", "examples/ship.tile", "--passes", "no-such-pass"],
        &["compile", "examples/ship.tile", "--print-after", "no-such-pass"],
    ] {
        let outcome = tilewright(args).ends(2);
        assert!(outcome.out.is_empty() && !outcome.err.is_empty(), "{args:?}");
    }
}

#[test]
fn help_and_version_are_data() {
    let help = tilewright(&["--help"]).ends(0);
    for name in ["run", "compile", "report", "check", "opt", "fmt", "targets", "explain"] {
        assert!(help.out.contains(name), "{name}");
        let page = tilewright(&[name, "--help"]).ends(0);
        assert!(page.err.is_empty() && page.out.contains("Usage: tilewright"), "{name}: {}", page.out);
    }
    tilewright(&["--version"]).ends(0).prints(&["tilewright 0."]);
}

#[test]
fn an_unknown_target_names_near_ones() {
    for command in ["compile", "report", "check", "run"] {
        tilewright(&[command, "examples/ldmatrix_x2.tile", "--target", "gfx951"]).ends(2).says(&[
            "unknown target `gfx951`",
            "did you mean `gfx950`",
            "sm_90a",
        ]);
    }
}

#[test]
fn several_errors_in_one_go_with_places() {
    let text = GOOD.replace("copy b <- a by cta;", "copy b <- nothing by cta;\n    copy nowhere <- a by cta;");
    let outcome = with_input(&["check", "-"], text.as_bytes()).ends(1);
    let outcome =
        outcome.says(&["error[TW0005]", "<stdin>:4:15", "<stdin>:5:10", "`nothing`", "`nowhere`", "2 errors"]);
    assert!(outcome.out.is_empty() && !outcome.err.contains('\u{1b}'), "{}", outcome.err);
}

#[test]
fn explain_knows_every_code_and_near_ones() {
    let list = tilewright(&["explain"]).ends(0);
    let codes: Vec<&str> = list.out.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert!(codes.len() >= 40);
    for code in codes {
        let page = tilewright(&["explain", code]).ends(0);
        assert!(page.out.starts_with(&format!("{code}: ")) && page.out.contains("Example:"), "{}", page.out);
    }
    tilewright(&["explain", "tw0007"]).ends(0).prints(&["TW0007"]);
    tilewright(&["explain", "TW9999"]).ends(1).says(&["no code `TW9999`", "near ones"]);
    tilewright(&["explain", "banana"]).ends(1).says(&["is no code"]);
}

#[test]
fn a_closed_pipe_is_quiet() {
    let mut child = command(&["targets", "--json"]);
    let mut child = child.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_full_disk_is_said() {
    let Ok(full) = std::fs::File::options().write(true).open("/dev/full") else { return };
    let output = command(&["targets"]).stdout(full).stderr(Stdio::piped()).output().expect("starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).contains("cannot write to standard output"));
}

#[test]
fn a_forced_variant_that_declines_is_an_error_with_its_reason() {
    let text = GOOD.replace("by cta;", "by cta, variant = \"reg\";");
    with_input(&["check", "-", "--target", "sm_90a"], text.as_bytes()).ends(1).says(&["TW0031", "reg"]);
}

#[test]
fn outputs_are_whole_or_not_there() {
    let folder = Folder::new("outputs");
    let bad = folder.write("bad.tile", "kernel");
    tilewright(&["compile", &bad, "--emit", "lowered", "-o", &folder.path("out")]).ends(1);
    assert_eq!(folder.names(), ["bad.tile"]);
    let good = folder.write("good.tile", GOOD);
    std::fs::create_dir(folder.path("dir")).expect("folder");
    tilewright(&["compile", &good, "--emit", "lowered", "-o", &folder.path("dir")]).ends(1).says(&["is a folder"]);
    tilewright(&["compile", &good, "--emit", "lowered", "-o", &folder.path("no/such")]).ends(1).says(&["cannot write"]);
    assert_eq!(folder.names(), ["bad.tile", "dir", "good.tile"]);
}

#[test]
fn json_is_answered_on_failure_too() {
    let folder = Folder::new("json-failure");
    let bad = folder.write("bad.tile", GOOD.replace("<- a", "<- nothing"));
    let out = folder.path("out.tile");
    for args in [
        &["run", &bad, "--json"][..],
        &["report", &bad, "--json"],
        &["check", &bad, "--json"],
        &["compile", &bad, "--json", "--emit", "lowered", "-o", &out],
    ] {
        let outcome = tilewright(args).ends(1).says(&["error[TW0005]"]);
        let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("one JSON value");
        assert_eq!(json["ok"], false, "{args:?}");
        let found = &json["diagnostics"][0];
        assert_eq!((found["code"].as_str(), found["severity"].as_str()), (Some("TW0005"), Some("error")));
        assert_eq!((&found["at"]["line"], &found["at"]["column"]), (&4.into(), &15.into()), "{args:?}");
        assert!(found["message"].as_str().is_some_and(|m| m.contains("nothing")) && found["file"] == *bad);
    }
    for args in [&["report", "no-such-file", "--json"][..], &["layout", "S[(8:1)]]", "--json"]] {
        let outcome = tilewright(args).ends(1);
        let json: serde_json::Value = serde_json::from_str(&outcome.out).expect("one JSON value");
        assert!(json["ok"] == false && (json["error"].is_string() || json["diagnostics"][0].is_object()), "{json}");
    }
    let good = folder.write("good.tile", GOOD);
    let checked = tilewright(&["check", &good, "--json"]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&checked.out).expect("JSON");
    assert_eq!((&json["ok"], &json["kernels"]), (&true.into(), &1.into()));
    let made = tilewright(&["compile", &good, "--json", "--emit", "lowered", "-o", &out]).ends(0);
    let json: serde_json::Value = serde_json::from_str(&made.out).expect("JSON");
    assert_eq!(json["bytes"], std::fs::metadata(&out).expect("written").len());
}

#[test]
fn nothing_overwrites_its_source() {
    let folder = Folder::new("overwrite");
    let source = folder.write("k.tile", GOOD);
    let around = format!("{}/../{}", folder.path(""), source.rsplit('/').nth(1).unwrap_or_default());
    for out in [source.clone(), format!("{around}/k.tile")] {
        let outcome = tilewright(&["compile", &source, "--emit", "lowered", "-o", &out]).ends(1);
        outcome.says(&["is the source itself"]);
        assert_eq!(std::fs::read_to_string(&source).expect("still there"), GOOD);
    }
}

#[test]
fn an_empty_file_is_an_error_for_every_command() {
    for args in
        [&["check", "-"][..], &["report", "-"], &["compile", "-"], &["run", "-"], &["opt", "-", "--passes", "verify"]]
    {
        with_input(args, b"\n").ends(1).says(&["there is no kernel in this file"]);
    }
}
