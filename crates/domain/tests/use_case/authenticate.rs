//! Authentication of the specification, decisions D5 and D6.

use std::time::Duration;

use bidloop_domain::model::{ApiKey, ApiKeyId, ApiKeyRecord, SubscriptionStatus, VariantArray};
use bidloop_domain::port::ProvisioningChange;
use bidloop_domain::use_case::AuthenticateError;
use bidloop_port_contracts::fixture::{at, key};

use crate::service::{Service, acme};

fn presented(number: u8) -> String {
    ApiKey::from_random([number; 32]).expose().to_owned()
}

async fn stored(service: &Service, id: &str) -> ApiKeyRecord {
    let id = ApiKeyId::parse(id).unwrap();
    let keys = service.stores.api_keys.list(&Service::organization()).await;
    let keys = keys.unwrap().unwrap();
    keys.into_iter().find(|key| key.id == id).unwrap()
}

#[tokio::test]
async fn a_key_lets_its_holder_in_as_its_organization() {
    let service = Service::new().await;
    let caller = service.authenticate().execute(Some(&presented(1))).await.unwrap();
    assert_eq!(caller, Service::caller());
    assert_eq!(caller.actor().name.as_deref(), Some("Key key_ci"));
}

#[tokio::test]
async fn no_key_a_malformed_one_and_an_unknown_one_are_refused_alike() {
    let service = Service::new().await;
    let upper_case = presented(1).replace("lk_", "LK_");
    let longer = format!("{}0", presented(1));
    for refused in [
        None,
        Some(""),
        Some("lk_"),
        Some(&*upper_case),
        Some(&*longer),
        Some(&*presented(2)),
    ] {
        let answer = service.authenticate().execute(refused).await;
        assert_eq!(answer, Err(AuthenticateError::Refused), "{refused:?}");
    }
}

#[tokio::test]
async fn a_revocation_and_an_expiry_work_at_once() {
    let service = Service::new().await;
    let authenticate = service.authenticate();
    let (mut record, hash) = key("org_acme", "key_ci", 1, at(0));
    record.expires_at = Some(at(60));
    let put = |record: &ApiKeyRecord| {
        ProvisioningChange::PutApiKey(Service::organization(), record.clone(), hash.clone())
    };
    service.commit(put(&record)).await;
    assert!(authenticate.execute(Some(&presented(1))).await.is_ok());
    service.clock.set(at(60));
    assert_eq!(
        authenticate.execute(Some(&presented(1))).await,
        Err(AuthenticateError::Refused)
    );
    record.expires_at = None;
    service.commit(put(&record)).await;
    assert!(authenticate.execute(Some(&presented(1))).await.is_ok());
    record.revoked_at = Some(at(60));
    service.commit(put(&record)).await;
    assert_eq!(
        authenticate.execute(Some(&presented(1))).await,
        Err(AuthenticateError::Refused)
    );
}

#[tokio::test]
async fn keys_work_only_while_the_subscription_is_active_and_collected() {
    for &status in SubscriptionStatus::VARIANTS {
        for paused in [false, true] {
            let mut organization = acme().status(status);
            organization.0.subscription.collection_paused = paused;
            let service = Service::with(organization).await;
            let answer = service.authenticate().execute(Some(&presented(1))).await;
            let active = status == SubscriptionStatus::Active && !paused;
            assert_eq!(answer.is_ok(), active, "{status:?}, paused: {paused}");
        }
    }
}

#[tokio::test]
async fn the_last_use_is_kept_until_the_store_takes_it() {
    let service = Service::new().await;
    let authenticate = service.authenticate();
    authenticate.execute(Some(&presented(1))).await.unwrap();
    let last = service.clock.advance(Duration::from_secs(7));
    authenticate.execute(Some(&presented(1))).await.unwrap();
    service.store.set_available(false);
    assert!(authenticate.flush_uses().await.is_err());
    assert!(matches!(
        authenticate.execute(Some(&presented(1))).await,
        Err(AuthenticateError::Store(_))
    ));
    service.store.set_available(true);
    assert_eq!(stored(&service, "key_ci").await.last_used_at, None);
    authenticate.flush_uses().await.unwrap();
    assert_eq!(stored(&service, "key_ci").await.last_used_at, Some(last));
    authenticate.flush_uses().await.unwrap();
}
