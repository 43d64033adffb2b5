//! Campaigns: their mode, their state, and what they may do.

use serde::{Deserialize, Serialize};

use super::words::words;
use super::{AccountId, BiddingConfig, CampaignId, OrganizationId, Subscription};

words! {
    /// Who decides on a campaign's leads (decision D1).
    pub enum CampaignMode {
        /// The service writes and submits the bid.
        Automatic,
        /// The caller receives `job.new` and decides.
        External,
    }

    /// Whether a campaign acts by itself (decision D1).
    pub enum CampaignState {
        /// Acts on each new job that matches.
        Active,
        /// Only matches and lists jobs; bids of the API are accepted all the same (decision A8).
        Paused,
    }
}

/// What a campaign does with a job that has just become a match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CampaignAction {
    /// List the job only.
    ListOnly,
    /// Make a lead and send `job.new`.
    PushJobNew,
    /// Make a lead and an intent to bid by template.
    BidByTemplate,
}

/// Decides what a campaign does with a job that has just arrived (decisions D2 and D6).
///
/// `fresh` is whether the post is recent enough to act on (`watch.act_within_minutes`).
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
    /// Jinja template of the cover letter over the lead's fields; without one the campaign cannot bid by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cover_letter: Option<String>,
    /// One template for each question that the campaign can answer.
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

/// A bidder account as the bidding use cases see it, without its token.
#[derive(Debug, Clone, PartialEq)]
pub struct AccountSummary {
    /// Unique within the organization.
    pub id: AccountId,
    /// False from the moment the marketplace refuses its token until a new one is set (decision B4).
    pub connected: bool,
    /// The profile's hourly rate in USD, as last read from the marketplace; `None` if unknown.
    pub profile_hourly_rate: Option<f64>,
}

/// A campaign as the bidding use cases see it.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// The organization that owns the campaign.
    pub organization_id: OrganizationId,
    /// Unique within the organization.
    pub id: CampaignId,
    /// Shown to users and sent as `campaignName`.
    pub name: String,
    /// Who decides on its leads.
    pub mode: CampaignMode,
    /// Whether it acts by itself.
    pub state: CampaignState,
    /// The campaign's layer of bidding configuration.
    pub bidding_config: BiddingConfig,
    /// The templates of an automatic campaign.
    pub proposal: ProposalTemplate,
    /// The account it bids with; a real bid needs one (decision A8).
    pub account: Option<AccountSummary>,
    /// The organization's subscription.
    pub subscription: Subscription,
}
