//! The words of the model's enums, on the wire, in messages and in the database.
//!
//! strum derives the words from the variants' names; `text.parse()` reads them, and `VARIANTS` lists the variants.

use super::{
    ActivityKind, ActivityOutcome, ActorKind, CampaignMode, CampaignState, DeliveryState, EventKind,
    HourlyRateStrategy, LeadStatus, ReasonCode, SubscriptionStatus,
};

macro_rules! words {
    ($($name:ident),* $(,)?) => {$(
        impl $name {
            /// The variant's word, on the wire, in messages and in the database.
            pub fn as_str(self) -> &'static str {
                self.into()
            }
        }
    )*};
}

words!(
    ActivityKind,
    ActivityOutcome,
    ActorKind,
    CampaignMode,
    CampaignState,
    DeliveryState,
    EventKind,
    HourlyRateStrategy,
    LeadStatus,
    ReasonCode,
    SubscriptionStatus,
);
