//! The rules of `JobStore`: the feed's position, the filters' revision, and the order of matches (decisions A5,
//! D2 and D4). What campaigns do with a match, and what becomes of changed jobs, have files of their own.

use bidloop_domain::model::JobId;
use bidloop_domain::port::{CommitProvisioning, FeedCursor, MatchedPage, PageCounts, RecordPage};

use crate::Stores;
use crate::fixture::{
    World, all_filters, at, at_once, campaign, commit, job, job_id, lead_id, organization, revision,
    titled_job,
};

pub async fn before_the_first_page_there_is_no_position(stores: Stores) {
    assert_eq!(stores.jobs.feed_position().await, Ok(None));
}

pub async fn a_recorded_page_moves_the_position(stores: Stores) {
    let world = World::new(stores).await;
    let counts = world.ingest(at(0), vec![]).await;
    assert_eq!(counts, PageCounts::default());
    assert_eq!(
        world.stores.jobs.feed_position().await,
        Ok(Some(FeedCursor("1".to_owned())))
    );
    world.ingest(at(1), vec![world.job("1", at(1))]).await;
    assert_eq!(
        world.stores.jobs.feed_position().await,
        Ok(Some(FeedCursor("2".to_owned())))
    );
}

pub async fn a_page_read_from_another_position_changes_nothing(stores: Stores) {
    let world = World::new(stores).await;
    world.ingest(at(0), vec![]).await;
    let page = world.page(at(1), vec![world.job("1", at(1))]).await;
    for read_from in [None, Some(FeedCursor("elsewhere".to_owned()))] {
        let page = MatchedPage {
            read_from,
            ..page.clone()
        };
        assert_eq!(
            world.stores.jobs.record_page(&page).await,
            Ok(RecordPage::PositionMoved)
        );
    }
    assert_eq!(
        world.stores.jobs.feed_position().await,
        Ok(Some(FeedCursor("1".to_owned())))
    );
    assert_nothing_came_in(&world).await;
}

pub async fn a_page_matched_under_an_older_revision_changes_nothing(stores: Stores) {
    let world = World::new(stores).await;
    let page = world.page(at(1), vec![world.job("1", at(1))]).await;
    commit(&world.stores, &organization("org_two").changes()).await;
    assert_eq!(
        world.stores.jobs.record_page(&page).await,
        Ok(RecordPage::RevisionMoved)
    );
    assert_eq!(world.stores.jobs.feed_position().await, Ok(None));
    assert_nothing_came_in(&world).await;
    let again = MatchedPage {
        revision: revision(&world.stores).await,
        ..page
    };
    assert!(matches!(
        world.stores.jobs.record_page(&again).await,
        Ok(RecordPage::Recorded(_))
    ));
}

async fn assert_nothing_came_in(world: &World) {
    assert_eq!(world.total().await, 0);
    assert!(world.find(&lead_id("org_acme", "camp", "1")).await.is_none());
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    assert_eq!(world.stored_jobs().await, []);
}

pub async fn every_provisioning_moves_the_revision_and_nothing_else_does(stores: Stores) {
    let before = revision(&stores).await;
    let world = World::new(stores).await;
    let provisioned = revision(&world.stores).await;
    assert!(provisioned > before);
    let lead = world.new_lead("1", at(0)).await;
    world.bid(&lead, at(1)).await;
    assert_eq!(revision(&world.stores).await, provisioned);
    commit(
        &world.stores,
        &[organization("org_acme").limit(7).put_organization()],
    )
    .await;
    assert!(revision(&world.stores).await > provisioned);
}

pub async fn filters_are_read_whatever_the_campaigns_state(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("one"))
        .campaign(campaign("two").paused());
    let two = organization("org_two").campaign(campaign("one").automatic().paused());
    acme.provision(&stores).await;
    two.provision(&stores).await;
    let mut found: Vec<_> = all_filters(&stores)
        .await
        .iter()
        .map(|filter| {
            format!(
                "{} {} {} {}",
                filter.organization_id, filter.campaign_id, filter.id, filter.body
            )
        })
        .collect();
    found.sort();
    assert_eq!(
        found,
        [
            r#"org_acme one f_one {"keywords":"rust"}"#,
            r#"org_acme two f_two {"keywords":"rust"}"#,
            r#"org_two one f_one {"keywords":"rust"}"#,
        ]
    );
}

pub async fn a_new_job_becomes_a_match_at_the_pages_moment(stores: Stores) {
    let world = World::new(stores).await;
    let counts = world.ingest(at(60), vec![world.job("1", at(0))]).await;
    assert_eq!((counts.new_jobs, counts.changed_jobs, counts.matches), (1, 0, 1));
    assert_eq!(world.listed().await, [("1".to_owned(), at(60))]);
}

pub async fn created_at_never_falls(stores: Stores) {
    let world = World::new(stores).await;
    world.ingest(at(60), vec![world.job("1", at(0))]).await;
    // The clock of another process is behind.
    world.ingest(at(30), vec![world.job("2", at(1))]).await;
    world.ingest(at(60), vec![world.job("3", at(2))]).await;
    world.ingest(at(90), vec![world.job("4", at(3))]).await;
    let listed = world.listed().await;
    let ids: Vec<&str> = listed.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["4", "3", "2", "1"]);
    let millis: Vec<i64> = listed
        .iter()
        .map(|(_, created)| created.as_millis() - at(60).as_millis())
        .collect();
    assert_eq!(millis, [30_000, 2, 1, 0]);
}

pub async fn within_a_page_the_order_is_by_posting_time_then_the_feeds(stores: Stores) {
    let world = World::new(stores).await;
    let jobs = [("b", 5), ("c", 1), ("a", 5), ("d", 3)];
    world
        .ingest(
            at(60),
            jobs.map(|(id, posted)| world.job(id, at(posted))).to_vec(),
        )
        .await;
    let listed = world.listed().await;
    let ids: Vec<&str> = listed.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(
        ids,
        ["a", "b", "d", "c"],
        "newest first, so the feed's later one of two is before"
    );
    assert!(listed.iter().rev().is_sorted_by_key(|(_, created)| *created));
    assert_eq!(listed[3].1, at(60));
}

pub async fn of_an_id_that_occurs_twice_the_later_counts(stores: Stores) {
    let world = World::new(stores).await;
    let here = [("org_acme", "camp")];
    let jobs = vec![
        titled_job("1", at(0), "First", &[]),
        titled_job("2", at(0), "First", &here),
        titled_job("1", at(0), "Second", &here),
        titled_job("2", at(0), "Second", &[]),
    ];
    let counts = world.ingest(at(60), jobs).await;
    assert_eq!((counts.new_jobs, counts.matches, counts.deliveries), (2, 1, 1));
    let page = world.list(0, 10).await;
    assert_eq!(page.total, 1);
    assert_eq!(page.leads[0].job_id, job_id("1"));
    let json = world.listed_json(&page.leads[0]).await.unwrap();
    assert!(json.contains("Second"));
    assert_eq!(world.stored_jobs().await.len(), 2);
}

pub async fn a_job_becomes_a_match_of_every_campaign_it_matches(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("one"))
        .campaign(campaign("two").paused());
    let one = World::bare(stores.clone(), acme).await;
    let two = one.campaign("two");
    let other = World::bare(stores, organization("org_two").campaign(campaign("one"))).await;
    let everywhere = [("org_acme", "one"), ("org_acme", "two"), ("org_two", "one")];
    let counts = one
        .ingest(
            at(9),
            vec![job("1", at(0), &everywhere), job("2", at(1), &everywhere[1..2])],
        )
        .await;
    assert_eq!((counts.new_jobs, counts.matches), (2, 4));
    assert_eq!(one.listed_ids().await, ["1"]);
    assert_eq!(two.listed_ids().await, ["2", "1"]);
    assert_eq!(other.listed_ids().await, ["1"]);
}

pub async fn a_repeated_job_changes_nothing(stores: Stores) {
    let world = World::new(stores).await;
    let first = world.job("1", at(0));
    world
        .ingest(at(60), vec![first.clone(), world.job("2", at(1))])
        .await;
    let before = world.stored_jobs().await;
    let counts = world.ingest(at(90), vec![first]).await;
    assert_eq!(counts, PageCounts::default());
    assert_eq!(world.listed().await.last(), Some(&("1".to_owned(), at(60))));
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(2));
    assert_eq!(world.stored_jobs().await, before);
}

pub async fn a_job_is_listed_as_the_marketplace_served_it(stores: Stores) {
    let world = World::new(stores).await;
    let mut odd = world.job("1", at(0));
    odd.json = "{ \"id\" : \"1\",\n\t\"title\": \"Z\\u00fcrich – 東京\", \"n\": 1.50, \"big\": 12345678901234567890 }"
        .to_owned();
    world.ingest(at(1), vec![odd.clone()]).await;
    let listed = world.list(0, 1).await.leads.remove(0);
    assert_eq!(world.listed_json(&listed).await.as_ref(), Some(&odd.json));
    let kept = world.stores.matches.stored_jobs(i64::MAX, None, 1).await.unwrap();
    assert_eq!((&kept[0].id, &kept[0].json), (&odd.id, &odd.json));
}

pub async fn of_many_pages_from_one_position_one_is_recorded(stores: Stores) {
    let world = World::new(stores).await;
    let page = world
        .page(at(60), vec![world.job("1", at(0)), world.job("2", at(1))])
        .await;
    let answers = at_once(12, |_| {
        let (world, page) = (world.clone(), page.clone());
        async move { world.stores.jobs.record_page(&page).await.unwrap() }
    })
    .await;
    let recorded = answers
        .iter()
        .filter(|answer| matches!(answer, RecordPage::Recorded(_)))
        .count();
    let moved = answers
        .iter()
        .filter(|answer| **answer == RecordPage::PositionMoved)
        .count();
    assert_eq!((recorded, moved), (1, 11));
    assert_eq!(world.total().await, 2);
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(2));
}

pub async fn pages_recorded_one_after_the_other_by_many_lose_and_repeat_nothing(stores: Stores) {
    let world = World::new(stores).await;
    at_once(4, |_| {
        let world = world.clone();
        async move {
            // Each watcher reads a job from whatever position it finds, until eight are in.
            loop {
                let mut page = world.page(at(60), vec![]).await;
                let read: i64 = page
                    .read_from
                    .as_ref()
                    .map_or(0, |cursor| cursor.0.parse().unwrap());
                if read == 8 {
                    break;
                }
                page.jobs.push(world.job(&read.to_string(), at(read)));
                world.stores.jobs.record_page(&page).await.unwrap();
            }
        }
    })
    .await;
    assert_eq!(world.listed_ids().await, ["7", "6", "5", "4", "3", "2", "1", "0"]);
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(8));
}

pub async fn a_page_and_a_change_of_filters_at_once_are_one_after_the_other(stores: Stores) {
    let world = World::new(stores).await;
    for round in 0..8_i64 {
        let id = round.to_string();
        let page = world.page(at(60 + round), vec![world.job(&id, at(round))]).await;
        let snapshot = world.stores.provisioning.snapshot(&[], &[]).await.unwrap();
        let change = organization("org_acme").put_organization();
        let (recorded, committed) = tokio::join!(
            world.stores.jobs.record_page(&page),
            world
                .stores
                .provisioning
                .commit(snapshot.revision, std::slice::from_ref(&change), at(0)),
        );
        // Recording a page is no change of filters, so the commit is never in its way.
        assert_eq!(committed, Ok(CommitProvisioning::Committed));
        let is_recorded = matches!(recorded, Ok(RecordPage::Recorded(_)));
        assert!(
            is_recorded || recorded == Ok(RecordPage::RevisionMoved),
            "{recorded:?}"
        );
        let ids: Vec<JobId> = world
            .list(0, 100)
            .await
            .leads
            .into_iter()
            .map(|known| known.job_id)
            .collect();
        assert_eq!(ids.contains(&job_id(&id)), is_recorded);
    }
}
