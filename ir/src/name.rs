//! Names: the identity of variables, buffers, kernels and axes.
//!
//! A name is a shared string; cloning is cheap. Inside a kernel a name that is in scope is never shadowed (the verifier
//! checks it), so passes may compare names instead of keeping numbered ids, and printing needs no renaming.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

/// A name as written in the source text. Ordering is the order of the text.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(Arc<str>);

impl Name {
    /// Makes a name from text. The text is not checked; the parser and the builder do that.
    pub fn new(text: &str) -> Name {
        Name(Arc::from(text))
    }

    /// The text of the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Name {
    fn from(text: &str) -> Name {
        Name::new(text)
    }
}

impl From<String> for Name {
    fn from(text: String) -> Name {
        Name(Arc::from(text))
    }
}

impl Borrow<str> for Name {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl PartialEq<str> for Name {
    fn eq(&self, other: &str) -> bool {
        &*self.0 == other
    }
}

impl PartialEq<&str> for Name {
    fn eq(&self, other: &&str) -> bool {
        &*self.0 == *other
    }
}
