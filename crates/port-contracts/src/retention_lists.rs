//! The rules of `RetentionStore` for lists and jobs: lists stay dense, leads stay, and nothing pruned comes back.

use bidloop_domain::model::{FilterId, Lead, Timestamp};
use bidloop_domain::port::{
    FeedQuery, FilterRecord, MatchedJob, MatchedPage, ProvisioningChange, Prunable, PruneCursor, RecordPage,
    SwitchMatches,
};
use serde_json::json;

use crate::Stores;
use crate::fixture::{OrganizationBuilder, World, at, at_once, campaign, commit, organization, titled_job};
use crate::retention::prune;

const HOUR: i64 = 60 * 60;

/// A world whose campaign is paused: its matches are no leads until they are listed.
async fn paused(stores: Stores) -> World {
    settled(
        organization("org_acme").campaign(campaign("camp").paused()),
        stores,
    )
    .await
}

/// A world whose campaigns' new filters are matched.
async fn settled(organization: OrganizationBuilder, stores: Stores) -> World {
    let world = World::with(stores, organization).await;
    let due = world.stores.matches.due_backfills().await.unwrap();
    for backfill in &due.campaigns {
        let switched = world
            .stores
            .matches
            .switch(backfill, due.watermark, &[], at(0))
            .await;
        assert_eq!(switched, Ok(SwitchMatches::Switched { total: 0 }));
    }
    world
}

fn id(number: i64) -> String {
    format!("j{number:03}")
}

/// Records jobs with these numbers, one a second, each in a page of its own.
async fn ingest(world: &World, numbers: std::ops::Range<i64>) {
    for number in numbers {
        let job = world.job(&id(number), at(number));
        world.ingest(at(number), vec![job]).await;
    }
}

/// The total, without making a lead.
async fn total(world: &World) -> u64 {
    world.list(0, 0).await.total
}

/// Makes a lead of the match at this offset.
async fn lead_at(world: &World, offset: u64) -> Lead {
    world.listed_lead(offset).await
}

fn ids(numbers: impl IntoIterator<Item = i64>) -> Vec<String> {
    numbers.into_iter().map(id).collect()
}

async fn note(world: &World, seconds: i64) {
    let retention = &world.stores.retention;
    retention
        .note_stored_jobs(at(seconds), Timestamp::from_millis(0))
        .await
        .unwrap();
}

async fn make_due(world: &World, keywords: &str) {
    let filter = FilterRecord {
        id: FilterId::parse("f_camp").unwrap(),
        name: "Any".to_owned(),
        body: json!({"keywords": keywords}),
    };
    let put = ProvisioningChange::PutFilter(world.organization.clone(), world.campaign.clone(), filter);
    commit(&world.stores, &[put]).await;
}

/// Switches to all stored jobs.
async fn switch_to_all(world: &World, seconds: i64) -> SwitchMatches {
    let matches = &world.stores.matches;
    let due = matches.due_backfills().await.unwrap();
    let jobs = matches.stored_jobs(due.watermark, None, 1000).await.unwrap();
    let seqs: Vec<i64> = jobs.iter().map(|job| job.seq).collect();
    let switched = matches.switch(&due.campaigns[0], due.watermark, &seqs, at(seconds));
    switched.await.unwrap()
}

pub async fn an_old_match_leaves_its_list_and_a_lead_stays(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..6).await;
    let lead = lead_at(&world, 4).await;
    assert_eq!(lead.job_id.as_str(), id(1));
    let count = world
        .stores
        .retention
        .count_prunable(Prunable::Matches, at(3), 10);
    assert_eq!(count.await, Ok(3));
    assert_eq!(prune(&world, Prunable::Matches, at(3), 10).await, 3);
    assert_eq!(total(&world).await, 3);
    assert_eq!(world.listed_ids().await, ids([5, 4, 1]));
    assert_eq!(world.context(&lead).await.lead.lead, lead);
}

pub async fn the_list_is_dense_after_each_step(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..30).await;
    // Every fourth is a lead: 29, 25, ... 1.
    for offset in (0..30).step_by(4) {
        lead_at(&world, offset).await;
    }
    let (mut left, mut from) = (30, PruneCursor::Start);
    let retention = &world.stores.retention;
    loop {
        let step = retention
            .prune(Prunable::Matches, at(24), &from, 4)
            .await
            .unwrap();
        left -= step.removed;
        let page = world.list(0, 0).await;
        assert_eq!(page.total, left);
        // The oldest of all is a lead from the first step on, and the page behind the last one is empty.
        let oldest = world.list(left - 1, 10).await.leads;
        assert_eq!(oldest.len(), 1);
        assert_eq!(oldest[0].job_id.as_str(), id(1));
        assert!(world.list(left, 10).await.leads.is_empty());
        match step.next {
            Some(next) => from = next,
            None => break,
        }
    }
    let expected: Vec<String> = ids([29, 28, 27, 26, 25, 21, 17, 13, 9, 5, 1]);
    assert_eq!(left, 11);
    for limit in 1..=11 {
        let mut paged = Vec::new();
        while paged.len() < expected.len() {
            let page = world.list(paged.len() as u64, limit).await;
            assert_eq!(page.total, 11);
            paged.extend(page.leads.iter().map(|known| known.job_id.to_string()));
        }
        assert_eq!(paged, expected, "pages of {limit}");
    }
}

pub async fn pages_are_exact_while_the_list_is_pruned_and_grows(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..20).await;
    for offset in [1, 7, 8, 15] {
        lead_at(&world, offset).await;
    }
    let leads = [4, 11, 12, 18];
    let (mut newest, mut from, mut left) = (20, PruneCursor::Start, 20);
    loop {
        let retention = &world.stores.retention;
        let step = retention
            .prune(Prunable::Matches, at(15), &from, 3)
            .await
            .unwrap();
        ingest(&world, newest..newest + 2).await;
        newest += 2;
        left = left + 2 - step.removed;
        // A page of leads, across the end of what was pruned so far.
        let offset = left - 1;
        let page = world.list(offset, 1).await;
        assert_eq!((page.total, page.leads.len()), (left, 1));
        match step.next {
            Some(next) => from = next,
            None => break,
        }
    }
    let listed = world.listed_ids().await;
    let young: Vec<String> = ids((16..newest).rev());
    assert_eq!(listed[..young.len()], young);
    let old: Vec<String> = listed[young.len()..].to_vec();
    for lead in &leads[..3] {
        assert!(old.contains(&id(*lead)), "{lead} in {old:?}");
    }
    let mut sorted = old.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    assert_eq!(old, sorted);
    assert_eq!(listed.len() as u64, left);
}

pub async fn a_pruned_list_takes_new_matches_and_changed_jobs(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..10).await;
    // 2 and 5 are leads.
    for offset in [7, 4] {
        lead_at(&world, offset).await;
    }
    assert_eq!(prune(&world, Prunable::Matches, at(6), 3).await, 5);
    // 8 leaves the open part and comes back, 2 leaves the settled part and comes back to its place.
    let campaigns = [("org_acme", "camp")];
    for (number, title, matched) in [
        (8, "Gone", &campaigns[..0]),
        (2, "Gone", &campaigns[..0]),
        (8, "Back", &campaigns[..]),
        (2, "Back", &campaigns[..]),
    ] {
        let job: MatchedJob = titled_job(&id(number), at(number), title, matched);
        world.ingest(at(20), vec![job]).await;
    }
    ingest(&world, 30..32).await;
    assert_eq!(world.listed_ids().await, ids([31, 30, 8, 9, 7, 5, 2]));
    assert_eq!(total(&world).await, 7);
    // All are leads now.
    assert_eq!(prune(&world, Prunable::Matches, at(1000), 3).await, 0);
    assert_eq!(world.listed_ids().await, ids([31, 30, 8, 9, 7, 5, 2]));
}

pub async fn matches_that_came_are_told_though_old_ones_were_pruned(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..10).await;
    let feed = &world.stores.campaign_feed;
    let (organization, campaign) = (&world.organization, &world.campaign);
    let query = FeedQuery {
        status: None,
        offset: 0,
        limit: 0,
    };
    let newest_at = async || {
        let page = feed.feed_page(organization, campaign, &query).await;
        page.unwrap().unwrap().newest_at
    };
    let newer_than = async |since| {
        let news = feed.feed_news(organization, campaign, since, &[], 100).await;
        news.unwrap().unwrap().newer
    };
    let seen = newest_at().await;
    assert!(seen.is_some());
    assert_eq!(prune(&world, Prunable::Matches, at(6), 100).await, 7);
    ingest(&world, 30..32).await;
    assert_eq!(newer_than(seen).await, 2);
    assert_eq!(newer_than(newest_at().await).await, 0);
    assert_eq!(prune(&world, Prunable::Matches, at(1000), 100).await, 5);
    assert_eq!((newest_at().await, newer_than(seen).await), (None, 0));
}

pub async fn a_list_that_a_backfill_is_due_for_stays_as_it_is(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..4).await;
    make_due(&world, "changed").await;
    assert_eq!(prune(&world, Prunable::Matches, at(100), 10).await, 0);
    assert_eq!(total(&world).await, 4);
    assert_eq!(
        switch_to_all(&world, 50).await,
        SwitchMatches::Switched { total: 4 }
    );
    assert_eq!(prune(&world, Prunable::Matches, at(2), 10).await, 3);
    assert_eq!(world.listed_ids().await, ids([3]));
}

pub async fn a_backfill_brings_no_pruned_match_back(stores: Stores) {
    let both = organization("org_acme")
        .campaign(campaign("camp").paused())
        .campaign(campaign("other").paused());
    let world = settled(both, stores).await;
    let campaigns = [("org_acme", "camp"), ("org_acme", "other")];
    let jobs = (0..3).map(|number| titled_job(&id(number), at(number), "Both", &campaigns));
    world.ingest(at(5), jobs.collect()).await;
    // The other campaign's leads hold all jobs.
    let other = world.campaign("other");
    assert_eq!(other.listed().await.len(), 3);
    let lead = lead_at(&world, 1).await;
    note(&world, 10).await;
    assert_eq!(prune(&world, Prunable::Matches, at(20), 10).await, 2);
    assert_eq!(prune(&world, Prunable::Jobs, at(20), 10).await, 0);
    ingest(&world, 30..31).await;
    make_due(&world, "changed").await;
    assert_eq!(
        switch_to_all(&world, 50).await,
        SwitchMatches::Switched { total: 2 }
    );
    assert_eq!(
        world.listed_ids().await,
        [id(30), lead.job_id.as_str().to_owned()]
    );
}

pub async fn a_job_is_removed_once_nothing_holds_it(stores: Stores) {
    let world = paused(stores).await;
    let unmatched = titled_job("nobody", at(0), "Unmatched", &[]);
    world
        .ingest(at(0), vec![unmatched, world.job("listed", at(0))])
        .await;
    note(&world, 10).await;
    let remaining = async || {
        let jobs = world.stored_jobs().await;
        let mut ids: Vec<String> = jobs.iter().map(|job| job.id.to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(
        prune(&world, Prunable::Jobs, at(9), 10).await,
        0,
        "they are younger"
    );
    assert_eq!(prune(&world, Prunable::Jobs, at(10), 10).await, 1);
    assert_eq!(remaining().await, ["listed"]);
    let signatures = world.stores.matches.signatures(0, 100).await.unwrap();
    assert_eq!(signatures.len(), 1);
    assert_eq!(prune(&world, Prunable::Matches, at(10), 10).await, 1);
    let count = world.stores.retention.count_prunable(Prunable::Jobs, at(10), 10);
    assert_eq!(count.await, Ok(1));
    assert_eq!(prune(&world, Prunable::Jobs, at(10), 10).await, 1);
    assert!(remaining().await.is_empty());
    assert!(world.stores.jobs.latest_jobs(10).await.unwrap().is_empty());
}

pub async fn a_job_is_as_old_as_its_content(stores: Stores) {
    let world = paused(stores).await;
    let unmatched = |number: i64, title: &str| titled_job(&id(number), at(0), title, &[]);
    world
        .ingest(at(0), vec![unmatched(1, "One"), unmatched(2, "Two")])
        .await;
    note(&world, 10).await;
    world.ingest(at(20), vec![unmatched(1, "One, changed")]).await;
    note(&world, 30).await;
    assert_eq!(world.stored_jobs().await.len(), 2);
    note(&world, 10 + HOUR).await;
    assert_eq!(prune(&world, Prunable::Jobs, at(HOUR), 10).await, 1);
    let left = world.stored_jobs().await;
    assert_eq!(left[0].id.as_str(), id(1));
    assert_eq!(prune(&world, Prunable::Jobs, at(10 + HOUR), 10).await, 1);
}

pub async fn a_job_with_a_lead_stays_with_its_post(stores: Stores) {
    let world = settled(organization("org_acme").campaign(campaign("camp")), stores).await;
    let lead = world.new_lead("1", at(0)).await;
    let json = world.context(&lead).await.lead.job_json;
    note(&world, 10).await;
    for kind in Prunable::ALL {
        prune(&world, kind, at(HOUR), 10).await;
    }
    // Neither does the lead need its list.
    let no_longer = titled_job("1", at(0), "Changed", &[]);
    world.ingest(at(20), vec![no_longer.clone()]).await;
    assert_eq!(total(&world).await, 0);
    note(&world, 10 + HOUR).await;
    for kind in Prunable::ALL {
        prune(&world, kind, at(2 * HOUR), 10).await;
    }
    assert_ne!(json, no_longer.json);
    assert_eq!(world.context(&lead).await.lead.job_json, no_longer.json);
}

pub async fn no_job_is_removed_while_a_backfill_is_due(stores: Stores) {
    let world = paused(stores).await;
    world
        .ingest(at(0), vec![titled_job("1", at(0), "Unmatched", &[])])
        .await;
    note(&world, 10).await;
    make_due(&world, "changed").await;
    assert_eq!(prune(&world, Prunable::Jobs, at(20), 10).await, 0);
    assert_eq!(
        switch_to_all(&world, 50).await,
        SwitchMatches::Switched { total: 1 }
    );
    assert_eq!(world.listed_ids().await, ["1"]);
}

pub async fn a_removed_job_that_comes_again_is_listed_and_not_acted_on(stores: Stores) {
    let world = settled(organization("org_acme").campaign(campaign("camp")), stores).await;
    let unmatched = titled_job("1", at(0), "Unmatched", &[]);
    world.ingest(at(0), vec![unmatched]).await;
    note(&world, 10).await;
    assert_eq!(prune(&world, Prunable::Jobs, at(HOUR), 10).await, 1);
    let page = MatchedPage {
        // Whatever the age.
        act_within: None,
        ..world
            .page(
                at(2 * HOUR),
                vec![world.job("1", at(0)), world.job("2", at(2 * HOUR))],
            )
            .await
    };
    let recorded = world.stores.jobs.record_page(&page).await.unwrap();
    let RecordPage::Recorded(counts) = recorded else {
        panic!("{recorded:?}")
    };
    assert_eq!((counts.new_jobs, counts.matches, counts.deliveries), (2, 2, 1));
    let pending = world.pending().await;
    assert_eq!(pending.len(), 1);
    assert_eq!(world.listed_ids().await, ["2", "1"]);
}

pub async fn many_may_prune_and_list_at_once(stores: Stores) {
    let world = paused(stores).await;
    ingest(&world, 0..60).await;
    note(&world, 70).await;
    let run = |number: usize| {
        let world = world.clone();
        async move {
            if number.is_multiple_of(2) {
                prune(&world, Prunable::Matches, at(49), 3).await;
                prune(&world, Prunable::Jobs, at(100), 3).await;
            } else {
                for offset in [45, 30, 15] {
                    let page = world.list(offset, 2).await;
                    let expected = (page.total.saturating_sub(offset)).min(2);
                    assert_eq!(page.leads.len() as u64, expected);
                }
            }
        }
    };
    at_once(8, run).await;
    prune(&world, Prunable::Matches, at(49), 3).await;
    prune(&world, Prunable::Jobs, at(100), 3).await;
    let listed = world.listed_ids().await;
    assert_eq!(listed[..10], ids((50..60).rev()));
    let mut sorted = listed.clone();
    sorted.sort_by(|a, b| b.cmp(a));
    assert_eq!(listed, sorted);
    let known = world
        .stores
        .matches
        .stored_jobs(i64::MAX, None, 100)
        .await
        .unwrap();
    assert_eq!(
        known.len(),
        listed.len(),
        "every listed job is stored, and no other"
    );
}
