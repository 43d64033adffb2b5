//! Looking up a job and an account.

use serde_json::Value;

use super::{Judgement, answered, broken, expect_status, made, not_tried};
use crate::observed::{JobLookup, Observed};
use crate::shape::{self, ACCOUNT, JOB_POST, JOB_STATE, whole};

/// The look-ups, if there are any.
fn lookups(seen: &Observed) -> Result<&[JobLookup], super::Flaw> {
    if seen.jobs.is_empty() {
        made(None, seen)?;
    }
    Ok(&seen.jobs)
}

/// The look-ups that succeeded, with their bodies.
fn found_jobs(seen: &Observed) -> Result<Vec<(&JobLookup, Value)>, super::Flaw> {
    let found: Vec<_> = lookups(seen)?
        .iter()
        .filter_map(|lookup| Some((lookup, lookup.asked.success()?.json())))
        .collect();
    if found.is_empty() {
        return Err(not_tried("no job could be looked up: see jobs.found"));
    }
    Ok(found)
}

pub(super) fn found(seen: &Observed) -> Judgement {
    for lookup in lookups(seen)? {
        expect_status(&lookup.asked, 200)?;
        let body = answered(&lookup.asked)?.json();
        let faults = shape::faults(&body["job"], JOB_POST);
        if !faults.is_empty() {
            return broken(
                "a JobPost as job",
                format!("{}: {}", lookup.asked.call, faults.join("; ")),
            );
        }
        if body["job"]["id"] != lookup.id.as_str() {
            return broken(
                format!("the job {}", lookup.id),
                format!("{}: the job {}", lookup.asked.call, body["job"]["id"]),
            );
        }
    }
    Ok(())
}

pub(super) fn state(seen: &Observed) -> Judgement {
    for (lookup, body) in found_jobs(seen)? {
        let faults = shape::faults(&body["state"], JOB_STATE);
        if !faults.is_empty() {
            return broken(
                "a state with all five fields",
                format!("{}: {}", lookup.asked.call, faults.join("; ")),
            );
        }
    }
    Ok(())
}

pub(super) fn boosts(seen: &Observed) -> Judgement {
    let mut is_tried = false;
    for (lookup, body) in found_jobs(seen)? {
        let boosts = body["state"]["boosts"].as_array();
        let boosts: Vec<i64> = boosts.into_iter().flatten().filter_map(whole).collect();
        is_tried |= boosts.len() > 1;
        if !boosts.is_sorted_by(|higher, lower| higher >= lower) {
            return broken(
                "boosts from the highest to the lowest",
                format!("{}: {boosts:?}", lookup.asked.call),
            );
        }
    }
    if is_tried {
        Ok(())
    } else {
        Err(not_tried("no job that was looked up has two boosts"))
    }
}

pub(super) fn unknown(seen: &Observed) -> Judgement {
    expect_status(made(seen.unknown_job.as_ref(), seen)?, 404)
}

pub(super) fn account(seen: &Observed) -> Judgement {
    let asked = made(seen.account.as_ref(), seen)?;
    expect_status(asked, 200)?;
    let faults = shape::faults(&answered(asked)?.json(), ACCOUNT);
    if faults.is_empty() {
        return Ok(());
    }
    broken(
        "an account with all four fields",
        format!("{}: {}", asked.call, faults.join("; ")),
    )
}
