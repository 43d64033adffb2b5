//! The holder of a claim.

use std::fmt;
use std::sync::Arc;

/// The holder of a lease: a process, or one claim of a process. Every holder has a name of its own. Clones share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseOwner(Arc<str>);

impl LeaseOwner {
    /// A holder with this name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self(name.into())
    }

    /// The name, as stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LeaseOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
