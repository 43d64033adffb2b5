//! Submit proposals: submits a queued bid to the marketplace, exactly once (decision B4). Tests:
//! `tests/use_case/submit_proposals.rs`.
//!
//! The caller [claims](SubmitProposals::claim) bids, [works](SubmitProposals::work) on each while
//! [renewing](SubmitProposals::renew) its lease. A proposal is stored before it is sent, and sent again unchanged until
//! the marketplace answers. So a crash at any point leads to exactly one proposal.

pub(in crate::use_case) mod ending;
mod next_step;

use std::sync::Arc;
use std::time::Duration;

use ending::Ending;
use next_step::NextStep;

use crate::bidding::{ConnectsRefusals, Decision, DecisionInput, JobTerms, decide};
use crate::model::{
    ActivityId, Actor, ExplanationStep, LeadStatus, Links, MarketplaceToken, Proposal, Reason, ReasonCode,
    Timestamp,
};
use crate::port::{
    AccountReading, BlobPath, BlobStore, ClaimedBid, Clock, Entropy, FileUpload, LeaseOwner, Marketplace,
    MarketplaceError, MarketplaceRefusal, StoreError, SubmissionStore, SubmittedProposal, WorkKind,
    WorkSignal,
};

/// How long a claim lasts unless renewed: short, so that a crash delays a bid by seconds.
pub const LEASE: Duration = Duration::from_secs(10);

/// The longest pause between attempts (decision B4).
const MAX_BACKOFF: Duration = Duration::from_secs(30);

/// The longest pause that a `Retry-After` can ask for once the deadline has passed.
const LONGEST_WAIT_BEYOND_THE_DEADLINE: Duration = Duration::from_secs(60);

/// The first pause between attempts.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);

/// The outcome of work on a claimed bid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubmissionOutcome {
    /// It ended; `bid_complete` is queued.
    Ended(LeadStatus),
    /// It will be retried, for this reason.
    Postponed(String),
    /// Another process has it: the lease was lost.
    LeaseLost,
}

/// Submits queued bids.
#[derive(Debug)]
pub struct SubmitProposals {
    /// Queued bids.
    pub store: Arc<dyn SubmissionStore>,
    /// Takes the proposals.
    pub marketplace: Arc<dyn Marketplace>,
    /// The bids' attachments.
    pub blobs: Arc<dyn BlobStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids and jitter.
    pub entropy: Arc<dyn Entropy>,
    /// Wakes the workers after a bid has ended.
    pub signal: Arc<dyn WorkSignal>,
    /// Addresses of jobs.
    pub links: Links,
    /// The name of this process, unique among all processes.
    pub owner: LeaseOwner,
}

impl SubmitProposals {
    /// Claims up to `limit` due bids; each must now be [worked](Self::work) on.
    pub async fn claim(&self, limit: u32) -> Result<Vec<ClaimedBid>, StoreError> {
        let now = self.clock.now();
        // Each claim has its own name, so that work whose lease has ended cannot use the process's next claim.
        let owner = LeaseOwner::new(format!("{}/{}", self.owner, self.entropy.uuid()));
        self.store.claim(&owner, now, now.plus(LEASE), limit).await
    }

    /// Extends the lease on a bid that is being worked on; to be called several times a [`LEASE`].
    pub async fn renew(&self, claimed: &ClaimedBid) -> Result<bool, StoreError> {
        let bid = &claimed.bid;
        let until = self.clock.now().plus(LEASE);
        self.store
            .renew(&bid.organization_id, bid.id, &claimed.owner, until)
            .await
    }

    /// Works on the bid as far as possible now, and records the result.
    pub async fn work(&self, claimed: &ClaimedBid) -> Result<SubmissionOutcome, StoreError> {
        let mut steps = Vec::new();
        let (bid, owner) = (&claimed.bid, &claimed.owner);
        let (held, outcome) = match self.advance(claimed, &mut steps).await? {
            NextStep::LeaseLost => (false, SubmissionOutcome::LeaseLost),
            NextStep::End {
                outcome,
                refused_token,
            } => {
                let ended = SubmissionOutcome::Ended(outcome.status());
                let ending = Ending {
                    actor: Actor::service(),
                    outcome: *outcome,
                    refused_token,
                    steps: &steps,
                    at: self.clock.now(),
                };
                let entry = ActivityId(self.entropy.uuid());
                let finish = ending.of(claimed, entry, &self.links);
                let held = self.store.finish(&finish, owner).await?;
                if held {
                    self.signal.wake(WorkKind::Deliveries);
                    self.signal.wake(WorkKind::Submissions);
                }
                (held, ended)
            }
            NextStep::Postpone {
                why,
                retry_after,
                outstanding,
            } => {
                let next = self.next_attempt(claimed, retry_after, outstanding);
                let postponed =
                    self.store
                        .postpone(&bid.organization_id, bid.id, owner, next, Some(outstanding));
                (postponed.await?, SubmissionOutcome::Postponed(why))
            }
            NextStep::WaitForToken { refused } => {
                let disconnected =
                    self.store
                        .disconnect_account(&bid.organization_id, bid.id, owner, &refused);
                let why = "the marketplace refused the account's token".to_owned();
                (disconnected.await?, SubmissionOutcome::Postponed(why))
            }
        };
        Ok(if held {
            outcome
        } else {
            SubmissionOutcome::LeaseLost
        })
    }

    /// Gives the bid up after work on it broke off, by a panic or a failure of the store, so that the account's other
    /// bids need not wait for the end of its lease, nor for its next attempt. Nothing else of what was stored changes.
    pub async fn give_up(&self, claimed: &ClaimedBid) -> Result<bool, StoreError> {
        let bid = &claimed.bid;
        let next = self.next_attempt(claimed, None, bid.answer_outstanding);
        self.store
            .postpone(&bid.organization_id, bid.id, &claimed.owner, next, None)
            .await
    }

    async fn advance(
        &self,
        claimed: &ClaimedBid,
        steps: &mut Vec<ExplanationStep>,
    ) -> Result<NextStep, StoreError> {
        let bid = &claimed.bid;
        let stored = bid.proposal.as_ref();
        if let Some(stored) = stored {
            steps.extend(stored.steps.iter().cloned());
        }
        if !bid.answer_outstanding && self.clock.now() >= bid.deadline {
            let message = "The deadline passed before the marketplace took the proposal.";
            let reason = Reason::new(ReasonCode::DeadlineExceeded, message);
            return Ok(NextStep::ended(reason, stored));
        }
        let Some(token) = claimed.token.as_ref() else {
            return Ok(NextStep::Postpone {
                why: "the bidder account was removed".to_owned(),
                retry_after: None,
                outstanding: bid.answer_outstanding,
            });
        };
        if let Some(stored) = stored {
            steps.push(ExplanationStep::new(
                "stored_proposal",
                "The proposal was decided and stored before: it is sent unchanged.",
            ));
            return self.send(claimed, token, stored.clone(), steps).await;
        }
        if claimed.job_taken {
            let message = "The account has another bid on the same job, through another lead.";
            return Ok(NextStep::ended(
                Reason::new(ReasonCode::AlreadyApplied, message),
                None,
            ));
        }
        match self
            .decide_again(claimed, token, ConnectsRefusals::default(), None, steps)
            .await?
        {
            Ok(proposal) => self.send(claimed, token, proposal, steps).await,
            Err(next) => Ok(next),
        }
    }

    /// Stores and sends the proposal. After a refusal for lack of connects, decides again.
    async fn send(
        &self,
        claimed: &ClaimedBid,
        token: &MarketplaceToken,
        mut proposal: Proposal,
        steps: &mut Vec<ExplanationStep>,
    ) -> Result<NextStep, StoreError> {
        let bid = &claimed.bid;
        let mut outstanding = bid.answer_outstanding;
        let mut refusals = ConnectsRefusals::default();
        loop {
            let begun = self
                .store
                .begin_attempt(&bid.organization_id, bid.id, &claimed.owner, &proposal);
            if !begun.await? {
                return Ok(NextStep::LeaseLost);
            }
            let error = match self.marketplace.submit(token, bid.id, &proposal).await {
                Ok(submitted) => return Ok(NextStep::submitted(&proposal, submitted)),
                Err(error) => error,
            };
            match error {
                MarketplaceError::NoAnswer(_)
                | MarketplaceError::Malformed(_)
                | MarketplaceError::NotItsAnswer { .. } => {
                    return Ok(NextStep::postponed(&error, true));
                }
                MarketplaceError::Unreachable(_) | MarketplaceError::TryLater { .. } => {
                    return Ok(NextStep::postponed(&error, outstanding));
                }
                // An earlier attempt may have been accepted. Only another token can show that.
                MarketplaceError::InvalidToken if outstanding => {
                    let refused = token.clone();
                    return Ok(NextStep::WaitForToken { refused });
                }
                MarketplaceError::InvalidToken => return Ok(NextStep::invalid_token(token, Some(&proposal))),
                MarketplaceError::Refused {
                    refusal: MarketplaceRefusal::InsufficientConnects,
                    ..
                } => {
                    // The marketplace has answered: nothing was taken under this key.
                    outstanding = false;
                    refusals = refusals.after(proposal.required_connects.plus(proposal.boost_connects));
                    steps.push(ExplanationStep::new(
                        "connects_refused",
                        "The marketplace refused the proposal for lack of connects: it is decided again.",
                    ));
                    match self
                        .decide_again(claimed, token, refusals, Some(&proposal), steps)
                        .await?
                    {
                        Ok(decided) => proposal = decided,
                        Err(next) => return Ok(next),
                    }
                }
                MarketplaceError::Refused {
                    refusal:
                        MarketplaceRefusal::AlreadyApplied {
                            proposal_id: Some(proposal_id),
                        },
                    ..
                } if outstanding => {
                    steps.push(ExplanationStep::new(
                        "found_submitted",
                        "The marketplace already has the proposal: the earlier attempt, whose answer was lost, got through.",
                    ));
                    let submitted = SubmittedProposal {
                        proposal_id,
                        connects_spent: proposal.required_connects.plus(proposal.boost_connects),
                        submitted_at: self.clock.now(),
                    };
                    return Ok(NextStep::submitted(&proposal, submitted));
                }
                MarketplaceError::Refused { refusal, message } => {
                    return Ok(NextStep::refused(refusal, message, &proposal));
                }
            }
        }
    }

    /// Reads the job's live state and the account's balance in parallel and applies the frozen configuration. `previous` is
    /// a refused proposal, whose uploaded files are used again.
    async fn decide_again(
        &self,
        claimed: &ClaimedBid,
        token: &MarketplaceToken,
        refusals: ConnectsRefusals,
        previous: Option<&Proposal>,
        steps: &mut Vec<ExplanationStep>,
    ) -> Result<Result<Proposal, NextStep>, StoreError> {
        let bid = &claimed.bid;
        let (job, account) = futures::join!(
            self.marketplace.job(token, &bid.job_id),
            self.marketplace.account(token)
        );
        let (job, account) = match (job, account) {
            (Ok(job), Ok(account)) => (job, account),
            (
                Err(MarketplaceError::Refused {
                    refusal: MarketplaceRefusal::NotFound,
                    ..
                }),
                _,
            ) => {
                let message = "The marketplace no longer knows the job.";
                let reason = Reason::new(ReasonCode::JobNotFound, message);
                return Ok(Err(NextStep::ended(reason, previous)));
            }
            (Err(MarketplaceError::InvalidToken), _) | (_, Err(MarketplaceError::InvalidToken)) => {
                return Ok(Err(NextStep::invalid_token(token, previous)));
            }
            (Err(error), _) | (_, Err(error)) => return Ok(Err(NextStep::postponed(&error, false))),
        };
        let reading = AccountReading {
            profile_hourly_rate: account.profile_hourly_rate,
            connects_balance: account.connects_balance,
            at: self.clock.now(),
        };
        self.store
            .record_account(&bid.organization_id, &bid.account_id, &reading)
            .await?;
        let decision = decide(DecisionInput {
            config: &bid.config,
            job: &JobTerms::of(&job.post),
            live: &job.state,
            balance: account.connects_balance,
            profile_rate: account.profile_hourly_rate,
            refusals,
        });
        match decision {
            Decision::End {
                reason,
                terms,
                steps: decided,
                ..
            } => {
                steps.extend(decided);
                let terms = terms.or(previous.map(|previous| previous.terms));
                Ok(Err(NextStep::not_sent(reason, terms)))
            }
            Decision::Send {
                terms,
                boost,
                accept_warnings,
                steps: decided,
            } => {
                steps.extend(decided);
                let attachments = match previous {
                    Some(previous) => previous.attachments.clone(),
                    None => match self.upload_attachments(claimed, token).await {
                        Ok(ids) => ids,
                        Err(next) => return Ok(Err(next)),
                    },
                };
                Ok(Ok(Proposal {
                    job_id: bid.job_id.clone(),
                    cover_letter: bid.cover_letter.clone(),
                    answers: bid.answers.clone(),
                    terms,
                    boost_connects: boost.connects,
                    required_connects: job.state.required_connects,
                    attachments,
                    accept_warnings,
                    steps: steps.clone(),
                }))
            }
        }
    }

    async fn upload_attachments(
        &self,
        claimed: &ClaimedBid,
        token: &MarketplaceToken,
    ) -> Result<Vec<String>, NextStep> {
        let mut ids = Vec::with_capacity(claimed.bid.attachments.len());
        for file in &claimed.bid.attachments {
            let content = match BlobPath::parse(&file.blob.storage_path) {
                Some(path) => self.blobs.read(&path).await.map_err(|error| error.to_string()),
                None => Err(format!("`{}` is not a storage path", file.blob.storage_path)),
            };
            let content = content.map_err(|why| NextStep::Postpone {
                why: format!("attachment {}: {why}", file.name),
                retry_after: None,
                outstanding: false,
            })?;
            let upload = FileUpload {
                name: file.name.clone(),
                content_type: file.content_type.clone(),
                size_bytes: file.blob.size_bytes,
                content,
            };
            match self.marketplace.upload(token, upload).await {
                Ok(id) => ids.push(id),
                Err(MarketplaceError::InvalidToken) => return Err(NextStep::invalid_token(token, None)),
                Err(MarketplaceError::Refused { message, .. }) => {
                    let message = format!("The marketplace refused the file {}: {message}", file.name);
                    return Err(NextStep::ended(Reason::new(ReasonCode::Invalid, message), None));
                }
                Err(error) => return Err(NextStep::postponed(&error, false)),
            }
        }
        Ok(ids)
    }

    /// Exponential backoff with jitter, not before `Retry-After`. A bid without an outstanding answer ends at the deadline,
    /// so its next attempt is not later than that. One with an outstanding answer waits for a `Retry-After` until the
    /// deadline, and beyond it for a minute at a time: whoever asks for more, such as a gateway, does not decide on it.
    fn next_attempt(
        &self,
        claimed: &ClaimedBid,
        retry_after: Option<Duration>,
        outstanding: bool,
    ) -> Timestamp {
        let doubled = FIRST_BACKOFF.saturating_mul(1 << claimed.bid.attempts.min(10));
        let backoff = doubled
            .min(MAX_BACKOFF)
            .mul_f64(0.5 + self.entropy.fraction() / 2.0);
        let (now, deadline) = (self.clock.now(), claimed.bid.deadline);
        let next = now.plus(backoff.max(retry_after.unwrap_or_default()));
        let latest = if outstanding {
            deadline.max(now.plus(LONGEST_WAIT_BEYOND_THE_DEADLINE))
        } else {
            deadline.max(now)
        };
        next.min(latest)
    }
}
