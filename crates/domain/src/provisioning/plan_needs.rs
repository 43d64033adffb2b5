//! From patches to changes: what the plan as a whole must leave to each active campaign (decision D1).

use std::collections::HashSet;

use super::campaign_needs::{Equipment, JobNewEndpoints, Lack, lacks};
use super::document::{CampaignPatch, OrganizationPatch};
use super::faults::{Path, path_to};
use super::plan::Planner;
use super::plan_campaign::Owner;
use crate::model::{CampaignId, CampaignMode, CampaignState, WebhookEndpoint};

/// A campaign as it will be, as far as decision D1 asks.
pub(super) struct PlannedCampaign<'a> {
    pub(super) id: CampaignId,
    pub(super) patch: Option<&'a CampaignPatch>,
    pub(super) mode: CampaignMode,
    pub(super) state: CampaignState,
    pub(super) has_filter: bool,
    /// Something about its endpoints is faulty, so that nothing can be said of them.
    pub(super) endpoints_unknown: bool,
}

impl Planner<'_> {
    /// Decision D1 for every campaign of the organization, mentioned or not. A campaign that lacked something
    /// before, which no file can have brought about, is no fault of this file unless it names the state.
    pub(super) fn judge_needs(
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
            let lacked: Vec<_> = standing
                .campaigns
                .get(&campaign.id)
                .into_iter()
                .flat_map(|record| {
                    lacks(Equipment {
                        mode: record.mode,
                        state: record.state,
                        has_filter: !record.filters.is_empty(),
                        has_endpoint: before.serve(&campaign.id),
                    })
                })
                .collect();
            let states_it = campaign.patch.filter(|patch| patch.state.given().is_some());
            for lack in lacks(Equipment {
                mode: campaign.mode,
                state: campaign.state,
                has_filter: campaign.has_filter,
                has_endpoint: campaign.endpoints_unknown || after.serve(&campaign.id),
            }) {
                if let Some(patch) = states_it {
                    self.faults
                        .push(&path_to(&patch.path, "state"), cannot_be_active(lack));
                } else if !lacked.contains(&lack) {
                    self.faults.push(
                        &place_of_loss(patch, campaign, lack),
                        would_lose(&campaign.id, lack),
                    );
                }
            }
        }
    }
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
