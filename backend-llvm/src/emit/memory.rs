//! Buffers: where they live, and access to their elements.
//!
//! Must hold: every access carries an explicit alignment; shared buffers are aligned to 16 bytes at least; elements below
//! a byte are packed, the first in the low bits, and writing one leaves its neighbour; registers (`local`) are stack
//! slots in the entry block whose accesses all have the element's type, so that LLVM can promote them.

use std::collections::BTreeMap;

use inkwell::module::Linkage;
use inkwell::types::{BasicType, BasicTypeEnum};
use inkwell::values::{BasicValue, BasicValueEnum, PointerValue};
use tilewright_ir::stmt::{Alloc, walk_block};
use tilewright_ir::{
    BinOp, BufferTy, DType, Expr, ExprKind, Kernel, Name, Place, PlaceIndex, ScalarTy, Space, Span, Special, StmtKind,
};
use tilewright_target::mori_abi::window_device;

use super::scalar::Value;
use super::scope::{Buffer, Meaning};
use super::{Emitter, Error, Result, TargetHooks};
use crate::generator::{Gen, Int};
use crate::vocabulary::AddressSpace;

/// Least alignment of a shared or local buffer in bytes: the widest access.
const LEAST_ALIGN: u32 = 16;

/// Most bytes of registers one thread may ask for: more is a mistake, and LLVM would take for ever over it.
const MOST_LOCAL_BYTES: u64 = 1 << 16;

/// Where the shared buffers of a kernel go.
pub(crate) struct Allocator<'ctx> {
    /// All of them in one dynamic symbol, with the next free offset; `None`: a symbol each.
    dynamic: Option<(PointerValue<'ctx>, u64)>,
    /// Storage of each allocation by the address of its statement: a body that is repeated has one all the same.
    made: BTreeMap<usize, PointerValue<'ctx>>,
}

/// Bytes that a buffer's own memory takes.
fn bytes_of(ty: &BufferTy, span: Span) -> Result<u64> {
    let elements = ty
        .layout()
        .storage_elems(&ty.shape)
        .map_err(|e| Error::malformed(span, e.to_string()))?
        .as_const()
        .ok_or_else(|| Error::malformed(span, "a buffer made in a kernel has a constant size"))?;
    let bytes = ty.dtype.bytes_for(elements).and_then(|bytes| u64::try_from(bytes).ok());
    bytes.filter(|bytes| *bytes <= 1 << 32).ok_or_else(|| Error::malformed(span, "a buffer's size is out of range"))
}

fn align_of(ty: &BufferTy) -> u32 {
    ty.align.unwrap_or(LEAST_ALIGN).max(LEAST_ALIGN)
}

/// Bytes of shared memory that a kernel's blocks use, with every buffer at its alignment in the order of the text.
///
/// # Errors
/// [`Error::Malformed`] for sizes that are not constant.
pub fn shared_bytes(kernel: &Kernel) -> Result<u64> {
    let mut end: u64 = 0;
    let mut result = Ok(());
    walk_block(&kernel.body, &mut |stmt| {
        if let StmtKind::Alloc(alloc) = &stmt.kind
            && alloc.space == Space::Shared
        {
            let ty = BufferTy::from(alloc);
            match bytes_of(&ty, stmt.span) {
                Ok(bytes) => end = end.next_multiple_of(align_of(&ty).into()) + bytes,
                Err(e) => result = Err(e),
            }
        }
    });
    result.map(|()| end)
}

impl<'ctx> Allocator<'ctx> {
    pub(crate) fn new(g: &Gen<'_, 'ctx>, kernel: &Kernel, hooks: &dyn TargetHooks) -> Result<Self> {
        let total = shared_bytes(kernel)?;
        if hooks.dynamic_shared_above().is_none_or(|limit| total <= limit) {
            return Ok(Allocator { dynamic: None, made: BTreeMap::new() });
        }
        let bytes = g.context.i8_type().array_type(0);
        // The name goes into the object as it is, and PTX knows no dots.
        let name = format!("tw_shared_{}", kernel.name.as_str());
        let symbol = g.module.add_global(bytes, Some(inkwell::AddressSpace::from(AddressSpace::Shared as u16)), &name);
        symbol.set_linkage(Linkage::External);
        symbol.set_alignment(LEAST_ALIGN.max(128));
        Ok(Allocator { dynamic: Some((symbol.as_pointer_value(), 0)), made: BTreeMap::new() })
    }
}

/// Address of the first byte of `rank`'s part of a window; `None`: this rank's, by the window's own field. `window` is a
/// `ccoWindow_t`: a global pointer to a `ccoWindowDevice`. `rank` is 32-bit.
///
/// # Errors
/// [`Error::Build`] only.
pub fn window_pointer<'ctx>(
    g: &Gen<'_, 'ctx>,
    window: PointerValue<'ctx>,
    rank: Option<Int<'ctx>>,
) -> Result<PointerValue<'ctx>> {
    let base = g.load_invariant(g.ptr(AddressSpace::Global), window, 8, "win_base")?;
    let upper = rank_offset(g, window, rank)?;
    let upper = g.shl(g.zext64(upper, "")?, 32, "rank_offset")?;
    g.offset(base.into_pointer_value(), upper, "rank_base")
}

/// How far the part of a rank lies from rank 0's, in units of 2^32 bytes.
fn rank_offset<'ctx>(g: &Gen<'_, 'ctx>, window: PointerValue<'ctx>, rank: Option<Int<'ctx>>) -> Result<Int<'ctx>> {
    let i32_ty = g.context.i32_type();
    let stride = g.load_invariant(i32_ty, g.field(window, window_device::STRIDE_4G.into(), "")?, 4, "stride_4g")?;
    let rank = match rank {
        Some(rank) => rank,
        None => {
            let at = g.field(window, window_device::LSA_RANK.into(), "")?;
            g.load_invariant(i32_ty, at, 4, "win_rank")?.into_int_value()
        }
    };
    // rank * stride * 2^32 touches the upper half only, so 32-bit arithmetic is enough.
    g.mul(rank, stride.into_int_value(), "rank_stride")
}

/// As [`window_pointer`], as a number: only the upper half is added to, which an addition of 64 bits would not see.
fn window_address<'ctx>(g: &Gen<'_, 'ctx>, window: PointerValue<'ctx>, rank: Option<Int<'ctx>>) -> Result<Int<'ctx>> {
    let base = g.load_invariant(g.context.i64_type(), window, 8, "win_base")?.into_int_value();
    let upper = g.trunc32(g.lshr(base, 32, "")?, "win_base.hi")?;
    let upper = g.add(upper, rank_offset(g, window, rank)?, "rank_base.hi")?;
    let low = g.zext64(g.trunc32(base, "win_base.lo")?, "")?;
    g.or(g.shl(g.zext64(upper, "")?, 32, "")?, low, "rank_base")
}

impl<'ctx> Emitter<'_, '_, 'ctx> {
    /// `shared x: …;` or `local x: …;`.
    pub(crate) fn alloc(&mut self, alloc: &Alloc, span: Span) -> Result<()> {
        let ty = BufferTy::from(alloc);
        let bytes = bytes_of(&ty, span)?;
        let statement = std::ptr::from_ref(alloc).addr();
        let pointer = match (self.memory.made.get(&statement), alloc.space) {
            (Some(made), _) => *made,
            (None, Space::Shared) => self.alloc_shared(alloc, bytes, align_of(&ty), span)?,
            (None, Space::Local) => self.alloc_local(alloc, bytes, span)?,
            (None, other) => return Err(Error::malformed(span, format!("a kernel makes no {other} buffer"))),
        };
        self.memory.made.insert(statement, pointer);
        self.names.bind(&alloc.name, Meaning::Buffer(Buffer { ty, pointer }));
        Ok(())
    }

    fn alloc_shared(&mut self, alloc: &Alloc, bytes: u64, align: u32, span: Span) -> Result<PointerValue<'ctx>> {
        if let Some((base, end)) = &mut self.memory.dynamic {
            let offset = end.next_multiple_of(align.into());
            *end = offset + bytes;
            return self.g.field(*base, offset, alloc.name.as_str());
        }
        let limit = u64::from(self.target.lds_bytes);
        if bytes > limit {
            let message = format!(
                "`{}` takes {bytes} bytes of shared memory; {} has {limit}",
                alloc.name.as_str(),
                self.target.name
            );
            return Err(Error::unsupported(span, message));
        }
        let ty = self.g.context.i8_type().array_type(bytes as u32);
        let name = format!("{}.{}", self.kernel.name.as_str(), alloc.name.as_str());
        let space = inkwell::AddressSpace::from(AddressSpace::Shared as u16);
        let symbol = self.g.module.add_global(ty, Some(space), &name);
        symbol.set_linkage(Linkage::Internal);
        symbol.set_initializer(&ty.get_poison());
        symbol.set_alignment(align);
        Ok(symbol.as_pointer_value())
    }

    fn alloc_local(&mut self, alloc: &Alloc, bytes: u64, span: Span) -> Result<PointerValue<'ctx>> {
        if bytes > MOST_LOCAL_BYTES {
            let message = format!("`{}` takes {bytes} bytes of registers in each thread", alloc.name.as_str());
            return Err(Error::unsupported(span, message));
        }
        let element = self.g.memory_type(alloc.dtype);
        let count = bytes.div_ceil(u64::from(alloc.dtype.bits().div_ceil(8)));
        let ty = element.array_type(count as u32);
        self.g.entry_alloca(ty.as_basic_type_enum(), LEAST_ALIGN, alloc.name.as_str())
    }

    /// The type of the buffer a place is in, and the place's address; an element below a byte must start one.
    ///
    /// # Errors
    /// [`Error::Malformed`] for logical indices, which lowering replaces.
    pub fn place_pointer(&mut self, place: &Place) -> Result<(BufferTy, PointerValue<'ctx>)> {
        let (buffer, base, index) = self.place_base(place)?;
        let name = format!("{}.at", place.buf.as_str());
        let bits = buffer.dtype.bits();
        if bits == 4 {
            let index = self.index(index)?;
            let pointer = self.g.offset(base, self.g.lshr(index, 1, "byte")?, &name)?;
            return Ok((buffer, pointer));
        }
        let size = u64::from(bits / 8);
        let (varying, constant) = self.split_index(index)?;
        let pointer = match varying {
            Some(index) => self.g.offset(base, self.g.mul(index, self.g.i64(size), "offset")?, &name)?,
            None => base,
        };
        let pointer = match constant.wrapping_mul(size as i64) {
            0 => pointer,
            bytes => self.g.offset(pointer, self.g.i64(bytes as u64), &name)?,
        };
        Ok((buffer, pointer))
    }

    /// An index as what varies plus a constant, so that the accesses of an unrolled loop have one address in common and
    /// differ in the offset of the instruction. LLVM finds that out, too, but in many steps.
    fn split_index(&mut self, index: &Expr) -> Result<(Option<Int<'ctx>>, i64)> {
        if let ExprKind::Binary(BinOp::Add, a, b) = &index.kind
            && (self.is_index(a) || self.is_index(b))
        {
            let ((a, n), (b, m)) = (self.split_index(a)?, self.split_index(b)?);
            let varying = match (a, b) {
                (Some(a), Some(b)) => Some(self.g.add(a, b, "")?),
                (one, other) => one.or(other),
            };
            return Ok((varying, n.wrapping_add(m)));
        }
        let value = self.index(index)?;
        Ok(match value.get_sign_extended_constant() {
            Some(constant) => (None, constant),
            None => (Some(value), 0),
        })
    }

    /// Is the expression known to be of type `index`, by its form? A sum with such an operand is computed in it.
    fn is_index(&self, e: &Expr) -> bool {
        match &e.kind {
            ExprKind::Var(name) => self.names.value(name, e.span).is_ok_and(|v| v.ty == ScalarTy::Index),
            ExprKind::Special(special) => *special != Special::Me,
            ExprKind::Binary(BinOp::Add | BinOp::Sub | BinOp::Mul, a, b) => self.is_index(a) || self.is_index(b),
            _ => false,
        }
    }

    /// The type of a buffer by name.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the name is no buffer here.
    pub fn buffer_type(&self, name: &Name, span: Span) -> Result<BufferTy> {
        self.names.buffer(name, span).map(|buffer| buffer.ty)
    }

    /// The address of a place in device memory as an i64: what copy engines are given.
    ///
    /// # Errors
    /// As [`Emitter::place_pointer`]; [`Error::Malformed`] for places elsewhere.
    pub fn place_address(&mut self, place: &Place) -> Result<Int<'ctx>> {
        let buffer = self.names.buffer(&place.buf, place.span)?;
        if !buffer.ty.space.is_device_memory() {
            return Err(Error::malformed(place.span, "a copy engine reaches device memory only"));
        }
        let bits = buffer.ty.dtype.bits();
        let PlaceIndex::Flat(index) = &place.index else {
            return Err(Error::malformed(place.span, "an element is still named by its logical index"));
        };
        if buffer.ty.space != Space::Window || bits == 4 {
            let pointer = self.place_pointer(place)?.1;
            return Ok(self.g.builder.build_ptr_to_int(pointer, self.g.context.i64_type(), "address")?);
        }
        let rank = place.rank.as_ref().map(|rank| self.rank(rank)).transpose()?;
        let mut address = window_address(&self.g, buffer.pointer, rank)?;
        let (varying, constant) = self.split_index(index)?;
        let size = u64::from(bits / 8);
        if let Some(index) = varying {
            address = self.g.add(address, self.g.mul(index, self.g.i64(size), "offset")?, "address")?;
        }
        self.g.add(address, self.g.i64(constant.wrapping_mul(size as i64) as u64), "address")
    }

    /// The buffer's type, the address of its first element (of the rank that the place names) and the element's number.
    fn place_parts(&mut self, place: &Place) -> Result<(BufferTy, PointerValue<'ctx>, Int<'ctx>)> {
        let (buffer, base, index) = self.place_base(place)?;
        Ok((buffer, base, self.index(index)?))
    }

    /// The same with the element's number as it is written.
    fn place_base<'p>(&mut self, place: &'p Place) -> Result<(BufferTy, PointerValue<'ctx>, &'p Expr)> {
        let buffer = self.names.buffer(&place.buf, place.span)?;
        let PlaceIndex::Flat(index) = &place.index else {
            return Err(Error::malformed(place.span, "an element is still named by its logical index"));
        };
        let base = match (buffer.ty.space, &place.rank) {
            (Space::Window, rank) => {
                let rank = rank.as_ref().map(|rank| self.rank(rank)).transpose()?;
                window_pointer(&self.g, buffer.pointer, rank)?
            }
            (_, None) => buffer.pointer,
            (_, Some(_)) => return Err(Error::malformed(place.span, "only windows have parts of other ranks")),
        };
        Ok((buffer.ty, base, index))
    }

    /// `let x = buf![i];`
    pub(crate) fn load_element(&mut self, place: &Place) -> Result<Value<'ctx>> {
        let (buffer, base, index) = self.place_parts(place)?;
        let ty = ScalarTy::Num(buffer.dtype);
        if buffer.dtype.bits() == 4 {
            let (at, shift) = self.nibble(base, index)?;
            let byte = self.g.load(self.g.context.i8_type(), at, 1, "byte")?.into_int_value();
            let moved = self.g.builder.build_right_shift(byte, shift, false, "")?;
            let half = self.g.builder.build_int_truncate(moved, self.g.int_type(4), "half_byte")?;
            return Ok(Value::new(ty, half));
        }
        let element = self.g.memory_type(buffer.dtype);
        let at = self.element_at(base, element, index, place)?;
        let value = self.g.load(element, at, buffer.dtype.bits() / 8, "")?;
        self.loaded(value, ty)
    }

    /// `buf![i] = value;`
    pub(crate) fn store_element(&mut self, place: &Place, value: &Expr) -> Result<()> {
        let (buffer, base, index) = self.place_parts(place)?;
        let value = self.expr_as(value, ScalarTy::Num(buffer.dtype))?;
        if buffer.dtype.bits() == 4 {
            return self.store_nibble(base, index, value.int()?);
        }
        let stored = self.stored_form(value, buffer.dtype)?;
        let at = self.element_at(base, stored.get_type(), index, place)?;
        self.g.store(stored, at, buffer.dtype.bits() / 8)?;
        Ok(())
    }

    fn element_at(
        &mut self,
        base: PointerValue<'ctx>,
        element: BasicTypeEnum<'ctx>,
        index: Int<'ctx>,
        place: &Place,
    ) -> Result<PointerValue<'ctx>> {
        self.g.element(base, element, index, &format!("{}.at", place.buf.as_str()))
    }

    /// The byte that holds an element of four bits, and how far up it lies.
    fn nibble(&mut self, base: PointerValue<'ctx>, index: Int<'ctx>) -> Result<(PointerValue<'ctx>, Int<'ctx>)> {
        let g = &self.g;
        let at = g.offset(base, g.lshr(index, 1, "byte")?, "byte.at")?;
        let odd = g.builder.build_int_truncate(g.and(index, g.i64(1), "")?, g.context.i8_type(), "odd")?;
        Ok((at, g.shl(odd, 2, "shift")?))
    }

    fn store_nibble(&mut self, base: PointerValue<'ctx>, index: Int<'ctx>, value: Int<'ctx>) -> Result<()> {
        let (at, shift) = self.nibble(base, index)?;
        let g = &self.g;
        let byte_ty = g.context.i8_type();
        let byte = g.load(byte_ty, at, 1, "byte")?.into_int_value();
        let hole = g.builder.build_left_shift(byte_ty.const_int(0x0f, false), shift, "hole")?;
        let kept = g.and(byte, g.builder.build_not(hole, "")?, "kept")?;
        let wide = g.builder.build_int_z_extend(value, byte_ty, "")?;
        let placed = g.builder.build_left_shift(wide, shift, "placed")?;
        g.store(g.or(kept, placed, "merged")?, at, 1)?;
        Ok(())
    }

    /// `vec.copy`: `n` consecutive elements as one access each side.
    pub(crate) fn vec_copy(&mut self, to: &Place, from: &Place, n: u64, align: Option<u32>, span: Span) -> Result<()> {
        let (target, to_at) = self.place_pointer(to)?;
        let (source, from_at) = self.place_pointer(from)?;
        let bits = n * u64::from(source.dtype.bits());
        if source.dtype.bits() != target.dtype.bits() || !matches!(bits, 8 | 16 | 32 | 64 | 128) {
            let message = format!("vec.copy of {n} x {} to {}: {bits} bits are no access", source.dtype, target.dtype);
            return Err(Error::malformed(span, message));
        }
        let bytes = (bits / 8) as u32;
        let in_registers = [&target, &source].into_iter().any(|buffer| buffer.space == Space::Local);
        let ty = if in_registers { self.vector_type(source.dtype, bytes) } else { self.plain_type(bytes) };
        let align_at = |buffer: &BufferTy| match buffer.space {
            Space::Local => buffer.dtype.bits().div_ceil(8),
            _ => align.unwrap_or(bytes),
        };
        let value = self.g.load(ty, from_at, align_at(&source), "moved")?;
        self.g.store(value, to_at, align_at(&target))?;
        Ok(())
    }

    /// Elements of a dtype that take `bytes` bytes, as LLVM knows them: one, or a vector.
    pub(crate) fn vector_type(&self, dtype: DType, bytes: u32) -> BasicTypeEnum<'ctx> {
        let element = self.g.memory_type(dtype);
        match bytes / dtype.bits().div_ceil(8) {
            0 | 1 => element,
            count => match element {
                BasicTypeEnum::FloatType(ty) => ty.vec_type(count).as_basic_type_enum(),
                _ => self.g.int_type(dtype.bits().max(8)).vec_type(count).as_basic_type_enum(),
            },
        }
    }

    /// `bytes` bytes without a type: an integer up to 32 bits, a vector of such above.
    pub(crate) fn plain_type(&self, bytes: u32) -> BasicTypeEnum<'ctx> {
        match bytes {
            1 | 2 | 4 => self.g.int_type(bytes * 8).as_basic_type_enum(),
            _ => self.g.context.i32_type().vec_type(bytes / 4).as_basic_type_enum(),
        }
    }

    /// Loads `bytes` bytes at a place as one integer; for operands of target instructions.
    ///
    /// # Errors
    /// As [`Emitter::place_pointer`].
    pub fn load_bits(&mut self, place: &Place, bits: u32) -> Result<Int<'ctx>> {
        let (buffer, at) = self.place_pointer(place)?;
        let ty = self.vector_type(buffer.dtype, bits / 8);
        let value = self.g.load(ty, at, buffer.dtype.bits().div_ceil(8), "")?;
        Ok(self.g.builder.build_bit_cast(value, self.g.int_type(bits), "bits")?.into_int_value())
    }

    /// Stores an integer's bytes at a place; for results of target instructions.
    ///
    /// # Errors
    /// As [`Emitter::place_pointer`].
    pub fn store_bits(&mut self, place: &Place, value: Int<'ctx>) -> Result<()> {
        let (buffer, at) = self.place_pointer(place)?;
        let ty = self.vector_type(buffer.dtype, value.get_type().get_bit_width() / 8);
        let value: BasicValueEnum<'ctx> = self.g.builder.build_bit_cast(value, ty, "elements")?;
        self.g.store(value.as_basic_value_enum(), at, buffer.dtype.bits().div_ceil(8))?;
        Ok(())
    }
}
