//! What the queues and the quota cost while another session holds a snapshot, so that no old version of a row can be removed,
//! and while much of a queue is being worked on (PostgreSQL).

#![expect(clippy::unwrap_used, reason = "test code")]

use std::time::{Duration, Instant};

use bidloop_domain::model::{EndpointId, EventKind, OrganizationId};
use bidloop_domain::port::{AcceptBid, LeaseOwner};
use bidloop_port_contracts::fixture::{OrganizationBuilder, World, at, campaign, organization, webhook};
use tokio_postgres::Client;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

/// So many rows were worked off that a look at all of them is dear on any machine.
const WORKED_OFF: u32 = 50_000;

/// A session that sees everything as it is now.
async fn held_snapshot(bed: &TestDatabase) -> Client {
    let client = connect(&bed.url()).await;
    let hold = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM organizations";
    client.batch_execute(hold).await.unwrap();
    client
}

/// How many blocks of a table and its indexes were read. Sessions report that before they end.
async fn blocks_read(bed: &TestDatabase, table: &str) -> i64 {
    let others = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                  AND pid <> pg_backend_pid() AND backend_xmin IS NULL AND backend_type = 'client backend'";
    while bed.number(others).await > 0 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let blocks = "heap_blks_hit + heap_blks_read + idx_blks_hit + idx_blks_read";
    bed.number(&format!(
        "SELECT {blocks} FROM pg_statio_user_tables WHERE relname = '{table}'"
    ))
    .await
}

/// `org_acme` with its campaign.
pub(crate) fn acme() -> OrganizationBuilder {
    organization("org_acme").campaign(campaign("camp"))
}

/// A database with an organization, prepared by a process that is gone; what it prepared; and the world of one that has no
/// session yet.
pub(crate) async fn prepared<T>(
    organization: OrganizationBuilder,
    prepare: impl AsyncFnOnce(&World) -> T,
) -> (TestDatabase, World, T) {
    let bed = TestDatabase::postgres().await;
    let world = World::with(stores(&bed.reopened()), organization).await;
    let done = prepare(&world).await;
    let world = reopened(&bed, &world);
    (bed, world, done)
}

/// With a bid in the queue.
async fn with_a_bid() -> (TestDatabase, World) {
    let (bed, world, ()) = prepared(acme(), async |world| {
        let lead = world.new_lead("1", at(0)).await;
        world.bid(&lead, at(1)).await;
    })
    .await;
    (bed, world)
}

/// Another process's world, which has no session yet.
fn reopened(bed: &TestDatabase, world: &World) -> World {
    World {
        stores: stores(&bed.reopened()),
        ..world.clone()
    }
}

/// How many blocks of the table the work reads in a process of its own, whose sessions report that when they end.
pub(crate) async fn read_by<T>(
    bed: &TestDatabase,
    world: &World,
    table: &str,
    work: impl AsyncFnOnce(&World) -> T,
) -> (T, i64) {
    let before = blocks_read(bed, table).await;
    let done = work(&reopened(bed, world)).await;
    (done, blocks_read(bed, table).await - before)
}

/// Eleven looks read less than three do that read all that was worked off.
async fn assert_that_one_look_reads_it(
    bed: &TestDatabase,
    world: &World,
    table: &str,
    look: impl AsyncFn(&World),
) {
    let ((), once) = read_by(bed, world, table, &look).await;
    assert!(once > 300, "a look from the start reads {once} blocks");
    let ((), often) = read_by(bed, world, table, async |world| {
        for _ in 0..11 {
            look(world).await;
        }
    })
    .await;
    assert!(often < once * 3, "11 looks read {often} blocks, and one {once}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bid_does_not_read_the_old_versions_of_its_quota() {
    let (bed, world, leads) = prepared(acme(), async |world| {
        let leads = world.new_leads(2, at(0)).await;
        world.bid(&leads[0], at(1)).await;
        leads
    })
    .await;
    let held = held_snapshot(&bed).await;
    // The server's own cleaning would read the table, too.
    bed.run_sql(
        "ALTER TABLE quota_usage SET (autovacuum_enabled = off); \
         DO $$ BEGIN FOR n IN 1..5000 LOOP UPDATE quota_usage SET used = used; END LOOP; END $$",
    )
    .await;
    let bid = async |world: &World| world.try_bid(&leads[1], at(2)).await;
    let (accepted, blocks) = read_by(&bed, &world, "quota_usage", bid).await;
    assert_eq!(accepted, AcceptBid::Accepted);
    assert_eq!(bed.number("SELECT used FROM quota_usage").await, 2);
    assert!(blocks < 30, "{blocks} blocks of the quota were read");
    held.batch_execute("COMMIT").await.unwrap();
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bids_that_were_worked_off_are_not_read_with_each_claim() {
    let (bed, world) = with_a_bid().await;
    let held = held_snapshot(&bed).await;
    bed.run_sql(&format!(
        "INSERT INTO bids SELECT (jsonb_populate_record(b, jsonb_build_object( \
           'id', 'ended-' || n, 'next_attempt_at', b.next_attempt_at - 1000, 'deadline', b.next_attempt_at))).* \
         FROM bids AS b, generate_series(1, {WORKED_OFF}) AS n; \
         UPDATE bids SET status = 'submitted' WHERE id LIKE 'ended-%'"
    ))
    .await;
    assert_that_one_look_reads_it(&bed, &world, "bids", async |world| {
        world.claim("me", at(3)).await;
    })
    .await;
    held.batch_execute("COMMIT").await.unwrap();
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn intents_that_were_worked_off_are_not_read_with_each_claim() {
    let automatic = organization("org_acme").campaign(campaign("camp").automatic());
    let (bed, world, _) = prepared(automatic, async |world| world.new_lead("1", at(1)).await).await;
    let held = held_snapshot(&bed).await;
    bed.run_sql(&format!(
        "INSERT INTO automatic_bids SELECT (jsonb_populate_record(a, jsonb_build_object( \
           'lead_id', 'done-' || n, 'queued_at', a.queued_at - 1000))).* \
         FROM automatic_bids AS a, generate_series(1, {WORKED_OFF}) AS n; \
         DELETE FROM automatic_bids WHERE lead_id LIKE 'done-%'"
    ))
    .await;
    assert_that_one_look_reads_it(&bed, &world, "automatic_bids", async |world| {
        let (owner, intents) = (LeaseOwner::new("me"), &world.stores.automatic_bids);
        // The lease has ended when the next claim is made.
        intents.claim(&owner, at(3), at(3), 5).await.unwrap();
    })
    .await;
    held.batch_execute("COMMIT").await.unwrap();
    bed.close().await;
}

/// Pending deliveries of endpoints in the order of their age: 100 of `stuck`, 40 of `busy`, one of `wh_all`; before that one so many
/// of `wh_all` that were worked off while a snapshot is held.
async fn deliveries_behind_a_stuck_endpoint() -> (TestDatabase, World, Client) {
    let other = |id| {
        webhook(
            id,
            None,
            &format!("http://127.0.0.1:1/{id}"),
            &[EventKind::JobNew],
        )
    };
    let organization = acme().webhook(other("stuck")).webhook(other("busy"));
    let (bed, world, _) = prepared(organization, async |world| world.new_lead("1", at(1)).await).await;
    let held = held_snapshot(&bed).await;
    let copies = |of: &str, earlier: u32, count: u32| {
        format!(
            "INSERT INTO deliveries SELECT (jsonb_populate_record(d, jsonb_build_object( \
               'id', gen_random_uuid(), 'created_at', d.created_at - {earlier}))).* \
             FROM deliveries AS d, generate_series(1, {count}) WHERE d.endpoint_id = '{of}'; "
        )
    };
    bed.run_sql(&format!(
        "{}{}{}UPDATE deliveries SET state = 'delivered' \
         WHERE endpoint_id = 'wh_all' AND created_at < (SELECT max(created_at) FROM deliveries)",
        copies("stuck", 3000, 99),
        copies("busy", 2000, 39),
        copies("wh_all", 1000, WORKED_OFF),
    ))
    .await;
    (bed, world, held)
}

/// How many deliveries a look finds while endpoints are busy.
async fn pending(world: &World, busy: &[&str]) -> usize {
    let busy = busy.iter().map(|id| EndpointId::parse(id).unwrap());
    let busy: Vec<_> = busy.map(|id| (world.organization.clone(), id)).collect();
    let found = world.stores.deliveries.pending(&busy, 30, 512).await;
    found.unwrap().len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_that_were_worked_off_are_not_read_with_each_look_behind_a_stuck_endpoint() {
    let (bed, world, held) = deliveries_behind_a_stuck_endpoint().await;
    assert_that_one_look_reads_it(&bed, &world, "deliveries", async |world| {
        assert_eq!(pending(world, &["stuck", "busy"]).await, 1);
    })
    .await;
    held.batch_execute("COMMIT").await.unwrap();
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endpoint_that_was_busy_for_a_moment_is_found_behind_a_stuck_one_at_once() {
    let (bed, world, held) = deliveries_behind_a_stuck_endpoint().await;
    for _ in 0..3 {
        assert_eq!(pending(&world, &["stuck"]).await, 31);
        assert_eq!(pending(&world, &["stuck", "busy"]).await, 1);
    }
    held.batch_execute("COMMIT").await.unwrap();
    bed.close().await;
}

/// A look reads as much of the table as before when four times as much of the queue is being worked on.
async fn assert_that_what_is_worked_on_is_not_read(
    bed: &TestDatabase,
    world: &World,
    table: &str,
    more: &str,
    look: impl AsyncFn(&World),
) {
    // The server's own cleaning would read the table, too.
    bed.run_sql(&format!("ALTER TABLE {table} SET (autovacuum_enabled = off)"))
        .await;
    let mut seen = Vec::new();
    for count in [10_000, 30_000] {
        bed.run_sql(&more.replace("{count}", &count.to_string())).await;
        bed.run_sql(&format!("ANALYZE {table}")).await;
        let ((), blocks) = read_by(bed, world, table, &look).await;
        seen.push(blocks);
    }
    assert!(
        seen[1] < seen[0] * 3 / 2 + 20,
        "{seen:?} blocks with 10,000 and 40,000 that are worked on"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bids_that_are_being_submitted_are_not_read_with_each_claim() {
    let (bed, world) = with_a_bid().await;
    let more = "INSERT INTO bids SELECT (jsonb_populate_record(b, jsonb_build_object( \
                  'id', gen_random_uuid(), 'next_attempt_at', b.next_attempt_at - 1000, \
                  'lease_owner', 'other', 'lease_until', b.next_attempt_at + 600000))).* \
                FROM bids AS b, generate_series(1, {count}) WHERE b.id IN (SELECT id FROM bids LIMIT 1)";
    assert_that_what_is_worked_on_is_not_read(&bed, &world, "bids", more, async |world| {
        world.claim("me", at(3)).await;
    })
    .await;
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deliveries_that_are_being_sent_are_not_read_with_each_look() {
    let (bed, world, _) = prepared(acme(), async |world| world.new_lead("1", at(1)).await).await;
    let more = "INSERT INTO deliveries SELECT (jsonb_populate_record(d, jsonb_build_object( \
                  'id', gen_random_uuid(), 'created_at', d.created_at - 1000, 'state', 'sending', \
                  'owner', 'other', 'owner_until', d.created_at + 600000))).* \
                FROM deliveries AS d, generate_series(1, {count}) WHERE state = 'pending'";
    assert_that_what_is_worked_on_is_not_read(&bed, &world, "deliveries", more, async |world| {
        assert_eq!(pending(world, &[]).await, 1);
    })
    .await;
    bed.close().await;
}

/// A world with so many endpoints, each with a pending delivery, behind so many of an endpoint that is busy.
async fn endpoints_behind_a_busy_one(endpoints: u32, of_the_busy_one: u32) -> (TestDatabase, World) {
    let busy = webhook("busy", None, "http://127.0.0.1:1/busy", &[EventKind::JobNew]);
    let acme = acme().webhook(busy);
    let (bed, world, _) = prepared(acme, async |world| world.new_lead("1", at(1)).await).await;
    let copies = |endpoint: &str, count: u32, earlier: u32| {
        format!(
            "INSERT INTO deliveries SELECT (jsonb_populate_record(d, jsonb_build_object( \
               'id', gen_random_uuid(), 'created_at', d.created_at - {earlier}, 'endpoint_id', {endpoint}))).* \
             FROM deliveries AS d, generate_series(1, {count}) AS n WHERE d.endpoint_id = 'busy' AND d.created_at \
               = (SELECT max(created_at) FROM deliveries); "
        )
    };
    bed.run_sql(&format!(
        "INSERT INTO webhook_endpoints SELECT (jsonb_populate_record(e, jsonb_build_object('id', 'wh-' || n))).* \
         FROM webhook_endpoints AS e, generate_series(1, {endpoints}) AS n WHERE e.id = 'busy'; {}{}ANALYZE",
        copies("'busy'", of_the_busy_one, 200),
        copies("'wh-' || n", endpoints, 100),
    ))
    .await;
    (bed, world)
}

/// `busy`, and so many of the other endpoints.
fn busy_and(world: &World, others: u32) -> Vec<(OrganizationId, EndpointId)> {
    let others = (1..=others).map(|number| format!("wh-{number}"));
    let ids = ["busy".to_owned()].into_iter().chain(others);
    ids.map(|id| (world.organization.clone(), EndpointId::parse(&id).unwrap()))
        .collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_that_the_oldest_fill_reads_no_endpoint() {
    let (bed, world) = endpoints_behind_a_busy_one(2_000, 10).await;
    let busy = busy_and(&world, 0);
    let (found, blocks) = read_by(&bed, &world, "webhook_endpoints", async |world| {
        world.stores.deliveries.pending(&busy, 30, 40).await.unwrap()
    })
    .await;
    assert_eq!(found.len(), 40);
    assert_eq!(blocks, 0, "blocks of the endpoints were read");
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_does_not_compare_each_endpoint_with_each_busy_one() {
    let (bed, world) = endpoints_behind_a_busy_one(4_000, 2_000).await;
    let (one, many) = (busy_and(&world, 0), busy_and(&world, 1_000));
    let mut shortest = [Duration::MAX; 2];
    for round in 0..15 {
        for (busy, shortest) in [&one, &many].into_iter().zip(&mut shortest) {
            let began = Instant::now();
            let found = world.stores.deliveries.pending(busy, 30, 512).await.unwrap();
            assert_eq!(found.len(), 512);
            // PostgreSQL makes plans for certain values at first.
            if round >= 5 {
                *shortest = began.elapsed().min(*shortest);
            }
        }
    }
    let [one, many] = shortest;
    assert!(
        many < one * 2,
        "{many:?} with 1,001 busy endpoints, {one:?} with one"
    );
    bed.close().await;
}

/// Makes statistics of a queue at a moment at which nothing waits in it.
async fn analyze_while_none_waits(bed: &TestDatabase, table: &str, waits: &str, ended: &str) {
    for sql in [
        &format!("ALTER TABLE {table} SET (autovacuum_enabled = off)"),
        &format!("UPDATE {table} SET {ended}"),
        &format!("VACUUM ANALYZE {table}"),
        &format!("UPDATE {table} SET {waits}"),
        &format!("VACUUM {table}"),
    ] {
        bed.run_sql(sql).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_at_each_endpoint_reads_its_own_deliveries_if_none_waited_at_the_last_analyze() {
    let (bed, world) = endpoints_behind_a_busy_one(1_000, 2_000).await;
    analyze_while_none_waits(&bed, "deliveries", "state = 'pending'", "state = 'delivered'").await;
    let busy = busy_and(&world, 0);
    let (found, blocks) = read_by(&bed, &world, "deliveries", async |world| {
        world.stores.deliveries.pending(&busy, 30, 512).await.unwrap()
    })
    .await;
    assert_eq!(found.len(), 512);
    assert!(blocks < 10_000, "{blocks} blocks for 1,000 endpoints");
    bed.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_look_at_each_account_reads_its_own_bids_if_none_waited_at_the_last_analyze() {
    let (bed, world) = with_a_bid().await;
    let copies = |account: &str, count: u32, earlier: u32| {
        format!(
            "INSERT INTO bids SELECT (jsonb_populate_record(b, jsonb_build_object( \
               'id', gen_random_uuid(), 'next_attempt_at', b.next_attempt_at - {earlier}, 'account_id', {account}))).* \
             FROM bids AS b, generate_series(1, {count}) AS n \
             WHERE b.next_attempt_at = (SELECT max(next_attempt_at) FROM bids); "
        )
    };
    bed.run_sql(&format!(
        "INSERT INTO bidder_accounts SELECT (jsonb_populate_record(a, jsonb_build_object('id', 'other-' || n))).* \
         FROM bidder_accounts AS a, generate_series(1, 300) AS n; {}{}",
        copies("b.account_id", 1_000, 200),
        copies("'other-' || n", 300, 100),
    ))
    .await;
    analyze_while_none_waits(&bed, "bids", "status = 'queued'", "status = 'submitted'").await;
    let ((), blocks) = read_by(&bed, &world, "bids", async |world| {
        world.claim("me", at(3)).await;
    })
    .await;
    assert!(blocks < 10_000, "{blocks} blocks for 300 accounts");
    bed.close().await;
}
