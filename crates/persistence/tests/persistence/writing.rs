//! What holds for every command: it is whole, it survives its caller, and others may write at the same time.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::Duration;

use bidloop_domain::model::{Activity, ActivityId, ActivityKind, ActivityQuery};
use bidloop_persistence::Database;
use bidloop_port_contracts::fixture::{activity, at, organization_id};
use futures::FutureExt as _;
use uuid::Uuid;

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    a_command_whose_caller_is_gone_is_carried_out_whole,
    two_processes_write_at_the_same_time,
);

fn entry(number: u128) -> Activity {
    Activity {
        id: ActivityId(Uuid::from_u128(number)),
        ..activity(&organization_id("org_a"), ActivityKind::Bid, "accepted", at(0))
    }
}

async fn count(database: &Database) -> usize {
    let query = ActivityQuery {
        limit: 10_000,
        ..ActivityQuery::default()
    };
    database.activities().list(&query).await.unwrap().len()
}

async fn a_command_whose_caller_is_gone_is_carried_out_whole(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let activities = bed.database.activities();
    for number in 0..50 {
        let abandoned = entry(number);
        let record = activities.record(&abandoned);
        // Polled once, so that it is under way, and dropped.
        assert!(record.now_or_never().is_none_or(|done| done.is_ok()));
    }
    let all_there = async {
        while count(&bed.database).await < 50 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_there)
        .await
        .unwrap();
    // And nothing is broken or left open by it.
    activities.record(&entry(50)).await.unwrap();
    assert_eq!(count(&bed.database).await, 51);
    bed
}

async fn two_processes_write_at_the_same_time(bed: TestDatabase) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    let other = bed.reopened();
    let writers = [(bed.database.clone(), 0), (other, 1000)]
        .into_iter()
        .flat_map(|(database, from)| {
            (0..4_u128).map(move |task| {
                let activities = database.activities();
                tokio::spawn(async move {
                    for number in 0..50 {
                        activities
                            .record(&entry(from + task * 100 + number))
                            .await
                            .unwrap();
                    }
                })
            })
        });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    assert_eq!(count(&bed.database).await, 400);
    bed
}
