//! What goes on although a row that says how far it has come, or how to go on, cannot be understood (decision D2).

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{FilterChanges, Prunable, PruneCursor, Revision, SwitchMatches, WaitingBidsQuery};
use bidloop_port_contracts::fixture::{World, at, campaign, organization};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};
use crate::unreadable_rows::counted;

on_both_databases!(
    unreadable_bids_take_no_places_in_the_list_of_queued_ones,
    an_unreadable_feed_position_is_none_and_old_jobs_become_no_leads_anew,
    a_change_of_an_unreadable_filter_id_leads_to_all_filters,
    pruning_passes_over_an_unreadable_campaign,
    jobs_are_pruned_although_an_unreadable_campaign_is_to_be_backfilled,
);

async fn unreadable_bids_take_no_places_in_the_list_of_queued_ones(bed: TestDatabase) -> TestDatabase {
    let world = World::new(stores(&bed.database)).await;
    let mut bids = Vec::new();
    for (second, lead) in (1..).zip(world.new_leads(5, at(0)).await) {
        bids.push(world.bid(&lead, at(second)).await);
    }
    bed.run_sql(&format!(
        "UPDATE bids SET attempts = -1 WHERE id IN ('{}', '{}', '{}')",
        bids[0], bids[1], bids[3]
    ))
    .await;
    bed.run_sql("UPDATE bids SET answer_outstanding = TRUE").await;
    for unsettled_at in [None, Some(at(1_000_000))] {
        for limit in [1, 2, 10] {
            let query = WaitingBidsQuery {
                organization_id: None,
                unsettled_at,
                limit,
            };
            let listed = world.stores.submissions.waiting(&query).await.unwrap();
            let ids: Vec<_> = listed.iter().map(|bid| bid.id).collect();
            let expected = [bids[2], bids[4]];
            assert_eq!(ids, expected[..ids.len()]);
            assert_eq!(ids.len(), 2.min(limit as usize));
        }
    }
    assert_eq!(counted(&bed, "bids"), 3);
    bed
}

async fn an_unreadable_feed_position_is_none_and_old_jobs_become_no_leads_anew(
    bed: TestDatabase,
) -> TestDatabase {
    let world = World::new(stores(&bed.database)).await;
    world.new_lead("1", at(1)).await;
    let deliveries = world.stores.deliveries.pending_count().await;
    bed.run_sql("UPDATE feed_position SET position = '\\x'").await;
    assert_eq!(world.stores.jobs.feed_position().await, Ok(None));
    assert_eq!(counted(&bed, "feed_position"), 1);
    let counts = world.ingest(at(2), vec![world.job("1", at(1))]).await;
    assert_eq!((counts.new_jobs, counts.changed_jobs), (0, 0));
    assert_eq!(world.stores.deliveries.pending_count().await, deliveries);
    assert!(matches!(world.stores.jobs.feed_position().await, Ok(Some(_))));
    assert_eq!(counted(&bed, "feed_position"), 0, "it is replaced");
    bed
}

async fn a_change_of_an_unreadable_filter_id_leads_to_all_filters(bed: TestDatabase) -> TestDatabase {
    let world = World::new(stores(&bed.database)).await;
    bed.run_sql("UPDATE filter_changes SET filter_id = 'f ?'").await;
    let jobs = &world.stores.jobs;
    let changes = jobs.filters_since(Revision(0)).await;
    assert_eq!(changes, Ok(FilterChanges::Forgotten));
    let current = jobs.revision().await.unwrap();
    let changes = jobs.filters_since(current).await.unwrap();
    assert!(matches!(changes, FilterChanges::Known { .. }), "{changes:?}");
    bed
}

/// Jobs in the lists of two paused campaigns, of which the first cannot be read.
async fn with_unreadable_campaign(bed: &TestDatabase) -> World {
    let paused = |id| campaign(id).paused();
    let acme = organization("org_acme")
        .campaign(paused("camp"))
        .campaign(paused("broken"));
    let world = World::with(stores(&bed.database), acme).await;
    let due = world.stores.matches.due_backfills().await.unwrap();
    for backfill in &due.campaigns {
        let switched = world.stores.matches.switch(backfill, due.watermark, &[], at(0));
        assert_eq!(switched.await, Ok(SwitchMatches::Switched { total: 0 }));
    }
    for number in 0..4 {
        let job = world.job(&number.to_string(), at(number));
        let mut in_both = job.clone();
        let (organization, _) = job.campaigns[0].clone();
        in_both
            .campaigns
            .push((organization, world.campaign("broken").campaign));
        world.ingest(at(number), vec![in_both]).await;
    }
    bed.run_sql("UPDATE campaigns SET id = ' broken' WHERE id = 'broken'")
        .await;
    bed.run_sql("UPDATE matches SET campaign_id = ' broken' WHERE campaign_id = 'broken'")
        .await;
    world
}

async fn prune(world: &World, kind: Prunable, before: Timestamp) -> u64 {
    let (mut removed, mut from) = (0, PruneCursor::Start);
    loop {
        let retention = &world.stores.retention;
        let step = retention.prune(kind, before, &from, 10).await.unwrap();
        removed += step.removed;
        match step.next {
            Some(next) => from = next,
            None => return removed,
        }
    }
}

async fn pruning_passes_over_an_unreadable_campaign(bed: TestDatabase) -> TestDatabase {
    let world = with_unreadable_campaign(&bed).await;
    assert_eq!(prune(&world, Prunable::Matches, at(2)).await, 3);
    assert_eq!(world.list(0, 0).await.total, 1);
    assert_eq!(counted(&bed, "campaigns"), 1);
    bed
}

async fn jobs_are_pruned_although_an_unreadable_campaign_is_to_be_backfilled(
    bed: TestDatabase,
) -> TestDatabase {
    let world = with_unreadable_campaign(&bed).await;
    let retention = &world.stores.retention;
    retention.note_stored_jobs(at(10), at(-10)).await.unwrap();
    bed.run_sql("DELETE FROM matches").await;
    bed.run_sql("UPDATE campaigns SET revision = revision + 1 WHERE id = 'camp'")
        .await;
    assert_eq!(
        prune(&world, Prunable::Jobs, at(10)).await,
        0,
        "a backfill is due"
    );
    bed.run_sql(
        "UPDATE campaigns SET revision = matched_revision; \
         UPDATE campaigns SET revision = revision + 1 WHERE id = ' broken'",
    )
    .await;
    assert_eq!(prune(&world, Prunable::Jobs, at(10)).await, 4);
    bed
}
