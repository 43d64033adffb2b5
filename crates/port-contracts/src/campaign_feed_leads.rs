//! The rules of `CampaignFeedStore` for one lead: its match, its job, its title, and what it would be bid on with.

use bidloop_domain::model::{CampaignId, Connects, LeadId, LeadStatus, OrganizationId};
use bidloop_domain::port::{AccountReading, FeedQuery};
use serde_json::json;

use crate::Stores;
use crate::campaign_feed::{assert_counted, elsewhere};
use crate::fixture::{World, at, campaign, campaign_id, job, job_id, lead_id, organization, organization_id};

pub async fn a_match_is_found_as_the_lead_it_would_become(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme")
            .account("acct_1")
            .campaign(campaign("camp").paused()),
    )
    .await;
    world
        .ingest(at(7), vec![world.job("1", at(1)), elsewhere("2", "Go")])
        .await;
    let feed = &world.stores.campaign_feed;
    let (organization, campaign) = (&world.organization, &world.campaign);
    let found = feed
        .find_match(organization, campaign, &job_id("1"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.lead.lead.id, lead_id("org_acme", "camp", "1"));
    assert_eq!(
        (found.lead.lead.created_at, found.lead.lead.status),
        (at(7), LeadStatus::New)
    );
    assert_eq!(found.campaign.unwrap().id, world.campaign);
    assert!(world.find(&found.lead.lead.id).await.is_none());
    assert!(
        feed.find_match(organization, campaign, &job_id("2"))
            .await
            .unwrap()
            .is_none()
    );
    let lead = world.listed_lead(0).await;
    world.ingest(at(9), vec![elsewhere("1", "Elsewhere")]).await;
    let found = feed
        .find_match(organization, campaign, &job_id("1"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(found.lead.lead, lead);
}

pub async fn the_job_of_a_lead_is_found_among_the_newest_matches(stores: Stores) {
    let world = World::new(stores).await;
    world.new_leads(3, at(0)).await;
    let find = async |job: &str, newest: u32| {
        let lead = lead_id("org_acme", "camp", job);
        let feed = &world.stores.campaign_feed;
        let found = feed
            .job_of_lead(&world.organization, &world.campaign, &lead, newest)
            .await;
        found.unwrap().map(|job| job.to_string())
    };
    assert_eq!(find("many-1", 2).await.as_deref(), Some("many-1"));
    assert_eq!(find("many-0", 2).await, None);
    assert_eq!(find("many-0", 3).await.as_deref(), Some("many-0"));
    assert_eq!(find("unknown", 3).await, None);
}

pub async fn a_lead_is_named_by_the_title_of_its_job(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    let post = bidloop_domain::model::JobPost::parse(&world.job("many-1", at(0)).json).unwrap();
    let asked = [leads[1].id.clone(), lead_id("org_acme", "camp", "unknown")];
    let feed = &world.stores.campaign_feed;
    let titles = feed.lead_titles(&world.organization, &asked).await.unwrap();
    assert_eq!(titles.len(), 1);
    assert_eq!(titles[&leads[1].id], post.title);
}

pub async fn a_campaigns_filters_are_read_by_id(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme")
            .campaign(
                campaign("camp")
                    .without_filters()
                    .filter("f_2", json!({}))
                    .filter("f_1", json!({"featured": true})),
            )
            .campaign(campaign("other")),
    )
    .await;
    let feed = &world.stores.campaign_feed;
    let filters = feed
        .campaign_filters(&world.organization, &world.campaign)
        .await
        .unwrap()
        .unwrap();
    let filters: Vec<(&str, &serde_json::Value)> = filters
        .iter()
        .map(|filter| (filter.id.as_str(), &filter.body))
        .collect();
    assert_eq!(
        filters,
        [("f_1", &json!({"featured": true})), ("f_2", &json!({}))]
    );
}

pub async fn nothing_of_another_organization_is_shown(stores: Stores) {
    let world = World::new(stores.clone()).await;
    organization("org_other")
        .campaign(campaign("camp_other"))
        .provision(&stores)
        .await;
    world
        .ingest(
            at(1),
            vec![job(
                "1",
                at(1),
                &[("org_acme", "camp"), ("org_other", "camp_other")],
            )],
        )
        .await;
    let lead = lead_id("org_acme", "camp", "1");
    assert_eq!(assert_counted(&world).await.all, 1);
    for (organization, campaign) in [
        (organization_id("org_other"), world.campaign.clone()),
        (world.organization.clone(), campaign_id("camp_other")),
        (organization_id("nobody"), world.campaign.clone()),
    ] {
        assert_nothing(&stores, &organization, &campaign, &lead).await;
    }
}

async fn assert_nothing(
    stores: &Stores,
    organization: &OrganizationId,
    campaign: &CampaignId,
    lead: &LeadId,
) {
    let feed = &stores.campaign_feed;
    let query = FeedQuery {
        status: None,
        offset: 0,
        limit: 10,
    };
    let job = job_id("1");
    assert_eq!(feed.feed_page(organization, campaign, &query).await, Ok(None));
    let entries = feed
        .feed_entries(organization, campaign, std::slice::from_ref(&job))
        .await;
    assert_eq!(entries, Ok(None));
    assert_eq!(
        feed.signed_matches(organization, campaign, None, 10).await,
        Ok(None)
    );
    assert!(
        feed.find_match(organization, campaign, &job)
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(feed.job_of_lead(organization, campaign, lead, 10).await, Ok(None));
    assert_eq!(feed.campaign_filters(organization, campaign).await, Ok(None));
}

pub async fn a_campaigns_account_and_files_are_what_it_bids_with(stores: Stores) {
    let builder = campaign("camp").attachment("portfolio.pdf");
    let world = World::with(
        stores,
        organization("org_acme")
            .campaign(builder)
            .campaign(campaign("bare").bids_with(None)),
    )
    .await;
    let feed = &world.stores.campaign_feed;
    let means = feed
        .bid_means(&world.organization, &world.campaign)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(means.attachments.len(), 1);
    let account = means.account.unwrap();
    assert_eq!(
        (account.record.id.as_str(), account.record.connected),
        ("acct_1", true)
    );
    assert!(account.reading.is_none());
    let reading = AccountReading {
        profile_hourly_rate: Some(72.5),
        connects_balance: Connects::new(40),
        at: at(9),
    };
    world
        .stores
        .submissions
        .record_account(&world.organization, &account.record.id, &reading)
        .await
        .unwrap();
    let means = feed
        .bid_means(&world.organization, &world.campaign)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(means.account.unwrap().reading, Some(reading));
    let bare = feed.bid_means(&world.organization, &campaign_id("bare")).await;
    assert!(bare.unwrap().unwrap().account.is_none());
    let other = feed
        .bid_means(&organization_id("org_other"), &world.campaign)
        .await;
    assert!(other.unwrap().is_none());
}

pub async fn a_stored_job_is_found_by_its_id(stores: Stores) {
    let world = World::new(stores).await;
    world.ingest(at(1), vec![elsewhere("1", "Go")]).await;
    let feed = &world.stores.campaign_feed;
    let found = feed.stored_job(&job_id("1")).await.unwrap().unwrap();
    assert_eq!(found.json, elsewhere("1", "Go").json);
    assert_eq!(feed.stored_job(&job_id("2")).await, Ok(None));
}
