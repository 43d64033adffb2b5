//! Show readiness: what does a campaign have to bid with, and what does it lack? Tests:
//! `tests/use_case/show_settings.rs`.

use std::sync::Arc;

use crate::model::{CampaignId, CampaignMode, Member, MissingPart, Timestamp};
use crate::port::{AccountFacts, CampaignSign, Clock, EndpointFacts, OverviewStore, StoreError};

/// What a campaign bids with.
#[derive(Debug, Clone, PartialEq)]
pub struct Readiness {
    /// Name, mode and state.
    pub sign: CampaignSign,
    /// What it lacks; the first prevent a start (decision D1).
    pub missing: Vec<MissingPart>,
    /// The active endpoints that receive the `job.new` of an External campaign.
    pub endpoints: Vec<EndpointFacts>,
    /// The account that it bids with.
    pub account: Option<AccountFacts>,
    /// Proposals that the organization has left in its period (decision B3); `None` without a limit.
    pub proposals_left: Option<u64>,
    /// The period's end.
    pub until: Timestamp,
}

/// Shows what a campaign bids with.
#[derive(Debug)]
pub struct ShowReadiness {
    /// Campaigns and what they have.
    pub store: Arc<dyn OverviewStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ShowReadiness {
    /// What the campaign bids with; `None` if the organization has no such campaign.
    pub async fn execute(
        &self,
        member: &Member,
        campaign: &CampaignId,
    ) -> Result<Option<Readiness>, StoreError> {
        let facts = self
            .store
            .facts(member.organization_id(), self.clock.now())
            .await?;
        let Some(facts) = facts else {
            return Ok(None);
        };
        let mut campaigns = facts.campaigns.into_iter();
        let Some(known) = campaigns.find(|known| known.sign.id == *campaign) else {
            return Ok(None);
        };
        let receives = |facts: &EndpointFacts| {
            let of = facts.endpoint.campaign_id.as_ref();
            known.sign.mode == CampaignMode::External
                && of.is_none_or(|of| of == campaign)
                && facts.endpoint.receives_job_new()
        };
        let limit = facts.shell.subscription.proposal_limit.map(u64::from);
        Ok(Some(Readiness {
            missing: known.parts.missing(),
            endpoints: facts.endpoints.into_iter().filter(receives).collect(),
            account: facts
                .accounts
                .into_iter()
                .find(|account| Some(&account.id) == known.account_id.as_ref()),
            proposals_left: limit.map(|limit| limit.saturating_sub(facts.shell.used)),
            until: facts.shell.period.end,
            sign: known.sign,
        }))
    }
}
