//! Checks a server of the marketplace protocol, rule by rule.
//!
//! A translator stands between Bidloop and a marketplace and speaks the protocol of `docs/marketplace.yaml`. [`check`]
//! drives it through feed, jobs, account, uploads and, if the operator allows it, one proposal, and reports each of the
//! [`RULES`] as held, broken or not tried. It looks at answers as they arrive: what the service's own client would forgive
//! is a fault here.
//!
//! The steps: `drive` makes calls through `caller` → `observed` holds what came → `rules` judge it, without any I/O →
//! `report`.

mod answer;
mod caller;
mod drive;
mod observed;
mod report;
mod rules;
mod shape;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bidloop_marketplace::{BaseUrl, BaseUrlError};
use rustls::ClientConfig;

pub use report::{Finding, Report, Verdict};
pub use rules::{RULES, Rule};

/// What is checked, and with what.
#[derive(Clone)]
pub struct Target {
    /// The address in front of `/api/…`.
    pub base_url: String,
    /// The token of a bidder account. Without one, only the feed and the refusals are checked.
    pub token: Option<String>,
    /// The token for the feed; `token` without one.
    pub feed_token: Option<String>,
    /// The job on which one proposal may be made. Without one, nothing is bid.
    pub allow_proposals: Option<String>,
    /// The time limit of a call, as the setting `marketplace.timeout_ms`.
    pub timeout: Duration,
    /// The TLS settings, without ALPN protocols.
    pub tls: Arc<ClientConfig>,
    /// Now, in UNIX milliseconds.
    pub now_ms: i64,
    /// A text that no other check has, for idempotency keys: letters, digits and hyphens.
    pub run: String,
}

impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target")
            .field("base_url", &self.base_url)
            .field("allow_proposals", &self.allow_proposals)
            .finish_non_exhaustive()
    }
}

/// Makes the calls and judges the rules. Ends in bounded time, whatever the server does.
///
/// # Errors
/// An address that is no base address. Everything else is a finding of the report.
pub async fn check(target: &Target) -> Result<Report, BaseUrlError> {
    let base_url = BaseUrl::parse(&target.base_url)?;
    let caller = caller::Caller::new(base_url, &target.tls, target.timeout);
    let token = target.token.as_deref();
    let given = drive::Given {
        token,
        feed_token: target.feed_token.as_deref().or(token),
        job: target.allow_proposals.as_deref(),
        run: &target.run,
    };
    let seen = drive::observe(caller, &given, target.now_ms).await;
    let secrets: Vec<&str> = given.token.into_iter().chain(given.feed_token).collect();
    Ok(Report::of(&seen, &secrets))
}
