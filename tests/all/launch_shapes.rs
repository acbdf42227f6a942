//! Kernels whose launch shape and arguments' sizes follow from `where` parameters, launched through the runtime with several
//! values; and arguments that do not fit these sizes.

use tilewright::backend::Want;
use tilewright::{Options, bundle, compile_text};
use tilewright_runtime::device::sim::{SimDevice, SimOptions};
use tilewright_runtime::{Args, Buffer, Comm, Kernel, LsaRank};
use tilewright_target::{GFX950, GFX1250, Target};

/// One block for 64 elements.
const TEXT: &str = "kernel sc(a: global<f32>[n * 64], b: global<f32>[n * 64], k: f32) where(n: u64)
    launch(grid = [n], block = [64])
{
    let x = a[block.x * 64 + thread.x];
    b[block.x * 64 + thread.x] = x * k;
}
run sc { n = 3; k = 2.0; a = iota; }
run sc { n = 5; k = 1.0; a = iota; }
";

struct World {
    comm: Comm,
    kernel: Kernel,
}

impl World {
    fn new(target: &'static Target) -> World {
        let options = Options { want: Want::Object, ..Options::default() };
        let compiled = compile_text(TEXT, target, &options).unwrap_or_else(|all| panic!("{all:#?}"));
        let artifact = bundle::artifact(&compiled).expect("an artifact");
        assert_eq!(artifact.kernels.len(), 1, "one kernel, whatever its run blocks say");
        let comm = Comm::new(&SimDevice::new(target, SimOptions::default()), 1, 0).expect("a device");
        let kernel = comm.load(&artifact.code, &artifact.kernels).and_then(|m| m.kernel("sc")).expect("a kernel");
        World { comm, kernel }
    }

    fn buffer(&self, elements: u64) -> Buffer {
        let buffer = self.comm.buffer(LsaRank::new(0), elements * 4, "buffer").expect("memory");
        let ones: Vec<u8> = (0..elements).flat_map(|_| 1f32.to_le_bytes()).collect();
        buffer.write(0, &ones).expect("written");
        buffer
    }

    fn launch(&self, args: Args<'_>) -> Result<(), String> {
        let stream = self.comm.stream();
        stream.launch(&self.kernel, &[args]).and_then(|()| stream.synchronise()).map_err(|error| error.to_string())
    }
}

const TWO: u64 = 0x4000_0000;

#[test]
fn the_grid_follows_from_the_extent() {
    for target in [&GFX950, &GFX1250] {
        let world = World::new(target);
        for n in [5, 1, 3] {
            let (a, b) = (world.buffer(n * 64), world.buffer(n * 64 + 64));
            let args = Args::new().buffer("a", &a).buffer("b", &b).scalar("n", n).scalar("k", TWO);
            world.launch(args).expect("a launch");
            let found: Vec<f32> =
                b.to_vec().expect("bytes").chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
            let expected: Vec<f32> = (0..n * 64 + 64).map(|at| if at < n * 64 { 2.0 } else { 1.0 }).collect();
            assert_eq!(found, expected, "n = {n}");
        }
    }
}

#[test]
fn sizes_that_do_not_fit_are_refused() {
    let world = World::new(&GFX950);
    let (large, small) = (world.buffer(320), world.buffer(64));
    let args = |n: u64| Args::new().buffer("a", &large).buffer("b", &small).scalar("n", n).scalar("k", TWO);
    let refused = |args: Args<'_>, words: &str| assert_eq!(world.launch(args), Err(words.to_owned()));
    refused(args(2), "the argument `b` of kernel `sc` is given 256 bytes on lsa rank 0, the kernel reaches 512");
    refused(args(6), "the argument `a` of kernel `sc` is given 1280 bytes on lsa rank 0, the kernel reaches 1536");
    let shape = "a grid and a block have from 1 to 2^32 - 1 in each direction";
    refused(args(0), &format!("kernel `sc`: grid x = n is 0; {shape}"));
    let huge = world.launch(args(u64::MAX)).unwrap_err();
    assert!(huge.contains("no size"), "{huge}");
    refused(args(1).scalar("n", 2), "the argument `n` of kernel `sc` is given twice");
    refused(args(1).buffer("b", &large), "the argument `b` of kernel `sc` is given twice");
    let wide = Args::new().buffer("a", &large).buffer("b", &small).scalar("n", 1).scalar("k", 2f64.to_bits());
    refused(wide, "the argument `k` of kernel `sc` has 4 bytes, and 0x4000000000000000 does not fit them");
    // Nothing of it ran, and nothing is spoilt.
    world.launch(args(1)).expect("a launch");
}
