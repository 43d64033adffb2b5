//! What the API needs from the program around it.

use std::time::Duration;

use async_trait::async_trait;

/// Whether the service can do its work.
#[async_trait]
pub trait Readiness: Send + Sync + std::fmt::Debug {
    /// True while the database is reachable and migrated. Asked by `/readyz` and before every answer that is given
    /// without asking the database: it should answer within a second or two.
    async fn is_ready(&self) -> bool;
}

/// Counts requests and shows what was counted.
pub trait RequestMetrics: Send + Sync + std::fmt::Debug {
    /// A request was answered. `operation` is an operation's id of the interface description, `healthz`, `readyz`,
    /// `metrics`, or `none` for a request without a route; the body may still be on its way.
    fn answered(&self, operation: &'static str, status: u16, duration: Duration);

    /// Everything counted, in the `OpenMetrics` text format.
    fn text(&self) -> String;
}
