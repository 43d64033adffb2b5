//! The rules of `JobStore::record_page` for a job that comes again with other content (decision D4): it is
//! matched as a changed filter would match it, and sends and bids nothing.

use bidloop_domain::model::FilterId;
use bidloop_domain::port::{FilterRecord, MatchedJob, PageCounts, ProvisioningChange, SwitchMatches};
use serde_json::json;

use crate::Stores;
use crate::fixture::{World, at, campaign, commit, job_id, lead_id, organization, titled_job};

fn changed(id: &str, posted: i64, title: &str, campaigns: &[&str]) -> MatchedJob {
    let campaigns: Vec<(&str, &str)> = campaigns.iter().map(|campaign| ("org_acme", *campaign)).collect();
    titled_job(id, at(posted), title, &campaigns)
}

pub async fn a_changed_job_replaces_the_stored_post(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let again = changed("1", 0, "Changed", &["camp"]);
    let counts = world.ingest(at(60), vec![again.clone()]).await;
    assert_eq!(
        counts,
        PageCounts {
            changed_jobs: 1,
            ..PageCounts::default()
        }
    );
    assert_eq!(world.context(&lead).await.lead.job_json, again.json);
    let listed = world.list(0, 1).await.leads.remove(0);
    assert_eq!(world.listed_json(&listed).await, Some(again.json));
}

pub async fn a_changed_job_gets_a_new_sequence_number(stores: Stores) {
    let world = World::new(stores).await;
    world
        .ingest(at(1), vec![world.job("1", at(0)), world.job("2", at(0))])
        .await;
    let before = world.stored_jobs().await;
    let again = changed("1", 0, "Changed", &["camp"]);
    world.ingest(at(60), vec![again.clone()]).await;
    let after = world.stored_jobs().await;
    let ids: Vec<&str> = after.iter().map(|stored| stored.id.as_str()).collect();
    assert_eq!(ids, ["1", "2"], "newest first, and the former content is gone");
    assert!(after[0].seq > before[0].seq);
    assert_eq!(after[0].json, again.json);
    assert_eq!(after[1], before[0]);
}

pub async fn a_match_that_remains_keeps_its_created_at_and_its_place(stores: Stores) {
    let world = World::new(stores).await;
    world.ingest(at(10), vec![world.job("1", at(0))]).await;
    world.ingest(at(20), vec![world.job("2", at(1))]).await;
    let before = world.listed().await;
    let counts = world
        .ingest(at(60), vec![changed("1", 0, "Changed", &["camp"])])
        .await;
    assert_eq!(counts.matches, 0);
    assert_eq!(world.listed().await, before);
}

pub async fn a_changed_job_that_matches_no_longer_leaves_the_list_and_its_lead_stays(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.ingest(at(60), vec![changed("1", 0, "Changed", &[])]).await;
    assert_eq!(world.total().await, 0);
    assert_eq!(world.context(&lead).await.lead.lead, lead);
    world.bid(&lead, at(70)).await;
}

pub async fn a_changed_job_that_newly_matches_takes_its_leads_created_at(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world
        .ingest(at(60), vec![changed("1", 0, "Elsewhere", &[])])
        .await;
    let counts = world
        .ingest(at(90), vec![changed("1", 0, "Back", &["camp"])])
        .await;
    assert_eq!((counts.changed_jobs, counts.matches), (1, 1));
    assert_eq!(world.listed().await, [("1".to_owned(), lead.created_at)]);
}

pub async fn a_changed_job_that_newly_matches_without_a_lead_takes_the_pages_moment(stores: Stores) {
    let world = World::new(stores).await;
    world.ingest(at(1), vec![changed("1", 0, "Elsewhere", &[])]).await;
    world
        .ingest(at(60), vec![changed("1", 0, "Here", &["camp"])])
        .await;
    assert!(world.find(&lead_id("org_acme", "camp", "1")).await.is_none());
    assert_eq!(world.listed().await, [("1".to_owned(), at(60))]);
}

pub async fn a_changed_posting_time_moves_nothing_neither_now_nor_with_the_next_switch(stores: Stores) {
    let world = World::new(stores).await;
    let together = (1..=3).map(|second| world.job(&second.to_string(), at(second)));
    world.ingest(at(10), together.collect()).await;
    world
        .ingest(at(20), vec![changed("4", 2, "Elsewhere", &[])])
        .await;
    let before = world.listed().await;
    let counts = world
        .ingest(at(30), vec![changed("1", 9, "Posted anew", &["camp"])])
        .await;
    assert_eq!((counts.changed_jobs, counts.matches), (1, 0));
    assert_eq!(world.listed().await, before);

    // A switch by which one job more matches, and none less.
    let another = FilterRecord {
        id: FilterId::parse("another").unwrap(),
        name: "Another".to_owned(),
        body: json!({"keywords": "elsewhere"}),
    };
    let change = ProvisioningChange::PutFilter(world.organization.clone(), world.campaign.clone(), another);
    commit(&world.stores, &[change]).await;
    let due = world.stores.matches.due_backfills().await.unwrap();
    let all = world.stores.matches.job_seqs(1, due.watermark).await.unwrap();
    let switched = world
        .stores
        .matches
        .switch(&due.campaigns[0], due.watermark, &all, at(40));
    assert_eq!(switched.await, Ok(SwitchMatches::Switched { total: 4 }));
    assert_eq!(world.listed_ids().await, ["4", "3", "2", "1"]);
}

pub async fn the_list_stays_ordered(stores: Stores) {
    let world = World::new(stores).await;
    for (second, id) in [(10, "1"), (20, "2"), (30, "3")] {
        world.ingest(at(second), vec![world.job(id, at(second))]).await;
    }
    world
        .ingest(at(40), vec![changed("4", 0, "Elsewhere", &[])])
        .await;
    world.listed().await;
    world.ingest(at(50), vec![changed("2", 20, "Gone", &[])]).await;
    assert_eq!(world.listed_ids().await, ["3", "1"]);
    // One comes back to its old place; the other comes in by a process whose clock is behind.
    world
        .ingest(
            at(25),
            vec![
                changed("2", 20, "Back", &["camp"]),
                changed("4", 0, "In", &["camp"]),
            ],
        )
        .await;
    assert_eq!(world.listed_ids().await, ["3", "4", "2", "1"]);
    let listed = world.listed().await;
    assert_eq!(listed[1].1, at(25));
    assert_eq!(listed[2].1, at(20));
    let mut paged = Vec::new();
    for offset in 0..5 {
        paged.extend(
            world
                .list(offset, 1)
                .await
                .leads
                .into_iter()
                .map(|known| known.job_id),
        );
    }
    assert_eq!(paged, [job_id("3"), job_id("4"), job_id("2"), job_id("1")]);
    world.ingest(at(60), vec![world.job("5", at(60))]).await;
    assert_eq!(world.listed_ids().await, ["5", "3", "4", "2", "1"]);
}

pub async fn a_changed_job_sends_and_bids_nothing(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .campaign(campaign("auto").automatic());
    let world = World::with(stores, acme).await;
    world.ingest(at(1), vec![changed("1", 0, "Elsewhere", &[])]).await;
    let counts = world
        .ingest(at(2), vec![changed("1", 0, "Here", &["camp", "auto"])])
        .await;
    assert_eq!(
        (counts.matches, counts.deliveries, counts.automatic_bids),
        (2, 0, 0)
    );
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(0));
}
