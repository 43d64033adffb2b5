//! Leads: what the ports' contract does not reach. Many processes at once, characters that a database refuses, and
//! counting the quota from bids that are there already.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::sync::Arc;

use bidloop_domain::bidding::QuotaUsage;
use bidloop_domain::model::{
    Activity, ActivityId, ActivityKind, ActivityQuery, Authorization, BidId, BiddingConfig, CampaignId,
    CoverLetter, JobId, Lead, LeadId, LeadStatus, NewBid, OrganizationId, Timestamp, effective,
};
use bidloop_domain::port::{
    AcceptBid, LeadContext, LeadLookup, LeadPage, LeadStore, RejectLead, ReopenLead, StoreError,
};
use bidloop_persistence::Database;
use bidloop_port_contracts::fixture::activity;
use futures::future::join_all;
use tokio::sync::Barrier;
use uuid::Uuid;

use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    processes_that_list_at_once_make_each_lead_once,
    a_listed_lead_is_listed_again_as_it_then_stands,
    sixty_four_bids_of_two_processes_take_a_quota_of_ten,
    twenty_bids_of_two_processes_on_one_lead_queue_it_once,
    a_quota_is_counted_from_the_bids_that_are_there,
    a_quota_is_counted_anew_for_another_period_of_the_same_start,
    a_bid_before_the_reported_period_counts_in_it_and_is_counted_again,
    an_accepted_bid_is_stored_whole_with_any_character,
    an_unknown_lead_is_neither_found_nor_changed,
    a_lead_outlives_its_campaign,
    what_is_looked_up_at_once_is_found_as_it_is_alone,
);

/// The seeded period is from 1000 to 2000.
const NOW: i64 = 1500;

fn organization() -> OrganizationId {
    OrganizationId::parse("org_a").unwrap()
}

fn campaign() -> CampaignId {
    CampaignId::parse("camp").unwrap()
}

fn lead(job: usize) -> LeadId {
    LeadId::derive(
        &organization(),
        &campaign(),
        &JobId::parse(&format!("job-{job}")).unwrap(),
    )
}

/// `org_a` with the campaign `camp`, so many matches from the oldest, `job-1`, and a quota of ten.
async fn seeded(bed: TestDatabase, matches: usize) -> TestDatabase {
    let bed = bed.with_organization("org_a").await;
    bed.run_sql("UPDATE organizations SET proposal_limit = 10").await;
    bed.run_sql(
        "INSERT INTO bidder_accounts (organization_id, id, name, token, connected) \
         VALUES ('org_a', 'acct', 'Jane', 'token', true)",
    )
    .await;
    bed.run_sql(&format!(
        "INSERT INTO campaigns (organization_id, id, name, mode, state, account_id, bidding_config, proposal, \
         attachments, revision, matched_revision, generation, last_generation, match_total) VALUES \
         ('org_a', 'camp', 'Rust', 'external', 'paused', 'acct', '{{}}', '{{}}', '[]', 1, 1, 3, 4, {matches})"
    ))
    .await;
    for job in 1..=matches {
        bed.run_sql(&format!(
            "INSERT INTO jobs (id, seq, posted_at, json) VALUES ('job-{job}', {job}, 1, '{{\"n\": {job}}}'); \
             INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) VALUES \
             ('org_a', 'camp', 3, {job}, 'job-{job}', 100 + {job}), \
             ('org_a', 'camp', 4, {job} + 1, 'job-{job}', 7)"
        ))
        .await;
    }
    bed
}

fn entry(number: u128) -> Activity {
    let now = Timestamp::from_millis(NOW);
    Activity {
        id: ActivityId(Uuid::from_u128(number)),
        campaign_id: Some(campaign()),
        ..activity(&organization(), ActivityKind::Bid, "accepted", now)
    }
}

fn bid(number: u128, lead: LeadId, queued_at: i64) -> NewBid {
    let unset = BiddingConfig::default();
    NewBid {
        id: BidId(Uuid::from_u128(number)),
        organization_id: organization(),
        campaign_id: campaign(),
        job_id: JobId::parse(lead.as_str()).unwrap(),
        lead_id: lead,
        posted_at: Timestamp::from_millis(queued_at),
        cover_letter: CoverLetter::parse("Dear client \0 \\0".to_owned()).unwrap(),
        answers: Vec::new(),
        config: effective(&unset, &unset, &unset),
        queued_at: Timestamp::from_millis(queued_at),
        deadline: Timestamp::from_millis(queued_at + 900),
        trace_parent: None,
    }
}

async fn accept(leads: &dyn LeadStore, number: u128, lead: LeadId, at: i64) -> Result<AcceptBid, StoreError> {
    leads
        .accept_bid(
            &Authorization::Subscription,
            &bid(number, lead, at),
            &entry(number),
        )
        .await
}

fn used_up(used: u64, period_end: i64) -> AcceptBid {
    AcceptBid::QuotaUsedUp(QuotaUsage {
        used,
        limit: Some(10),
        period_end: Timestamp::from_millis(period_end),
    })
}

async fn list(database: &Database, offset: u64, limit: u32) -> LeadPage {
    let (leads, organization, campaign) = (database.leads(), organization(), campaign());
    let page = leads.page(&organization, &campaign, offset, limit).await;
    page.unwrap().unwrap()
}

async fn found(database: &Database, lead: &LeadId) -> LeadContext {
    match database.leads().find(&organization(), &campaign(), lead).await {
        Ok(LeadLookup::Found(context)) => *context,
        other => panic!("{other:?}"),
    }
}

async fn recorded_entries(database: &Database) -> usize {
    let all = ActivityQuery {
        limit: 1000,
        ..ActivityQuery::default()
    };
    database.activities().list(&all).await.unwrap().len()
}

/// Bids on `job-1` and so on, one a number below `count`, all at once and by turns in two processes.
async fn bid_at_once(
    bed: &TestDatabase,
    count: usize,
    lead_of: fn(usize) -> LeadId,
) -> Vec<Result<AcceptBid, StoreError>> {
    let processes = [bed.database.clone(), bed.reopened()];
    let barrier = Arc::new(Barrier::new(count));
    let bids: Vec<_> = (0..count)
        .map(|number| {
            let leads = processes[number % 2].leads();
            let barrier = Arc::clone(&barrier);
            tokio::spawn(async move {
                barrier.wait().await;
                accept(&*leads, number as u128, lead_of(number), NOW).await
            })
        })
        .collect();
    let mut answers = Vec::new();
    for bid in bids {
        answers.push(bid.await.unwrap());
    }
    answers
}

fn accepted(answers: &[Result<AcceptBid, StoreError>]) -> usize {
    answers
        .iter()
        .filter(|answer| **answer == Ok(AcceptBid::Accepted))
        .count()
}

async fn processes_that_list_at_once_make_each_lead_once(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 40).await;
    let processes = [bed.database.clone(), bed.reopened()];
    let pages: Vec<_> = (0..16_usize)
        .map(|number| {
            let database = processes[number % 2].clone();
            // Pages that overlap.
            tokio::spawn(async move { list(&database, number as u64 / 2, 32).await })
        })
        .collect();
    for (number, page) in pages.into_iter().enumerate() {
        let page = page.await.unwrap();
        assert_eq!((page.total, page.campaign_name.as_str()), (40, "Rust"));
        let expected: Vec<_> = (0..32).map(|place| lead(40 - number / 2 - place)).collect();
        let listed: Vec<_> = page.leads.iter().map(|known| known.id.clone()).collect();
        assert_eq!(listed, expected);
        let first = &page.leads[0];
        let newest = 40 - number / 2;
        let created_at = i64::try_from(100 + newest).unwrap();
        assert_eq!(first.created_at, Timestamp::from_millis(created_at));
        assert_eq!(first.job_id.as_str(), format!("job-{newest}"));
    }
    bed
}

async fn a_listed_lead_is_listed_again_as_it_then_stands(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 3).await;
    let page = list(&bed.database, 0, 100).await;
    bed.run_sql(
        "UPDATE leads SET status = 'rejected', rejection_reason = 'odd \\\\ text' WHERE job_id = 'job-2'",
    )
    .await;
    let again = list(&bed.database, 0, 100).await;
    assert_eq!(
        (&again.leads[0], &again.leads[2]),
        (&page.leads[0], &page.leads[2])
    );
    assert_eq!(again.leads[1].status, LeadStatus::Rejected);
    let rejected = found(&bed.database, &again.leads[1].id).await.lead.lead;
    assert_eq!(rejected.rejection_reason.as_deref(), Some("odd \\ text"));
    bed
}

async fn sixty_four_bids_of_two_processes_take_a_quota_of_ten(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 64).await;
    list(&bed.database, 0, 64).await;
    let answers = bid_at_once(&bed, 64, |number| lead(number + 1)).await;
    assert_eq!(accepted(&answers), 10);
    let refused = answers
        .iter()
        .filter(|answer| **answer == Ok(used_up(10, 2000)))
        .count();
    assert_eq!(refused, 54);
    let leads = list(&bed.database, 0, 64).await.leads;
    let queued = leads
        .iter()
        .filter(|known| known.status == LeadStatus::Queued)
        .count();
    let new = leads
        .iter()
        .filter(|known| known.status == LeadStatus::New)
        .count();
    assert_eq!((queued, new), (10, 54));
    assert_eq!(recorded_entries(&bed.database).await, 10);
    bed
}

async fn twenty_bids_of_two_processes_on_one_lead_queue_it_once(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 1).await;
    list(&bed.database, 0, 1).await;
    let answers = bid_at_once(&bed, 20, |_| lead(1)).await;
    assert_eq!(accepted(&answers), 1);
    let refused = Ok(AcceptBid::LeadNotNew(LeadStatus::Queued));
    assert_eq!(answers.iter().filter(|answer| **answer == refused).count(), 19);
    assert_eq!(recorded_entries(&bed.database).await, 1);
    let record = found(&bed.database, &lead(1)).await.bid.unwrap();
    let winner = answers
        .iter()
        .position(|answer| *answer == Ok(AcceptBid::Accepted));
    assert_eq!(
        Some(record.id),
        winner.map(|number| BidId(Uuid::from_u128(number as u128)))
    );
    bed
}

/// Bids behind the store's back: `(status, queued_at, period_start)` each.
async fn stored_bids(bed: &TestDatabase, bids: &[(&str, i64, i64)]) {
    for (number, (status, queued_at, period_start)) in bids.iter().enumerate() {
        bed.run_sql(&format!(
            "INSERT INTO bids (organization_id, id, campaign_id, lead_id, job_id, account_id, cover_letter, \
             answers, config, attachments, queued_at, period_start, deadline, status, next_attempt_at, attempts, \
             answer_outstanding, boost_connects, connects_spent) VALUES ('org_a', 'old-{number}', 'camp', 'ld', \
             'job', 'acct', '', '[]', '{{}}', '[]', {queued_at}, {period_start}, 0, '{status}', 0, 0, false, 0, 0)"
        ))
        .await;
    }
}

async fn a_quota_is_counted_from_the_bids_that_are_there(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 5).await;
    list(&bed.database, 0, 5).await;
    let mut bids = vec![
        ("queued", 999, 0),
        ("queued", 2000, 2000),
        ("skipped", 1100, 1000),
        ("failed", 1100, 1000),
    ];
    bids.extend([("queued", 1000, 1000), ("submitted", 1999, 1000)].repeat(4));
    stored_bids(&bed, &bids).await;
    let leads = bed.database.leads();
    for number in 1..=2 {
        assert_eq!(
            accept(&*leads, number as u128, lead(number), NOW).await,
            Ok(AcceptBid::Accepted)
        );
    }
    assert_eq!(accept(&*leads, 3, lead(3), NOW).await, Ok(used_up(10, 2000)));
    // The next period has one.
    assert_eq!(accept(&*leads, 4, lead(4), 2500).await, Ok(AcceptBid::Accepted));
    bed
}

async fn a_quota_is_counted_anew_for_another_period_of_the_same_start(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 12).await;
    list(&bed.database, 0, 12).await;
    let leads = bed.database.leads();
    for number in 1..=10 {
        let at = if number <= 5 { 1100 } else { NOW };
        assert_eq!(
            accept(&*leads, number as u128, lead(number), at).await,
            Ok(AcceptBid::Accepted)
        );
    }
    assert_eq!(accept(&*leads, 11, lead(11), NOW).await, Ok(used_up(10, 2000)));
    bed.run_sql("UPDATE organizations SET period_end = 1200").await;
    assert_eq!(accept(&*leads, 11, lead(11), 1199).await, Ok(AcceptBid::Accepted));
    bed.run_sql("UPDATE organizations SET proposal_limit = 6").await;
    let usage = QuotaUsage {
        used: 6,
        limit: Some(6),
        period_end: Timestamp::from_millis(1200),
    };
    assert_eq!(
        accept(&*leads, 12, lead(12), 1199).await,
        Ok(AcceptBid::QuotaUsedUp(usage))
    );
    bed
}

async fn a_bid_before_the_reported_period_counts_in_it_and_is_counted_again(
    bed: TestDatabase,
) -> TestDatabase {
    let bed = seeded(bed, 12).await;
    list(&bed.database, 0, 12).await;
    let leads = bed.database.leads();
    for number in 1..=10 {
        assert_eq!(
            accept(&*leads, number as u128, lead(number), 500).await,
            Ok(AcceptBid::Accepted)
        );
    }
    assert_eq!(accept(&*leads, 11, lead(11), NOW).await, Ok(used_up(10, 2000)));
    bed.run_sql("DELETE FROM quota_usage").await;
    assert_eq!(accept(&*leads, 11, lead(11), NOW).await, Ok(used_up(10, 2000)));
    bed
}

async fn an_accepted_bid_is_stored_whole_with_any_character(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 1).await;
    list(&bed.database, 0, 1).await;
    bed.run_sql(
        "UPDATE campaigns SET attachments = '[{\"name\": \"a \\u0000.pdf\", \"contentType\": \"application/pdf\", \
         \"sizeBytes\": 5, \"sha256\": \"ab\", \"storagePath\": \"p\"}]'",
    )
    .await;
    assert_eq!(
        accept(&*bed.database.leads(), 1, lead(1), NOW).await,
        Ok(AcceptBid::Accepted)
    );
    let context = found(&bed.reopened(), &lead(1)).await;
    let record = context.bid.unwrap();
    let asked = bid(1, lead(1), NOW);
    assert_eq!((record.id, record.status), (asked.id, LeadStatus::Queued));
    assert_eq!((record.account_id.as_str(), record.attempts), ("acct", 0));
    assert_eq!(
        (record.queued_at, record.deadline),
        (asked.queued_at, asked.deadline)
    );
    assert_eq!((record.proposal, record.config), (None, asked.config));
    assert_eq!(record.attachments[0].name, "a \0.pdf");
    bed
}

async fn an_unknown_lead_is_neither_found_nor_changed(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 1).await;
    let leads = bed.database.leads();
    let unknown = LeadId::parse("ld_unknown").unwrap();
    let lookup = leads.find(&organization(), &campaign(), &unknown).await;
    assert!(matches!(lookup, Ok(LeadLookup::LeadUnknown)));
    assert!(matches!(leads.find_anywhere(&unknown).await, Ok(None)));
    assert_eq!(
        accept(&*leads, 1, unknown.clone(), NOW).await,
        Ok(AcceptBid::LeadUnknown)
    );
    let _listed = list(&bed.database, 0, 1).await;
    let mut no_lead = found(&bed.database, &lead(1)).await.lead.lead;
    no_lead.id = unknown.clone();
    let rejection = leads
        .reject(&Authorization::Subscription, &no_lead, Some("\0"), &entry(2))
        .await;
    assert_eq!(rejection, Ok(RejectLead::LeadUnknown));
    assert_eq!(
        leads.configure(&unknown, &BiddingConfig::default()).await,
        Ok(false)
    );
    assert_eq!(
        leads.reopen(&unknown, &entry(3)).await,
        Ok(ReopenLead::LeadUnknown)
    );
    bed
}

async fn a_lead_outlives_its_campaign(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 1).await;
    list(&bed.database, 0, 1).await;
    let listed = found(&bed.database, &lead(1)).await;
    bed.run_sql("DELETE FROM matches; DELETE FROM campaigns").await;
    let leads = bed.database.leads();
    let lookup = leads.find(&organization(), &campaign(), &lead(1)).await;
    assert!(matches!(lookup, Ok(LeadLookup::CampaignUnknown)));
    let location = leads.locate(&organization(), &campaign(), &lead(1)).await;
    assert_eq!(location, Ok(LeadLookup::CampaignUnknown));
    let context = leads.find_anywhere(&lead(1)).await.unwrap().unwrap();
    assert_eq!(context.lead, listed.lead);
    assert!(context.campaign.is_none());
    assert_eq!(accept(&*leads, 1, lead(1), NOW).await, Ok(AcceptBid::LeadUnknown));
    assert_eq!(leads.page(&organization(), &campaign(), 0, 1).await, Ok(None));
    bed
}

async fn what_is_looked_up_at_once_is_found_as_it_is_alone(bed: TestDatabase) -> TestDatabase {
    let bed = seeded(bed, 3).await.with_organization("org_b").await;
    bed.run_sql(
        "INSERT INTO campaigns (organization_id, id, name, mode, state, bidding_config, proposal, attachments, revision, \
         matched_revision, generation, last_generation, match_total) VALUES \
         ('org_a', 'other', 'Go', 'external', 'paused', '{}', '{}', '[]', 1, 1, 3, 4, 0), \
         ('org_b', 'camp', 'Rust', 'external', 'paused', '{}', '{}', '[]', 1, 1, 3, 4, 0)",
    )
    .await;
    list(&bed.database, 0, 3).await;
    let (bid_on, unreadable) = (lead(1), lead(2));
    let leads = bed.database.leads();
    assert_eq!(
        accept(&*leads, 1, bid_on.clone(), NOW).await,
        Ok(AcceptBid::Accepted)
    );
    bed.run_sql(&format!(
        "UPDATE leads SET status = 'odd' WHERE id = '{unreadable}'"
    ))
    .await;

    let ids = [
        bid_on.clone(),
        unreadable.clone(),
        lead(3),
        LeadId::parse("ld_9").unwrap(),
    ];
    let campaigns = [
        ("org_a", "camp"),
        ("org_a", "other"),
        ("org_a", "gone"),
        ("org_b", "camp"),
        ("org_b", "other"),
    ];
    let asked: Vec<_> = campaigns
        .iter()
        .flat_map(|(organization, campaign)| ids.iter().map(move |id| (*organization, *campaign, id)))
        .collect();
    let look_up = async |(organization, campaign, id): (&str, &str, &LeadId)| {
        let organization = OrganizationId::parse(organization).unwrap();
        let campaign = CampaignId::parse(campaign).unwrap();
        let located = leads.locate(&organization, &campaign, id).await;
        let found = leads.find(&organization, &campaign, id).await;
        let found = found.map(|found| found.map(|context| context.lead.lead));
        assert_eq!(located, found, "{organization} {campaign} {id}");
        located
    };
    let mut alone = Vec::new();
    for one in asked.clone() {
        alone.push(look_up(one).await);
    }
    assert_eq!(join_all(asked.into_iter().map(look_up)).await, alone);

    let kind = |located: &Result<LeadLookup<Lead>, StoreError>| match located {
        Ok(LeadLookup::Found(_)) => "found",
        Ok(LeadLookup::LeadUnknown) => "no lead",
        Ok(LeadLookup::CampaignUnknown) => "no campaign",
        Err(StoreError::Corrupt(_)) => "unreadable",
        Err(_) => "an error",
    };
    let kinds: Vec<&str> = alone.iter().map(kind).collect();
    let none = |what| [what; 4];
    let expected = [
        ["found", "unreadable", "found", "no lead"],
        none("no lead"),
        none("no campaign"),
        none("no lead"),
        none("no campaign"),
    ];
    assert_eq!(kinds, expected.concat());
    bed
}
