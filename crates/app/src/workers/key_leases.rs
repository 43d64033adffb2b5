//! Asks for the API keys in steady use before their leases end, several times a second.

use std::sync::Arc;

use bidloop_domain::use_case::KeyLeases;
use tokio::sync::Notify;

use super::running::{Pauses, Workers};
use crate::service::Service;

pub(super) async fn run(service: Arc<Service>, workers: Workers) {
    let never_woken = Notify::new();
    let pauses = Pauses::new(&workers, "key_leases", &never_woken, KeyLeases::RENEWED_EVERY);
    let mut pauses = pauses.between_beginnings();
    while pauses
        .after(service.authenticate.renew_leases().await.map(|()| false))
        .await
    {}
}
