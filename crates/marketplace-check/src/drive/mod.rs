//! Makes the calls of a check, in order, and writes down what comes. Judges nothing.

mod calls;
mod feed;
mod proposals;

use crate::caller::Caller;
use crate::observed::Observed;

/// What the operator gave.
#[derive(Debug)]
pub(crate) struct Given<'a> {
    /// A bidder account's token.
    pub(crate) token: Option<&'a str>,
    pub(crate) feed_token: Option<&'a str>,
    /// The job on which a proposal may be made.
    pub(crate) job: Option<&'a str>,
    /// Distinguishes this check from others, so that no idempotency key is used twice.
    pub(crate) run: &'a str,
}

impl Given<'_> {
    /// A token that no account has.
    fn wrong_token(&self) -> String {
        format!("no-such-token-{}", self.run)
    }

    /// An id that no job has.
    fn unknown_job(&self) -> String {
        format!("no-such-job-{}", self.run)
    }
}

pub(crate) async fn observe(mut caller: Caller, given: &Given<'_>, now: i64) -> Observed {
    let mut seen = Observed {
        now,
        has_token: given.token.is_some(),
        ..Observed::default()
    };
    seen.feed = feed::read(&mut caller, given).await;
    calls::make(&mut caller, given, &mut seen).await;
    if let Some(job) = given.job {
        seen.proposals = Some(proposals::make(&mut caller, given, job).await);
    }
    seen.calls = caller.into_asked();
    seen
}
