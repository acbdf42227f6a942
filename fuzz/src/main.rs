//! Seeded fuzzing of the front door: `cargo run --release -p tilewright-fuzz -- --cases 20000 --seed 1`.
//!
//! Each case is an example, changed at random. It goes through parser and verifier; what is right goes through the
//! printer and back, and through every target's passes. Nothing may panic or hang, and what comes back from the printer
//! must be the same module. A case is made from its number and the seed alone, so one can be run again: `--first N
//! --cases 1`.

mod mutate;

use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tilewright::{Options, compile_text, parse_and_verify};
use tilewright_ir::interp::SplitMix64;
use tilewright_ir::text::{parse, print};
use tilewright_target::TARGETS;

use mutate::Corpus;

const USAGE: &str = "usage: tilewright-fuzz [--cases N] [--seed S] [--first N]\n";

/// A case that takes longer is a hang; the compiler takes milliseconds for such files.
const MOST_TIME: Duration = Duration::from_secs(30);

struct Args {
    cases: u64,
    seed: u64,
    first: u64,
}

fn main() -> ExitCode {
    let Some(args) = read_args() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let corpus = corpus();
    if corpus.right.is_empty() {
        eprintln!("error: no examples found");
        return ExitCode::FAILURE;
    }
    let watch = Watch::default();
    watch.start();
    let work = std::thread::Builder::new().stack_size(64 << 20).spawn(move || all_cases(&args, &corpus, &watch));
    match work.map(std::thread::JoinHandle::join) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn read_args() -> Option<Args> {
    let mut args = Args { cases: 1000, seed: 0, first: 0 };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let number = words.next()?.parse().ok()?;
        match word.as_str() {
            "--cases" => args.cases = number,
            "--seed" => args.seed = number,
            "--first" => args.first = number,
            _ => return None,
        }
    }
    Some(args)
}

/// The texts that cases are made from.
fn corpus() -> Corpus {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let mut paths = Vec::new();
    for folder in ["examples", "tests/errors"] {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        paths.extend(entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|e| e == "tile")));
    }
    paths.sort();
    let all: Vec<String> = paths.iter().filter_map(|path| std::fs::read_to_string(path).ok()).collect();
    let right = all.iter().filter(|text| parse_and_verify(text).is_ok()).cloned().collect();
    Corpus { all, right }
}

/// Runs the cases; was every one good?
fn all_cases(args: &Args, corpus: &Corpus, watch: &Watch) -> bool {
    let (mut verified, mut bad) = (0u64, 0u64);
    for number in args.first..args.first.saturating_add(args.cases) {
        let mut random = SplitMix64::new(args.seed ^ number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let text = mutate::mutate(corpus, &mut random);
        watch.begin(number, &text);
        match std::panic::catch_unwind(|| one_case(&text)) {
            Ok(Ok(is_right)) => verified += u64::from(is_right),
            Ok(Err(words)) => bad += show(number, args.seed, &text, &words),
            Err(_) => bad += show(number, args.seed, &text, "panic"),
        }
    }
    println!("{} cases, {verified} of them right, {bad} bad", args.cases);
    bad == 0
}

fn show(number: u64, seed: u64, text: &str, words: &str) -> u64 {
    println!("== case {number} of seed {seed}: {words}\n{text}\n== end of case {number}");
    1
}

/// Puts one text through; is it a right module? An error says what must not be.
fn one_case(text: &str) -> Result<bool, String> {
    let Ok((module, _)) = parse_and_verify(text) else { return Ok(false) };
    let printed = print(&module);
    match parse(&printed).into_result() {
        Ok(again) if again == module => {}
        Ok(_) => return Err(format!("the module changes when printed and parsed:\n{printed}")),
        Err(all) => return Err(format!("what was printed does not parse: {all:?}\n{printed}")),
    }
    for target in TARGETS {
        match compile_text(text, target, &Options::default()) {
            Ok(compiled) => {
                let lowered = print(&compiled.lowered);
                let again = parse(&lowered)
                    .into_result()
                    .map_err(|all| format!("lowered IR does not parse: {all:?}\n{lowered}"))?;
                if again != compiled.lowered {
                    return Err(format!("lowered IR changes when printed and parsed:\n{lowered}"));
                }
            }
            Err(all) => {
                if let Some(fault) = all.iter().find(|d| d.code == tilewright_ir::Code::INTERNAL) {
                    return Err(format!("fault of the compiler on {}: {}", target.name, fault.message));
                }
            }
        }
    }
    Ok(true)
}

/// Ends the process with the case's text when one does not come back.
#[derive(Clone, Default)]
struct Watch {
    number: Arc<AtomicU64>,
    running: Arc<Mutex<Option<(Instant, String)>>>,
}

impl Watch {
    fn begin(&self, number: u64, text: &str) {
        self.number.store(number, Ordering::Relaxed);
        if let Ok(mut running) = self.running.lock() {
            *running = Some((Instant::now(), text.to_string()));
        }
    }

    fn start(&self) {
        let watch = self.clone();
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(Duration::from_secs(1));
                let Ok(running) = watch.running.lock() else { return };
                if let Some((started, text)) = &*running
                    && started.elapsed() > MOST_TIME
                {
                    println!("== case {} does not come back\n{text}", watch.number.load(Ordering::Relaxed));
                    std::process::exit(1);
                }
            }
        });
    }
}
