//! Switches that take several transactions, beside the feed, crashes and other processes.

use bidloop_domain::port::{Backfill, SwitchMatches};
use bidloop_port_contracts::fixture::{at, job_id};
use serde_json::json;

use super::{all_lists, assert_sound, due, ingest_many, job, second, seqs, world};
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    a_long_list_is_switched_while_the_feed_goes_on,
    a_job_that_becomes_a_match_during_a_switch_keeps_its_earlier_moment,
    a_changed_job_leaves_a_list_too_long_to_edit_with_the_next_backfill,
    what_a_crash_left_behind_is_never_served_and_goes_with_the_next_switch,
    of_two_processes_that_switch_at_once_one_is_served,
    a_long_switch_and_a_change_of_filters_at_once_are_one_after_the_other,
);

async fn a_long_list_is_switched_while_the_feed_goes_on(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 5, &[]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |_| true).await;
    let feed = tokio::spawn({
        let world = world.clone();
        async move {
            for number in 0..40 {
                // A new job that matches, and a stored one that matches no longer.
                let page = vec![
                    job(9000 + number, 0, "New", &["one"]),
                    job(number * 60, 0, "Changed", &[]),
                ];
                world.ingest(second(100 + number), page).await;
            }
        }
    });
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, at(50))
        .await;
    assert!(
        matches!(switched, Ok(SwitchMatches::Switched { .. })),
        "{switched:?}"
    );
    feed.await.unwrap();
    assert_eq!(world.total().await, 2500 - 40 + 40);
    assert_sound(&bed).await;

    let (backfill, watermark) = due(&world, 2).await;
    let matched = seqs(&world, watermark, |id| id.as_str().ends_with('1')).await;
    let total = 250 + 4;
    assert_eq!(
        world
            .stores
            .matches
            .switch(&backfill, watermark, &matched, at(500))
            .await,
        Ok(SwitchMatches::Switched { total })
    );
    // The former generations' rows are gone.
    assert_sound(&bed).await;
    assert_eq!(bed.number("SELECT count(*) FROM matches").await, 254);
    bed
}

async fn a_job_that_becomes_a_match_during_a_switch_keeps_its_earlier_moment(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 5, &[]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |_| true).await;
    let feed = tokio::spawn({
        let world = world.clone();
        async move {
            let mut became_matches = Vec::new();
            for number in 0..60 {
                // By a clock that is behind that of the switch.
                let now = second(3000 + number);
                let page = vec![job(number, number, "Changed", &["one"])];
                if world.ingest(now, page).await.matches == 1 {
                    became_matches.push((number.to_string(), now));
                }
            }
            became_matches
        }
    });
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, second(9000))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 2500 }));
    let became_matches = feed.await.unwrap();
    assert!(!became_matches.is_empty());
    assert_eq!(world.total().await, 2500);
    assert_sound(&bed).await;
    let lists = all_lists(&bed, &world).await;
    for (id, at) in became_matches {
        assert_eq!(lists[&("one", id.clone())], at.as_millis(), "job {id}");
    }
    bed
}

async fn a_changed_job_leaves_a_list_too_long_to_edit_with_the_next_backfill(
    bed: TestDatabase,
) -> TestDatabase {
    const JOBS: usize = 10_500;
    let world = world(&bed).await;
    ingest_many(&world, JOBS / 500, &["one"]).await;
    let (before, watermark) = due(&world, 1).await;
    let all = seqs(&world, watermark, |_| true).await;
    assert_eq!(all.len(), 10_000, "as many as are asked for");

    // The oldest leaves: all others would be numbered anew.
    let page = vec![job(0, 0, "Changed", &[]), job(JOBS - 1, JOBS - 1, "Changed", &[])];
    world.ingest(at(10), page).await;
    let total = JOBS as u64;
    assert_eq!(world.total().await, total, "the old list serves on");
    let superseded = world
        .stores
        .matches
        .switch(&before, watermark, &all, at(20))
        .await;
    assert_eq!(
        superseded,
        Ok(SwitchMatches::Superseded),
        "it may not know of the change"
    );

    world.ingest(at(30), vec![job(JOBS, JOBS, "Go", &["one"])]).await;
    assert_eq!(world.total().await, total + 1);
    let due = world.stores.matches.due_backfills().await.unwrap();
    let of_world = |backfill: &&Backfill| backfill.campaign_id == world.campaign;
    let backfill = due.campaigns.iter().find(of_world).unwrap();
    let left = [0, JOBS - 1].map(|number| job_id(&number.to_string()));
    let mut matched = world
        .stores
        .matches
        .jobs_at(&(1..=due.watermark).collect::<Vec<_>>())
        .await
        .unwrap();
    matched.retain(|job| !left.contains(&job.id));
    let matched: Vec<i64> = matched.iter().map(|job| job.seq).collect();
    let switched = world
        .stores
        .matches
        .switch(backfill, due.watermark, &matched, at(40))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: total - 1 }));
    assert_sound(&bed).await;
    let lists = all_lists(&bed, &world).await;
    assert_eq!(lists.len() as u64, total - 1);
    assert!(!lists.contains_key(&("one", "0".to_owned())));
    assert_eq!(lists[&("one", "1".to_owned())], at(0).as_millis());
    bed
}

async fn what_a_crash_left_behind_is_never_served_and_goes_with_the_next_switch(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    let jobs = (0..4).map(|number| job(number, number, "Go", &["one"]));
    world.ingest(at(0), jobs.collect()).await;
    // A switch was cut short after its first rows.
    bed.run_sql("UPDATE campaigns SET last_generation = generation + 1 WHERE id = 'one'")
        .await;
    bed.run_sql(
        "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
         SELECT organization_id, campaign_id, generation + 1, seq, job_id, 7 FROM matches",
    )
    .await;
    world
        .ingest(at(1), vec![job(3, 3, "Changed", &[]), job(4, 4, "Go", &["one"])])
        .await;
    assert_eq!(world.listed_ids().await, ["4", "2", "1", "0"]);
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |id| *id == job_id("2")).await;
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, at(9))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 1 }));
    assert_eq!(world.listed().await, [("2".to_owned(), at(0))]);
    assert_sound(&bed).await;
    bed
}

async fn of_two_processes_that_switch_at_once_one_is_served(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 3, &[]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |_| true).await;
    let (here, there) = (bed.database.matches(), bed.reopened().matches());
    let (first, second) = tokio::join!(
        here.switch(&backfill, watermark, &matched, at(10)),
        there.switch(&backfill, watermark, &matched, at(20)),
    );
    let outcomes = [first.unwrap(), second.unwrap()];
    assert!(
        outcomes.contains(&SwitchMatches::Switched { total: 1500 })
            && outcomes.contains(&SwitchMatches::Superseded),
        "{outcomes:?}"
    );
    assert_eq!(world.total().await, 1500);
    let moments = bed.number(
        "SELECT count(DISTINCT created_at) FROM matches JOIN campaigns ON campaigns.id = \
                              matches.campaign_id AND campaigns.generation = matches.generation",
    );
    assert_eq!(moments.await, 1, "one of the two is served, not a mixture");
    assert_eq!(
        world.stores.matches.due_count().await,
        Ok(2),
        "the other campaigns' first"
    );
    bed
}

async fn a_long_switch_and_a_change_of_filters_at_once_are_one_after_the_other(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    ingest_many(&world, 3, &[]).await;
    world.ingest(at(1), vec![job(7000, 0, "Rust", &["one"])]).await;
    let (backfill, watermark) = due(&world, 1).await;
    let matched = seqs(&world, watermark, |id| *id != job_id("7000")).await;
    let other = bed.reopened().matches();
    let (switched, (again, watermark)) = tokio::join!(
        other.switch(&backfill, watermark, &matched, at(10)),
        due(&world, 2),
    );
    let total = match switched.unwrap() {
        SwitchMatches::Switched { total } => total,
        SwitchMatches::Superseded => 1,
    };
    assert_eq!(world.total().await, total);
    assert_eq!(again.filters[0].body, json!({"keywords": "version2"}).to_string());
    assert!(again.campaign_revision > backfill.campaign_revision);
    // What the superseded one had written is nowhere after the next one.
    let switched = world
        .stores
        .matches
        .switch(&again, watermark, &matched[..1200], at(20))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 1200 }));
    assert_sound(&bed).await;
    bed
}
