//! The requirements of an active campaign (decision D1, `docs/rules.md#d1`).

use std::collections::{BTreeMap, HashSet};

use super::current_state::CurrentState;
use super::reconcile::Entity;
use super::records::WebhookRecord;
use super::report::EntityKind;
use crate::model::{CampaignId, CampaignMode, CampaignParts, CampaignState, MissingPart};

/// Something that an active campaign needs and does not have: the parts whose lack prevents a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingRequirement {
    /// A saved filter.
    Filter,
    /// In External mode, an active `job.new` webhook of the campaign or of the organization.
    Webhook,
}

impl MissingRequirement {
    /// The message for a campaign that the file activates.
    pub(super) fn refuses_active_state(self) -> String {
        let (needs, add) = match self {
            Self::Filter => (
                "an active campaign needs a saved filter",
                "add one to \"filters\"",
            ),
            Self::Webhook => (
                "an active campaign in External mode needs an active webhook for \"job.new\"",
                "add one to the campaign's or the organization's \"webhooks\"",
            ),
        };
        format!("{needs}: {add}, or set the state to \"paused\"")
    }

    /// The message for an active campaign that loses the requirement by the file.
    pub(super) fn refuses_loss(self, campaign: &CampaignId) -> String {
        let last = match self {
            Self::Filter => "saved filter",
            Self::Webhook => "active webhook for \"job.new\"",
        };
        format!(
            "campaign \"{campaign}\" is active and would lose its last {last}: add another, or pause it in this file"
        )
    }
}

/// The missing requirements of each campaign in its mode and state.
pub(super) type MissingRequirements = BTreeMap<CampaignId, Vec<MissingRequirement>>;

/// The missing requirements of an organization's campaigns. The lists in `unread` may hold anything, so their
/// requirements count as met.
pub(super) fn missing_requirements(
    state: &CurrentState,
    unread: &HashSet<(EntityKind, Option<CampaignId>)>,
) -> MissingRequirements {
    let filters = state.filters.values().map(|(campaign, _)| Some(campaign));
    let filters = filters.chain(unread_lists(unread, EntityKind::Filter));
    let with_filter: HashSet<_> = filters.collect();
    let webhooks = state
        .webhooks
        .values()
        .filter(|webhook| webhook.endpoint.receives_job_new());
    let webhooks = webhooks.map(WebhookRecord::campaign);
    let webhooks = webhooks.chain(unread_lists(unread, EntityKind::Webhook));
    // Webhooks of the organization are under `None`. They serve every campaign.
    let with_webhook: HashSet<_> = webhooks.collect();
    let campaigns = state.campaigns.values().map(|campaign| {
        let id = &campaign.id;
        let has_filter = with_filter.contains(&Some(id));
        let has_webhook = with_webhook.contains(&None) || with_webhook.contains(&Some(id));
        let missing = missing(campaign.mode, campaign.state, has_filter, has_webhook);
        (id.clone(), missing.collect())
    });
    campaigns.collect()
}

fn unread_lists(
    unread: &HashSet<(EntityKind, Option<CampaignId>)>,
    kind: EntityKind,
) -> impl Iterator<Item = Option<&CampaignId>> {
    let lists = unread.iter().filter(move |(unread, _)| *unread == kind);
    lists.map(|(_, campaign)| campaign.as_ref())
}

fn missing(
    mode: CampaignMode,
    state: CampaignState,
    has_filter: bool,
    has_job_new_endpoint: bool,
) -> impl Iterator<Item = MissingRequirement> {
    let parts = CampaignParts {
        mode,
        has_filter,
        has_job_new_endpoint,
        // Not needed to be active.
        account_connected: Some(true),
        has_cover_letter: true,
    };
    let active = state == CampaignState::Active;
    let missing = if active { parts.missing() } else { Vec::new() };
    missing.into_iter().filter_map(|part| match part {
        MissingPart::Filter => Some(MissingRequirement::Filter),
        MissingPart::JobNewEndpoint => Some(MissingRequirement::Webhook),
        MissingPart::Account | MissingPart::AccountToken | MissingPart::CoverLetter => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_active_campaign_needs_a_filter_and_in_external_mode_a_webhook() {
        use CampaignMode::{Automatic, External};
        use CampaignState::{Active, Paused};
        use MissingRequirement::{Filter, Webhook};
        let cases: [(_, _, _, _, &[MissingRequirement]); 8] = [
            (External, Active, true, true, &[]),
            (External, Active, true, false, &[Webhook]),
            (External, Active, false, true, &[Filter]),
            (External, Active, false, false, &[Filter, Webhook]),
            (External, Paused, false, false, &[]),
            (Automatic, Active, true, false, &[]),
            (Automatic, Active, false, false, &[Filter]),
            (Automatic, Paused, false, false, &[]),
        ];
        for (mode, state, has_filter, has_webhook, expected) in cases {
            let missing: Vec<_> = missing(mode, state, has_filter, has_webhook).collect();
            assert_eq!(missing, expected, "{mode:?} {state:?} {has_filter} {has_webhook}");
        }
    }
}
