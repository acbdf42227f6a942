//! One case: compiled for its targets with every variant that accepts it, executed, compared.

use indexmap::IndexMap;
use tilewright::{Options, compile_module, parse_and_verify};
use tilewright_ir::interp::{self, LaunchInput, LaunchOutput};
use tilewright_ir::{Block, Code, Diagnostic, Module, Name, Source, Span, StmtKind};
use tilewright_passes::pipeline::Verdict;
use tilewright_target::{Target, Vendor};

use crate::case::Case;

/// One execution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// For which chip.
    pub target: &'static str,
    /// The variant that carried the copy.
    pub variant: &'static str,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The program is not one, or nobody carries it; the reason as a stage and a code.
    Refused(String),
    /// Every execution left the same bytes as the reference.
    Equal(Vec<Trial>),
    /// One did not.
    Mismatch {
        /// For which chip.
        target: &'static str,
        /// Which variant; empty if it was chosen by the compiler.
        variant: String,
        /// In words.
        why: String,
    },
}

/// Chips for which a case is compiled: one of each maker, those of AMD alone for warps of 64 lanes and for signals.
fn targets(case: &Case) -> [Option<&'static Target>; 2] {
    let by = |vendor: Vendor, nth: usize| {
        let all: Vec<&'static Target> =
            tilewright_target::TARGETS.iter().copied().filter(|t| t.vendor == vendor).collect();
        all.get(nth % all.len().max(1)).copied()
    };
    // Spread over the chips by something that a smaller case keeps.
    let nth = case.dtype.bits() as usize + case.scope as usize;
    let nvidia = case.warp == 32 && !case.notify;
    [if nvidia { by(Vendor::Nvidia, nth) } else { None }, by(Vendor::Amd, nth)]
}

/// Runs a case.
pub fn check(case: &Case) -> Outcome {
    check_text(&case.text(), targets(case).into_iter().flatten())
}

/// Runs the first kernel of a text, with warps of the width that it states, for these targets: every variant that accepts
/// the copy `dst <- src` carries it in turn.
pub fn check_text(text: &str, targets: impl IntoIterator<Item = &'static Target>) -> Outcome {
    let module = match parse_and_verify(text) {
        Ok((module, _)) => module,
        Err(all) => return Outcome::Refused(format!("verifier: {}", code(&all))),
    };
    let (Some(run), Some(kernel)) = (module.runs().next(), module.kernels().next()) else {
        return Outcome::Refused("no kernel".to_owned());
    };
    let no_files = |name: &str| Err(format!("no file {name}"));
    let input = match interp::prepare(run, kernel, &no_files) {
        Ok(input) => input,
        Err(all) => return Outcome::Refused(format!("run block: {}", code(&all))),
    };
    let expected = match interp::run(kernel, kernel.launch.warp.lanes(32), &input) {
        Ok(output) => output,
        Err(d) => return Outcome::Refused(format!("reference: {}", code(&[d]))),
    };
    let mut trials = Vec::new();
    let mut refused = None;
    for target in targets {
        let mut todo = vec![None];
        let mut at = 0;
        while let Some(variant) = todo.get(at).copied() {
            match one(&module, variant, target, &input, &expected) {
                Ok((chosen, others)) => {
                    trials.push(Trial { target: target.name, variant: chosen });
                    if variant.is_none() {
                        todo.extend(others.into_iter().map(Some));
                    }
                }
                Err(Failure::Refused(why)) if variant.is_none() => refused = Some(why),
                Err(Failure::Refused(why) | Failure::Wrong(why)) => {
                    let variant = variant.unwrap_or_default().to_owned();
                    return Outcome::Mismatch { target: target.name, variant, why };
                }
            }
            at += 1;
        }
    }
    match refused {
        Some(why) if trials.is_empty() => Outcome::Refused(why),
        _ => Outcome::Equal(trials),
    }
}

/// Stands for the variant of a copy that no thread carries out.
const NOBODY: &str = "(no thread)";

/// Why an execution is none.
enum Failure {
    /// Nobody carries the copy.
    Refused(String),
    /// A fault.
    Wrong(String),
}

/// Codes and messages of errors, shortened to what can be counted.
fn code(all: &[Diagnostic]) -> String {
    all.iter().find(|d| d.is_error()).map_or_else(String::new, |d| d.code.to_string())
}

fn words(d: &Diagnostic) -> String {
    format!("{}: {}", d.code, d.message)
}

/// A refusal short enough to be counted: the code and why the most general variant declines, numbers and names left out.
fn refusal(d: &Diagnostic) -> String {
    let why = d.help.iter().find(|h| h.starts_with("fallback") || h.starts_with("peer_ldst"));
    let words = why.map_or(d.message.as_str(), String::as_str);
    let plain: String = words.chars().filter(|c| !c.is_ascii_digit()).take(70).collect();
    format!("{}: {plain}", d.code)
}

/// Compiles with a forced variant, or with none; gives the variant that carried the copy and the others that accept it.
fn one(
    module: &Module,
    variant: Option<&'static str>,
    target: &'static Target,
    input: &LaunchInput,
    expected: &LaunchOutput,
) -> Result<(&'static str, Vec<&'static str>), Failure> {
    let mut module = module.clone();
    let span = force(&mut module, variant);
    let compiled = compile_module(module, "", target, &Options::default(), &mut ()).map_err(|all| {
        let allowed = [Code::NO_VARIANT, Code::VARIANT_DECLINED, Code::TARGET_REFUSES];
        match all.iter().find(|d| d.is_error()) {
            Some(d) if allowed.contains(&d.code) && variant.is_none() => Failure::Refused(refusal(d)),
            Some(d) => Failure::Wrong(format!("does not compile: {}", words(d))),
            None => Failure::Wrong("does not compile, without an error".to_owned()),
        }
    })?;
    let at = |s: Span| (s.lo, s.hi); // `==` does not look at places
    let decision = compiled.decisions.iter().find(|d| span.is_some_and(|s| at(s) == at(d.span)));
    // Where no thread comes, nobody is asked.
    let chosen = decision.map_or(NOBODY, |d| d.chosen);
    let lost = decision.iter().flat_map(|d| &d.candidates).filter(|c| matches!(c.verdict, Verdict::Lost(_)));
    let others = lost.map(|c| c.variant).collect();
    let kernel = compiled.lowered.kernels().next().ok_or_else(|| Failure::Wrong("the kernel is gone".to_owned()))?;
    let output = tilewright_lanes::run(kernel, target, input, &tilewright_lanes::Options::default())
        .map_err(|d| Failure::Wrong(format!("`{chosen}` in lanes: {}", words(&d))))?;
    compare(&expected.buffers, &output.buffers).map_err(|why| Failure::Wrong(format!("`{chosen}`: {why}")))?;
    Ok((chosen, others))
}

/// Forces the variant of the copy under test, `dst <- src`; gives its place.
fn force(module: &mut Module, variant: Option<&'static str>) -> Option<Span> {
    module.kernels_mut().find_map(|kernel| force_in(&mut kernel.body, variant))
}

fn force_in(block: &mut Block, variant: Option<&'static str>) -> Option<Span> {
    block.iter_mut().find_map(|stmt| match &mut stmt.kind {
        StmtKind::For { body, .. } => force_in(body, variant),
        StmtKind::If { then, .. } => force_in(then, variant),
        StmtKind::Tile(op) => {
            let from_src = matches!(op.srcs.first(), Some(Source::Region(r)) if r.buf.as_str() == "src");
            let to_dst = op.dsts.first().is_some_and(|r| r.buf.as_str() == "dst");
            (from_src && to_dst).then(|| {
                op.attrs.variant = variant.map(str::to_owned);
                stmt.span
            })
        }
        _ => None,
    })
}

fn compare(want: &[IndexMap<Name, Vec<u8>>], have: &[IndexMap<Name, Vec<u8>>]) -> Result<(), String> {
    for (rank, (want, have)) in want.iter().zip(have).enumerate() {
        for (name, bytes) in want {
            let got = have.get(name).ok_or_else(|| format!("no buffer `{name}`"))?;
            if let Some(at) = bytes.iter().zip(got).position(|(a, b)| a != b) {
                let count = bytes.iter().zip(got).filter(|(a, b)| a != b).count();
                return Err(format!(
                    "{count} of {} bytes of `{name}` on rank {rank} differ, first byte {at}: {:02x}, {:02x} expected",
                    bytes.len(),
                    got[at],
                    bytes[at]
                ));
            }
            if bytes.len() != got.len() {
                return Err(format!("`{name}` has {} bytes, {} expected", got.len(), bytes.len()));
            }
        }
    }
    Ok(())
}
