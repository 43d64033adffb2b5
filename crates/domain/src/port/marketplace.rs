//! The marketplace (contract section 5).

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;

use super::BlobError;
use crate::bidding::LiveJobState;
use crate::model::{BidId, Connects, JobId, JobPost, MarketplaceToken, Proposal, Timestamp};

/// A position in the feed, as the marketplace writes it. Only the marketplace reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FeedCursor(pub String);

/// A page of the feed.
#[derive(Debug, Clone)]
pub struct FeedPage {
    /// Oldest first.
    pub entries: Vec<FeedEntry>,
    /// The position after the page.
    pub cursor: FeedCursor,
    /// Whether more can be read right now.
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
    /// An entry that violates the protocol (decision D2).
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

/// Why the marketplace refused a call permanently. A refused proposal was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MarketplaceRefusal {
    /// The account cannot pay the proposal's connects.
    InsufficientConnects,
    /// The account has a proposal on the job already.
    AlreadyApplied {
        /// The id of that proposal, if the marketplace names it.
        proposal_id: Option<String>,
    },
    /// The job no longer takes proposals.
    JobClosed,
    /// The job has a warning, and the proposal does not accept warnings.
    JobWarning,
    /// The bidder does not meet the job's demands.
    NotEligible,
    /// The marketplace does not know what the call asks for.
    NotFound,
    /// The request is not valid, or is refused for another reason.
    Invalid,
}

/// Why a call did not succeed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MarketplaceError {
    /// The result of the call is unknown: it timed out, or the connection broke when the request may have been sent.
    #[error("no answer from the marketplace: {0}")]
    NoAnswer(String),
    /// The request was not received: no connection was made.
    #[error("the marketplace cannot be reached: {0}")]
    Unreachable(String),
    /// The answer is not in the marketplace's words, such as a gateway's page. The result of the call is unknown: what
    /// stands between may have passed the call on (decision B4).
    #[error("the answer is not the marketplace's: {message}")]
    NotItsAnswer {
        /// How long the answer asks to wait.
        retry_after: Option<Duration>,
        /// What the answer is, shortened.
        message: String,
    },
    /// The marketplace cannot carry the call out now, and has not.
    #[error("the marketplace asks to try again later: {message}")]
    TryLater {
        /// How long the marketplace asks to wait.
        retry_after: Option<Duration>,
        /// The answer's message, shortened.
        message: String,
    },
    /// The account's token is not valid.
    #[error("the marketplace refused the token")]
    InvalidToken,
    /// The marketplace refused the call permanently.
    #[error("the marketplace refused the call: {message}")]
    Refused {
        /// The reason.
        refusal: MarketplaceRefusal,
        /// The answer's message, shortened. Never empty.
        message: String,
    },
    /// An answer that violates the protocol. The effect of a call that changes something is unknown.
    #[error("the marketplace's answer violates the protocol: {0}")]
    Malformed(String),
}

/// A file to upload to the marketplace.
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
///
/// The adapter maps the protocol's statuses and codes to [`MarketplaceError`]. `InvalidToken` and `Refused`, which end
/// bids, need the protocol's error body, except of the feed; a refusal without one is `NotItsAnswer` (decision B4).
#[async_trait]
pub trait Marketplace: Send + Sync + std::fmt::Debug {
    /// The page of the feed after `cursor`, with the watcher's own token.
    async fn feed(&self, cursor: Option<&FeedCursor>, limit: u32) -> Result<FeedPage, MarketplaceError>;

    /// A job's live state, as the account with `token` sees it.
    async fn job(&self, token: &MarketplaceToken, id: &JobId) -> Result<LiveJob, MarketplaceError>;

    /// The live state of the account with `token`.
    async fn account(&self, token: &MarketplaceToken) -> Result<LiveAccount, MarketplaceError>;

    /// Uploads a file for a proposal and returns its id.
    async fn upload(&self, token: &MarketplaceToken, file: FileUpload) -> Result<String, MarketplaceError>;

    /// Sends a proposal under the bid's idempotency key. Sending it again under the same key has no further
    /// effect and gives the same answer.
    ///
    /// `TryLater` says that nothing was taken, so here it needs the protocol's error body, too.
    async fn submit(
        &self,
        token: &MarketplaceToken,
        key: BidId,
        proposal: &Proposal,
    ) -> Result<SubmittedProposal, MarketplaceError>;
}
