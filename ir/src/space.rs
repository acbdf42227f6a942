//! Memory spaces and execution scopes.

use std::fmt;

/// Where a buffer lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Space {
    /// Device memory of this rank, passed as a kernel argument.
    Global,
    /// Memory of one CTA (CUDA shared memory, AMD LDS).
    Shared,
    /// Registers; each thread has its own storage, the layout's thread axes say which thread holds what.
    Local,
    /// Symmetric memory that every rank of the node can reach. Logical shape: `[lsa_size] + shape`.
    Window,
}

impl Space {
    /// Text form in a `.tile` file.
    pub fn as_str(self) -> &'static str {
        match self {
            Space::Global => "global",
            Space::Shared => "shared",
            Space::Local => "local",
            Space::Window => "window",
        }
    }

    /// Device memory, reached by a 64-bit address: `global` or `window`.
    pub fn is_device_memory(self) -> bool {
        matches!(self, Space::Global | Space::Window)
    }
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The group of threads that executes a tile op together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// Each thread on its own, each with its own region.
    Thread,
    /// A warp; a wave on AMD. Its width is the kernel's warp width.
    Warp,
    /// Four consecutive warps.
    Warpgroup,
    /// All threads of the CTA (workgroup).
    Cta,
}

impl Scope {
    /// All scopes, narrowest first.
    pub const ALL: [Scope; 4] = [Scope::Thread, Scope::Warp, Scope::Warpgroup, Scope::Cta];

    /// Text form in a `.tile` file.
    pub fn as_str(self) -> &'static str {
        match self {
            Scope::Thread => "thread",
            Scope::Warp => "warp",
            Scope::Warpgroup => "warpgroup",
            Scope::Cta => "cta",
        }
    }

    /// The scope with this text form.
    pub fn parse(text: &str) -> Option<Scope> {
        Scope::ALL.into_iter().find(|s| s.as_str() == text)
    }

    /// Threads in one group of this scope: `warp` lanes a warp, `cta` threads a CTA.
    pub fn threads(self, warp: u32, cta: u32) -> u32 {
        match self {
            Scope::Thread => 1,
            Scope::Warp => warp,
            Scope::Warpgroup => 4 * warp,
            Scope::Cta => cta,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
