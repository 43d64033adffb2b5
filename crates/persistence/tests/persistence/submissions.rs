//! Ends of bids that arrive at the same time share a transaction (PostgreSQL).

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use bidloop_domain::port::{ClaimedBid, LeaseOwner, StoreError};
use bidloop_port_contracts::fixture::{World, at, campaign, finish, organization, submitted};
use futures::future::join_all;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

/// Claimed bids of organizations with these names.
async fn claimed(bed: &TestDatabase, names: &[&str]) -> (World, Vec<ClaimedBid>) {
    let mut last = None;
    for name in names {
        let builder = organization(name).campaign(campaign("camp"));
        let world = World::with(stores(&bed.database), builder).await;
        let lead = world.new_lead(name, at(0)).await;
        world.bid(&lead, at(1)).await;
        last = Some(world);
    }
    let world = last.unwrap();
    let claimed = world.claim("me", at(2)).await;
    assert_eq!(claimed.len(), names.len());
    (world, claimed)
}

async fn end(world: &World, claimed: &ClaimedBid) -> Result<bool, StoreError> {
    let end = finish(&claimed.bid, submitted("p_1", at(3)), at(3));
    let submissions = &world.stores.submissions;
    submissions.finish(&end, &LeaseOwner::new("me")).await
}

#[tokio::test]
async fn ends_of_bids_that_arrive_at_the_same_time_share_a_transaction() {
    let bed = TestDatabase::postgres().await;
    let (world, claimed) = claimed(&bed, &["org_1", "org_2", "org_3", "org_4"]).await;
    let ended = join_all(claimed.iter().map(|claimed| end(&world, claimed))).await;
    assert_eq!(ended, vec![Ok(true); 4]);
    // On this runtime of one thread they all wait before the first of them is begun.
    let transactions = bed
        .number("SELECT count(DISTINCT xmin::text) FROM bids WHERE status = 'submitted'")
        .await;
    assert_eq!(transactions, 1);
    bed.close().await;
}

#[tokio::test]
async fn an_end_whose_lead_is_locked_makes_no_other_end_wait() {
    let bed = TestDatabase::postgres().await;
    let (world, claimed) = claimed(&bed, &["org_hot", "org_2", "org_3"]).await;
    let other = connect(&bed.url()).await;
    other
        .batch_execute("BEGIN; SELECT FROM leads WHERE organization_id = 'org_hot' FOR UPDATE")
        .await
        .unwrap();
    let (hot, cool): (Vec<_>, Vec<_>) = claimed
        .into_iter()
        .partition(|claimed| claimed.bid.organization_id.as_str() == "org_hot");
    let held_up = tokio::spawn({
        let (world, hot) = (world.clone(), hot[0].clone());
        async move { end(&world, &hot).await }
    });
    let ends = join_all(cool.iter().map(|claimed| end(&world, claimed)));
    let ended = tokio::time::timeout(Duration::from_secs(4), ends).await;
    assert_eq!(ended.unwrap(), vec![Ok(true); 2]);
    assert!(!held_up.is_finished());
    other.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(held_up.await.unwrap(), Ok(true));
    bed.close().await;
}
