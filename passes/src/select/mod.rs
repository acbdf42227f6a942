//! Copy selection: groups, candidates, rejects, report; the engine, neutral between backends.
//!
//! A backend hands over its list of variants. For each copy every variant is asked (a `plan` is cheap and total), so the
//! report can say of each why it won, lost or declined.

pub mod engine;
mod held;
mod pair;
pub mod partition;
pub mod rewriter;
pub mod suggest;
mod together;
pub mod variant;
pub mod view;

pub use engine::time;
pub use rewriter::{Names, Rewriter};
pub use suggest::suggest;
pub use together::together;
pub use variant::{
    Candidate, Conflict, CopyGroup, CopyVariant, CopyView, Emit, Gate, Operand, ParamValue, Queues, Reject, VariantInfo,
};
