//! The rules of `DeliveryStore`: each delivery is sent at most once (decisions C2, C3, C5, C7 and C8).

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{
    ActivityId, ActivityKind, ActivityOutcome, Authorization, DeliveryId, EndpointId, EventKind,
    EventPayload, Measure, NewLead, Timestamp, WebhookSecret,
};
use bidloop_domain::port::{
    ClaimedDelivery, DeliveryEnd, DeliveryFacts, DeliveryOutcome, LeaseOwner, PendingDelivery,
    ProvisioningChange, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookRecord,
};

use crate::Stores;
use crate::fixture::{
    World, activities, activity, at, at_once, campaign, clock_at, commit, ended, organization, seconds,
    submitted, titled_job, webhook,
};
use crate::leads::dry_run_of;
use crate::statistics::{count, sent};

const BOTH: [EventKind; 2] = [EventKind::JobNew, EventKind::BidComplete];

pub(crate) async fn begin(
    world: &World,
    deliveries: &[PendingDelivery],
    owner: &str,
) -> Vec<ClaimedDelivery> {
    world
        .stores
        .deliveries
        .claim(
            deliveries,
            &LeaseOwner::new(owner),
            &clock_at(at(100)),
            seconds(20),
        )
        .await
        .unwrap()
}

/// One pending delivery to `wh_all`.
async fn one_pending(stores: Stores) -> (World, Vec<PendingDelivery>) {
    let (world, _) = World::with_lead(stores).await;
    let pending = world.pending().await;
    assert_eq!(pending.len(), 1);
    (world, pending)
}

pub(crate) fn outcome(delivered: bool) -> DeliveryOutcome {
    let failure = WebhookFailure {
        kind: WebhookFailureKind::UnexpectedStatus,
        message: "500".to_owned(),
    };
    DeliveryOutcome::Attempted(WebhookAttempt {
        failure: (!delivered).then_some(failure),
        response_status: Some(if delivered { 200 } else { 500 }),
        duration: Duration::from_millis(12),
        response_body: "ok".to_owned(),
    })
}

pub(crate) async fn finish(world: &World, begun: &ClaimedDelivery, delivered: bool, owner: &str) -> bool {
    let deliveries = &world.stores.deliveries;
    deliveries
        .finish(&reported_end(begun, delivered), &LeaseOwner::new(owner))
        .await
        .unwrap()
}

/// The end that [`finish`] records.
fn reported_end(begun: &ClaimedDelivery, delivered: bool) -> Arc<DeliveryEnd> {
    end_of(begun, outcome(delivered), at(101))
}

/// The end of a delivery, with the Activity entry that it has.
pub(crate) fn end_of(begun: &ClaimedDelivery, outcome: DeliveryOutcome, at: Timestamp) -> Arc<DeliveryEnd> {
    Arc::new(DeliveryEnd {
        activity: begun.facts().activity(&outcome, at),
        delivery: begun.clone(),
        outcome,
    })
}

/// That the Activity record consists of this delivery's failure for this reason.
async fn assert_failed(world: &World, delivery: DeliveryId, outcome: DeliveryOutcome) {
    let entries = activities(&world.stores, &world.organization).await;
    assert_eq!(entries.len(), 1);
    let lead_id = entries[0].lead_id.clone().unwrap();
    let facts = DeliveryFacts {
        organization_id: &world.organization,
        campaign_id: &world.campaign,
        lead_id: &lead_id,
        id: delivery,
        event: EventKind::JobNew,
        dry_run: false,
        endpoint_id: &webhook("wh_all", None, World::URL, &BOTH).endpoint.id,
        url: World::URL,
        is_test: false,
        sent_by: None,
    };
    assert_eq!(entries[0], facts.activity(&outcome, entries[0].at));
}

pub async fn pending_deliveries_are_listed_oldest_first(stores: Stores) {
    let world = World::new(stores).await;
    let mut expected = Vec::new();
    for (second, id) in [(1, "z"), (2, "a"), (3, "m")] {
        let lead = world.new_lead(id, at(second)).await;
        let event = bidloop_domain::model::EventId::job_new(&lead.id);
        let endpoint = webhook("wh_all", None, World::URL, &BOTH).endpoint.id;
        expected.push(DeliveryId::derive(event, &world.organization, &endpoint));
    }
    let ids: Vec<DeliveryId> = world.pending().await.iter().map(|delivery| delivery.id).collect();
    assert_eq!(ids, expected);
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(3));
}

pub async fn pending_deliveries_are_bounded_for_each_endpoint_and_in_all(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .webhook(webhook("wh_two", None, "https://hooks.test/two", &BOTH));
    let world = World::with(stores, acme).await;
    for second in 1..=4 {
        world.new_lead(&second.to_string(), at(second)).await;
    }
    let count = async |per_endpoint, limit| {
        let pending = world
            .stores
            .deliveries
            .pending(&[], per_endpoint, limit)
            .await
            .unwrap();
        let to_all = pending
            .iter()
            .filter(|delivery| delivery.endpoint_id.as_str() == "wh_all")
            .count();
        (to_all, pending.len() - to_all)
    };
    assert_eq!(count(100, 100).await, (4, 4));
    assert_eq!(count(1, 100).await, (1, 1));
    assert_eq!(count(3, 100).await, (3, 3));
    let (to_all, to_two) = count(100, 5).await;
    assert_eq!(to_all + to_two, 5);
    let oldest = world.pending().await;
    let first = world.stores.deliveries.pending(&[], 1, 100).await.unwrap();
    assert_eq!(
        first.iter().map(|d| d.id).collect::<BTreeSet<_>>(),
        oldest[..2].iter().map(|d| d.id).collect()
    );
}

pub async fn pending_deliveries_to_busy_endpoints_are_left_out(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .webhook(webhook("wh_two", None, "https://hooks.test/two", &BOTH));
    let world = World::with(stores.clone(), acme).await;
    world.new_lead("1", at(1)).await;
    let other = World::with(stores, organization("org_two").campaign(campaign("camp"))).await;
    other.new_lead("2", at(2)).await;
    let busy = (
        world.organization.clone(),
        webhook("wh_all", None, World::URL, &BOTH).endpoint.id,
    );
    let pending = world.stores.deliveries.pending(&[busy], 10, 10).await.unwrap();
    let found: Vec<_> = pending
        .iter()
        .map(|d| (d.organization_id.as_str(), d.endpoint_id.as_str()))
        .collect();
    assert_eq!(found, [("org_acme", "wh_two"), ("org_two", "wh_all")]);
}

pub async fn a_long_queue_of_one_endpoint_hides_no_other(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(40, at(0)).await;
    for endpoint in ["wh_two", "wh_three"] {
        let url = format!("https://hooks.test/{endpoint}");
        put_webhook(&world, webhook(endpoint, None, &url, &[EventKind::JobNew])).await;
    }
    world.new_lead("late_1", at(1)).await;
    world.new_lead("late_2", at(2)).await;
    let all = webhook("wh_all", None, World::URL, &BOTH).endpoint.id;
    let found = async |busy: &[EndpointId], per_endpoint, limit| {
        let busy: Vec<_> = busy
            .iter()
            .map(|endpoint| (world.organization.clone(), endpoint.clone()))
            .collect();
        let deliveries = &world.stores.deliveries;
        let found = deliveries.pending(&busy, per_endpoint, limit).await.unwrap();
        let mut endpoints: Vec<String> = found.iter().map(|d| d.endpoint_id.to_string()).collect();
        endpoints.sort();
        endpoints
    };
    assert_eq!(found(&[], 1, 5).await, ["wh_all", "wh_three", "wh_two"]);
    assert_eq!(
        found(std::slice::from_ref(&all), 2, 5).await,
        ["wh_three", "wh_three", "wh_two", "wh_two"]
    );
    assert_eq!(found(&[all], 2, 3).await.len(), 3);
}

pub async fn a_begun_delivery_is_pending_no_more_and_begun_once(stores: Stores) {
    let (world, pending) = one_pending(stores).await;
    let begun = begin(&world, &pending, "me").await;
    assert_eq!(
        begun.iter().map(|delivery| delivery.id).collect::<Vec<_>>(),
        [pending[0].id]
    );
    assert_eq!(world.pending().await, []);
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    assert!(begin(&world, &pending, "me").await.is_empty());
    assert!(begin(&world, &pending, "other").await.is_empty());
}

pub async fn of_many_beginnings_at_once_each_delivery_is_begun_by_one(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(12, at(0)).await;
    let pending = world.pending().await;
    assert_eq!(pending.len(), 12);
    let begun = at_once(8, |number| {
        let (world, mut pending) = (world.clone(), pending.clone());
        // Each asks for them in an order of its own.
        pending.rotate_left(number);
        async move { begin(&world, &pending, &format!("owner-{number}")).await }
    })
    .await;
    let ids: Vec<DeliveryId> = begun.iter().flatten().map(|delivery| delivery.id).collect();
    assert_eq!(ids.len(), 12);
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 12);
}

pub async fn a_begun_job_new_carries_the_lead_and_the_job_as_they_are_now(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let pending = world.pending().await;
    let changed = titled_job("1", at(0), "Changed", &[("org_acme", "camp")]);
    world.ingest(at(5), vec![changed.clone()]).await;
    let mut renamed = campaign("camp").0;
    renamed.name = "Renamed".to_owned();
    let change = ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(renamed));
    commit(&world.stores, &[change]).await;
    world.bid(&lead, at(6)).await;
    let begun = begin(&world, &pending, "me").await.remove(0);
    assert_eq!(
        (&begun.organization_id, &begun.campaign_id),
        (&world.organization, &world.campaign)
    );
    assert_eq!((begun.id, &begun.lead_id), (pending[0].id, &lead.id));
    assert_eq!(begun.campaign_name.as_deref(), Some("Renamed"));
    assert_eq!((begun.payload, begun.created_at), (EventPayload::JobNew, at(0)));
    assert_eq!(begun.target.endpoint_id, pending[0].endpoint_id);
    let lead = world.context(&lead).await.lead;
    assert_eq!(lead.job_json, changed.json);
    assert_eq!(begun.lead, Some(NewLead::read(lead).unwrap()));
}

pub async fn a_begun_bid_complete_carries_its_data_as_it_was(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    let lead = world.new_lead("1", at(0)).await;
    let bid = world.bid_to_the_end(&lead, submitted("p_1", at(4)), at(5)).await;
    let begun = begin(&world, &world.pending().await, "me").await.remove(0);
    assert_eq!(begun.payload, ended(bid));
    assert_eq!((begun.created_at, begun.lead_id), (at(5), lead.id));
    assert_eq!(begun.lead, None);
    assert_eq!(begun.campaign_name.as_deref(), Some("Campaign camp"));
}

async fn put_webhook(world: &World, webhook: WebhookRecord) {
    commit(
        &world.stores,
        &[ProvisioningChange::PutWebhook(
            world.organization.clone(),
            webhook,
        )],
    )
    .await;
}

pub async fn a_delivery_goes_to_the_endpoints_current_url_signed_with_all_secrets_that_sign_now(
    stores: Stores,
) {
    let world = World::new(stores).await;
    world.new_leads(2, at(0)).await;
    let pending = world.pending().await;
    let (old, new) = (WebhookSecret::generate([1; 32]), WebhookSecret::generate([2; 32]));
    let mut rotated = webhook("wh_all", None, "https://hooks.test/moved", &BOTH);
    rotated.secret = new.clone();
    rotated.previous_secret = Some((old.clone(), at(110)));
    put_webhook(&world, rotated).await;
    let early = begin(&world, &pending[..1], "me").await.remove(0).target;
    assert_eq!(early.url, "https://hooks.test/moved");
    let exposed = |secrets: &[WebhookSecret]| secrets.iter().map(WebhookSecret::expose).collect::<Vec<_>>();
    assert_eq!(exposed(&early.secrets), exposed(&[new.clone(), old]));
    let late = world
        .stores
        .deliveries
        .claim(
            &pending[1..],
            &LeaseOwner::new("me"),
            &clock_at(at(111)),
            seconds(19),
        )
        .await
        .unwrap()
        .remove(0);
    assert_eq!(exposed(&late.target.secrets), exposed(&[new]));
}

pub async fn a_delivery_to_a_removed_or_inactive_endpoint_fails_when_it_is_begun(stores: Stores) {
    let (world, pending) = one_pending(stores).await;
    let mut off = webhook("wh_all", None, World::URL, &BOTH);
    off.endpoint.active = false;
    put_webhook(&world, off).await;
    assert!(begin(&world, &pending, "me").await.is_empty());
    assert_failed(&world, pending[0].id, DeliveryOutcome::EndpointRemoved).await;
    put_webhook(&world, webhook("wh_all", None, World::URL, &BOTH)).await;
    assert_eq!(world.pending().await, []);
    assert!(begin(&world, &pending, "me").await.is_empty());

    world.new_lead("2", at(6)).await;
    let second = world.pending().await;
    let removal =
        ProvisioningChange::RemoveWebhook(world.organization.clone(), second[0].endpoint_id.clone());
    commit(&world.stores, &[removal]).await;
    assert!(begin(&world, &second, "me").await.is_empty());
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    let entries = activities(&world.stores, &world.organization).await;
    let of_second = ActivityId::of_delivery(second[0].id);
    let entry = entries.iter().find(|entry| entry.id == of_second).unwrap();
    assert_eq!(entry.details["url"], "", "no endpoint, no address");
}

pub async fn a_delivery_of_a_removed_campaign_has_no_campaign_name(stores: Stores) {
    let (world, pending) = one_pending(stores).await;
    let removal = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[removal]).await;
    let begun = begin(&world, &pending, "me").await.remove(0);
    assert_eq!(begun.campaign_name, None);
    assert_eq!(begun.lead.unwrap().lead.id, begun.lead_id);
}

pub async fn an_end_is_recorded_once_by_the_one_who_began(stores: Stores) {
    let (world, pending) = one_pending(stores).await;
    let begun = begin(&world, &pending, "me").await.remove(0);
    assert!(!finish(&world, &begun, true, "other").await);
    assert_eq!(activities(&world.stores, &world.organization).await, []);
    assert!(finish(&world, &begun, false, "me").await);
    assert!(!finish(&world, &begun, true, "me").await);
    assert_eq!(
        activities(&world.stores, &world.organization).await,
        [reported_end(&begun, false).activity.clone()]
    );
    assert_eq!(world.pending().await, []);
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(9999)).await, Ok(0));
}

pub async fn ends_at_the_same_time_are_recorded_as_one_after_the_other(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .webhook(webhook("wh_two", None, "https://hooks.test/two", &BOTH));
    let world = World::with(stores, acme).await;
    world.new_leads(20, at(0)).await;
    let begun = begin(&world, &world.pending().await, "me").await;
    assert_eq!(begun.len(), 40);
    let delivered = |place: usize| !place.is_multiple_of(3);
    let reports = begun.iter().enumerate().flat_map(|(place, begun)| {
        [(false, "other"), (delivered(place), "me"), (true, "me")]
            .map(|(delivered, owner)| finish(&world, begun, delivered, owner))
    });
    let recorded = futures::future::join_all(reports).await;
    for (place, reported) in recorded.chunks(3).enumerate() {
        assert_eq!(reported, [false, true, false], "the end of delivery {place}");
    }
    let entries = activities(&world.stores, &world.organization).await;
    assert_eq!(entries.len(), 40);
    for (place, begun) in begun.iter().enumerate() {
        assert!(entries.contains(&reported_end(begun, delivered(place)).activity));
    }
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(9999)).await, Ok(0));
    let told: BTreeSet<_> = begun
        .iter()
        .enumerate()
        .filter(|(place, _)| delivered(*place))
        .map(|(_, begun)| &begun.lead_id)
        .collect();
    assert_eq!(count(&world, Measure::Delivered, "").await, told.len() as u64);
    assert_eq!(count(&world, Measure::DeliveryFailed, "").await, 14);
    assert_eq!(
        (sent(&world, "wh_all").await, sent(&world, "wh_two").await),
        (20, 20)
    );
}

pub async fn what_is_sending_beyond_its_deadline_is_interrupted_and_never_sent_again(stores: Stores) {
    let (world, pending) = one_pending(stores).await;
    let begun = begin(&world, &pending, "me").await.remove(0);
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(121)).await, Ok(1));
    assert_failed(&world, begun.id, DeliveryOutcome::Interrupted).await;
    assert!(
        !finish(&world, &begun, true, "me").await,
        "it is not the owner's any more"
    );
    assert_failed(&world, begun.id, DeliveryOutcome::Interrupted).await;
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(122)).await, Ok(0));
    assert_eq!(world.pending().await, []);
    assert!(begin(&world, &pending, "me").await.is_empty());
}

pub async fn an_interrupted_delivery_of_a_dry_run_is_recorded_as_one(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(7));
    world
        .stores
        .leads
        .record_dry_run(&Authorization::Subscription, &entry, &dry_run_of(&lead))
        .await
        .unwrap();
    let begun = begin(&world, &world.pending().await, "me").await;
    assert_eq!(begun.len(), 2);
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(121)).await, Ok(2));
    let entries = activities(&world.stores, &world.organization).await;
    for delivery in begun {
        let recorded = entries
            .iter()
            .find(|entry| entry.id == ActivityId::of_delivery(delivery.id))
            .unwrap();
        let is_bid_complete = delivery.payload.kind() == EventKind::BidComplete;
        assert_eq!(recorded.dry_run, is_bid_complete);
    }
}

pub async fn what_is_sending_within_its_deadline_is_left_alone(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(2, at(0)).await;
    let pending = world.pending().await;
    let begun = begin(&world, &pending[..1], "me").await.remove(0);
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(119)).await, Ok(0));
    assert_eq!(world.pending().await, pending[1..], "and so is what is not begun");
    assert!(finish(&world, &begun, true, "me").await);
}

pub async fn of_many_recoveries_at_once_each_delivery_is_interrupted_once(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(9, at(0)).await;
    begin(&world, &world.pending().await, "me").await;
    let counts = at_once(6, |_| {
        let world = world.clone();
        async move { world.stores.deliveries.interrupt_overdue(at(200)).await.unwrap() }
    })
    .await;
    assert_eq!(counts.iter().sum::<u64>(), 9);
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 9);
}

pub async fn of_an_end_and_an_interruption_at_once_one_counts(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(6, at(0)).await;
    let begun = begin(&world, &world.pending().await, "me").await;
    let recovery = world.stores.deliveries.interrupt_overdue(at(200));
    let ends = futures::future::join_all(begun.iter().map(|begun| finish(&world, begun, true, "me")));
    let (interrupted, finished) = tokio::join!(recovery, ends);
    let finished = finished.iter().filter(|finished| **finished).count();
    assert_eq!(u64::try_from(finished).unwrap() + interrupted.unwrap(), 6);
    let entries = activities(&world.stores, &world.organization).await;
    assert_eq!(entries.len(), 6);
    assert_eq!(
        entries
            .iter()
            .filter(|entry| entry.outcome == ActivityOutcome::Delivered)
            .count(),
        finished
    );
}

pub async fn a_mark_lasts_from_when_the_store_has_the_delivery(stores: Stores) {
    let (world, pending) = one_pending(stores).await;
    // Asked for at 100, and 14 s later there was no lock in the way any more.
    let begun = world
        .stores
        .deliveries
        .claim(&pending, &LeaseOwner::new("me"), &clock_at(at(114)), seconds(14))
        .await
        .unwrap();
    assert_eq!(begun.len(), 1);
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(128)).await, Ok(0));
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(129)).await, Ok(1));
}
