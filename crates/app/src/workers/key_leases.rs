//! Asks for the API keys in steady use before their leases end, several times a second.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;

use super::running::{Pauses, Workers};
use crate::service::Service;

/// As [`renew_leases`](bidloop_domain::use_case::Authenticate::renew_leases) asks.
const PAUSE: Duration = Duration::from_millis(300);
/// After a failure. Then requests ask for their keys themselves.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let never_woken = Notify::new();
    let pauses = Pauses::new(&workers, "key_leases", &never_woken, PAUSE);
    let mut pauses = pauses.between_beginnings().at_most(LONGEST_PAUSE);
    while pauses
        .after(service.authenticate.renew_leases().await.map(|()| false))
        .await
    {}
}
