//! Bids: what a caller asks for, what is frozen when it is accepted, and how it ends.

use serde::{Deserialize, Serialize};

use super::{
    AccountId, BidId, BiddingConfig, CampaignId, Connects, EffectiveConfig, ExplanationStep, JobId, LeadId,
    LeadStatus, OrganizationId, ProposalFile, Reason, Terms, Timestamp, TraceParent,
};

/// The proposal's body, submitted as it is. Not blank (decision A2).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CoverLetter(String);

impl CoverLetter {
    /// `None` if `text` is empty or white space only.
    pub fn parse(text: String) -> Option<Self> {
        (!text.trim().is_empty()).then_some(Self(text))
    }

    /// The letter.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One screening question with its answer, submitted as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswerPair {
    /// A byte-identical copy of one of the lead's questions.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// A well-formed bid request (specification, `SubmitBidRequest`).
#[derive(Debug, Clone, PartialEq)]
pub struct BidRequest {
    /// The proposal's body.
    pub cover_letter: CoverLetter,
    /// One pair for each question.
    pub question_answer_pairs: Vec<QuestionAnswerPair>,
    /// Validate and simulate only.
    pub dry_run: bool,
    /// Overrides for this bid.
    pub bidding_config: BiddingConfig,
}

/// What is frozen when a bid is accepted (decision B4). The store adds the attachments in the same transaction.
#[derive(Debug, Clone, PartialEq)]
pub struct NewBid {
    /// A new id; its text is the idempotency key.
    pub id: BidId,
    /// The lead's organization.
    pub organization_id: OrganizationId,
    /// The lead's campaign.
    pub campaign_id: CampaignId,
    /// The lead.
    pub lead_id: LeadId,
    /// The lead's job.
    pub job_id: JobId,
    /// When the job was posted; counted, not stored.
    pub posted_at: Timestamp,
    /// The proposal's body.
    pub cover_letter: CoverLetter,
    /// In the order of the lead's questions.
    pub answers: Vec<QuestionAnswerPair>,
    /// Request, lead, campaign and defaults merged.
    pub config: EffectiveConfig,
    /// When it is accepted.
    pub queued_at: Timestamp,
    /// The moment at which it is given up (decision B4).
    pub deadline: Timestamp,
    /// The trace that it belongs to, if its request brought one.
    pub trace_parent: Option<TraceParent>,
}

/// A decided proposal: stored before it is first sent, and never changed after that (decision B4).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Proposal {
    /// The job.
    pub job_id: JobId,
    /// The proposal's body.
    pub cover_letter: CoverLetter,
    /// In the order of the job's questions.
    pub answers: Vec<QuestionAnswerPair>,
    /// What it asks for.
    pub terms: Terms,
    /// Connects in addition to the job's own; 0 without a boost.
    pub boost_connects: Connects,
    /// The job's own connects as read when the proposal was decided; not sent.
    pub required_connects: Connects,
    /// The marketplace's ids of the uploaded files.
    pub attachments: Vec<String>,
    /// True exactly when the effective `bidWithWarning` is `bid`.
    pub accept_warnings: bool,
    /// The steps of the decision, for the Activity record of a repeated attempt, which decides nothing. Not sent.
    #[serde(default)]
    pub steps: Vec<ExplanationStep>,
}

/// An accepted bid awaiting submission.
#[derive(Debug, Clone, PartialEq)]
pub struct QueuedBid {
    /// The bid.
    pub id: BidId,
    /// Its organization.
    pub organization_id: OrganizationId,
    /// Its campaign.
    pub campaign_id: CampaignId,
    /// Its lead.
    pub lead_id: LeadId,
    /// The lead's job.
    pub job_id: JobId,
    /// The account it is made with.
    pub account_id: AccountId,
    /// The proposal's body.
    pub cover_letter: CoverLetter,
    /// In the order of the lead's questions.
    pub answers: Vec<QuestionAnswerPair>,
    /// The configuration frozen at acceptance.
    pub config: EffectiveConfig,
    /// The files frozen at acceptance.
    pub attachments: Vec<ProposalFile>,
    /// When it was accepted.
    pub queued_at: Timestamp,
    /// The moment at which it is given up, unless an answer is outstanding.
    pub deadline: Timestamp,
    /// Attempts made so far.
    pub attempts: u32,
    /// The decided proposal, once there is one.
    pub proposal: Option<Proposal>,
    /// Whether the answer to an attempt is unknown, perhaps because of a crash. The stored proposal is then sent again
    /// before anything else is read or decided.
    pub answer_outstanding: bool,
    /// The trace that it belongs to.
    pub trace_parent: Option<TraceParent>,
}

/// How a bid ended.
#[derive(Debug, Clone, PartialEq)]
pub enum BidOutcome {
    /// The marketplace took the proposal.
    Submitted {
        /// The marketplace's id of the proposal.
        proposal_id: String,
        /// When the marketplace took it.
        submitted_at: Timestamp,
        /// What it asks for.
        terms: Terms,
        /// The boost; 0 without one.
        boost_connects: Connects,
        /// Connects that the marketplace took.
        connects_spent: Connects,
    },
    /// No proposal was taken. The reason's code says whether the bid is skipped or failed.
    NotSubmitted {
        /// Why.
        reason: Reason,
        /// What the proposal would have asked for, if that was decided.
        terms: Option<Terms>,
        /// The boost that was decided; 0 without one.
        boost_connects: Connects,
        /// The marketplace's id of the proposal that the account already had.
        existing_proposal_id: Option<String>,
    },
}

impl BidOutcome {
    /// `submitted`, `skipped` or `failed`.
    pub fn status(&self) -> LeadStatus {
        match self {
            Self::Submitted { .. } => LeadStatus::Submitted,
            Self::NotSubmitted { reason, .. } => reason.code.status(),
        }
    }

    /// Why, unless submitted.
    pub const fn reason(&self) -> Option<&Reason> {
        match self {
            Self::Submitted { .. } => None,
            Self::NotSubmitted { reason, .. } => Some(reason),
        }
    }

    /// The marketplace's id of the account's proposal on the job: the submitted one, or the one it already had.
    pub fn proposal_id(&self) -> Option<&str> {
        match self {
            Self::Submitted { proposal_id, .. } => Some(proposal_id),
            Self::NotSubmitted {
                existing_proposal_id, ..
            } => existing_proposal_id.as_deref(),
        }
    }

    /// When the marketplace took the proposal.
    pub const fn submitted_at(&self) -> Option<Timestamp> {
        match self {
            Self::Submitted { submitted_at, .. } => Some(*submitted_at),
            Self::NotSubmitted { .. } => None,
        }
    }

    /// What the proposal asks for, if that was decided.
    pub const fn terms(&self) -> Option<Terms> {
        match self {
            Self::Submitted { terms, .. } => Some(*terms),
            Self::NotSubmitted { terms, .. } => *terms,
        }
    }

    /// The boost that was decided; 0 without one.
    pub const fn boost_connects(&self) -> Connects {
        match self {
            Self::Submitted { boost_connects, .. } | Self::NotSubmitted { boost_connects, .. } => {
                *boost_connects
            }
        }
    }

    /// Connects that the marketplace took.
    pub const fn connects_spent(&self) -> Connects {
        match self {
            Self::Submitted { connects_spent, .. } => *connects_spent,
            Self::NotSubmitted { .. } => Connects::ZERO,
        }
    }
}

/// A bid as an operator sees it: `bidloop leads show`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BidRecord {
    /// The bid and idempotency key.
    pub id: BidId,
    /// The account it is made with.
    pub account_id: AccountId,
    /// The lead's status that the bid brought about.
    pub status: LeadStatus,
    /// UNIX milliseconds.
    pub queued_at: Timestamp,
    /// UNIX milliseconds.
    pub deadline: Timestamp,
    /// Attempts made so far.
    pub attempts: u32,
    /// Whether the answer to an attempt is unknown.
    pub answer_outstanding: bool,
    /// The decided proposal, once there is one.
    pub proposal: Option<Proposal>,
    /// The configuration frozen at acceptance.
    pub config: EffectiveConfig,
    /// The files frozen at acceptance.
    pub attachments: Vec<ProposalFile>,
    /// Why it was skipped or failed.
    pub reason: Option<Reason>,
    /// The marketplace's id of the proposal.
    pub proposal_id: Option<String>,
    /// UNIX milliseconds.
    pub submitted_at: Option<Timestamp>,
    /// Connects that the marketplace took.
    pub connects_spent: Connects,
}
