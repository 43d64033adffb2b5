//! Operate leads: what an operator can see and change on one lead, found by its id alone (contract section 1).
//! Tests: `tests/use_case/operate_leads.rs`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::apply_provisioning::lines;
use crate::model::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, Actor, BidRecord, BiddingConfig, ConfigSource,
    EffectiveConfig, FieldError, Lead, LeadForm, LeadId, LeadStatus, Links, Timestamp, details, effective,
    lead_document,
};
use crate::port::{Clock, Entropy, LeadContext, LeadStore, ReopenLead, StoreError};

/// What `bidloop leads show` prints.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownLead {
    /// The Lead object, as List leads writes it.
    pub lead: Box<RawValue>,
    /// Its status.
    pub status: LeadStatus,
    /// The lead's own configuration.
    pub bidding_config: BiddingConfig,
    /// The configuration of a bid without overrides: the lead's, then the campaign's, then the defaults.
    pub effective_bidding_config: EffectiveConfig,
    /// Its latest bid; null before one.
    pub bid: Option<BidRecord>,
}

impl ShownLead {
    pub(super) fn of(context: LeadContext, links: &Links) -> Result<Self, StoreError> {
        let known = &context.lead.lead;
        let campaign_name = context.campaign.as_ref().map(|campaign| campaign.name.as_str());
        Ok(Self {
            lead: lead_document(&context.lead, campaign_name, links, LeadForm::Listed)?,
            status: known.status,
            bidding_config: known.bidding_config.clone(),
            effective_bidding_config: effective_on(&known.bidding_config, &context),
            bid: context.bid,
        })
    }
}

/// Why a lead was not shown, configured or reopened. Nothing has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OperateLeadsError {
    /// There is no such lead.
    #[error(
        "there is no lead \"{0}\": `bidloop leads list` shows leads and matches, and a match becomes a lead when the API \
         lists it"
    )]
    LeadUnknown(LeadId),
    /// The faults of the configuration, printed one on each line.
    #[error("{}", lines(.0))]
    Faulty(Vec<FieldError>),
    /// Only skipped and failed leads can be reopened (decision B1).
    #[error("lead \"{lead}\" is {status}: only a skipped or failed lead can be reopened")]
    NotReopenable {
        /// The lead.
        lead: LeadId,
        /// Its status.
        status: LeadStatus,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Shows, configures and reopens leads.
#[derive(Debug)]
pub struct OperateLeads {
    /// Leads.
    pub leads: Arc<dyn LeadStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Makes ids.
    pub entropy: Arc<dyn Entropy>,
    /// Addresses of operations and jobs.
    pub links: Links,
}

impl OperateLeads {
    /// The current state of the lead.
    pub async fn show(&self, lead: &LeadId) -> Result<ShownLead, OperateLeadsError> {
        Ok(ShownLead::of(self.find(lead).await?, &self.links)?)
    }

    /// Replaces the lead's own configuration with `file`, a `BiddingConfigOverride`; `{}` clears it. A queued bid keeps its
    /// frozen configuration (decision B4).
    ///
    /// # Errors
    /// All faults, with paths that start at the file. One of them is a `minBoost` above the effective `maximumBoost`, from
    /// any layer (decision A2).
    pub async fn configure(&self, lead: &LeadId, file: &Value) -> Result<BiddingConfig, OperateLeadsError> {
        let context = self.find(lead).await?;
        let config = BiddingConfig::from_value(file, &[""; 0]).map_err(OperateLeadsError::Faulty)?;
        if let Some(fault) = own_fault(&config, &context) {
            return Err(OperateLeadsError::Faulty(vec![fault]));
        }
        if self.leads.configure(lead, &config).await? {
            Ok(config)
        } else {
            Err(OperateLeadsError::LeadUnknown(lead.clone()))
        }
    }

    /// Sets a skipped or failed lead back to `new` (decision B1) and records `actor`. The next bid on it is a new one; its
    /// uploads stay.
    pub async fn reopen(&self, lead: &LeadId, actor: Actor) -> Result<(), OperateLeadsError> {
        let context = self.find(lead).await?;
        let known = &context.lead.lead;
        let (id, at) = (ActivityId(self.entropy.uuid()), self.clock.now());
        let entry = reopened(known, id, at, actor);
        match self.leads.reopen(lead, &entry).await? {
            ReopenLead::Reopened => Ok(()),
            // A command needs no authorization.
            ReopenLead::LeadUnknown | ReopenLead::NotAuthorized(_) => {
                Err(OperateLeadsError::LeadUnknown(lead.clone()))
            }
            ReopenLead::NotReopenable(status) => Err(OperateLeadsError::NotReopenable {
                lead: lead.clone(),
                status,
            }),
        }
    }

    async fn find(&self, lead: &LeadId) -> Result<LeadContext, OperateLeadsError> {
        let found = self.leads.find_anywhere(lead).await?;
        found.ok_or_else(|| OperateLeadsError::LeadUnknown(lead.clone()))
    }
}

/// The Activity entry of a reopened lead.
pub(super) fn reopened(lead: &Lead, id: ActivityId, at: Timestamp, actor: Actor) -> Activity {
    let was = lead.status;
    let place = (&lead.organization_id, &lead.campaign_id, &lead.id);
    Activity {
        outcome: ActivityOutcome::New,
        message: format!("Lead reopened; it was {was}."),
        details: details(json!({ "reopenedFrom": was })),
        ..Activity::on_lead(id, at, place, ActivityKind::Submission, actor)
    }
}

/// The fault of `own` as a lead's configuration, with a path that starts at the configuration itself (decision A2).
pub(super) fn own_fault(own: &BiddingConfig, context: &LeadContext) -> Option<FieldError> {
    let amounts_to = effective_on(own, context);
    let is_own = |field: &str| amounts_to.source_of(field) == ConfigSource::Lead;
    let mut fault = amounts_to.shape_fault(is_own)?;
    // The path begins at a request's `biddingConfig`.
    fault.path.remove(0);
    Some(fault)
}

/// The configuration of a bid without overrides on a lead with the configuration `own`.
fn effective_on(own: &BiddingConfig, context: &LeadContext) -> EffectiveConfig {
    let unset = BiddingConfig::default();
    let campaign = context
        .campaign
        .as_ref()
        .map_or(&unset, |campaign| &campaign.bidding_config);
    effective(&BiddingConfig::default(), own, campaign)
}
