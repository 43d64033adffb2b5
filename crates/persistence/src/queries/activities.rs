//! The Activity record: every command adds to it, people list it.

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, ActivityId, ActivityPlace, ActivityQuery, ActivitySearch, FoundActivities, OrganizationId,
};
use bidloop_domain::port::{ActivityStore, StoreError};

use super::activity_search;
use super::prelude::*;

/// The entries that a query asks for, in no order yet.
macro_rules! matching {
    ($query:expr) => {{
        let query: &ActivityQuery = &$query;
        let mut found = activities::table.limit(i64::from(query.limit)).into_boxed();
        if let Some(organization) = &query.organization_id {
            found = found.filter(activities::organization_id.eq(organization.as_str()));
        }
        if let Some(campaign) = &query.campaign_id {
            found = found.filter(activities::campaign_id.eq(campaign.as_str()));
        }
        if let Some(lead) = &query.lead_id {
            found = found.filter(activities::lead_id.eq(lead.as_str()));
        }
        found
    }};
}

#[async_trait]
impl ActivityStore for Store {
    async fn record(&self, activity: &Activity) -> Result<(), StoreError> {
        let (activity, of) = (activity.clone(), activity.organization_id.clone());
        self.write_for(&of, async move |conn: &mut Conn| {
            // Until this transaction ends the organization is not removed.
            let organization = organizations::table
                .find(activity.organization_id.as_str())
                .select(organizations::id);
            let known: Option<String> = for_key_share!(organization).first(conn).await.optional()?;
            match known {
                Some(_) => insert_activity(conn, &activity).await,
                None => Ok(()),
            }
        })
        .await
    }

    async fn list(&self, query: &ActivityQuery) -> Result<Vec<Activity>, StoreError> {
        let (query, quarantine) = (query.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let found = matching!(query).order((activities::at.desc(), activities::id.desc()));
            Ok(load_records!(conn, &quarantine, Activity, found))
        })
        .await
    }

    async fn behind(&self, query: &ActivityQuery, place: ActivityPlace) -> Result<Vec<Activity>, StoreError> {
        let (query, quarantine) = (query.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let at = place.at.as_millis();
            let found = matching!(query)
                .filter(activities::at.ge(at))
                .filter(activities::at.gt(at).or(activities::id.gt(place.id.to_string())))
                .order((activities::at.asc(), activities::id.asc()));
            Ok(load_records!(conn, &quarantine, Activity, found))
        })
        .await
    }

    async fn search(
        &self,
        search: &ActivitySearch,
        below: Option<ActivityPlace>,
        limit: u32,
    ) -> Result<FoundActivities, StoreError> {
        let (search, quarantine) = (search.clone(), self.quarantine.clone());
        self.snapshot(async move |conn: &mut Conn| {
            activity_search::search(conn, &quarantine, &search, below, limit).await
        })
        .await
    }

    async fn newer(
        &self,
        search: &ActivitySearch,
        than: ActivityPlace,
        at_most: u32,
    ) -> Result<u64, StoreError> {
        let search = search.clone();
        self.read(async move |conn: &mut Conn| activity_search::newer(conn, &search, than, at_most).await)
            .await
    }

    async fn find(
        &self,
        organization: &OrganizationId,
        id: ActivityId,
    ) -> Result<Option<Activity>, StoreError> {
        let (organization, quarantine) = (organization.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| {
            let entry = activities::table.find((organization.as_str(), id.to_string()));
            Ok(load_records!(conn, &quarantine, Activity, entry).pop())
        })
        .await
    }
}

/// Stores an entry. One whose id is known already stays as it is.
pub(super) async fn insert_activity(conn: &mut Conn, activity: &Activity) -> Result<(), Failure> {
    diesel::insert_into(activities::table)
        .values(activity.columns()?)
        .on_conflict_do_nothing()
        .execute(conn)
        .await?;
    Ok(())
}
