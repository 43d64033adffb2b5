//! The rules of `ApiKeyStore`: finding, creating and revoking keys (decision D5).

use std::collections::HashMap;

use bidloop_domain::model::{ApiKeyId, ApiKeyRecord, OrganizationId, SubscriptionStatus};
use bidloop_domain::port::{CreateApiKey, RevokeApiKey};

use crate::Stores;
use crate::fixture::{at, at_once, commit, how_many, key, organization, organization_id};

async fn acme(stores: &Stores) -> OrganizationId {
    organization("org_acme").provision(stores).await
}

fn id(text: &str) -> ApiKeyId {
    ApiKeyId::parse(text).unwrap()
}

async fn only_key(stores: &Stores) -> ApiKeyRecord {
    let mut keys = stores
        .api_keys
        .list(&organization_id("org_acme"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(keys.len(), 1);
    keys.remove(0)
}

pub async fn a_created_key_is_found_by_its_digest(stores: Stores) {
    acme(&stores).await;
    let (mut record, hash) = key("org_acme", "key_1", 1, at(0));
    record.expires_at = Some(at(100));
    assert_eq!(
        stores.api_keys.create(&record, &hash).await,
        Ok(CreateApiKey::Created)
    );
    let found = stores.api_keys.find(&hash).await.unwrap().unwrap();
    assert_eq!(found.record, record);
    assert_eq!(found.subscription, organization("org_acme").0.subscription);
    assert!(found.works_at(at(99)));
}

pub async fn an_unknown_digest_finds_nothing(stores: Stores) {
    acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    let (_, unknown) = key("org_acme", "key_1", 2, at(0));
    assert_eq!(stores.api_keys.find(&unknown).await, Ok(None));
}

pub async fn of_many_digests_those_of_keys_find_them(stores: Stores) {
    acme(&stores).await;
    let other = organization("org_other").status(SubscriptionStatus::Canceled);
    let other = other.provision(&stores).await;
    let (acmes, hash) = key("org_acme", "key_1", 1, at(0));
    let (others, others_hash) = key(other.as_str(), "key_1", 2, at(0));
    let (_, unknown) = key("org_acme", "key_3", 3, at(0));
    let keys = &stores.api_keys;
    keys.create(&acmes, &hash).await.unwrap();
    keys.create(&others, &others_hash).await.unwrap();
    keys.revoke(&other, &others.id, at(2)).await.unwrap();
    let found = keys
        .find_each(&[others_hash.clone(), unknown, hash.clone()])
        .await
        .unwrap();
    assert_eq!(found.len(), 2);
    for hash in [hash, others_hash] {
        assert_eq!(found.get(&hash), keys.find(&hash).await.unwrap().as_ref());
    }
    assert_eq!(keys.find_each(&[]).await, Ok(HashMap::new()));
}

pub async fn a_key_is_found_whatever_its_state(stores: Stores) {
    let organization = organization("org_acme")
        .status(SubscriptionStatus::Canceled)
        .provision(&stores)
        .await;
    let (mut record, hash) = key("org_acme", "key_1", 1, at(0));
    record.expires_at = Some(at(1));
    stores.api_keys.create(&record, &hash).await.unwrap();
    stores
        .api_keys
        .revoke(&organization, &record.id, at(2))
        .await
        .unwrap();
    let found = stores.api_keys.find(&hash).await.unwrap().unwrap();
    assert_eq!(found.record.expires_at, Some(at(1)));
    assert_eq!(found.record.revoked_at, Some(at(2)));
    assert_eq!(found.subscription.status, SubscriptionStatus::Canceled);
}

pub async fn a_key_is_found_with_the_subscription_as_it_is_now(stores: Stores) {
    acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    commit(
        &stores,
        &[organization("org_acme")
            .status(SubscriptionStatus::Unpaid)
            .put_organization()],
    )
    .await;
    let found = stores.api_keys.find(&hash).await.unwrap().unwrap();
    assert_eq!(found.subscription.status, SubscriptionStatus::Unpaid);
    assert!(!found.works_at(at(1)));
}

pub async fn a_key_of_an_unknown_organization_is_not_created(stores: Stores) {
    let (record, hash) = key("org_nobody", "key_1", 1, at(0));
    assert_eq!(
        stores.api_keys.create(&record, &hash).await,
        Ok(CreateApiKey::OrganizationUnknown)
    );
    assert_eq!(stores.api_keys.find(&hash).await, Ok(None));
}

pub async fn an_id_that_is_taken_is_refused_and_the_first_key_stays(stores: Stores) {
    let organization = acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    let (second, second_hash) = key("org_acme", "key_1", 2, at(5));
    stores.api_keys.create(&record, &hash).await.unwrap();
    assert_eq!(
        stores.api_keys.create(&second, &second_hash).await,
        Ok(CreateApiKey::IdTaken)
    );
    stores
        .api_keys
        .revoke(&organization, &record.id, at(6))
        .await
        .unwrap();
    assert_eq!(
        stores.api_keys.create(&second, &second_hash).await,
        Ok(CreateApiKey::IdTaken)
    );
    assert_eq!(stores.api_keys.find(&second_hash).await, Ok(None));
    assert_eq!(only_key(&stores).await.created_at, at(0));
}

pub async fn two_organizations_may_use_one_key_id(stores: Stores) {
    acme(&stores).await;
    let other = organization("org_two").provision(&stores).await;
    let (first, first_hash) = key("org_acme", "key_1", 1, at(0));
    let (second, second_hash) = key("org_two", "key_1", 2, at(0));
    stores.api_keys.create(&first, &first_hash).await.unwrap();
    assert_eq!(
        stores.api_keys.create(&second, &second_hash).await,
        Ok(CreateApiKey::Created)
    );
    assert_eq!(
        stores
            .api_keys
            .find(&second_hash)
            .await
            .unwrap()
            .unwrap()
            .record
            .organization_id,
        other
    );
    stores.api_keys.revoke(&other, &id("key_1"), at(1)).await.unwrap();
    assert_eq!(only_key(&stores).await.revoked_at, None);
}

pub async fn keys_are_listed_oldest_first(stores: Stores) {
    let organization = acme(&stores).await;
    for (name, number, second) in [("b", 1, 20), ("c", 2, 10), ("a", 3, 30)] {
        let (record, hash) = key("org_acme", name, number, at(second));
        stores.api_keys.create(&record, &hash).await.unwrap();
    }
    let keys = stores.api_keys.list(&organization).await.unwrap().unwrap();
    let ids: Vec<&str> = keys.iter().map(|key| key.id.as_str()).collect();
    assert_eq!(ids, ["c", "b", "a"]);
}

pub async fn an_unknown_organization_has_no_list(stores: Stores) {
    let organization = acme(&stores).await;
    assert_eq!(
        stores.api_keys.list(&organization_id("org_nobody")).await,
        Ok(None)
    );
    assert_eq!(stores.api_keys.list(&organization).await, Ok(Some(Vec::new())));
}

pub async fn a_revoked_key_does_not_work_any_more(stores: Stores) {
    let organization = acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    assert_eq!(
        stores.api_keys.revoke(&organization, &record.id, at(9)).await,
        Ok(RevokeApiKey::Revoked)
    );
    let found = stores.api_keys.find(&hash).await.unwrap().unwrap();
    assert_eq!(found.record.revoked_at, Some(at(9)));
    assert!(!found.works_at(at(9)));
    assert_eq!(only_key(&stores).await.revoked_at, Some(at(9)));
}

pub async fn revoking_again_tells_the_first_moment(stores: Stores) {
    let organization = acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    stores
        .api_keys
        .revoke(&organization, &record.id, at(9))
        .await
        .unwrap();
    let again = stores.api_keys.revoke(&organization, &record.id, at(12)).await;
    assert_eq!(again, Ok(RevokeApiKey::RevokedBefore(at(9))));
    assert_eq!(only_key(&stores).await.revoked_at, Some(at(9)));
}

pub async fn another_organizations_key_cannot_be_revoked(stores: Stores) {
    acme(&stores).await;
    let other = organization("org_two").provision(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    assert_eq!(
        stores.api_keys.revoke(&other, &record.id, at(1)).await,
        Ok(RevokeApiKey::Unknown)
    );
    let unknown = stores
        .api_keys
        .revoke(&organization_id("org_acme"), &id("key_9"), at(1))
        .await;
    assert_eq!(unknown, Ok(RevokeApiKey::Unknown));
    assert_eq!(only_key(&stores).await.revoked_at, None);
}

pub async fn the_last_use_never_moves_back(stores: Stores) {
    let organization = acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    let used = |second| [(organization.clone(), record.id.clone(), at(second))];
    stores.api_keys.record_uses(&used(10)).await.unwrap();
    stores.api_keys.record_uses(&used(4)).await.unwrap();
    assert_eq!(only_key(&stores).await.last_used_at, Some(at(10)));
    stores.api_keys.record_uses(&used(11)).await.unwrap();
    assert_eq!(only_key(&stores).await.last_used_at, Some(at(11)));
    assert_eq!(
        stores
            .api_keys
            .find(&hash)
            .await
            .unwrap()
            .unwrap()
            .record
            .last_used_at,
        Some(at(11))
    );
}

pub async fn uses_of_unknown_keys_are_passed_over(stores: Stores) {
    let organization = acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    let uses = [
        (organization.clone(), id("key_9"), at(3)),
        (organization_id("org_nobody"), id("key_1"), at(3)),
        (organization, id("key_1"), at(2)),
    ];
    stores.api_keys.record_uses(&uses).await.unwrap();
    assert_eq!(only_key(&stores).await.last_used_at, Some(at(2)));
}

pub async fn of_many_creations_under_one_id_one_succeeds(stores: Stores) {
    acme(&stores).await;
    let answers = at_once(16, |number| {
        let stores = stores.clone();
        async move {
            let number = u8::try_from(number).unwrap();
            let (record, hash) = key("org_acme", "key_1", number, at(i64::from(number)));
            stores.api_keys.create(&record, &hash).await.unwrap()
        }
    })
    .await;
    assert_eq!(how_many(&answers, &CreateApiKey::Created), 1);
    assert_eq!(how_many(&answers, &CreateApiKey::IdTaken), 15);
    only_key(&stores).await;
}

pub async fn of_many_revocations_one_counts(stores: Stores) {
    let organization = acme(&stores).await;
    let (record, hash) = key("org_acme", "key_1", 1, at(0));
    stores.api_keys.create(&record, &hash).await.unwrap();
    let answers = at_once(12, |number| {
        let (stores, organization) = (stores.clone(), organization.clone());
        async move {
            let moment = at(i64::try_from(number).unwrap());
            (
                moment,
                stores
                    .api_keys
                    .revoke(&organization, &id("key_1"), moment)
                    .await
                    .unwrap(),
            )
        }
    })
    .await;
    let revoked_at = only_key(&stores).await.revoked_at.unwrap();
    for (moment, answer) in answers {
        let expected = if moment == revoked_at {
            RevokeApiKey::Revoked
        } else {
            RevokeApiKey::RevokedBefore(revoked_at)
        };
        assert_eq!(answer, expected);
    }
}
