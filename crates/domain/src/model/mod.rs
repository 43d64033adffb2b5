//! What Bidloop talks about.

mod bidding_config;
mod effective_config;
mod money;
mod shape_fault;
mod timestamp;
pub mod webhook_signature;

pub use bidding_config::{
    AlreadyHiredAction, BIDDING_CONFIG_FIELDS, BidWithWarning, BiddingConfig, BoostedPlace,
    HourlyRateStrategy, InsufficientBoostConnectsAction,
};
pub use effective_config::{ConfigSource, EffectiveConfig, effective};
pub(crate) use money::decimal_to_number;
pub use money::{Connects, HourlyRate, NumberOutOfRange, Percentage, UsdCents, exact_decimal};
pub use shape_fault::ShapeFault;
pub use timestamp::Timestamp;
pub use webhook_signature::{WebhookSecret, WebhookSecretError};
