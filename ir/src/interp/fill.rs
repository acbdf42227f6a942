//! Run blocks: from settings to the inputs of a launch.
//!
//! Settings are evaluated in order, once a rank, with `rank` and `ranks` in scope. Elements are placed by logical index
//! through the layout; storage that the layout never reaches keeps the byte `0xCD`, as do buffers without a setting.

use indexmap::IndexMap;

use super::addr::{FlatLayout, get_bits, put_bits};
use super::npy::Array;
use super::num::{self, Class};
use super::rng::SplitMix64;
use super::scalar::{Scalar, Scope};
use super::{DEFAULT_MAX_STEPS, LaunchInput, MAX_LAUNCH_BYTES, MAX_RANKS, UNINITIALISED, storage_bytes};
use crate::diag::{Code, Diagnostic};
use crate::dtype::{DType, ScalarTy};
use crate::module::{BufferTy, Kernel, Param, ParamTy, Run, RunValue, Setting};
use crate::name::Name;
use crate::span::Span;

/// Gives the bytes of an `.npy` file by the name in the text; the error is a phrase.
pub type NpyReader<'a> = &'a dyn Fn(&str) -> Result<Vec<u8>, String>;

/// Evaluates the settings of a run block for a kernel.
///
/// # Errors
/// `TW0028` for settings that do not fit the kernel, `TW0039` if the launch is too large; all that were found.
pub fn prepare(run: &Run, kernel: &Kernel, npy: NpyReader<'_>) -> Result<LaunchInput, Vec<Diagnostic>> {
    let ranks = run.ranks.unwrap_or(1);
    if ranks == 0 || ranks > MAX_RANKS {
        let message = format!("{ranks} ranks, at least 1 and at most {MAX_RANKS} can run");
        return Err(vec![Diagnostic::error(Code::BAD_RUN, run.span, message)]);
    }
    let mut input = LaunchInput { ranks, max_steps: DEFAULT_MAX_STEPS, ..LaunchInput::default() };
    let mut faults = Vec::new();
    for rank in 0..ranks {
        if let Err(d) = scalars_of_rank(run, kernel, rank, &mut input) {
            faults.push(d);
            break; // the other ranks would repeat it
        }
    }
    if faults.is_empty() {
        faults.extend(check_total(kernel, &input).err());
    }
    if faults.is_empty() {
        for rank in 0..ranks {
            if let Err(d) = buffers_of_rank(run, kernel, rank, &mut input, npy) {
                faults.push(d);
                break;
            }
        }
    }
    if faults.is_empty() {
        faults.extend(check_input(kernel, &input).err());
    }
    if faults.is_empty() { Ok(input) } else { Err(faults) }
}

fn bad_run(span: Span, message: impl Into<String>) -> Diagnostic {
    Diagnostic::error(Code::BAD_RUN, span, message)
}

fn parameter<'k>(kernel: &'k Kernel, name: &Name) -> Option<&'k Param> {
    kernel.params.iter().find(|p| p.name == *name && !p.hidden)
}

/// Settings that are lets or scalars, in order; buffers are only looked up.
fn scalars_of_rank(run: &Run, kernel: &Kernel, rank: u32, input: &mut LaunchInput) -> Result<(), Diagnostic> {
    let mut scope = Scope::for_run(rank, input.ranks);
    let mut scalars = IndexMap::new();
    for s in &run.settings {
        if s.is_let {
            let value = scope.eval(scalar_value(s)?)?;
            scope.set(&s.name, value);
        } else if let Some(w) = kernel.wheres.iter().find(|w| w.name == s.name) {
            let value = scope.eval_as(scalar_value(s)?, ScalarTy::Num(w.dtype))?.bits as i64;
            if value < 0 {
                return Err(bad_run(s.span, format!("`{}` is {value}, extents are not negative", s.name)));
            }
            let first = *input.wheres.entry(s.name.clone()).or_insert(value);
            if first != value {
                let message = format!("`{}` is {first} on rank 0 and {value} on rank {rank}", s.name);
                return Err(bad_run(s.span, message).help("a `where` parameter is the same on every rank"));
            }
            scope.set(&s.name, Scalar { ty: ScalarTy::Num(w.dtype), bits: value as u64 });
        } else {
            match parameter(kernel, &s.name).map(|p| &p.ty) {
                Some(ParamTy::Scalar(ty)) => {
                    let value = scope.eval_as(scalar_value(s)?, *ty)?;
                    check_rank(*ty, value.bits, input.ranks, s)?;
                    scalars.insert(s.name.clone(), storage_bits(*ty, value.bits));
                    scope.set(&s.name, value);
                }
                Some(ParamTy::Buffer(_)) => {}
                Some(ParamTy::DevComm) => {
                    return Err(bad_run(s.span, format!("`{}` is filled by the runtime", s.name)));
                }
                None => return Err(bad_run(s.span, format!("kernel `{}` has no parameter `{}`", kernel.name, s.name))),
            }
        }
    }
    input.scalars.push(scalars);
    for p in kernel.params.iter().filter(|p| !p.hidden) {
        if matches!(p.ty, ParamTy::Scalar(_)) && !input.scalars[rank as usize].contains_key(&p.name) {
            return Err(bad_run(run.span, format!("no value for the parameter `{}`", p.name))
                .help(format!("say `{} = …;`", p.name)));
        }
    }
    for w in &kernel.wheres {
        if !input.wheres.contains_key(&w.name) {
            return Err(bad_run(run.span, format!("no value for `{}`", w.name)).help(format!("say `{} = …;`", w.name)));
        }
    }
    Ok(())
}

fn check_rank(ty: ScalarTy, bits: u64, ranks: u32, s: &Setting) -> Result<(), Diagnostic> {
    let rank = bits as i64;
    if matches!(ty, ScalarTy::LsaRank | ScalarTy::WorldRank) && !(0..i64::from(ranks)).contains(&rank) {
        return Err(bad_run(s.span, format!("`{}` is rank {rank} of {ranks}", s.name)));
    }
    Ok(())
}

/// Bits of a value as it is passed: cut to the storage dtype.
fn storage_bits(ty: ScalarTy, bits: u64) -> u64 {
    match ty.storage().bits() {
        64 => bits,
        n => bits & ((1 << n) - 1),
    }
}

fn scalar_value(s: &Setting) -> Result<&crate::expr::Expr, Diagnostic> {
    match &s.value {
        RunValue::Expr(e) => Ok(e),
        _ => Err(bad_run(s.span, format!("`{}` is a scalar, it needs an expression", s.name))),
    }
}

fn buffers_of_rank(
    run: &Run,
    kernel: &Kernel,
    rank: u32,
    input: &mut LaunchInput,
    npy: NpyReader<'_>,
) -> Result<(), Diagnostic> {
    let mut buffers: IndexMap<Name, Vec<u8>> = IndexMap::new();
    for p in kernel.params.iter().filter(|p| !p.hidden) {
        if let ParamTy::Buffer(ty) = &p.ty {
            let bytes = storage_bytes(ty, &|n| input.wheres.get(n).copied())?;
            buffers.insert(p.name.clone(), vec![UNINITIALISED; usize::try_from(bytes).unwrap_or(0)]);
        }
    }
    let mut scope = Scope::for_run(rank, input.ranks);
    for s in &run.settings {
        if let Some(value) = input.wheres.get(&s.name) {
            scope.set(&s.name, Scalar { ty: ScalarTy::Index, bits: *value as u64 });
            continue;
        }
        match parameter(kernel, &s.name).map(|p| &p.ty) {
            Some(ParamTy::Buffer(ty)) if !s.is_let => {
                if let Some(bytes) = buffers.get_mut(&s.name) {
                    fill(s, ty, rank, input, &scope, bytes, npy)?;
                }
            }
            Some(ParamTy::Scalar(ty)) if !s.is_let => {
                let value = scope.eval_as(scalar_value(s)?, *ty)?;
                scope.set(&s.name, value);
            }
            _ => {
                let value = scope.eval(scalar_value(s)?)?;
                scope.set(&s.name, value);
            }
        }
    }
    input.buffers.push(buffers);
    Ok(())
}

/// Fills one buffer of one rank by its setting.
fn fill(
    s: &Setting,
    ty: &BufferTy,
    rank: u32,
    input: &LaunchInput,
    scope: &Scope,
    bytes: &mut [u8],
    npy: NpyReader<'_>,
) -> Result<(), Diagnostic> {
    let layout = FlatLayout::new(&ty.layout(), &|n| input.wheres.get(n).copied())?;
    let elements = layout.elements();
    // The storage was sized by the same layout, so every place is inside it.
    let mut set = |x: i64, bits: u64| {
        layout.places(x, |_, at| {
            let _ = put_bits(bytes, ty.dtype, at, bits);
        });
    };
    match &s.value {
        RunValue::Expr(e) => {
            let value = scope.eval_as(e, ScalarTy::Num(ty.dtype))?;
            (0..elements).for_each(|x| set(x, value.bits));
        }
        RunValue::Iota => {
            let first = i64::from(rank).wrapping_mul(elements);
            (0..elements).for_each(|x| set(x, counted(ty.dtype, first.wrapping_add(x))));
        }
        RunValue::Random { seed } => {
            let mut g = random_stream(*seed, rank, &s.name);
            (0..elements).for_each(|x| set(x, random_bits(ty.dtype, &mut g)));
        }
        RunValue::Npy(file) => {
            let data = npy(file).map_err(|e| bad_run(s.span, format!("`{file}`: {e}")))?;
            let wrong = |e: String| bad_run(s.span, format!("`{file}`: {e}"));
            let array = super::npy::read(&data, ty.dtype).map_err(wrong)?;
            let shape = shape(ty, input).ok_or_else(|| wrong("the buffer's extents have no value".to_owned()))?;
            let bits = of_rank(&array, &shape, rank, input.ranks).ok_or_else(|| {
                let found = super::npy::shown(&array.shape);
                wrong(format!("its shape is {found}, `{}` is {shape:?} on {} ranks", s.name, input.ranks))
            })?;
            (0..elements).zip(bits).for_each(|(x, b)| set(x, *b));
        }
    }
    Ok(())
}

/// The extents of a buffer.
fn shape(ty: &BufferTy, input: &LaunchInput) -> Option<Vec<i64>> {
    ty.shape.iter().map(|dim| super::eval_dim(dim, &|name| input.wheres.get(name).copied())).collect()
}

/// What a file holds for one rank: all of it where it has the buffer's shape, or as many elements in a row; the rank's part
/// where it has one more axis, of ranks, in front.
fn of_rank<'a>(array: &'a Array, shape: &[i64], rank: u32, ranks: u32) -> Option<&'a [u64]> {
    let elements: i64 = shape.iter().product();
    if array.shape == shape || array.shape == [elements] {
        return Some(&array.bits);
    }
    let (first, rest) = array.shape.split_first()?;
    let part = usize::try_from(elements).ok()?;
    let start = part.checked_mul(rank as usize)?;
    (*first == i64::from(ranks) && rest == shape).then(|| array.bits.get(start..start + part)).flatten()
}

/// The contents of a buffer argument on all ranks after a launch as an `.npy` file: its shape, and with several ranks an axis
/// of ranks in front. Types that NumPy has not are unsigned integers of the same size, 4-bit elements take a byte each.
///
/// # Errors
/// A phrase: there is no such buffer, or it is not among the output.
pub fn to_npy(
    kernel: &Kernel,
    name: &str,
    input: &LaunchInput,
    output: &[IndexMap<Name, Vec<u8>>],
) -> Result<Vec<u8>, String> {
    let missing = || format!("kernel `{}` has no buffer `{name}`", kernel.name);
    let param = kernel.params.iter().find(|p| p.name.as_str() == name && !p.hidden).ok_or_else(missing)?;
    let ParamTy::Buffer(ty) = &param.ty else { return Err(missing()) };
    let layout = FlatLayout::new(&ty.layout(), &|n| input.wheres.get(n).copied()).map_err(|d| d.message)?;
    let mut extents = shape(ty, input).ok_or("the buffer's extents have no value")?;
    let mut bits = Vec::new();
    for buffers in output {
        let bytes = buffers.get(&param.name).ok_or_else(|| format!("the run left no buffer `{name}`"))?;
        for x in 0..layout.elements() {
            let mut first = None;
            layout.places(x, |_, at| first = first.or(Some(at)));
            let found = first.and_then(|at| get_bits(bytes, ty.dtype, at));
            bits.push(found.ok_or_else(|| format!("element {x} of `{name}` is outside its memory"))?);
        }
    }
    if output.len() > 1 {
        extents.insert(0, output.len() as i64);
    }
    Ok(super::npy::write(ty.dtype, &Array { shape: extents, bits }))
}

/// The number `n` as an element: integers wrap, bools are `n % 2`, floats the nearest value.
fn counted(dtype: DType, n: i64) -> u64 {
    match Class::of_dtype(dtype) {
        Class::Bool => (n & 1) as u64,
        class => num::cast(Class::INDEX, class, n as u64),
    }
}

/// The generator of `random(seed = …)`: splitmix64, one stream for each rank and buffer name.
fn random_stream(seed: u64, rank: u32, name: &Name) -> SplitMix64 {
    // FNV-1a over the name, so that buffers differ and the order of the settings does not matter.
    let hash =
        name.as_str().bytes().fold(0xCBF2_9CE4_8422_2325u64, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01B3));
    SplitMix64::stream(seed ^ hash, u64::from(rank))
}

/// Random bits of an element; floats are never NaN or infinite: an exponent of all ones loses its lowest bit (of f8e4m3,
/// where only all ones is a NaN, the lowest fraction bit).
fn random_bits(dtype: DType, g: &mut SplitMix64) -> u64 {
    let bits = g.next() >> (64 - dtype.bits());
    let clear = |exponent: u64, lowest: u64| if bits & exponent == exponent { bits & !lowest } else { bits };
    match dtype {
        DType::Bool => bits & 1,
        DType::F64 => clear(0x7FF << 52, 1 << 52),
        DType::F32 => clear(0x7F80_0000, 0x0080_0000),
        DType::F16 => clear(0x7C00, 0x0400),
        DType::BF16 => clear(0x7F80, 0x0080),
        DType::F8E4M3 => clear(0x7F, 0x01),
        DType::F8E5M2 => clear(0x7C, 0x04),
        _ => bits,
    }
}

/// Total bytes of all buffers on all ranks, before anything is allocated.
fn check_total(kernel: &Kernel, input: &LaunchInput) -> Result<(), Diagnostic> {
    let mut total = 0u64;
    for p in &kernel.params {
        if let ParamTy::Buffer(ty) = &p.ty {
            let bytes = storage_bytes(ty, &|n| input.wheres.get(n).copied()).map_err(|mut d| {
                d.span = p.span;
                d
            })?;
            total = total.saturating_add((bytes as u64).saturating_mul(u64::from(input.ranks)));
            if total > MAX_LAUNCH_BYTES {
                let message = format!("buffers up to `{}` need {total} bytes over {} ranks", p.name, input.ranks);
                return Err(Diagnostic::error(Code::TOO_LARGE, p.span, message)
                    .help(format!("a run may use {MAX_LAUNCH_BYTES} bytes in all")));
            }
        }
    }
    Ok(())
}

/// See `super::check_input`.
pub(super) fn check_input(kernel: &Kernel, input: &LaunchInput) -> Result<(), Diagnostic> {
    let bad = |span, message: String| Err(Diagnostic::error(Code::BAD_LAUNCH, span, message));
    if input.ranks == 0 || input.ranks > MAX_RANKS {
        return bad(kernel.span, format!("{} ranks, at least 1 and at most {MAX_RANKS} can run", input.ranks));
    }
    let ranks = input.ranks as usize;
    if input.scalars.len() != ranks || input.buffers.len() != ranks {
        return bad(kernel.span, format!("arguments are not given for each of {ranks} ranks"));
    }
    for w in &kernel.wheres {
        if !input.wheres.contains_key(&w.name) {
            return bad(w.span, format!("no value for `{}`", w.name));
        }
    }
    check_total(kernel, input)?;
    for p in kernel.params.iter().filter(|p| !p.hidden) {
        for rank in 0..ranks {
            match &p.ty {
                ParamTy::DevComm => {}
                ParamTy::Scalar(_) if input.scalars[rank].contains_key(&p.name) => {}
                ParamTy::Scalar(_) => return bad(p.span, format!("no value for `{}` on rank {rank}", p.name)),
                ParamTy::Buffer(ty) => {
                    let need = storage_bytes(ty, &|n| input.wheres.get(n).copied())?;
                    let have = input.buffers[rank].get(&p.name).map(Vec::len);
                    if have.is_none_or(|n| n as i64 != need) {
                        let have = have.map_or("none".to_owned(), |n| n.to_string());
                        return bad(p.span, format!("`{}` on rank {rank} needs {need} bytes, has {have}", p.name));
                    }
                }
            }
        }
    }
    Ok(())
}
