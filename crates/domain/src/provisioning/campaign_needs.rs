//! What an active campaign needs (decision D1, `docs/rules.md#d1`), judged on the whole organization as it will
//! be: a campaign that the file does not mention may lose what it needs too.

use std::collections::HashSet;

use crate::model::{CampaignId, CampaignMode, CampaignState, EventKind, WebhookEndpoint};

/// What an active campaign lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lack {
    /// A saved filter.
    Filter,
    /// In External mode: an active `job.new` endpoint of its own or of the organization.
    Endpoint,
}

/// What of a campaign decides whether it may be active.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Equipment {
    pub(super) mode: CampaignMode,
    pub(super) state: CampaignState,
    pub(super) has_filter: bool,
    pub(super) has_endpoint: bool,
}

/// What the campaign lacks for the state it is in.
pub(super) fn lack(equipment: Equipment) -> Option<Lack> {
    if equipment.state == CampaignState::Paused {
        return None;
    }
    if !equipment.has_filter {
        return Some(Lack::Filter);
    }
    (equipment.mode == CampaignMode::External && !equipment.has_endpoint).then_some(Lack::Endpoint)
}

/// The state that a campaign takes when its mode may change and the file names no state: switching to External
/// pauses it.
pub(super) fn state_after_switch(
    before: (CampaignMode, CampaignState),
    after: CampaignMode,
) -> CampaignState {
    let switches = before.0 != CampaignMode::External && after == CampaignMode::External;
    if switches { CampaignState::Paused } else { before.1 }
}

/// Where active `job.new` endpoints are.
#[derive(Debug, Default)]
pub(super) struct JobNewEndpoints {
    of_organization: bool,
    of_campaigns: HashSet<CampaignId>,
}

impl JobNewEndpoints {
    pub(super) fn among<'a>(endpoints: impl Iterator<Item = &'a WebhookEndpoint>) -> Self {
        let mut found = Self::default();
        for endpoint in endpoints.filter(|e| e.active && e.events.contains(&EventKind::JobNew)) {
            found.add(endpoint.campaign_id.as_ref());
        }
        found
    }

    pub(super) fn add(&mut self, scope: Option<&CampaignId>) {
        match scope {
            None => self.of_organization = true,
            Some(campaign) => drop(self.of_campaigns.insert(campaign.clone())),
        }
    }

    pub(super) fn serve(&self, campaign: &CampaignId) -> bool {
        self.of_organization || self.of_campaigns.contains(campaign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_active_campaign_needs_a_filter_and_in_external_mode_an_endpoint() {
        use CampaignMode::{Automatic, External};
        use CampaignState::{Active, Paused};
        for (mode, state, has_filter, has_endpoint, expected) in [
            (External, Active, true, true, None),
            (External, Active, true, false, Some(Lack::Endpoint)),
            (External, Active, false, true, Some(Lack::Filter)),
            (External, Active, false, false, Some(Lack::Filter)),
            (External, Paused, false, false, None),
            (Automatic, Active, true, false, None),
            (Automatic, Active, false, true, Some(Lack::Filter)),
            (Automatic, Paused, false, false, None),
        ] {
            let equipment = Equipment {
                mode,
                state,
                has_filter,
                has_endpoint,
            };
            assert_eq!(lack(equipment), expected, "{equipment:?}");
        }
    }

    #[test]
    fn switching_to_external_pauses_and_nothing_else_does() {
        use CampaignMode::{Automatic, External};
        use CampaignState::{Active, Paused};
        for (mode, state, after, expected) in [
            (Automatic, Active, External, Paused),
            (Automatic, Paused, External, Paused),
            (External, Active, External, Active),
            (External, Active, Automatic, Active),
            (Automatic, Active, Automatic, Active),
        ] {
            assert_eq!(
                state_after_switch((mode, state), after),
                expected,
                "{mode:?} {state:?} → {after:?}"
            );
        }
    }
}
