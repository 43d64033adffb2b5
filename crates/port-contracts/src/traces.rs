//! The rules for the trace that a bid and what follows from it belong to.

use bidloop_domain::model::{ActivityKind, Authorization, NewBid, NewEvent, TraceParent};
use bidloop_domain::port::{AcceptBid, BeginTry, ClaimedDelivery, LeaseOwner, TriedReceivers};

use futures::future::join_all;

use crate::Stores;
use crate::endpoint_tries::{begin_try, job_new};
use crate::fixture::{
    World, activity, at, bid, campaign, clock_at, finish, organization, seconds, submitted,
};
use crate::leads::dry_run_of;

fn trace(number: u64) -> TraceParent {
    let id = u128::from(number) << 100 | 7;
    TraceParent::new(id, number, number.is_multiple_of(2)).expect("ids that are not zero")
}

async fn accept(world: &World, bid: &NewBid) {
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", bid.queued_at);
    let leads = &world.stores.leads;
    let accepted = leads.accept_bid(&Authorization::Subscription, bid, &entry).await;
    assert_eq!(accepted, Ok(AcceptBid::Accepted));
}

async fn claim_deliveries(world: &World, second: i64) -> Vec<ClaimedDelivery> {
    let (pending, owner, clock) = (
        world.pending().await,
        LeaseOwner::new("dispatcher"),
        clock_at(at(second)),
    );
    let deliveries = &world.stores.deliveries;
    let claimed = deliveries.claim(&pending, &owner, &clock, seconds(10)).await;
    claimed.unwrap()
}

pub async fn a_queued_bid_keeps_its_trace_and_its_event_brings_it_to_the_receiver(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    claim_deliveries(&world, 1).await;
    let mut new = bid(&lead, at(1));
    new.trace_parent = Some(trace(1));
    accept(&world, &new).await;
    let claimed = world.claim_one("me", at(2)).await;
    assert_eq!(claimed.bid.trace_parent, Some(trace(1)));
    let mut end = finish(&claimed.bid, submitted("p1", at(3)), at(3));
    assert_eq!(end.event.trace_parent, Some(trace(1)));
    end.event.trace_parent = Some(trace(2));
    let ended = world.stores.submissions.finish(&end, &claimed.owner).await;
    assert_eq!(ended, Ok(true));
    let sent = claim_deliveries(&world, 4).await;
    assert!(!sent.is_empty());
    for delivery in sent {
        assert_eq!(delivery.trace_parent, Some(trace(2)), "that of the event");
    }
}

pub async fn bids_that_are_accepted_at_once_keep_each_its_own_trace_or_none(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(7, at(0)).await;
    // The bids of a period are counted with its first one: until then each goes alone.
    world
        .bid_to_the_end(&leads[0], submitted("p0", at(1)), at(1))
        .await;
    let bids: Vec<NewBid> = (0..)
        .zip(&leads[1..])
        .map(|(number, lead)| NewBid {
            trace_parent: (number % 3 > 0).then(|| trace(number)),
            ..bid(lead, at(10))
        })
        .collect();
    join_all(bids.iter().map(|bid| accept(&world, bid))).await;
    for _ in &bids {
        let claimed = world.claim_one("me", at(20)).await;
        let accepted = bids.iter().find(|bid| bid.id == claimed.bid.id).unwrap();
        assert_eq!(claimed.bid.trace_parent, accepted.trace_parent);
        let end = finish(&claimed.bid, submitted("p1", at(21)), at(21));
        let ended = world.stores.submissions.finish(&end, &claimed.owner).await;
        assert_eq!(ended, Ok(true));
    }
}

pub async fn the_delivery_of_a_dry_run_has_its_trace(stores: Stores) {
    let paused = organization("org_acme").campaign(campaign("camp").paused());
    let world = World::with(stores, paused).await;
    let lead = world.new_lead("1", at(0)).await;
    for (number, trace_parent) in [(1, Some(trace(1))), (2, None)] {
        let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(number));
        let event = NewEvent {
            trace_parent,
            ..dry_run_of(&lead)
        };
        let leads = &world.stores.leads;
        let recorded = leads.record_dry_run(&Authorization::Subscription, &entry, &event);
        recorded.await.unwrap();
        let sent = claim_deliveries(&world, number).await;
        assert_eq!(sent.len(), 1);
        assert_eq!(sent[0].trace_parent, trace_parent);
    }
}

pub async fn a_try_has_the_trace_of_its_event(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let event = NewEvent {
        trace_parent: Some(trace(1)),
        ..job_new(&lead)
    };
    let begun = begin_try(&world, &event, TriedReceivers::All, at(1)).await;
    let BeginTry::Begun(begun) = begun else {
        panic!("{begun:?}")
    };
    assert!(!begun.is_empty());
    for delivery in begun {
        assert_eq!(delivery.trace_parent, Some(trace(1)));
    }
}
