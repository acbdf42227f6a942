//! Registers: how many the `local` buffers of a kernel take in each thread, and a warning where that is more than there are.
//!
//! Must hold: a lower bound. Addresses and values in flight come on top, so a kernel that is warned about spills, while one
//! that is not may still do so.

use tilewright_ir::interp::storage_bytes;
use tilewright_ir::{Block, BufferTy, Code, Diagnostic, Kernel, Space, Span, StmtKind};
use tilewright_target::Target;

/// Registers of 32 bits that buffers take at once in a thread, and the place of the largest of those.
#[derive(Clone, Copy, Default)]
struct Need {
    registers: i64,
    largest: i64,
    at: Option<Span>,
}

impl Need {
    /// Both at once.
    fn and(self, other: Need) -> Need {
        let larger = if other.largest > self.largest { other } else { self };
        Need { registers: self.registers.saturating_add(other.registers), ..larger }
    }

    /// One after the other.
    fn or(self, other: Need) -> Need {
        if other.registers > self.registers { other } else { self }
    }
}

/// The warning about a kernel whose buffers do not fit the registers of a thread.
pub(crate) fn warn(kernel: &Kernel, target: &Target) -> Option<Diagnostic> {
    let threads = kernel.launch.threads()?;
    let (need, limit) = (of_block(&kernel.body), i64::from(target.registers_per_thread(threads)));
    if need.registers <= limit {
        return None;
    }
    let message = format!(
        "`local` buffers of `{}` take at least {} registers a thread; {} has {limit} for each of {threads} threads",
        kernel.name, need.registers, target.name
    );
    let d = Diagnostic::warning(Code::REGISTERS, need.at.unwrap_or(kernel.span), message);
    Some(
        d.help("the rest is kept in memory, which is slow: spread the tile over more threads, or work on smaller ones"),
    )
}

/// What the buffers of a block and of the blocks in it take at most at one time.
fn of_block(block: &Block) -> Need {
    let (mut own, mut inner) = (Need::default(), Need::default());
    for stmt in block {
        match &stmt.kind {
            StmtKind::Alloc(alloc) if alloc.space == Space::Local => {
                let bytes = storage_bytes(&BufferTy::from(alloc), &|_| None).unwrap_or(0);
                let registers = bytes.saturating_add(3) / 4;
                own = own.and(Need { registers, largest: registers, at: Some(stmt.span) });
            }
            StmtKind::For { body, .. } => inner = inner.or(of_block(body)),
            StmtKind::If { then, els, .. } => {
                inner = inner.or(of_block(then)).or(els.as_ref().map_or(Need::default(), of_block));
            }
            _ => {}
        }
    }
    own.and(inner)
}
