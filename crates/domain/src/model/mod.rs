//! The vocabulary of Bidloop: the specification's resources, their states, and their JSON.
//!
//! The model is the ground of the crate. It depends on [`matching`](crate::matching) alone, and holds no decision
//! beyond a type's own rules:
//!
//! - a job and what becomes of it: [`JobPost`], [`Lead`], [`BidRequest`], [`QueuedBid`], [`Proposal`], [`Reason`];
//! - its owner: [`Campaign`], [`Subscription`], [`BillingEvents`], [`ApiKey`], [`WebhookEndpoint`];
//! - people: [`Person`], [`Member`], [`SessionToken`], [`Tries`], [`OneTimeLink`], [`PersonalToken`];
//! - the bidding configuration: [`BiddingConfig`], a layer, and [`EffectiveConfig`], all layers together;
//! - values: [`UsdCents`], [`Connects`], [`Percentage`], [`Timestamp`], the ids, and [`Secret`];
//! - what is reported: [`Activity`], [`NewEvent`], [`lead_document`], [`webhook_signature`].
//!
//! A type that holds a checked text has `parse`, which returns why it refuses one, and `as_str`.

mod activity;
mod activity_search;
mod api_key;
mod attachment;
mod bid;
mod bid_complete;
mod bidding_config;
mod bidding_values;
mod billed_subscription;
mod campaign;
mod digest;
mod explanation;
mod first_run_code;
mod ids;
mod job_address;
mod job_facts;
mod job_post;
mod lead;
mod lead_document;
mod lead_status;
mod merge;
mod money;
mod number;
mod object;
mod one_time_link;
mod organization;
mod password;
mod person;
mod personal_token;
mod readiness;
mod reason;
mod secret;
mod session;
mod sign_in_tries;
mod statistics;
mod terms;
mod timestamp;
mod trace_parent;
mod webhook;
pub mod webhook_signature;
mod words;

pub(crate) use activity::details;
pub use activity::{Activity, ActivityKind, ActivityOutcome, ActivityQuery, Actor, ActorKind};
pub use activity_search::{ActivityPlace, ActivitySearch, FoundActivities};
pub use api_key::{
    ApiKey, ApiKeyHash, ApiKeyRecord, Authorization, FoundApiKey, InvalidApiKey, Unauthorized,
};
pub use attachment::{BlobRef, LeadAttachment, ProposalFile};
pub use bid::{
    BidOutcome, BidRecord, BidRequest, CoverLetter, NewBid, Proposal, QuestionAnswerPair, QueuedBid,
};
pub use bid_complete::BidCompleteData;
pub use bidding_config::{BIDDING_CONFIG_FIELDS, BiddingConfig, ConfigSource, EffectiveConfig, effective};
pub use bidding_values::{
    AlreadyHiredAction, BidWithWarning, BoostedPlace, HourlyRateStrategy, InsufficientBoostConnectsAction,
};
pub use bidloop_matching::json::{FieldError, read_json, sanitize_for_log};
pub use bidloop_matching::{FilterFile, MAX_LIST_VALUES, MAX_VALUE_CHARS, PaymentKind, SavedFilter};
pub use billed_subscription::{BilledState, BillingEvents, InvoiceReport, SubscriptionReport};
pub use campaign::{
    AccountSummary, AnswerTemplate, Campaign, CampaignAction, CampaignMode, CampaignState, ProposalTemplate,
    action_on_match,
};
pub use explanation::ExplanationStep;
pub(crate) use explanation::{count_connects, usd};
pub use first_run_code::{FirstRunCode, FirstRunCodeHash};
pub use ids::{
    AccountId, ActivityId, ApiKeyId, AttachmentId, BidId, BilledSubscriptionId, CampaignId, CustomerId,
    DeliveryId, EndpointId, EventId, FilterId, InvalidId, InvoiceId, JobId, LeadId, LinkId, OrganizationId,
    PersonalTokenId,
};
pub use job_address::{InvalidJobAddress, JobAddress};
pub use job_post::{
    ClientInfo, HourlyRange, JobAttachment, JobMetadata, JobPost, JobPostError, OpenJob, Skill,
    VendorQualifications,
};
pub use lead::{Lead, LeadWithJob, ListedLead, NewLead};
pub use lead_document::{
    CorruptJob, LeadFields, LeadForm, LeadWriter, Links, PostFields, lead_document, readable_job,
};
pub use lead_status::LeadStatus;
pub use merge::merge_patch;
pub use money::{Connects, HourlyRate, NumberOutOfRange, Percentage, UsdCents, exact_decimal};
pub(crate) use money::{LEAST_DECIMAL, decimal_to_number};
pub use number::whole_number;
pub use object::Object;
pub(crate) use object::objects;
pub use one_time_link::{LINK_LIFETIME, LinkHash, LinkKind, LinkToken, OneTimeLink};
pub use organization::{Renewal, Subscription, SubscriptionStatus};
pub use password::{InvalidPassword, MAX_PASSWORD_BYTES, MIN_PASSWORD_BYTES, Password};
pub use person::{EmailAddress, EmailKey, InvalidEmail, Member, MemberRole, Membership, Person};
pub use personal_token::{
    InvalidPersonalToken, PersonalToken, PersonalTokenHash, PersonalTokenRecord, TOKEN_USE_WRITTEN,
    TokenScope,
};
pub use readiness::{CampaignParts, MissingPart};
pub use reason::{Reason, ReasonCode};
pub use secret::{InvalidMarketplaceToken, MarketplaceToken, Secret};
pub use session::{
    CsrfToken, InvalidSessionToken, SESSION_IDLE, SESSION_LIFETIME, SESSION_USE_WRITTEN, SessionHash,
    SessionTimes, SessionToken,
};
pub use sign_in_tries::{
    FIRST_PAUSE, FREE_TRIES, LONGEST_PAUSE, NetworkOrigin, TRIES_COUNTED, Tries, TrySubject,
};
pub use statistics::{Counted, Histogram, Measure, SUBMITTED, StatisticsStep, Tally, TimeBucket};
/// Lists the variants of the model's enums, such as `LeadStatus::VARIANTS`.
pub use strum::VariantArray;
pub use terms::{Terms, TermsJson};
pub use timestamp::Timestamp;
pub use trace_parent::{TRACE_PARENT_HEADER, TraceParent};
pub use webhook::{
    DeliveryState, DeliveryTarget, EventKind, EventPayload, NewEvent, PAYLOAD_VERSION, WebhookEndpoint,
    envelope, receivers,
};
pub use webhook_signature::{WebhookSecret, WebhookSecretError, sign};
pub(crate) use words::words;
