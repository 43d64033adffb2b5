//! An organization in the store, by kind of entity.

use super::reconcile::{Entities, Entity};
use super::records::{
    AccountRecord, CampaignRecord, FilterRecord, OrganizationRecord, UserRecord, WebhookRecord,
};
use crate::model::{ApiKeyHash, ApiKeyRecord, CampaignId, Subscription};

/// An organization; empty for a new one. Planning changes it from what the store holds to what the file describes.
#[derive(Debug, Default)]
pub(super) struct CurrentState {
    pub(super) name_and_subscription: Option<(String, Subscription)>,
    pub(super) users: Entities<UserRecord>,
    pub(super) api_keys: Entities<(ApiKeyRecord, ApiKeyHash)>,
    pub(super) webhooks: Entities<WebhookRecord>,
    pub(super) accounts: Entities<AccountRecord>,
    /// Without their filters.
    pub(super) campaigns: Entities<CampaignRecord>,
    pub(super) filters: Entities<(CampaignId, FilterRecord)>,
}

impl From<OrganizationRecord> for CurrentState {
    fn from(mut record: OrganizationRecord) -> Self {
        let mut filters = Vec::new();
        for campaign in &mut record.campaigns {
            let of_campaign = std::mem::take(&mut campaign.filters);
            filters.extend(
                of_campaign
                    .into_iter()
                    .map(|filter| (campaign.id.clone(), filter)),
            );
        }
        Self {
            name_and_subscription: Some((record.name, record.subscription)),
            users: by_key(record.users),
            api_keys: by_key(record.api_keys),
            webhooks: by_key(record.webhooks),
            accounts: by_key(record.accounts),
            campaigns: by_key(record.campaigns),
            filters: by_key(filters),
        }
    }
}

fn by_key<T: Entity>(entities: Vec<T>) -> Entities<T> {
    let entities = entities.into_iter();
    entities.map(|entity| (T::key(entity.id()), entity)).collect()
}
