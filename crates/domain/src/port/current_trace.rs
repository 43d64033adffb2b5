//! The trace that work belongs to.

use std::fmt::Debug;

use crate::model::TraceParent;

/// Knows which trace the work at hand belongs to, so that an adapter can pass it on with a call.
pub trait CurrentTrace: Send + Sync + Debug {
    /// The trace, if there is one. To be asked by the task that makes the call.
    fn trace_parent(&self) -> Option<TraceParent>;
}
