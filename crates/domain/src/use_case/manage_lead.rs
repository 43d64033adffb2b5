//! Manage lead: what a person does to a lead beside bidding and rejecting: configures it, reopens it, and settles its bid
//! (decisions A7, B1, B4 and E5). Tests: `tests/use_case/manage_lead.rs`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::operate_leads::{own_fault, reopened};
use super::{LeadAddress, LeadRequests, Requester, SettleBids, SettleBidsError, Settlement};
use crate::model::{
    Activity, ActivityId, ActivityKind, BIDDING_CONFIG_FIELDS, BiddingConfig, CampaignId, FieldError, LeadId,
    LeadStatus, Unauthorized, details,
};
use crate::port::{ConfigureLead, LeadContext, LeadLookup, ReopenLead, StoreError};

/// Why a lead stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ManageLeadError {
    /// The session or the subscription has ended (decision E4).
    #[error(transparent)]
    NotAuthorized(#[from] Unauthorized),
    /// The organization's campaign has no such lead.
    #[error("the campaign has no such lead")]
    LeadUnknown,
    /// What was typed is faulty. Paths start at the configuration: `["minBoost"]`.
    #[error("{}", super::apply_provisioning::lines(.0))]
    Faulty(Vec<FieldError>),
    /// Only skipped and failed leads can be reopened (decision B1).
    #[error("the lead is {0}: only a skipped or failed lead can be reopened")]
    NotReopenable(LeadStatus),
    /// The lead has no bid whose answer is outstanding.
    #[error("no queued bid on this lead waits for an answer")]
    NotUnanswered,
    /// The bid was not settled.
    #[error(transparent)]
    Settle(SettleBidsError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Configures and reopens leads and settles their bids, for people of their organization.
#[derive(Debug)]
pub struct ManageLead {
    /// Leads.
    pub requests: LeadRequests,
    /// Settles bids.
    pub settle_bids: Arc<SettleBids>,
}

impl ManageLead {
    /// Replaces the lead's own configuration, and records what changed and who did it. A queued bid keeps its frozen
    /// configuration (decision B4). The configuration that the lead has is no change.
    pub async fn configure(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: impl Into<LeadAddress> + Send,
        config: &BiddingConfig,
    ) -> Result<(), ManageLeadError> {
        let found = self.find(requester, campaign, &lead.into()).await?;
        let lead = &found.lead.lead;
        if let Some(fault) = own_fault(config, &found) {
            return Err(ManageLeadError::Faulty(vec![fault]));
        }
        let changes = changed_fields(&lead.id, &lead.bidding_config, config);
        if changes.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = changes
            .iter()
            .filter_map(|change| change["field"].as_str())
            .collect();
        let (id, at) = (
            ActivityId(self.requests.entropy.uuid()),
            self.requests.clock.now(),
        );
        let place = (&lead.organization_id, &lead.campaign_id, &lead.id);
        let entry = Activity {
            message: format!("Own bidding of the lead changed: {}.", names.join(", ")),
            details: details(json!({ "changes": changes })),
            ..Activity::on_lead(id, at, place, ActivityKind::Change, requester.actor.clone())
        };
        let leads = &self.requests.leads;
        match leads
            .configure_as(&requester.authorization, lead, config, &entry)
            .await?
        {
            ConfigureLead::Configured => Ok(()),
            ConfigureLead::NotAuthorized(why) => Err(why.into()),
            ConfigureLead::LeadUnknown => Err(ManageLeadError::LeadUnknown),
        }
    }

    /// Sets a skipped or failed lead back to `new`, and records who did it.
    pub async fn reopen(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: &LeadId,
    ) -> Result<(), ManageLeadError> {
        let found = self.find(requester, campaign, &lead.into()).await?;
        let (id, at) = (
            ActivityId(self.requests.entropy.uuid()),
            self.requests.clock.now(),
        );
        let entry = reopened(&found.lead.lead, id, at, requester.actor.clone());
        let organization = &requester.organization_id;
        let leads = &self.requests.leads;
        match leads
            .reopen_as(&requester.authorization, organization, lead, &entry)
            .await?
        {
            ReopenLead::Reopened => Ok(()),
            ReopenLead::NotAuthorized(why) => Err(why.into()),
            ReopenLead::LeadUnknown => Err(ManageLeadError::LeadUnknown),
            ReopenLead::NotReopenable(status) => Err(ManageLeadError::NotReopenable(status)),
        }
    }

    /// Ends the lead's queued bid, whose answer is outstanding, as the person has found at the marketplace.
    pub async fn settle(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: &LeadId,
        settlement: Settlement,
    ) -> Result<LeadStatus, ManageLeadError> {
        let found = self.find(requester, campaign, &lead.into()).await?;
        let queued = found.lead.lead.status == LeadStatus::Queued;
        let bid = found
            .bid
            .filter(|_| queued)
            .ok_or(ManageLeadError::NotUnanswered)?;
        let settled = self.settle_bids.settle_as(requester, bid.id, settlement);
        settled.await.map_err(|error| match error {
            SettleBidsError::NotAuthorized(why) => why.into(),
            SettleBidsError::NotUnanswered(_) => ManageLeadError::NotUnanswered,
            SettleBidsError::Store(error) => ManageLeadError::Store(error),
            error => ManageLeadError::Settle(error),
        })
    }

    async fn find(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: &LeadAddress,
    ) -> Result<LeadContext, ManageLeadError> {
        let organization = &requester.organization_id;
        match self.requests.look_up(organization, campaign, lead).await? {
            LeadLookup::Found(found) => Ok(*found),
            LeadLookup::CampaignUnknown | LeadLookup::LeadUnknown => Err(ManageLeadError::LeadUnknown),
        }
    }
}

/// The fields that differ, as the record of a change of settings shows them.
fn changed_fields(lead: &LeadId, old: &BiddingConfig, new: &BiddingConfig) -> Vec<Value> {
    let values = |config| serde_json::to_value(config).unwrap_or_default();
    let (old, new) = (values(old), values(new));
    let differing = BIDDING_CONFIG_FIELDS
        .iter()
        .filter(|name| old[**name] != new[**name]);
    differing
        .map(|name| json!({"type": "lead", "id": lead, "field": name, "old": old[*name], "new": new[*name]}))
        .collect()
}
