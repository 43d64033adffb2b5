//! The rules of `JobStore::record_page` for what campaigns do with a new match (decisions C7, D2 and D6).

use std::collections::BTreeSet;
use std::time::Duration;

use bidloop_domain::model::{DeliveryId, EventId, EventKind, LeadStatus, SubscriptionStatus, Timestamp};
use bidloop_domain::port::{MatchedPage, PageCounts, RecordPage};

use crate::Stores;
use crate::fixture::{
    OrganizationBuilder, World, at, campaign, commit, job_id, lead_id, organization, seconds, webhook,
};

const JOB_NEW: [EventKind; 1] = [EventKind::JobNew];

/// Ingests job 1 into the first campaign of `organization` and answers the world and the counts.
async fn ingested(stores: Stores, organization: OrganizationBuilder) -> (World, PageCounts) {
    let world = World::with(stores, organization).await;
    let counts = world.ingest(at(60), vec![world.job("1", at(0))]).await;
    (world, counts)
}

async fn assert_only_listed(world: &World, counts: PageCounts) {
    assert_eq!(
        counts,
        PageCounts {
            new_jobs: 1,
            matches: 1,
            ..PageCounts::default()
        }
    );
    let lead = lead_id("org_acme", "camp", "1");
    assert!(
        world.find(&lead).await.is_none(),
        "no lead before the job is listed"
    );
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(0));
    assert_eq!(world.listed_ids().await, ["1"]);
}

pub async fn an_active_external_campaign_gets_a_lead_and_job_new(stores: Stores) {
    let (world, counts) = ingested(stores, organization("org_acme").campaign(campaign("camp"))).await;
    assert_eq!(
        counts,
        PageCounts {
            new_jobs: 1,
            matches: 1,
            deliveries: 1,
            ..PageCounts::default()
        }
    );
    let lead = world
        .find(&lead_id("org_acme", "camp", "1"))
        .await
        .unwrap()
        .lead
        .lead;
    assert_eq!(
        (lead.status, lead.created_at, lead.job_id),
        (LeadStatus::New, at(60), job_id("1"))
    );
    let pending = world.pending().await;
    assert_eq!(pending.len(), 1);
    let endpoint = &pending[0].endpoint_id;
    assert_eq!(endpoint.as_str(), "wh_all");
    assert_eq!(
        pending[0].id,
        DeliveryId::derive(EventId::job_new(&lead.id), &world.organization, endpoint)
    );
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(0));
}

pub async fn an_active_automatic_campaign_gets_a_lead_and_an_intent(stores: Stores) {
    let automatic = organization("org_acme").campaign(campaign("camp").automatic());
    let (world, counts) = ingested(stores, automatic).await;
    assert_eq!(
        counts,
        PageCounts {
            new_jobs: 1,
            matches: 1,
            automatic_bids: 1,
            ..PageCounts::default()
        }
    );
    assert!(world.find(&lead_id("org_acme", "camp", "1")).await.is_some());
    assert_eq!(world.stores.automatic_bids.automatic_count().await, Ok(1));
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
}

pub async fn a_paused_campaign_only_lists(stores: Stores) {
    let (world, counts) = ingested(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    assert_only_listed(&world, counts).await;
}

pub async fn a_campaign_without_an_active_subscription_only_lists(stores: Stores) {
    let mut paused = organization("org_acme").campaign(campaign("camp").automatic());
    paused.0.subscription.collection_paused = true;
    let (world, counts) = ingested(stores.clone(), paused.clone()).await;
    assert_only_listed(&world, counts).await;
    commit(
        &stores,
        &[paused.status(SubscriptionStatus::PastDue).put_organization()],
    )
    .await;
    let counts = world.ingest(at(61), vec![world.job("2", at(0))]).await;
    assert_eq!((counts.matches, counts.automatic_bids), (1, 0));
}

pub async fn a_post_older_than_the_bound_is_only_listed(stores: Stores) {
    let world = World::new(stores).await;
    let bound = seconds(3600);
    let record = async |id: &str, posted_at: Timestamp, act_within: Option<Duration>| {
        let page = world.page(at(0), vec![world.job(id, posted_at)]).await;
        match world
            .stores
            .jobs
            .record_page(&MatchedPage { act_within, ..page })
            .await
            .unwrap()
        {
            RecordPage::Recorded(counts) => counts,
            other => panic!("{other:?}"),
        }
    };
    let old = at(0).minus(bound).minus(Duration::from_millis(1));
    assert_only_listed(&world, record("1", old, Some(bound)).await).await;
    assert_eq!(
        record("2", at(0).minus(bound), Some(bound)).await.deliveries,
        1,
        "just young enough"
    );
    assert_eq!(record("3", old, None).await.deliveries, 1, "without a bound");
    assert_eq!(
        record("4", at(60), Some(bound)).await.deliveries,
        1,
        "posted by a clock that is ahead"
    );
}

pub async fn starting_a_campaign_sends_nothing_for_older_jobs(stores: Stores) {
    let (world, _) = ingested(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    commit(
        &world.stores,
        &organization("org_acme").campaign(campaign("camp")).changes(),
    )
    .await;
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(0));
    let counts = world
        .ingest(at(90), vec![world.job("1", at(0)), world.job("2", at(80))])
        .await;
    assert_eq!((counts.new_jobs, counts.deliveries), (1, 1));
}

pub async fn job_new_goes_to_active_subscribed_endpoints_of_campaign_and_organization(stores: Stores) {
    let mut off = webhook("off", None, "https://hooks.test/off", &JOB_NEW);
    off.endpoint.active = false;
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .campaign(campaign("other"))
        .webhook(webhook(
            "of_camp",
            Some("camp"),
            "https://hooks.test/camp",
            &JOB_NEW,
        ))
        .webhook(webhook(
            "of_other",
            Some("other"),
            "https://hooks.test/other",
            &JOB_NEW,
        ))
        .webhook(webhook(
            "of_org",
            None,
            "https://hooks.test/org",
            &[EventKind::BidComplete, EventKind::JobNew],
        ))
        .webhook(webhook(
            "ends_only",
            None,
            "https://hooks.test/ends",
            &[EventKind::BidComplete],
        ))
        .webhook(off);
    let two = organization("org_two").webhook(webhook("of_two", None, "https://hooks.test/two", &JOB_NEW));
    two.provision(&stores).await;
    let world = World::bare(stores, acme).await;
    let counts = world.ingest(at(60), vec![world.job("1", at(0))]).await;
    assert_eq!(counts.deliveries, 2);
    assert_eq!(
        endpoints(&world).await,
        BTreeSet::from(["of_camp".to_owned(), "of_org".to_owned()])
    );
}

pub async fn of_two_endpoints_with_one_url_one_gets_the_event(stores: Stores) {
    let created = |id, campaign, url, second| {
        let mut webhook = webhook(id, campaign, url, &JOB_NEW);
        webhook.endpoint.created_at = at(second);
        webhook
    };
    let acme = organization("org_acme")
        .campaign(campaign("camp"))
        .webhook(created("org_a", None, "https://hooks.test/a", -9))
        .webhook(created("camp_a", Some("camp"), "https://hooks.test/a", -1))
        .webhook(created("org_b_new", None, "https://hooks.test/b", -5))
        .webhook(created("org_b_old", None, "https://hooks.test/b", -6));
    let world = World::bare(stores, acme).await;
    let counts = world.ingest(at(60), vec![world.job("1", at(0))]).await;
    assert_eq!(counts.deliveries, 2);
    assert_eq!(
        endpoints(&world).await,
        BTreeSet::from(["camp_a".to_owned(), "org_b_old".to_owned()])
    );
}

async fn endpoints(world: &World) -> BTreeSet<String> {
    world
        .pending()
        .await
        .iter()
        .map(|delivery| delivery.endpoint_id.to_string())
        .collect()
}

pub async fn a_lead_without_receivers_is_made_all_the_same(stores: Stores) {
    let world = World::bare(stores, organization("org_acme").campaign(campaign("camp"))).await;
    let counts = world.ingest(at(60), vec![world.job("1", at(0))]).await;
    assert_eq!(counts.deliveries, 0);
    assert!(world.find(&lead_id("org_acme", "camp", "1")).await.is_some());
}
