//! The code of a kernel inside its object: instructions with the names that the lists call them by, and how to write words
//! back into the file.
//!
//! What must hold: an instruction is found again after registers were numbered anew, so its name leaves them out and counts
//! the equals before it.

use std::collections::BTreeMap;

use tilewright_sim::CodeObject;
use tilewright_sim::isa::{Chip, Format, Inst, decode};
use tilewright_target::Target;

/// An instruction and where it stands.
pub(crate) struct Site {
    /// Index of its first dword in the code.
    pub(crate) at: usize,
    pub(crate) inst: Inst,
    /// As it prints, registers without numbers.
    pub(crate) text: String,
    /// How many of the same text stand before it.
    pub(crate) nth: usize,
    /// Whether a branch comes here.
    pub(crate) target: bool,
}

/// One kernel's code.
pub(crate) struct Code {
    file: Vec<u8>,
    /// Where the code begins in the file.
    offset: usize,
    pub(crate) sites: Vec<Site>,
}

impl Code {
    /// Takes the only kernel of a linked object apart.
    pub(crate) fn of(file: &[u8], target: &'static Target) -> Code {
        let object = CodeObject::load(file, target).expect("the object is taken");
        let [kernel] = &object.kernels[..] else { panic!("one kernel a file") };
        let bytes = object.bytes_at(kernel.entry, kernel.code_bytes).expect("the kernel's code");
        let found: Vec<usize> =
            file.windows(bytes.len()).enumerate().filter(|(_, w)| *w == bytes).map(|f| f.0).collect();
        let [offset] = found[..] else { panic!("the code is in the file once") };
        let words: Vec<u32> = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let chip = Chip::named(target.name).expect("a chip");
        Code { file: file.to_vec(), offset, sites: sites(&words, chip) }
    }

    /// The file with words of the code replaced.
    pub(crate) fn patched(&self, patch: &[(usize, u32)]) -> Vec<u8> {
        let mut file = self.file.clone();
        for (at, word) in patch {
            file[self.offset + at * 4..][..4].copy_from_slice(&word.to_le_bytes());
        }
        file
    }
}

fn sites(words: &[u32], chip: Chip) -> Vec<Site> {
    let mut sites: Vec<Site> = Vec::new();
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut targets = Vec::new();
    let mut at = 0;
    while at < words.len() {
        let inst = decode(&words[at..], chip).unwrap_or_else(|error| panic!("{error}"));
        let printed = inst.to_string();
        if inst.format == Format::Sopp && printed.contains("branch") {
            let distance = isize::from(inst.raw[0] as u16 as i16);
            targets.push(at.wrapping_add_signed(distance + 1));
        }
        let text = without_numbers(&printed);
        let count = seen.entry(text.clone()).or_default();
        sites.push(Site { at, inst, text, nth: *count, target: false });
        *count += 1;
        at += usize::from(inst.len);
    }
    for site in &mut sites {
        site.target = targets.contains(&site.at);
    }
    sites
}

/// `global_load_dwordx2 v[2:3], v1, s[4:5] sc1` becomes `global_load_dwordx2 v, v, s sc1`.
fn without_numbers(text: &str) -> String {
    let plain = |word: &str| {
        let (name, comma) = word.strip_suffix(',').map_or((word, ""), |name| (name, ","));
        let mut chars = name.chars();
        let bank = chars.next().filter(|bank| "vsa".contains(*bank));
        let number = chars.as_str();
        let register = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || "[:]".contains(c));
        match bank {
            Some(bank) if register => format!("{bank}{comma}"),
            _ => word.to_string(),
        }
    };
    text.split_whitespace().map(plain).collect::<Vec<_>>().join(" ")
}

#[test]
fn names_leave_registers_out() {
    assert_eq!(
        without_numbers("global_store_dwordx4 v12, v[10:13], s[24:25] offset:16 sc0 sc1"),
        "global_store_dwordx4 v, v, s offset:16 sc0 sc1"
    );
    assert_eq!(without_numbers("s_waitcnt vmcnt(0) lgkmcnt(1)"), "s_waitcnt vmcnt(0) lgkmcnt(1)");
    assert_eq!(without_numbers("global_load_dword v1, v[2:3], off"), "global_load_dword v, v, off");
}
