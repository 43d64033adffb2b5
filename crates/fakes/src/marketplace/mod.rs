//! A marketplace in memory.
//!
//! Owns the feed, jobs' live states, accounts, proposals under their idempotency keys, and scripted faults.
//! Speaks the port, not the wire: the simulator does that.

mod fault;
mod port;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

use bidloop_domain::bidding::{LiveJobState, LiveJobStatus};
use bidloop_domain::model::{BidId, Connects, JobId, JobPost, MarketplaceToken, Proposal};
use bidloop_domain::port::{Clock, FeedEntry, LiveAccount, LiveJob, MarketplaceError, SubmittedProposal};
use bytes::Bytes;

pub use fault::{Call, Fault};

use crate::locked;

/// The marketplace as a test wants it.
///
/// Tokens name accounts; an unknown token is refused as invalid. A published job is open, without warnings and
/// boosts, and costs [`REQUIRED_CONNECTS`](Self::REQUIRED_CONNECTS); [`edit_job`](Self::edit_job) changes that.
/// Scripted faults are used up in order, one a call.
///
/// ```
/// use bidloop_domain::model::{
///     BidId, Connects, CoverLetter, MarketplaceToken, Proposal, Terms, PaymentKind, Timestamp, UsdCents,
/// };
/// use bidloop_domain::port::{Marketplace, MarketplaceError};
/// use bidloop_fakes::{Call, FakeAccount, FakeMarketplace, Fault, SimulatedClock};
/// use std::sync::Arc;
///
/// # futures::executor::block_on(async {
/// let clock = Arc::new(SimulatedClock::at(Timestamp::from_seconds(1_790_000_000)));
/// let marketplace = FakeMarketplace::new(clock);
/// marketplace.put_account("token_1", FakeAccount { connects_balance: Connects::new(10), ..FakeAccount::new("jane") });
/// let job_id = marketplace.publish(
///     r#"{"id": "177", "ciphertext": "~177", "title": "T", "description": "D", "url": "/jobs/~177",
///         "postedAt": 1790000000000}"#,
/// );
/// let proposal = Proposal {
///     job_id,
///     cover_letter: CoverLetter::parse("Hello".to_owned()).unwrap(),
///     answers: Vec::new(),
///     terms: Terms { kind: PaymentKind::Hourly, amount: UsdCents::from_cents(5_000) },
///     boost_connects: Connects::ZERO,
///     required_connects: FakeMarketplace::REQUIRED_CONNECTS,
///     attachments: Vec::new(),
///     accept_warnings: false,
///     steps: Vec::new(),
/// };
/// let key = BidId(uuid::Uuid::from_u128(1));
///
/// marketplace.script(Call::Submit, Fault::no_answer_after_commit());
/// let token = MarketplaceToken::parse("token_1").unwrap();
/// let lost = marketplace.submit(&token, key, &proposal).await;
/// assert!(matches!(lost, Err(MarketplaceError::NoAnswer(_))));
/// marketplace.submit(&token, key, &proposal).await.unwrap();
///
/// assert_eq!(marketplace.proposals().len(), 1);
/// assert_eq!(marketplace.account(&token).await.unwrap().connects_balance, Connects::new(8));
/// # });
/// ```
#[derive(Debug)]
pub struct FakeMarketplace {
    clock: Arc<dyn Clock>,
    market: Mutex<Market>,
}

#[derive(Debug, Default)]
struct Market {
    /// Oldest first; the cursor after the n-th entry is the number n.
    feed: Vec<FeedEntry>,
    jobs: HashMap<JobId, LiveJob>,
    accounts: HashMap<String, FakeAccount>,
    proposals: Vec<ReceivedProposal>,
    files: Vec<ReceivedFile>,
    faults: HashMap<Call, VecDeque<Fault>>,
    calls: HashMap<Call, u64>,
}

/// A bidder account of the marketplace.
#[derive(Debug, Clone, PartialEq)]
pub struct FakeAccount {
    /// The marketplace's id of it.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Connects left.
    pub connects_balance: Connects,
    /// The profile's hourly rate in USD.
    pub profile_hourly_rate: Option<f64>,
}

impl FakeAccount {
    /// An account with 100 connects and a rate of USD 50.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            name: id.to_owned(),
            connects_balance: Connects::new(100),
            profile_hourly_rate: Some(50.0),
        }
    }

    fn live(&self) -> LiveAccount {
        LiveAccount {
            id: self.id.clone(),
            name: self.name.clone(),
            connects_balance: self.connects_balance,
            profile_hourly_rate: self.profile_hourly_rate,
        }
    }
}

/// A proposal that the marketplace took.
#[derive(Debug, Clone, PartialEq)]
pub struct ReceivedProposal {
    /// The [`FakeAccount`]'s id.
    pub account_id: String,
    /// The idempotency key.
    pub key: BidId,
    /// As it came first.
    pub proposal: Proposal,
    /// The answer given, then and to each repetition.
    pub answer: SubmittedProposal,
    /// How often the call was repeated under the same key.
    pub repeated: u32,
    /// Whether a repetition carried another proposal than the first call.
    pub repeated_with_changes: bool,
}

/// A file that the marketplace took.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceivedFile {
    /// The id answered.
    pub id: String,
    /// The [`FakeAccount`]'s id.
    pub account_id: String,
    /// Its name.
    pub name: String,
    /// Its content type.
    pub content_type: String,
    /// Its content.
    pub content: Bytes,
}

impl FakeMarketplace {
    /// What a published job costs without a boost.
    pub const REQUIRED_CONNECTS: Connects = Connects::new(2);

    /// An empty marketplace; `clock` says when proposals are taken.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            market: Mutex::default(),
        }
    }

    /// Appends a job to the feed. Publishing an id again repeats the job or replaces its post.
    ///
    /// # Panics
    ///
    /// If `json` is no job post; [`publish_malformed`](Self::publish_malformed) is for those.
    pub fn publish(&self, json: &str) -> JobId {
        #[expect(clippy::expect_used, reason = "a test's own mistake should end the test")]
        let post = JobPost::parse(json).expect("the JSON of a job post");
        let id = post.id.clone();
        let mut market = locked(&self.market);
        market.feed.push(FeedEntry::Job {
            post: Box::new(post.clone()),
            json: json.to_owned(),
        });
        market
            .jobs
            .entry(id.clone())
            .and_modify(|job| job.post = post.clone())
            .or_insert_with(|| LiveJob {
                post,
                state: LiveJobState {
                    status: LiveJobStatus::Open,
                    already_hired: false,
                    warnings: Vec::new(),
                    boosts: Vec::new(),
                    required_connects: Self::REQUIRED_CONNECTS,
                },
            });
        id
    }

    /// Appends an entry that violates the protocol to the feed.
    pub fn publish_malformed(&self, id: Option<&str>, fault: &str) {
        let entry = FeedEntry::Malformed {
            id: id.map(str::to_owned),
            fault: fault.to_owned(),
        };
        locked(&self.market).feed.push(entry);
    }

    /// Changes a job's live state; one that was never published is not changed.
    pub fn edit_job(&self, id: &JobId, edit: impl FnOnce(&mut LiveJob)) {
        locked(&self.market).jobs.get_mut(id).map(edit);
    }

    /// Forgets a job's live state, so that the marketplace does not know it any more.
    pub fn remove_job(&self, id: &JobId) {
        locked(&self.market).jobs.remove(id);
    }

    /// Creates or replaces the account that `token` stands for.
    pub fn put_account(&self, token: &str, account: FakeAccount) {
        locked(&self.market).accounts.insert(token.to_owned(), account);
    }

    /// Makes `token` invalid.
    pub fn revoke_token(&self, token: &str) {
        locked(&self.market).accounts.remove(token);
    }

    /// Lets the next call of this kind, after those scripted before, go wrong.
    pub fn script(&self, call: Call, fault: Fault) {
        locked(&self.market)
            .faults
            .entry(call)
            .or_default()
            .push_back(fault);
    }

    /// How many calls of this kind came, those that went wrong included.
    pub fn calls(&self, call: Call) -> u64 {
        locked(&self.market).calls.get(&call).copied().unwrap_or(0)
    }

    /// The proposals taken, in order.
    pub fn proposals(&self) -> Vec<ReceivedProposal> {
        locked(&self.market).proposals.clone()
    }

    /// The files taken, in order.
    pub fn files(&self) -> Vec<ReceivedFile> {
        locked(&self.market).files.clone()
    }
}

impl Market {
    fn account(&mut self, token: &MarketplaceToken) -> Result<&mut FakeAccount, MarketplaceError> {
        self.accounts
            .get_mut(token.expose())
            .ok_or(MarketplaceError::InvalidToken)
    }
}
