//! Making modules from Rust, with the same result as from text.
//!
//! Buffers, signals and tokens are given by name; values are `Val`s, which know the operators. Must hold: what `build`
//! returns can be written as text and read back the same; a name that no text can hold is an error, never a panic.
//!
//! ```
//! use tilewright_ir::builder::{KernelBuilder, tile};
//! use tilewright_ir::{DType, Scope};
//!
//! let kernel = KernelBuilder::new("double_copy")
//!     .global("a", DType::F32, [32, 32])
//!     .global("b", DType::F32, [32, 32])
//!     .launch([1], [128])
//!     .body(|b| {
//!         b.shared("stage", DType::F32, [32, 32]).layout("S[(32,32):(36,1)]");
//!         b.copy("stage", "a").by(Scope::Cta);
//!         b.sync(Scope::Cta);
//!         b.copy(tile("b").range(0, 32).all(), "stage").by(Scope::Cta);
//!     })
//!     .build()?;
//! assert_eq!(kernel.body.len(), 4);
//! # Ok::<(), tilewright_ir::builder::BuildError>(())
//! ```

mod body;
mod run;
mod val;

pub use body::{AllocBuilder, BodyBuilder, IfBuilder, TileBuilder, WaitBuilder};
pub use run::RunBuilder;
pub use val::{Elem, Tile, Val, cast, elem, lsa, lsa_rank, lsa_size, me, select, special, tile, var, world_size};

use crate::dim::Dim;
use crate::dtype::{DType, ScalarTy};
use crate::layout::Layout;
use crate::module::{BufferTy, Item, Kernel, Launch, Module, Param, ParamTy, WarpWidth, WhereParam};
use crate::name::Name;
use crate::space::Space;
use crate::span::Span;
use crate::stmt::Block;
use crate::text;

/// Why a kernel or run block cannot be built.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum BuildError {
    /// A name that no `.tile` file can hold.
    #[error("`{name}` cannot name {what}: names are words of letters, digits and `_` that are not reserved")]
    BadName {
        /// What it was to name.
        what: &'static str,
        /// The text given.
        name: String,
    },
    /// A layout whose text is wrong.
    #[error("layout `{text}`: {message}")]
    BadLayout {
        /// The text given.
        text: String,
        /// What the parser says.
        message: String,
    },
    /// `layout` or `align` where no buffer parameter precedes.
    #[error("`{0}` must follow the buffer parameter that it belongs to")]
    NoBuffer(&'static str),
    /// A kernel without `launch`.
    #[error("kernel `{0}` has no launch shape")]
    NoLaunch(String),
    /// Something that text cannot say, e.g. a wrong name inside a value.
    #[error("`{item}` cannot be written as text: {message}")]
    NotText {
        /// The kernel.
        item: String,
        /// What the parser says about its text.
        message: String,
    },
}

/// Errors are kept until `build`, so that calls can be chained; the first one counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Errors(Vec<BuildError>);

impl Errors {
    fn push(&mut self, error: BuildError) {
        self.0.push(error);
    }

    /// The name, checked.
    fn name(&mut self, what: &'static str, name: &str) -> Name {
        if !text::is_name(name) {
            self.push(BuildError::BadName { what, name: name.to_owned() });
        }
        Name::new(name)
    }

    fn layout(&mut self, text: &str) -> Layout {
        text::parse_layout(text).unwrap_or_else(|errors| {
            let message = errors.first().map_or_else(String::new, |e| e.message.clone());
            self.push(BuildError::BadLayout { text: text.to_owned(), message });
            Layout::default()
        })
    }

    /// The finished item, if there was no error and its text reads back to it.
    fn finish(self, name: &Name, item: Item) -> Result<Item, BuildError> {
        if let Some(error) = self.0.into_iter().next() {
            return Err(error);
        }
        let module = Module { items: vec![item] };
        let parsed = text::parse(&text::print(&module));
        let message = match parsed.diagnostics.first() {
            Some(d) => d.message.clone(),
            None if parsed.module != module => "it reads back as something else".to_owned(),
            None => String::new(),
        };
        match module.items.into_iter().next() {
            Some(item) if message.is_empty() => Ok(item),
            _ => Err(BuildError::NotText { item: name.to_string(), message }),
        }
    }
}

/// Makes a kernel.
#[derive(Clone, Debug)]
pub struct KernelBuilder {
    name: Name,
    params: Vec<Param>,
    wheres: Vec<WhereParam>,
    launch: Option<Launch>,
    body: Block,
    errors: Errors,
}

impl KernelBuilder {
    /// A kernel with this name.
    pub fn new(name: &str) -> KernelBuilder {
        let mut errors = Errors::default();
        let name = errors.name("a kernel", name);
        KernelBuilder { name, params: Vec::new(), wheres: Vec::new(), launch: None, body: Vec::new(), errors }
    }

    fn param(mut self, name: &str, ty: ParamTy) -> Self {
        let name = self.errors.name("a parameter", name);
        self.params.push(Param { name, ty, hidden: false, span: Span::NONE });
        self
    }

    fn buffer<D: Into<Dim>>(self, name: &str, space: Space, dtype: DType, shape: impl IntoIterator<Item = D>) -> Self {
        let shape = shape.into_iter().map(Into::into).collect();
        self.param(name, ParamTy::Buffer(BufferTy { space, dtype, shape, layout: None, align: None }))
    }

    /// A communicator.
    #[must_use]
    pub fn devcomm(self, name: &str) -> Self {
        self.param(name, ParamTy::DevComm)
    }

    /// A scalar.
    #[must_use]
    pub fn scalar(self, name: &str, ty: ScalarTy) -> Self {
        self.param(name, ParamTy::Scalar(ty))
    }

    /// A buffer in global memory; extents in elements.
    #[must_use]
    pub fn global<D: Into<Dim>>(self, name: &str, dtype: DType, shape: impl IntoIterator<Item = D>) -> Self {
        self.buffer(name, Space::Global, dtype, shape)
    }

    /// A window; the shape is that of one rank's part, in elements.
    #[must_use]
    pub fn window<D: Into<Dim>>(self, name: &str, dtype: DType, shape: impl IntoIterator<Item = D>) -> Self {
        self.buffer(name, Space::Window, dtype, shape)
    }

    /// The buffer parameter that was given last; an error if there is none.
    fn last_buffer(&mut self, what: &'static str) -> Option<&mut BufferTy> {
        match self.params.last_mut() {
            Some(Param { ty: ParamTy::Buffer(ty), .. }) => Some(ty),
            _ => {
                self.errors.push(BuildError::NoBuffer(what));
                None
            }
        }
    }

    /// Layout of the buffer parameter before, as text.
    #[must_use]
    pub fn layout(mut self, text: &str) -> Self {
        let layout = self.errors.layout(text);
        if let Some(ty) = self.last_buffer("layout") {
            ty.layout = Some(layout);
        }
        self
    }

    /// Alignment of the buffer parameter before, in bytes.
    #[must_use]
    pub fn align(mut self, bytes: u32) -> Self {
        if let Some(ty) = self.last_buffer("align") {
            ty.align = Some(bytes);
        }
        self
    }

    /// A symbolic extent.
    #[must_use]
    pub fn where_(mut self, name: &str, dtype: DType) -> Self {
        let name = self.errors.name("a symbolic extent", name);
        self.wheres.push(WhereParam { name, dtype, span: Span::NONE });
        self
    }

    /// Launch shape: CTAs and threads in x, y, z.
    #[must_use]
    pub fn launch<G: Into<Dim>, B: Into<Dim>>(
        mut self,
        grid: impl IntoIterator<Item = G>,
        block: impl IntoIterator<Item = B>,
    ) -> Self {
        let warp = self.launch.as_ref().map_or(WarpWidth::Target, |l| l.warp);
        self.launch = Some(Launch {
            grid: grid.into_iter().map(Into::into).collect(),
            block: block.into_iter().map(Into::into).collect(),
            warp,
            span: Span::NONE,
        });
        self
    }

    /// Lanes of a warp, 32 or 64, instead of the target's own; after `launch`.
    #[must_use]
    pub fn warp(mut self, lanes: u32) -> Self {
        match &mut self.launch {
            Some(launch) => launch.warp = WarpWidth::Lanes(lanes),
            None => self.errors.push(BuildError::NoLaunch(self.name.to_string())),
        }
        self
    }

    /// Adds the statements that `f` makes.
    #[must_use]
    pub fn body(mut self, f: impl FnOnce(&mut BodyBuilder)) -> Self {
        self.body.extend(body::build(&mut self.errors, f));
        self
    }

    /// The kernel.
    ///
    /// # Errors
    /// The first thing that was wrong. Types, shapes and scopes are the verifier's business.
    pub fn build(self) -> Result<Kernel, BuildError> {
        let Some(launch) = self.launch else {
            let missing = BuildError::NoLaunch(self.name.to_string());
            return Err(self.errors.0.into_iter().next().unwrap_or(missing));
        };
        let KernelBuilder { name, params, wheres, body, errors, .. } = self;
        let kernel = Kernel { name: name.clone(), params, wheres, launch, body, span: Span::NONE };
        match errors.finish(&name, Item::Kernel(kernel))? {
            Item::Kernel(kernel) => Ok(kernel),
            Item::Run(_) => Err(BuildError::NotText { item: name.to_string(), message: "not a kernel".to_owned() }),
        }
    }
}
