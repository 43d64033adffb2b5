//! Why a request on a lead is refused, or fails. The driving adapter maps each error to an answer.

use serde_json::{Map, Value, json};

use crate::attachment_rules::{FileFault, shown};
use crate::bidding::{QuotaUsage, ValidationFault};
use crate::model::{FieldError, LeadStatus, Unauthorized};
use crate::port::{BlobError, StoreError};

/// Why a request on a lead is refused, or fails. A refusal changes nothing but the Activity record.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LeadError {
    /// The key, the session or the subscription ended after the request had begun (decisions D5 and D6).
    #[error("missing or invalid API key, or no active paid subscription")]
    NotAuthorized(Unauthorized),
    /// The organization has no such campaign.
    #[error("campaign not found")]
    CampaignUnknown,
    /// The campaign has no such lead.
    #[error("lead not found")]
    LeadUnknown,
    /// The request's body is larger than the operation takes.
    #[error("the request body is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The operation's limit.
        limit_bytes: u64,
    },
    /// The request's media type is not the operation's.
    #[error("the media type `{given}` is not supported; send `{expected}`")]
    UnsupportedMediaType {
        /// The request's media type.
        given: String,
        /// The operation's media type.
        expected: &'static str,
    },
    /// Malformed JSON, an unknown or missing field, a wrong type, a value out of bounds (decision A2).
    #[error("the request body is not valid")]
    Malformed(Vec<FieldError>),
    /// The bid breaks the bidding rules (specification, submitBid, rules 1 to 3).
    #[error("the bid breaks the bidding rules")]
    Rules(Vec<ValidationFault>),
    /// A bid on a lead that was bid on or rejected before.
    #[error("the lead is already {0}: it takes no further bid")]
    BidTooLate(LeadStatus),
    /// A real bid without an account to make it with (decision A8).
    #[error("the campaign has no connected bidder account: connect one, or send a dry run")]
    NoConnectedAccount,
    /// The plan's quota is used up.
    #[error("the plan's proposal limit for this billing period is reached")]
    QuotaUsedUp(QuotaUsage),
    /// A rejection of a lead that was bid on or rejected before.
    #[error("the lead is already {0}: it cannot be rejected")]
    RejectionTooLate(LeadStatus),
    /// An upload for a lead that was bid on or rejected: the files could no longer be used (decision A10).
    #[error("the lead is already {0}: it takes no more files")]
    UploadTooLate(LeadStatus),
    /// An upload with a part that is not named `files`.
    #[error("{} was sent in a part named \"{}\": every part must be named \"files\"",
        file_in_words(.file_name.as_deref()), shown(.part_name))]
    UnexpectedPart {
        /// The part's name.
        part_name: String,
        /// Its file's name, if it has one.
        file_name: Option<String>,
    },
    /// The first faulty file of an upload (decision A9).
    #[error(transparent)]
    File(#[from] FileFault),
    /// The service holds as many bytes of request bodies as it can, or as the caller's share allows (decision A3).
    #[error("too many request bodies are on their way")]
    Overloaded,
    /// A dry run whose `bid_complete` would be one too many for an endpoint (decision A3).
    #[error(
        "too many webhook deliveries are pending for an endpoint of this campaign; send the dry run later"
    )]
    ReceiverOverloaded,
    /// The attachment storage failed.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl LeadError {
    /// Whether the request was refused. The other errors are failures of the service.
    pub(super) const fn is_refusal(&self) -> bool {
        !matches!(self, Self::Overloaded | Self::Blob(_) | Self::Store(_))
    }

    /// The refusal in detail, as the caller and the Activity record see it: the faults, or the state of the quota.
    pub fn details(&self) -> Map<String, Value> {
        let members = match self {
            Self::Malformed(faults) => json!({ "errors": faults }),
            Self::Rules(faults) => json!({ "errors": faults }),
            Self::QuotaUsedUp(usage) => json!({
                "code": "proposal_limit_reached",
                "currentUsage": usage.used,
                "limit": usage.limit,
                "currentPeriodEnd": usage.period_end.as_seconds(),
            }),
            _ => Value::Null,
        };
        match members {
            Value::Object(members) => members,
            _ => Map::new(),
        }
    }
}

fn file_in_words(name: Option<&str>) -> String {
    name.map_or_else(|| "a value".to_owned(), |name| format!("\"{}\"", shown(name)))
}
