//! The marketplace (contract section 5).

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use super::BlobError;
use crate::bidding::LiveJobState;
use crate::model::{BidId, Connects, JobId, JobPost, Proposal, Timestamp};

/// A page of the feed.
#[derive(Debug, Clone)]
pub struct FeedPage {
    /// Oldest first.
    pub entries: Vec<FeedEntry>,
    /// The position after the page.
    pub cursor: String,
    /// Whether there is more right now.
    pub has_more: bool,
}

/// An entry of the feed.
#[derive(Debug, Clone)]
pub enum FeedEntry {
    /// A job.
    Job {
        /// Parsed.
        post: Box<JobPost>,
        /// As served.
        json: String,
    },
    /// Something that departs from the protocol (decision D2).
    Malformed {
        /// The id, if it has one.
        id: Option<String>,
        /// What is wrong and where.
        fault: String,
    },
}

/// A job as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveJob {
    /// The post.
    pub post: JobPost,
    /// Its state.
    pub state: LiveJobState,
}

/// A bidder account's live state.
#[derive(Debug, Clone, PartialEq)]
pub struct LiveAccount {
    /// The marketplace's id of it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Connects left.
    pub connects_balance: Connects,
    /// The profile's hourly rate in USD.
    pub profile_hourly_rate: Option<f64>,
}

/// A proposal that the marketplace took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmittedProposal {
    /// The marketplace's id of it.
    pub proposal_id: String,
    /// Connects taken.
    pub connects_spent: Connects,
    /// When.
    pub submitted_at: Timestamp,
}

/// Why a call did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarketplaceError {
    /// No answer is known: time-out, or the connection broke after the request may have been sent.
    #[error("no answer from the marketplace: {0}")]
    NoAnswer(String),
    /// The request was certainly not received: no connection came about.
    #[error("the marketplace cannot be reached: {0}")]
    Unreachable(String),
    /// 408, 429 or 5xx: a passing fault.
    #[error("the marketplace answered {status}: {message}")]
    Passing {
        /// The status.
        status: u16,
        /// From `Retry-After`.
        retry_after: Option<Duration>,
        /// The answer's message, shortened.
        message: String,
    },
    /// 401.
    #[error("the marketplace refused the token")]
    InvalidToken,
    /// Any other refusal, by its code.
    #[error("the marketplace refused the call: {status} {code}: {message}")]
    Refused {
        /// The status.
        status: u16,
        /// The answer's `code`; empty if it had none.
        code: String,
        /// The answer's message, shortened.
        message: String,
        /// With 409 `already_applied`: the id of the account's proposal.
        proposal_id: Option<String>,
    },
    /// An answer that departs from the protocol. Of a call that changes something, its effect is unknown.
    #[error("the marketplace's answer departs from the protocol: {0}")]
    Malformed(String),
}

/// A file on its way to the marketplace.
pub struct FileUpload {
    /// Its name.
    pub name: String,
    /// Its content type.
    pub content_type: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// Its content.
    pub content: BoxStream<'static, Result<Bytes, BlobError>>,
}

impl std::fmt::Debug for FileUpload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileUpload")
            .field("name", &self.name)
            .field("content_type", &self.content_type)
            .field("size_bytes", &self.size_bytes)
            .finish_non_exhaustive()
    }
}

/// The marketplace. Each method is one call; nothing is retried.
#[async_trait]
pub trait Marketplace: Send + Sync + std::fmt::Debug {
    /// The page of the feed after `cursor`, with the watcher's own token.
    async fn feed(&self, cursor: Option<&str>, limit: u32) -> Result<FeedPage, MarketplaceError>;

    /// A job's live state, as the account with `token` sees it.
    async fn job(&self, token: &str, id: &JobId) -> Result<LiveJob, MarketplaceError>;

    /// The live state of the account with `token`.
    async fn account(&self, token: &str) -> Result<LiveAccount, MarketplaceError>;

    /// Uploads a file for a proposal; answers its id.
    async fn upload(&self, token: &str, file: FileUpload) -> Result<String, MarketplaceError>;

    /// Sends a proposal under the bid's idempotency key. Sending it again under the same key has no further
    /// effect and gives the same answer.
    async fn submit(
        &self,
        token: &str,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError>;
}
