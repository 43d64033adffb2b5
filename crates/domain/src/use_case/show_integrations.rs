//! Show integrations: which endpoints hear of a campaign's or an organization's events (decision C7). Tests:
//! `tests/use_case/show_settings.rs`.

use std::sync::Arc;

use crate::model::{CampaignId, Member, MissingPart, Timestamp};
use crate::port::{CampaignSign, Clock, EndpointFacts, OverviewStore, StoreError};

/// The endpoints of a campaign, or of the organization.
#[derive(Debug, Clone, PartialEq)]
pub struct Integrations {
    /// A campaign's own before the organization's; without a campaign, the organization's only. Then by age.
    pub endpoints: Vec<EndpointFacts>,
    /// External campaigns without an active `job.new` endpoint, which cannot start (decision D1).
    pub without_job_new: Vec<CampaignSign>,
    /// The moment of all this.
    pub now: Timestamp,
}

/// Shows endpoints.
#[derive(Debug)]
pub struct ShowIntegrations {
    /// Endpoints with their last deliveries.
    pub store: Arc<dyn OverviewStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ShowIntegrations {
    /// Of the campaign, or of the organization; `None` if there is no such campaign.
    pub async fn execute(
        &self,
        member: &Member,
        campaign: Option<&CampaignId>,
    ) -> Result<Option<Integrations>, StoreError> {
        let now = self.clock.now();
        let Some(facts) = self.store.facts(member.organization_id(), now).await? else {
            return Ok(None);
        };
        let known = |wanted: &CampaignId| facts.campaigns.iter().any(|known| known.sign.id == *wanted);
        if campaign.is_some_and(|wanted| !known(wanted)) {
            return Ok(None);
        }
        let mut endpoints = facts.endpoints;
        endpoints.retain(|known| {
            let scope = known.endpoint.campaign_id.as_ref();
            scope.is_none() || (campaign.is_some() && scope == campaign)
        });
        endpoints.sort_by_key(|known| (known.endpoint.campaign_id.is_none(), known.endpoint.created_at));
        let campaigns = facts.campaigns.into_iter();
        let without = campaigns.filter(|known| known.parts.missing().contains(&MissingPart::JobNewEndpoint));
        Ok(Some(Integrations {
            endpoints,
            without_job_new: without.map(|known| known.sign).collect(),
            now,
        }))
    }
}
