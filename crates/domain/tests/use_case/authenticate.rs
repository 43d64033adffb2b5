//! Authentication of the specification, decisions D5 and D6.

use std::time::Duration;

use bidloop_domain::model::{ApiKey, ApiKeyId, ApiKeyRecord, SubscriptionStatus, VariantArray};
use bidloop_domain::port::{Clock as _, ProvisioningChange};
use bidloop_domain::use_case::AuthenticateError;
use bidloop_port_contracts::fixture::{at, key};

use crate::manage_organization::manage_api_keys;
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
async fn an_expiry_works_at_once_and_a_change_in_the_store_within_a_second() {
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
    assert!(authenticate.execute(Some(&presented(1))).await.is_ok());
    service.clock.advance(Duration::from_secs(1));
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
    assert!(
        authenticate.execute(Some(&presented(1))).await.is_ok(),
        "it was found just now"
    );
    service.clock.advance(Duration::from_secs(1));
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

#[tokio::test]
async fn a_key_in_steady_use_is_asked_for_again_before_its_lease_ends() {
    let service = Service::new().await;
    let authenticate = service.authenticate();
    let passes = async |count: u32| {
        for _ in 0..count {
            service.clock.advance(Duration::from_millis(300));
            authenticate.renew_leases().await.unwrap();
        }
    };
    let works_from_memory = async || {
        service.store.set_available(false);
        let answer = authenticate.execute(Some(&presented(1))).await;
        service.store.set_available(true);
        answer.is_ok()
    };
    authenticate.execute(Some(&presented(1))).await.unwrap();
    for _ in 0..5 {
        assert!(works_from_memory().await);
        passes(2).await;
    }
    assert!(
        works_from_memory().await,
        "three seconds after the only request that waited"
    );
    passes(2).await;
    assert!(works_from_memory().await);
    passes(4).await;
    assert!(
        !works_from_memory().await,
        "a key that is not used is not asked for"
    );
}

#[tokio::test]
async fn a_renewal_that_does_not_find_the_key_ends_its_lease_and_one_that_fails_does_not() {
    let service = Service::new().await;
    let authenticate = service.authenticate();
    for _ in 0..2 {
        authenticate.execute(Some(&presented(1))).await.unwrap();
    }
    service.clock.advance(Duration::from_millis(300));
    service.store.set_available(false);
    assert!(authenticate.renew_leases().await.is_err());
    assert!(authenticate.execute(Some(&presented(1))).await.is_ok());
    service.store.set_available(true);
    let key = ApiKeyId::parse("key_ci").unwrap();
    let keys = &service.stores.api_keys;
    keys.revoke(&Service::organization(), &key, at(0)).await.unwrap();
    assert!(authenticate.execute(Some(&presented(1))).await.is_ok());
    authenticate.renew_leases().await.unwrap();
    assert_eq!(
        authenticate.execute(Some(&presented(1))).await,
        Err(AuthenticateError::Refused)
    );
}

/// Decision D7: what was reported holds for every later request, in every process.
#[tokio::test]
async fn a_revocation_that_was_reported_holds_in_every_process() {
    let service = Service::new().await;
    let processes = [service.authenticate(), service.authenticate()];
    for process in &processes {
        assert!(process.execute(Some(&presented(1))).await.is_ok());
    }
    let (organization, key) = (Service::organization(), ApiKeyId::parse("key_ci").unwrap());
    manage_api_keys(&service)
        .revoke(&organization, &key)
        .await
        .unwrap();
    for process in &processes {
        let refused = process.execute(Some(&presented(1))).await;
        assert_eq!(refused, Err(AuthenticateError::Refused));
    }
}

#[tokio::test]
async fn a_clock_that_is_set_back_makes_no_lease_longer() {
    let service = Service::new().await;
    let authenticate = service.authenticate();
    let start = service.clock.now();
    assert!(authenticate.execute(Some(&presented(1))).await.is_ok());
    let key = ApiKeyId::parse("key_ci").unwrap();
    let keys = &service.stores.api_keys;
    keys.revoke(&Service::organization(), &key, at(0)).await.unwrap();
    service.clock.advance(Duration::from_secs(1));
    service.clock.set(start);
    let refused = authenticate.execute(Some(&presented(1))).await;
    assert_eq!(refused, Err(AuthenticateError::Refused));
}
