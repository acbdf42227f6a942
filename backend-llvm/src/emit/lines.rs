//! Line tables: which line of the source an instruction stems from, so that a simulator or a debugger can name it.
//!
//! Must hold: only lines are told, no types or variables; the tables change no instruction; nothing of the machine that
//! compiles (folders, times) goes into them.

use inkwell::context::Context;
use inkwell::debug_info::{
    AsDIScope, DICompileUnit, DIFlags, DIFlagsConstants, DIScope, DWARFEmissionKind, DWARFSourceLanguage,
    DebugInfoBuilder,
};
use inkwell::module::{FlagBehavior, Module};
use inkwell::values::FunctionValue;
use tilewright_ir::Span;

use crate::generator::Gen;

/// The text that spans point into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Source<'s> {
    /// Its name, as it is to be shown.
    pub file: &'s str,
    /// The text.
    pub text: &'s str,
}

/// The table of a module under construction.
pub(super) struct Lines<'ctx> {
    context: &'ctx Context,
    builder: DebugInfoBuilder<'ctx>,
    unit: DICompileUnit<'ctx>,
    /// Byte at which each line begins.
    starts: Vec<u32>,
    /// The kernel that is being written.
    scope: Option<DIScope<'ctx>>,
}

impl<'ctx> Lines<'ctx> {
    pub(super) fn new(context: &'ctx Context, module: &Module<'ctx>, source: Source<'_>) -> Self {
        // The version of the metadata that this LLVM reads; without it LLVM strips them.
        let version = context.i32_type().const_int(inkwell::debug_info::debug_metadata_version().into(), false);
        module.add_basic_value_flag("Debug Info Version", FlagBehavior::Warning, version);
        let (builder, unit) = module.create_debug_info_builder(
            true,
            // DWARF has no number for tile programs; C is what every reader knows.
            DWARFSourceLanguage::C,
            source.file,
            "",
            "tilewright",
            true,
            "",
            0,
            "",
            DWARFEmissionKind::LineTablesOnly,
            0,
            false,
            false,
            "",
            "",
        );
        let ends = source.text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(ends.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX))).collect();
        Lines { context, builder, unit, starts, scope: None }
    }

    /// Line and column of a span's first byte, counted from 1; 0 where there is no place.
    fn place(&self, span: Span) -> (u32, u32) {
        // Spans take no part in equality: `==` would not do.
        if span.is_none() {
            return (0, 0);
        }
        let line = self.starts.partition_point(|start| *start <= span.lo);
        let column = span.lo - self.starts[line - 1] + 1;
        (u32::try_from(line).unwrap_or(0), column)
    }

    /// Begins a kernel: what is generated up to its first statement belongs to its head.
    pub(super) fn begin(&mut self, g: &Gen<'_, 'ctx>, function: FunctionValue<'ctx>, name: &str, span: Span) {
        let (line, _) = self.place(span);
        let file = self.unit.get_file();
        let ty = self.builder.create_subroutine_type(file, None, &[], DIFlags::PUBLIC);
        let scope = self.unit.as_debug_info_scope();
        let kernel =
            self.builder.create_function(scope, name, None, file, line, ty, false, true, line, DIFlags::PUBLIC, true);
        function.set_subprogram(kernel);
        self.scope = Some(kernel.as_debug_info_scope());
        self.at(g, span);
    }

    /// What is generated from here on belongs to this place. A statement that a pass made without a place stays with the
    /// one before.
    pub(super) fn at(&self, g: &Gen<'_, 'ctx>, span: Span) {
        let (line, column) = self.place(span);
        if let (Some(scope), true) = (self.scope, line > 0) {
            g.builder.set_current_debug_location(self.builder.create_debug_location(
                self.context,
                line,
                column,
                scope,
                None,
            ));
        }
    }

    /// Completes the table; before the module is verified.
    pub(super) fn finish(&self) {
        self.builder.finalize();
    }
}
