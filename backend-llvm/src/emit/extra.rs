//! Lowerings that an out-of-tree crate brings along for ops of its own, and the small builder they are written with.
//!
//! Must hold: an op of the neutral table is never replaced (the emitter asks its own first); everything a lowering
//! can build is typed and passes LLVM's verifier before LLVM works with it; no intrinsic can be named here, since LLVM
//! aborts on one that it cannot select. A lowering gets no state, so the same module gives the same code.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use inkwell::types::BasicType;
use inkwell::values::{BasicMetadataValueEnum, BasicValue, BasicValueEnum};
use tilewright_ir::{DType, PrimOp, Space, Span};
use tilewright_target::{Target, Vendor};

use super::{Emitter, Result, arg_expr, arg_place};
use crate::error::Error;

/// Writes the instructions of one op.
pub type Lower = dyn Fn(&mut OpBuilder<'_, '_, '_, '_>) -> Result<()> + Send + Sync;

/// Lowerings by the op's name.
#[derive(Clone, Default)]
pub struct Lowerings {
    ops: BTreeMap<String, Arc<Lower>>,
}

impl fmt::Debug for Lowerings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.ops.keys()).finish()
    }
}

impl Lowerings {
    /// Adds (or replaces) the lowering of an op.
    pub fn add(
        &mut self,
        op: &str,
        lower: impl Fn(&mut OpBuilder<'_, '_, '_, '_>) -> Result<()> + Send + Sync + 'static,
    ) {
        self.ops.insert(op.to_owned(), Arc::new(lower));
    }

    /// All of `other` as well; where both have an op, `other`'s is taken.
    pub fn extend(&mut self, other: &Lowerings) {
        self.ops.extend(other.ops.iter().map(|(op, lower)| (op.clone(), lower.clone())));
    }

    /// Names of the ops, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.ops.keys().map(String::as_str)
    }

    pub(super) fn find(&self, op: &str) -> Option<Arc<Lower>> {
        self.ops.get(op).cloned()
    }
}

/// How an access uses the caches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    /// As the chip does by default.
    Plain,
    /// `!nontemporal`: used once. AMD GPUs have bits for it in their memory instructions. For the cache operators of PTX
    /// write the instruction: [`OpBuilder::ptx`].
    NonTemporal,
}

/// Bits in registers: an integer of 8, 16, 32 or 64 bits, or several words of 32.
#[derive(Clone, Copy, Debug)]
pub struct Bits<'ctx>(BasicValueEnum<'ctx>);

impl Bits<'_> {
    /// Number of bits.
    pub fn width(&self) -> u32 {
        match self.0 {
            BasicValueEnum::IntValue(v) => v.get_type().get_bit_width(),
            BasicValueEnum::VectorValue(v) => 32 * v.get_type().get_size(),
            _ => 0,
        }
    }
}

/// Builds the instructions of one op. Operands are numbered from 0 as in the op's row.
pub struct OpBuilder<'e, 'k, 'a, 'ctx> {
    pub(super) e: &'e mut Emitter<'k, 'a, 'ctx>,
    pub(super) op: &'e PrimOp,
    pub(super) span: Span,
}

/// What the op says.
impl<'ctx> OpBuilder<'_, '_, '_, 'ctx> {
    /// The chip.
    pub fn target(&self) -> &Target {
        self.e.target
    }

    /// An integer attribute.
    pub fn attr_int(&self, name: &str) -> Option<i64> {
        self.op.attr_int(name)
    }

    /// A boolean attribute, false if it is not written.
    pub fn attr_bool(&self, name: &str) -> bool {
        self.op.attr_bool(name)
    }

    /// A word.
    pub fn attr_word(&self, name: &str) -> Option<&str> {
        self.op.attr_sym(name)
    }

    /// Memory space and element type of place operand `n`.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no such operand.
    pub fn place_type(&self, n: usize) -> Result<(Space, DType)> {
        let place = arg_place(self.op, n, self.span)?;
        self.e.buffer_type(&place.buf, self.span).map(|ty| (ty.space, ty.dtype))
    }

    /// The refusal of something that this target does not have: one sentence.
    pub fn refuse(&self, message: impl Into<String>) -> Error {
        Error::unsupported(self.span, message)
    }

    fn malformed(&self, message: impl fmt::Display) -> Error {
        Error::malformed(self.span, format!("`{}`: {message}", self.op.op.as_str()))
    }
}

/// Values.
impl<'ctx> OpBuilder<'_, '_, '_, 'ctx> {
    /// Scalar operand `n` as 64 bits.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no such operand.
    pub fn index(&mut self, n: usize) -> Result<Bits<'ctx>> {
        let expr = arg_expr(self.op, n, self.span)?;
        Ok(Bits(self.e.index(expr)?.into()))
    }

    /// The address of place operand `n`, which lies in device memory, as 64 bits.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no such operand or it lies elsewhere.
    pub fn address(&mut self, n: usize) -> Result<Bits<'ctx>> {
        let place = arg_place(self.op, n, self.span)?;
        Ok(Bits(self.e.place_address(place)?.into()))
    }

    /// Loads `bytes` (1, 2, 4, 8 or 16) at place operand `n`, which is aligned to `align` bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no such operand or size.
    pub fn load(&mut self, n: usize, bytes: u32, align: u32, hint: Hint) -> Result<Bits<'ctx>> {
        let (pointer, ty, align) = self.access(n, bytes, align)?;
        let value = self.e.g.load(ty, pointer, align, "moved")?;
        if let (Hint::NonTemporal, Some(load)) = (hint, value.as_instruction_value()) {
            self.e.g.set_nontemporal(load)?;
        }
        let plain = self.e.plain_type(bytes);
        Ok(Bits(self.e.g.builder.build_bit_cast(value, plain, "bits")?))
    }

    /// Stores a value at place operand `n`, which is aligned to `align` bytes.
    ///
    /// # Errors
    /// [`Error::Malformed`] if there is no such operand.
    pub fn store(&mut self, n: usize, value: Bits<'ctx>, align: u32, hint: Hint) -> Result<()> {
        let (pointer, ty, align) = self.access(n, value.width() / 8, align)?;
        let value = self.e.g.builder.build_bit_cast(value.0, ty, "elements")?;
        let store = self.e.g.store(value, pointer, align)?;
        if hint == Hint::NonTemporal {
            self.e.g.set_nontemporal(store)?;
        }
        Ok(())
    }

    /// Pointer, type and alignment of an access of `bytes` bytes.
    fn access(
        &mut self,
        n: usize,
        bytes: u32,
        align: u32,
    ) -> Result<(inkwell::values::PointerValue<'ctx>, inkwell::types::BasicTypeEnum<'ctx>, u32)> {
        if !matches!(bytes, 1 | 2 | 4 | 8 | 16) || !align.is_power_of_two() {
            return Err(self.malformed(format_args!("{bytes} bytes aligned to {align} are no access")));
        }
        let place = arg_place(self.op, n, self.span)?;
        let (buffer, pointer) = self.e.place_pointer(place)?;
        // Registers are accessed by their element type, so that LLVM can promote them.
        Ok(match buffer.space {
            Space::Local => (pointer, self.e.vector_type(buffer.dtype, bytes), buffer.dtype.bits().div_ceil(8)),
            _ => (pointer, self.e.plain_type(bytes), align),
        })
    }

    /// Cuts a value into its 32-bit words, the lowest first; a value of up to 64 bits without words stays one.
    ///
    /// # Errors
    /// [`Error::Build`] if LLVM refuses.
    pub fn words(&mut self, value: Bits<'ctx>) -> Result<Vec<Bits<'ctx>>> {
        let BasicValueEnum::VectorValue(vector) = value.0 else { return Ok(vec![value]) };
        let count = vector.get_type().get_size();
        let word = |i: u32| Ok(Bits(self.e.g.builder.build_extract_element(vector, self.e.g.i32(i), "word")?));
        (0..count).map(word).collect()
    }

    /// Joins 32-bit words, the lowest first; a single value stays as it is.
    ///
    /// # Errors
    /// [`Error::Malformed`] if several values are not all of 32 bits.
    pub fn join(&mut self, words: &[Bits<'ctx>]) -> Result<Bits<'ctx>> {
        if let [one] = words {
            return Ok(*one);
        }
        if words.is_empty() || words.iter().any(|w| !matches!(w.0, BasicValueEnum::IntValue(_)) || w.width() != 32) {
            return Err(self.malformed("only words of 32 bits can be joined"));
        }
        let g = &self.e.g;
        let mut all = g.context.i32_type().vec_type(words.len() as u32).get_poison();
        for (i, word) in words.iter().enumerate() {
            all = g.builder.build_insert_element(all, word.0, g.i32(i as u32), "joined")?;
        }
        Ok(Bits(all.into()))
    }

    /// One or more PTX instructions as text. `$0`, `$1`, … are first the results, of the given widths (16, 32 or 64
    /// bits), then the inputs (integers of these widths). They are kept where they are, and taken to access memory.
    ///
    /// LLVM does not read the text; ptxas does, later. Ask the target first for what the instruction needs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] on a target that is not NVIDIA's; [`Error::Malformed`] for other widths.
    pub fn ptx(&mut self, text: &str, results: &[u32], inputs: &[Bits<'ctx>]) -> Result<Vec<Bits<'ctx>>> {
        if self.e.target.vendor != Vendor::Nvidia {
            let message = format!("`{}` is written in PTX, which {} does not know", self.op.op, self.e.target.name);
            return Err(self.refuse(message));
        }
        let letter = |bits: u32| match bits {
            16 => Some("h"),
            32 => Some("r"),
            64 => Some("l"),
            _ => None,
        };
        let mut constraints = Vec::new();
        for bits in results {
            let letter = letter(*bits).ok_or_else(|| self.malformed(format_args!("PTX has no {bits}-bit result")))?;
            constraints.push(format!("={letter}"));
        }
        for input in inputs {
            let known = matches!(input.0, BasicValueEnum::IntValue(_)).then(|| letter(input.width())).flatten();
            constraints.push(known.ok_or_else(|| self.malformed("an input of PTX is one register"))?.to_owned());
        }
        constraints.push("~{memory}".to_owned());
        let g = &self.e.g;
        let types: Vec<_> = results.iter().map(|bits| g.int_type(*bits).as_basic_type_enum()).collect();
        let parameters: Vec<_> = inputs.iter().map(|v| v.0.get_type().into()).collect();
        let function = match types.as_slice() {
            [] => g.context.void_type().fn_type(&parameters, false),
            [one] => one.fn_type(&parameters, false),
            many => g.context.struct_type(many, false).fn_type(&parameters, false),
        };
        let asm =
            g.context.create_inline_asm(function, text.to_owned(), constraints.join(","), true, false, None, false);
        let arguments: Vec<BasicMetadataValueEnum> = inputs.iter().map(|v| v.0.into()).collect();
        let call = g.builder.build_indirect_call(function, asm, &arguments, "")?;
        match (call.try_as_basic_value().basic(), results.len()) {
            (Some(BasicValueEnum::StructValue(all)), n) => {
                let part = |i| Ok(Bits(g.builder.build_extract_value(all, i as u32, "result")?));
                (0..n).map(part).collect()
            }
            (one, _) => Ok(one.map(Bits).into_iter().collect()),
        }
    }
}
