//! The ports that the program implements for the API.

use std::time::Duration;

use async_trait::async_trait;

/// Whether the service is ready.
#[async_trait]
pub trait Readiness: Send + Sync + std::fmt::Debug {
    /// Returns whether the database is reachable and migrated. Asked for `/readyz` and before every answer that does not
    /// need the database, but at most once a second: see [`HeldReadiness`](crate::HeldReadiness).
    async fn is_ready(&self) -> bool;

    /// Whether the process still prepares the database, and so is not ready. [`is_ready`](Self::is_ready) is not asked
    /// then: a migration would wait for what it reads.
    fn is_starting(&self) -> bool {
        false
    }

    /// The background workers of this process that should run and do not, because they panicked. Asked for `/readyz`.
    fn workers_down(&self) -> Vec<&'static str> {
        Vec::new()
    }
}

/// Counts requests.
pub trait RequestMetrics: Send + Sync + std::fmt::Debug {
    /// Counts a request whose answer begins; its body may still have to be sent. `operation` is an `operationId` of the
    /// interface description, `openapi`, `docs`, `healthz`, `readyz`, `metrics`, or `none` for a request without a route.
    fn answered(&self, operation: &'static str, status: u16, duration: Duration);

    /// All metrics, in the `OpenMetrics` text format.
    fn text(&self) -> String;
}
