//! The rules of `AutomaticBidStore`: intents to bid by template (decision D3).

use std::collections::BTreeSet;

use bidloop_domain::model::{Activity, ActivityKind, LeadId};
use bidloop_domain::port::{AutomaticBidIntent, LeaseOwner};

use crate::Stores;
use crate::fixture::{World, activities, activity, at, at_once, campaign, organization};

async fn automatic_world(stores: Stores) -> World {
    World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").automatic()),
    )
    .await
}

async fn claim(world: &World, second: i64, limit: u32) -> Vec<AutomaticBidIntent> {
    world
        .stores
        .automatic_bids
        .claim(&LeaseOwner::new("me"), at(second), at(second + 60), limit)
        .await
        .unwrap()
}

fn leads(claimed: &[AutomaticBidIntent]) -> Vec<LeadId> {
    claimed.iter().map(|intent| intent.lead_id.clone()).collect()
}

pub async fn intents_are_claimed_oldest_first(stores: Stores) {
    let world = automatic_world(stores).await;
    let mut expected = Vec::new();
    for (second, id) in [(0, "z"), (1, "a"), (2, "m")] {
        expected.push(world.new_lead(id, at(second)).await.id);
    }
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(3));
    let first = claim(&world, 10, 2).await;
    assert_eq!(leads(&first), expected[..2]);
    assert_eq!(first[0].organization_id, world.organization);
    assert_eq!(first[0].campaign_id, world.campaign);
    assert_eq!(leads(&claim(&world, 10, 2).await), expected[2..]);
}

pub async fn an_intent_under_a_live_lease_is_not_claimed_again(stores: Stores) {
    let world = automatic_world(stores).await;
    world.new_lead("1", at(0)).await;
    assert_eq!(claim(&world, 10, 5).await.len(), 1);
    assert_eq!(claim(&world, 69, 5).await, []);
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(1));
}

pub async fn an_intent_is_claimed_again_once_its_lease_has_ended(stores: Stores) {
    let world = automatic_world(stores).await;
    let lead = world.new_lead("1", at(0)).await;
    claim(&world, 10, 5).await;
    assert_eq!(leads(&claim(&world, 71, 5).await), [lead.id]);
}

async fn settle(world: &World, intent: &AutomaticBidIntent, parked: Option<&Activity>) {
    let settled = world.stores.automatic_bids.complete(intent, parked, at(11)).await;
    settled.unwrap();
}

pub async fn a_settled_intent_is_gone_and_leaves_its_activity(stores: Stores) {
    let world = automatic_world(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    let claimed = claim(&world, 10, 5).await;
    assert_eq!(claimed.len(), leads.len());
    let parked = activity(&world.organization, ActivityKind::Bid, "refused", at(11));
    settle(&world, &claimed[0], Some(&parked)).await;
    settle(&world, &claimed[1], None).await;
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(0));
    assert_eq!(claim(&world, 1000, 5).await, []);
    assert_eq!(activities(&world.stores, &world.organization).await, [parked]);
}

pub async fn settling_again_does_no_harm(stores: Stores) {
    let world = automatic_world(stores).await;
    world.new_leads(2, at(0)).await;
    let claimed = claim(&world, 10, 1).await;
    settle(&world, &claimed[0], None).await;
    settle(&world, &claimed[0], None).await;
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(1));
}

pub async fn claims_at_once_never_give_one_intent_twice(stores: Stores) {
    let world = automatic_world(stores).await;
    world.new_leads(20, at(0)).await;
    let claimed = at_once(10, |number| {
        let world = world.clone();
        async move {
            let owner = format!("owner-{number}");
            let claimed = world
                .stores
                .automatic_bids
                .claim(&LeaseOwner::new(owner), at(100), at(160), 3)
                .await;
            leads(&claimed.unwrap())
        }
    })
    .await;
    let all: Vec<LeadId> = claimed.into_iter().flatten().collect();
    let distinct: BTreeSet<&LeadId> = all.iter().collect();
    assert_eq!(distinct.len(), all.len());
    // What a claim passed over because another held it is there for the next one.
    let rest = claim(&world, 100, 100).await;
    assert_eq!(rest.len() + all.len(), 20);
    assert!(rest.iter().all(|intent| !distinct.contains(&intent.lead_id)));
}
