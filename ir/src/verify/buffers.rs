//! Buffers. Rules:
//! - extents are constants of at least 1, or expressions over `where` parameters; in `shared` and `local` constants only;
//! - a buffer in device memory takes at most 2^47 bytes (the address space), in shared memory 2^31; a thread's registers of a
//!   `local` buffer at most 64 KiB;
//! - an alignment is a power of two up to 4096 bytes, and at least one element;
//! - a layout is well formed, has the elements of the shape, tells them apart, and names threads that the launch has;
//! - thread axes are for `local` buffers, and an axis that is neither memory nor a thread's is for none.

use super::Checker;
use crate::diag::{Code, Diagnostic};
use crate::dim::Dim;
use crate::env::Entity;
use crate::expr::ExprKind;
use crate::layout::{Axis, Layout, LayoutError};
use crate::module::BufferTy;
use crate::name::Name;
use crate::space::Space;
use crate::span::Span;
use crate::types::{nearest, unknown_name};

/// Bytes a buffer in device memory may take: user address space of x86-64 and of both GPU families.
const MAX_DEVICE_BYTES: i128 = 1 << 47;
/// Bytes a shared buffer may take before its target's real limit is asked (32-bit LDS and shared addresses).
const MAX_SHARED_BYTES: i128 = 1 << 31;
/// Bytes of registers a thread may have in one `local` buffer; no register file comes near (255 x 4 and 512 x 4 bytes).
const MAX_LOCAL_BYTES: i128 = 64 << 10;
/// Largest alignment of a base, in bytes: a page.
const MAX_ALIGN: u32 = 4096;

impl Checker<'_> {
    /// Checks the type of a buffer.
    pub(super) fn buffer(&mut self, name: &Name, ty: &BufferTy, span: Span) {
        if !self.shape(name, ty, span) {
            return;
        }
        if let Some(align) = ty.align
            && (!align.is_power_of_two() || align > MAX_ALIGN)
        {
            let message = format!("alignment {align} of `{name}` is no power of two up to {MAX_ALIGN}");
            self.report(Diagnostic::error(Code::BAD_ATTR, span, message));
        } else if let Some(align) = ty.align
            && align < ty.dtype.bits() / 8
        {
            // One access loads an element: a base that may lie inside one could not be accessed at all.
            let message = format!("alignment {align} of `{name}` is less than one element of {}", ty.dtype);
            self.report(Diagnostic::error(Code::BAD_ATTR, span, message));
        }
        let Some(layout) = &ty.layout else {
            return self.size(name, ty, span);
        };
        if ty.space != Space::Local
            && let Some(axis) = layout.tile.thread_axes().first()
        {
            let message = format!("layout of `{name}` in {} memory uses the thread axis `{axis}`", ty.space);
            let d = Diagnostic::error(Code::BAD_LAYOUT, span, message);
            return self.report(d.help("thread axes say which thread holds an element of a `local` buffer"));
        }
        let tile = &layout.tile;
        let used = tile.shard.iter().chain(&tile.replica).map(|it| &it.axis).chain(tile.offset.keys());
        if let Some(axis) = used.into_iter().find(|a| matches!(a, Axis::Other(_))) {
            let message = format!("layout of `{name}` uses the axis `{axis}`, which is neither memory nor a thread's");
            let d = Diagnostic::error(Code::BAD_LAYOUT, span, message);
            let names = || Axis::NAMED.iter().map(|(_, text)| *text);
            return self.report(match nearest(axis.as_str(), names()) {
                Some(likely) => d.help(format!("did you mean `{likely}`?")),
                None => d.help(format!("the axes of a buffer are {}", names().collect::<Vec<_>>().join(", "))),
            });
        }
        if self.layout(name, ty, layout, span) {
            self.size(name, ty, span);
        }
    }

    /// Extents. False if the rest makes no sense.
    fn shape(&mut self, name: &Name, ty: &BufferTy, span: Span) -> bool {
        let before = self.out.len();
        for extent in &ty.shape {
            match extent.as_const() {
                Some(n) if n < 1 => {
                    let message = format!("extent {n} of `{name}` is less than 1");
                    self.report(Diagnostic::error(Code::BAD_SHAPE, span, message));
                }
                Some(_) => {}
                None if !ty.space.is_device_memory() => {
                    self.dim_names(name, extent, span);
                    if self.out.len() == before {
                        let message = format!("extent `{extent}` of `{name}` is no constant");
                        let help = format!("a buffer in {} memory has constant extents", ty.space);
                        self.report(Diagnostic::error(Code::BAD_SHAPE, span, message).help(help));
                    }
                }
                None => self.dim_names(name, extent, span),
            }
        }
        self.out.len() == before
    }

    /// What an extent, stride or offset may depend on.
    fn dim_names(&mut self, name: &Name, dim: &Dim, span: Span) {
        let mut bad: Option<Diagnostic> = None;
        for atom in dim.atoms() {
            atom.walk(&mut |e| {
                let at = if e.span.is_none() { span } else { e.span };
                let found = match &e.kind {
                    ExprKind::Var(n) => match self.env.lookup(n) {
                        Some(Entity::Where(_)) => None,
                        Some(other) => Some(
                            Diagnostic::error(
                                Code::BAD_SHAPE,
                                at,
                                format!("shape or layout of `{name}` depends on `{n}`, {}", other.describe()),
                            )
                            .help(format!("extents come from `where` parameters: `where({n}: u64)`")),
                        ),
                        None => Some(unknown_name(n, at, &self.env)),
                    },
                    ExprKind::Special(_) | ExprKind::Comm(..) | ExprKind::Float(_) | ExprKind::Bool(_) => {
                        Some(Diagnostic::error(
                            Code::BAD_SHAPE,
                            at,
                            format!("shape or layout of `{name}` depends on more than `where` parameters"),
                        ))
                    }
                    _ => None,
                };
                if bad.is_none() {
                    bad = found;
                }
            });
        }
        self.out.extend(bad);
    }

    /// The layout against shape and launch, for each warp width; wrong only if it is wrong for all.
    fn layout(&mut self, name: &Name, ty: &BufferTy, layout: &Layout, span: Span) -> bool {
        let before = self.out.len();
        let iters = layout.tile.shard.iter().chain(&layout.tile.replica);
        for dim in iters.flat_map(|it| [&it.extent, &it.stride]).chain(layout.tile.offset.values()) {
            if dim.as_const().is_none() {
                self.dim_names(name, dim, span);
            }
        }
        if self.out.len() > before {
            return false;
        }
        let threads = self.kernel.launch.threads().unwrap_or(crate::threads::MAX_THREADS);
        let mut first: Option<LayoutError> = None;
        for set in self.active.first().map_or(&[][..], Vec::as_slice) {
            match layout.verify(&ty.shape, set.warp(), threads) {
                Ok(()) => return true,
                Err(e) => {
                    first.get_or_insert(e);
                }
            }
        }
        let Some(error) = first else { return true };
        let code = match error {
            LayoutError::SizeMismatch { .. } | LayoutError::Straddles { .. } | LayoutError::RankMismatch { .. } => {
                Code::LAYOUT_SHAPE
            }
            _ => Code::BAD_LAYOUT,
        };
        let mut d = Diagnostic::error(code, span, format!("layout of `{name}`: {error}"));
        if code == Code::LAYOUT_SHAPE {
            d = d.help("the extents of the shard iters multiply to the number of elements");
        }
        self.report(d);
        false
    }

    /// Bytes, where they are known.
    fn size(&mut self, name: &Name, ty: &BufferTy, span: Span) {
        let layout = ty.layout();
        let elements = match ty.space {
            Space::Local => match layout.storage_elems(&ty.shape) {
                Ok(n) => n.as_const().map(i128::from),
                Err(_) => Some(i128::MAX / 64),
            },
            _ => {
                // The product of the known extents is a lower bound.
                let known = ty.shape.iter().filter_map(Dim::as_const);
                let product = known.fold(1i128, |p, n| p.saturating_mul(n.into()));
                let reach = match layout.storage_elems(&ty.shape) {
                    Ok(n) => n.as_const().map_or(0, i128::from),
                    Err(_) if layout.tile.shard.iter().all(|it| it.axis == Axis::M) => i128::MAX / 64,
                    Err(_) => 0,
                };
                Some(product.max(reach))
            }
        };
        let bytes = elements.map_or(0, |n| n.saturating_mul(ty.dtype.bits().into()).saturating_add(7) / 8);
        let limit = match ty.space {
            Space::Global | Space::Window => MAX_DEVICE_BYTES,
            Space::Shared => MAX_SHARED_BYTES,
            Space::Local => MAX_LOCAL_BYTES,
        };
        if bytes > limit {
            let (what, holds) = match ty.space {
                Space::Local => (" in each thread", "64 KiB of registers"),
                Space::Shared => ("", "2 GiB of shared memory"),
                Space::Global | Space::Window => ("", "2^47 bytes of device memory"),
            };
            let size = if bytes > i64::MAX.into() { "more than 2^63".to_owned() } else { bytes.to_string() };
            let message = format!("`{name}` takes {size} bytes{what}");
            self.report(Diagnostic::error(Code::BAD_SHAPE, span, message).help(format!("at most {holds}")));
        }
    }
}
