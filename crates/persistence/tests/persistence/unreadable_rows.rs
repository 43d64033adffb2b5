//! Rows that cannot be understood cost nobody else anything (decision D2). Fakes cannot hold such rows, so this is not
//! in the ports' contract.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{DeliveryId, EventKind, LeadId, LeadStatus};
use bidloop_domain::port::{
    ClaimedDelivery, FilterChanges, LeaseOwner, PendingDelivery, ProvisioningChange, Revision, StoreError,
    SwitchMatches,
};
use bidloop_domain::provisioning::EntityKind;
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{
    World, account, activity, at, campaign, clock_at, commit, finish, organization, organization_id, seconds,
    submitted, webhook,
};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    an_unreadable_bid_is_not_claimed_and_the_others_are,
    a_bid_whose_account_lead_or_job_is_unreadable_is_not_claimed,
    a_hundred_unreadable_bids_of_one_account_do_not_hide_the_next,
    an_unreadable_intent_is_passed_over,
    unreadable_filters_are_passed_over_page_by_page,
    a_filter_that_becomes_unreadable_counts_as_removed,
    an_unreadable_job_is_passed_over_by_scans_and_replaced_by_the_feed,
    a_page_is_recorded_for_campaigns_and_organizations_that_are_unreadable,
    a_list_page_leaves_unreadable_leads_out_and_keeps_its_total,
    an_unreadable_lead_fails_its_own_requests_alone,
    provisioning_goes_on_beside_unreadable_rows_and_puts_them_anew,
    a_campaign_of_which_nothing_can_be_read_can_be_removed,
    an_organization_that_cannot_be_read_is_named_as_such_and_can_be_removed,
    unreadable_entries_of_the_activity_record_are_left_out,
    a_trace_that_is_unreadable_is_none,
    what_was_set_aside_is_tried_again_after_a_restart,
);

pub(crate) async fn world(bed: &TestDatabase) -> World {
    World::new(stores(&bed.database)).await
}

pub(crate) fn pending(world: &World) -> impl Future<Output = Vec<PendingDelivery>> {
    let deliveries = world.stores.deliveries.clone();
    async move { deliveries.pending(&[], 16, 16).await.unwrap() }
}

pub(crate) async fn claim(stores: &Stores, pending: &[PendingDelivery]) -> Vec<ClaimedDelivery> {
    let (owner, clock) = (LeaseOwner::new("sender"), clock_at(at(100)));
    let claimed = stores.deliveries.claim(pending, &owner, &clock, seconds(14));
    claimed.await.unwrap()
}

pub(crate) async fn claimed(world: &World) -> Vec<LeadId> {
    let claimed = claim(&world.stores, &pending(world).await).await;
    claimed.into_iter().map(|delivery| delivery.lead_id).collect()
}

pub(crate) fn counted(bed: &TestDatabase, table: &str) -> u64 {
    let counts = bed.database.quarantine().counts();
    counts
        .into_iter()
        .find(|(name, _)| *name == table)
        .map_or(0, |(_, count)| count)
}

async fn an_unreadable_bid_is_not_claimed_and_the_others_are(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let leads = world.new_leads(3, at(0)).await;
    for lead in &leads {
        world.bid(lead, at(10)).await;
    }
    for (broken, with) in [(&leads[0], "config = '{'"), (&leads[1], "attempts = -1")] {
        bed.run_sql(&format!("UPDATE bids SET {with} WHERE lead_id = '{}'", broken.id))
            .await;
    }
    assert_eq!(
        world.claim_one("submitter", at(20)).await.bid.lead_id,
        leads[2].id
    );
    assert_eq!(counted(&bed, "bids"), 2);
    assert_eq!(
        bed.number("SELECT COUNT(*) FROM bids WHERE lease_owner IS NULL")
            .await,
        2
    );
    bed
}

async fn a_bid_whose_account_lead_or_job_is_unreadable_is_not_claimed(bed: TestDatabase) -> TestDatabase {
    let world = World::with(
        stores(&bed.database),
        organization("org_acme")
            .campaign(campaign("camp"))
            .account("acct_2")
            .campaign(campaign("other").bids_with(Some("acct_2"))),
    )
    .await;
    let leads = world.new_leads(3, at(0)).await;
    let of_other_account = world.campaign("other").new_lead("9", at(5)).await;
    for lead in leads.iter().chain([&of_other_account]) {
        world.bid(lead, at(10)).await;
    }
    bed.run_sql(&format!(
        "UPDATE leads SET reason = 'nonsense' WHERE id = '{}'; \
         UPDATE jobs SET json = '[]' WHERE id = '{}'; \
         UPDATE bidder_accounts SET token = '\\x' WHERE id = 'acct_2'",
        leads[0].id, leads[1].job_id
    ))
    .await;
    let claimed = world.claim_one("submitter", at(20)).await;
    assert_eq!(claimed.bid.lead_id, leads[2].id);
    assert_eq!(counted(&bed, "bids"), 3);
    let end = finish(&claimed.bid, submitted("p-1", at(21)), at(21));
    assert_eq!(
        world.stores.submissions.finish(&end, &claimed.owner).await,
        Ok(true)
    );
    assert!(world.claim("submitter", at(1000)).await.is_empty());
    // A new token makes the account readable.
    world.put_account(account("acct_2")).await;
    bed.database.quarantine().next_round();
    assert_eq!(
        world.claim_one("submitter", at(1000)).await.bid.lead_id,
        of_other_account.id
    );
    bed
}

async fn a_hundred_unreadable_bids_of_one_account_do_not_hide_the_next(bed: TestDatabase) -> TestDatabase {
    let world = World::with(
        stores(&bed.database),
        organization("org_acme").campaign(campaign("camp")).limit(200),
    )
    .await;
    let leads = world.new_leads(101, at(0)).await;
    for lead in &leads {
        world.bid(lead, at(10)).await;
    }
    let good = leads.last().unwrap();
    bed.run_sql(&format!(
        "UPDATE bids SET answers = '' WHERE lead_id <> '{}'",
        good.id
    ))
    .await;
    let owner = LeaseOwner::new("submitter");
    let mut claimed = Vec::new();
    // A claim ends after a second of a busy machine. The next goes on behind what was set aside.
    for _ in 0..10 {
        let claim = world.stores.submissions.claim(&owner, at(20), at(30), 1);
        claimed.extend(claim.await.unwrap());
        if !claimed.is_empty() {
            break;
        }
    }
    let claimed: Vec<&LeadId> = claimed.iter().map(|claimed| &claimed.bid.lead_id).collect();
    assert_eq!(claimed, [&good.id]);
    bed
}

async fn a_trace_that_is_unreadable_is_none(bed: TestDatabase) -> TestDatabase {
    let (world, lead) = World::with_lead(stores(&bed.database)).await;
    world.bid(&lead, at(1)).await;
    let nonsense = "00-nonsense-01";
    bed.run_sql(&format!("UPDATE bids SET trace_parent = '{nonsense}'"))
        .await;
    bed.run_sql(&format!("UPDATE deliveries SET trace_parent = '{nonsense}'"))
        .await;
    assert_eq!(world.claim_one("me", at(2)).await.bid.trace_parent, None);
    let sent = claim(&world.stores, &pending(&world).await).await;
    assert!(!sent.is_empty() && sent.iter().all(|delivery| delivery.trace_parent.is_none()));
    assert_eq!((counted(&bed, "bids"), counted(&bed, "deliveries")), (0, 0));
    bed
}

async fn an_unreadable_intent_is_passed_over(bed: TestDatabase) -> TestDatabase {
    let world = World::with(
        stores(&bed.database),
        organization("org_acme").campaign(campaign("camp").automatic()),
    )
    .await;
    let jobs = (0..40)
        .map(|number| world.job(&format!("j{number}"), at(number)))
        .collect();
    world.ingest(at(100), jobs).await;
    let good = LeadId::derive(&world.organization, &world.campaign, &world.job("j39", at(0)).id);
    bed.run_sql(&format!(
        "UPDATE automatic_bids SET campaign_id = '' WHERE lead_id <> '{good}'; \
         UPDATE automatic_bids SET queued_at = queued_at + 1 WHERE lead_id = '{good}'"
    ))
    .await;

    let (intents, owner) = (&world.stores.automatic_bids, LeaseOwner::new("writer"));
    let claimed = intents.claim(&owner, at(200), at(210), 8).await.unwrap();
    assert_eq!(claimed.len(), 1);
    assert_eq!(claimed[0].lead_id, good);
    assert_eq!(counted(&bed, "automatic_bids"), 39);
    bed
}

/// `camp` with the filters `f0` to `f9`.
async fn ten_filters(bed: &TestDatabase) -> World {
    let mut builder = campaign("camp").without_filters();
    for number in 0..10 {
        builder = builder.filter(&format!("f{number}"), serde_json::json!({"keywords": "rust"}));
    }
    World::with(stores(&bed.database), organization("org_acme").campaign(builder)).await
}

async fn unreadable_filters_are_passed_over_page_by_page(bed: TestDatabase) -> TestDatabase {
    let world = ten_filters(&bed).await;
    bed.run_sql("UPDATE filters SET campaign_id = '' WHERE id IN ('f0', 'f1', 'f2', 'f5', 'f9')")
        .await;
    let (jobs, mut read, mut after) = (&world.stores.jobs, Vec::new(), None);
    loop {
        let page = jobs.filters(after.as_ref(), 2).await.unwrap();
        read.extend(page.iter().map(|filter| filter.id.to_string()));
        if page.len() < 2 {
            break;
        }
        after = page
            .last()
            .map(|last| (last.organization_id.clone(), last.id.clone()));
    }
    assert_eq!(read, ["f3", "f4", "f6", "f7", "f8"]);
    let due = world.stores.matches.due_backfills().await.unwrap();
    assert_eq!(due.campaigns[0].filters.len(), 5);
    assert_eq!(counted(&bed, "filters"), 5);
    bed
}

async fn a_filter_that_becomes_unreadable_counts_as_removed(bed: TestDatabase) -> TestDatabase {
    let world = ten_filters(&bed).await;
    bed.run_sql("UPDATE filters SET campaign_id = '' WHERE id = 'f4'")
        .await;
    let changes = world.stores.jobs.filters_since(Revision(0)).await.unwrap();
    let FilterChanges::Known { put, removed, .. } = changes else {
        panic!("{changes:?}");
    };
    assert_eq!(put.len(), 9);
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0].1.as_str(), "f4");
    assert_eq!(counted(&bed, "filters"), 1);
    bed.run_sql("UPDATE filters SET campaign_id = 'camp' WHERE id = 'f4'")
        .await;
    world.stores.jobs.filters_since(Revision(0)).await.unwrap();
    assert_eq!(counted(&bed, "filters"), 0, "it is mended");
    bed
}

async fn an_unreadable_job_is_passed_over_by_scans_and_replaced_by_the_feed(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    world.new_leads(3, at(0)).await;
    bed.run_sql("UPDATE jobs SET id = '' WHERE id = 'many-1'; UPDATE jobs SET json = '' WHERE id = 'many-2'")
        .await;
    let matches = &world.stores.matches;
    let seqs = matches.job_seqs(1, 3).await.unwrap();
    assert_eq!(matches.jobs_at(&seqs).await.unwrap().len(), 2);
    let due = matches.due_backfills().await.unwrap();
    let switched = matches
        .switch(&due.campaigns[0], due.watermark, &seqs, at(50))
        .await;
    assert_eq!(switched, Ok(SwitchMatches::Switched { total: 3 }));
    let counts = world.ingest(at(60), vec![world.job("many-2", at(2))]).await;
    assert_eq!(counts.changed_jobs, 1);
    bed
}

async fn a_page_is_recorded_for_campaigns_and_organizations_that_are_unreadable(
    bed: TestDatabase,
) -> TestDatabase {
    let first = World::with(
        stores(&bed.database),
        organization("org_acme")
            .campaign(campaign("camp"))
            .campaign(campaign("odd")),
    )
    .await;
    let second = World::with(
        stores(&bed.database),
        organization("org_odd").campaign(campaign("camp")),
    )
    .await;
    bed.run_sql(
        "UPDATE campaigns SET mode = 'hybrid' WHERE id = 'odd'; \
         UPDATE organizations SET subscription_status = 'gifted' WHERE id = 'org_odd'",
    )
    .await;
    let mut job = first.job("1", at(0));
    job.campaigns
        .extend(first.campaign("odd").job("1", at(0)).campaigns);
    job.campaigns.extend(second.job("1", at(0)).campaigns);
    let counts = first.ingest(at(1), vec![job]).await;
    assert_eq!(
        (counts.matches, counts.deliveries),
        (3, 1),
        "all are listed, one acts"
    );
    assert_eq!(
        (counted(&bed, "campaigns"), counted(&bed, "organizations")),
        (1, 1)
    );
    bed
}

async fn a_list_page_leaves_unreadable_leads_out_and_keeps_its_total(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let leads = world.new_leads(4, at(0)).await;
    // Its match says that there is more to say of it. While a match says `new`, a lead that is known is not read again.
    bed.run_sql(&format!(
        "UPDATE leads SET status = 'archived' WHERE id = '{}'",
        leads[2].id
    ))
    .await;
    bed.run_sql(&format!(
        "UPDATE matches SET lead_status = 'rejected' WHERE job_id = '{}'",
        leads[2].job_id
    ))
    .await;
    // One that is not a lead yet, so that the page writes.
    let unacted = world.campaign("camp").job("5", at(9));
    bed.run_sql("UPDATE campaigns SET state = 'paused'").await;
    world.ingest(at(10), vec![unacted]).await;
    let page = world.list(0, 3).await;
    let ids: Vec<&str> = page.leads.iter().map(|lead| lead.job_id.as_str()).collect();
    assert_eq!(ids, ["5", "many-3"]);
    assert_eq!((page.total, page.unreadable), (5, 1));
    bed
}

async fn an_unreadable_lead_fails_its_own_requests_alone(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let leads = world.new_leads(2, at(0)).await;
    bed.run_sql(&format!(
        "UPDATE leads SET status = 'archived' WHERE id = '{}'",
        leads[0].id
    ))
    .await;
    let find = |lead| {
        world
            .stores
            .leads
            .find(&world.organization, &world.campaign, lead)
    };
    let refused = find(&leads[0].id).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    assert_eq!(world.status(&leads[1]).await, LeadStatus::New);
    assert_eq!(counted(&bed, "leads"), 1);
    bed
}

async fn provisioning_goes_on_beside_unreadable_rows_and_puts_them_anew(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    bed.run_sql(
        "UPDATE bidder_accounts SET token = '\\x'; UPDATE webhook_endpoints SET events = '?'; \
         UPDATE campaigns SET bidding_config = '?'",
    )
    .await;
    let organizations = [organization_id("org_acme")];
    let provisioning = &world.stores.provisioning;
    let snapshot = provisioning.snapshot(&organizations, &[]).await.unwrap();
    let known = &snapshot.organizations[0];
    assert!(known.accounts.is_empty() && known.webhooks.is_empty() && known.campaigns.is_empty());
    let unreadable: Vec<(EntityKind, &str)> = snapshot
        .unreadable
        .iter()
        .map(|entity| (entity.kind, entity.id.as_str()))
        .collect();
    assert_eq!(
        unreadable,
        [
            (EntityKind::Webhook, "wh_all"),
            (EntityKind::BidderAccount, "acct_1"),
            (EntityKind::Campaign, "camp")
        ]
    );
    let whole = organization("org_acme")
        .campaign(campaign("camp"))
        .webhook(webhook("wh_all", None, World::URL, &[EventKind::JobNew]));
    commit(&world.stores, &whole.changes()).await;
    let snapshot = provisioning.snapshot(&organizations, &[]).await.unwrap();
    let known = &snapshot.organizations[0];
    assert_eq!(
        (known.accounts.len(), known.webhooks.len(), known.campaigns.len()),
        (1, 1, 1)
    );
    let removed = ProvisioningChange::RemoveAccount(world.organization.clone(), account("acct_1").id);
    commit(&world.stores, &[removed]).await;
    bed
}

async fn a_campaign_of_which_nothing_can_be_read_can_be_removed(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    bed.run_sql("UPDATE campaigns SET mode = '?'; UPDATE filters SET id = 'f ?', body = '?'")
        .await;
    let removal = ProvisioningChange::RemoveCampaign(world.organization.clone(), world.campaign.clone());
    commit(&world.stores, &[removal]).await;
    for table in ["campaigns", "filters"] {
        assert_eq!(bed.number(&format!("SELECT COUNT(*) FROM {table}")).await, 0);
    }
    bed
}

async fn an_organization_that_cannot_be_read_is_named_as_such_and_can_be_removed(
    bed: TestDatabase,
) -> TestDatabase {
    let world = world(&bed).await;
    bed.run_sql("UPDATE organizations SET subscription_status = 'odd'")
        .await;
    let asked = std::slice::from_ref(&world.organization);
    let snapshot = world.stores.provisioning.snapshot(asked, &[]).await.unwrap();
    assert_eq!(snapshot.organizations, []);
    let named: Vec<_> = snapshot
        .unreadable
        .iter()
        .map(|entity| (entity.kind, entity.id.as_str()))
        .collect();
    assert_eq!(named, [(EntityKind::Organization, "org_acme")]);
    let removal = ProvisioningChange::RemoveOrganization(world.organization.clone());
    commit(&world.stores, &[removal]).await;
    assert_eq!(bed.number("SELECT COUNT(*) FROM organizations").await, 0);
    bed
}

async fn unreadable_entries_of_the_activity_record_are_left_out(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    for number in 0..2 {
        let entry = activity(
            &world.organization,
            bidloop_domain::model::ActivityKind::Bid,
            "accepted",
            at(number),
        );
        world.stores.activities.record(&entry).await.unwrap();
    }
    bed.run_sql(&format!(
        "UPDATE activities SET details = '{{' WHERE at = {}",
        at(0).as_millis()
    ))
    .await;
    let entries = bidloop_port_contracts::fixture::activities(&world.stores, &world.organization).await;
    assert_eq!(entries.len(), 1);
    bed
}

async fn what_was_set_aside_is_tried_again_after_a_restart(bed: TestDatabase) -> TestDatabase {
    let world = world(&bed).await;
    let lead = world.new_lead("1", at(0)).await;
    bed.run_sql("UPDATE deliveries SET event = 'job.seen'").await;
    assert_eq!(claimed(&world).await, []);
    bed.run_sql("UPDATE deliveries SET event = 'job.new'").await;
    assert_eq!(
        claimed(&world).await,
        [],
        "this process does not try it again at once"
    );
    let restarted = World {
        stores: stores(&bed.reopened()),
        ..world
    };
    let claimed = claim(&restarted.stores, &pending(&restarted).await).await;
    let ids: Vec<(DeliveryId, LeadId)> = claimed.into_iter().map(|one| (one.id, one.lead_id)).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(ids[0].1, lead.id);
    bed
}
