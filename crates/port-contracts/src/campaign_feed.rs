//! The rules of `CampaignFeedStore` for matches: they are shown without becoming leads, and counted exactly by the status
//! of their leads (decision E9).

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{ActivityKind, Actor, Authorization, FilterId, Lead, LeadStatus, VariantArray};
use bidloop_domain::port::{
    FeedCounts, FeedQuery, FilterRecord, LeadLookup, ListedMatch, ListedMatches, MatchedJob,
    ProvisioningChange, Prunable, RejectLead, ReopenLead, SwitchMatches,
};
use serde_json::json;

use crate::Stores;
use crate::fixture::{
    World, activity, at, at_once, campaign, commit, job_id, organization, refused_bid, submitted, titled_job,
};
use crate::retention::prune;

/// A page of the Feed.
async fn feed(world: &World, status: Option<LeadStatus>, offset: u64, limit: u32) -> ListedMatches {
    let query = FeedQuery {
        status,
        offset,
        limit,
    };
    let page = world
        .stores
        .campaign_feed
        .feed_page(&world.organization, &world.campaign, &query)
        .await;
    page.expect("a page").expect("a campaign")
}

/// The jobs of a part of the Feed, newest first.
async fn shown(world: &World, status: Option<LeadStatus>) -> Vec<String> {
    let page = feed(world, status, 0, 1000).await;
    ids(&page.entries)
}

fn ids(entries: &[ListedMatch]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| entry.lead.job_id.to_string())
        .collect()
}

async fn reject(world: &World, lead: &Lead) {
    let mut entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(5));
    entry.lead_id = Some(lead.id.clone());
    entry.actor = Actor::command("the test");
    let rejected = world
        .stores
        .leads
        .reject(&Authorization::Subscription, lead, Some("Too far."), &entry)
        .await;
    assert_eq!(rejected, Ok(RejectLead::Rejected));
}

/// Compares the counts and the pages of each status with the whole list, read lead by lead.
pub(crate) async fn assert_counted(world: &World) -> FeedCounts {
    let page = feed(world, None, 0, 1000).await;
    let mut statuses = Vec::new();
    for entry in &page.entries {
        let stored = world.find(&entry.lead.id).await;
        let status = stored.map_or(LeadStatus::New, |found| found.lead.lead.status);
        assert_eq!(entry.lead.status, status);
        statuses.push(status);
    }
    assert_eq!(page.counts.all, statuses.len() as u64);
    for status in LeadStatus::VARIANTS {
        let expected: Vec<String> = page
            .entries
            .iter()
            .filter(|entry| entry.lead.status == *status)
            .map(|entry| entry.lead.job_id.to_string())
            .collect();
        assert_eq!(page.counts.of(*status), expected.len() as u64, "{status}");
        assert_eq!(shown(world, Some(*status)).await, expected, "{status}");
    }
    page.counts
}

/// Six leads, one of each status, and a match without a lead.
async fn one_of_each(stores: Stores) -> World {
    let world = World::new(stores).await;
    let leads = world.new_leads(6, at(0)).await;
    reject(&world, &leads[1]).await;
    world
        .bid_to_the_end(&leads[2], submitted("p", at(2)), at(1))
        .await;
    world
        .bid_to_the_end(&leads[3], refused_bid(ReasonCode::AlreadyHired), at(1))
        .await;
    world
        .bid_to_the_end(&leads[4], refused_bid(ReasonCode::JobClosed), at(1))
        .await;
    world.bid(&leads[5], at(2)).await;
    world
}

async fn commit_filter(world: &World, body: serde_json::Value) {
    let filter = FilterRecord {
        id: FilterId::parse("f_camp").unwrap(),
        name: "Any".to_owned(),
        body,
    };
    let (organization, campaign) = (world.organization.clone(), world.campaign.clone());
    let change = ProvisioningChange::PutFilter(organization, campaign, filter);
    commit(&world.stores, &[change]).await;
}

/// Switches the world's campaign to these jobs.
async fn switch_to(world: &World, jobs: &[&str]) {
    let due = world.stores.matches.due_backfills().await.unwrap();
    let backfill = due
        .campaigns
        .iter()
        .find(|due| due.campaign_id == world.campaign)
        .unwrap();
    let stored = world
        .stores
        .matches
        .stored_jobs(due.watermark, None, 1000)
        .await
        .unwrap();
    let matched = stored.iter().filter(|job| jobs.contains(&job.id.as_str()));
    let matched: Vec<i64> = matched.map(|job| job.seq).collect();
    let switched = world
        .stores
        .matches
        .switch(backfill, due.watermark, &matched, at(100))
        .await;
    assert!(
        matches!(switched, Ok(SwitchMatches::Switched { .. })),
        "{switched:?}"
    );
}

pub(crate) fn elsewhere(id: &str, title: &str) -> MatchedJob {
    titled_job(id, at(0), title, &[])
}

pub async fn a_feed_shows_what_the_list_shows_and_makes_no_lead(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    for second in 1..=5 {
        let job = world.job(&second.to_string(), at(second));
        world.ingest(at(second), vec![job]).await;
    }
    let page = feed(&world, None, 1, 2).await;
    assert_eq!(ids(&page.entries), ["4", "3"]);
    assert_eq!(
        (page.counts.all, page.counts.new, page.campaign_name.as_str()),
        (5, 5, "Campaign camp")
    );
    let entry = page.entries[0].clone();
    assert!(!entry.is_stored);
    let found = world
        .stores
        .leads
        .find(&world.organization, &world.campaign, &entry.lead.id)
        .await;
    assert!(matches!(found, Ok(LeadLookup::LeadUnknown)));
    let listed = world.listed_lead(1).await;
    assert_eq!(world.context(&listed).await.lead.job_json, entry.job_json);
    assert_eq!(entry.lead, listed);
    assert!(feed(&world, None, 1, 1).await.entries[0].is_stored);
    assert!(feed(&world, None, 5, 10).await.entries.is_empty());
    assert!(feed(&world, None, u64::MAX, 10).await.entries.is_empty());
}

pub async fn the_statuses_partition_the_list(stores: Stores) {
    let world = one_of_each(stores).await;
    world.ingest(at(9), vec![world.job("later", at(9))]).await;
    let counts = assert_counted(&world).await;
    let expected = FeedCounts {
        all: 7,
        new: 2,
        queued: 1,
        submitted: 1,
        skipped: 1,
        failed: 1,
        rejected: 1,
    };
    assert_eq!(counts, expected);
}

pub async fn a_reopened_lead_is_new_again(stores: Stores) {
    let world = one_of_each(stores).await;
    let skipped = feed(&world, Some(LeadStatus::Skipped), 0, 1)
        .await
        .entries
        .remove(0);
    let entry = activity(&world.organization, ActivityKind::Submission, "new", at(50));
    let reopened = world.stores.leads.reopen(&skipped.lead.id, &entry).await;
    assert_eq!(reopened, Ok(ReopenLead::Reopened));
    let counts = assert_counted(&world).await;
    assert_eq!((counts.new, counts.skipped), (2, 0));
}

pub async fn pages_of_a_status_are_side_by_side(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(7, at(0)).await;
    for lead in &leads[1..6] {
        reject(&world, lead).await;
    }
    for status in [LeadStatus::Rejected, LeadStatus::New] {
        let whole = shown(&world, Some(status)).await;
        let mut paged = Vec::new();
        for offset in [0, 2, 4] {
            paged.extend(ids(&feed(&world, Some(status), offset, 2).await.entries));
        }
        assert_eq!(paged, whole);
    }
}

pub async fn pages_far_from_both_ends_of_the_new_leads_are_side_by_side(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(500, at(0)).await;
    // Few are left of the oldest, most of the newest, and a stretch of none lies between.
    let decided = |place: usize| match place {
        0..200 => !place.is_multiple_of(8),
        200..300 => true,
        _ => place.is_multiple_of(3),
    };
    for (place, lead) in leads.iter().enumerate() {
        if decided(place) {
            reject(&world, lead).await;
        }
    }
    let whole = shown(&world, Some(LeadStatus::New)).await;
    assert_eq!(whole.len(), 25 + 133);
    let mut paged = Vec::new();
    for offset in (0..whole.len() as u64).step_by(10) {
        let page = feed(&world, Some(LeadStatus::New), offset, 10).await;
        paged.extend(ids(&page.entries));
    }
    assert_eq!(paged, whole);
}

pub async fn a_decided_lead_counts_while_the_campaign_lists_its_job(stores: Stores) {
    let world = one_of_each(stores).await;
    world.ingest(at(20), vec![elsewhere("many-1", "Elsewhere")]).await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.rejected), (5, 0));
    let again = titled_job("many-1", at(0), "Back", &[("org_acme", "camp")]);
    world.ingest(at(30), vec![again]).await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.rejected), (6, 1));
}

pub async fn a_changed_job_among_decided_ones_moves_no_status(stores: Stores) {
    let world = one_of_each(stores).await;
    // The oldest leaves, so all others get new numbers.
    world.ingest(at(20), vec![elsewhere("many-0", "Elsewhere")]).await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.new, counts.rejected), (5, 0, 1));
}

pub async fn the_counts_follow_a_change_of_filters(stores: Stores) {
    let world = one_of_each(stores).await;
    commit_filter(&world, json!({"keywords": "rust"})).await;
    switch_to(&world, &["many-1", "many-2", "many-0"]).await;
    let counts = assert_counted(&world).await;
    assert_eq!(
        (counts.all, counts.new, counts.rejected, counts.submitted),
        (3, 1, 1, 1)
    );
    commit_filter(&world, json!({})).await;
    let all = ["many-0", "many-1", "many-2", "many-3", "many-4", "many-5"];
    switch_to(&world, &all).await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.new), (6, 1));
}

pub async fn the_counts_outlive_pruning(stores: Stores) {
    let world = one_of_each(stores).await;
    let due = world.stores.matches.due_backfills().await.unwrap();
    if !due.campaigns.is_empty() {
        switch_to(
            &world,
            &["many-0", "many-1", "many-2", "many-3", "many-4", "many-5"],
        )
        .await;
    }
    let pause = campaign("camp").paused().0;
    let change = ProvisioningChange::PutCampaign(world.organization.clone(), Box::new(pause));
    commit(&world.stores, &[change]).await;
    world.ingest(at(50), vec![world.job("unseen", at(50))]).await;
    prune(&world, Prunable::Matches, at(60), 2).await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.new), (6, 1));
}

pub async fn decisions_while_a_backfill_switches_are_all_counted(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(12, at(0)).await;
    commit_filter(&world, json!({"keywords": "rust"})).await;
    let names: Vec<String> = (0..12).map(|number| format!("many-{number}")).collect();
    let worker = world.clone();
    at_once(13, move |number| {
        let (world, leads, names) = (worker.clone(), leads.clone(), names.clone());
        async move {
            if let Some(lead) = leads.get(number) {
                reject(&world, lead).await;
            } else {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                switch_to(&world, &names).await;
            }
        }
    })
    .await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.rejected), (12, 12));
}

pub async fn decisions_while_a_page_changes_the_list_are_all_counted(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(8, at(0)).await;
    let worker = world.clone();
    at_once(9, move |number| {
        let (world, leads) = (worker.clone(), leads.clone());
        async move {
            match leads.get(number) {
                Some(lead) => reject(&world, lead).await,
                None => drop(world.ingest(at(20), vec![elsewhere("many-0", "Elsewhere")]).await),
            }
        }
    })
    .await;
    let counts = assert_counted(&world).await;
    assert_eq!((counts.all, counts.rejected), (7, 7));
}

pub async fn an_entry_tells_its_bid_and_who_rejected_it(stores: Stores) {
    let world = one_of_each(stores).await;
    let page = feed(&world, None, 0, 10).await;
    let of = |status| {
        page.entries
            .iter()
            .find(|entry| entry.lead.status == status)
            .unwrap()
    };
    let rejected = of(LeadStatus::Rejected);
    assert_eq!(rejected.rejected_by, Some(Actor::command("the test")));
    assert_eq!(rejected.bid, None);
    let submitted = of(LeadStatus::Submitted).bid.clone().unwrap();
    assert_eq!(submitted.status, LeadStatus::Submitted);
    assert_eq!(submitted.connects_spent.get(), 15);
    assert_eq!(
        (submitted.submitted_at, submitted.ended_at),
        (Some(at(2)), Some(at(1)))
    );
    assert!(submitted.terms.is_some());
    let queued = of(LeadStatus::Queued).bid.clone().unwrap();
    assert_eq!((queued.status, queued.attempts), (LeadStatus::Queued, 0));
    assert_eq!((queued.queued_at, queued.next_attempt_at), (at(2), at(2)));
    assert_eq!((queued.terms, queued.ended_at), (None, None));
    let lead = &of(LeadStatus::Queued).lead.id;
    let (summary, letter) = world
        .stores
        .campaign_feed
        .latest_bid(&world.organization, lead)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(summary, queued);
    assert_eq!(letter.cover_letter.unwrap().as_str(), "Dear client,\n  I am Zoë.");
    assert_eq!(letter.answers.len(), 1);
    let none = &of(LeadStatus::New).lead.id;
    let none = world
        .stores
        .campaign_feed
        .latest_bid(&world.organization, none)
        .await;
    assert_eq!(none, Ok(None));
}

pub async fn entries_of_jobs_are_in_the_lists_order(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(4, at(0)).await;
    let wanted = ["many-1", "unknown", "many-3"].map(job_id);
    let page = world
        .stores
        .campaign_feed
        .feed_entries(&world.organization, &world.campaign, &wanted)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(ids(&page), ["many-3", "many-1"]);
}

pub async fn signed_matches_are_read_in_runs_from_the_newest(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(5, at(0)).await;
    reject(&world, &leads[4]).await;
    let feed = &world.stores.campaign_feed;
    let (mut below, mut read) = (None, Vec::new());
    for expected in [4, 2, 0] {
        let run = feed
            .signed_matches(&world.organization, &world.campaign, below, 2)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(run.older_below, expected);
        below = Some(run.older_below);
        read.extend(run.matches);
    }
    let places: Vec<u64> = read.iter().map(|signed| signed.place).collect();
    assert_eq!(places, [5, 4, 3, 2, 1]);
    let jobs: Vec<&str> = read.iter().map(|signed| signed.job_id.as_str()).collect();
    assert_eq!(jobs, ["many-4", "many-3", "many-2", "many-1", "many-0"]);
    assert_eq!(
        (read[0].status, read[1].status),
        (LeadStatus::Rejected, LeadStatus::New)
    );
    let job = world.job("many-0", at(0));
    assert_eq!(read[4].signature.as_ref(), Some(&job.signature));
}
