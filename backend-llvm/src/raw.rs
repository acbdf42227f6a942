//! The only unsafe corner: calls into LLVM's C API that inkwell does not wrap. Each wrapper is safe for every argument
//! that Rust's types allow. Must hold: no pointer made here outlives the borrow it was made from.

#![expect(
    unsafe_code,
    reason = "LLVM's C API has sync scopes, diagnostics and raw offsets; inkwell does not wrap them"
)]

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::Once;

use inkwell::builder::Builder;
use inkwell::context::AsContextRef;
use inkwell::types::BasicType;
use inkwell::values::{AsValueRef, InstructionValue, IntValue, PointerValue};
use llvm_sys::core::{
    LLVMBuildFenceSyncScope, LLVMContextSetDiagnosticHandler, LLVMDisposeMessage, LLVMGetDiagInfoDescription,
    LLVMGetDiagInfoSeverity, LLVMGetMDKindIDInContext, LLVMGetSyncScopeID, LLVMSetAtomicSyncScopeID,
};
use llvm_sys::disassembler::{LLVMCreateDisasmCPU, LLVMDisasmContextRef, LLVMDisasmDispose, LLVMDisasmInstruction};
use llvm_sys::prelude::LLVMDiagnosticInfoRef;
use llvm_sys::support::LLVMParseCommandLineOptions;
use llvm_sys::{LLVMAtomicOrdering, LLVMDiagnosticSeverity};

use crate::error::Error;
use crate::machine::{Machine, MachineSpec};

/// The number LLVM gives to a sync scope name in this context ("" is system scope).
fn scope_id<'ctx>(context: impl AsContextRef<'ctx>, name: &str) -> u32 {
    // SAFETY: the context is alive, the name is read within the given length and copied by LLVM.
    unsafe { LLVMGetSyncScopeID(context.as_ctx_ref(), name.as_ptr().cast(), name.len()) }
}

/// Gives an atomic load, store or read-modify-write its scope. System scope needs no call.
pub(crate) fn set_scope<'ctx>(context: impl AsContextRef<'ctx>, instruction: InstructionValue<'ctx>, scope: &str) {
    let id = scope_id(context, scope);
    // SAFETY: callers pass an atomic instruction of this context (`Gen` makes it atomic first).
    unsafe { LLVMSetAtomicSyncScopeID(instruction.as_value_ref(), id) }
}

/// Builds a fence of the given ordering and scope at the builder's position (which must be set).
pub(crate) fn fence<'ctx>(
    context: impl AsContextRef<'ctx>,
    builder: &Builder<'ctx>,
    ordering: LLVMAtomicOrdering,
    scope: &str,
) -> InstructionValue<'ctx> {
    let id = scope_id(context, scope);
    // SAFETY: the builder is alive and positioned (Gen positions it at creation); LLVM returns the fence it inserted.
    unsafe { InstructionValue::new(LLVMBuildFenceSyncScope(builder.as_mut_ptr(), ordering, id, c"".as_ptr())) }
}

/// `getelementptr element, base, index`.
pub(crate) fn gep<'ctx>(
    builder: &Builder<'ctx>,
    element: impl BasicType<'ctx>,
    base: PointerValue<'ctx>,
    index: IntValue<'ctx>,
    inbounds: bool,
    name: &str,
) -> Result<PointerValue<'ctx>, inkwell::builder::BuilderError> {
    // SAFETY: inkwell marks these unsafe because a wrong inbounds index is poison in the *generated* program; building
    // the instruction itself touches no memory through the pointer.
    unsafe {
        if inbounds {
            builder.build_in_bounds_gep(element, base, &[index], name)
        } else {
            builder.build_gep(element, base, &[index], name)
        }
    }
}

/// The number of a metadata kind in this context.
pub(crate) fn metadata_kind<'ctx>(context: impl AsContextRef<'ctx>, name: &str) -> u32 {
    // SAFETY: as in `scope_id`; metadata kind names are short constants.
    unsafe { LLVMGetMDKindIDInContext(context.as_ctx_ref(), name.as_ptr().cast(), name.len() as u32) }
}

/// Sets LLVM's process-wide options. Call once, before any code is generated.
pub(crate) fn set_options(options: &[&CStr]) {
    let mut arguments = vec![c"tilewright".as_ptr()];
    arguments.extend(options.iter().map(|option| option.as_ptr()));
    // SAFETY: the strings are constants that outlive the call; LLVM copies what it keeps. An unknown option makes LLVM
    // exit, but the options are constants of ours and the LLVM version is pinned (a test runs through here).
    unsafe { LLVMParseCommandLineOptions(arguments.len() as i32, arguments.as_ptr(), std::ptr::null()) }
}

/// Runs `work` while collecting LLVM's error diagnostics of `context`; without this LLVM prints them and *exits*.
pub(crate) fn collecting_errors<'ctx, R>(
    context: impl AsContextRef<'ctx>,
    work: impl FnOnce() -> R,
) -> (R, Vec<String>) {
    let sink: RefCell<Vec<String>> = RefCell::new(Vec::new());
    let context = context.as_ctx_ref();
    let opaque = (&raw const sink).cast_mut().cast::<c_void>();
    // SAFETY: the handler only reads `sink` as the shared reference it is, and is removed before `sink` is dropped.
    unsafe { LLVMContextSetDiagnosticHandler(context, Some(collect), opaque) };
    let result = work();
    // SAFETY: removing a handler is always allowed.
    unsafe { LLVMContextSetDiagnosticHandler(context, None, ptr::null_mut()) };
    (result, sink.into_inner())
}

extern "C" fn collect(info: LLVMDiagnosticInfoRef, opaque: *mut c_void) {
    // SAFETY: `collecting_errors` passes a `RefCell<Vec<String>>` that outlives the handler; LLVM calls back on the
    // thread that runs the pass, so no other thread sees it; the description is a C string that we must dispose of.
    unsafe {
        if LLVMGetDiagInfoSeverity(info) != LLVMDiagnosticSeverity::LLVMDSError {
            return;
        }
        let text = LLVMGetDiagInfoDescription(info);
        let sink = &*opaque.cast::<RefCell<Vec<String>>>();
        if let Ok(mut messages) = sink.try_borrow_mut() {
            messages.push(CStr::from_ptr(text).to_string_lossy().into_owned());
        }
        LLVMDisposeMessage(text);
    }
}

unsafe extern "C" {
    /// The one initialiser of the AMD target that `llvm-sys` does not declare.
    fn LLVMInitializeAMDGPUDisassembler();
}

/// LLVM's disassembler of one processor: what tests compare the simulator's decoder with.
///
/// On some words that are no instruction, LLVM 22.1 ends the process or reads an operand that it did not make, so it is for
/// tests alone.
pub struct Disassembler {
    context: LLVMDisasmContextRef,
}

impl Disassembler {
    /// The disassembler of an AMD processor, such as `gfx942`.
    ///
    /// # Errors
    /// [`Error::UnknownCpu`] for a processor outside our table, [`Error::Machine`] if LLVM has no disassembler.
    pub fn amdgpu(cpu: &str) -> Result<Self, Error> {
        // Making the machine checks the processor and initialises the target.
        let spec = MachineSpec::amdgpu(cpu);
        Machine::new(&spec)?;
        let none = || Error::Machine { cpu: cpu.into(), message: "it has no disassembler".into() };
        let triple = CString::new(spec.triple).map_err(|_| none())?;
        let name = CString::new(cpu).map_err(|_| none())?;
        // Making a machine initialises all but this.
        static ONCE: Once = Once::new();
        // SAFETY: it registers the disassembler in LLVM's list, by one thread at a time.
        ONCE.call_once(|| unsafe { LLVMInitializeAMDGPUDisassembler() });
        // SAFETY: both strings outlive the call and end in a zero; without callbacks LLVM keeps no other pointer of ours.
        let context = unsafe { LLVMCreateDisasmCPU(triple.as_ptr(), name.as_ptr(), ptr::null_mut(), 0, None, None) };
        if context.is_null() {
            return Err(none());
        }
        Ok(Disassembler { context })
    }

    /// The instruction at the start of `code`: its bytes and its text; `None` if there is none. `code` should go on for 16
    /// bytes, since LLVM may look that far.
    pub fn instruction(&mut self, code: &[u8]) -> Option<(usize, String)> {
        let mut bytes = code.to_vec();
        let mut text = [0u8; 512];
        // SAFETY: the context is alive; LLVM reads at most `bytes.len()` bytes and writes at most `text.len()`, with a zero.
        let used = unsafe {
            let (from, size) = (bytes.as_mut_ptr(), bytes.len() as u64);
            LLVMDisasmInstruction(self.context, from, size, 0, text.as_mut_ptr().cast(), text.len())
        };
        let text = CStr::from_bytes_until_nul(&text).ok()?.to_string_lossy().trim().replace('\t', " ");
        (used > 0).then_some((used, text))
    }
}

impl Drop for Disassembler {
    fn drop(&mut self) {
        // SAFETY: made by LLVMCreateDisasmCPU and disposed of once.
        unsafe { LLVMDisasmDispose(self.context) };
    }
}
