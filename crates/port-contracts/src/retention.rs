//! The rules of `RetentionStore` for what is no list: what is old goes, and outstanding work never does.

use std::time::Duration;

use bidloop_domain::model::{ActivityKind, Timestamp};
use bidloop_domain::port::{LeaseOwner, Prunable, PruneCursor, PruneStep};

use crate::Stores;
use crate::deliveries::{end_of, outcome};
use crate::fixture::{World, activities, activity, at, clock_at, proposal, submitted, titled_job};

/// One step from the beginning.
async fn step(world: &World, kind: Prunable, before: Timestamp, limit: u32) -> PruneStep {
    let retention = &world.stores.retention;
    retention
        .prune(kind, before, &PruneCursor::Start, limit)
        .await
        .unwrap()
}

/// Makes all steps; answers how many rows they removed.
pub(crate) async fn prune(world: &World, kind: Prunable, before: Timestamp, limit: u32) -> u64 {
    let (mut removed, mut from) = (0, PruneCursor::Start);
    loop {
        let retention = &world.stores.retention;
        let step = retention.prune(kind, before, &from, limit).await.unwrap();
        assert!(step.removed <= u64::from(limit), "{step:?}");
        removed += step.removed;
        match step.next {
            Some(next) => from = next,
            None => return removed,
        }
    }
}

async fn record(world: &World, seconds: i64) {
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(seconds));
    world.stores.activities.record(&entry).await.unwrap();
}

async fn moments(world: &World) -> Vec<Timestamp> {
    let entries = activities(&world.stores, &world.organization).await;
    entries.iter().map(|entry| entry.at).collect()
}

pub async fn an_old_activity_entry_is_removed_and_a_younger_one_stays(stores: Stores) {
    let world = World::new(stores).await;
    for seconds in [10, 30, 20] {
        record(&world, seconds).await;
    }
    assert_eq!(prune(&world, Prunable::Activity, at(9), 10).await, 0);
    assert_eq!(prune(&world, Prunable::Activity, at(20), 10).await, 2);
    assert_eq!(moments(&world).await, [at(30)]);
    assert_eq!(prune(&world, Prunable::Activity, at(20), 10).await, 0);
}

pub async fn a_step_removes_no_more_than_asked_for_and_says_where_to_go_on(stores: Stores) {
    let world = World::new(stores).await;
    for seconds in 0..5 {
        record(&world, seconds).await;
    }
    let first = step(&world, Prunable::Activity, at(9), 3).await;
    assert_eq!(first.removed, 3);
    assert!(first.next.is_some());
    assert_eq!(moments(&world).await, [at(4), at(3)], "the oldest go first");
    let second = step(&world, Prunable::Activity, at(9), 3).await;
    assert_eq!((second.removed, second.next), (2, None));
}

async fn deliver(world: &World, seconds: i64) {
    let owner = LeaseOwner::new("sender");
    let deliveries = &world.stores.deliveries;
    let pending = world.pending().await;
    let claimed = deliveries
        .claim(
            &pending[..1],
            &owner,
            &clock_at(at(seconds)),
            Duration::from_secs(20),
        )
        .await
        .unwrap();
    let end = end_of(&claimed[0], outcome(true), at(seconds));
    assert_eq!(deliveries.finish(&end, &owner).await, Ok(true));
}

pub async fn an_ended_delivery_is_removed_and_an_outstanding_one_never(stores: Stores) {
    let world = World::new(stores).await;
    let jobs = (0..4).map(|number| world.job(&number.to_string(), at(number)));
    world.ingest(at(0), jobs.collect()).await;
    deliver(&world, 100).await;
    deliver(&world, 200).await;
    let pending = world.pending().await;
    let owner = LeaseOwner::new("sender");
    let sending = world
        .stores
        .deliveries
        .claim(&pending[..1], &owner, &clock_at(at(10)), Duration::from_secs(20))
        .await
        .unwrap();
    assert_eq!(sending.len(), 1);
    let count = |before| {
        world
            .stores
            .retention
            .count_prunable(Prunable::Deliveries, before, 10)
    };
    assert_eq!(count(at(199)).await, Ok(1));
    assert_eq!(prune(&world, Prunable::Deliveries, at(199), 10).await, 1);
    assert_eq!(prune(&world, Prunable::Deliveries, at(10_000), 10).await, 1);
    assert_eq!(count(at(10_000)).await, Ok(0));
    assert_eq!(world.pending().await, pending[1..]);
    assert_eq!(
        world.stores.deliveries.interrupt_overdue(at(31)).await,
        Ok(1),
        "the one in flight is still known"
    );
}

pub async fn a_removed_delivery_is_not_queued_again(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    deliver(&world, 100).await;
    assert_eq!(prune(&world, Prunable::Deliveries, at(10_000), 10).await, 1);
    let again = titled_job(
        lead.job_id.as_str(),
        at(0),
        "Changed",
        &[(world.organization.as_str(), world.campaign.as_str())],
    );
    world.ingest(at(20_000), vec![again]).await;
    assert!(world.pending().await.is_empty());
}

pub async fn an_ended_bid_loses_its_proposal_and_an_unsettled_one_never(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    let begin = async |place: usize| {
        world.bid(&leads[place], at(10)).await;
        let claimed = world.claim_one("submitter", at(20)).await;
        let decided = proposal(&leads[place].job_id, "A letter.");
        let submissions = &world.stores.submissions;
        let begun = submissions
            .begin_attempt(&world.organization, claimed.bid.id, &claimed.owner, &decided)
            .await;
        assert!(begun.is_ok());
        claimed
    };
    let ended = begin(0).await;
    let end = crate::fixture::finish(&ended.bid, submitted("p_1", at(30)), at(30));
    assert_eq!(
        world.stores.submissions.finish(&end, &ended.owner).await,
        Ok(true)
    );
    begin(1).await;
    let proposals = async || {
        let mut has = Vec::new();
        for lead in &leads {
            let bid = world.context(lead).await.bid.unwrap();
            has.push(bid.proposal.is_some());
        }
        has
    };
    assert_eq!(proposals().await, [true, true]);
    assert_eq!(prune(&world, Prunable::Letters, at(29), 10).await, 0);
    assert_eq!(prune(&world, Prunable::Letters, at(10_000), 10).await, 1);
    assert_eq!(proposals().await, [false, true]);
    assert_eq!(prune(&world, Prunable::Letters, at(10_000), 10).await, 0);
    let kept = world.context(&leads[0]).await;
    assert_eq!(kept.bid.unwrap().proposal_id.as_deref(), Some("p_1"));
}

pub async fn what_would_be_removed_is_counted_and_stays(stores: Stores) {
    let world = World::new(stores).await;
    for seconds in 0..5 {
        record(&world, seconds).await;
    }
    let count = |at_most| {
        let retention = &world.stores.retention;
        retention.count_prunable(Prunable::Activity, at(3), at_most)
    };
    assert_eq!(count(10).await, Ok(4));
    assert_eq!(count(3).await, Ok(3), "counting has an end");
    assert_eq!(moments(&world).await.len(), 5);
}
