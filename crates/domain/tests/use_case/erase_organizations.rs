//! Erasing removed organizations: rows and files, in steps that end, whoever fails.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{ActivityKind, OrganizationId};
use bidloop_domain::port::{BlobPath, BlobStore, LeaseOwner, ProvisioningChange};
use bidloop_domain::use_case::{EraseFailure, EraseOrganizations, Erased, ErasureRun};
use bidloop_port_contracts::fixture::{activities, activity, at, organization};

use crate::service::Service;

fn erase(service: &Service, owner: &str) -> EraseOrganizations {
    EraseOrganizations {
        store: Arc::clone(&service.stores.erasure),
        blobs: service.blobs.clone(),
        clock: service.clock.clone(),
        owner: LeaseOwner::new(owner),
    }
}

async fn publish(service: &Service, path: &str) {
    let staged = service.blobs.stage().await.unwrap();
    staged.publish(&BlobPath::parse(path).unwrap()).await.unwrap();
}

fn paths(service: &Service) -> Vec<String> {
    let paths = service.blobs.paths();
    paths.iter().map(|path| path.as_str().to_owned()).collect()
}

async fn record(service: &Service, of: &OrganizationId, count: i64) {
    for second in 0..count {
        let entry = activity(of, ActivityKind::Bid, "accepted", at(second));
        service.stores.activities.record(&entry).await.unwrap();
    }
}

async fn remove(service: &Service, id: &OrganizationId) {
    service
        .commit(ProvisioningChange::RemoveOrganization(id.clone()))
        .await;
}

/// Makes all steps. Returns how many there were, and the failures.
async fn run(run: &mut ErasureRun) -> (usize, Vec<EraseFailure>) {
    let (mut steps, mut failures) = (0, Vec::new());
    loop {
        match run.step().await {
            Ok(None) => return (steps, failures),
            Ok(Some(step)) => {
                assert!(step.rows <= 200 && step.files <= 20, "{step:?}");
                steps += 1;
            }
            Err(error) => failures.push(error.cause),
        }
    }
}

#[tokio::test]
async fn rows_and_files_of_a_removed_organization_go_in_small_steps_and_others_keep_theirs() {
    let service = Service::new().await;
    let acme = Service::organization();
    let other = organization("org_other").provision(&service.stores).await;
    record(&service, &acme, 450).await;
    record(&service, &other, 3).await;
    let digest = "0a".repeat(32);
    for number in 0..45 {
        publish(&service, &format!("{acme}/ld_{number}/{number}-a.txt")).await;
    }
    publish(&service, &format!("campaigns/{acme}/{digest}")).await;
    let others = [
        format!("campaigns/{other}/{digest}"),
        format!("{other}/ld_1/1-a.txt"),
    ];
    for path in &others {
        publish(&service, path).await;
    }
    remove(&service, &acme).await;
    let erase = erase(&service, "me");
    assert_eq!(erase.removed().await, Ok(vec![acme.clone()]));
    let mut pass = erase.begin().await.unwrap();
    let (steps, failures) = run(&mut pass).await;
    assert!(steps >= 6, "{steps} steps");
    assert_eq!(failures, []);
    let erased = pass.erased();
    assert_eq!((erased.organizations, erased.files), (1, 46));
    assert!(erased.rows >= 450, "{erased:?}");
    assert_eq!(paths(&service), others);
    assert_eq!(activities(&service.stores, &acme).await, []);
    assert_eq!(activities(&service.stores, &other).await.len(), 3);
    assert_eq!(erase.removed().await, Ok(Vec::new()));
}

#[tokio::test]
async fn the_files_of_others_stay_whatever_the_organization_is_called() {
    let service = Service::new().await;
    let named = organization("campaigns").provision(&service.stores).await;
    let digest = "0a".repeat(32);
    let others = [
        format!("campaigns/ld_1/{digest}"),
        format!("campaigns/org_acme/{digest}"),
    ];
    for path in &others {
        publish(&service, path).await;
    }
    publish(&service, "campaigns/ld_1/0b-offer.pdf").await;
    publish(&service, &format!("campaigns/campaigns/{digest}")).await;
    remove(&service, &named).await;
    let mut pass = erase(&service, "me").begin().await.unwrap();
    run(&mut pass).await;
    assert_eq!(paths(&service), others);
}

#[tokio::test]
async fn while_the_storage_is_away_nothing_is_forgotten_and_a_later_pass_goes_on() {
    let service = Service::new().await;
    let acme = Service::organization();
    let second = organization("org_second").provision(&service.stores).await;
    publish(&service, &format!("{acme}/ld_1/1-a.txt")).await;
    remove(&service, &acme).await;
    remove(&service, &second).await;
    let erase = erase(&service, "me");
    service.blobs.set_available(false);
    let (_, failures) = run(&mut erase.begin().await.unwrap()).await;
    assert_eq!(failures.len(), 2, "each is tried: {failures:?}");
    assert_eq!(erase.removed().await.unwrap().len(), 2);
    service.blobs.set_available(true);
    let (_, failures) = run(&mut erase.begin().await.unwrap()).await;
    assert_eq!(failures, []);
    assert_eq!(erase.removed().await, Ok(Vec::new()));
    assert!(paths(&service).is_empty());
}

#[tokio::test]
async fn another_process_goes_on_where_one_was_killed() {
    let service = Service::new().await;
    let acme = Service::organization();
    record(&service, &acme, 450).await;
    publish(&service, &format!("{acme}/ld_1/1-a.txt")).await;
    remove(&service, &acme).await;
    let mut killed = erase(&service, "killed").begin().await.unwrap();
    assert!(killed.step().await.unwrap().unwrap().rows > 0);
    let another = erase(&service, "another");
    let mut too_early = another.begin().await.unwrap();
    let (steps, _) = run(&mut too_early).await;
    assert_eq!((steps, too_early.erased()), (1, Erased::default()));
    service.clock.advance(Duration::from_secs(60));
    let mut pass = another.begin().await.unwrap();
    run(&mut pass).await;
    assert_eq!((pass.erased().organizations, pass.erased().files), (1, 1));
    assert_eq!(
        killed.step().await,
        Ok(Some(Erased::default())),
        "it has nothing to do"
    );
    assert_eq!(killed.step().await, Ok(None));
}

#[tokio::test]
async fn a_pass_without_removed_organizations_does_nothing() {
    let service = Service::new().await;
    let mut pass = erase(&service, "me").begin().await.unwrap();
    assert_eq!(pass.step().await, Ok(None));
}
