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

/// All that the campaign lacks for the state it is in.
pub(super) fn lacks(equipment: Equipment) -> impl Iterator<Item = Lack> {
    let active = equipment.state == CampaignState::Active;
    let sends = equipment.mode == CampaignMode::External;
    let filter = (active && !equipment.has_filter).then_some(Lack::Filter);
    let endpoint = (active && sends && !equipment.has_endpoint).then_some(Lack::Endpoint);
    filter.into_iter().chain(endpoint)
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
        let cases: [(_, _, _, _, &[Lack]); 8] = [
            (External, Active, true, true, &[]),
            (External, Active, true, false, &[Lack::Endpoint]),
            (External, Active, false, true, &[Lack::Filter]),
            (External, Active, false, false, &[Lack::Filter, Lack::Endpoint]),
            (External, Paused, false, false, &[]),
            (Automatic, Active, true, false, &[]),
            (Automatic, Active, false, false, &[Lack::Filter]),
            (Automatic, Paused, false, false, &[]),
        ];
        for (mode, state, has_filter, has_endpoint, expected) in cases {
            let equipment = Equipment {
                mode,
                state,
                has_filter,
                has_endpoint,
            };
            assert_eq!(lacks(equipment).collect::<Vec<_>>(), expected, "{equipment:?}");
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
