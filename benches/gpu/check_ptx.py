"""Runs the PTX of the copy examples on a CUDA device and compares bytes.

Each example copies buffer `a` to buffer `b` through shared memory and registers; `b` must equal `a` by logical element, and
guard bytes around both must be untouched. Needs only the CUDA driver: python3 check_ptx.py FOLDER_WITH_PTX

The folder holds NAME.TARGET.ptx as `tilewright compile examples/NAME.tile --target TARGET --emit asm` writes them.
"""
import ctypes, glob, os, random, sys

cuda = ctypes.CDLL("libcuda.so.1")


def ok(code, what):
    if code != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorString(code, ctypes.byref(text))
        raise SystemExit(f"{what}: {code} {text.value}")


# name: (threads, bytes, element bytes, logical order of `a`, logical order of `b`); None is row-major on both sides
CASES = {
    "fallback_4x6": (32, 96, None),
    "gmem_smem": (128, 4096, None),
    "ldmatrix_x2": (32, 256, None),
    "reg_roundtrip": (32, 1024, None),
    "stmatrix_x4": (32, 512, None),
    # a is column-major, b row-major: 64 x 16 of two bytes
    "ldmatrix_trans_swizzle": (32, 2048, (64, 16, 2)),
}


def expected(name, data):
    shape = CASES[name][2]
    if shape is None:
        return data
    rows, cols, size = shape
    out = bytearray(len(data))
    for r in range(rows):
        for c in range(cols):
            src, dst = (c * rows + r) * size, (r * cols + c) * size
            out[dst : dst + size] = data[src : src + size]
    return bytes(out)


def run(path):
    name = os.path.basename(path).split(".")[0]
    if name not in CASES:
        print(f"not run {os.path.basename(path)}: no case for it")
        return True
    threads, size, _ = CASES[name]
    with open(path, "rb") as file:
        text = file.read() + b"\0"
    module, function = ctypes.c_void_p(), ctypes.c_void_p()
    ok(cuda.cuModuleLoadData(ctypes.byref(module), text), f"load {path}")
    ok(cuda.cuModuleGetFunction(ctypes.byref(function), module, name.encode()), f"find {name}")
    guard, rng, good = 256, random.Random(7), True
    for round in range(8):
        data = bytes(rng.randrange(256) for _ in range(size))
        images = [b"\xa5" * guard + data + b"\xa5" * guard, b"\xa5" * guard + b"\xcd" * size + b"\xa5" * guard]
        pointers = []
        for image in images:
            p = ctypes.c_uint64()
            ok(cuda.cuMemAlloc_v2(ctypes.byref(p), len(image)), "alloc")
            ok(cuda.cuMemcpyHtoD_v2(p, image, len(image)), "copy in")
            pointers.append(p)
        args = [ctypes.c_uint64(p.value + guard) for p in pointers]
        array = (ctypes.c_void_p * 2)(*[ctypes.cast(ctypes.byref(a), ctypes.c_void_p) for a in args])
        ok(cuda.cuLaunchKernel(function, 1, 1, 1, threads, 1, 1, 0, None, array, None), f"launch {name}")
        ok(cuda.cuCtxSynchronize(), f"run {name}")
        outs = []
        for p, image in zip(pointers, images):
            out = ctypes.create_string_buffer(len(image))
            ok(cuda.cuMemcpyDtoH_v2(out, p, len(image)), "copy out")
            outs.append(out.raw)
            ok(cuda.cuMemFree_v2(p), "free")
        want = b"\xa5" * guard + expected(name, data) + b"\xa5" * guard
        good = good and outs[0] == images[0] and outs[1] == want
    print(f"{'ok' if good else 'WRONG'} {os.path.basename(path)}: {size} bytes, 8 rounds, guards included")
    return good


def main():
    ok(cuda.cuInit(0), "cuInit")
    device, context = ctypes.c_int(), ctypes.c_void_p()
    ok(cuda.cuDeviceGet(ctypes.byref(device), 0), "device")
    ok(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), device), "context")
    ok(cuda.cuCtxSetCurrent(context), "context")
    label = ctypes.create_string_buffer(100)
    cuda.cuDeviceGetName(label, 100, device)
    print("device:", label.value.decode())
    results = [run(path) for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.ptx"))) if "sm_100a" not in path]
    raise SystemExit(0 if results and all(results) else 1)


if __name__ == "__main__":
    main()
