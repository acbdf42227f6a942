//! What goes wrong: the sentence says which call, which code and what HIP calls it.

use std::path::Path;

use tilewright_artifact::{CodeBytes, CodeKind};
use tilewright_runtime::device::hip::{HipDevice, Provider};
use tilewright_runtime::{Args, Comm, Device, LsaRank};

use crate::{bundle, case, fake};

/// Works over AMD's library on a machine without a device, and over the fake one without devices.
#[test]
fn no_device_is_one_sentence() {
    let _lock = fake::lock();
    if fake::is_here() {
        fake::node("gfx950", 0, 0);
    }
    let error = HipDevice::find().expect_err("there is no device");
    assert_eq!(error.to_string(), "no hip device: hipGetDeviceCount returned 100 (hipErrorNoDevice)");
}

#[test]
fn devices_say_what_they_are_and_refuse_code_for_others() {
    let _lock = fake::lock();
    fake::node("gfx950", 4, 0);
    let device = fake::device();
    assert_eq!(device.describe(), "4 x simulated gfx950 (gfx950)");
    let bundle = bundle("ring_shift", 2);
    let code = |target: &str| &case(&bundle, target).part.artifact.code;
    assert_eq!(device.refuses("gfx950", code("gfx950")), None);
    assert_eq!(
        device.refuses("gfx942", code("gfx942")).as_deref(),
        Some("the code is for gfx942, here are 4 x simulated gfx950 (gfx950)")
    );
    let ptx = CodeBytes { kind: CodeKind::Ptx, bytes: Vec::new() };
    assert_eq!(
        device.refuses("sm_90a", &ptx).as_deref(),
        Some("the code is for sm_90a, no AMD GPU; here are 4 x simulated gfx950 (gfx950)")
    );
    let error = device.open(5, 1).expect_err("more ranks than devices");
    assert_eq!(error.to_string(), "hip: tw_comm_provider.open returned 1: 5 ranks need as many devices, there are 4");
}

#[test]
fn code_that_hip_refuses_keeps_its_code() {
    let _lock = fake::lock();
    let bundle = bundle("ring_shift", 2);
    let (right, wrong) = (case(&bundle, "gfx950"), case(&bundle, "gfx942"));
    let comm = fake::comm("gfx950", 2, 2, 0);
    let sentence = |code: &CodeBytes| comm.load(code, &[]).expect_err("refused").to_string();
    assert_eq!(
        sentence(&wrong.part.artifact.code),
        "hip: hipModuleLoadData returned 209 (hipErrorNoBinaryForGpu)\non HIP device 0"
    );
    let broken = CodeBytes { kind: CodeKind::Hsaco, bytes: vec![0; 100] };
    assert_eq!(sentence(&broken), "hip: hipModuleLoadData returned 200 (hipErrorInvalidImage)\non HIP device 0");
    let mut info = right.launch.kernel.clone();
    info.name = "shift_ring".to_owned();
    let module = comm.load(&right.part.artifact.code, std::slice::from_ref(&info)).expect("loads");
    assert_eq!(
        module.kernel("shift_ring").expect_err("no such kernel").to_string(),
        "hip: hipModuleGetFunction returned 500 (hipErrorNotFound)\nkernel `shift_ring` on HIP device 0"
    );
}

#[test]
fn memory_that_is_not_there_is_an_error() {
    let _lock = fake::lock();
    let comm = fake::comm("gfx950", 2, 2, 0);
    let error = comm.buffer(LsaRank::new(1), 1 << 40, "huge").expect_err("no memory");
    assert_eq!(error.to_string(), "hip: hipMalloc returned 2 (hipErrorOutOfMemory)\non HIP device 1");
    let error = comm.window(1 << 40, "huge").expect_err("no memory");
    assert!(error.to_string().starts_with("hip: tw_comm_provider.window_open returned 1: "), "{error}");
    comm.buffer(LsaRank::new(1), 64, "small").expect("the communicator still works");
}

#[test]
fn a_fault_in_a_kernel_ends_the_communicator() {
    let _lock = fake::lock();
    let bundle = bundle("gmem_smem", 1);
    let case = case(&bundle, "gfx950");
    let comm = fake::comm("gfx950", 1, 0, 0);
    let module = comm.load(&case.part.artifact.code, std::slice::from_ref(&case.launch.kernel)).expect("loads");
    let kernel = module.kernel(&case.launch.kernel.name).expect("is there");
    // Every buffer is half as long as its handle says: the kernel leaves them.
    let args = case.args();
    let halves: Vec<_> = args[0]
        .buffers
        .iter()
        .map(|(name, content)| {
            let half = comm.buffer(LsaRank::new(0), content.len() as u64 / 2, name).expect("memory");
            half.write(0, &content[..content.len() / 2]).expect("written");
            let handle = comm.adopt_buffer(LsaRank::new(0), half.address(), content.len() as u64).expect("a buffer");
            (name, half, handle)
        })
        .collect();
    let short = halves.iter().fold(Args::new(), |args, (name, _, handle)| args.buffer(name, handle));
    comm.stream().launch(&kernel, std::slice::from_ref(&short)).expect("enqueued");
    let error = comm.stream().synchronise().expect_err("a fault");
    assert_eq!(error.to_string(), "hip: hipStreamSynchronize returned 700 (hipErrorIllegalAddress)\non HIP device 0");
    let error = comm.stream().launch(&kernel, &[short]).expect_err("it stays");
    assert!(error.to_string().starts_with("the communicator cannot be used any more"), "{error}");
}

#[test]
fn kernels_that_need_a_communicator_need_a_provider() {
    let _lock = fake::lock();
    fake::node("gfx950", 2, 0);
    let device = HipDevice::find().expect("devices");
    let error = Comm::new(&device, 2, 2).expect_err("no queues");
    assert_eq!(
        error.to_string(),
        "the hip device makes no communicators by itself: name a library that makes communicators with mori \
         (TILEWRIGHT_COMM), or run on the simulator (`--device sim`)"
    );
    let error = Provider::named_by_user(Path::new("/nowhere/mori.so")).expect_err("no such library").to_string();
    let start = "the hip device cannot use /nowhere/mori.so as a provider of communicators: ";
    assert!(error.starts_with(start) && error.contains("No such file"), "{error}");
    let comm = Comm::new(&device, 2, 0).expect("ranks without a communicator");
    let error = comm.window(64, "send").expect_err("no windows");
    assert_eq!(
        error.to_string(),
        "the hip device makes no windows by itself: name a library that makes communicators with mori (TILEWRIGHT_COMM), or \
         run on the simulator (`--device sim`)"
    );
}
