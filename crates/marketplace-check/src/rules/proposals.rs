//! Proposals: refusals, and that a key stands for one proposal.

use super::feed::implausible;
use super::{Flaw, Judgement, answered, broken, expect_refusal, expect_status, not_tried};
use crate::answer::Asked;
use crate::observed::{Observed, Proposals};
use crate::shape::{self, SUBMITTED_PROPOSAL, whole};

/// The proposals of this check, if the operator allowed one.
fn proposals(seen: &Observed) -> Result<&Proposals, Flaw> {
    match &seen.proposals {
        Some(Ok(proposals)) => Ok(proposals),
        Some(Err(why)) => Err(not_tried(why)),
        None => Err(not_tried(
            "a proposal is made only with --allow-proposals JOB_ID; it costs connects, and a client may see it",
        )),
    }
}

/// A call of the proposals, or why it was not made.
pub(super) fn tried<'a, T: 'a>(
    seen: &'a Observed,
    call: impl Fn(&'a Proposals) -> Option<&'a T>,
) -> Result<&'a T, Flaw> {
    let proposals = proposals(seen)?;
    let why = || {
        proposals
            .obstacle
            .clone()
            .unwrap_or_else(|| "it was not reached".to_owned())
    };
    call(proposals).ok_or_else(|| not_tried(why()))
}

pub(super) fn malformed(seen: &Observed) -> Judgement {
    let proposals = proposals(seen)?;
    if proposals.malformed.is_empty() {
        tried::<Asked>(seen, |_| None)?;
    }
    proposals
        .malformed
        .iter()
        .try_for_each(|asked| expect_refusal(asked, 422, "invalid"))
}

pub(super) fn key_required(seen: &Observed) -> Judgement {
    expect_refusal(
        tried(seen, |proposals| proposals.without_key.as_ref())?,
        422,
        "invalid",
    )
}

pub(super) fn key_after_refusal(seen: &Observed) -> Judgement {
    if *tried(seen, |proposals| proposals.refusal_sticks.as_ref())? {
        return broken(
            "the proposal to be judged anew, under the key of a refused one",
            "the refusal again, while the proposal was accepted under another key",
        );
    }
    Ok(())
}

pub(super) fn after_cut(seen: &Observed) -> Judgement {
    let asked = tried(seen, |proposals| proposals.after_cut.as_ref())?;
    let answer = answered(asked)?;
    if [200, 201].contains(&answer.status.as_u16()) {
        return Ok(());
    }
    broken(
        "201, or 200 with the proposal that was made before the cut",
        asked.shown(),
    )
}

pub(super) fn accepted(seen: &Observed) -> Judgement {
    let asked = tried(seen, |proposals| proposals.accepted.as_ref())?;
    let body = answered(asked)?.json();
    let mut faults = shape::faults(&body, SUBMITTED_PROPOSAL);
    let at = whole(&body["submittedAt"]);
    if let Some((at, fault)) = at.and_then(|at| Some((at, implausible(at, seen.now)?))) {
        faults.push(format!("submittedAt is {at}, {fault}"));
    }
    if faults.is_empty() {
        return Ok(());
    }
    broken(
        "a proposal with all three fields",
        format!("{}: {}", asked.call, faults.join("; ")),
    )
}

pub(super) fn repeated(seen: &Observed) -> Judgement {
    let again = tried(seen, |proposals| proposals.repeated.as_ref())?;
    let first = tried(seen, Proposals::accepted)?;
    let answer = answered(again)?;
    if answer.status == 200 && answer.json() == first.json() {
        return Ok(());
    }
    let body = first.shown();
    let body = body.split_once(' ').map_or("", |(_, body)| body);
    broken(format!("{} → 200 {body}", again.call), again.shown())
}

pub(super) fn already_applied(seen: &Observed) -> Judgement {
    let asked = tried(seen, |proposals| proposals.second_key.as_ref())?;
    let answer = answered(asked)?;
    let Some(body) = answer.error_body() else {
        return expect_status(asked, 409);
    };
    let first = tried(seen, Proposals::accepted)?.json();
    // A marketplace that makes a new proposal for each repetition does not say which one stands.
    let names_it = match (&body.proposal_id, first["proposalId"].as_str()) {
        (Some(named), Some(first)) => named == first || repeated(seen).is_err(),
        (named, _) => named.is_some(),
    };
    if answer.status == 409 && body.code == "already_applied" && names_it {
        return Ok(());
    }
    broken(
        format!(
            "409 {{\"code\": \"already_applied\", …, \"proposalId\": {}}}",
            first["proposalId"]
        ),
        asked.shown(),
    )
}

pub(super) fn paid_once(seen: &Observed) -> Judgement {
    let spent = whole(&tried(seen, Proposals::accepted)?.json()["connectsSpent"]);
    let proposals = proposals(seen)?;
    let (Some(spent), [Some(before), Some(after)]) = (spent, proposals.balances) else {
        return Err(not_tried("the balance or connectsSpent could not be read"));
    };
    if spent == 0 {
        return Err(not_tried("the proposal cost nothing"));
    }
    // A balance that is updated later is no fault of the translator.
    if before - after <= spent {
        return Ok(());
    }
    broken(
        format!("a balance of {} after {before} and {spent} spent", before - spent),
        format!("a balance of {after}"),
    )
}
