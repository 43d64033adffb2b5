//! The rules of `LeadStore::accept_bid` for the plan's quota (decisions B2 and B3).

use bidloop_domain::bidding::{QuotaUsage, ReasonCode};
use bidloop_domain::model::{LeadStatus, Timestamp};
use bidloop_domain::port::{AcceptBid, LeaseOwner};

use crate::Stores;
use crate::fixture::{
    OrganizationBuilder, World, activities, at, at_once, campaign, commit, finish, how_many, organization,
    refused_bid, submitted,
};

/// `org_acme` with so many bids in a period of 1000 seconds from the tests' beginning.
fn acme(limit: u32) -> OrganizationBuilder {
    organization("org_acme")
        .limit(limit)
        .period(at(0), at(1000))
        .campaign(campaign("camp"))
}

fn used_up(used: u64, limit: u64, period_end: Timestamp) -> AcceptBid {
    AcceptBid::QuotaUsedUp(QuotaUsage {
        used,
        limit: Some(limit),
        period_end,
    })
}

pub async fn a_bid_beyond_the_limit_is_refused_with_the_usage_and_changes_nothing(stores: Stores) {
    let world = World::with(stores, acme(2)).await;
    let leads = world.new_leads(3, at(0)).await;
    world.bid(&leads[0], at(1)).await;
    world.bid(&leads[1], at(2)).await;
    let before = activities(&world.stores, &world.organization).await;
    assert_eq!(world.try_bid(&leads[2], at(3)).await, used_up(2, 2, at(1000)));
    assert_eq!(world.status(&leads[2]).await, LeadStatus::New);
    assert!(world.context(&leads[2]).await.bid.is_none());
    assert_eq!(world.stores.submissions.queued_count().await, Ok(2));
    assert_eq!(activities(&world.stores, &world.organization).await, before);
}

pub async fn a_limit_of_zero_admits_no_bid(stores: Stores) {
    let world = World::with(stores, acme(0)).await;
    let lead = world.new_lead("1", at(0)).await;
    assert_eq!(world.try_bid(&lead, at(1)).await, used_up(0, 0, at(1000)));
}

pub async fn without_a_limit_every_bid_is_accepted_and_counted(stores: Stores) {
    let world = World::with(stores, acme(0).unbilled()).await;
    let leads = world.new_leads(3, at(0)).await;
    for lead in &leads {
        world.bid(lead, at(1)).await;
    }
    let shell = world.stores.overview.shell(&world.organization, at(2)).await;
    let shell = shell.unwrap().unwrap();
    assert_eq!((shell.subscription.proposal_limit, shell.used), (None, 3));
}

pub async fn the_calendar_months_of_an_organization_that_nobody_bills_are_counted_apart(stores: Stores) {
    let world = World::with(stores, acme(0).unbilled()).await;
    let leads = world.new_leads(2, at(0)).await;
    let (_, next_month) = at(0).calendar_month();
    world.bid(&leads[0], at(1)).await;
    world.bid(&leads[1], next_month).await;
    for (now, end) in [(at(2), next_month), (next_month, next_month.calendar_month().1)] {
        let shell = world.stores.overview.shell(&world.organization, now).await;
        let shell = shell.unwrap().unwrap();
        assert_eq!((shell.used, shell.period.end), (1, end));
    }
}

pub async fn of_many_bids_at_once_no_more_than_the_limit_are_accepted(stores: Stores) {
    let world = World::with(stores, acme(10)).await;
    let leads = world.new_leads(64, at(0)).await;
    let answers = at_once(64, |number| {
        let (world, lead) = (world.clone(), leads[number].clone());
        async move { world.try_bid(&lead, at(1)).await }
    })
    .await;
    assert_eq!(how_many(&answers, &AcceptBid::Accepted), 10);
    assert_eq!(how_many(&answers, &used_up(10, 10, at(1000))), 54);
    assert_eq!(world.stores.submissions.queued_count().await, Ok(10));
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 10);
    for (lead, answer) in leads.iter().zip(&answers) {
        let accepted = *answer == AcceptBid::Accepted;
        let expected = if accepted {
            LeadStatus::Queued
        } else {
            LeadStatus::New
        };
        assert_eq!(world.status(lead).await, expected);
    }
}

pub async fn the_quota_is_the_organizations(stores: Stores) {
    let world = World::with(stores.clone(), acme(1).campaign(campaign("other"))).await;
    let other = world.campaign("other");
    let two = World::with(
        stores,
        organization("org_two").limit(1).campaign(campaign("camp")),
    )
    .await;
    let first = world.new_lead("1", at(0)).await;
    let second = other.new_lead("2", at(0)).await;
    let of_two = two.new_lead("3", at(0)).await;
    world.bid(&first, at(1)).await;
    assert_eq!(other.try_bid(&second, at(1)).await, used_up(1, 1, at(1000)));
    two.bid(&of_two, at(1)).await;
}

pub async fn the_next_period_starts_when_the_last_one_ends(stores: Stores) {
    let world = World::with(stores, acme(1)).await;
    let leads = world.new_leads(4, at(0)).await;
    world.bid(&leads[0], at(999)).await;
    let last_moment = Timestamp::from_millis(at(1000).as_millis() - 1);
    assert_eq!(
        world.try_bid(&leads[1], last_moment).await,
        used_up(1, 1, at(1000))
    );
    world.bid(&leads[1], at(1000)).await;
    assert_eq!(world.try_bid(&leads[2], at(1001)).await, used_up(1, 1, at(2000)));
    // Three periods without a bid and without a word from billing.
    world.bid(&leads[2], at(5500)).await;
    assert_eq!(world.try_bid(&leads[3], at(5999)).await, used_up(1, 1, at(6000)));
}

pub async fn a_bid_that_is_skipped_or_fails_gives_its_unit_back(stores: Stores) {
    let world = World::with(stores, acme(1)).await;
    let leads = world.new_leads(3, at(0)).await;
    world
        .bid_to_the_end(&leads[0], refused_bid(ReasonCode::AlreadyHired), at(1))
        .await;
    world
        .bid_to_the_end(&leads[1], refused_bid(ReasonCode::JobClosed), at(2))
        .await;
    world.bid(&leads[2], at(3)).await;
}

pub async fn a_submitted_bid_keeps_its_unit(stores: Stores) {
    let world = World::with(stores, acme(1)).await;
    let leads = world.new_leads(2, at(0)).await;
    world
        .bid_to_the_end(&leads[0], submitted("p_1", at(1)), at(1))
        .await;
    assert_eq!(world.try_bid(&leads[1], at(2)).await, used_up(1, 1, at(1000)));
}

pub async fn a_unit_goes_back_to_the_period_it_was_taken_from(stores: Stores) {
    let world = World::with(
        stores,
        acme(1)
            .account("acct_2")
            .campaign(campaign("other").bids_with(Some("acct_2"))),
    )
    .await;
    let other = world.campaign("other");
    let late = world.new_lead("1", at(0)).await;
    let leads = other.new_leads(2, at(0)).await;
    world.bid(&late, at(900)).await;
    other.bid(&leads[0], at(1100)).await;
    let claimed = world.claim("me", at(1200)).await;
    let ending = claimed
        .iter()
        .find(|claimed| claimed.bid.lead_id == late.id)
        .unwrap();
    let end = finish(&ending.bid, refused_bid(ReasonCode::JobClosed), at(1200));
    assert_eq!(
        world
            .stores
            .submissions
            .finish(&end, &LeaseOwner::new("me"))
            .await,
        Ok(true)
    );
    assert_eq!(other.try_bid(&leads[1], at(1300)).await, used_up(1, 1, at(2000)));
}

pub async fn a_changed_limit_holds_at_once(stores: Stores) {
    let world = World::with(stores, acme(1)).await;
    let leads = world.new_leads(3, at(0)).await;
    world.bid(&leads[0], at(1)).await;
    commit(&world.stores, &[acme(2).put_organization()]).await;
    world.bid(&leads[1], at(2)).await;
    commit(&world.stores, &[acme(1).put_organization()]).await;
    assert_eq!(world.try_bid(&leads[2], at(3)).await, used_up(2, 1, at(1000)));
}

pub async fn in_a_newly_reported_period_only_its_own_bids_count(stores: Stores) {
    let world = World::with(stores, acme(2)).await;
    let leads = world.new_leads(5, at(0)).await;
    world.bid(&leads[0], at(100)).await;
    world.bid(&leads[1], at(500)).await;
    // Billing moves the period's start between the two bids.
    commit(
        &world.stores,
        &[acme(2).period(at(300), at(1300)).put_organization()],
    )
    .await;
    world.bid(&leads[2], at(600)).await;
    assert_eq!(world.try_bid(&leads[3], at(601)).await, used_up(2, 2, at(1300)));
    commit(
        &world.stores,
        &[acme(2).period(at(700), at(1700)).put_organization()],
    )
    .await;
    world.bid(&leads[3], at(701)).await;
    world.bid(&leads[4], at(702)).await;
}

pub async fn units_given_back_while_bids_come_in_are_used_once(stores: Stores) {
    let mut acme = acme(6);
    for number in 0..6 {
        acme = acme.account(&format!("own_{number}"));
        acme = acme.campaign(campaign(&format!("own_{number}")).bids_with(Some(&format!("own_{number}"))));
    }
    let world = World::with(stores, acme).await;
    for number in 0..6 {
        let own = world.campaign(&format!("own_{number}"));
        let lead = own.new_lead(&format!("own-{number}"), at(0)).await;
        own.bid(&lead, at(1)).await;
    }
    let claimed = world.claim("me", at(2)).await;
    assert_eq!(claimed.len(), 6);
    let leads = world.new_leads(20, at(0)).await;
    let accepted = at_once(26, |number| {
        let world = world.clone();
        let ending = claimed.get(number).map(|claimed| claimed.bid.clone());
        let lead = leads.get(number.saturating_sub(6)).cloned();
        async move {
            if let Some(bid) = ending {
                let end = finish(&bid, refused_bid(ReasonCode::JobClosed), at(3));
                assert_eq!(
                    world
                        .stores
                        .submissions
                        .finish(&end, &LeaseOwner::new("me"))
                        .await,
                    Ok(true)
                );
                return false;
            }
            world.try_bid(&lead.unwrap(), at(3)).await == AcceptBid::Accepted
        }
    })
    .await;
    let early = accepted.iter().filter(|accepted| **accepted).count();
    assert!(early <= 6);
    let mut late = 0;
    for lead in &leads {
        late += usize::from(world.try_bid(lead, at(4)).await == AcceptBid::Accepted);
    }
    assert_eq!(early + late, 6);
}
