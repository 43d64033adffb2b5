//! The background work of a process: one worker for each kind of work, each a thin layer around a use case.
//!
//! A worker makes passes while there is work. Then it waits until it is woken, its pause ends or the process stops. One
//! that panics is [started again](supervision).

mod add_up;
mod automatic;
mod backfill;
mod dispatch;
mod gauges;
mod key_leases;
mod prune;
mod running;
mod submit;
mod supervision;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::service::Service;
pub(crate) use backfill::backfill;
pub(crate) use prune::{erase, prune};
pub(crate) use running::Workers;
pub(crate) use supervision::WorkerStates;

/// A part of the service's work, as `serve --role` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Role {
    /// The HTTP API.
    Api,
    /// Reading the feed, matching, backfilling, adding up statistics and pruning.
    Watch,
    /// Sending webhooks.
    Dispatch,
    /// Writing automatic bids and submitting queued ones.
    Submit,
}

/// Starts the workers of these roles.
pub(crate) fn start(service: &Arc<Service>, roles: &BTreeSet<Role>) -> Workers {
    let workers = Workers::new(service);
    if roles.contains(&Role::Watch) {
        watch::start(service, &workers, roles.contains(&Role::Dispatch));
        spawn(service, &workers, "backfill", backfill::run);
        spawn(service, &workers, "prune", prune::run);
        spawn(service, &workers, "statistics", add_up::run);
    }
    if roles.contains(&Role::Dispatch) {
        spawn(service, &workers, "dispatch", dispatch::run);
    }
    if roles.contains(&Role::Submit) {
        spawn(service, &workers, "automatic_bids", automatic::run);
        spawn(service, &workers, "submit", submit::run);
    }
    if roles.contains(&Role::Api) {
        spawn(service, &workers, "key_leases", key_leases::run);
    }
    spawn(service, &workers, "gauges", gauges::run);
    workers
}

/// Runs a worker until the process stops.
fn spawn<F: Future<Output = ()> + Send + 'static>(
    service: &Arc<Service>,
    workers: &Workers,
    worker: &'static str,
    run: fn(Arc<Service>, Workers) -> F,
) {
    let (service, running) = (Arc::clone(service), workers.clone());
    workers.tasks.spawn(async move {
        let start = || run(Arc::clone(&service), running.clone());
        running.supervisor.keep_running(worker, start).await;
    });
}
