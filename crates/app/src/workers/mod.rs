//! The background work of a process: one worker for each kind of work, each a thin layer around a use case.
//!
//! A worker makes passes while there is work. Then it waits until it is woken, its pause ends or the process stops.

mod automatic;
mod backfill;
mod dispatch;
mod gauges;
mod prune;
mod running;
mod submit;
mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::service::Service;
pub(crate) use backfill::backfill;
pub(crate) use prune::prune;
pub(crate) use running::Workers;

/// A part of the service's work, as `serve --role` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Role {
    /// The HTTP API.
    Api,
    /// Reading the feed, matching, backfilling and pruning.
    Watch,
    /// Sending webhooks.
    Dispatch,
    /// Writing automatic bids and submitting queued ones.
    Submit,
}

/// Starts the workers of these roles.
pub(crate) fn start(service: &Arc<Service>, roles: &BTreeSet<Role>) -> Workers {
    let workers = Workers::default();
    let tasks = &workers.tasks;
    if roles.contains(&Role::Watch) {
        watch::start(Arc::clone(service), &workers);
        tasks.spawn(backfill::run(Arc::clone(service), workers.clone()));
        tasks.spawn(prune::run(Arc::clone(service), workers.clone()));
    }
    if roles.contains(&Role::Dispatch) {
        tasks.spawn(dispatch::run(Arc::clone(service), workers.clone()));
    }
    if roles.contains(&Role::Submit) {
        tasks.spawn(automatic::run(Arc::clone(service), workers.clone()));
        tasks.spawn(submit::run(Arc::clone(service), workers.clone()));
    }
    tasks.spawn(gauges::run(Arc::clone(service), workers.clone()));
    workers
}
