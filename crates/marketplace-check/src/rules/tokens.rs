//! Calls with a token that no account has, and without one.

use super::{Judgement, expect_refusal, not_tried};
use crate::answer::Asked;
use crate::observed::Observed;

fn refused(asked: Option<&Asked>) -> Judgement {
    let Some(asked) = asked else {
        return Err(not_tried("the feed has no job to look up"));
    };
    expect_refusal(asked, 401, "invalid_token")
}

pub(super) fn account(seen: &Observed) -> Judgement {
    refused(seen.refused.account.as_ref())
}

pub(super) fn job(seen: &Observed) -> Judgement {
    refused(seen.refused.job.as_ref())
}

pub(super) fn attachments(seen: &Observed) -> Judgement {
    refused(seen.refused.attachments.as_ref())
}

pub(super) fn proposals(seen: &Observed) -> Judgement {
    refused(super::proposals::tried(seen, |proposals| proposals.wrong_token.as_ref())?.into())
}

pub(super) fn missing(seen: &Observed) -> Judgement {
    if seen.refused.without.is_empty() {
        return Err(not_tried("nothing was asked without a token"));
    }
    let proposal = seen
        .proposals
        .as_ref()
        .and_then(|proposals| proposals.as_ref().ok()?.without_token.as_ref());
    let mut calls = seen.refused.without.iter().chain(proposal);
    calls.try_for_each(|asked| refused(Some(asked)))
}
