//! A builder over inkwell's: constants, arithmetic, control flow and memory operations with explicit alignment,
//! ordering and scope, so that code generators read like the code they generate.
//!
//! Must hold: every load and store carries an explicit alignment; every atomic an explicit scope; blocks are appended
//! in the order they are written, and names are given, so that the printed IR is the same from run to run.

use inkwell::IntPredicate;
use inkwell::attributes::{Attribute, AttributeLoc};
use inkwell::basic_block::BasicBlock;
use inkwell::builder::Builder;
use inkwell::context::ContextRef;
use inkwell::intrinsics::Intrinsic;
use inkwell::module::Module;
use inkwell::types::{BasicType, BasicTypeEnum, PointerType};
use inkwell::values::{
    BasicMetadataValueEnum, BasicValue, BasicValueEnum, FunctionValue, InstructionValue, IntValue, PhiValue,
    PointerValue,
};

use crate::error::Error;
use crate::raw;
use crate::vocabulary::{AddressSpace, Ordering, Scope};

/// Builds instructions into one function.
#[derive(Clone, Copy)]
pub struct Gen<'a, 'ctx> {
    /// The context everything lives in.
    pub context: ContextRef<'ctx>,
    /// The module, for intrinsic declarations and globals.
    pub module: &'a Module<'ctx>,
    /// The builder, positioned where the next instruction goes.
    pub builder: &'a Builder<'ctx>,
    /// The function that is being written.
    pub function: FunctionValue<'ctx>,
}

/// An integer value.
pub type Int<'ctx> = IntValue<'ctx>;
type Result<T> = std::result::Result<T, Error>;

/// Constants and types.
impl<'a, 'ctx> Gen<'a, 'ctx> {
    /// A generator into `function`, whose blocks are in `module`.
    pub fn new(module: &'a Module<'ctx>, builder: &'a Builder<'ctx>, function: FunctionValue<'ctx>) -> Self {
        Gen { context: module.get_context(), module, builder, function }
    }

    /// A constant of `bits` bits (1 to 64).
    pub fn int(&self, bits: u32, value: u64) -> Int<'ctx> {
        match bits {
            1 => self.context.bool_type(),
            8 => self.context.i8_type(),
            16 => self.context.i16_type(),
            32 => self.context.i32_type(),
            _ => self.context.i64_type(),
        }
        .const_int(value, false)
    }

    /// A 32-bit constant.
    pub fn i32(&self, value: u32) -> Int<'ctx> {
        self.context.i32_type().const_int(value.into(), false)
    }

    /// A 64-bit constant.
    pub fn i64(&self, value: u64) -> Int<'ctx> {
        self.context.i64_type().const_int(value, false)
    }

    /// A pointer type.
    pub fn ptr(&self, space: AddressSpace) -> PointerType<'ctx> {
        self.context.ptr_type(inkwell::AddressSpace::from(space as u16))
    }
}

/// Arithmetic on integers; both operands have one width.
impl<'ctx> Gen<'_, 'ctx> {
    /// `a + b`.
    pub fn add(&self, a: Int<'ctx>, b: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_int_add(a, b, name)?)
    }

    /// `a - b`.
    pub fn sub(&self, a: Int<'ctx>, b: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_int_sub(a, b, name)?)
    }

    /// `a * b`.
    pub fn mul(&self, a: Int<'ctx>, b: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_int_mul(a, b, name)?)
    }

    /// `a & b`.
    pub fn and(&self, a: Int<'ctx>, b: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_and(a, b, name)?)
    }

    /// `a | b`.
    pub fn or(&self, a: Int<'ctx>, b: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_or(a, b, name)?)
    }

    /// `a << bits`.
    pub fn shl(&self, a: Int<'ctx>, bits: u32, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_left_shift(a, a.get_type().const_int(bits.into(), false), name)?)
    }

    /// `a >> bits`, zeros shifted in.
    pub fn lshr(&self, a: Int<'ctx>, bits: u32, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_right_shift(a, a.get_type().const_int(bits.into(), false), false, name)?)
    }

    /// To 64 bits, zero-extended.
    pub fn zext64(&self, a: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_int_z_extend_or_bit_cast(a, self.context.i64_type(), name)?)
    }

    /// The low 32 bits.
    pub fn trunc32(&self, a: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_int_truncate_or_bit_cast(a, self.context.i32_type(), name)?)
    }

    /// A comparison.
    pub fn cmp(&self, predicate: IntPredicate, a: Int<'ctx>, b: Int<'ctx>, name: &str) -> Result<Int<'ctx>> {
        Ok(self.builder.build_int_compare(predicate, a, b, name)?)
    }

    /// `condition ? a : b`.
    pub fn select<V: BasicValue<'ctx>>(
        &self,
        condition: Int<'ctx>,
        a: V,
        b: V,
        name: &str,
    ) -> Result<BasicValueEnum<'ctx>> {
        Ok(self.builder.build_select(condition, a, b, name)?)
    }

    /// An integer as a pointer into `space`.
    pub fn int_to_ptr(&self, a: Int<'ctx>, space: AddressSpace, name: &str) -> Result<PointerValue<'ctx>> {
        Ok(self.builder.build_int_to_ptr(a, self.ptr(space), name)?)
    }
}

/// Control flow.
impl<'ctx> Gen<'_, 'ctx> {
    /// New blocks right after the one being written, in the given order (so the text reads in program order even when
    /// generators nest).
    pub fn blocks<const N: usize>(&self, names: [&str; N]) -> Result<[BasicBlock<'ctx>; N]> {
        let mut after = self.here()?;
        Ok(names.map(|name| {
            after = self.context.insert_basic_block_after(after, name);
            after
        }))
    }

    /// Continues at the end of `block`.
    pub fn at(&self, block: BasicBlock<'ctx>) {
        self.builder.position_at_end(block);
    }

    /// The block being written.
    ///
    /// # Errors
    /// [`Error::Build`] before the first [`Gen::at`].
    pub fn here(&self) -> Result<BasicBlock<'ctx>> {
        self.builder.get_insert_block().ok_or_else(|| Error::Build("the builder has no position".into()))
    }

    /// Jumps to `block`.
    pub fn br(&self, block: BasicBlock<'ctx>) -> Result<()> {
        self.builder.build_unconditional_branch(block)?;
        Ok(())
    }

    /// Jumps to `yes` or `no`.
    pub fn cond_br(&self, condition: Int<'ctx>, yes: BasicBlock<'ctx>, no: BasicBlock<'ctx>) -> Result<()> {
        self.builder.build_conditional_branch(condition, yes, no)?;
        Ok(())
    }

    /// `if condition { body }`, then continues after it.
    pub fn if_then(&self, condition: Int<'ctx>, name: &str, body: impl FnOnce() -> Result<()>) -> Result<()> {
        let [then, done] = self.blocks([name, &format!("{name}.end")])?;
        self.cond_br(condition, then, done)?;
        self.at(then);
        body()?;
        self.br(done)?;
        self.at(done);
        Ok(())
    }

    /// `if condition { body }` with a 64-bit value that is poison where the body did not run.
    pub fn if_value(
        &self,
        condition: Int<'ctx>,
        name: &str,
        body: impl FnOnce() -> Result<Int<'ctx>>,
    ) -> Result<Int<'ctx>> {
        let from = self.here()?;
        let [then, done] = self.blocks([name, &format!("{name}.end")])?;
        self.cond_br(condition, then, done)?;
        self.at(then);
        let value = body()?;
        let last = self.here()?;
        self.br(done)?;
        self.at(done);
        let ty = value.get_type();
        let phi = self.phi(ty, &[(&value, last), (&ty.get_poison(), from)], &format!("{name}.value"))?;
        Ok(phi.as_basic_value().into_int_value())
    }

    /// A phi node with its incoming values.
    pub fn phi<T: BasicType<'ctx>>(
        &self,
        ty: T,
        incoming: &[(&dyn BasicValue<'ctx>, BasicBlock<'ctx>)],
        name: &str,
    ) -> Result<PhiValue<'ctx>> {
        let phi = self.builder.build_phi(ty, name)?;
        phi.add_incoming(incoming);
        Ok(phi)
    }
}

/// Memory.
impl<'ctx> Gen<'_, 'ctx> {
    /// `pointer + bytes`, where `bytes` is an integer value.
    pub fn offset(&self, pointer: PointerValue<'ctx>, bytes: Int<'ctx>, name: &str) -> Result<PointerValue<'ctx>> {
        Ok(raw::gep(self.builder, self.context.i8_type(), pointer, bytes, false, name)?)
    }

    /// `pointer + bytes` for a constant; the result stays inside the object `pointer` points into.
    pub fn field(&self, pointer: PointerValue<'ctx>, bytes: u64, name: &str) -> Result<PointerValue<'ctx>> {
        if bytes == 0 {
            return Ok(pointer);
        }
        Ok(raw::gep(self.builder, self.context.i8_type(), pointer, self.i64(bytes), true, name)?)
    }

    /// `&pointer[index]` for elements of type `element`.
    pub fn element(
        &self,
        pointer: PointerValue<'ctx>,
        element: BasicTypeEnum<'ctx>,
        index: Int<'ctx>,
        name: &str,
    ) -> Result<PointerValue<'ctx>> {
        Ok(raw::gep(self.builder, element, pointer, index, false, name)?)
    }

    /// A stack slot in the entry block, where LLVM promotes it to registers, aligned to `align` bytes.
    pub fn entry_alloca(&self, ty: BasicTypeEnum<'ctx>, align: u32, name: &str) -> Result<PointerValue<'ctx>> {
        let here = self.here()?;
        let entry =
            self.function.get_first_basic_block().ok_or_else(|| Error::Build("the function is empty".into()))?;
        match entry.get_first_instruction() {
            Some(first) => self.builder.position_before(&first),
            None => self.builder.position_at_end(entry),
        }
        let slot = self.builder.build_alloca(ty, name)?;
        set_align(slot.as_instruction_value(), align)?;
        self.at(here);
        Ok(slot)
    }

    /// Says that a loaded integer lies in `least..end`.
    pub fn set_range(&self, load: InstructionValue<'ctx>, least: u64, end: u64) -> Result<()> {
        let bits = self.context.i32_type();
        let node =
            self.context.metadata_node(&[bits.const_int(least, false).into(), bits.const_int(end, false).into()]);
        let kind = raw::metadata_kind(self.context, "range");
        load.set_metadata(node, kind).map_err(|e| Error::Build(format!("range: {e}")))
    }

    /// Says that what a load or store touches is used once.
    pub fn set_nontemporal(&self, access: InstructionValue<'ctx>) -> Result<()> {
        let node = self.context.metadata_node(&[self.i32(1).into()]);
        let kind = raw::metadata_kind(self.context, "nontemporal");
        access.set_metadata(node, kind).map_err(|e| Error::Build(format!("nontemporal: {e}")))
    }

    /// A load of `ty` at `pointer`, aligned to `align` bytes (a power of two).
    pub fn load(
        &self,
        ty: impl BasicType<'ctx>,
        pointer: PointerValue<'ctx>,
        align: u32,
        name: &str,
    ) -> Result<BasicValueEnum<'ctx>> {
        let value = self.builder.build_load(ty, pointer, name)?;
        set_align(value.as_instruction_value(), align)?;
        Ok(value)
    }

    /// A load of memory that nothing writes while the kernel runs.
    pub fn load_invariant(
        &self,
        ty: impl BasicType<'ctx>,
        pointer: PointerValue<'ctx>,
        align: u32,
        name: &str,
    ) -> Result<BasicValueEnum<'ctx>> {
        let value = self.load(ty, pointer, align, name)?;
        if let Some(load) = value.as_instruction_value() {
            self.set_metadata(load, "invariant.load", &[])?;
        }
        Ok(value)
    }

    /// A store of `value`, aligned to `align` bytes.
    pub fn store(
        &self,
        value: impl BasicValue<'ctx>,
        pointer: PointerValue<'ctx>,
        align: u32,
    ) -> Result<InstructionValue<'ctx>> {
        let store = self.builder.build_store(pointer, value)?;
        set_align(Some(store), align)?;
        Ok(store)
    }

    /// An atomic load of 32 or 64 bits.
    pub fn atomic_load(
        &self,
        bits: u32,
        pointer: PointerValue<'ctx>,
        ordering: Ordering,
        scope: Scope,
        name: &str,
    ) -> Result<Int<'ctx>> {
        let ty = self.int(bits, 0).get_type();
        let value = self.load(ty, pointer, bits / 8, name)?;
        self.make_atomic(value.as_instruction_value(), ordering, scope)?;
        Ok(value.into_int_value())
    }

    /// An atomic store of an integer.
    pub fn atomic_store(
        &self,
        value: Int<'ctx>,
        pointer: PointerValue<'ctx>,
        ordering: Ordering,
        scope: Scope,
    ) -> Result<()> {
        let store = self.store(value, pointer, value.get_type().get_bit_width() / 8)?;
        self.make_atomic(Some(store), ordering, scope)
    }

    /// Adds atomically and yields the value from before.
    pub fn atomic_add(
        &self,
        pointer: PointerValue<'ctx>,
        value: Int<'ctx>,
        ordering: Ordering,
        scope: Scope,
        name: &str,
    ) -> Result<Int<'ctx>> {
        let old = self.builder.build_atomicrmw(inkwell::AtomicRMWBinOp::Add, pointer, value, ordering.inkwell())?;
        old.set_name(name);
        if let Some(instruction) = old.as_instruction_value() {
            raw::set_scope(self.context, instruction, scope.0);
        }
        Ok(old)
    }

    /// A fence; at [`Scope::WAVEFRONT`] it costs nothing and only pins the order of memory operations around it.
    pub fn fence(&self, ordering: Ordering, scope: Scope) -> Result<InstructionValue<'ctx>> {
        self.here()?;
        Ok(raw::fence(self.context, self.builder, ordering.llvm(), scope.0))
    }

    fn make_atomic(&self, instruction: Option<InstructionValue<'ctx>>, ordering: Ordering, scope: Scope) -> Result<()> {
        let instruction = instruction.ok_or_else(|| Error::Build("an atomic was folded away".into()))?;
        instruction.set_atomic_ordering(ordering.inkwell()).map_err(|e| Error::Build(e.to_string()))?;
        raw::set_scope(self.context, instruction, scope.0);
        Ok(())
    }

    /// Attaches a metadata node of strings (possibly none) to an instruction.
    pub fn set_metadata(&self, instruction: InstructionValue<'ctx>, kind: &str, strings: &[&str]) -> Result<()> {
        let strings: Vec<_> = strings.iter().map(|s| self.context.metadata_string(s).into()).collect();
        let node = self.context.metadata_node(&strings);
        instruction
            .set_metadata(node, raw::metadata_kind(self.context, kind))
            .map_err(|e| Error::Build(format!("metadata {kind}: {e}")))
    }
}

/// Calls.
impl<'ctx> Gen<'_, 'ctx> {
    /// Calls an LLVM intrinsic; `overloads` are the types that its name varies over. `None` for a void intrinsic.
    ///
    /// The caller has checked that the processor has it: LLVM *aborts* on one that it cannot select.
    ///
    /// # Errors
    /// [`Error::Build`] if LLVM has no intrinsic of this name.
    pub fn intrinsic(
        &self,
        name: &str,
        overloads: &[BasicTypeEnum<'ctx>],
        arguments: &[BasicMetadataValueEnum<'ctx>],
        result: &str,
    ) -> Result<Option<BasicValueEnum<'ctx>>> {
        let missing = || Error::Build(format!("LLVM has no intrinsic {name}"));
        let intrinsic = Intrinsic::find(name).ok_or_else(missing)?;
        let overloads = if intrinsic.is_overloaded() { overloads } else { &[] };
        let declaration = intrinsic.get_declaration(self.module, overloads).ok_or_else(missing)?;
        let call = self.builder.build_call(declaration, arguments, "")?;
        let value = call.try_as_basic_value().basic();
        if let Some(value) = value {
            value.set_name(result);
        }
        Ok(value)
    }

    /// [`Gen::intrinsic`] for one that yields an integer.
    pub fn int_intrinsic(
        &self,
        name: &str,
        overloads: &[BasicTypeEnum<'ctx>],
        arguments: &[BasicMetadataValueEnum<'ctx>],
        result: &str,
    ) -> Result<Int<'ctx>> {
        match self.intrinsic(name, overloads, arguments, result)? {
            Some(BasicValueEnum::IntValue(value)) => Ok(value),
            _ => Err(Error::Build(format!("{name} does not yield an integer"))),
        }
    }

    /// Marks the function as containing operations that must not be made control-dependent on more than they are.
    pub fn mark_convergent(&self) {
        let kind = Attribute::get_named_enum_kind_id("convergent");
        self.function.add_attribute(AttributeLoc::Function, self.context.create_enum_attribute(kind, 0));
    }
}

fn set_align(instruction: Option<InstructionValue<'_>>, align: u32) -> Result<()> {
    match instruction {
        Some(instruction) => instruction.set_alignment(align).map_err(|e| Error::Build(e.to_string())),
        None => Ok(()),
    }
}
