//! [`ActivityStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, ActivityId, ActivityPlace, ActivityQuery, ActivitySearch, FoundActivities, OrganizationId,
};
use bidloop_domain::port::{ActivityStore, StoreError};

use super::{MemoryStore, State, count, length};

#[async_trait]
impl ActivityStore for MemoryStore {
    async fn record(&self, activity: &Activity) -> Result<(), StoreError> {
        self.records.pass().await;
        let mut state = self.state()?;
        if state.organizations.contains_key(&activity.organization_id) {
            state.record_activity(activity);
        }
        Ok(())
    }

    async fn list(&self, query: &ActivityQuery) -> Result<Vec<Activity>, StoreError> {
        let state = self.state()?;
        let mut found: Vec<&Activity> = state.matching(query).rev().collect();
        found.sort_by_key(|entry| std::cmp::Reverse(entry.at));
        Ok(found.into_iter().take(length(query.limit)).cloned().collect())
    }

    async fn behind(&self, query: &ActivityQuery, place: ActivityPlace) -> Result<Vec<Activity>, StoreError> {
        let state = self.state()?;
        let behind = |entry: &&Activity| ActivityPlace::of(entry) > place;
        let mut found: Vec<&Activity> = state.matching(query).filter(behind).collect();
        found.sort_by_key(|entry| ActivityPlace::of(entry));
        Ok(found.into_iter().take(length(query.limit)).cloned().collect())
    }

    async fn search(
        &self,
        search: &ActivitySearch,
        below: Option<ActivityPlace>,
        limit: u32,
    ) -> Result<FoundActivities, StoreError> {
        let state = self.state()?;
        let is_below = |entry: &&Activity| below.is_none_or(|below| ActivityPlace::of(entry) < below);
        let found = state.activities.iter().filter(|entry| search.finds(entry));
        let mut found: Vec<&Activity> = found.filter(is_below).collect();
        found.sort_by_key(|entry| std::cmp::Reverse(ActivityPlace::of(entry)));
        let has_more = found.len() > length(limit);
        found.truncate(length(limit));
        Ok(FoundActivities {
            below: found
                .last()
                .filter(|_| has_more)
                .map(|last| ActivityPlace::of(last)),
            entries: found.into_iter().cloned().collect(),
        })
    }

    async fn newer(
        &self,
        search: &ActivitySearch,
        than: ActivityPlace,
        at_most: u32,
    ) -> Result<u64, StoreError> {
        let state = self.state()?;
        let newer = state.activities.iter();
        let newer = newer.filter(|entry| ActivityPlace::of(entry) > than && search.finds(entry));
        Ok(count(newer.take(length(at_most)).count()))
    }

    async fn find(
        &self,
        organization: &OrganizationId,
        id: ActivityId,
    ) -> Result<Option<Activity>, StoreError> {
        let state = self.state()?;
        let mut entries = state.activities.iter();
        let found = entries.find(|entry| entry.id == id && entry.organization_id == *organization);
        Ok(found.cloned())
    }
}

impl State {
    fn matching<'a>(&'a self, query: &'a ActivityQuery) -> impl DoubleEndedIterator<Item = &'a Activity> {
        let of = move |entry: &&Activity| {
            let organization = query.organization_id.as_ref();
            organization.is_none_or(|id| &entry.organization_id == id)
                && (query.campaign_id.is_none() || entry.campaign_id == query.campaign_id)
                && (query.lead_id.is_none() || entry.lead_id == query.lead_id)
        };
        self.activities.iter().filter(of)
    }
}
