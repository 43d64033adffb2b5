//! What happens on PostgreSQL while a transaction waits for a lock that another session holds: nothing else waits with it.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::future::Future;
use std::time::Duration;

use bidloop_domain::model::{ActivityKind, Authorization, Lead, LeadStatus};
use bidloop_domain::port::{AcceptBid, AddAttachments, RecordPage, StoreError, SwitchMatches};
use bidloop_persistence::{Database, DatabaseSettings};
use bidloop_port_contracts::fixture::{World, activity, at, bid, campaign, commit, job, organization};
use tokio_postgres::Client;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

/// Much less than the five seconds for which a request waits for a connection.
const QUICKLY: Duration = Duration::from_secs(3);

async fn quickly<T>(what: impl Future<Output = T>) -> T {
    tokio::time::timeout(QUICKLY, what).await.unwrap()
}

/// A session of somebody else's that holds locks until it is dropped.
async fn holding(bed: &TestDatabase, locks: &str) -> Client {
    let session = connect(&bed.url()).await;
    session.batch_execute(&format!("BEGIN; {locks}")).await.unwrap();
    session
}

/// Returns once so many sessions of the database wait for a lock.
async fn until_some_wait(bed: &TestDatabase, count: i64) {
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND wait_event_type = 'Lock'";
    let all_wait = async {
        while bed.number(waiting).await < count {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all_wait)
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provisioning_does_not_wait_for_a_page_that_waits_for_the_feeds_position() {
    let bed = TestDatabase::postgres().await;
    let world = World::new(stores(&bed.database)).await;
    let page = world.page(at(0), vec![world.job("1", at(0))]).await;
    let other_watcher = holding(&bed, "SELECT 1 FROM feed_position FOR UPDATE").await;
    let jobs = world.stores.jobs.clone();
    let recording = tokio::spawn(async move { jobs.record_page(&page).await });
    until_some_wait(&bed, 1).await;
    let change = organization("org_other").put_organization();
    quickly(commit(&world.stores, &[change])).await;
    drop(other_watcher);
    // Matched with what was provisioned before.
    assert_eq!(recording.await.unwrap(), Ok(RecordPage::RevisionMoved));
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn provisioning_does_not_wait_for_a_switch_that_waits_for_another_process() {
    let bed = TestDatabase::postgres().await;
    let world = World::new(stores(&bed.database)).await;
    let matches = world.stores.matches.clone();
    let due = matches.due_backfills().await.unwrap();
    let backfill = due.campaigns[0].clone();
    let other_process = holding(
        &bed,
        "SELECT pg_advisory_xact_lock(hashtextextended('switch org_acme camp', 0)); SELECT 1 FROM campaigns FOR UPDATE",
    )
    .await;
    let switching = tokio::spawn(async move { matches.switch(&backfill, 0, &[], at(1)).await });
    until_some_wait(&bed, 1).await;
    let change = organization("org_other").put_organization();
    quickly(commit(&world.stores, &[change])).await;
    drop(other_process);
    assert_eq!(switching.await.unwrap(), Ok(SwitchMatches::Switched { total: 0 }));
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bid_that_waited_for_rows_changes_them_as_another_process_left_them() {
    let bed = TestDatabase::postgres().await;
    let world = World::new(stores(&bed.database)).await;
    let leads = world.new_leads(3, at(0)).await;
    assert_eq!(world.try_bid(&leads[0], at(1)).await, AcceptBid::Accepted);
    let changes = [
        "UPDATE quota_usage SET used = used + 1",
        "UPDATE leads SET created_at = created_at + 1",
    ];
    for (change, lead) in changes.into_iter().zip(&leads[1..]) {
        let other_process = holding(&bed, change).await;
        let bidding = tokio::spawn({
            let (world, lead) = (world.clone(), lead.clone());
            async move { world.try_bid(&lead, at(2)).await }
        });
        until_some_wait(&bed, 1).await;
        other_process.batch_execute("COMMIT").await.unwrap();
        assert_eq!(bidding.await.unwrap(), AcceptBid::Accepted);
    }
    assert_eq!(bed.number("SELECT used FROM quota_usage").await, 4);
    for lead in &leads {
        assert_eq!(world.status(lead).await, LeadStatus::Queued);
    }
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_organizations_are_served_while_commands_of_one_wait_for_its_rows() {
    let bed = TestDatabase::postgres().await;
    let settings = DatabaseSettings {
        request_connections: 12,
        ..DatabaseSettings::new(bed.url())
    };
    let database = Database::open(&settings).unwrap();
    let of = |id: &str| organization(id).campaign(campaign("camp"));
    let hot = World::bare(stores(&database), of("org_hot")).await;
    let leads = hot.new_leads(40, at(0)).await;
    let mut bystanders = Vec::new();
    for number in 0..12 {
        let bystander = World::bare(stores(&database), of(&format!("org_{number}"))).await;
        let id = format!("bystander-{number}");
        let known = job(&id, at(100), &[(bystander.organization.as_str(), "camp")]);
        bystander.ingest(at(100 + number), vec![known]).await;
        bystanders.push((bystander.listed_lead(0).await, bystander));
    }
    let locked = holding(
        &bed,
        "SELECT 1 FROM organizations WHERE id = 'org_hot' FOR UPDATE",
    )
    .await;
    let mut waiting = Vec::new();
    for lead in leads {
        let world = hot.clone();
        waiting.push(tokio::spawn(async move {
            let added = upload(&world, &lead).await;
            added.is_ok_and(|added| matches!(added, AddAttachments::Added(_)))
        }));
        // What is refused is recorded, too.
        let entry = activity(&hot.organization, ActivityKind::Bid, "refused", at(200));
        let activities = hot.stores.activities.clone();
        waiting.push(tokio::spawn(
            async move { activities.record(&entry).await.is_ok() },
        ));
    }
    until_some_wait(&bed, 4).await;
    for (lead, bystander) in &bystanders {
        let accepted = quickly(accept(bystander, lead)).await;
        assert_eq!(accepted, Ok(AcceptBid::Accepted));
        assert_eq!(quickly(bystander.list(0, 10)).await.leads.len(), 1);
        assert!(quickly(bystander.find(&lead.id)).await.is_some());
    }
    let waits = waiting.iter().filter(|command| !command.is_finished()).count();
    assert!(waits >= 4, "they were waiting all the while: {waits}");
    drop(locked);
    // What has not given up meanwhile is carried out.
    let mut done = 0;
    for command in waiting {
        done += usize::from(command.await.unwrap());
    }
    assert!(done >= 4, "{done}");
    bed.close().await;
}

async fn accept(world: &World, lead: &Lead) -> Result<AcceptBid, StoreError> {
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(200));
    let leads = &world.stores.leads;
    leads
        .accept_bid(&Authorization::Subscription, &bid(lead, at(200)), &entry)
        .await
}

async fn upload(world: &World, lead: &Lead) -> Result<AddAttachments, StoreError> {
    let entry = activity(&world.organization, ActivityKind::Upload, "accepted", at(200));
    let leads = &world.stores.leads;
    leads
        .add_attachments(&Authorization::Subscription, lead, &[], &entry)
        .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_have_connections_while_all_those_of_requests_wait() {
    let bed = TestDatabase::postgres().await;
    let settings = DatabaseSettings {
        request_connections: 3,
        worker_connections: 3,
        ..DatabaseSettings::new(bed.url())
    };
    let database = Database::open(&settings).unwrap();
    let kinds: Vec<_> = database
        .load()
        .iter()
        .map(|load| (load.kind, load.connections))
        .collect();
    assert_eq!(kinds, [("requests", 3), ("workers", 3)]);
    let mut worlds = Vec::new();
    for id in ["org_1", "org_2", "org_3"] {
        let of = organization(id).campaign(campaign("camp"));
        worlds.push(World::bare(stores(&database), of).await);
    }
    let locked = holding(&bed, "LOCK TABLE activities").await;
    let record = |world: &World| {
        let entry = activity(&world.organization, ActivityKind::Bid, "refused", at(0));
        let activities = world.stores.activities.clone();
        tokio::spawn(async move { activities.record(&entry).await })
    };
    let recording: Vec<_> = worlds.iter().map(record).collect();
    until_some_wait(&bed, 3).await;
    let workers = stores(&database.for_workers());
    assert!(quickly(workers.jobs.feed_position()).await.is_ok());
    assert_eq!(database.load()[0].work, 3);
    drop(locked);
    for recorded in recording {
        assert_eq!(recorded.await.unwrap(), Ok(()));
    }
    bed.close().await;
}
