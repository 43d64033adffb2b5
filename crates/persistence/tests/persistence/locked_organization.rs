//! An organization whose rows another transaction holds makes no other organization wait (PostgreSQL).

use std::time::Duration;

use bidloop_domain::model::{
    Actor, Authorization, EndpointId, EventId, EventPayload, Lead, LeadStatus, NewEvent,
};
use bidloop_domain::port::{AcceptBid, BeginTry, LeaseOwner, NewTry, StoreError, TriedReceivers};
use bidloop_port_contracts::fixture::{World, at, campaign, clock_at, fresh_uuid, organization, seconds};
use futures::future::join_all;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

/// Enough for each lane to have some.
const BYSTANDERS: usize = 12;

async fn world(bed: &TestDatabase, name: &str) -> World {
    let builder = organization(name)
        .limit(100)
        .campaign(campaign("camp"))
        .campaign(campaign("paused").paused());
    World::with(stores(&bed.database), builder).await
}

async fn leads(world: &World, prefix: &str, count: usize) -> Vec<Lead> {
    let mut leads = Vec::new();
    for number in 0..count {
        leads.push(world.new_lead(&format!("{prefix}_{number}"), at(0)).await);
    }
    leads
}

/// A Trigger, or a Test of one endpoint.
async fn begin_try(world: &World, lead: &Lead, only: Option<&EndpointId>) -> Result<BeginTry, StoreError> {
    let event = NewEvent {
        id: EventId(fresh_uuid()),
        organization_id: lead.organization_id.clone(),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
        payload: EventPayload::JobNew,
        trace_parent: None,
    };
    let new = NewTry {
        event: &event,
        job: &lead.job_id,
        to: only.map_or(TriedReceivers::All, TriedReceivers::One),
        by: &Actor::command("test"),
    };
    let (owner, clock) = (LeaseOwner::new("console"), clock_at(at(3)));
    let deliveries = &world.stores.deliveries;
    let subscription = Authorization::Subscription;
    deliveries
        .begin_try(&subscription, new, &owner, &clock, seconds(14))
        .await
}

#[tokio::test]
async fn first_listings_triggers_and_tests_of_a_locked_organization_make_nobody_elses_wait() {
    let bed = TestDatabase::postgres().await;
    let (hot, bystander) = (world(&bed, "org_hot").await, world(&bed, "org_cool").await);
    let hot_leads = leads(&hot, "tried", 20).await;
    let known = leads(&bystander, "known", 2).await;
    let [hot_list, list] = [&hot, &bystander].map(|world| world.campaign("paused"));
    for world in [&hot_list, &list] {
        let jobs = (0..20).map(|number| world.job(&format!("{}_{number}", world.organization), at(1)));
        world.ingest(at(1), jobs.collect()).await;
    }
    let other = connect(&bed.url()).await;
    other
        .batch_execute(
            "BEGIN; SELECT FROM campaigns WHERE organization_id = 'org_hot' FOR UPDATE; \
             SELECT FROM organizations WHERE id = 'org_hot' FOR UPDATE",
        )
        .await
        .unwrap();
    let endpoint = EndpointId::parse("wh_all").unwrap();
    let held_up: Vec<_> = (0..20)
        .flat_map(|number| {
            let (hot, lead, endpoint) = (hot.clone(), hot_leads[number].clone(), endpoint.clone());
            let listing = hot_list.clone();
            let tries = tokio::spawn(async move {
                let only = (number % 2 == 0).then_some(&endpoint);
                begin_try(&hot, &lead, only).await.unwrap();
            });
            let lists = tokio::spawn(async move {
                listing.list(number as u64, 1).await;
            });
            [tries, lists]
        })
        .collect();
    let others = async {
        assert_eq!(list.list(0, 20).await.leads.len(), 20, "a first listing");
        assert_eq!(bystander.try_bid(&known[0], at(3)).await, AcceptBid::Accepted);
        let begun = begin_try(&bystander, &known[1], None).await;
        assert!(matches!(begun, Ok(BeginTry::Begun(_))), "{begun:?}");
    };
    // A request waits 5 s for a connection.
    tokio::time::timeout(Duration::from_secs(4), others)
        .await
        .unwrap();
    assert!(held_up.iter().all(|request| !request.is_finished()));
    other.batch_execute("ROLLBACK").await.unwrap();
    for request in held_up {
        request.await.unwrap();
    }
    bed.close().await;
}

#[tokio::test]
async fn bids_on_a_locked_organization_make_nobody_elses_wait() {
    let bed = TestDatabase::postgres().await;
    let hot = world(&bed, "org_hot").await;
    let mut bystanders = Vec::new();
    for number in 0..BYSTANDERS {
        let name = format!("org_{number}");
        let world = world(&bed, &name).await;
        let leads = leads(&world, &name, 3).await;
        bystanders.push((world, leads));
    }
    let leads = leads(&hot, "org_hot", 30).await;
    // The first bid of each makes the quota's row.
    assert_eq!(hot.try_bid(&leads[0], at(1)).await, AcceptBid::Accepted);
    for (world, leads) in &bystanders {
        assert_eq!(world.try_bid(&leads[0], at(1)).await, AcceptBid::Accepted);
    }
    let other = connect(&bed.url()).await;
    other
        .batch_execute("BEGIN; SELECT FROM quota_usage WHERE organization_id = 'org_hot' FOR UPDATE")
        .await
        .unwrap();
    let held_up: Vec<_> = (1..leads.len())
        .map(|number| {
            let (hot, lead) = (hot.clone(), leads[number].clone());
            tokio::spawn(async move { hot.try_bid(&lead, at(2)).await })
        })
        .collect();
    for number in 1..3 {
        let bids = bystanders
            .iter()
            .map(|(world, leads)| world.try_bid(&leads[number], at(2)));
        let accepted = tokio::time::timeout(Duration::from_secs(10), join_all(bids)).await;
        assert_eq!(accepted.unwrap(), vec![AcceptBid::Accepted; BYSTANDERS]);
    }
    assert!(held_up.iter().all(|bid| !bid.is_finished()));
    other.batch_execute("ROLLBACK").await.unwrap();
    for bid in join_all(held_up).await {
        assert_eq!(bid.unwrap(), AcceptBid::Accepted);
    }
    assert_eq!(hot.status(&leads[29]).await, LeadStatus::Queued);
    bed.close().await;
}
