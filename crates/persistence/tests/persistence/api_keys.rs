//! API keys.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{
    ApiKey, ApiKeyHash, ApiKeyId, ApiKeyRecord, FoundApiKey, OrganizationId, Renewal, Subscription,
    SubscriptionStatus, Timestamp,
};
use bidloop_domain::port::{CreateApiKey, RevokeApiKey};

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    a_key_is_found_by_its_digest_with_the_subscription,
    a_taken_id_and_an_unknown_organization_are_refused,
    keys_are_listed_oldest_first,
    a_revoked_key_keeps_the_first_moment,
    the_last_use_never_moves_back,
);

fn organization() -> OrganizationId {
    OrganizationId::parse("org_a").unwrap()
}

fn key(id: &str, created_at: i64) -> ApiKeyRecord {
    ApiKeyRecord {
        id: ApiKeyId::parse(id).unwrap(),
        organization_id: organization(),
        name: format!("The key \0 {id}"),
        created_at: Timestamp::from_millis(created_at),
        last_used_at: None,
        expires_at: Some(Timestamp::from_millis(created_at + 5)),
        revoked_at: None,
    }
}

fn digest(byte: u8) -> ApiKeyHash {
    ApiKey::from_random([byte; 32]).hash()
}

async fn a_key_is_found_by_its_digest_with_the_subscription(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let keys = bed.database.api_keys();
    let record = key("key_ci", 7);
    assert_eq!(keys.create(&record, &digest(1)).await, Ok(CreateApiKey::Created));
    let subscription = Subscription {
        status: SubscriptionStatus::Active,
        collection_paused: false,
        period_start: Timestamp::from_millis(1000),
        period_end: Timestamp::from_millis(2000),
        renewal: Renewal::SameLength,
        proposal_limit: Some(50),
        customer: None,
    };
    assert_eq!(
        keys.find(&digest(1)).await,
        Ok(Some(FoundApiKey { record, subscription }))
    );
    assert_eq!(keys.find(&digest(2)).await, Ok(None));
    bed
}

async fn a_taken_id_and_an_unknown_organization_are_refused(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let keys = bed.database.api_keys();
    let record = key("key_ci", 7);
    assert_eq!(keys.create(&record, &digest(1)).await, Ok(CreateApiKey::Created));
    assert_eq!(
        keys.create(&key("key_ci", 8), &digest(2)).await,
        Ok(CreateApiKey::IdTaken)
    );
    let stray = ApiKeyRecord {
        organization_id: OrganizationId::parse("org_b").unwrap(),
        ..key("key_ci", 9)
    };
    assert_eq!(
        keys.create(&stray, &digest(3)).await,
        Ok(CreateApiKey::OrganizationUnknown)
    );
    assert_eq!(keys.list(&organization()).await, Ok(Some(vec![record])));
    assert_eq!(keys.list(&stray.organization_id).await, Ok(None));
    bed
}

async fn keys_are_listed_oldest_first(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let keys = bed.database.api_keys();
    assert_eq!(keys.list(&organization()).await, Ok(Some(Vec::new())));
    let (old, new, newest) = (key("b", 1), key("Z", 2), key("a", 2));
    for (record, byte) in [(&newest, 1), (&old, 2), (&new, 3)] {
        assert_eq!(
            keys.create(record, &digest(byte)).await,
            Ok(CreateApiKey::Created)
        );
    }
    assert_eq!(keys.list(&organization()).await, Ok(Some(vec![old, new, newest])));
    bed
}

async fn a_revoked_key_keeps_the_first_moment(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let keys = bed.database.api_keys();
    let record = key("key_ci", 7);
    keys.create(&record, &digest(1)).await.unwrap();
    let revoke = |at| keys.revoke(&record.organization_id, &record.id, Timestamp::from_millis(at));
    assert_eq!(revoke(10).await, Ok(RevokeApiKey::Revoked));
    let first = Timestamp::from_millis(10);
    assert_eq!(revoke(11).await, Ok(RevokeApiKey::RevokedBefore(first)));
    // Another process sees it at once.
    let found = bed.reopened().api_keys().find(&digest(1)).await.unwrap().unwrap();
    assert_eq!(found.record.revoked_at, Some(first));
    let unknown = ApiKeyId::parse("none").unwrap();
    assert_eq!(
        keys.revoke(&organization(), &unknown, first).await,
        Ok(RevokeApiKey::Unknown)
    );
    bed
}

async fn the_last_use_never_moves_back(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let keys = bed.database.api_keys();
    keys.create(&key("used", 1), &digest(1)).await.unwrap();
    let used = |id: &str, at| {
        (
            organization(),
            ApiKeyId::parse(id).unwrap(),
            Timestamp::from_millis(at),
        )
    };
    keys.record_uses(&[used("used", 20), used("unknown", 20), used("used", 10)])
        .await
        .unwrap();
    keys.record_uses(&[used("used", 15)]).await.unwrap();
    keys.record_uses(&[]).await.unwrap();
    let found = keys.find(&digest(1)).await.unwrap().unwrap();
    assert_eq!(found.record.last_used_at, Some(Timestamp::from_millis(20)));
    bed
}
