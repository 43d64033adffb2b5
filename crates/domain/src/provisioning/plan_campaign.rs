//! From patches to changes: campaigns with their filters, and what an active one needs.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::campaign_needs::{Equipment, JobNewEndpoints, Lack, lack, state_after_switch};
use super::document::{AttachmentPatch, CampaignPatch, FilterPatch, OrganizationPatch, StatedState};
use super::faults::{Path, path_to};
use super::fields::{Field, Listed};
use super::plan::{Planner, entity};
use super::plan_entities::PlannedEndpoint;
use super::report::EntityKind;
use super::standing::{Leaving, Standing};
use crate::model::{
    AccountId, BiddingConfig, CampaignAttachment, CampaignId, CampaignMode, CampaignState, OrganizationId,
    ProposalTemplate, SavedFilter, WebhookEndpoint, effective, merge_patch,
};
use crate::port::{CampaignRecord, FilterRecord, ProvisioningChange};

/// A campaign as it will be, as far as decision D1 asks.
struct PlannedCampaign<'a> {
    id: CampaignId,
    patch: Option<&'a CampaignPatch>,
    mode: CampaignMode,
    state: CampaignState,
    has_filter: bool,
    /// Something about its endpoints is faulty, so that nothing can be said of them.
    endpoints_unknown: bool,
}

/// The organization whose campaigns are planned.
struct Owner<'a> {
    id: &'a OrganizationId,
    patch: &'a OrganizationPatch,
    standing: &'a Standing<'a>,
    leaving: &'a Leaving<'a>,
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
        let path = &patch.path;
        let name = self.required(
            path,
            "name",
            &patch.name,
            before.as_ref().map(|record| &record.name),
        );
        let mode = self.required(
            path,
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
        let path = path_to(&patch.path, "biddingConfig");
        let merged = match &patch.bidding_config {
            None => return Some(standing),
            Some(Value::Null) => return Some(BiddingConfig::default()),
            Some(change) => standing.merge_patch(change, &path),
        };
        match merged {
            Ok(config) => {
                let unset = BiddingConfig::default();
                let fault = effective(&unset, &unset, &config).shape_fault();
                self.faults.push_all(fault.map(|fault| fault.under(&patch.path)));
                Some(config)
            }
            Err(faults) => {
                self.faults.push_all(faults);
                None
            }
        }
    }

    /// Plans the campaign's filters; whether it will have one.
    fn filters(&mut self, owner: &Owner<'_>, campaign: &CampaignId, patch: &CampaignPatch) -> bool {
        let Owner {
            id: organization,
            standing,
            leaving,
            ..
        } = *owner;
        let mut before = standing
            .campaigns
            .get(campaign)
            .into_iter()
            .flat_map(|record| &record.filters);
        let stays = before.any(|filter| !leaving.filters.contains(&filter.id));
        let mut has_filter = stays || !patch.filters.whole;
        for filter in &patch.filters.entries {
            has_filter |= !filter.absent;
            let Some(id) = &filter.id else {
                self.judge_filter_body(filter, None);
                continue;
            };
            let known = standing.filters.get(id).copied();
            if filter.absent {
                if known.is_some_and(|(holder, _)| holder == campaign) {
                    let change =
                        ProvisioningChange::RemoveFilter(organization.clone(), campaign.clone(), id.clone());
                    self.remove(organization, EntityKind::Filter, id.as_str(), change);
                } else {
                    self.report.unchanged += 1;
                }
                continue;
            }
            let before = known.filter(|_| !leaving.filters.contains(id));
            if let Some((other, _)) = before.filter(|(other, _)| *other != campaign) {
                let message = format!(
                    "\"{id}\" is a filter of campaign \"{other}\" already: ids are unique within the organization"
                );
                self.faults.push(&path_to(&filter.path, "id"), message);
                continue;
            }
            let before = before.map(|(_, record)| record);
            let Some(body) = self.judge_filter_body(filter, before.map(|record| &record.body)) else {
                continue;
            };
            let after = FilterRecord {
                id: id.clone(),
                name: filter
                    .name
                    .over(before.map(|record| record.name.clone()), id.to_string()),
                body,
            };
            if self.settle(organization, EntityKind::Filter, id.as_str(), before, &after) {
                let change = ProvisioningChange::PutFilter(organization.clone(), campaign.clone(), after);
                self.puts.push(change);
            }
        }
        has_filter
    }

    /// The filter's body over what stands; `None` with its faults.
    fn judge_filter_body(&mut self, patch: &FilterPatch, standing: Option<&Value>) -> Option<Value> {
        let nothing = Value::Object(Map::new());
        let body = merge_patch(standing.unwrap_or(&nothing), &Value::Object(patch.body.clone()));
        match SavedFilter::from_value(&body) {
            Ok(_) => Some(body),
            Err(faults) => {
                for fault in faults {
                    let fault = fault.under(&patch.path);
                    self.faults.push(&fault.path, fault.message);
                }
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

    /// Decision D1 for every campaign of the organization, mentioned or not. A campaign that lacked something
    /// before, which no file can have brought about, is no fault of this file unless it names the state.
    fn judge_needs(
        &mut self,
        owner: &Owner<'_>,
        planned_endpoints: &[WebhookEndpoint],
        planned: &[PlannedCampaign<'_>],
    ) {
        let Owner {
            patch,
            standing,
            leaving,
            ..
        } = *owner;
        let standing_endpoints = || standing.webhooks.values().map(|webhook| &webhook.endpoint);
        let before = JobNewEndpoints::among(standing_endpoints());
        let replaced: HashSet<_> = planned_endpoints.iter().map(|endpoint| &endpoint.id).collect();
        let left = standing_endpoints()
            .filter(|endpoint| !leaving.webhooks.contains(&endpoint.id) && !replaced.contains(&endpoint.id));
        let after = JobNewEndpoints::among(left.chain(planned_endpoints));
        for campaign in planned {
            let lacked = standing.campaigns.get(&campaign.id).and_then(|record| {
                lack(Equipment {
                    mode: record.mode,
                    state: record.state,
                    has_filter: !record.filters.is_empty(),
                    has_endpoint: before.serve(&campaign.id),
                })
            });
            let lacks = lack(Equipment {
                mode: campaign.mode,
                state: campaign.state,
                has_filter: campaign.has_filter,
                has_endpoint: campaign.endpoints_unknown || after.serve(&campaign.id),
            });
            let Some(lacks) = lacks else { continue };
            let states_it = campaign.patch.filter(|patch| patch.state.given().is_some());
            if let Some(patch) = states_it {
                self.faults
                    .push(&path_to(&patch.path, "state"), cannot_be_active(lacks));
            } else if lacked != Some(lacks) {
                self.faults.push(
                    &place_of_loss(patch, campaign, lacks),
                    would_lose(&campaign.id, lacks),
                );
            }
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

fn cannot_be_active(lacks: Lack) -> String {
    let (needs, add) = match lacks {
        Lack::Filter => (
            "an active campaign needs a saved filter",
            "add one to \"filters\"",
        ),
        Lack::Endpoint => (
            "an active campaign in External mode needs an active webhook for \"job.new\"",
            "add one to the campaign's or the organization's \"webhooks\"",
        ),
    };
    format!("{needs}: {add}, or set the state to \"paused\"")
}

fn would_lose(campaign: &CampaignId, lacks: Lack) -> String {
    let last = match lacks {
        Lack::Filter => "saved filter",
        Lack::Endpoint => "active webhook for \"job.new\"",
    };
    format!(
        "campaign \"{campaign}\" is active and would lose its last {last}: add another, or pause it in this file"
    )
}

/// The list of the file that took away what the campaign needs.
fn place_of_loss(owner: &OrganizationPatch, campaign: &PlannedCampaign<'_>, lacks: Lack) -> Path {
    match (lacks, campaign.patch) {
        (Lack::Filter, Some(patch)) => path_to(&patch.path, "filters"),
        (Lack::Endpoint, Some(patch)) if patch.webhooks.mentioned => path_to(&patch.path, "webhooks"),
        (Lack::Endpoint, _) => path_to(&owner.path, "webhooks"),
        (Lack::Filter, None) => path_to(&owner.path, "campaigns"),
    }
}
