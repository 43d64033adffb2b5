//! The rules of `DeliveryStore` for what people send at once (decisions C5 and E6).

use bidloop_domain::model::{
    ActivityKind, Actor, ActorKind, Authorization, DeliveryState, EndpointId, EventId, EventKind,
    EventPayload, JobId, Lead, LeadStatus, NewEvent, NewLead, Timestamp,
};
use bidloop_domain::port::{
    BeginTry, ClaimedDelivery, DeliveryOutcome, LeaseOwner, MAX_TRIES, MAX_TRIGGERED, NewTry,
    ProvisioningChange, TriedReceivers,
};

use crate::Stores;
use crate::deliveries::finish;
use crate::fixture::{
    World, activities, activity, at, at_once, campaign, clock_at, commit, ended, fresh_uuid, organization,
    seconds, webhook,
};

const BOTH: [EventKind; 2] = [EventKind::JobNew, EventKind::BidComplete];

/// Who sends what is sent at once.
fn person() -> Actor {
    Actor {
        kind: ActorKind::User,
        id: Some("ada@acme.test".to_owned()),
        name: Some("Ada \u{0} Lovelace".to_owned()),
    }
}

fn endpoint(id: &str) -> EndpointId {
    EndpointId::parse(id).unwrap()
}

pub(crate) fn job_new(lead: &Lead) -> NewEvent {
    NewEvent {
        id: EventId(fresh_uuid()),
        organization_id: lead.organization_id.clone(),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
        payload: EventPayload::JobNew,
        trace_parent: None,
    }
}

pub(crate) async fn begin_try(
    world: &World,
    event: &NewEvent,
    to: TriedReceivers<'_>,
    now: Timestamp,
) -> BeginTry {
    let job = job_of(world, event).await;
    try_match(world, event, &job, to, now).await
}

/// Begins a try of a match, which may be without a record.
pub(crate) async fn try_match(
    world: &World,
    event: &NewEvent,
    job: &JobId,
    to: TriedReceivers<'_>,
    now: Timestamp,
) -> BeginTry {
    let deliveries = &world.stores.deliveries;
    let (owner, clock, by) = (LeaseOwner::new("console"), clock_at(now), person());
    let begun = deliveries.begin_try(
        &Authorization::Subscription,
        NewTry {
            event,
            job,
            to,
            by: &by,
        },
        &owner,
        &clock,
        seconds(14),
    );
    begun.await.unwrap()
}

/// The job of the event's lead, which has a record.
async fn job_of(world: &World, event: &NewEvent) -> JobId {
    let found = world.stores.leads.find_anywhere(&event.lead_id).await.unwrap();
    found.unwrap().lead.lead.job_id
}

async fn begun(
    world: &World,
    event: &NewEvent,
    to: TriedReceivers<'_>,
    now: Timestamp,
) -> Vec<ClaimedDelivery> {
    match begin_try(world, event, to, now).await {
        BeginTry::Begun(begun) => begun,
        other => panic!("not begun: {other:?}"),
    }
}

/// A paused campaign with a lead; nothing was sent of it.
async fn paused(stores: Stores) -> (World, Lead) {
    let acme = organization("org_acme")
        .campaign(campaign("camp").paused())
        .campaign(campaign("other").paused())
        .webhook(webhook("wh_camp", Some("camp"), "https://hooks.test/camp", &BOTH))
        .webhook(webhook(
            "wh_other",
            Some("other"),
            "https://hooks.test/other",
            &BOTH,
        ));
    let world = World::with(stores, acme).await;
    let lead = world.new_lead("1", at(0)).await;
    (world, lead)
}

pub async fn a_triggered_event_is_being_sent_to_every_receiver_and_is_never_pending(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let event = job_new(&lead);
    let sending = begun(&world, &event, TriedReceivers::All, at(100)).await;
    let ids: Vec<&str> = sending
        .iter()
        .map(|one| one.target.endpoint_id.as_str())
        .collect();
    assert_eq!(ids, ["wh_all", "wh_camp"]);
    for delivery in &sending {
        assert_eq!(
            (&delivery.lead_id, &delivery.payload),
            (&lead.id, &EventPayload::JobNew)
        );
        assert_eq!((delivery.created_at, delivery.is_test), (at(100), false));
        assert_eq!(delivery.campaign_name.as_deref(), Some("Campaign camp"));
        let told = NewLead::read(world.context(&lead).await.lead).unwrap();
        assert_eq!(delivery.lead, Some(told));
    }
    assert_eq!(world.pending().await, []);
    assert!(finish(&world, &sending[0], true, "console").await);
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(114)).await, Ok(0));
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(115)).await, Ok(1));
    assert!(!finish(&world, &sending[1], true, "console").await);
    let entries = activities(&world.stores, &world.organization).await;
    assert_eq!(entries.len(), 2);
    let reasons: Vec<_> = entries.iter().map(|entry| entry.details.get("reason")).collect();
    let interrupted = DeliveryOutcome::Interrupted.reason().map(serde_json::Value::from);
    assert!(reasons.contains(&interrupted.as_ref()), "{reasons:?}");
    let ended_later = entries
        .iter()
        .find(|entry| entry.details.get("reason") == interrupted.as_ref());
    assert_eq!(ended_later.unwrap().actor, person());
}

pub async fn a_test_goes_to_its_one_endpoint_be_it_active_or_not(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let mut off = webhook("wh_camp", Some("camp"), "https://hooks.test/camp", &BOTH);
    off.endpoint.active = false;
    let put = ProvisioningChange::PutWebhook(world.organization.clone(), off);
    commit(&world.stores, &[put]).await;
    let camp = endpoint("wh_camp");
    let simulated = NewEvent {
        payload: ended(bidloop_domain::model::BidId(fresh_uuid())),
        ..job_new(&lead)
    };
    for (second, event) in [(100, job_new(&lead)), (101, simulated)] {
        let sending = begun(&world, &event, TriedReceivers::One(&camp), at(second)).await;
        assert_eq!(sending.len(), 1);
        assert_eq!((&sending[0].payload, sending[0].is_test), (&event.payload, true));
        assert_eq!(sending[0].target.endpoint_id, camp);
        assert!(finish(&world, &sending[0], true, "console").await);
    }
    let records = &world.stores.delivery_records;
    let shown = records.of_endpoint(&world.organization, &camp, 20).await.unwrap();
    assert!(
        shown
            .iter()
            .all(|one| one.is_test && one.state == DeliveryState::Delivered)
    );
    assert_eq!(shown.len(), 2);
    let facts = world.stores.overview.facts(&world.organization, at(102)).await;
    let facts = facts.unwrap().unwrap().endpoints;
    assert!(
        facts.iter().all(|one| one.last.is_empty()),
        "a test is no delivery of the endpoint's"
    );
}

pub async fn another_campaigns_or_an_unknown_endpoint_is_not_tested(stores: Stores) {
    let (world, lead) = paused(stores).await;
    for id in ["wh_other", "wh_none"] {
        let tried = begin_try(&world, &job_new(&lead), TriedReceivers::One(&endpoint(id)), at(1)).await;
        assert!(matches!(tried, BeginTry::EndpointUnknown), "{tried:?}");
    }
    let records = &world.stores.delivery_records;
    let (other, none) = (endpoint("wh_other"), endpoint("wh_none"));
    let known = records.endpoint(&world.organization, &other).await.unwrap();
    assert_eq!(known.unwrap().campaign_id.unwrap().as_str(), "other");
    assert_eq!(records.endpoint(&world.organization, &none).await, Ok(None));
}

pub async fn only_a_new_lead_is_triggered_and_any_is_tested_with(stores: Stores) {
    let (world, lead) = paused(stores).await;
    world.bid(&lead, at(1)).await;
    let triggered = begin_try(&world, &job_new(&lead), TriedReceivers::All, at(2)).await;
    assert!(
        matches!(triggered, BeginTry::LeadNotNew(LeadStatus::Queued)),
        "{triggered:?}"
    );
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(9999)).await, Ok(0));
    let all = endpoint("wh_all");
    assert_eq!(
        begun(&world, &job_new(&lead), TriedReceivers::One(&all), at(2))
            .await
            .len(),
        1
    );
    let elsewhere = NewEvent {
        campaign_id: world.campaign("other").campaign,
        ..job_new(&lead)
    };
    let tried = begin_try(&world, &elsewhere, TriedReceivers::One(&all), at(2)).await;
    assert!(matches!(tried, BeginTry::LeadUnknown), "{tried:?}");
}

pub async fn an_endpoint_takes_ten_tries_a_minute(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let (all, camp) = (endpoint("wh_all"), endpoint("wh_camp"));
    for second in 0..i64::from(MAX_TRIES) {
        let to = if second % 2 == 0 {
            TriedReceivers::One(&camp)
        } else {
            TriedReceivers::All
        };
        begun(&world, &job_new(&lead), to, at(second)).await;
    }
    for to in [TriedReceivers::One(&camp), TriedReceivers::All] {
        match begin_try(&world, &job_new(&lead), to, at(59)).await {
            BeginTry::TooManyTries { endpoint, again_at } => {
                assert_eq!((endpoint, again_at), (camp.clone(), at(60)));
            }
            other => panic!("{other:?}"),
        }
    }
    // The other receiver had five, and a refused try counts for nobody.
    begun(&world, &job_new(&lead), TriedReceivers::One(&all), at(59)).await;
    begun(&world, &job_new(&lead), TriedReceivers::One(&camp), at(60)).await;
    let tried = begin_try(&world, &job_new(&lead), TriedReceivers::One(&camp), at(60)).await;
    assert!(
        matches!(tried, BeginTry::TooManyTries { again_at, .. } if again_at == at(61)),
        "{tried:?}"
    );
}

pub async fn of_many_tries_at_once_ten_are_begun(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let answers = at_once(16, |_| {
        let (world, event) = (world.clone(), job_new(&lead));
        async move { begin_try(&world, &event, TriedReceivers::One(&endpoint("wh_all")), at(5)).await }
    })
    .await;
    let begun = answers
        .iter()
        .filter(|answer| matches!(answer, BeginTry::Begun(_)))
        .count();
    assert_eq!(begun, MAX_TRIES as usize);
    assert_eq!(
        world.stores.deliveries.interrupt_overdue(at(100)).await,
        Ok(u64::from(MAX_TRIES))
    );
}

pub async fn an_endpoint_made_anew_has_no_tries(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let camp = endpoint("wh_camp");
    for _ in 0..MAX_TRIES {
        begun(&world, &job_new(&lead), TriedReceivers::One(&camp), at(1)).await;
    }
    let anew = webhook("wh_camp", Some("camp"), "https://hooks.test/camp", &BOTH);
    let organization = &world.organization;
    let removed = ProvisioningChange::RemoveWebhook(organization.clone(), camp.clone());
    commit(
        &world.stores,
        &[
            removed,
            ProvisioningChange::PutWebhook(organization.clone(), anew),
        ],
    )
    .await;
    begun(&world, &job_new(&lead), TriedReceivers::One(&camp), at(2)).await;
}

pub async fn an_event_with_too_many_receivers_is_not_triggered(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let many = (0..MAX_TRIGGERED).map(|number| {
        let url = format!("https://hooks.test/{number}");
        let webhook = webhook(&format!("wh_{number}"), None, &url, &BOTH);
        ProvisioningChange::PutWebhook(world.organization.clone(), webhook)
    });
    let many: Vec<ProvisioningChange> = many.collect();
    commit(&world.stores, &many).await;
    let tried = begin_try(&world, &job_new(&lead), TriedReceivers::All, at(1)).await;
    assert!(matches!(tried, BeginTry::TooManyReceivers), "{tried:?}");
}

pub async fn another_organizations_lead_and_endpoints_are_not_tried(stores: Stores) {
    let (world, lead) = paused(stores).await;
    let other = organization("org_other").campaign(campaign("camp"));
    let other = World::with(world.stores.clone(), other).await;
    let foreign = NewEvent {
        organization_id: other.organization.clone(),
        ..job_new(&lead)
    };
    let tried = begin_try(&world, &foreign, TriedReceivers::All, at(1)).await;
    assert!(matches!(tried, BeginTry::LeadUnknown), "{tried:?}");
    let others = other.new_lead("2", at(0)).await;
    let camp = endpoint("wh_camp");
    let tried = begin_try(&world, &job_new(&others), TriedReceivers::One(&camp), at(1)).await;
    assert!(matches!(tried, BeginTry::EndpointUnknown), "{tried:?}");
    let records = &world.stores.delivery_records;
    assert_eq!(records.endpoint(&other.organization, &camp).await, Ok(None));
    let entry = activity(&other.organization, ActivityKind::Submission, "new", at(1));
    let reopened = world.stores.leads.reopen_as(
        &Authorization::Subscription,
        &other.organization,
        &lead.id,
        &entry,
    );
    assert_eq!(reopened.await, Ok(bidloop_domain::port::ReopenLead::LeadUnknown));
}

pub async fn the_newest_lead_or_else_the_newest_match_is_found(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp").paused())
        .campaign(campaign("other").paused());
    let world = World::with(stores, acme).await;
    let feed = world.stores.campaign_feed.clone();
    let newest = async |scope: Option<&World>| {
        let scope = scope.map(|world| &world.campaign);
        let found = feed.newest(&world.organization, scope).await.unwrap();
        (
            found.lead.map(|(campaign, lead)| (campaign.to_string(), lead)),
            found
                .matched
                .map(|(campaign, job)| (campaign.to_string(), job.to_string())),
        )
    };
    assert_eq!(newest(None).await, (None, None));
    let other = world.campaign("other");
    world.ingest(at(1), vec![world.job("1", at(1))]).await;
    world.ingest(at(2), vec![other.job("2", at(2))]).await;
    let named = |campaign: &str, job: &str| Some((campaign.to_owned(), job.to_owned()));
    assert_eq!(newest(None).await, (None, named("other", "2")));
    assert_eq!(newest(Some(&world)).await, (None, named("camp", "1")));
    // Listing makes them leads.
    let lead = world.list(0, 1).await.leads.remove(0).id;
    let found = Some(("camp".to_owned(), lead));
    assert_eq!(newest(None).await, (found.clone(), None));
    assert_eq!(newest(Some(&other)).await, (None, named("other", "2")));
    let newer = other.list(0, 1).await.leads.remove(0).id;
    assert_eq!(newest(None).await, (Some(("other".to_owned(), newer)), None));
    assert_eq!(newest(Some(&world)).await, (found, None));
    let foreign = feed
        .newest(&crate::fixture::organization_id("org_other"), None)
        .await
        .unwrap();
    assert_eq!(foreign, bidloop_domain::port::Newest::default());
}
