//! The rules of `OverviewStore` for all organizations at once.

use bidloop_domain::model::SubscriptionStatus;
use bidloop_domain::port::{InstallationState, OrganizationSummary, ProvisioningChange};

use crate::Stores;
use crate::fixture::{
    OrganizationBuilder, World, account, at, campaign, commit, organization, organization_id, proposal,
};

async fn state(stores: &Stores, second: i64) -> InstallationState {
    stores.overview.installation_state(at(second)).await.unwrap()
}

async fn summaries(stores: &Stores, after: Option<&str>, second: i64) -> Vec<OrganizationSummary> {
    let after = after.map(organization_id);
    let found = stores.overview.summaries(after.as_ref(), 2, at(second)).await;
    found.unwrap()
}

pub async fn organizations_are_summed_up_page_by_page_with_what_each_has_used(stores: Stores) {
    let acme = organization("org_a").limit(7).period(at(0), at(100));
    let world = World::with(stores.clone(), acme.clone().campaign(campaign("camp"))).await;
    let unbilled = organization("org_b").unbilled();
    unbilled
        .campaign(campaign("x"))
        .campaign(campaign("y"))
        .provision(&stores)
        .await;
    organization("org_c").provision(&stores).await;
    let leads = world.new_leads(2, at(1)).await;
    for lead in &leads {
        world.bid(lead, at(2)).await;
    }
    let told = async |after, second| {
        let found = summaries(&stores, after, second).await;
        let told = found.into_iter().map(|summary| {
            let usage = summary.usage.unwrap();
            let limit = usage.subscription.proposal_limit;
            (summary.name.id.to_string(), usage.used, limit, summary.campaigns)
        });
        told.collect::<Vec<_>>()
    };
    let a = |used, limit| ("org_a".to_owned(), used, Some(limit), 1);
    let b = ("org_b".to_owned(), 0, None, 2);
    assert_eq!(told(None, 3).await, [a(2, 7), b.clone()]);
    assert_eq!(told(None, 100).await, [a(0, 7), b.clone()], "the next period");
    let changed = acme.limit(8).period(at(1), at(50));
    commit(&stores, &[changed.put_organization()]).await;
    assert_eq!(told(None, 4).await, [a(2, 8), b], "counted anew");
    assert_eq!(
        told(Some("org_b"), 4).await,
        [("org_c".to_owned(), 0, Some(50), 0)]
    );
    assert!(told(Some("org_c"), 4).await.is_empty());
}

pub async fn a_summary_tells_the_same_as_the_page_of_its_organization(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    for second in [1, 40 * 24 * 60 * 60] {
        let found = summaries(&world.stores, None, second).await.remove(0);
        let shell = world.stores.overview.shell(&world.organization, at(second)).await;
        let (shell, usage) = (shell.unwrap().unwrap(), found.usage.unwrap());
        assert_eq!(
            (usage.subscription, usage.period, usage.used),
            (shell.subscription, shell.period, shell.used)
        );
    }
}

pub async fn the_oldest_bid_and_delivery_are_those_that_wait_longest(stores: Stores) {
    let world = World::new(stores).await;
    assert_eq!(state(&world.stores, 0).await, InstallationState::default());
    let leads = world.new_leads(2, at(10)).await;
    world.bid(&leads[1], at(30)).await;
    world.bid(&leads[0], at(20)).await;
    let found = state(&world.stores, 40).await;
    assert_eq!(
        (found.oldest_bid, found.oldest_delivery),
        (Some(at(20)), Some(at(10)))
    );
}

pub async fn a_bid_whose_answer_is_outstanding_is_unsettled_and_waits_no_more(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let bid = world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("submitter", at(2)).await;
    let submissions = &world.stores.submissions;
    let sent = proposal(&lead.job_id, "Dear client");
    let begun = submissions.begin_attempt(&world.organization, bid, &claimed.owner, &sent);
    assert_eq!(begun.await, Ok(true));
    let unsettled = async |second| {
        let found = state(&world.stores, second).await;
        assert_eq!(found.oldest_bid, None);
        found.unsettled_bids
    };
    assert_eq!(unsettled(900).await, 0);
    assert_eq!(unsettled(901).await, 1, "beyond its deadline");
    let removed = ProvisioningChange::RemoveAccount(world.organization.clone(), account("acct_1").id);
    commit(&world.stores, &[removed]).await;
    assert_eq!(unsettled(3).await, 1, "without an account");
}

pub async fn disconnected_accounts_count_if_active_campaigns_bid_with_them(stores: Stores) {
    let mut acme = organization("org_acme")
        .account("acct_2")
        .account("acct_3")
        .account("acct_4")
        .campaign(campaign("camp"))
        .campaign(campaign("other"))
        .campaign(campaign("still").paused().bids_with(Some("acct_2")))
        .campaign(campaign("well").bids_with(Some("acct_4")));
    for account in &mut acme.0.accounts[..3] {
        account.connected = false;
    }
    let world = World::with(stores, acme).await;
    assert_eq!(state(&world.stores, 0).await.disconnected_accounts, 1);
    world.renew_token("another").await;
    assert_eq!(state(&world.stores, 0).await.disconnected_accounts, 0);
}

pub async fn organizations_without_an_active_subscription_count_if_a_campaign_is_active(stores: Stores) {
    let lapsed = |id: &str| organization(id).status(SubscriptionStatus::PastDue);
    let mut collection_paused = organization("org_2");
    collection_paused.0.subscription.collection_paused = true;
    for one in [
        lapsed("org_1").campaign(campaign("camp")),
        collection_paused.campaign(campaign("camp")),
        lapsed("org_3").campaign(campaign("camp").paused()),
        lapsed("org_4"),
        organization("org_5").campaign(campaign("camp")),
    ] {
        one.provision(&stores).await;
    }
    assert_eq!(state(&stores, 0).await.lapsed_organizations, 2);
}

pub async fn organizations_with_less_than_a_tenth_of_their_quota_are_told_from_those_with_none(
    stores: Stores,
) {
    let acme = organization("org_acme")
        .limit(11)
        .period(at(0), at(1000))
        .campaign(campaign("camp"));
    let world = World::with(stores, acme).await;
    let quotas = async |second| {
        let found = state(&world.stores, second).await;
        (
            found.organizations_low_on_quota,
            found.organizations_without_quota,
        )
    };
    let leads = world.new_leads(11, at(1)).await;
    for lead in &leads[..9] {
        world.bid(lead, at(2)).await;
    }
    assert_eq!(quotas(3).await, (0, 0), "2 of 11 are left");
    world.bid(&leads[9], at(2)).await;
    assert_eq!(quotas(3).await, (1, 0));
    world.bid(&leads[10], at(2)).await;
    assert_eq!(quotas(3).await, (0, 1));
    assert_eq!(quotas(1000).await, (0, 0), "the next period");
    let none: [OrganizationBuilder; 4] = [
        organization("org_1").limit(0).campaign(campaign("camp")),
        organization("org_2").limit(0).campaign(campaign("camp").paused()),
        organization("org_3").unbilled().campaign(campaign("camp")),
        organization("org_4")
            .limit(0)
            .status(SubscriptionStatus::Unpaid)
            .campaign(campaign("camp")),
    ];
    for one in none {
        one.provision(&world.stores).await;
    }
    assert_eq!(quotas(3).await, (0, 2), "a limit of 0 has nothing left");
}
