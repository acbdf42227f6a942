//! Extensions: copy variants and ops that a program of its own brings along, without a fork.
//!
//! An [`Extension`] goes into [`Options::extensions`](crate::Options); from there its variants are asked beside the
//! backend's, its ops are known to the verifier and to the passes by their rows, the lane executor runs them and the
//! backends write their instructions. This module also names everything that a variant is written with, so that such a
//! program depends on this crate alone. docs/add-a-copy-variant.md walks through one.
//!
//! Must hold: an op comes with its row, its meaning on the lanes and its lowering together, so that none is missing; a
//! name that is taken is an error before anything is compiled.
//!
//! ```
//! use std::sync::Arc;
//! use tilewright::extension::*;
//! use tilewright::{Options, compile_text};
//!
//! /// Takes no copy at all.
//! struct Never;
//!
//! impl CopyVariant for Never {
//!     fn info(&self) -> VariantInfo {
//!         VariantInfo { name: "never", op: "copy", priority: 10 }
//!     }
//!     fn plan(&self, group: &CopyGroup, _: &Target) -> Result<Candidate, Reject> {
//!         let view = gate::single(group)?;
//!         Err(Reject::Dtype { have: view.dst.dtype(), need: "none that there is" })
//!     }
//! }
//!
//! let extension = Extension::new("example").variant(Never);
//! let options = Options { extensions: vec![Arc::new(extension)], ..Options::default() };
//! let text = "kernel k(a: global<f32>[32], b: global<f32>[32]) launch(grid = [1], block = [32]) { copy b <- a by cta; }";
//! let compiled = compile_text(text, tilewright::target("sm_90a").expect("known"), &options).expect("right");
//! assert_eq!(compiled.report.copies[0].candidates.last().expect("asked").variant, "never");
//! ```

use std::fmt;
use std::sync::Arc;

pub use tilewright_backend_llvm::Error as LowerError;
pub use tilewright_backend_llvm::emit::{Bits, Hint, Lowerings, OpBuilder};
pub use tilewright_ir::op::{ArgKind, AttrKind, AttrRow, OPS, OpRow, Order};
pub use tilewright_ir::{
    AttrValue, Axis, Code, Completion, DType, Diagnostic, Dim, Expr, Layout, Place, PrimArg, Scope, Space, Span,
};
pub use tilewright_lanes::{Intrinsics, LaneCtx};
pub use tilewright_passes::select::partition::{self, gate, plan_elements, plan_vectors, plan_vectors_as};
pub use tilewright_passes::select::{
    Candidate, Conflict, CopyGroup, CopyVariant, CopyView, Emit, Gate, Operand, ParamValue, Queues, Reject, Rewriter,
    VariantInfo,
};
pub use tilewright_target::{Basis, Cost, Target, Vendor};

/// A variant as it is kept.
type Variant = Box<dyn CopyVariant + Send>;

/// What a program of its own brings along.
pub struct Extension {
    name: String,
    variants: Vec<Variant>,
    ops: Vec<OpRow>,
    lanes: Intrinsics,
    lowerings: Lowerings,
}

impl fmt::Debug for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let variants: Vec<&str> = self.variants.iter().map(|v| v.info().name).collect();
        let ops: Vec<&str> = self.ops.iter().map(|row| row.name).collect();
        f.debug_struct("Extension").field("name", &self.name).field("variants", &variants).field("ops", &ops).finish()
    }
}

impl Extension {
    /// An empty one; the name is for messages.
    pub fn new(name: impl Into<String>) -> Extension {
        Extension {
            name: name.into(),
            variants: Vec::new(),
            ops: Vec::new(),
            lanes: Intrinsics::new(),
            lowerings: Lowerings::default(),
        }
    }

    /// Adds a copy variant. It is asked on every target: what it needs of one it says in `plan`. In the report it stands
    /// after the backend's, so that of equals the backend's is taken.
    #[must_use]
    pub fn variant(mut self, variant: impl CopyVariant + Send + 'static) -> Extension {
        self.variants.push(Box::new(variant));
        self
    }

    /// Adds an op: its row (operands, effects, attributes), what it does on the lanes of a warp, and its instructions.
    #[must_use]
    pub fn op(
        mut self,
        row: OpRow,
        lanes: impl Fn(&mut LaneCtx<'_, '_, '_>) -> Result<(), Diagnostic> + Send + Sync + 'static,
        lower: impl Fn(&mut OpBuilder<'_, '_, '_, '_>) -> Result<(), LowerError> + Send + Sync + 'static,
    ) -> Extension {
        self.lanes.add(row.name, lanes);
        self.lowerings.add(row.name, lower);
        self.ops.push(row);
        self
    }
}

/// Everything that is known when compiling for a target: the backend's variants and ops, and those of extensions.
pub struct Known<'a> {
    target: &'a Target,
    variants: Vec<&'a dyn CopyVariant>,
    ops: Vec<OpRow>,
}

impl fmt::Debug for Known<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Known").field("target", &self.target.name).finish_non_exhaustive()
    }
}

impl<'a> Known<'a> {
    /// The backend's, then the extensions' in their order.
    ///
    /// # Errors
    /// If a name is taken.
    pub fn new(target: &'static Target, extensions: &'a [Arc<Extension>]) -> Result<Known<'a>, Vec<Diagnostic>> {
        let mut known = Known { target, variants: crate::backend::variants(target).to_vec(), ops: Vec::new() };
        for extension in extensions {
            for variant in &extension.variants {
                let name = variant.info().name;
                if known.variants.iter().any(|v| v.info().name == name) {
                    return Err(taken(extension, "copy variant", name));
                }
                known.variants.push(&**variant);
            }
            for row in &extension.ops {
                if OPS.iter().chain(&known.ops).any(|r| r.name == row.name) {
                    return Err(taken(extension, "op", row.name));
                }
                known.ops.push(*row);
            }
        }
        Ok(known)
    }

    /// The same for the passes.
    pub fn cx(&self) -> tilewright_passes::pipeline::PassCx<'_> {
        tilewright_passes::pipeline::PassCx {
            target: self.target,
            variants: &self.variants,
            ops: tilewright_ir::OpSet { extra: &self.ops },
        }
    }
}

fn taken(extension: &Extension, what: &str, name: &str) -> Vec<Diagnostic> {
    let message = format!("extension `{}`: the name of its {what} `{name}` is taken", extension.name);
    vec![Diagnostic::error(Code::DUPLICATE_NAME, Span::NONE, message).help("give it a name of its own")]
}

/// What the lane executor does for the ops of the extensions.
pub(crate) fn intrinsics(extensions: &[Arc<Extension>]) -> Intrinsics {
    let mut all = Intrinsics::new();
    extensions.iter().for_each(|e| all.extend(&e.lanes));
    all
}

/// How a backend lowers them.
pub(crate) fn lowerings(extensions: &[Arc<Extension>]) -> Lowerings {
    let mut all = Lowerings::default();
    extensions.iter().for_each(|e| all.extend(&e.lowerings));
    all
}
