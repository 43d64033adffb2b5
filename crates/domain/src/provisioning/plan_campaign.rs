//! From patches to changes: campaigns. Their filters are [`plan_filter`](super::plan_filter)'s, what active ones
//! need [`plan_needs`](super::plan_needs)'s.

use std::collections::HashSet;

use serde_json::Value;

use super::campaign_needs::state_after_switch;
use super::document::{AttachmentPatch, CampaignPatch, OrganizationPatch, StatedState};
use super::faults::path_to;
use super::fields::{Field, Listed};
use super::plan::{Planner, entity};
use super::plan_entities::PlannedEndpoint;
use super::plan_needs::PlannedCampaign;
use super::report::EntityKind;
use super::standing::{Leaving, Standing};
use crate::model::{
    AccountId, BiddingConfig, CampaignAttachment, CampaignId, CampaignState, OrganizationId,
    ProposalTemplate, WebhookEndpoint, effective,
};
use crate::port::{CampaignRecord, ProvisioningChange};

/// The organization whose campaigns are planned.
pub(super) struct Owner<'a> {
    pub(super) id: &'a OrganizationId,
    pub(super) patch: &'a OrganizationPatch,
    pub(super) standing: &'a Standing<'a>,
    pub(super) leaving: &'a Leaving<'a>,
    /// The accounts that will be there.
    accounts: HashSet<&'a AccountId>,
}

impl<'a> Owner<'a> {
    fn new(
        id: &'a OrganizationId,
        patch: &'a OrganizationPatch,
        standing: &'a Standing<'a>,
        leaving: &'a Leaving<'a>,
    ) -> Self {
        let arriving = patch.accounts.entries.iter().filter(|account| !account.absent);
        let staying = standing
            .accounts
            .keys()
            .copied()
            .filter(|id| !leaving.accounts.contains(id));
        let accounts = arriving
            .filter_map(|account| account.id.as_ref())
            .chain(staying)
            .collect();
        Self {
            id,
            patch,
            standing,
            leaving,
            accounts,
        }
    }

    /// Where an account of the file could not be read, any may be meant.
    fn may_have_account(&self, id: &AccountId) -> bool {
        let accounts = &self.patch.accounts;
        let unread = !accounts.whole || accounts.entries.iter().any(|account| account.id.is_none());
        unread || self.accounts.contains(id)
    }
}

impl Planner<'_> {
    /// Plans the endpoints of both scopes, the campaigns and their filters, and judges the whole.
    pub(super) fn campaigns(
        &mut self,
        organization: &OrganizationId,
        patch: &OrganizationPatch,
        standing: &Standing<'_>,
        leaving: &Leaving<'_>,
    ) {
        let owner = Owner::new(organization, patch, standing, leaving);
        let of_organization = self.webhooks(organization, None, &patch.webhooks.entries, standing, leaving);
        let unknown = unknown_endpoints(&patch.webhooks, &of_organization);
        let mut endpoints = known_endpoints(of_organization);
        let mut planned = Vec::new();
        let mut mentioned = HashSet::new();
        for campaign in &patch.campaigns.entries {
            let Some(id) = &campaign.id else {
                self.judge_campaign_bodies(campaign);
                continue;
            };
            mentioned.insert(id);
            if campaign.is_absent() {
                self.remove_campaign(organization, id, standing);
                continue;
            }
            let before = standing.campaigns.get(id).copied();
            let record = self.campaign(&owner, id, campaign, before);
            let own = self.webhooks(
                organization,
                Some(id),
                &campaign.webhooks.entries,
                standing,
                leaving,
            );
            let endpoints_unknown = unknown || unknown_endpoints(&campaign.webhooks, &own);
            endpoints.extend(known_endpoints(own));
            let has_filter = self.filters(&owner, id, campaign);
            // What a campaign needs cannot be judged while its own fields are faulty.
            let Some(record) = record else { continue };
            planned.push(PlannedCampaign {
                id: id.clone(),
                patch: Some(campaign),
                mode: record.mode,
                state: record.state,
                has_filter,
                endpoints_unknown,
            });
        }
        let unmentioned = standing.record.into_iter().flat_map(|record| &record.campaigns);
        for record in unmentioned.filter(|record| !mentioned.contains(&record.id)) {
            if record
                .account_id
                .as_ref()
                .is_some_and(|account| leaving.accounts.contains(account))
            {
                self.report
                    .changed
                    .push(entity(organization, EntityKind::Campaign, record.id.as_str()));
            }
            planned.push(PlannedCampaign {
                id: record.id.clone(),
                patch: None,
                mode: record.mode,
                state: record.state,
                has_filter: record
                    .filters
                    .iter()
                    .any(|filter| !leaving.filters.contains(&filter.id)),
                endpoints_unknown: unknown,
            });
        }
        self.judge_needs(&owner, &endpoints, &planned);
    }

    fn remove_campaign(&mut self, organization: &OrganizationId, id: &CampaignId, standing: &Standing<'_>) {
        let Some(record) = standing.campaigns.get(id) else {
            self.report.unchanged += 1;
            return;
        };
        let change = ProvisioningChange::RemoveCampaign(organization.clone(), id.clone());
        self.remove(organization, EntityKind::Campaign, id.as_str(), change);
        let webhooks = standing.record.into_iter().flat_map(|record| &record.webhooks);
        let webhooks = webhooks.filter(|webhook| webhook.endpoint.campaign_id.as_ref() == Some(id));
        let nested = webhooks
            .map(|webhook| (EntityKind::Webhook, webhook.endpoint.id.as_str()))
            .chain(
                record
                    .filters
                    .iter()
                    .map(|filter| (EntityKind::Filter, filter.id.as_str())),
            );
        for (kind, nested) in nested {
            self.report.removed.push(entity(organization, kind, nested));
        }
    }

    /// Plans the campaign's own fields. Returns it as it will be.
    fn campaign(
        &mut self,
        owner: &Owner<'_>,
        id: &CampaignId,
        patch: &CampaignPatch,
        before: Option<&CampaignRecord>,
    ) -> Option<CampaignRecord> {
        let before = before.map(own_fields);
        let at = &patch.path;
        let name = self.required(
            at,
            "name",
            &patch.name,
            before.as_ref().map(|record| &record.name),
        );
        let mode = self.required(
            at,
            "mode",
            &patch.mode,
            before.as_ref().map(|record| &record.mode),
        );
        let account_id = self.account_of(owner, patch, before.as_ref());
        let standing = before.as_ref().map(|record| &record.bidding_config);
        let bidding_config = self.bidding_config(patch, standing);
        let standing = before.as_ref().map(|record| &record.proposal);
        let proposal = proposal(patch, standing);
        let standing = before.as_ref().map(|record| record.attachments.clone());
        let attachments = match &patch.attachments {
            Field::Given(files) => files.iter().filter_map(attachment).collect(),
            Field::Unset => Vec::new(),
            Field::Unmentioned | Field::Faulty => standing.unwrap_or_default(),
        };
        let mode = mode?;
        let state = match &patch.state {
            Field::Given(StatedState::Is(state)) => *state,
            Field::Unmentioned => before.as_ref().map_or(CampaignState::Paused, |record| {
                state_after_switch((record.mode, record.state), mode)
            }),
            Field::Unset => CampaignState::Paused,
            Field::Faulty | Field::Given(StatedState::Absent) => return None,
        };
        let after = CampaignRecord {
            id: id.clone(),
            name: name?,
            mode,
            state,
            account_id,
            bidding_config: bidding_config?,
            proposal,
            attachments,
            filters: Vec::new(),
        };
        if self.settle(
            owner.id,
            EntityKind::Campaign,
            id.as_str(),
            before.as_ref(),
            &after,
        ) {
            let change = ProvisioningChange::PutCampaign(owner.id.clone(), Box::new(after.clone()));
            self.puts.push(change);
        }
        Some(after)
    }

    fn account_of(
        &mut self,
        owner: &Owner<'_>,
        patch: &CampaignPatch,
        before: Option<&CampaignRecord>,
    ) -> Option<AccountId> {
        match &patch.account_id {
            Field::Given(account) => {
                if !owner.may_have_account(account) {
                    let message = format!(
                        "the organization has no bidder account \"{account}\": add it to \"bidderAccounts\""
                    );
                    self.faults
                        .push(&path_to(&patch.path, "bidderAccountId"), message);
                }
                Some(account.clone())
            }
            Field::Unset => None,
            Field::Unmentioned | Field::Faulty => before
                .and_then(|record| record.account_id.clone())
                .filter(|account| !owner.leaving.accounts.contains(account)),
        }
    }

    fn bidding_config(
        &mut self,
        patch: &CampaignPatch,
        standing: Option<&BiddingConfig>,
    ) -> Option<BiddingConfig> {
        let standing = standing.cloned().unwrap_or_default();
        let at = path_to(&patch.path, "biddingConfig");
        let merged = match &patch.bidding_config {
            None => return Some(standing),
            Some(Value::Null) => return Some(BiddingConfig::default()),
            Some(change) => standing.merge_patch(change, &at),
        };
        match merged {
            Ok(config) => {
                let unset = BiddingConfig::default();
                let in_file = |field: &str| {
                    let written = patch.bidding_config.as_ref().and_then(|change| change.get(field));
                    written.is_some_and(|value| !value.is_null())
                };
                let fault = effective(&unset, &unset, &config).shape_fault(in_file);
                self.faults.push_all(fault.map(|fault| fault.under(&patch.path)));
                Some(config)
            }
            Err(faults) => {
                self.faults.push_all(faults);
                None
            }
        }
    }

    /// The faults of bodies whose owners have no usable id, so that nothing can stand before them.
    pub(super) fn judge_bodies(&mut self, patch: &OrganizationPatch) {
        for campaign in &patch.campaigns.entries {
            self.judge_campaign_bodies(campaign);
        }
    }

    fn judge_campaign_bodies(&mut self, patch: &CampaignPatch) {
        self.bidding_config(patch, None);
        for filter in patch.filters.entries.iter().filter(|filter| !filter.absent) {
            self.judge_filter_body(filter, None);
        }
    }
}

fn own_fields(record: &CampaignRecord) -> CampaignRecord {
    CampaignRecord {
        id: record.id.clone(),
        name: record.name.clone(),
        mode: record.mode,
        state: record.state,
        account_id: record.account_id.clone(),
        bidding_config: record.bidding_config.clone(),
        proposal: record.proposal.clone(),
        attachments: record.attachments.clone(),
        filters: Vec::new(),
    }
}

fn proposal(patch: &CampaignPatch, standing: Option<&ProposalTemplate>) -> ProposalTemplate {
    let standing = standing.cloned().unwrap_or_default();
    match &patch.proposal {
        Field::Given(change) => ProposalTemplate {
            cover_letter: match &change.cover_letter {
                Field::Given(template) => Some(template.clone()),
                Field::Unset => None,
                Field::Unmentioned | Field::Faulty => standing.cover_letter,
            },
            answers: change.answers.over(Some(standing.answers), Vec::new()),
        },
        Field::Unset => ProposalTemplate::default(),
        Field::Unmentioned | Field::Faulty => standing,
    }
}

/// `None` for a file that could not be read, which has been reported.
fn attachment(patch: &AttachmentPatch) -> Option<CampaignAttachment> {
    Some(CampaignAttachment {
        name: patch.name.as_str().to_owned(),
        content_type: patch.content_type.as_str().to_owned(),
        blob: patch.blob.clone()?,
    })
}

fn unknown_endpoints<T>(list: &Listed<T>, planned: &[PlannedEndpoint]) -> bool {
    !list.whole
        || planned
            .iter()
            .any(|endpoint| matches!(endpoint, PlannedEndpoint::Unknown))
}

fn known_endpoints(planned: Vec<PlannedEndpoint>) -> Vec<WebhookEndpoint> {
    planned
        .into_iter()
        .filter_map(|endpoint| match endpoint {
            PlannedEndpoint::Known(endpoint) => Some(endpoint),
            PlannedEndpoint::Unknown => None,
        })
        .collect()
}
