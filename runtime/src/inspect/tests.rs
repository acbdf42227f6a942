//! Texts and bytes of foreign origin. Objects that our own compiler makes are looked at in `tests/all/inspect.rs`.

use super::*;

const PTX: &str = "//\n.version 8.0\n.target sm_90a\n.address_size 64\n
.visible .entry fill(
\t.param .u64 .ptr .global .align 1 fill_param_0,
\t.param .align 8 .b8 fill_param_1[12],
\t.param .u32 fill_param_2
)
.reqntid 64, 1, 1
{
\tret;
}
.visible .entry empty()
{
\tret;
}
";

#[test]
fn ptx_is_told_with_its_kernels_and_chips() {
    let found = inspect(PTX.as_bytes()).expect("PTX");
    assert_eq!(
        found.text(),
        "PTX for sm_90a, 249 bytes
  PTX version  8.0
  driver       of CUDA 12.0 or later
  kernel `fill`
    block  64, 1, 1 threads
    arguments: offset, bytes, name, kind
      0   8   fill_param_0  pointer
      8   12  fill_param_1  value
      20  4   fill_param_2  value
  kernel `empty`
  chips
"
        .to_owned()
            + &TARGETS
                .iter()
                .map(|target| match target.name {
                    "sm_80" => "    sm_80    it is for sm_90a alone, sm_80 is compute capability 80\n".to_owned(),
                    "sm_90a" => "    sm_90a   runs it\n".to_owned(),
                    "sm_100a" => "    sm_100a  it is for sm_90a alone, sm_100a is compute capability 100\n".to_owned(),
                    amd => format!("    {amd:<7}  {amd} is an AMD chip and runs no PTX\n"),
                })
                .collect::<String>()
    );
    assert_eq!(found.refusal("sm_90a"), None);
    assert!(found.refusal("gfx950").is_some_and(|why| why.contains("runs no PTX")));
}

#[test]
fn architectures_without_a_letter_run_on_later_chips() {
    let answer = |target: &str, chip: &str| {
        let text = format!(".version 7.0\n.target {target}\n");
        inspect(text.as_bytes()).expect("PTX").refusal(chip)
    };
    assert_eq!(answer("sm_80", "sm_80"), None);
    assert_eq!(answer("sm_80, debug", "sm_100a"), None);
    assert!(answer("sm_86", "sm_80").is_some());
    assert!(answer("sm_100f", "sm_90a").is_some() && answer("sm_100f", "sm_100a").is_none());
    assert!(answer("compute_80", "sm_80").is_some_and(|why| why.contains("no architecture that we know")));
}

#[test]
fn foreign_bytes_are_one_sentence() {
    assert_eq!(
        inspect(b"").unwrap_err().to_string(),
        "this is no AMD code object, no CUDA object, no PTX and no .twb bundle: it begins with nothing, the file is empty"
    );
    assert!(inspect(b"hello world").unwrap_err().to_string().contains("[68, 65, 6c, 6c, 6f, 20, 77, 6f]"));
    assert!(matches!(inspect(b"TWBUNDLE"), Err(InspectError::Bundle(_))));
    // An ELF file of another machine.
    let mut elf = b"\x7fELF\x02\x01\x01".to_vec();
    elf.resize(64, 0);
    elf[18] = 62;
    assert!(matches!(inspect(&elf), Err(InspectError::Unknown(_))));
    // Headers of ours and NVIDIA's, cut off everywhere.
    for machine in [224, 190] {
        elf[18] = machine;
        for length in 0..=elf.len() {
            if let Ok(found) = inspect(&elf[..length]) {
                assert!(found.objects[0].kernels.is_empty());
            }
        }
    }
    let absurd =
        format!("{PTX}.entry k(.param .align 18446744073709551615 .b64 p[18446744073709551615], .param .u32 q) {{");
    assert_eq!(inspect(absurd.as_bytes()).expect("PTX").objects[0].kernels.len(), 3);
}
