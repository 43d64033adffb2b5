//! The rules of `BillingStore`: what the payment provider reported, and the subscriptions that follow from it.

use std::time::Duration;

use bidloop_domain::model::{
    Activity, ActivityKind, BilledState, BilledSubscriptionId, BillingEvents, CustomerId, OrganizationId,
    Subscription, SubscriptionReport, SubscriptionStatus,
};
use bidloop_domain::port::{BilledRecord, BillingChange, LeaseOwner, ProvisioningChange};

use crate::Stores;
use crate::fixture::{
    World, activities, activity, at, at_once, campaign, commit, how_many, key, organization, organization_id,
    revision,
};

fn id(text: &str) -> BilledSubscriptionId {
    BilledSubscriptionId::parse(text).unwrap()
}

fn customer(text: &str) -> CustomerId {
    CustomerId::parse(text).unwrap()
}

fn record(text: &str, organization: Option<&str>) -> BilledRecord {
    let mut events = BillingEvents::default();
    events.add(SubscriptionReport {
        event: format!("evt_{text}"),
        at: at(5),
        state: BilledState {
            status: SubscriptionStatus::Active,
            collection_paused: false,
            period_start: at(0),
            period_end: at(1_000),
            proposal_limit: Some(7),
            organization: organization.map(organization_id),
            customer: customer("cus_1"),
            created_at: at(0),
            latest_invoice: None,
        },
        before: None,
        begins: true,
    });
    BilledRecord {
        id: id(text),
        organization_id: organization.map(organization_id),
        events,
    }
}

fn entry(organization: &OrganizationId) -> Activity {
    activity(organization, ActivityKind::Change, "accepted", at(5))
}

/// `org_acme`'s subscription replaced by this one.
fn replaced(subscription: Subscription) -> BillingChange {
    let acme = organization_id("org_acme");
    let entry = entry(&acme);
    BillingChange {
        record: record("sub_1", Some("org_acme")),
        subscriptions: vec![(acme, subscription, entry)],
    }
}

fn canceled() -> Subscription {
    Subscription {
        status: SubscriptionStatus::Canceled,
        ..organization("org_acme").0.subscription
    }
}

async fn make(stores: &Stores, change: &BillingChange) {
    let now = revision(stores).await;
    assert_eq!(stores.billing.commit_billing(now, change).await, Ok(true));
}

async fn subscription(stores: &Stores) -> Subscription {
    let acme = [organization_id("org_acme")];
    let found = stores.billing.billed_organizations(&acme, None).await.unwrap();
    found[0].subscription.clone()
}

pub async fn a_reported_subscription_is_found_with_its_organization(stores: Stores) {
    organization("org_acme").provision(&stores).await;
    let now = revision(&stores).await;
    assert_eq!(stores.billing.billed(&id("sub_1")).await, Ok((now, None)));
    for link in [None, Some("org_acme")] {
        let change = BillingChange {
            record: record("sub_1", link),
            subscriptions: Vec::new(),
        };
        make(&stores, &change).await;
        let now = revision(&stores).await;
        let found = stores.billing.billed(&id("sub_1")).await;
        assert_eq!(found, Ok((now, Some(change.record))));
    }
    assert_eq!(stores.billing.billed(&id("sub_2")).await.unwrap().1, None);
}

pub async fn an_organization_is_found_by_its_id_and_by_its_customer(stores: Stores) {
    organization("org_acme").provision(&stores).await;
    organization("org_two").customer("cus_1").provision(&stores).await;
    organization("org_three")
        .customer("cus_2")
        .provision(&stores)
        .await;
    for (text, link) in [("sub_2", "org_acme"), ("sub_1", "org_acme"), ("sub_3", "org_two")] {
        let change = BillingChange {
            record: record(text, Some(link)),
            subscriptions: Vec::new(),
        };
        make(&stores, &change).await;
    }
    let ids = [organization_id("org_acme"), organization_id("org_none")];
    let found = stores
        .billing
        .billed_organizations(&ids, Some(&customer("cus_1")))
        .await
        .unwrap();
    let shown: Vec<_> = found
        .iter()
        .map(|known| {
            let paid_by = known.paid_by.iter().map(|record| record.id.as_str());
            (known.id.as_str(), paid_by.collect::<Vec<_>>())
        })
        .collect();
    assert_eq!(
        shown,
        [("org_acme", vec!["sub_1", "sub_2"]), ("org_two", vec!["sub_3"])]
    );
    assert_eq!(found[1].subscription.customer, Some(customer("cus_1")));
    assert_eq!(
        stores.billing.billed_organizations(&[], None).await,
        Ok(Vec::new())
    );
}

pub async fn a_change_replaces_the_subscription_and_is_recorded(stores: Stores) {
    let acme = organization("org_acme").provision(&stores).await;
    let change = replaced(canceled());
    make(&stores, &change).await;
    assert_eq!(subscription(&stores).await, canceled());
    let (_, _, recorded) = &change.subscriptions[0];
    assert_eq!(activities(&stores, &acme).await, std::slice::from_ref(recorded));
    let snapshot = stores.provisioning.snapshot(&[acme], &[]).await.unwrap();
    assert_eq!(snapshot.organizations[0].name, "Organization org_acme");
}

pub async fn a_change_under_another_revision_changes_nothing(stores: Stores) {
    let acme = organization("org_acme").provision(&stores).await;
    let before = revision(&stores).await;
    organization("org_other").provision(&stores).await;
    let refused = stores.billing.commit_billing(before, &replaced(canceled())).await;
    assert_eq!(refused, Ok(false));
    assert!(subscription(&stores).await.is_active());
    assert_eq!(stores.billing.billed(&id("sub_1")).await.unwrap().1, None);
    assert_eq!(activities(&stores, &acme).await, []);
}

pub async fn of_many_changes_on_one_state_one_is_made(stores: Stores) {
    let acme = organization("org_acme").provision(&stores).await;
    let before = revision(&stores).await;
    let answers = at_once(8, |_| {
        let billing = stores.billing.clone();
        async move { billing.commit_billing(before, &replaced(canceled())).await }
    })
    .await;
    assert_eq!(how_many(&answers, &Ok(true)), 1);
    assert_eq!(how_many(&answers, &Ok(false)), 7);
    assert_eq!(activities(&stores, &acme).await.len(), 1);
}

pub async fn a_change_raises_the_revision(stores: Stores) {
    organization("org_acme").provision(&stores).await;
    let before = revision(&stores).await;
    make(&stores, &replaced(canceled())).await;
    assert!(
        revision(&stores).await.0 > before.0,
        "a plan of before is made anew"
    );
}

pub async fn a_change_of_the_period_counts_anew(stores: Stores) {
    let acme = organization("org_acme")
        .limit(1)
        .period(at(0), at(1_000))
        .campaign(campaign("camp"));
    let world = World::with(stores, acme.clone()).await;
    let leads = world.new_leads(2, at(0)).await;
    world.bid(&leads[0], at(10)).await;
    let renewed = acme.period(at(500), at(1_500)).0.subscription;
    make(&world.stores, &replaced(renewed)).await;
    world.bid(&leads[1], at(600)).await;
}

pub async fn the_end_of_a_subscription_is_told_to_the_next_look_up_of_a_key(stores: Stores) {
    organization("org_acme").key("key_1", 1).provision(&stores).await;
    let (_, hash) = key("org_acme", "key_1", 1, at(0));
    make(&stores, &replaced(canceled())).await;
    let found = stores.api_keys.find(&hash).await.unwrap().unwrap();
    assert!(!found.works_at(at(1)));
}

pub async fn a_removed_organizations_subscriptions_are_erased(stores: Stores) {
    let acme = organization("org_acme").provision(&stores).await;
    make(&stores, &replaced(canceled())).await;
    commit(&stores, &[ProvisioningChange::RemoveOrganization(acme.clone())]).await;
    let (erasure, me) = (&stores.erasure, LeaseOwner::new("me"));
    let until = at(600).plus(Duration::from_secs(60));
    assert_eq!(erasure.claim_erasure(&acme, &me, at(600), until).await, Ok(true));
    while erasure.erase(&acme, &me, 10).await.unwrap() != Some(0) {}
    assert_eq!(erasure.finish_erasure(&acme, &me).await, Ok(true));
    assert_eq!(stores.billing.billed(&id("sub_1")).await.unwrap().1, None);
}
