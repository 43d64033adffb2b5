//! The rules of `OverviewStore`: what the console shows of an organization, without secrets.

use bidloop_domain::model::MissingPart::{Account, CoverLetter, Filter, JobNewEndpoint};
use bidloop_domain::model::{Connects, EventKind, MissingPart};
use bidloop_domain::port::{
    AccountReading, DeliveryOutcome, LeaseOwner, OrganizationFacts, OrganizationName, ProvisioningChange,
    ShellFacts,
};

use crate::Stores;
use crate::deliveries::end_of;
use crate::fixture::{
    World, at, campaign, clock_at, commit, organization, organization_id, refused_bid, seconds, submitted,
    webhook,
};

async fn shell(world: &World, second: i64) -> ShellFacts {
    let found = world.stores.overview.shell(&world.organization, at(second)).await;
    found.unwrap().unwrap()
}

async fn facts(world: &World, second: i64) -> OrganizationFacts {
    let found = world.stores.overview.facts(&world.organization, at(second)).await;
    let facts = found.unwrap().unwrap();
    assert_eq!(facts.shell, shell(world, second).await);
    facts
}

pub async fn organizations_are_listed_page_by_page(stores: Stores) {
    for (id, name) in [("org_b", "First"), ("org_a", "Second"), ("org_c", "Third")] {
        let mut new = organization(id);
        new.0.name = name.to_owned();
        World::bare(stores.clone(), new.campaign(campaign("camp"))).await;
    }
    let page = async |after: Option<&str>, limit| {
        let after = after.map(organization_id);
        let names = stores
            .overview
            .organizations(after.as_ref(), limit)
            .await
            .unwrap();
        let text = |name: OrganizationName| format!("{} {}", name.id, name.name);
        names.into_iter().map(text).collect::<Vec<_>>()
    };
    assert_eq!(page(None, 2).await, ["org_a Second", "org_b First"]);
    assert_eq!(page(Some("org_b"), 2).await, ["org_c Third"]);
    assert!(page(Some("org_c"), 2).await.is_empty());
}

pub async fn an_unknown_organization_has_nothing_to_show(stores: Stores) {
    let nobody = organization_id("org_nobody");
    assert_eq!(stores.overview.shell(&nobody, at(0)).await, Ok(None));
    assert_eq!(stores.overview.facts(&nobody, at(0)).await, Ok(None));
}

pub async fn every_page_shows_the_campaigns_the_quota_and_when_the_feed_was_read(stores: Stores) {
    let mut late = campaign("a");
    late.0.name = "zebra".to_owned();
    let mut early = campaign("b").paused();
    early.0.name = "Ant".to_owned();
    let world = World::with(
        stores,
        organization("org_acme").limit(7).campaign(late).campaign(early),
    )
    .await;
    let before = shell(&world, 0).await;
    let names: Vec<&str> = before.campaigns.iter().map(|sign| sign.name.as_str()).collect();
    assert_eq!(names, ["Ant", "zebra"]);
    assert_eq!((before.used, before.feed_read_at), (0, None));
    assert_eq!(before.subscription.proposal_limit, Some(7));
    let leads = world.new_leads(2, at(10)).await;
    world
        .bid_to_the_end(
            &leads[1],
            refused_bid(bidloop_domain::bidding::ReasonCode::JobClosed),
            at(12),
        )
        .await;
    world.bid(&leads[0], at(13)).await;
    let after = shell(&world, 20).await;
    assert_eq!((after.used, after.feed_read_at), (1, Some(at(10))));
    assert_eq!(after.period.end, before.period.end);
    let jobs = &world.stores.jobs;
    jobs.note_feed_read(at(30)).await.unwrap();
    jobs.note_feed_read(at(25)).await.unwrap();
    assert_eq!(shell(&world, 30).await.feed_read_at, Some(at(30)));
}

pub async fn a_period_that_nobody_has_bid_in_is_shown_with_nothing_used(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let later = 40 * 24 * 60 * 60;
    let next = shell(&world, later).await;
    assert_eq!(next.used, 0);
    assert!(next.period.start <= at(later) && at(later) < next.period.end);
}

pub async fn a_campaign_is_shown_with_what_it_has(stores: Stores) {
    let hook = webhook("wh_b", Some("b"), "https://hooks.test/b", &[EventKind::JobNew]);
    let acme = organization("org_acme")
        .campaign(campaign("a").without_filters().bids_with(None).paused())
        .campaign(campaign("b").filter("f_more", serde_json::json!({})))
        .campaign(campaign("c").automatic())
        .webhook(hook);
    let world = World::bare(stores, acme).await;
    let found = facts(&world, 0).await;
    let shown: Vec<(&str, u64, Vec<MissingPart>)> = found
        .campaigns
        .iter()
        .map(|one| (one.sign.id.as_str(), one.filters, one.parts.missing()))
        .collect();
    assert_eq!(
        shown,
        [
            ("a", 0, vec![Filter, JobNewEndpoint, Account]),
            ("b", 2, vec![]),
            ("c", 1, vec![CoverLetter]),
        ]
    );
    assert_eq!(found.campaigns[1].account_id.as_ref().unwrap().as_str(), "acct_1");
}

pub async fn an_endpoint_is_shown_with_the_ends_of_its_last_deliveries(stores: Stores) {
    let world = World::new(stores).await;
    let (owner, deliveries) = (LeaseOwner::new("me"), &world.stores.deliveries);
    world.new_leads(25, at(0)).await;
    let pending = world.pending().await;
    let claimed = deliveries
        .claim(&pending, &owner, &clock_at(at(1)), seconds(14))
        .await
        .unwrap();
    assert_eq!(claimed.len(), 25);
    for delivery in &claimed {
        let end = end_of(delivery, DeliveryOutcome::CorruptPayload("odd".to_owned()), at(2));
        deliveries.finish(&end, &owner).await.unwrap();
    }
    let mut second = webhook("wh_2", Some("camp"), "https://hooks.test/2", &[EventKind::JobNew]);
    second.previous_secret = Some((second.secret.clone(), at(9)));
    let put = ProvisioningChange::PutWebhook(world.organization.clone(), second.clone());
    commit(&world.stores, &[put]).await;
    let found = facts(&world, 10).await.endpoints;
    let ids: Vec<&str> = found.iter().map(|one| one.endpoint.id.as_str()).collect();
    assert_eq!(ids, ["wh_all", "wh_2"], "the organization's first");
    assert_eq!(found[0].last, vec![false; 20]);
    assert_eq!(
        (found[1].last.len(), found[1].previous_secret_until),
        (0, Some(at(9)))
    );
    assert_eq!(found[1].endpoint, second.endpoint);
}

pub async fn an_account_is_shown_with_its_reading_and_its_queued_bids(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme")
            .campaign(campaign("camp"))
            .account("acct_0"),
    )
    .await;
    let leads = world.new_leads(2, at(0)).await;
    world
        .bid_to_the_end(&leads[0], submitted("p", at(1)), at(1))
        .await;
    world.bid(&leads[1], at(2)).await;
    let reading = AccountReading {
        profile_hourly_rate: Some(60.0),
        connects_balance: Connects::new(412),
        at: at(3),
    };
    let account = bidloop_domain::model::AccountId::parse("acct_1").unwrap();
    let submissions = &world.stores.submissions;
    submissions
        .record_account(&world.organization, &account, &reading)
        .await
        .unwrap();
    let found = facts(&world, 4).await.accounts;
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].id.as_str(), found[0].queued), ("acct_0", 0));
    assert_eq!((found[0].reading.as_ref(), found[0].first_deadline), (None, None));
    assert_eq!((found[1].queued, found[1].connected), (1, true));
    assert_eq!(found[1].reading, Some(reading));
    assert_eq!(found[1].first_deadline, Some(at(902)));
}

pub async fn an_organizations_signs_change_with_its_matches_and_its_record(stores: Stores) {
    let world = World::new(stores).await;
    let asked = [organization_id("org_none"), world.organization.clone()];
    let signs = async || {
        let found = world.stores.overview.signs(&asked).await.unwrap();
        let [only] = <[_; 1]>::try_from(found).unwrap();
        assert_eq!(only.organization_id, world.organization);
        only
    };
    let before = signs().await;
    assert_eq!(before.matches, [(world.campaign.clone(), 0)]);
    assert_eq!(before.newest_activity, None);
    let leads = world.new_leads(2, at(3)).await;
    let matched = signs().await;
    assert_eq!(matched.matches, [(world.campaign.clone(), 2)]);
    assert_eq!(matched.newest_activity, None);
    world
        .bid_to_the_end(&leads[0], submitted("p1", at(9)), at(9))
        .await;
    assert_eq!(signs().await.newest_activity, Some(at(9)));
}
