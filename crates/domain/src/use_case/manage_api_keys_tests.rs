//! Keys by command: who may have one, what it is called, and when it ends.

use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use futures::executor::block_on;

use super::*;
use crate::model::{ApiKeyHash, CampaignId, EmailKey, EndpointId, FoundApiKey};
use crate::port::{
    CommitProvisioning, ProvisioningChange, ProvisioningSnapshot, Revision, StoredPerson, WebhookUrl,
};
use crate::provisioning::tests::world::{CountingIds, World};

const NOW: Timestamp = Timestamp::from_seconds(1_790_000_000);

#[derive(Debug, Default)]
struct Store(Mutex<World>);

#[async_trait]
impl ApiKeyStore for Store {
    async fn find(&self, _: &ApiKeyHash) -> Result<Option<FoundApiKey>, StoreError> {
        Ok(None)
    }

    async fn create(&self, record: &ApiKeyRecord, hash: &ApiKeyHash) -> Result<CreateApiKey, StoreError> {
        let mut world = self.0.lock().unwrap();
        let keys = &mut world.organizations[0].api_keys;
        if keys.iter().any(|(known, _)| known.id == record.id) {
            return Ok(CreateApiKey::IdTaken);
        }
        keys.push((record.clone(), hash.clone()));
        Ok(CreateApiKey::Created)
    }

    async fn list(&self, organization: &OrganizationId) -> Result<Option<Vec<ApiKeyRecord>>, StoreError> {
        let world = self.0.lock().unwrap();
        let found = world.organizations.iter().find(|o| o.id == *organization);
        Ok(found.map(|o| o.api_keys.iter().map(|(record, _)| record.clone()).collect()))
    }

    async fn revoke(
        &self,
        _: &OrganizationId,
        id: &ApiKeyId,
        at: Timestamp,
    ) -> Result<RevokeApiKey, StoreError> {
        let mut world = self.0.lock().unwrap();
        let Some((record, _)) = world.organizations[0]
            .api_keys
            .iter_mut()
            .find(|(key, _)| key.id == *id)
        else {
            return Ok(RevokeApiKey::Unknown);
        };
        Ok(match record.revoked_at.replace(at) {
            Some(before) => {
                record.revoked_at = Some(before);
                RevokeApiKey::RevokedBefore(before)
            }
            None => RevokeApiKey::Revoked,
        })
    }

    async fn record_uses(&self, _: &[(OrganizationId, ApiKeyId, Timestamp)]) -> Result<(), StoreError> {
        Ok(())
    }
}

#[async_trait]
impl ProvisioningStore for Store {
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError> {
        Ok(self.0.lock().unwrap().snapshot(organizations, key_hashes))
    }

    async fn people(&self, _: &[EmailKey]) -> Result<Vec<StoredPerson>, StoreError> {
        Ok(Vec::new())
    }

    async fn webhook_urls(
        &self,
        _after: Option<&(OrganizationId, EndpointId)>,
        _limit: u32,
    ) -> Result<Vec<WebhookUrl>, StoreError> {
        Ok(Vec::new())
    }

    async fn commit_by(
        &self,
        _: Revision,
        _: &[ProvisioningChange],
        _: Option<&ByPerson>,
        _: Timestamp,
    ) -> Result<CommitProvisioning, StoreError> {
        Ok(CommitProvisioning::RevisionMoved)
    }

    async fn has_history(&self, _: &OrganizationId, _: &CampaignId) -> Result<bool, StoreError> {
        Ok(false)
    }
}

#[derive(Debug)]
struct At(Timestamp);

impl Clock for At {
    fn now(&self) -> Timestamp {
        self.0
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

/// Nobody else holds a lease.
#[async_trait]
impl Pause for At {
    async fn pause(&self, _: Duration) {}
}

/// Organization `o` with a subscription of this status.
fn keys_of(status: &str) -> (Arc<Store>, ManageApiKeys) {
    let world = World::with(
        &json!({"organizations": [{"id": "o", "name": "O", "subscription": {"status": status,
        "currentPeriodStart": 1, "currentPeriodEnd": 2, "proposalLimit": 1}}]}),
    );
    let store = Arc::new(Store(Mutex::new(world)));
    (
        store.clone(),
        ManageApiKeys {
            keys: store.clone(),
            organizations: store,
            clock: Arc::new(At(NOW)),
            entropy: Arc::new(CountingIds::default()),
            pause: Arc::new(At(NOW)),
        },
    )
}

fn named(name: &str) -> NewApiKey {
    NewApiKey {
        organization_id: OrganizationId::parse("o").unwrap(),
        id: None,
        name: name.to_owned(),
        expires_at: None,
    }
}

#[test]
fn a_created_key_is_stored_by_its_digest_and_shown_once() {
    let (store, keys) = keys_of("active");
    let created = block_on(keys.create(named("CI"))).unwrap();
    assert!(created.id.as_str().starts_with("key_"));
    assert_eq!(
        created.to_json(),
        json!({"id": created.id, "name": "CI", "key": created.key.expose()})
    );
    let world = store.0.lock().unwrap();
    let (record, hash) = &world.organizations[0].api_keys[0];
    assert_eq!((hash, record.created_at), (&created.key.hash(), NOW));
    let listed = serde_json::to_value(record).unwrap();
    let fields: Vec<&String> = listed.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        ["createdAt", "expiresAt", "id", "lastUsedAt", "name", "revokedAt"]
    );
}

#[test]
fn creating_keys_needs_an_active_paid_subscription() {
    for status in ["past_due", "canceled", "unpaid", "trialing", "paused"] {
        let (_, keys) = keys_of(status);
        assert!(matches!(
            block_on(keys.create(named("CI"))),
            Err(ManageApiKeysError::SubscriptionInactive(_))
        ));
    }
}

#[test]
fn a_key_needs_a_name_a_free_id_an_organization_and_a_future() {
    let (_, keys) = keys_of("active");
    let create = |change: fn(&mut NewApiKey)| {
        let mut new = named("CI");
        new.id = Some(ApiKeyId::parse("k").unwrap());
        change(&mut new);
        block_on(keys.create(new))
            .map(|created| created.id.to_string())
            .map_err(|error| error.to_string())
    };
    assert_eq!(create(|_| {}), Ok("k".to_owned()));
    let refused = |change| create(change).unwrap_err();
    assert_eq!(
        refused(|_| {}),
        "organization \"o\" has a key \"k\" already: choose another id"
    );
    let spoiled: [fn(&mut NewApiKey); 4] = [
        |new| " ".clone_into(&mut new.name),
        |new| "two\nlines".clone_into(&mut new.name),
        |new| "\0".clone_into(&mut new.name),
        |new| new.name = "x".repeat(201),
    ];
    for name in spoiled {
        assert_eq!(
            refused(name),
            "the key needs a name of 1 to 200 characters without control characters: give one that says who will use it"
        );
    }
    assert_eq!(
        refused(|new| new.expires_at = Some(NOW)),
        "the key would be expired from the start: choose a moment in the future"
    );
    assert_eq!(
        refused(|new| new.organization_id = OrganizationId::parse("x").unwrap()),
        "there is no organization \"x\": provision it first"
    );
    let other = create(|new| {
        new.id = Some(ApiKeyId::parse("l").unwrap());
        new.expires_at = Some(Timestamp::from_seconds(1_790_000_001));
    });
    assert_eq!(other, Ok("l".to_owned()));
}

#[test]
fn keys_are_listed_and_revoked_once() {
    let (_, keys) = keys_of("active");
    let o = OrganizationId::parse("o").unwrap();
    let created = block_on(keys.create(named("CI"))).unwrap();
    assert_eq!(block_on(keys.revoke(&o, &created.id)), Ok(NOW));
    assert_eq!(
        block_on(keys.revoke(&o, &created.id)),
        Ok(NOW),
        "revoked before is revoked"
    );
    assert_eq!(block_on(keys.list(&o)).unwrap()[0].revoked_at, Some(NOW));
    let unknown = ApiKeyId::parse("nobody").unwrap();
    assert!(matches!(
        block_on(keys.revoke(&o, &unknown)),
        Err(ManageApiKeysError::KeyUnknown { .. })
    ));
    let nowhere = OrganizationId::parse("x").unwrap();
    assert!(matches!(
        block_on(keys.list(&nowhere)),
        Err(ManageApiKeysError::OrganizationUnknown(_))
    ));
}
