//! The things that a person can change in the console, one at a time.

use serde_json::{Map, Value};

use crate::model::{
    AccountId, AnswerTemplate, CampaignId, CampaignMode, EndpointId, EventKind, FilterId, MarketplaceToken,
    ProposalFile,
};
use crate::provisioning::OrganizationRecord;

/// One change of an organization's settings. Texts are as they were typed: faults are reported by path, relative to the
/// thing changed.
#[derive(Debug, Clone, PartialEq)]
pub enum OrganizationChange {
    /// Gives the organization another name.
    Rename {
        /// The new name.
        name: String,
    },
    /// Makes a paused campaign. Its id is made from its name.
    CreateCampaign {
        /// Its name.
        name: String,
        /// Who decides on its leads.
        mode: CampaignMode,
        /// The account to bid with.
        account: Option<AccountId>,
    },
    /// Changes a campaign's own fields. A switch to External pauses it (decision D1).
    EditCampaign {
        /// The campaign.
        campaign: CampaignId,
        /// Another name.
        name: Option<String>,
        /// Another mode.
        mode: Option<CampaignMode>,
        /// Another account; `Some(None)` takes the account away.
        account: Option<Option<AccountId>>,
    },
    /// Removes a campaign with its filters and webhooks. Its leads and bids stay.
    DeleteCampaign {
        /// The campaign.
        campaign: CampaignId,
    },
    /// Lets a campaign act on jobs that arrive from now on.
    StartCampaign {
        /// The campaign.
        campaign: CampaignId,
    },
    /// Lets a campaign list its matches only.
    PauseCampaign {
        /// The campaign.
        campaign: CampaignId,
    },
    /// Makes a filter, or replaces one as a whole.
    PutFilter {
        /// The filter's campaign.
        campaign: CampaignId,
        /// The filter; `None` makes one, with an id made from its name.
        filter: Option<FilterId>,
        /// Its name.
        name: String,
        /// Its conditions (contract section 4).
        conditions: Map<String, Value>,
    },
    /// Removes a filter.
    RemoveFilter {
        /// The filter's campaign.
        campaign: CampaignId,
        /// The filter.
        filter: FilterId,
    },
    /// Changes fields of the campaign's bidding configuration.
    SetBidding {
        /// The campaign.
        campaign: CampaignId,
        /// The fields by name; null unsets one. Others stay.
        fields: Map<String, Value>,
    },
    /// Replaces the campaign's templates.
    SetTemplate {
        /// The campaign.
        campaign: CampaignId,
        /// The cover letter's; `None` takes it away.
        cover_letter: Option<String>,
        /// The answers'.
        answers: Vec<AnswerTemplate>,
    },
    /// Adds files to those that are sent with each of the campaign's proposals.
    AddFiles {
        /// The campaign.
        campaign: CampaignId,
        /// The files, checked and stored ([`CampaignUpload`](crate::use_case::CampaignUpload)).
        files: Vec<ProposalFile>,
    },
    /// Sends a file with the campaign's proposals no more. Its content stays: queued bids send it all the same.
    RemoveFile {
        /// The campaign.
        campaign: CampaignId,
        /// The file's name.
        name: String,
    },
    /// Makes an active endpoint. Its id is made from its host, its secret is generated and shown once.
    CreateWebhook {
        /// The campaign whose events it receives; `None` for those of all campaigns.
        campaign: Option<CampaignId>,
        /// Its address.
        url: String,
        /// The events that it subscribes to.
        events: Vec<EventKind>,
    },
    /// Changes an endpoint.
    EditWebhook {
        /// The endpoint.
        endpoint: EndpointId,
        /// Another address.
        url: Option<String>,
        /// Other events.
        events: Option<Vec<EventKind>>,
        /// Whether it receives deliveries.
        active: Option<bool>,
    },
    /// Generates another secret, which is shown once. Both sign for a day (decision C3).
    RotateSecret {
        /// The endpoint.
        endpoint: EndpointId,
    },
    /// Removes an endpoint.
    RemoveWebhook {
        /// The endpoint.
        endpoint: EndpointId,
    },
    /// Adds a bidder account; its id is made from its name. Whether the marketplace takes the token is not asked.
    AddAccount {
        /// Its name.
        name: String,
        /// Authenticates it to the marketplace.
        token: MarketplaceToken,
    },
    /// Changes a bidder account. Another token connects it again.
    EditAccount {
        /// The account.
        account: AccountId,
        /// Another name.
        name: Option<String>,
        /// Another token.
        token: Option<MarketplaceToken>,
    },
    /// Removes a bidder account. Campaigns that bid with it have none then.
    RemoveAccount {
        /// The account.
        account: AccountId,
    },
}

impl OrganizationChange {
    /// Whether only owners may make the change (decision E1).
    pub(super) fn needs_owner(&self, record: &OrganizationRecord) -> bool {
        match self {
            Self::Rename { .. }
            | Self::DeleteCampaign { .. }
            | Self::AddAccount { .. }
            | Self::EditAccount { .. }
            | Self::RemoveAccount { .. } => true,
            Self::CreateWebhook { campaign, .. } => campaign.is_none(),
            Self::EditWebhook { endpoint, .. }
            | Self::RotateSecret { endpoint }
            | Self::RemoveWebhook { endpoint } => {
                let known = record
                    .webhooks
                    .iter()
                    .find(|known| known.endpoint.id == *endpoint);
                known.is_none_or(|known| known.endpoint.campaign_id.is_none())
            }
            Self::CreateCampaign { .. }
            | Self::EditCampaign { .. }
            | Self::StartCampaign { .. }
            | Self::PauseCampaign { .. }
            | Self::PutFilter { .. }
            | Self::RemoveFilter { .. }
            | Self::SetBidding { .. }
            | Self::SetTemplate { .. }
            | Self::AddFiles { .. }
            | Self::RemoveFile { .. } => false,
        }
    }

    /// The campaign that the change is made in.
    pub(super) fn campaign(&self) -> Option<&CampaignId> {
        match self {
            Self::EditCampaign { campaign, .. }
            | Self::DeleteCampaign { campaign }
            | Self::StartCampaign { campaign }
            | Self::PauseCampaign { campaign }
            | Self::PutFilter { campaign, .. }
            | Self::RemoveFilter { campaign, .. }
            | Self::SetBidding { campaign, .. }
            | Self::SetTemplate { campaign, .. }
            | Self::AddFiles { campaign, .. }
            | Self::RemoveFile { campaign, .. } => Some(campaign),
            Self::CreateWebhook { campaign, .. } => campaign.as_ref(),
            _ => None,
        }
    }

    /// The address that is to be checked before it is saved (decision E8).
    pub(super) fn new_address(&self) -> Option<&str> {
        match self {
            Self::CreateWebhook { url, .. } => Some(url),
            Self::EditWebhook { url, .. } => url.as_deref(),
            _ => None,
        }
    }
}
