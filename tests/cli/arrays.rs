//! `run --in name=file.npy --out name=file.npy`.

use crate::program::{Folder, tilewright, with_input};

/// An `.npy` file of u16, version 1.
fn npy(shape: &str, values: impl Iterator<Item = u16>) -> Vec<u8> {
    let header = format!("{{'descr': '<u2', 'fortran_order': False, 'shape': ({shape}), }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file.extend(values.flat_map(u16::to_le_bytes));
    file
}

const SHIFT: &str = "kernel shift(comm: devcomm, send: window<u16>[8, 16], recv: window<u16>[8, 16])
    launch(grid = [1], block = [64])
{
    signal ready;
    let next = (comm.lsa_rank + 1) % comm.lsa_size;
    let prev = (comm.lsa_rank + comm.lsa_size - 1) % comm.lsa_size;
    copy recv@next <- send by cta, notify ready;
    wait ready from prev;
}
run shift { ranks = 2; send = iota; let prev = (rank + 1) % ranks; expect recv == send@prev; }
";

#[test]
fn contents_come_from_files_and_go_into_files() {
    let folder = Folder::new("arrays");
    let (source, send, recv) = (folder.path("s.tile"), folder.path("send.npy"), folder.path("recv.npy"));
    std::fs::write(&source, SHIFT).expect("written");
    std::fs::write(&send, npy("2, 8, 16", (0..256).map(|n| n * 7))).expect("written");
    let (from, to) = (format!("send={send}"), format!("recv={recv}"));
    tilewright(&["run", &source, "--in", &from, "--out", &to]).ends(0).prints(&["checked 1024 bytes on 2 ranks"]);
    let written = std::fs::read(&recv).expect("written");
    let header = String::from_utf8_lossy(&written[..128]).into_owned();
    assert!(header.contains("'descr': '<u2', 'fortran_order': False, 'shape': (2, 8, 16,)"), "{header}");
    // Rank 0 has what rank 1 sent, and the other way round.
    let values: Vec<u16> = written[128..].chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect();
    let expected: Vec<u16> = (128..256).chain(0..128).map(|n| n * 7).collect();
    assert_eq!(values, expected);
    // The same file, read again.
    let from = format!("send={recv}");
    tilewright(&["run", &source, "--in", &from, "--device", "lanes"]).ends(0);
    // One part for all ranks.
    std::fs::write(&send, npy("8, 16", 0..128)).expect("written");
    tilewright(&["run", &source, "--in", &format!("send={send}"), "--ranks", "3"]).ends(0);
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_written() {
    let folder = Folder::new("arrays-errors");
    let (source, send, out) = (folder.path("s.tile"), folder.path("send.npy"), folder.path("out.npy"));
    std::fs::write(&source, SHIFT).expect("written");
    std::fs::write(&send, npy("4, 8, 16", 0..512)).expect("written");
    let to = format!("recv={out}");
    let refused = |args: &[&str], status: i32, words: &str| {
        tilewright(&[&["run", &source, "--out", &to], args].concat()).ends(status).says(&[words]);
        assert!(!std::path::Path::new(&out).exists(), "{args:?} wrote");
    };
    let send_from = format!("send={send}");
    refused(&["--in", &send_from], 1, "its shape is [4, 8, 16], `send` is [8, 16] on 2 ranks");
    refused(&["--in", &format!("sent={send}")], 1, "no kernel that is run has a buffer `sent`");
    refused(&["--in", &format!("send={}", folder.path("none.npy"))], 1, "No such file");
    refused(&["--in", &send_from, "--in", &send_from], 2, "gives `send` twice");
    refused(&["--in", "send"], 2, "it is written name=file.npy");
    refused(&["--out", &to], 2, "twice");
    refused(&["--out", &format!("comm={send}")], 1, "no kernel that is run has a buffer `comm`");
    refused(&["--in", &send_from, "--ranks", "4", "--out", &format!("send={send}")], 1, "would be overwritten");
    std::fs::write(&send, b"no array").expect("written");
    refused(&["--in", &send_from], 1, "no .npy file");
}

#[test]
fn outputs_never_overwrite_what_is_read_or_written() {
    let folder = Folder::new("arrays-same");
    let text = SHIFT.replace("send = iota", "send = npy(\"data.npy\")");
    let (source, data) = (folder.write("s.tile", &text), folder.write("data.npy", npy("8, 16", 0..128)));
    let given = folder.write("given.npy", npy("8, 16", 0..128));
    std::os::unix::fs::symlink("s.tile", folder.path("link")).expect("linked");
    std::os::unix::fs::symlink("new", folder.path("dangling")).expect("linked");
    std::os::unix::fs::symlink("circle", folder.path("circle")).expect("linked");
    let before = folder.names();
    let refused = |args: &[&str], status: i32, words: &str| {
        tilewright(&[&["run", &source], args].concat()).ends(status).says(&[words]);
        assert_eq!(folder.names(), before, "{args:?}");
        assert_eq!(std::fs::read_to_string(&source).expect("there"), text, "{args:?}");
    };
    let around = folder
        .path(&format!("../{}/new", std::path::Path::new(&folder.path("")).file_name().expect("named").display()));
    let to = |name: &str| format!("recv={}", folder.path(name));
    let input = format!("send={given}");
    refused(&["--out", &to("s.tile")], 1, "--out recv: ");
    refused(&["--trace", &source], 1, "is the source itself");
    refused(&["--trace", &folder.path("link")], 1, "is the source itself");
    refused(&["--in", &input, "--trace", &given], 1, "is the input of `send`");
    refused(&["--trace", &data], 1, "is what a run block gives `send`");
    refused(&["--in", &input, "--out", &to("data.npy")], 1, "would be overwritten");
    refused(&["--out", &to("new"), "--trace", &around], 2, "is written twice, by --out recv");
    refused(&["--out", &to("dangling"), "--trace", &folder.path("./new")], 2, "is written twice");
    refused(&["--out", "recv=-"], 2, "`-` is no file");
    refused(&["--trace", "-"], 2, "`-` is no file");
    refused(&["--out", &to("circle")], 1, "symbolic links");
    // All or none.
    refused(&["--out", &to("new"), "--trace", &folder.path("none/t")], 1, "cannot write");
    refused(&["--out", &to("new"), "--trace", &folder.path("")], 1, "it is a folder");
    refused(&["--out", &to("new"), "--trace", "/dev/full"], 1, "`/dev/full`: No space left");
    // What is well: a link to where there is nothing yet, and devices.
    tilewright(&["run", &source, "--out", &to("dangling"), "--out", "send=/dev/null", "--trace", "/dev/null"]).ends(0);
    assert!(std::fs::read(folder.path("new")).expect("written").starts_with(b"\x93NUMPY"));
    assert!(std::fs::read_link(folder.path("dangling")).is_ok(), "the link stays");
}

#[test]
fn named_pipes_are_refused_and_others_read() {
    let folder = Folder::new("arrays-pipes");
    let (source, pipe) = (folder.write("s.tile", SHIFT), folder.path("pipe"));
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("starts").success());
    tilewright(&["run", &pipe]).ends(1).says(&["it is a named pipe"]);
    tilewright(&["inspect", &pipe]).ends(1).says(&["it is a named pipe"]);
    tilewright(&["run", &source, "--in", &format!("send={pipe}")]).ends(1).says(&["it is a named pipe"]);
    tilewright(&["run", &source, "--out", &format!("recv={pipe}")]).ends(1).says(&["it is a named pipe"]);
    for stdin in ["-", "/dev/stdin", "/dev/fd/0"] {
        with_input(&["check", stdin], SHIFT.as_bytes()).ends(0);
    }
}
