//! What the domain needs from the outside, one trait a need.
//!
//! A port method is one atomic step: no transaction, connection or lock crosses it. A command re-checks the
//! preconditions it was decided on, so a use case reads, decides and commands without holding a lock. A command's result
//! is a typed outcome; an error says that the adapter failed, and knows no SQL and no HTTP. What every implementation
//! must do beyond the types is tested by the crate `bidloop-port-contracts`.
//!
//! | need | port |
//! |---|---|
//! | time, randomness | [`Clock`], [`Pause`], [`Entropy`] |
//! | threads for parallel work | [`Threads`] |
//! | the marketplace | [`Marketplace`] |
//! | sending webhooks | [`WebhookSender`] |
//! | attachments' bytes | [`BlobStore`] |
//! | letters from templates | [`ProposalWriter`] |
//! | files named in a provisioning file | [`AttachmentSource`] |
//! | people's passwords | [`PasswordHasher`] |
//! | one-time links by mail | [`LinkMailer`] |
//! | what is stored | [`ApiKeyStore`], [`LeadStore`], [`JobStore`], [`FeedLeaseStore`], [`MatchStore`], [`DeliveryStore`], [`DeliveryRecords`], [`SubmissionStore`], [`AutomaticBidStore`], [`ActivityStore`], [`CampaignFeedStore`], [`ProvisioningStore`], [`RetentionStore`], [`ErasureStore`], [`PeopleStore`], [`SessionStore`], [`SignInTryStore`], [`FirstRunStore`], [`StatisticsStore`], [`OverviewStore`] |
//! | waking workers | [`WorkSignal`] |
//! | passing over rows that cannot be understood, and finding them | [`Quarantine`], [`RowInspector`] |

mod activities;
mod api_keys;
mod attachment_source;
mod billing;
mod blob_store;
mod campaign_feed;
mod clock;
mod current_trace;
mod deliveries;
mod delivery_records;
mod erasure;
mod error;
mod feed_lease;
mod first_run;
mod inspection;
mod jobs;
mod leads;
mod lease;
mod link_mailer;
mod marketplace;
mod matches;
mod overview;
mod password_hasher;
mod people;
mod proposal_writer;
mod provisioning;
mod quarantine;
mod retention;
mod sessions;
mod sign_in_tries;
mod statistics;
mod submissions;
mod threads;
mod webhook_sender;
mod work_signal;

pub use crate::provisioning::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, ProvisioningChange, UserRecord,
    WebhookRecord,
};
pub use activities::ActivityStore;
pub use api_keys::{ApiKeyStore, CreateApiKey, RevokeApiKey};
pub use attachment_source::{AttachmentPieces, AttachmentSource, AttachmentSourceError};
pub use billing::{BilledOrganization, BilledRecord, BillingChange, BillingStore};
pub use blob_store::{BlobError, BlobPath, BlobStore, StagedBlob};
pub use campaign_feed::{
    BidLetter, BidMeans, BidSummary, BiddingAccount, CampaignFeedStore, FeedCounts, FeedNews, FeedQuery,
    ListedMatch, ListedMatches, Newest, SignedMatch, SignedMatches,
};
pub use clock::{Clock, Entropy, Pause};
pub use current_trace::CurrentTrace;
pub use deliveries::{
    BeginTry, ClaimedDelivery, DeliveryEnd, DeliveryFacts, DeliveryOutcome, DeliveryStore, MAX_TRIES,
    MAX_TRIGGERED, NewTry, PendingDelivery, TRIES_WITHIN, TriedReceivers,
};
pub use delivery_records::{DeliveryRecords, RecordedDelivery};
pub use erasure::ErasureStore;
pub use error::StoreError;
pub use feed_lease::FeedLeaseStore;
pub use first_run::{CreateFirst, FIRST_RUN_CODES, FirstOrganization, FirstRunCodeState, FirstRunStore};
pub use inspection::{InspectedRows, InspectedUpTo, RowInspector};
pub use jobs::{
    FilterChanges, JobStore, MatchedJob, MatchedPage, PageCounts, RecordPage, Revision, SendAtOnce,
    SendingPlaces, StoredFilter,
};
pub use leads::{
    AcceptBid, AddAttachments, ConfigureLead, DRY_RUN_BACKLOG, JobContent, LeadContext, LeadLookup, LeadPage,
    LeadStore, NewAttachment, RecordDryRun, RejectLead, ReopenLead,
};
pub use lease::LeaseOwner;
pub use link_mailer::{LinkMail, LinkMailer, MailError};
pub use marketplace::{
    FeedCursor, FeedEntry, FeedPage, FileUpload, LiveAccount, LiveJob, Marketplace, MarketplaceError,
    MarketplaceRefusal, SubmittedProposal,
};
pub use matches::{
    Backfill, CampaignRevision, DueBackfills, MatchStore, StoredJob, StoredSignature, SwitchMatches,
};
pub use overview::{
    AccountFacts, CampaignFacts, CampaignSign, EndpointFacts, InstallationState, OrganizationFacts,
    OrganizationName, OrganizationSigns, OrganizationSummary, OverviewStore, ShellFacts, SubscriptionUsage,
};
pub use password_hasher::{HasherBusy, PasswordHasher};
pub use people::{
    FoundPersonalToken, OrganizationMember, OrganizationPeople, PeopleChange, PeopleStore, PersonEverywhere,
    StoredPerson,
};
pub use proposal_writer::{ProposalWriter, TemplateError};
pub use provisioning::{
    ByPerson, CommitProvisioning, ProvisioningSnapshot, ProvisioningStore, UnreadableEntity, WebhookUrl,
};
pub use quarantine::{Quarantine, UnreadableRow};
pub use retention::{Prunable, PruneCursor, PruneStep, RetentionStore};
pub use sessions::{FoundSession, NewSession, SESSIONS_OF_A_PERSON, SessionStore};
pub use sign_in_tries::SignInTryStore;
pub use statistics::{CountedSum, CountsQuery, StatisticsStore};
pub use submissions::{
    AccountReading, AccountState, AutomaticBidIntent, AutomaticBidStore, ClaimUnanswered, ClaimedBid,
    FinishBid, FinishBy, SubmissionStore, WaitingBid, WaitingBidsQuery,
};
pub use threads::{CallingThread, Threads};
pub use webhook_sender::{
    OutgoingWebhook, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookSender,
};
pub use work_signal::{WorkKind, WorkSignal};
