//! Notice changes: tells which organizations' open pages are out of date. Tests: `tests/use_case/notice_changes.rs`.

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::{CampaignId, OrganizationId};
use crate::port::{OrganizationSigns, OverviewStore, StoreError};

/// What happened in an organization since the last look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoticedChange {
    /// The campaign lists other matches.
    Matches(CampaignId),
    /// The Activity record grew.
    Activity,
}

/// Looks at organizations again and again. One look serves all who watch.
#[derive(Debug)]
pub struct NoticeChanges {
    store: Arc<dyn OverviewStore>,
    last: HashMap<OrganizationId, OrganizationSigns>,
}

impl NoticeChanges {
    /// Has not looked yet.
    pub fn new(store: Arc<dyn OverviewStore>) -> Self {
        Self {
            store,
            last: HashMap::new(),
        }
    }

    /// What happened in each of the organizations since the look before. In one that is looked at for the first time,
    /// everything may have; one that is not among them any more is forgotten.
    pub async fn look(
        &mut self,
        organizations: &[OrganizationId],
    ) -> Result<Vec<(OrganizationId, NoticedChange)>, StoreError> {
        let signs = self.store.signs(organizations).await?;
        let mut changes = Vec::new();
        let mut seen = HashMap::with_capacity(signs.len());
        for now in signs {
            let id = now.organization_id.clone();
            let before = self.last.get(&id);
            let is_new =
                |list: &&(CampaignId, u64)| before.is_none_or(|before| !before.matches.contains(list));
            let lists = now.matches.iter().filter(is_new);
            changes.extend(lists.map(|(campaign, _)| (id.clone(), NoticedChange::Matches(campaign.clone()))));
            if before.is_none_or(|before| before.newest_activity != now.newest_activity) {
                changes.push((id.clone(), NoticedChange::Activity));
            }
            seen.insert(id, now);
        }
        self.last = seen;
        Ok(changes)
    }
}
