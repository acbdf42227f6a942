//! PTX texts and CUDA objects.

use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, elf};
use tilewright_target::{PtxFacts, Target};

use super::{ArgFacts, InspectError, KernelFacts, Object, ask_all};

/// `e_machine` of CUDA objects.
const EM_CUDA: u16 = 190;

/// First bytes of a PTX text that are looked at for its directives.
const HEAD_BYTES: usize = 1 << 16;

/// What is in a PTX text; `None` if it is none: it has no `.version` and `.target`.
pub(super) fn ptx(file: &[u8]) -> Option<Object> {
    let text = std::str::from_utf8(file).ok()?;
    let head = text.get(..HEAD_BYTES).unwrap_or(text);
    let version = directive(head, ".version ")?;
    let target = directive(head, ".target ")?.split(',').next().unwrap_or_default().trim();
    let parsed = version_of(version);
    let mut facts = vec![("PTX version".to_owned(), version.to_owned())];
    if let Some(driver) = parsed.and_then(driver_for) {
        facts.push(("driver".to_owned(), format!("of CUDA {driver} or later")));
    }
    Some(Object {
        kind: "PTX".to_owned(),
        target: target.to_owned(),
        bytes: file.len() as u64,
        facts,
        kernels: entries(text),
        chips: ask_all(|chip| ptx_refusal(target, chip)),
    })
}

/// The rest of the first line that begins with a directive.
fn directive<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.trim_start().strip_prefix(name)).map(str::trim)
}

fn version_of(text: &str) -> Option<(u8, u8)> {
    let (major, minor) = text.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// The first CUDA release whose driver reads a PTX version (PTX ISA manual, release history).
fn driver_for((major, minor): (u8, u8)) -> Option<String> {
    match (major, minor) {
        (7, minor @ 0..=8) => Some(format!("11.{minor}")),
        (8, minor @ 0..=5) => Some(format!("12.{minor}")),
        (8, minor @ 6..=8) => Some(format!("12.{}", minor + 1)),
        (9, minor) => Some(format!("13.{minor}")),
        _ => None,
    }
}

/// `sm_90a` as its number and what follows: 90, `a`.
fn architecture(name: &str) -> Option<(u32, &str)> {
    let digits = name.strip_prefix("sm_")?;
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    Some((digits[..end].parse().ok()?, &digits[end..]))
}

/// The compute capability of a chip as one number, 90 for 9.0.
fn capability(ptx: &PtxFacts) -> u32 {
    u32::from(ptx.compute_capability.0) * 10 + u32::from(ptx.compute_capability.1)
}

/// PTX runs on its architecture and later ones; with `a` on exactly that one, with `f` on its family (PTX ISA, `.target`).
fn ptx_refusal(target: &str, chip: &Target) -> Option<String> {
    let Some(ptx) = &chip.ptx else { return Some(format!("{} is an AMD chip and runs no PTX", chip.name)) };
    let Some((number, suffix)) = architecture(target) else {
        return Some(format!("`.target {target}` is no architecture that we know"));
    };
    let has = capability(ptx);
    match suffix {
        "" if has < number => Some(format!("it is for {target} and later, {} is compute capability {has}", chip.name)),
        "a" if has != number => Some(format!("it is for {target} alone, {} is compute capability {has}", chip.name)),
        "f" if has / 10 != number / 10 || has < number => {
            Some(format!("it is for the family of {target}, {} is compute capability {has}", chip.name))
        }
        _ => None,
    }
}

/// The kernels of a PTX text: `.entry NAME(` and the parameters up to `)`.
fn entries(text: &str) -> Vec<KernelFacts> {
    let mut kernels = Vec::new();
    for (at, found) in text.match_indices(".entry ") {
        let rest = &text[at + found.len()..];
        let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).unwrap_or(rest.len());
        let (name, rest) = rest.split_at(end);
        let params = rest.trim_start().strip_prefix('(').and_then(|rest| rest.split_once(')'));
        let (params, rest) = params.unwrap_or(("", rest));
        let body = rest.find('{').map_or(rest, |brace| &rest[..brace]);
        let threads = [".reqntid", ".maxntid"].into_iter().find_map(|name| directive(body, &format!("{name} ")));
        let facts = threads.map(|threads| ("block".to_owned(), format!("{threads} threads")));
        kernels.push(KernelFacts {
            name: name.to_owned(),
            facts: facts.into_iter().collect(),
            args: parameters(params),
        });
    }
    kernels
}

/// `.param .u64 .ptr .global .align 1 name` or `.param .align 8 .b8 name[200]`, one after the other.
fn parameters(text: &str) -> Vec<ArgFacts> {
    let mut args: Vec<ArgFacts> = Vec::new();
    for param in text.split(',').map(str::trim).filter(|param| param.starts_with(".param")) {
        let words: Vec<&str> = param.split_whitespace().collect();
        let Some(last) = words.last() else { continue };
        let (name, count) = match last.split_once('[') {
            Some((name, count)) => (name, count.trim_end_matches(']').parse().unwrap_or(0)),
            None => (*last, 1),
        };
        let bits =
            |word: &&str| word.strip_prefix(['.']).and_then(|ty| ty.get(1..)).and_then(|n| n.parse::<u64>().ok());
        let bits = words.iter().find_map(bits).unwrap_or(0);
        let after = |word: &str| words.iter().position(|w| *w == word).and_then(|at| words.get(at + 1));
        let bytes = (bits / 8).saturating_mul(count);
        // What is aligned beside `.ptr` is the memory that it points to.
        let is_pointer = words.contains(&".ptr");
        let written = after(".align").filter(|_| !is_pointer).and_then(|n| n.parse().ok());
        let align = written.unwrap_or(bits / 8).max(1);
        let end = args.last().map_or(0, |arg: &ArgFacts| arg.offset.saturating_add(arg.bytes));
        let kind = if is_pointer { "pointer".to_owned() } else { "value".to_owned() };
        args.push(ArgFacts {
            offset: end.checked_next_multiple_of(align).unwrap_or(end),
            bytes,
            name: name.to_owned(),
            kind,
        });
    }
    args
}

/// What is in a CUDA object; `None` if the bytes are none.
pub(super) fn cubin(file: &[u8]) -> Option<Result<Object, InspectError>> {
    let header = elf::FileHeader64::<LittleEndian>::parse(file).ok()?;
    let e = LittleEndian;
    if header.e_machine(e) != EM_CUDA {
        return None;
    }
    let flags = header.e_flags(e);
    // The architecture's number moved up a byte in the ABI that CUDA 13 writes (ABI version 8), read off cubins of both kinds.
    let number = if header.e_ident().abi_version >= 8 { flags >> 8 & 0xff } else { flags & 0xff };
    let broken = |error: object::read::Error| InspectError::Broken(format!("the CUDA object cannot be read: {error}"));
    let read = || -> Result<Vec<KernelFacts>, InspectError> {
        let sections = header.sections(e, file).map_err(broken)?;
        let mut kernels = Vec::new();
        for section in sections.iter() {
            let name = sections.section_name(e, section).map_err(broken)?;
            let Some(name) = std::str::from_utf8(name).ok().and_then(|name| name.strip_prefix(".text.")) else {
                continue;
            };
            let facts = vec![("code".to_owned(), format!("{} bytes", section.sh_size(e)))];
            kernels.push(KernelFacts { name: name.to_owned(), facts, args: Vec::new() });
        }
        Ok(kernels)
    };
    Some(read().map(|kernels| Object {
        kind: "CUDA object (cubin)".to_owned(),
        target: format!("sm_{number}"),
        bytes: file.len() as u64,
        facts: vec![("ELF e_flags".to_owned(), format!("{flags:#x}"))],
        kernels,
        chips: ask_all(|chip| cubin_refusal(number, chip)),
    }))
}

/// Machine code runs on its compute capability and later minor ones of the same major (CUDA C++ programming guide, binary
/// compatibility).
fn cubin_refusal(number: u32, chip: &Target) -> Option<String> {
    let Some(ptx) = &chip.ptx else { return Some(format!("{} is an AMD chip and runs no CUDA objects", chip.name)) };
    let has = capability(ptx);
    let fits = has / 10 == number / 10 && has >= number;
    (!fits).then(|| format!("it is machine code of sm_{number}, {} is compute capability {has}", chip.name))
}
