//! The rules of `MatchStore`: backfills after filter changes, and their atomic switch (decision A5).

use bidloop_domain::matching::JobSignature;
use bidloop_domain::model::FilterId;
use bidloop_domain::port::{
    Backfill, DueBackfills, FilterRecord, ProvisioningChange, StoredSignature, SwitchMatches,
};
use serde_json::{Value, json};

use crate::Stores;
use crate::fixture::{World, at, at_once, campaign, commit, lead_id, organization, titled_job};

fn filter(id: &str, body: Value) -> FilterRecord {
    FilterRecord {
        id: FilterId::parse(id).unwrap(),
        name: "Any".to_owned(),
        body,
    }
}

async fn put_filter(world: &World, id: &str, body: Value) {
    let (organization, campaign) = (world.organization.clone(), world.campaign.clone());
    let change = ProvisioningChange::PutFilter(organization, campaign, filter(id, body));
    commit(&world.stores, &[change]).await;
}

async fn is_due(world: &World) -> bool {
    let matches = &world.stores.matches;
    let due = matches
        .is_backfill_due(&world.organization, &world.campaign)
        .await;
    due.unwrap()
}

async fn due(world: &World) -> DueBackfills {
    world.stores.matches.due_backfills().await.unwrap()
}

/// The world's backfill, which must be the only one, and the watermark.
async fn one_due(world: &World) -> (Backfill, i64) {
    let mut due = due(world).await;
    assert_eq!(due.campaigns.len(), 1);
    (due.campaigns.remove(0), due.watermark)
}

/// Switches to the stored jobs with these ids, as of `second`.
async fn switch(
    world: &World,
    backfill: &Backfill,
    watermark: i64,
    ids: &[&str],
    second: i64,
) -> SwitchMatches {
    let jobs = world
        .stores
        .matches
        .stored_jobs(watermark, None, 1000)
        .await
        .unwrap();
    let matched: Vec<i64> = jobs
        .iter()
        .filter(|job| ids.contains(&job.id.as_str()))
        .map(|job| job.seq)
        .collect();
    world
        .stores
        .matches
        .switch(backfill, watermark, &matched, at(second))
        .await
        .unwrap()
}

/// A paused campaign whose filters have been backfilled.
async fn settled_world(stores: Stores) -> World {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    let (backfill, watermark) = one_due(&world).await;
    assert_eq!(
        switch(&world, &backfill, watermark, &[], 0).await,
        SwitchMatches::Switched { total: 0 }
    );
    world
}

/// As [`settled_world`], with the jobs 1 to 4, of which 1 and 2 match since the moments 10 and 20, and a
/// backfill due.
async fn changed_world(stores: Stores) -> (World, Backfill, i64) {
    let world = settled_world(stores).await;
    world
        .ingest(
            at(10),
            vec![world.job("1", at(1)), titled_job("4", at(9), "Go", &[])],
        )
        .await;
    world
        .ingest(
            at(20),
            vec![world.job("2", at(2)), titled_job("3", at(3), "Go", &[])],
        )
        .await;
    put_filter(&world, "f_camp", json!({"keywords": "go"})).await;
    let (backfill, watermark) = one_due(&world).await;
    (world, backfill, watermark)
}

pub async fn a_new_changed_or_removed_filter_makes_a_backfill_due(stores: Stores) {
    let world = settled_world(stores).await;
    let settle = async || {
        let (backfill, watermark) = one_due(&world).await;
        assert_eq!(backfill.campaign_id, world.campaign);
        assert_eq!(world.stores.matches.due_count().await, Ok(1));
        assert!(is_due(&world).await);
        switch(&world, &backfill, watermark, &[], 0).await;
        assert_eq!(world.stores.matches.due_count().await, Ok(0));
        assert!(!is_due(&world).await);
    };
    put_filter(&world, "f_2", json!({})).await;
    settle().await;
    put_filter(&world, "f_2", json!({"featured": true})).await;
    settle().await;
    let id = FilterId::parse("f_2").unwrap();
    let removal = ProvisioningChange::RemoveFilter(world.organization.clone(), world.campaign.clone(), id);
    commit(&world.stores, &[removal]).await;
    settle().await;
}

pub async fn a_filter_put_with_the_same_body_makes_none_due(stores: Stores) {
    let world = settled_world(stores).await;
    put_filter(&world, "f_camp", json!({"keywords": "rust"})).await;
    commit(
        &world.stores,
        &[organization("org_acme").limit(9).put_organization()],
    )
    .await;
    assert_eq!(due(&world).await.campaigns, []);
    assert_eq!(world.stores.matches.due_count().await, Ok(0));
}

pub async fn a_backfill_comes_with_the_campaigns_filters_and_the_watermark(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    assert_eq!(backfill.organization_id, world.organization);
    assert_eq!(backfill.filters.len(), 1);
    assert_eq!(backfill.filters[0].body, json!({"keywords": "go"}).to_string());
    let newest = world.stores.matches.stored_jobs(i64::MAX, None, 1).await.unwrap();
    assert_eq!(newest[0].seq, watermark);
}

pub async fn stored_jobs_are_read_newest_first_below_a_bound_and_up_to_the_watermark(stores: Stores) {
    let (world, _, watermark) = changed_world(stores).await;
    world.ingest(at(30), vec![world.job("5", at(30))]).await;
    let mut read = Vec::new();
    let mut before = None;
    loop {
        let page = world
            .stores
            .matches
            .stored_jobs(watermark, before, 3)
            .await
            .unwrap();
        assert!(page.len() <= 3);
        let Some(last) = page.last() else {
            break;
        };
        before = Some(last.seq);
        read.extend(page);
    }
    let ids: Vec<&str> = read.iter().map(|job| job.id.as_str()).collect();
    assert_eq!(ids, ["3", "2", "4", "1"]);
}

pub async fn sequence_numbers_are_dense_and_ascending(stores: Stores) {
    let (world, ..) = changed_world(stores).await;
    let jobs = world.stored_jobs().await;
    assert_eq!(jobs.len(), 4);
    assert!(jobs.windows(2).all(|pair| pair[0].seq == pair[1].seq + 1));
}

/// The signature of a job of the fixture with this title.
fn signature(title: &str) -> JobSignature {
    titled_job("1", at(0), title, &[]).signature
}

async fn signatures(world: &World, first: i64, last: i64) -> Vec<(i64, JobSignature)> {
    let stored = world.stores.matches.signatures(first, last).await.unwrap();
    stored
        .into_iter()
        .map(|stored| (stored.seq, stored.signature))
        .collect()
}

pub async fn signatures_are_read_by_number_in_ascending_order(stores: Stores) {
    let (world, _, watermark) = changed_world(stores).await;
    let oldest = watermark - 3;
    let (rust, go) = (signature("Rust service"), signature("Go"));
    assert_ne!(rust, go);
    let all = [
        (oldest, rust.clone()),
        (oldest + 1, go.clone()),
        (oldest + 2, rust),
        (watermark, go),
    ];
    assert_eq!(signatures(&world, oldest, watermark).await, all);
    assert_eq!(signatures(&world, 0, watermark + 9).await, all);
    assert_eq!(signatures(&world, oldest + 1, oldest + 2).await, all[1..3]);
    assert_eq!(signatures(&world, watermark + 1, watermark + 9).await, []);
    assert_eq!(signatures(&world, watermark, oldest).await, []);
}

pub async fn a_changed_jobs_signature_takes_the_place_of_the_old_one(stores: Stores) {
    let (world, _, watermark) = changed_world(stores).await;
    let known = signatures(&world, 0, watermark).await;
    world
        .ingest(
            at(30),
            vec![
                titled_job("1", at(1), "Cobol", &[]),
                titled_job("5", at(30), "Go", &[]),
            ],
        )
        .await;
    let mut expected = known[1..].to_vec();
    expected.push((watermark + 1, signature("Cobol")));
    expected.push((watermark + 2, signature("Go")));
    assert_eq!(signatures(&world, 0, watermark + 2).await, expected);
}

pub async fn a_missing_signature_can_be_stored_later(stores: Stores) {
    let (world, _, watermark) = changed_world(stores).await;
    let mut expected = signatures(&world, 0, watermark).await;
    expected[1].1 = signature("Cobol");
    expected[3].1 = signature("Pascal");
    let later: Vec<StoredSignature> = [1, 3]
        .map(|place: usize| StoredSignature {
            seq: expected[place].0,
            signature: expected[place].1.clone(),
        })
        .into();
    world.stores.matches.store_signatures(&later).await.unwrap();
    world.stores.matches.store_signatures(&[]).await.unwrap();
    assert_eq!(signatures(&world, 0, watermark).await, expected);
}

pub async fn numbers_of_stored_jobs_are_read_without_those_that_are_gone(stores: Stores) {
    let (world, _, watermark) = changed_world(stores).await;
    let oldest = watermark - 3;
    let changed = titled_job("1", at(1), "Cobol", &[]);
    world.ingest(at(30), vec![changed]).await;
    for (first, last, expected) in [
        (
            0,
            watermark + 9,
            vec![oldest + 1, oldest + 2, watermark, watermark + 1],
        ),
        (oldest, oldest, vec![]),
        (oldest, oldest + 1, vec![oldest + 1]),
        (watermark, oldest, vec![]),
    ] {
        let seqs = world.stores.matches.job_seqs(first, last).await;
        assert_eq!(seqs, Ok(expected), "{first} to {last}");
    }
}

pub async fn jobs_are_read_by_their_numbers_and_those_that_are_gone_passed_over(stores: Stores) {
    let (world, _, watermark) = changed_world(stores).await;
    let jobs = world
        .stores
        .matches
        .stored_jobs(watermark, None, 10)
        .await
        .unwrap();
    world
        .ingest(at(30), vec![titled_job(jobs[1].id.as_str(), at(1), "Cobol", &[])])
        .await;
    let asked = [jobs[3].seq, jobs[1].seq, jobs[0].seq, watermark + 1_000];
    let mut read = world.stores.matches.jobs_at(&asked).await.unwrap();
    read.sort_by_key(|job| job.seq);
    assert_eq!(read, [jobs[3].clone(), jobs[0].clone()]);
    assert_eq!(world.stores.matches.jobs_at(&[]).await, Ok(Vec::new()));
    let many: Vec<i64> = (watermark - 2_000..=watermark).collect();
    assert_eq!(world.stores.matches.jobs_at(&many).await.unwrap().len(), 3);
}

pub async fn a_switch_replaces_the_matches_and_settles_the_backfill(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    assert_eq!(
        world.listed_ids().await,
        ["2", "1"],
        "the old list is served until the switch"
    );
    let switched = switch(&world, &backfill, watermark, &["3", "4"], 60).await;
    assert_eq!(switched, SwitchMatches::Switched { total: 2 });
    assert_eq!(world.total().await, 2);
    assert_eq!(world.listed_ids().await, ["4", "3"]);
    assert_eq!(due(&world).await.campaigns, []);
}

pub async fn new_matches_take_the_moment_of_the_switch_in_posting_order(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    switch(&world, &backfill, watermark, &["3", "4"], 60).await;
    assert_eq!(
        world.listed().await,
        [("4".to_owned(), at(60)), ("3".to_owned(), at(60))]
    );
}

pub async fn matches_that_remain_keep_their_created_at(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    switch(&world, &backfill, watermark, &["1", "2", "3"], 60).await;
    let expected = [("3", at(60)), ("2", at(20)), ("1", at(10))].map(|(id, moment)| (id.to_owned(), moment));
    assert_eq!(world.listed().await, expected);
}

pub async fn a_job_with_a_lead_takes_its_leads_created_at(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    world.listed().await;
    switch(&world, &backfill, watermark, &["3"], 60).await;
    put_filter(&world, "f_camp", json!({"keywords": "rust OR go"})).await;
    let (backfill, watermark) = one_due(&world).await;
    switch(&world, &backfill, watermark, &["1", "3"], 90).await;
    assert_eq!(
        world.listed().await,
        [("3".to_owned(), at(60)), ("1".to_owned(), at(10))]
    );
}

pub async fn a_job_that_matches_no_longer_leaves_the_list_and_its_lead_stays(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    world.listed().await;
    switch(&world, &backfill, watermark, &[], 60).await;
    assert_eq!(world.total().await, 0);
    let lead = world
        .find(&lead_id("org_acme", "camp", "1"))
        .await
        .unwrap()
        .lead
        .lead;
    world.bid(&lead, at(70)).await;
}

pub async fn what_was_ingested_after_the_watermark_is_kept(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    world
        .ingest(
            at(30),
            vec![world.job("5", at(30)), titled_job("6", at(31), "Go", &[])],
        )
        .await;
    let switched = switch(&world, &backfill, watermark, &["3"], 60).await;
    assert_eq!(switched, SwitchMatches::Switched { total: 2 });
    assert_eq!(
        world.listed().await,
        [("3".to_owned(), at(60)), ("5".to_owned(), at(30))]
    );
    world.ingest(at(61), vec![world.job("7", at(61))]).await;
    assert_eq!(world.listed_ids().await, ["7", "3", "5"]);
}

pub async fn jobs_are_listed_while_the_backfill_runs(stores: Stores) {
    let (world, ..) = changed_world(stores).await;
    world.ingest(at(30), vec![world.job("5", at(30))]).await;
    assert_eq!(world.listed_ids().await, ["5", "2", "1"]);
}

pub async fn a_sequence_number_that_is_gone_is_passed_over(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let matched: Vec<i64> = world
        .stores
        .matches
        .stored_jobs(watermark, None, 10)
        .await
        .unwrap()
        .iter()
        .filter(|job| ["3", "4"].contains(&job.id.as_str()))
        .map(|job| job.seq)
        .collect();
    // Both change while the backfill runs: 3 matches no longer, 4 does.
    let here = [("org_acme", "camp")];
    world
        .ingest(
            at(30),
            vec![
                titled_job("3", at(3), "Cook", &[]),
                titled_job("4", at(9), "Go, go", &here),
            ],
        )
        .await;
    let switched = world
        .stores
        .matches
        .switch(&backfill, watermark, &matched, at(60))
        .await
        .unwrap();
    assert_eq!(switched, SwitchMatches::Switched { total: 1 });
    assert_eq!(world.listed().await, [("4".to_owned(), at(30))]);
}

pub async fn a_switch_after_another_change_is_superseded(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    put_filter(&world, "f_2", json!({"featured": true})).await;
    assert_eq!(
        switch(&world, &backfill, watermark, &["3"], 60).await,
        SwitchMatches::Superseded
    );
    assert_eq!(world.listed_ids().await, ["2", "1"]);
    let (second, watermark) = one_due(&world).await;
    assert_eq!(second.filters.len(), 2);
    let switched = switch(&world, &second, watermark, &["4"], 61).await;
    assert_eq!(switched, SwitchMatches::Switched { total: 1 });
}

pub async fn a_switch_of_a_removed_campaign_is_superseded(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let removal = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[removal]).await;
    assert_eq!(due(&world).await.campaigns, []);
    assert_eq!(
        switch(&world, &backfill, watermark, &["3"], 60).await,
        SwitchMatches::Superseded
    );
}

pub async fn a_switch_of_a_campaign_removed_and_made_again_is_superseded(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let removal = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[removal]).await;
    let again = organization("org_acme").campaign(campaign("camp").paused());
    commit(&world.stores, &again.changes()).await;
    put_filter(&world, "f_camp", json!({"featured": true})).await;
    assert_eq!(
        switch(&world, &backfill, watermark, &["3"], 60).await,
        SwitchMatches::Superseded
    );
    assert_eq!(world.total().await, 0);
    assert_eq!(world.stores.matches.due_count().await, Ok(1));
}

pub async fn a_switch_to_filters_whose_matches_are_served_already_changes_nothing(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let switched = switch(&world, &backfill, watermark, &["3", "4"], 60).await;
    assert_eq!(switched, SwitchMatches::Switched { total: 2 });
    let listed = world.listed().await;
    assert_eq!(
        switch(&world, &backfill, watermark, &["3"], 61).await,
        SwitchMatches::Superseded,
        "another process was quicker"
    );
    assert_eq!(world.listed().await, listed);
}

pub async fn of_many_switches_at_once_one_is_served(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let answers = at_once(6, |number| {
        let (world, backfill) = (world.clone(), backfill.clone());
        async move {
            let second = 60 + i64::try_from(number).unwrap();
            switch(&world, &backfill, watermark, &["2", "3", "4"], second).await
        }
    })
    .await;
    let of_the_one = answers
        .iter()
        .filter(|answer| **answer == SwitchMatches::Switched { total: 3 });
    assert_eq!(of_the_one.count(), 1, "{answers:?}");
    let listed = world.listed().await;
    let ids: Vec<&str> = listed.iter().map(|(id, _)| id.as_str()).collect();
    assert_eq!(ids, ["4", "3", "2"]);
    assert_eq!((listed[0].1, listed[2].1), (listed[1].1, at(20)));
    assert_eq!(due(&world).await.campaigns, []);
}

pub async fn a_switch_sends_and_bids_nothing(stores: Stores) {
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .campaign(campaign("auto").automatic());
    let world = World::with(stores, acme).await;
    world
        .ingest(at(10), vec![titled_job("1", at(1), "Go", &[])])
        .await;
    let due = due(&world).await;
    assert_eq!(due.campaigns.len(), 2);
    for backfill in &due.campaigns {
        let switched = switch(&world, backfill, due.watermark, &["1"], 20).await;
        assert_eq!(switched, SwitchMatches::Switched { total: 1 });
    }
    assert!(
        world.find(&lead_id("org_acme", "camp", "1")).await.is_none(),
        "a switch makes no lead"
    );
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(0));
}

pub async fn a_reader_sees_the_old_list_or_the_new_one(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let (old, new) = (
        ["2", "1"].map(str::to_owned).to_vec(),
        ["4", "3", "1"].map(str::to_owned).to_vec(),
    );
    let readers: Vec<_> = (0..6)
        .map(|_| {
            let (world, old, new) = (world.clone(), old.clone(), new.clone());
            tokio::spawn(async move {
                loop {
                    let page = world.list(0, 10).await;
                    let ids: Vec<String> = page.leads.iter().map(|known| known.job_id.to_string()).collect();
                    assert_eq!(page.total, u64::try_from(ids.len()).unwrap());
                    if ids == new {
                        break;
                    }
                    assert_eq!(ids, old);
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    let switched = switch(&world, &backfill, watermark, &["1", "3", "4"], 60).await;
    assert_eq!(switched, SwitchMatches::Switched { total: 3 });
    for reader in readers {
        reader.await.unwrap();
    }
}

pub async fn a_switch_and_the_feed_at_once_lose_no_match(stores: Stores) {
    let (world, backfill, watermark) = changed_world(stores).await;
    let feed = tokio::spawn({
        let world = world.clone();
        async move {
            for number in 10..30_i64 {
                world
                    .ingest(at(20 + number), vec![world.job(&number.to_string(), at(number))])
                    .await;
            }
        }
    });
    let switched = switch(&world, &backfill, watermark, &["3", "4"], 60).await;
    assert!(matches!(switched, SwitchMatches::Switched { total: 2.. }));
    feed.await.unwrap();
    let listed = world.listed().await;
    assert_eq!(world.total().await, 22);
    assert_eq!(listed.len(), 22);
    assert!(listed.iter().rev().is_sorted_by_key(|(_, created)| *created));
    for number in 10..30 {
        assert!(
            listed.iter().any(|(id, _)| *id == number.to_string()),
            "{number} is listed"
        );
    }
}
