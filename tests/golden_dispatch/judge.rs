//! The verdict on one row: our bytes against the reference interpreter, the lane executor and a model of our own, and our
//! choice against TVM's.

use serde_json::Value;
use tilewright::backend::pass_cx;
use tilewright_ir::interp;
use tilewright_ir::text::parse;
use tilewright_ir::{Diagnostic, Kernel};
use tilewright_passes::pipeline::{self, CopyDecision, State};
use tilewright_passes::select::ParamValue;
use tilewright_target::SM_90A;

use crate::count::{Work, count};
use crate::model::Case;
use crate::text::{dtype, kernel, start};

/// What came of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// As TVM does; or both refuse, or nobody can.
    Agrees,
    /// Better than TVM: the reason.
    Better(String),
    /// A fault: what and the numbers.
    Failed(String),
}

/// Judges a row.
pub(crate) fn judge(row: &Value, seed: u64) -> Verdict {
    match judged(row, seed) {
        Ok(verdict) => verdict,
        Err(why) => Verdict::Failed(why),
    }
}

fn judged(row: &Value, seed: u64) -> Result<Verdict, String> {
    let case = Case::parse(&row["case"]).map_err(|e| format!("not of the form: {e}"))?;
    let tvm = &row["tvm"];
    let is_error = tvm["status"] != "ok";
    let is_right = !is_error && tvm["check"]["correct"] == true;
    let text = kernel(&case, true).map_err(|e| format!("no kernel: {e}"))?;
    let state = match compile(&text) {
        Ok(state) => state,
        Err(_) if is_error => return Ok(Verdict::Agrees),
        Err(refusal) => {
            return match legal(&case) {
                Err(_) if !is_right => Ok(Verdict::Agrees),
                Err(why) => Err(format!("refused (not legal: {why}): {refusal}")),
                Ok(()) => Err(format!("refused: {refusal}")),
            };
        }
    };
    bytes(&case, &text, &state, seed)?;
    if is_error {
        return Ok(Verdict::Better("TVM has an error".to_owned()));
    }
    if !is_right {
        return Ok(Verdict::Better("TVM is wrong".to_owned()));
    }
    compare(&case, &state.decisions, tvm)
}

fn words(all: &[Diagnostic]) -> String {
    let one = |d: &Diagnostic| format!("{} {} ({})", d.code, d.message, d.help.join("; "));
    all.iter().filter(|d| d.is_error()).map(one).collect::<Vec<_>>().join(" | ")
}

fn compile(text: &str) -> Result<State, String> {
    let module = parse(text).into_result().map_err(|all| words(&all))?;
    pipeline::run(module, &pass_cx(&SM_90A), &mut ()).map_err(|all| words(&all))
}

/// May the copy be carried at all?
///
/// # Errors
/// Why not.
fn legal(case: &Case) -> Result<(), String> {
    if dtype(&case.src.dtype)? != dtype(&case.dst.dtype)? {
        return Err("the dtypes differ".to_owned());
    }
    if case.src.extents() != case.dst.extents() {
        return Err("the extents differ".to_owned());
    }
    for group in case.groups() {
        let runs = |t: i64| group.contains(&t) && case.reaches(t);
        for (a, b) in case.src.elements().into_iter().zip(case.dst.elements()) {
            let (have, want) = (case.src.cells(a, case.threads), case.dst.cells(b, case.threads));
            if case.src.is_local() && !have.iter().any(|c| runs(c.0)) {
                return Err(format!("element {a} of the source is in no thread that runs the copy"));
            }
            if case.dst.is_local() && !want.iter().any(|c| group.contains(&c.0)) {
                return Err(format!("element {b} of the destination is in no thread of the group"));
            }
            let both = case.src.is_local() && case.dst.is_local();
            if both && want.iter().any(|c| runs(c.0) && !have.iter().any(|h| h.0 == c.0)) {
                return Err(format!("element {a} would have to move between threads"));
            }
        }
    }
    Ok(())
}

/// Compares every byte that the lowered kernel leaves with what the interpreter leaves, and that with the model.
fn bytes(case: &Case, text: &str, state: &State, seed: u64) -> Result<(), String> {
    let module = parse(text).into_result().map_err(|all| words(&all))?;
    let tile = only(module.kernels().next())?;
    let start = start(case, seed)?;
    let one = |d: Diagnostic| words(&[d]);
    let reference = interp::run(tile, SM_90A.warp_size, &start.input).map_err(|d| format!("reference: {}", one(d)))?;
    let lowered = only(state.module.kernels().next())?;
    let options = tilewright_lanes::Options::default();
    let lanes = tilewright_lanes::run(lowered, &SM_90A, &start.input, &options);
    let lanes = lanes.map_err(|d| format!("{}: lanes: {}", chosen(state), one(d)))?;
    let (Some(want), Some(have)) = (reference.buffers.first(), lanes.buffers.first()) else {
        return Err("no buffers".to_owned());
    };
    for (name, expected) in &start.expected {
        let (Some(want), Some(have)) = (want.get(name.as_str()), have.get(name.as_str())) else {
            return Err(format!("no buffer `{name}`"));
        };
        if let Some(at) = differs(have, want) {
            let words = format!("{} != {}", have[at], want[at]);
            return Err(format!("{}: `{name}` byte {at}: lanes and reference differ, {words}", chosen(state)));
        }
        if let Some(at) = differs(want, expected) {
            return Err(format!("`{name}` byte {at}: reference {}, model {}", want[at], expected[at]));
        }
    }
    Ok(())
}

fn differs(a: &[u8], b: &[u8]) -> Option<usize> {
    if a.len() != b.len() {
        return Some(0);
    }
    a.iter().zip(b).position(|(a, b)| a != b)
}

fn only(kernel: Option<&Kernel>) -> Result<&Kernel, String> {
    kernel.ok_or_else(|| "no kernel".to_owned())
}

fn chosen(state: &State) -> &'static str {
    state.decisions.first().map_or("?", |d| d.chosen)
}

/// Our choice against one of TVM's that is right.
fn compare(case: &Case, decisions: &[CopyDecision], tvm: &Value) -> Result<Verdict, String> {
    // No thread reaches the copy: there is nothing to choose.
    let Some(decision) = decisions.first() else { return Ok(Verdict::Agrees) };
    let differences = differences(decision, tvm);
    if differences.is_empty() {
        return Ok(Verdict::Agrees);
    }
    let alone = compile(&kernel(case, false)?)?;
    let ours = count(only(alone.module.kernels().next())?)?;
    if alone.decisions.first().map(|d| d.chosen) != Some(decision.chosen) {
        return Err("the copy alone is carried in another way".to_owned());
    }
    let theirs = work_of_tvm(case, tvm)?;
    let words = format!("{}, {}; {ours:?}, TVM {theirs:?}", decision.chosen, differences.join(", "));
    if ours.is_better_than(&theirs) {
        return Ok(Verdict::Better(words));
    }
    let theirs = decision.candidates.iter().find(|c| Some(c.variant) == tvm["sub_path"].as_str());
    let reason = theirs.map(|c| format!("; {:?}", c.verdict)).unwrap_or_default();
    Ok(Verdict::Failed(words + &reason))
}

/// What is not as TVM chose: the variant, or parameters.
fn differences(decision: &CopyDecision, tvm: &Value) -> Vec<String> {
    let params = &tvm["params"];
    let (theirs, names): (&str, &[&str]) = match tvm["sub_path"].as_str() {
        Some("ldstmatrix") => ("ldstmatrix", &["direction", "num", "trans", "row_stride", "m_outer"]),
        Some("reg") => ("reg", &["vec_bits", "outer_count"]),
        Some("gmem_smem") => ("gmem_smem", &["vec_bits", "outer_count", "thread_cnt"]),
        // A width was forced; ours is the variant that serves these memories.
        Some("forced") => (decision.chosen, &["vec_bits", "outer_count"]),
        Some(other) => (other, &[]),
        // Asynchronous: carried by the synchronous variant and a completed token.
        None => (decision.chosen, &[]),
    };
    if theirs != decision.chosen {
        return vec![format!("TVM {theirs}")];
    }
    let same = |name: &str| {
        let ours = decision.params.iter().find(|(n, _)| *n == name).map(|(_, v)| v);
        match (ours, &params[name]) {
            (_, Value::Null) => true,
            (Some(ParamValue::Int(a)), b) => b.as_i64() == Some(*a),
            (Some(ParamValue::Bool(a)), b) => b.as_bool() == Some(*a),
            (Some(ParamValue::Text(a)), b) => b.as_str() == Some(a),
            (None, _) => false,
        }
    };
    let value = |name: &str| decision.params.iter().find(|(n, _)| *n == name).map(|(_, v)| v.clone());
    let differ = names.iter().filter(|n| !same(n));
    differ.map(|n| format!("{n} {:?}, TVM {}", value(n), params[*n])).collect()
}

/// The figures of TVM's code, from the instructions that its checker saw executed.
fn work_of_tvm(case: &Case, tvm: &Value) -> Result<Work, String> {
    let bits = i64::from(dtype(&case.src.dtype)?.bits());
    let sides = [&case.src, &case.dst].into_iter().filter(|s| !s.is_local()).count().max(1) as i64;
    let mut work = Work { instructions: 0, width: i64::MAX, active: case.active() };
    let executed = tvm["check"]["dyn_instr"].as_object().ok_or("no dyn_instr")?;
    for (name, times) in executed {
        let times = times.as_i64().ok_or("dyn_instr is no number")?;
        work.instructions += if name == "scalar" { times * sides } else { times };
        work.width = work.width.min(if name == "scalar" { bits } else { width(name, tvm)? });
    }
    if tvm["sub_path"] == "fallback" {
        work.active = if case.scope == "thread" { case.active() } else { case.groups().len() as i64 };
    }
    Ok(work)
}

/// Bits that an instruction such as `ld.global.v4.u32` moves for a thread.
fn width(name: &str, tvm: &Value) -> Result<i64, String> {
    if name.contains("matrix") {
        return tvm["params"]["num"].as_i64().map(|n| 32 * n).ok_or_else(|| "no num".to_owned());
    }
    let mut width = 1;
    for part in name.split('.') {
        if let Some(n) = part.strip_prefix('v').and_then(|n| n.parse::<i64>().ok()) {
            width *= n;
        }
        if let Some(n) = part.strip_prefix(['u', 'b', 'f', 's']).and_then(|n| n.parse::<i64>().ok()) {
            width *= n;
        }
    }
    Ok(width)
}
