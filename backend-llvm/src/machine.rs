//! Target machines: from a module to optimised IR, assembly and an object.
//!
//! Must hold: only processors of our table reach LLVM (it aborts on others); the optimiser runs with the real
//! processor; no module is written twice, because writing changes it; the verifier always runs, before and
//! after the optimiser; LLVM's error diagnostics become errors (its default is to exit the process).

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Once;

use inkwell::OptimizationLevel;
use inkwell::module::Module;
use inkwell::passes::PassBuilderOptions;
use inkwell::targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};

use crate::error::Error;
use crate::raw;

/// Processors that LLVM 22.1 knows and this compiler emits for, by architecture (checked by a test: each emits).
const PROCESSORS: [(&str, &[&str]); 2] = [
    ("amdgcn-amd-amdhsa", &["gfx90a", "gfx942", "gfx950", "gfx1250"]),
    (
        "nvptx64-nvidia-cuda",
        &[
            "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_101a", "sm_103a", "sm_120",
            "sm_120a", "sm_121a",
        ],
    ),
];

/// How hard LLVM optimises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OptLevel {
    /// No pipeline at all; for looking at what was generated.
    None,
    /// `default<O2>`.
    O2,
    /// `default<O3>`.
    #[default]
    O3,
}

/// What to make a machine for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineSpec<'a> {
    /// LLVM's triple.
    pub triple: &'a str,
    /// LLVM's processor name; must be in our table.
    pub cpu: &'a str,
    /// LLVM's feature string, such as `+ptx80`; empty for the processor's own.
    pub features: &'a str,
    /// The pipeline.
    pub opt: OptLevel,
}

impl<'a> MachineSpec<'a> {
    /// The machine of a target record, at O3.
    pub fn of(target: &'a tilewright_target::Target) -> Self {
        MachineSpec { triple: target.triple, cpu: target.llvm_cpu, features: target.llvm_features, opt: OptLevel::O3 }
    }

    /// An AMD GPU with its own features at O3.
    pub fn amdgpu(cpu: &'a str) -> Self {
        MachineSpec { triple: PROCESSORS[0].0, cpu, features: "", opt: OptLevel::O3 }
    }

    /// An NVIDIA GPU at O3; `features` may raise the PTX version (`+ptx88`).
    pub fn nvptx(cpu: &'a str, features: &'a str) -> Self {
        MachineSpec { triple: PROCESSORS[1].0, cpu, features, opt: OptLevel::O3 }
    }
}

/// Which outputs a caller wants; each costs a run of the code generator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Output {
    /// LLVM IR, before and after the optimiser.
    pub ir: bool,
    /// The assembly text (PTX on NVIDIA).
    pub asm: bool,
    /// The object file; the NVPTX target has none.
    pub object: bool,
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Emitted {
    /// The module as it was generated, before the optimiser, if asked for; else empty.
    pub llvm_ir: String,
    /// The module after the optimiser, if asked for; else empty.
    pub optimized_ir: String,
    /// Assembly, if asked for.
    pub asm: Option<String>,
    /// The relocatable object, if asked for.
    pub object: Option<Vec<u8>>,
}

impl Emitted {
    /// The body of one kernel in the assembly, without directives, metadata and other kernels; `None` if there is no
    /// assembly or no such kernel in it. For snapshots.
    pub fn body(&self, kernel: &str) -> Option<&str> {
        let asm = self.asm.as_deref()?;
        if let Some((_, rest)) = asm.split_once(&format!(".entry {kernel}(")) {
            let (_, rest) = rest.split_once("\n{\n")?;
            return rest.split_once("\n}").map(|(body, _)| body);
        }
        let (_, rest) = asm.split_once(&format!("\n{kernel}:"))?;
        let rest = rest.split_once('\n').map_or(rest, |(_, rest)| rest);
        rest.split_once("\t.section").map(|(body, _)| body)
    }
}

/// A target machine of LLVM for one processor.
#[derive(Debug)]
pub struct Machine {
    machine: TargetMachine,
    triple: TargetTriple,
    triple_text: String,
    cpu: String,
    features: String,
    opt: OptLevel,
}

fn initialise_targets() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let config = InitializationConfig::default();
        Target::initialize_amd_gpu(&config);
        Target::initialize_nvptx(&config);
        // Our atomics are issued by one lane an address already; LLVM would wrap each in code that finds that lane again.
        raw::set_options(&[c"-amdgpu-atomic-optimizer-strategy=None"]);
    });
}

thread_local! {
    /// The machines of this thread so far. Making one takes LLVM longer than emitting a small kernel's instructions does,
    /// and a machine never changes; a process asks for a handful.
    static MACHINES: RefCell<Vec<Rc<Machine>>> = const { RefCell::new(Vec::new()) };
}

impl Machine {
    /// The machine for a spec, kept for the next compile of this thread.
    ///
    /// # Errors
    /// As [`Machine::new`].
    pub fn shared(spec: &MachineSpec<'_>) -> Result<Rc<Self>, Error> {
        let is_it = |machine: &&Rc<Machine>| {
            machine.triple_text == spec.triple
                && machine.cpu == spec.cpu
                && machine.features == spec.features
                && machine.opt == spec.opt
        };
        if let Some(machine) = MACHINES.with_borrow(|all| all.iter().find(is_it).cloned()) {
            return Ok(machine);
        }
        let machine = Rc::new(Machine::new(spec)?);
        MACHINES.with_borrow_mut(|all| all.push(Rc::clone(&machine)));
        Ok(machine)
    }

    /// Makes the machine.
    ///
    /// # Errors
    /// [`Error::UnknownCpu`] for a triple or processor outside our table, [`Error::Machine`] if LLVM has no machine.
    pub fn new(spec: &MachineSpec<'_>) -> Result<Self, Error> {
        let known = PROCESSORS.iter().find(|(triple, _)| *triple == spec.triple).map_or(&[][..], |(_, cpus)| cpus);
        if !known.contains(&spec.cpu) {
            return Err(Error::UnknownCpu {
                cpu: spec.cpu.to_string(),
                triple: spec.triple.to_string(),
                known: known.join(", "),
            });
        }
        initialise_targets();
        let triple = TargetTriple::create(spec.triple);
        let failed = |message: String| Error::Machine { cpu: spec.cpu.to_string(), message };
        let target = Target::from_triple(&triple).map_err(|e| failed(e.to_string()))?;
        let level = match spec.opt {
            OptLevel::None | OptLevel::O2 => OptimizationLevel::Default,
            OptLevel::O3 => OptimizationLevel::Aggressive,
        };
        // AMD code objects are shared objects; NVPTX ignores the relocation model.
        let machine = target
            .create_target_machine(&triple, spec.cpu, spec.features, level, RelocMode::PIC, CodeModel::Default)
            .ok_or_else(|| failed("no target machine".to_string()))?;
        machine.set_asm_verbosity(false);
        Ok(Machine {
            machine,
            triple,
            triple_text: spec.triple.to_string(),
            cpu: spec.cpu.to_string(),
            features: spec.features.to_string(),
            opt: spec.opt,
        })
    }

    /// The processor this machine emits for.
    pub fn cpu(&self) -> &str {
        &self.cpu
    }

    /// Gives a fresh module this machine's triple and data layout. Do this before generating into it, because sizes and
    /// address spaces depend on the layout.
    pub fn prepare(&self, module: &Module<'_>) {
        module.set_triple(&self.triple);
        module.set_data_layout(&self.machine.get_target_data().get_data_layout());
    }

    /// Verifies, optimises and writes `module`.
    ///
    /// # Errors
    /// [`Error::Verify`] for a malformed module, [`Error::Diagnostics`] for what LLVM reports (too much shared memory,
    /// for example), [`Error::Optimise`] and [`Error::Write`] for the rest.
    pub fn emit(&self, module: Module<'_>, output: Output) -> Result<Emitted, Error> {
        verify(&module, "before the optimiser")?;
        let (result, errors) = raw::collecting_errors(module.get_context(), || self.emit_verified(&module, output));
        if errors.is_empty() { result } else { Err(Error::Diagnostics(errors)) }
    }

    fn emit_verified(&self, module: &Module<'_>, output: Output) -> Result<Emitted, Error> {
        let mut emitted = Emitted::default();
        // Texts only on demand: they take a tenth of the time of a small kernel.
        if output.ir {
            emitted.llvm_ir = module.print_to_string().to_string();
        }
        self.optimise(module)?;
        verify(module, "after the optimiser")?;
        if output.ir {
            emitted.optimized_ir = module.print_to_string().to_string();
        }
        if output.asm {
            // Writing changes the module: a second writer gets a copy of its own.
            let copy = output.object.then(|| module.clone());
            let bytes = self.write(copy.as_ref().unwrap_or(module), FileType::Assembly, "assembly")?;
            emitted.asm = Some(String::from_utf8_lossy(&bytes).trim_end_matches('\0').to_string());
        }
        if output.object {
            emitted.object = Some(self.write(module, FileType::Object, "an object")?);
        }
        Ok(emitted)
    }

    fn optimise(&self, module: &Module<'_>) -> Result<(), Error> {
        let pipeline = match self.opt {
            OptLevel::None => return Ok(()),
            OptLevel::O2 => "default<O2>",
            OptLevel::O3 => "default<O3>",
        };
        let options = PassBuilderOptions::create();
        module.run_passes(pipeline, &self.machine, options).map_err(|e| Error::Optimise(e.to_string()))
    }

    fn write(&self, module: &Module<'_>, kind: FileType, what: &'static str) -> Result<Vec<u8>, Error> {
        let buffer = self
            .machine
            .write_to_memory_buffer(module, kind)
            .map_err(|e| Error::Write { what, message: e.to_string() })?;
        Ok(buffer.as_slice().to_vec())
    }
}

fn verify(module: &Module<'_>, stage: &'static str) -> Result<(), Error> {
    module.verify().map_err(|e| Error::Verify { stage, message: e.to_string() })
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;

    use super::*;
    use crate::{AddressSpace, Gen};

    const BOTH: Output = Output { ir: true, asm: true, object: true };
    const ASM: Output = Output { ir: true, asm: true, object: false };

    /// A kernel that stores 7 through its pointer argument.
    fn store_seven<'ctx>(context: &'ctx Context, machine: &Machine, convention: u32) -> Module<'ctx> {
        let module = context.create_module("seven");
        machine.prepare(&module);
        let pointer = context.ptr_type(inkwell::AddressSpace::from(AddressSpace::Global as u16));
        let function = module.add_function("seven", context.void_type().fn_type(&[pointer.into()], false), None);
        function.set_call_conventions(convention);
        let builder = context.create_builder();
        builder.position_at_end(context.append_basic_block(function, "entry"));
        let generator = Gen::new(&module, &builder, function);
        let argument = function.get_first_param().expect("one parameter").into_pointer_value();
        generator.store(generator.i32(7), argument, 4).expect("a store");
        builder.build_return(None).expect("a return");
        module
    }

    #[test]
    fn every_processor_of_the_table_emits() {
        for (triple, cpus) in PROCESSORS {
            for cpu in cpus {
                let amd = triple.starts_with("amdgcn");
                let spec = MachineSpec { triple, cpu, features: "", opt: OptLevel::O3 };
                let machine = Machine::new(&spec).expect(cpu);
                let context = Context::create();
                // LLVM's numbers of amdgpu_kernel and ptx_kernel.
                let module = store_seven(&context, &machine, if amd { 91 } else { 71 });
                let emitted = machine.emit(module, if amd { BOTH } else { ASM }).expect(cpu);
                let asm = emitted.asm.expect("asked for");
                assert!(asm.contains(if amd { "global_store" } else { "st.global" }), "{cpu}: {asm}");
                let whole = Emitted { asm: Some(asm), ..Emitted::default() };
                let body = whole.body("seven").expect("the kernel");
                assert!(
                    body.contains(if amd { "s_endpgm" } else { "ret;" }) && !body.contains("amdhsa"),
                    "{cpu}: {body}"
                );
                assert_eq!(whole.body("eight"), None);
                if amd {
                    let object = emitted.object.expect("asked for");
                    assert_eq!(&object[..4], b"\x7fELF");
                    assert_eq!(object.len() % 8, 0, "the ELF ends with its section headers");
                }
                assert!(emitted.llvm_ir.contains("store i32 7"));
            }
        }
    }

    #[test]
    fn every_target_record_has_a_machine() {
        for target in tilewright_target::TARGETS {
            assert!(Machine::new(&MachineSpec::of(target)).is_ok(), "{}", target.name);
        }
    }

    #[test]
    fn unknown_processors_never_reach_llvm() {
        let error = Machine::new(&MachineSpec::amdgpu("gfx9999")).expect_err("unknown");
        assert!(matches!(&error, Error::UnknownCpu { cpu, known, .. } if cpu == "gfx9999" && known.contains("gfx950")));
        assert!(Machine::new(&MachineSpec::nvptx("gfx950", "")).is_err(), "a processor of the other vendor");
    }

    #[test]
    fn what_llvm_reports_is_an_error_and_no_exit() {
        let machine = Machine::new(&MachineSpec::amdgpu("gfx942")).expect("known");
        let context = Context::create();
        let module = store_seven(&context, &machine, 91);
        // 64 KiB of LDS is what gfx942 has; LLVM's default handler would print and exit.
        let too_much = context.i8_type().array_type(65537);
        let lds = module.add_global(too_much, Some(inkwell::AddressSpace::from(3u16)), "lds");
        lds.set_initializer(&too_much.get_poison());
        lds.set_linkage(inkwell::module::Linkage::Internal);
        lds.set_alignment(16);
        let function = module.get_function("seven").expect("made above");
        let builder = context.create_builder();
        let entry = function.get_first_basic_block().expect("it has one");
        builder.position_before(&entry.get_first_instruction().expect("a store"));
        let generator = Gen::new(&module, &builder, function);
        let store = generator.store(generator.i32(1), lds.as_pointer_value(), 4).expect("a store");
        store.set_volatile(true).expect("stores can be");
        let error = machine.emit(module, BOTH).expect_err("too much LDS");
        assert!(matches!(&error, Error::Diagnostics(m) if m.iter().any(|m| m.contains("65537"))), "{error}");
    }

    #[test]
    fn a_malformed_module_is_refused_before_the_optimiser() {
        let machine = Machine::new(&MachineSpec::nvptx("sm_90a", "")).expect("known");
        let context = Context::create();
        let module = context.create_module("bad");
        machine.prepare(&module);
        let function = module.add_function("bad", context.void_type().fn_type(&[], false), None);
        context.append_basic_block(function, "entry"); // no terminator
        let error = machine.emit(module, ASM).expect_err("malformed");
        assert!(matches!(error, Error::Verify { stage: "before the optimiser", .. }), "{error}");
    }
}
