//! Campaigns: their mode, their state, and what they may do.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, IntoStaticStr, VariantArray};

use super::{AccountId, BiddingConfig, BlobRef, CampaignId, OrganizationId, Subscription};

/// Who decides on a campaign's leads (decision D1).
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    Display,
    EnumString,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CampaignMode {
    /// The service writes and submits the bid.
    Automatic,
    /// The caller is sent `job.new` and decides.
    External,
}

/// Whether a campaign acts by itself (decision D1).
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, Display, EnumString, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum CampaignState {
    /// Acts on every job that arrives and matches.
    Active,
    /// Matches and lists only, and does what it is told through the API.
    Paused,
}

/// What a campaign does with a job that has just become a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignAction {
    /// The job is listed, nothing else.
    ListOnly,
    /// A lead and `job.new`.
    PushJobNew,
    /// A lead and an intent to bid by template.
    BidByTemplate,
}

/// Decides what a campaign does with a job that arrives now (decisions D2 and D6).
///
/// `fresh` says whether the post is young enough to act on (`watch.act_within_minutes`).
pub fn action_on_match(
    mode: CampaignMode,
    state: CampaignState,
    subscription_is_active: bool,
    fresh: bool,
) -> CampaignAction {
    if state != CampaignState::Active || !subscription_is_active || !fresh {
        return CampaignAction::ListOnly;
    }
    match mode {
        CampaignMode::External => CampaignAction::PushJobNew,
        CampaignMode::Automatic => CampaignAction::BidByTemplate,
    }
}

/// The templates of an automatic campaign (decision D3).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProposalTemplate {
    /// Jinja template of the cover letter over the lead's fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover_letter: Option<String>,
    /// Answers by question.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerTemplate>,
}

/// The answer that an automatic campaign gives to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerTemplate {
    /// The question's text, compared byte for byte.
    pub question: String,
    /// Jinja template of the answer over the lead's fields.
    pub answer: String,
}

/// A file of the campaign's, sent with each of its proposals unless the lead has uploads of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CampaignAttachment {
    /// The file's name as given.
    pub name: String,
    /// One of the accepted content types.
    pub content_type: String,
    /// Where its content lies.
    #[serde(flatten)]
    pub blob: BlobRef,
}

/// A bidder account as far as bidding needs to know it; the token stays in the store and the submitter.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountSummary {
    /// Its id.
    pub id: AccountId,
    /// False once the marketplace refused its token, until a new one is set (decision B4).
    pub connected: bool,
    /// The profile's hourly rate in USD as last read from the marketplace.
    pub profile_hourly_rate: Option<f64>,
}

/// A campaign as the bidding use cases see it.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// Its organization.
    pub organization_id: OrganizationId,
    /// Its id.
    pub id: CampaignId,
    /// Shown to users and sent as `campaignName`.
    pub name: String,
    /// Who decides.
    pub mode: CampaignMode,
    /// Whether it acts by itself.
    pub state: CampaignState,
    /// The campaign's own bidding configuration.
    pub bidding_config: BiddingConfig,
    /// Templates, if any.
    pub proposal: ProposalTemplate,
    /// The account it bids with, if any.
    pub account: Option<AccountSummary>,
    /// The organization's subscription.
    pub subscription: Subscription,
}
