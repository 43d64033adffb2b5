//! The rules of `LeadStore` and `DeliveryStore` for commands on a match without a record: an accepted one makes it a lead, a
//! refused one leaves nothing behind (decision E5).

use bidloop_domain::attachment_rules::MAX_FILES;
use bidloop_domain::model::{
    ActivityKind, Authorization, BiddingConfig, Connects, Lead, LeadStatus, SubscriptionStatus, Unauthorized,
};
use bidloop_domain::port::{
    AcceptBid, AddAttachments, BeginTry, ConfigureLead, MAX_TRIES, RecordDryRun, RejectLead, TriedReceivers,
};

use crate::Stores;
use crate::endpoint_tries::{job_new, try_match};
use crate::fixture::{
    OrganizationBuilder, World, activity, at, at_once, bid, campaign, commit, how_many, job_id, organization,
};
use crate::lead_attachments::file;
use crate::leads::dry_run_of;

/// `org_acme` with a paused campaign, so that matches stay without a record.
fn acme() -> OrganizationBuilder {
    organization("org_acme").campaign(campaign("camp").paused())
}

/// The leads that the matches of these jobs would become.
async fn matched(world: &World, jobs: &[&str]) -> Vec<Lead> {
    let mut leads = Vec::new();
    for job in jobs {
        world.ingest(at(7), vec![world.job(job, at(1))]).await;
        let feed = &world.stores.campaign_feed;
        let found = feed
            .find_match(&world.organization, &world.campaign, &job_id(job))
            .await;
        leads.push(found.unwrap().unwrap().lead.lead);
    }
    leads
}

async fn is_a_lead(world: &World, lead: &Lead) -> bool {
    world.find(&lead.id).await.is_some()
}

async fn reject(world: &World, lead: &Lead) -> RejectLead {
    let entry = activity(&world.organization, ActivityKind::Rejection, "accepted", at(8));
    let leads = &world.stores.leads;
    leads
        .reject(&Authorization::Subscription, lead, Some("No."), &entry)
        .await
        .unwrap()
}

async fn configure(world: &World, lead: &Lead) -> ConfigureLead {
    let entry = activity(&world.organization, ActivityKind::Change, "accepted", at(8));
    let leads = &world.stores.leads;
    leads
        .configure_as(&Authorization::Subscription, lead, &two_at_least(), &entry)
        .await
        .unwrap()
}

fn two_at_least() -> BiddingConfig {
    BiddingConfig {
        min_boost: Some(Connects::new(2)),
        ..BiddingConfig::default()
    }
}

async fn upload(world: &World, lead: &Lead, names: &[String]) -> AddAttachments {
    let entry = activity(&world.organization, ActivityKind::Upload, "accepted", at(8));
    let files: Vec<_> = names.iter().map(|name| file(name, at(8))).collect();
    let leads = &world.stores.leads;
    leads
        .add_attachments(&Authorization::Subscription, lead, &files, &entry)
        .await
        .unwrap()
}

async fn trigger(world: &World, lead: &Lead) -> BeginTry {
    try_match(world, &job_new(lead), &lead.job_id, TriedReceivers::All, at(8)).await
}

pub async fn an_accepted_command_makes_its_match_a_lead_as_the_list_makes_it(stores: Stores) {
    let world = World::with(stores, acme()).await;
    let leads = matched(&world, &["1", "2", "3", "4", "5"]).await;
    assert_eq!(reject(&world, &leads[0]).await, RejectLead::Rejected);
    assert_eq!(world.try_bid(&leads[1], at(8)).await, AcceptBid::Accepted);
    let added = upload(&world, &leads[2], &["a.txt".to_owned()]).await;
    assert!(matches!(added, AddAttachments::Added(_)), "{added:?}");
    assert_eq!(configure(&world, &leads[3]).await, ConfigureLead::Configured);
    let begun = trigger(&world, &leads[4]).await;
    let BeginTry::Begun(begun) = begun else {
        panic!("{begun:?}");
    };
    assert_eq!(*begun[0].lead.as_ref().unwrap().lead, leads[4]);
    let statuses = [
        LeadStatus::Rejected,
        LeadStatus::Queued,
        LeadStatus::New,
        LeadStatus::New,
        LeadStatus::New,
    ];
    for (lead, status) in leads.iter().zip(statuses) {
        let made = world.context(lead).await.lead.lead;
        assert_eq!((made.created_at, made.status), (lead.created_at, status));
    }
    let configured = world.context(&leads[3]).await.lead.lead;
    assert_eq!(configured.bidding_config, two_at_least());
    // The Feed shows the matches by what was decided on them.
    crate::campaign_feed::assert_counted(&world).await;
    assert_eq!(
        reject(&world, &leads[1]).await,
        RejectLead::LeadNotNew(LeadStatus::Queued)
    );
}

pub async fn a_refused_command_leaves_no_lead_behind(stores: Stores) {
    let acme = acme()
        .limit(1)
        .campaign(campaign("bare").paused().bids_with(None));
    let world = World::with(stores, acme).await;
    let leads = matched(&world, &["1", "2"]).await;
    assert_eq!(world.try_bid(&leads[0], at(8)).await, AcceptBid::Accepted);
    let lead = &leads[1];
    let answer = world.try_bid(lead, at(9)).await;
    assert!(matches!(answer, AcceptBid::QuotaUsedUp(_)), "{answer:?}");
    let unaccounted = matched(&world.campaign("bare"), &["3"]).await.remove(0);
    let answer = world.try_bid(&unaccounted, at(9)).await;
    assert_eq!(answer, AcceptBid::NoConnectedAccount);
    assert!(world.campaign("bare").find(&unaccounted.id).await.is_none());

    let many: Vec<String> = (0..=MAX_FILES).map(|number| format!("{number}.txt")).collect();
    let twice = ["a.txt".to_owned(), "a.txt".to_owned()];
    for names in [&many[..], &twice] {
        let answer = upload(&world, lead, names).await;
        assert!(!matches!(answer, AddAttachments::Added(_)), "{answer:?}");
    }
    for _ in 0..MAX_TRIES {
        let begun = try_all(&world, &leads[0]).await;
        assert!(matches!(begun, BeginTry::Begun(_)), "{begun:?}");
    }
    let answer = trigger(&world, lead).await;
    assert!(matches!(answer, BeginTry::TooManyTries { .. }), "{answer:?}");
    assert!(!is_a_lead(&world, lead).await);

    let lapsed = Unauthorized::SubscriptionLapsed;
    let canceled = acme_without_receivers().put_organization();
    commit(&world.stores, &[canceled]).await;
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(9));
    let accepted = world
        .stores
        .leads
        .accept_bid(&Authorization::Subscription, &bid(lead, at(9)), &entry)
        .await;
    assert_eq!(accepted, Ok(AcceptBid::NotAuthorized(lapsed)));
    assert_eq!(reject(&world, lead).await, RejectLead::NotAuthorized(lapsed));
    assert_eq!(
        configure(&world, lead).await,
        ConfigureLead::NotAuthorized(lapsed)
    );
    assert_eq!(
        upload(&world, lead, &twice[..1]).await,
        AddAttachments::NotAuthorized(lapsed)
    );
    let answer = trigger(&world, lead).await;
    assert!(matches!(answer, BeginTry::NotAuthorized(_)), "{answer:?}");
    assert!(!is_a_lead(&world, lead).await);
}

/// Tests the one receiver with the lead, which counts as a try, whatever the lead's status is.
async fn try_all(world: &World, lead: &Lead) -> BeginTry {
    let all = bidloop_domain::model::EndpointId::parse("wh_all").unwrap();
    try_match(
        world,
        &job_new(lead),
        &lead.job_id,
        TriedReceivers::One(&all),
        at(8),
    )
    .await
}

fn acme_without_receivers() -> OrganizationBuilder {
    acme().status(SubscriptionStatus::Canceled)
}

pub async fn nothing_is_made_of_a_job_that_the_campaign_does_not_list(stores: Stores) {
    let world = World::bare(stores, acme()).await;
    let mut unlisted = matched(&world, &["1"]).await.remove(0);
    // Without a receiver nothing is begun.
    let begun = trigger(&world, &unlisted).await;
    assert!(
        matches!(&begun, BeginTry::Begun(begun) if begun.is_empty()),
        "{begun:?}"
    );
    assert!(!is_a_lead(&world, &unlisted).await);
    unlisted.job_id = job_id("2");
    assert_eq!(reject(&world, &unlisted).await, RejectLead::LeadUnknown);
    unlisted.id =
        bidloop_domain::model::LeadId::derive(&world.organization, &world.campaign, &unlisted.job_id);
    assert_eq!(reject(&world, &unlisted).await, RejectLead::LeadUnknown);
    assert_eq!(world.try_bid(&unlisted, at(8)).await, AcceptBid::LeadUnknown);
    let begun = trigger(&world, &unlisted).await;
    assert!(matches!(begun, BeginTry::LeadUnknown), "{begun:?}");
    assert!(!is_a_lead(&world, &unlisted).await);
}

pub async fn a_dry_run_makes_no_lead(stores: Stores) {
    let world = World::with(stores, acme()).await;
    let lead = matched(&world, &["1"]).await.remove(0);
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(8));
    let leads = &world.stores.leads;
    let event = dry_run_of(&lead);
    let recorded = leads.record_dry_run(&Authorization::Subscription, &entry, &event);
    assert_eq!(recorded.await, Ok(RecordDryRun::Recorded));
    assert_eq!(world.pending().await.len(), 1);
    assert!(!is_a_lead(&world, &lead).await);
}

pub async fn of_many_commands_on_one_match_one_counts(stores: Stores) {
    let world = World::with(stores, acme()).await;
    let lead = matched(&world, &["1"]).await.remove(0);
    let answers = at_once(16, |_| {
        let (world, lead) = (world.clone(), lead.clone());
        async move { reject(&world, &lead).await }
    })
    .await;
    assert_eq!(how_many(&answers, &RejectLead::Rejected), 1);
    let late = RejectLead::LeadNotNew(LeadStatus::Rejected);
    assert_eq!(how_many(&answers, &late), 15);
}
