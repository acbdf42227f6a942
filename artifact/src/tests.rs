//! Round trips, corrupted files and the JSON of the report.
//!
//! What must hold here: expected bytes and texts are written out, not computed by the code under test.

use super::*;
use crate::twb::testing::{HEADER, wrap};

/// A bundle of one target and one run block on two ranks, which share contents.
fn sample() -> Bundle {
    let mut bundle = Bundle::of("ring_shift.tile", artifact());
    let zeros = bundle.keep(&[0; 16]);
    let row = bundle.keep(&[7; 16]);
    assert_eq!((zeros, bundle.keep(&[0; 16])), (0, 0), "each content once");
    let rank = |before| CaseRank {
        buffers: vec![CaseBuffer { name: "send".to_owned(), element_bytes: 2, before }],
        scalars: vec![("n".to_owned(), 8)],
    };
    bundle.cases.push(RunCase {
        kernel: "ring_shift".to_owned(),
        targets: Some(vec!["gfx942".to_owned(), "gfx950".to_owned()]),
        ranks: vec![rank(zeros), rank(row)],
    });
    let kernel = artifact().kernels.remove(0);
    bundle.parts[0].launches.push(Some(CaseLaunch { kernel, after: vec![vec![row], vec![zeros]] }));
    bundle
}

fn artifact() -> Artifact {
    let arg = |name: &str, kind, dtype: &str, bytes, offset, hidden| ArgInfo {
        name: name.to_owned(),
        kind,
        dtype: dtype.to_owned(),
        bytes,
        offset,
        hidden,
    };
    Artifact {
        target: "gfx950".to_owned(),
        kernels: vec![KernelInfo {
            name: "ring_shift".to_owned(),
            args: vec![
                arg("comm", ArgKind::DevComm, "", 200, 0, false),
                arg("send", ArgKind::Window, "f16", 8, 200, false),
                arg("n", ArgKind::Where, "u64", 8, 208, false),
                arg("ready.base", ArgKind::Hidden, "u64", 8, 216, true),
            ],
            grid: [1, 1, 1],
            block: [64, 1, 1],
            lds_bytes: 0,
            min_queues: 1,
            signals: vec![SignalFormula {
                name: "ready".to_owned(),
                queue: 0,
                text: "n + 1".to_owned(),
                count: Some(Count::new(vec![
                    CountStep::Where("n".to_owned()),
                    CountStep::Int(1),
                    CountStep::Op(CountOp::Add, IntType::INDEX),
                ])),
                totals: Some("ready.base".to_owned()),
            }],
            signals_by_hand: false,
            sizes: Sizes {
                bytes: vec![(
                    "send".to_owned(),
                    Size { text: "n * 2".to_owned(), count: Count::new(vec![CountStep::Where("n".to_owned())]) },
                )],
                ..Sizes::default()
            },
        }],
        code: CodeBytes { kind: CodeKind::Hsaco, bytes: (0..=255).collect() },
        report: vec![CopyReport {
            kernel: "ring_shift".to_owned(),
            line: 7,
            copy: "recv@next <- send by cta".to_owned(),
            chosen: Some("sdma_put".to_owned()),
            params: Params::new().with("queue", 0u32).with("bytes", 256i64).with("signal", true).with("a", "z"),
            candidates: vec![
                CandidateReport {
                    variant: "sdma_put".to_owned(),
                    verdict: Verdict::Chosen,
                    reason: "contiguous peer window".to_owned(),
                    cost: Some(CostReport { picoseconds: 6_604_197, measured: true }),
                },
                CandidateReport {
                    variant: "sub_window".to_owned(),
                    verdict: Verdict::Lost,
                    reason: "nobody has measured it".to_owned(),
                    cost: Some(CostReport { picoseconds: 6_604_197, measured: false }),
                },
                CandidateReport {
                    variant: "broadcast".to_owned(),
                    verdict: Verdict::Rejected,
                    reason: "one destination".to_owned(),
                    cost: None,
                },
            ],
            conflicts: vec![ConflictReport { buffer: "tile".to_owned(), ways: 8 }],
            suggest: vec!["`tile`: pad it".to_owned()],
        }],
    }
}

#[test]
fn a_bundle_comes_back_equal() {
    let file = sample().to_twb().unwrap();
    assert_eq!(&file[..12], b"TWBUNDLE\x02\0\0\0");
    assert_eq!(Bundle::from_twb(&file), Ok(sample()));
    // Code bytes are one byte string, not a list of numbers of up to two bytes each.
    let code = artifact().code.bytes;
    assert!(file.windows(code.len()).any(|window| window == code), "{}", file.len());
}

#[test]
fn every_truncation_is_an_error() {
    let file = sample().to_twb().unwrap();
    for length in 0..file.len() {
        let error = Bundle::from_twb(&file[..length]).unwrap_err();
        assert!(matches!(error, ArtifactError::Truncated { found, .. } if found == length as u64), "{length}: {error}");
    }
    // The same inside a right header, so that the body's reader meets each cut.
    let body = &file[HEADER..];
    for length in 0..body.len() {
        let error = Bundle::from_twb(&wrap(&body[..length])).unwrap_err();
        assert!(matches!(error, ArtifactError::Malformed(_)), "{length}: {error}");
    }
}

#[test]
fn every_changed_byte_is_an_error() {
    let file = sample().to_twb().unwrap();
    for index in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[index] ^= change;
            assert!(Bundle::from_twb(&damaged).is_err(), "byte {index} ^ {change:#x}");
        }
    }
}

#[test]
fn a_hostile_body_neither_panics_nor_allocates() {
    let file = sample().to_twb().unwrap();
    let body = &file[HEADER..];
    for index in 0..body.len() {
        for value in [0x00, 0x91, 0xc1, 0xc6, 0xdd, 0xdf, 0xff] {
            let mut damaged = body.to_vec();
            damaged[index] = value;
            // Some of these are other valid artifacts; none may panic.
            let _ = Bundle::from_twb(&wrap(&damaged));
        }
    }
    // Lengths of 2^32 - 1 for an array, a map, a string and bytes.
    for huge in [&[0xdd, 0xff, 0xff, 0xff, 0xff][..], &[0xdf, 0xff, 0xff, 0xff, 0xff], &[0xdb, 0xff, 0xff, 0xff, 0xff]]
    {
        assert!(matches!(Bundle::from_twb(&wrap(huge)), Err(ArtifactError::Malformed(_))));
        let mut inside = vec![0x94, 0xa1, b'x'];
        inside.extend_from_slice(huge);
        assert!(matches!(Bundle::from_twb(&wrap(&inside)), Err(ArtifactError::Malformed(_))));
    }
    let code = [0x94, 0xa1, b'x', 0x90, 0x92, 0xa3, b'p', b't', b'x', 0xc6, 0xff, 0xff, 0xff, 0xff];
    assert!(matches!(Bundle::from_twb(&wrap(&code)), Err(ArtifactError::Malformed(_))));
    // Nesting without end.
    assert!(matches!(Bundle::from_twb(&wrap(&[0x91; 1 << 20])), Err(ArtifactError::Malformed(_))));
}

#[test]
fn foreign_files_say_what_they_are() {
    assert_eq!(Bundle::from_twb(b"\x7fELF...."), Err(ArtifactError::NotABundle));
    assert_eq!(Bundle::from_twb(b""), Err(ArtifactError::Truncated { expected: 28, found: 0 }));
    let mut newer = sample().to_twb().unwrap();
    newer[8] = 3;
    assert_eq!(
        Bundle::from_twb(&newer).unwrap_err().to_string(),
        "the bundle has format version 3, this program reads version 2"
    );
    let mut longer = sample().to_twb().unwrap();
    longer.push(0);
    assert_eq!(Bundle::from_twb(&longer), Err(ArtifactError::Trailing { extra: 1 }));
    let mut other = sample().to_twb().unwrap();
    *other.last_mut().unwrap() ^= 1;
    assert_eq!(Bundle::from_twb(&other), Err(ArtifactError::Damaged));
}

#[test]
fn contradictions_are_refused_both_ways() {
    let broken = |change: fn(&mut Bundle)| {
        let mut bundle = sample();
        change(&mut bundle);
        let error = bundle.to_twb().unwrap_err();
        let read = Bundle::from_twb(&wrap(&rmp_serde::to_vec_named(&bundle).unwrap())).unwrap_err();
        assert_eq!(error, read);
        error.to_string().strip_prefix("the bundle contradicts itself: ").unwrap().to_owned()
    };
    fn kernel(bundle: &mut Bundle) -> &mut KernelInfo {
        &mut bundle.parts[0].artifact.kernels[0]
    }
    let twice = |bundle: &mut Bundle| {
        let copy = kernel(bundle).clone();
        bundle.parts[0].artifact.kernels.push(copy);
    };
    assert_eq!(broken(twice), "two kernels are called `ring_shift`");
    assert_eq!(
        broken(|bundle| kernel(bundle).args[1].offset = 196),
        "kernel `ring_shift`: argument `send` at byte 196 begins before byte 200"
    );
    assert!(broken(|bundle| kernel(bundle).block[1] = 0).ends_with("has no threads"));
    assert!(broken(|bundle| kernel(bundle).name.clear()).ends_with("it has no name"));
    assert!(broken(|bundle| kernel(bundle).name.push('\u{1b}')).ends_with("is no name"));
    assert!(broken(|bundle| bundle.source.push('\n')).ends_with("is no name of a source"));
    assert!(broken(|bundle| bundle.parts[0].artifact.target.push(' ')).ends_with("is no name of a target"));
    assert_eq!(broken(|bundle| bundle.parts.clear()), "it has code for no target");
    assert_eq!(broken(|bundle| bundle.parts.push(bundle.parts[0].clone())), "it has code for gfx950 twice");
    assert_eq!(broken(|bundle| bundle.parts[0].launches.clear()), "it has 0 launches for gfx950 and 1 run blocks");
    assert_eq!(
        broken(|bundle| bundle.parts[0].launches[0] = None),
        "the run block of `ring_shift` has no launch for gfx950"
    );
    assert_eq!(
        broken(|bundle| bundle.cases[0].targets = Some(vec![])),
        "the run block of `ring_shift` has a launch for gfx950, which it does not allow"
    );
    assert_eq!(
        broken(|bundle| bundle.cases[0].kernel = "other".to_owned()),
        "the run block of `other` launches `ring_shift` on gfx950"
    );
    let unsaid = "the run block of `ring_shift` does not say what each buffer holds after its launch on gfx950";
    fn after(bundle: &mut Bundle) -> &mut Vec<Vec<u32>> {
        &mut bundle.parts[0].launches[0].as_mut().unwrap().after
    }
    assert_eq!(broken(|bundle| after(bundle)[1][0] = 2), unsaid);
    assert_eq!(broken(|bundle| after(bundle)[1].clear()), unsaid);
    assert_eq!(broken(|bundle| drop(after(bundle).pop())), unsaid);
    assert_eq!(
        broken(|bundle| bundle.cases[0].ranks[1].buffers[0].before = 2),
        "a run block of `ring_shift` names a content of `send` that is not there"
    );
    let no_ranks = |bundle: &mut Bundle| {
        bundle.cases[0].ranks.clear();
        after(bundle).clear();
    };
    assert_eq!(broken(no_ranks), "a run block of `ring_shift` has no ranks");
    let differs = "a run block launches a `ring_shift` on gfx950 that differs from the kernel of that name";
    assert_eq!(broken(|bundle| kernel(bundle).min_queues = 7), differs);
    assert_eq!(broken(|bundle| bundle.parts[0].artifact.kernels.clear()), differs);
    assert_eq!(
        broken(|bundle| bundle.cases[0].ranks[1].scalars.push(("send".to_owned(), 1))),
        "a run block of `ring_shift` gives `send` twice on rank 1"
    );
    assert!(broken(|bundle| bundle.cases[0].ranks[0].buffers[0].element_bytes = 0).ends_with("have no bytes"));
    assert_eq!(
        broken(|bundle| kernel(bundle).signals[0].count = Some(Count::new(vec![]))),
        "kernel `ring_shift`: signal `ready`: it leaves 0 values, not one"
    );
    assert_eq!(
        broken(|bundle| kernel(bundle).sizes.bytes[0].0 = "sent".to_owned()),
        "kernel `ring_shift`: it has a size for `sent`, which is no argument"
    );
    assert!(
        broken(|bundle| kernel(bundle).sizes.grid.push(kernel(&mut sample()).sizes.bytes[0].1.clone()))
            .ends_with("its grid has 1 formulas, not three")
    );
    assert!(
        broken(|bundle| kernel(bundle).signals[0].totals = Some("send".to_owned()))
            .ends_with("which is no hidden argument")
    );
}

#[test]
fn sizes_do_not_overflow() {
    let mut kernel = artifact().kernels.remove(0);
    assert_eq!((kernel.args_bytes(), kernel.threads_per_block()), (224, 64));
    kernel.block = [u32::MAX; 3];
    kernel.args[3].offset = u32::MAX;
    kernel.args[3].bytes = u32::MAX;
    assert_eq!((kernel.args_bytes(), kernel.threads_per_block()), (u64::from(u32::MAX) * 2, u64::MAX));
    kernel.args.clear();
    assert_eq!(kernel.args_bytes(), 0);
}

#[test]
fn the_report_is_the_promised_json() {
    let json = serde_json::to_string(&artifact().to_report()).unwrap();
    let expected = concat!(
        r#"{"target":"gfx950","copies":[{"kernel":"ring_shift","line":7,"copy":"recv@next <- send by cta","chosen":"sdma_put","#,
        r#""params":{"queue":0,"bytes":256,"signal":true,"a":"z"},"conflicts":[{"buffer":"tile","ways":8}],"candidates":["#,
        r#"{"variant":"sdma_put","verdict":"chosen","reason":"contiguous peer window","#,
        r#""cost":{"picoseconds":6604197,"measured":true}},"#,
        r#"{"variant":"sub_window","verdict":"lost","reason":"nobody has measured it","#,
        r#""cost":{"picoseconds":6604197,"measured":false}},"#,
        r#"{"variant":"broadcast","verdict":"rejected","reason":"one destination","cost":null}],"suggest":["`tile`: pad it"]}]}"#,
    );
    assert_eq!(json, expected);
    assert_eq!(serde_json::from_str::<Report>(&json).unwrap(), artifact().to_report());
}

#[test]
fn a_copy_without_a_carrier_has_null() {
    let copy = CopyReport {
        kernel: "k".to_owned(),
        line: 1,
        copy: "b <- a by cta".to_owned(),
        chosen: None,
        params: Params::new(),
        conflicts: vec![],
        candidates: vec![],
        suggest: vec![],
    };
    assert_eq!(
        serde_json::to_string(&copy).unwrap(),
        r#"{"kernel":"k","line":1,"copy":"b <- a by cta","chosen":null,"params":{},"candidates":[]}"#
    );
}

#[test]
fn parameters_are_found_by_name() {
    let params = artifact().report.remove(0).params;
    assert_eq!(params.get("bytes"), Some(&ParamValue::Int(256)));
    assert_eq!(params.get("absent"), None);
    assert_eq!(serde_json::from_str::<ParamValue>("-3").unwrap(), ParamValue::Int(-3));
    assert!(serde_json::from_str::<ParamValue>("[1]").is_err());
    assert!(serde_json::from_str::<ParamValue>("18446744073709551615").is_err());
}
