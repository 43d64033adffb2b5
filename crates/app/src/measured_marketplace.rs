//! [`MeasuredMarketplace`]: the marketplace, with the duration and outcome of each call in the metrics and in traces.

use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use bidloop_domain::model::{BidId, JobId, MarketplaceToken, Proposal};
use bidloop_domain::port::{
    FeedCursor, FeedPage, FileUpload, LiveAccount, LiveJob, Marketplace, MarketplaceError, SubmittedProposal,
};

use crate::metrics::Metrics;
use crate::traces::{Kind, NewSpan, SpanEnd, Traces};

#[derive(Debug)]
pub(crate) struct MeasuredMarketplace {
    pub(crate) marketplace: Arc<dyn Marketplace>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) traces: Arc<Traces>,
}

impl MeasuredMarketplace {
    async fn measured<T>(
        &self,
        call: &'static str,
        answer: impl Future<Output = Result<T, MarketplaceError>> + Send,
    ) -> Result<T, MarketplaceError> {
        let started = Instant::now();
        let trace = self.traces.begin_part(|| span_of(call));
        let answer = trace.scope(answer).await;
        let outcome = answer.as_ref().map_or_else(outcome_of, |_| "answered");
        self.metrics.marketplace_call(call, outcome, started.elapsed());
        trace.end(|| SpanEnd {
            error: answer.is_err().then(|| outcome.to_owned()),
            ..SpanEnd::default()
        });
        answer
    }
}

/// The span of a call, named by the protocol's method and address.
fn span_of(call: &'static str) -> NewSpan {
    let (method, route) = match call {
        "feed" => ("GET", "/api/jobs"),
        "job" => ("GET", "/api/jobs/{id}"),
        "account" => ("GET", "/api/account"),
        "upload" => ("POST", "/api/attachments"),
        _ => ("POST", "/api/proposals"),
    };
    NewSpan {
        kind: Kind::Client,
        name: format!("{method} {route}"),
        attributes: vec![
            ("http.request.method", method.to_owned()),
            ("url.template", route.to_owned()),
        ],
    }
}

const fn outcome_of(error: &MarketplaceError) -> &'static str {
    match error {
        MarketplaceError::NoAnswer(_) => "no_answer",
        MarketplaceError::Unreachable(_) => "unreachable",
        MarketplaceError::NotItsAnswer { .. } => "not_its_answer",
        MarketplaceError::TryLater { .. } => "try_later",
        MarketplaceError::InvalidToken => "invalid_token",
        MarketplaceError::Refused { .. } => "refused",
        MarketplaceError::Malformed(_) => "malformed",
    }
}

#[async_trait]
impl Marketplace for MeasuredMarketplace {
    async fn feed(&self, cursor: Option<&FeedCursor>, limit: u32) -> Result<FeedPage, MarketplaceError> {
        self.measured("feed", self.marketplace.feed(cursor, limit)).await
    }

    async fn job(&self, token: &MarketplaceToken, id: &JobId) -> Result<LiveJob, MarketplaceError> {
        self.measured("job", self.marketplace.job(token, id)).await
    }

    async fn account(&self, token: &MarketplaceToken) -> Result<LiveAccount, MarketplaceError> {
        self.measured("account", self.marketplace.account(token)).await
    }

    async fn upload(&self, token: &MarketplaceToken, file: FileUpload) -> Result<String, MarketplaceError> {
        self.measured("upload", self.marketplace.upload(token, file))
            .await
    }

    async fn submit(
        &self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError> {
        self.measured("submit", self.marketplace.submit(token, key, proposal))
            .await
    }
}
