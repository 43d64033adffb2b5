//! The rules of `StatisticsStore`: what the commands of the other stores count, exactly (decision E9).

use std::time::Duration;

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{
    Connects, Lead, Measure, OrganizationId, StatisticsStep, TimeBucket, Timestamp, VariantArray,
};
use bidloop_domain::port::{
    ClaimedDelivery, CountedSum, CountsQuery, DeliveryOutcome, LeaseOwner, Prunable, PruneCursor,
    WebhookAttempt, WebhookFailure, WebhookFailureKind,
};

use crate::Stores;
use crate::deliveries::end_of;
use crate::fixture::{
    World, at, at_once, campaign, clock_at, organization, refused_bid, seconds, submitted, titled_job,
};

const HOUR: i64 = 60 * 60;

/// All counts of hours, of an organization or of the installation.
fn everything(organization: Option<&OrganizationId>) -> CountsQuery {
    CountsQuery {
        organization_id: organization.cloned(),
        step: StatisticsStep::Hour,
        from: at(-100 * HOUR),
        until: at(100 * HOUR),
        measures: Measure::VARIANTS.to_vec(),
        by_time: None,
        by_campaign: true,
    }
}

/// The sums, which are the same before and after counts are added up.
async fn sums(stores: &Stores, query: &CountsQuery) -> Vec<CountedSum> {
    let sorted = async || {
        let mut sums = stores.statistics.sums(query).await.unwrap();
        sums.sort();
        sums
    };
    let before = sorted().await;
    stores.statistics.add_all_up().await.unwrap();
    assert_eq!(sorted().await, before, "adding up changes no sum");
    before
}

/// All that is counted of an organization, hour by hour.
pub(crate) async fn counted(world: &World) -> Vec<CountedSum> {
    let query = CountsQuery {
        by_time: Some(1),
        ..everything(Some(&world.organization))
    };
    sums(&world.stores, &query).await
}

/// How much is counted of a measure and subject, over campaigns, times and buckets.
pub(crate) async fn count(world: &World, measure: Measure, subject: &str) -> u64 {
    let found = sums(&world.stores, &everything(Some(&world.organization))).await;
    let counted = found
        .iter()
        .filter(|sum| sum.measure == measure && sum.subject == subject);
    counted.map(|sum| sum.count).sum()
}

/// How many deliveries were sent to an endpoint.
pub(crate) async fn sent(world: &World, endpoint: &str) -> u64 {
    let timed = count(world, Measure::EndpointTime, endpoint).await;
    timed + count(world, Measure::EndpointUntimed, endpoint).await
}

/// The only time that is counted of a measure.
async fn time(world: &World, measure: Measure, subject: &str) -> TimeBucket {
    let mut found = sums(&world.stores, &everything(Some(&world.organization))).await;
    found.retain(|sum| sum.measure == measure && sum.subject == subject);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((found[0].count, &found[0].campaign_id), (1, &None));
    found[0].bucket
}

async fn jobs_seen(stores: &Stores) -> u64 {
    let found = sums(stores, &everything(None)).await;
    found.iter().map(|sum| sum.count).sum()
}

fn owner() -> LeaseOwner {
    LeaseOwner::new("sender")
}

fn attempt(failure: Option<WebhookFailureKind>, took: Duration) -> DeliveryOutcome {
    DeliveryOutcome::Attempted(WebhookAttempt {
        failure: failure.map(|kind| WebhookFailure {
            kind,
            message: "it did not work".to_owned(),
        }),
        response_status: None,
        duration: took,
        response_body: String::new(),
    })
}

async fn claim(world: &World, now: Timestamp) -> Vec<ClaimedDelivery> {
    let pending = world.pending().await;
    let deliveries = &world.stores.deliveries;
    let claimed = deliveries
        .claim(&pending, &owner(), &clock_at(now), seconds(14))
        .await
        .unwrap();
    assert_eq!(claimed.len(), pending.len());
    claimed
}

/// Claims all that is pending and ends each with this outcome.
async fn deliver(world: &World, outcome: &DeliveryOutcome, now: Timestamp) {
    for delivery in claim(world, now).await {
        let deliveries = &world.stores.deliveries;
        let end = end_of(&delivery, outcome.clone(), now);
        assert_eq!(deliveries.finish(&end, &owner()).await, Ok(true));
        let again = deliveries.finish(&end, &owner()).await;
        assert_eq!(again, Ok(false), "an end is recorded and counted once");
    }
}

pub async fn new_jobs_and_their_matches_are_counted_once(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .campaign(campaign("rest").paused());
    let world = World::with(stores, acme).await;
    let both = [("org_acme", "camp"), ("org_acme", "rest"), ("org_acme", "gone")];
    let jobs = || {
        vec![
            titled_job("1", at(0), "Rust", &both),
            world.job("2", at(0)),
            titled_job("3", at(0), "Go", &[]),
        ]
    };
    world.ingest(at(10), jobs()).await;
    world.ingest(at(20), jobs()).await;
    world
        .ingest(at(30), vec![titled_job("3", at(0), "Go and Rust", &both)])
        .await;
    assert_eq!(jobs_seen(&world.stores).await, 3);
    assert_eq!(
        count(&world, Measure::Matched, "").await,
        3,
        "changed jobs do not count again"
    );
    assert_eq!(count(&world, Measure::MatchedPaused, "").await, 1);
    let of_campaign = sums(&world.stores, &everything(Some(&world.organization))).await;
    let matched: Vec<(&str, u64)> = of_campaign
        .iter()
        .filter(|sum| sum.measure == Measure::Matched)
        .map(|sum| (sum.campaign_id.as_ref().unwrap().as_str(), sum.count))
        .collect();
    assert_eq!(matched, [("camp", 2), ("rest", 1)]);
}

pub async fn a_page_that_is_not_recorded_counts_nothing(stores: Stores) {
    let world = World::new(stores).await;
    let late = world.page(at(10), vec![world.job("1", at(0))]).await;
    world.ingest(at(10), vec![world.job("2", at(0))]).await;
    let before = jobs_seen(&world.stores).await;
    world.stores.jobs.record_page(&late).await.unwrap();
    assert_eq!(jobs_seen(&world.stores).await, before);
    assert_eq!(count(&world, Measure::Matched, "").await, 1);
}

pub async fn a_lead_is_counted_as_delivered_once_and_each_endpoint_for_itself(stores: Stores) {
    let second = crate::fixture::webhook(
        "wh_2",
        Some("camp"),
        "https://hooks.test/2",
        &[bidloop_domain::model::EventKind::JobNew],
    );
    let world = World::with(
        stores,
        organization("org_acme")
            .campaign(campaign("camp"))
            .webhook(second),
    )
    .await;
    world.new_lead("1", at(0)).await;
    deliver(&world, &attempt(None, Duration::from_millis(80)), at(4)).await;
    assert_eq!(count(&world, Measure::Delivered, "").await, 1);
    assert_eq!(
        time(&world, Measure::DeliveryTime, "").await,
        TimeBucket::of(seconds(4))
    );
    for endpoint in ["wh_all", "wh_2"] {
        assert_eq!(sent(&world, endpoint).await, 1);
        assert_eq!(count(&world, Measure::EndpointFailed, endpoint).await, 0);
        let took = time(&world, Measure::EndpointTime, endpoint).await;
        assert_eq!(took, TimeBucket::of(Duration::from_millis(80)));
    }
}

pub async fn failed_deliveries_are_counted_by_campaign_and_endpoint(stores: Stores) {
    let world = World::new(stores).await;
    world.new_lead("1", at(0)).await;
    deliver(
        &world,
        &attempt(Some(WebhookFailureKind::Timeout), seconds(10)),
        at(15),
    )
    .await;
    world.new_lead("2", at(20)).await;
    // What cannot be written is not sent.
    deliver(&world, &DeliveryOutcome::CorruptPayload("odd".to_owned()), at(25)).await;
    world.new_lead("3", at(30)).await;
    claim(&world, at(31)).await;
    assert_eq!(world.stores.deliveries.interrupt_overdue(at(100)).await, Ok(1));
    assert_eq!(count(&world, Measure::Delivered, "").await, 0);
    assert_eq!(count(&world, Measure::DeliveryFailed, "").await, 3);
    assert_eq!(sent(&world, "wh_all").await, 2);
    assert_eq!(count(&world, Measure::EndpointUntimed, "wh_all").await, 1);
    assert_eq!(count(&world, Measure::EndpointFailed, "wh_all").await, 2);
    assert_eq!(
        time(&world, Measure::EndpointTime, "wh_all").await,
        TimeBucket::of(seconds(10))
    );
}

pub async fn bids_and_their_ends_are_counted_with_connects_and_times(stores: Stores) {
    let world = World::new(stores).await;
    let leads: Vec<Lead> = vec![
        world.new_lead("1", at(0)).await,
        world.new_lead("2", at(50)).await,
    ];
    world
        .bid_to_the_end(&leads[0], submitted("p1", at(2)), at(2))
        .await;
    let refused = refused_bid(ReasonCode::AlreadyHired);
    world.bid_to_the_end(&leads[1], refused, at(50)).await;
    // A bid that is refused is not counted.
    world.try_bid(&leads[0], at(60)).await;
    let expected = submitted("p1", at(2));
    let spent = |connects: Connects| connects.get();
    for (measure, subject, expected) in [
        (Measure::Bid, "", 2),
        (Measure::Ended, "submitted", 1),
        (Measure::Ended, "already_hired", 1),
        (Measure::ConnectsSpent, "acct_1", spent(expected.connects_spent())),
        (Measure::BoostConnects, "", spent(expected.boost_connects())),
        (Measure::BidTime, "", 2),
        (Measure::SubmissionTime, "", 1),
    ] {
        assert_eq!(
            count(&world, measure, subject).await,
            expected,
            "{measure} {subject}"
        );
    }
    assert_eq!(
        time(&world, Measure::SubmissionTime, "").await,
        TimeBucket::of(seconds(2))
    );
}

pub async fn an_intent_counts_as_handed_over_when_it_is_completed(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").automatic()),
    )
    .await;
    world.new_lead("1", at(0)).await;
    assert_eq!(count(&world, Measure::HandedOver, "").await, 0);
    let intents = &world.stores.automatic_bids;
    let claimed = intents.claim(&owner(), at(1), at(20), 5).await.unwrap();
    for _ in 0..2 {
        intents.complete(&claimed[0], None, at(2)).await.unwrap();
    }
    assert_eq!(count(&world, Measure::HandedOver, "").await, 1);
}

pub async fn hours_and_days_are_counted_apart_and_asked_for_by_their_beginning(stores: Stores) {
    let world = World::new(stores).await;
    let hour = StatisticsStep::Hour.start(at(0));
    let next = StatisticsStep::Hour.shifted(hour, 1);
    world.ingest(hour, vec![world.job("1", hour)]).await;
    world
        .ingest(next, vec![world.job("2", next), world.job("3", next)])
        .await;
    let query = |from, until, by_time| CountsQuery {
        from,
        until,
        by_time,
        by_campaign: false,
        measures: vec![Measure::Matched],
        ..everything(Some(&world.organization))
    };
    let told = async |query: CountsQuery| {
        let found = sums(&world.stores, &query).await;
        found.iter().map(|sum| (sum.at, sum.count)).collect::<Vec<_>>()
    };
    assert_eq!(told(query(hour, next, None)).await, [(None, 1)]);
    let later = StatisticsStep::Hour.shifted(hour, 2);
    assert_eq!(
        told(query(hour, later, Some(1))).await,
        [(Some(hour), 1), (Some(next), 2)]
    );
    assert_eq!(told(query(later, at(100 * HOUR), Some(1))).await, []);
    let day = StatisticsStep::Day.start(hour);
    assert_eq!(told(query(hour, later, Some(24))).await, [(Some(day), 3)]);
    let days = CountsQuery {
        step: StatisticsStep::Day,
        ..query(at(-100 * HOUR), at(100 * HOUR), None)
    };
    assert_eq!(told(days).await, [(None, 3)]);
}

pub async fn another_organizations_counts_are_its_own(stores: Stores) {
    let world = World::new(stores).await;
    world.new_lead("1", at(0)).await;
    let two = organization("org_two")
        .campaign(campaign("camp"))
        .provision(&world.stores)
        .await;
    assert_eq!(sums(&world.stores, &everything(Some(&two))).await, []);
}

pub async fn what_happens_at_once_is_counted_in_full(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(16, at(0)).await;
    let claimed = claim(&world, at(5)).await;
    assert_eq!(claimed.len(), leads.len());
    let ended = at_once(16, |number| {
        let (world, delivery) = (world.clone(), claimed[number].clone());
        async move {
            let took = attempt(None, Duration::from_millis(80));
            let deliveries = &world.stores.deliveries;
            deliveries.finish(&end_of(&delivery, took, at(6)), &owner()).await
        }
    })
    .await;
    assert!(ended.iter().all(|ended| *ended == Ok(true)));
    assert_eq!(count(&world, Measure::Delivered, "").await, 16);
    assert_eq!(sent(&world, "wh_all").await, 16);
}

pub async fn old_counts_are_pruned(stores: Stores) {
    let world = World::new(stores).await;
    world.new_lead("1", at(0)).await;
    world.stores.statistics.add_all_up().await.unwrap();
    let retention = &world.stores.retention;
    let before = StatisticsStep::Hour.start(at(0));
    let old = retention
        .count_prunable(Prunable::Statistics, before, 100)
        .await
        .unwrap();
    assert!(old > 0);
    let step = retention
        .prune(Prunable::Statistics, before, &PruneCursor::Start, 100)
        .await;
    assert_eq!(step.unwrap().removed, old);
    assert_eq!(jobs_seen(&world.stores).await, 0);
    assert_eq!(count(&world, Measure::Matched, "").await, 0);
}
