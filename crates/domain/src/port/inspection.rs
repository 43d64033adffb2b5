//! Looking through all stored rows for those that cannot be understood.

use async_trait::async_trait;

use super::{StoreError, UnreadableRow};

/// How far an inspection has come. Only the store that made it knows what it says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct InspectedUpTo {
    /// The number of the table that is being inspected.
    pub table: usize,
    /// The key of the last row that was examined, column by column; empty at the table's beginning.
    pub key: Vec<String>,
}

/// Some rows, examined.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectedRows {
    /// How many rows were examined.
    pub examined: u64,
    /// Those of them that cannot be understood.
    pub unreadable: Vec<UnreadableRow>,
    /// Where to go on; `None` after the last row of the last table.
    pub next: Option<InspectedUpTo>,
}

/// Examines stored rows (decision D2).
#[async_trait]
pub trait RowInspector: Send + Sync + std::fmt::Debug {
    /// Examines up to `limit` rows of a table as workers and requests would read them. It changes nothing. Each call
    /// sees what is stored at that moment.
    async fn inspect(&self, from: &InspectedUpTo, limit: u32) -> Result<InspectedRows, StoreError>;
}
