#![doc = include_str!("../README.md")]

mod acknowledgement;
mod api_key;
mod attachment;
mod base_url;
mod bid;
mod client;
mod error;
mod event;
mod exchange;
mod lead;
mod lead_ref;
mod leads;
mod multipart;
mod open_enum;
mod outcome;
mod refusal;
mod retry;
mod retry_after;
mod verification;

pub use acknowledgement::Acknowledgement;
pub use api_key::{ApiKey, InvalidApiKey};
pub use attachment::{LeadAttachment, Upload};
pub use base_url::BaseUrlError;
pub use bid::{
    AlreadyHiredAction, Bid, BidWithWarning, BiddingConfig, HourlyRateStrategy,
    InsufficientBoostConnectsAction, QuestionAnswer,
};
pub use client::{BuildError, Client, ClientBuilder};
pub use error::{Error, ErrorKind};
pub use event::{BidComplete, Delivery, Event, JobNew, Outcome, Terms, TermsKind};
pub use lead::{
    ClientInfo, EnglishLevel, HourlyRange, JobAttachment, Lead, LeadMetadata, LeadPage, LeadReason,
    LeadStatus, OpenJob, OpenJobKind, Region, Skill, TalentType, VendorQualifications,
};
pub use lead_ref::LeadRef;
pub use outcome::{BidOutcome, RejectOutcome};
pub use refusal::{QuotaError, Refusal, RuleCode, RuleFault, ShapeFault, StandardError, ValidationError};
pub use retry::RetryPolicy;
pub use verification::{
    DEFAULT_TOLERANCE, InvalidWebhookSecret, SignatureHeaders, SignatureRefused, VerifyError, WebhookVerifier,
};
