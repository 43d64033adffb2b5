//! What follows in the Activity record.

use std::sync::Arc;

use bidloop_domain::model::{Activity, ActivityKind, ActivityQuery};
use bidloop_domain::port::ActivityStore;
use bidloop_domain::use_case::FollowActivity;
use bidloop_port_contracts::fixture::{activity, at};

use crate::service::Service;

async fn record(service: &Service, second: i64) -> Activity {
    let entry = activity(
        &Service::organization(),
        ActivityKind::Upload,
        "accepted",
        at(second),
    );
    service.store.record(&entry).await.unwrap();
    entry
}

async fn follow(service: &Service, limit: u32) -> (FollowActivity, Vec<Activity>) {
    let query = ActivityQuery {
        limit,
        ..ActivityQuery::default()
    };
    let store: Arc<dyn ActivityStore> = service.store.clone();
    FollowActivity::start(store, &query).await.unwrap()
}

async fn rest(follow: &mut FollowActivity) -> Vec<Activity> {
    let mut all = Vec::new();
    loop {
        let some = follow.next().await.unwrap();
        if some.is_empty() {
            return all;
        }
        all.extend(some);
    }
}

#[tokio::test]
async fn the_start_shows_the_newest_entries_and_then_each_new_one_once_oldest_first() {
    let service = Service::new().await;
    let mut before = Vec::new();
    for second in 0..5 {
        before.push(record(&service, second).await);
    }
    let (mut followed, shown) = follow(&service, 2).await;
    assert_eq!(shown, before[3..]);
    assert_eq!(rest(&mut followed).await, []);
    let late = record(&service, 8).await;
    let later = record(&service, 30).await;
    assert_eq!(rest(&mut followed).await, [late, later]);
    assert_eq!(rest(&mut followed).await, []);
}

#[tokio::test]
async fn an_entry_that_becomes_visible_after_a_newer_one_is_not_lost() {
    let service = Service::new().await;
    record(&service, 100).await;
    let (mut followed, shown) = follow(&service, 0).await;
    assert_eq!(shown, []);
    let slow = record(&service, 95).await;
    assert_eq!(rest(&mut followed).await, [slow]);
    let next = record(&service, 104).await;
    let slow = record(&service, 99).await;
    assert_eq!(rest(&mut followed).await, [slow, next]);
    assert_eq!(rest(&mut followed).await, []);
}

#[tokio::test]
async fn a_record_that_was_empty_is_followed_from_its_first_entry_and_pages_lose_nothing() {
    let service = Service::new().await;
    let (mut followed, shown) = follow(&service, 10).await;
    assert_eq!(shown, []);
    assert_eq!(rest(&mut followed).await, []);
    let mut recorded = Vec::new();
    for number in 0..1_203 {
        recorded.push(record(&service, number / 300).await);
    }
    let mut read = rest(&mut followed).await;
    assert!(read.is_sorted_by_key(|entry| entry.at), "oldest first");
    read.sort_by_key(|entry| (entry.at, entry.id));
    recorded.sort_by_key(|entry| (entry.at, entry.id));
    assert_eq!(read, recorded);
    assert_eq!(rest(&mut followed).await, []);
}
