//! An organization whose rows another transaction holds makes no other organization wait (PostgreSQL).

use std::time::Duration;

use bidloop_domain::model::{Lead, LeadStatus};
use bidloop_domain::port::AcceptBid;
use bidloop_port_contracts::fixture::{World, at, campaign, organization};
use futures::future::join_all;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

/// Enough for each lane to have some.
const BYSTANDERS: usize = 12;

async fn world(bed: &TestDatabase, name: &str) -> World {
    let builder = organization(name).limit(100).campaign(campaign("camp"));
    World::with(stores(&bed.database), builder).await
}

async fn leads(world: &World, prefix: &str, count: usize) -> Vec<Lead> {
    let mut leads = Vec::new();
    for number in 0..count {
        leads.push(world.new_lead(&format!("{prefix}_{number}"), at(0)).await);
    }
    leads
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
