//! Arithmetic of machine code on random bits, denormals, infinities and NaN among them, beside the reference.

use tilewright::backend::Want;
use tilewright::checked::{Trial, check};
use tilewright::device::Sim;
use tilewright::{Options, compile_text};
use tilewright_ir::interp::DEFAULT_MAX_STEPS;
use tilewright_target::{TARGETS, Vendor};

/// Result type and expression over x, y: f32; p: f16; q: bf16; v, w: f64; t: index.
const EXPRESSIONS: &[(&str, &str)] = &[
    ("f32", "x / y"),
    ("f64", "v / w"),
    ("f16", "p / f16(y)"),
    ("bf16", "q / bf16(y)"),
    ("f32", "x * y - x + f32(p) * f32(q)"),
    ("f64", "v * w + v"),
    ("f16", "f16(x * y)"),
    ("f16", "p * p - f16(v)"),
    ("bf16", "bf16(x * y)"),
    ("bf16", "q * q + bf16(y)"),
    // Products of -0 that are rounded to 16 bits.
    ("f16", "f16(x * 0.0)"),
    ("bf16", "bf16(x * 0.0)"),
    ("bf16", "q * bf16(0.0)"),
    ("f8e4m3", "f8e4m3(x * y)"),
    ("f32", "min(x, y) + max(x, f32(p))"),
    ("i32", "i32(x * 100.0) / (i32(y * 7.0) + 1) % 13"),
    ("i64", "i64(x * 1000.0) * i64(y * 1000.0) / 7 % 1001"),
    ("i64", "t >> (t % 70)"),
    ("i16", "i16(t * 331) / i16(t % 7)"),
    ("u8", "u8(i32(x) * 3 + t)"),
];

#[test]
fn machine_code_computes_what_the_reference_does() {
    let mut wrong = Vec::new();
    for target in TARGETS.iter().copied().filter(|target| target.vendor == Vendor::Amd) {
        for (dtype, expression) in EXPRESSIONS {
            let text = format!(
                "kernel k(a: global<f32>[256], b: global<f32>[256], c: global<f16>[256], d: global<bf16>[256], \
                 e: global<f64>[256], f: global<f64>[256], o: global<{dtype}>[256]) launch(grid = [2], block = [128]) {{ \
                 let t = block.x * 128 + thread.x; let x = a[t]; let y = b[t]; let p = c[t]; let q = d[t]; let v = e[t]; \
                 let w = f[t]; o[t] = {expression}; }} run k {{ a = random(seed = 1); b = random(seed = 2); \
                 c = random(seed = 3); d = random(seed = 4); e = random(seed = 5); f = random(seed = 6); }}"
            );
            let options = Options { want: Want::finished(target), ..Options::default() };
            let compiled = compile_text(&text, target, &options).unwrap_or_else(|all| panic!("{expression}: {all:#?}"));
            let run = compiled.tile.runs().next().expect("a run block");
            let npy = |_: &str| Err("no files here".to_string());
            let trial = Trial { run, ranks: None, seed: 0, max_steps: DEFAULT_MAX_STEPS, npy: &npy, alone: false };
            if let Err(all) = check(&compiled, &Sim { checks: true }, &trial) {
                let said: Vec<String> = all.into_iter().map(|d| d.message).collect();
                wrong.push(format!("{expression} on {}: {}", target.name, said.join("; ")));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
