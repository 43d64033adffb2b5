//! The Activity record: every command adds to it, people list it.

use async_trait::async_trait;
use bidloop_domain::model::{Activity, ActivityQuery};
use bidloop_domain::port::{ActivityStore, StoreError};

use super::prelude::*;

#[async_trait]
impl ActivityStore for Store {
    async fn record(&self, activity: &Activity) -> Result<(), StoreError> {
        let activity = activity.clone();
        self.write(async move |conn: &mut Conn| {
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
            let mut found = activities::table
                .order((activities::at.desc(), activities::id.desc()))
                .limit(i64::from(query.limit))
                .into_boxed();
            if let Some(organization) = &query.organization_id {
                found = found.filter(activities::organization_id.eq(organization.as_str()));
            }
            if let Some(campaign) = &query.campaign_id {
                found = found.filter(activities::campaign_id.eq(campaign.as_str()));
            }
            if let Some(lead) = &query.lead_id {
                found = found.filter(activities::lead_id.eq(lead.as_str()));
            }
            Ok(load_records!(conn, &quarantine, Activity, found))
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
