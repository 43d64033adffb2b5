//! The rules of `CampaignFeedStore` for what is new since a person's last look at a Feed (decision E9).

use bidloop_domain::model::{EmailKey, LeadId, LeadStatus, OrganizationId, Timestamp};
use bidloop_domain::port::{FeedNews, ProvisioningChange};

use crate::Stores;
use crate::fixture::{World, at, campaign, campaign_id, commit, organization, organization_id};

fn person(name: &str) -> EmailKey {
    EmailKey::of(&format!("{name}@acme.test"))
}

async fn new_of(
    stores: &Stores,
    organization: &OrganizationId,
    who: &str,
    at_most: u32,
) -> Vec<(String, u64)> {
    let counts = stores
        .campaign_feed
        .new_matches(organization, &person(who), at_most)
        .await;
    let counts = counts.unwrap().into_iter();
    counts
        .map(|(campaign, new)| (campaign.to_string(), new))
        .collect()
}

async fn new(world: &World, who: &str, at_most: u32) -> Vec<(String, u64)> {
    new_of(&world.stores, &world.organization, who, at_most).await
}

async fn look(world: &World, who: &str, second: i64) {
    let (organization, campaign) = (&world.organization, &world.campaign);
    let feed = &world.stores.campaign_feed;
    let noted = feed
        .looked_at(organization, campaign, &person(who), at(second))
        .await;
    assert_eq!(noted, Ok(true));
}

async fn world_with_matches(stores: Stores) -> World {
    let world = World::with(
        stores,
        organization("org_acme")
            .campaign(campaign("camp").paused())
            .campaign(campaign("other")),
    )
    .await;
    for second in 1..=4 {
        let job = world.job(&second.to_string(), at(second));
        world.ingest(at(second), vec![job]).await;
    }
    world
}

fn counts(camp: u64, other: u64) -> Vec<(String, u64)> {
    vec![("camp".to_owned(), camp), ("other".to_owned(), other)]
}

pub async fn matches_since_the_last_look_are_new(stores: Stores) {
    let world = world_with_matches(stores).await;
    assert_eq!(new(&world, "ann", 999).await, counts(4, 0));
    look(&world, "ann", 2).await;
    assert_eq!(new(&world, "ann", 999).await, counts(2, 0));
    assert_eq!(
        new(&world, "bob", 999).await,
        counts(4, 0),
        "looks are each person's"
    );
    look(&world, "ann", 4).await;
    assert_eq!(new(&world, "ann", 999).await, counts(0, 0));
    world.ingest(at(9), vec![world.job("9", at(9))]).await;
    assert_eq!(new(&world, "ann", 999).await, counts(1, 0));
}

pub async fn new_matches_are_counted_up_to_a_bound(stores: Stores) {
    let world = world_with_matches(stores).await;
    assert_eq!(new(&world, "ann", 3).await, counts(3, 0));
    look(&world, "ann", 1).await;
    assert_eq!(new(&world, "ann", 2).await, counts(2, 0));
    assert_eq!(new(&world, "ann", 3).await, counts(3, 0));
}

pub async fn a_look_never_moves_back(stores: Stores) {
    let world = world_with_matches(stores).await;
    look(&world, "ann", 3).await;
    look(&world, "ann", 1).await;
    assert_eq!(new(&world, "ann", 999).await, counts(1, 0));
}

pub async fn a_look_at_an_unknown_campaign_is_not_noted(stores: Stores) {
    let world = world_with_matches(stores).await;
    let other = organization("org_other").campaign(campaign("theirs"));
    let other = other.provision(&world.stores).await;
    for (organization, campaign) in [
        (&world.organization, "nothing"),
        (&other, "camp"),
        (&organization_id("nobody"), "camp"),
    ] {
        let feed = &world.stores.campaign_feed;
        let noted = feed
            .looked_at(organization, &campaign_id(campaign), &person("ann"), at(1))
            .await;
        assert_eq!(noted, Ok(false));
    }
    assert_eq!(
        new_of(&world.stores, &organization_id("nobody"), "ann", 9).await,
        []
    );
}

pub async fn a_look_goes_with_the_campaign_the_person_and_the_organization(stores: Stores) {
    let world = world_with_matches(stores).await;
    let id = world.organization.clone();
    look(&world, "ann", 4).await;
    commit(
        &world.stores,
        &[ProvisioningChange::RemoveUser(
            id.clone(),
            "ANN@acme.test".to_owned(),
        )],
    )
    .await;
    assert_eq!(new(&world, "ann", 999).await, counts(4, 0));

    look(&world, "ann", 4).await;
    commit(
        &world.stores,
        &[ProvisioningChange::RemoveCampaign(
            id.clone(),
            world.campaign.clone(),
        )],
    )
    .await;
    let again = campaign("camp").paused().0;
    commit(
        &world.stores,
        &[ProvisioningChange::PutCampaign(id.clone(), Box::new(again))],
    )
    .await;
    world.ingest(at(3), vec![world.job("again", at(3))]).await;
    assert_eq!(new(&world, "ann", 999).await, counts(1, 0));
}

pub async fn news_are_the_newer_matches_and_the_shown_leads_that_are_decided_on(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(5, at(1)).await;
    let feed = &world.stores.campaign_feed;
    let news = async |since: Option<Timestamp>, shown: &[LeadId], at_most: u32| {
        let news = feed.feed_news(&world.organization, &world.campaign, since, shown, at_most);
        news.await.unwrap().unwrap()
    };
    let all: Vec<LeadId> = leads.iter().map(|lead| lead.id.clone()).collect();
    let newest = leads.iter().map(|lead| lead.created_at).max();
    assert_eq!(news(newest, &all, 100).await, FeedNews::default());
    assert_eq!(news(None, &[], 100).await.newer, 5);
    assert_eq!(news(None, &[], 3).await.newer, 3);
    let later = ["6", "7"].map(|job| world.job(job, at(9)));
    world.ingest(at(9), later.into()).await;
    assert_eq!(news(newest, &all, 100).await.newer, 2);

    world.bid(&leads[0], at(20)).await;
    world.bid(&leads[1], at(20)).await;
    let decided = news(newest, &all[1..], 100).await.decided;
    assert_eq!(decided, [(all[1].clone(), LeadStatus::Queued)]);
    let unknown = campaign_id("nobody");
    let nowhere = feed
        .feed_news(&world.organization, &unknown, None, &all, 10)
        .await;
    assert_eq!(nowhere, Ok(None));
}
