"""Puts the lines of `beside_tvm` and of TVM's `bench_tvm.py` into one table.

Use: python3 benches/ratios.py OURS.jsonl TVM.jsonl. Times in milliseconds; a ratio is TVM's time by ours.
"""
import json
import statistics
import sys

# Their names for the kernels that are called otherwise here.
THEIRS = {
    "gmem_smem_swizzle128b": "gmem_smem_swizzle128B",
    "ldmatrix_16x64_swizzle128b": "ldmatrix_16x64_swizzle128B",
    "stmatrix_wgmma_acc_64x64_swizzle128b": "stmatrix_wgmma_acc_64x64_swizzle128B",
    "f32_accumulator": "BUG_f32_accumulator_gets_stmatrix_b16",
    "padded_pitch65": "BUG_padded_shared_pitch65_misaligned_v4",
}


def lines(path):
    with open(path) as file:
        return {row["case"]: row for row in map(json.loads, filter(lambda l: l.startswith("{"), file))}


ours, tvm = lines(sys.argv[1]), lines(sys.argv[2])
print("| kernel | text to lowered | LowerTIRx | ratio | text to PTX | tvm.compile | ratio | passes | of PTX | simplify-index |")
print("|---|---|---|---|---|---|---|---|---|---|")
lower, whole = [], []
for name, row in ours.items():
    if name.startswith("copies_"):
        continue
    theirs = tvm.get(THEIRS.get(name, name))
    if not theirs or "lower_ms" not in theirs:
        print(f"| {name} | {row['lowered'] / 1e3:.3f} | - | - | {row['ptx'] / 1e3:.2f} | - | - | | | |")
        continue
    lower.append(theirs["lower_ms"] * 1e3 / row["lowered"])
    whole.append(theirs["compile_ms"] * 1e3 / row["ptx"])
    print(
        f"| {name} | {row['lowered'] / 1e3:.3f} | {theirs['lower_ms']:.1f} | {lower[-1]:.0f} "
        f"| {row['ptx'] / 1e3:.2f} | {theirs['compile_ms']:.1f} | {whole[-1]:.1f} "
        f"| {row['passes'] / 1e3:.3f} | {100 * row['passes'] / row['ptx']:.1f} % | {row['simplify_index'] / 1e3:.3f} |"
    )
print(f"\nMedian ratios: lowered {statistics.median(lower):.0f} (least {min(lower):.0f}), "
      f"PTX {statistics.median(whole):.1f} (least {min(whole):.1f}).\n")
print("| copies in a kernel | text to lowered, ms | passes, ms | us a copy |\n|---|---|---|---|")
for name, row in ours.items():
    if name.startswith("copies_"):
        n = int(name.removeprefix("copies_"))
        print(f"| {n} | {row['lowered'] / 1e3:.2f} | {row['passes'] / 1e3:.2f} | {row['lowered'] / n:.2f} |")
