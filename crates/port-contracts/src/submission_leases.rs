//! The rules of `SubmissionStore` for leases, and for what many submitters do at once (decisions B2 and B4).

use std::collections::BTreeSet;

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{BidId, Lead, LeadStatus};
use bidloop_domain::port::{ClaimedBid, LeaseOwner};

use crate::Stores;
use crate::fixture::{
    World, activities, at, at_once, campaign, finish, organization, organization_id, proposal, refused_bid,
    submitted, token,
};

async fn queued(stores: Stores) -> (World, Lead, ClaimedBid) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    // Until 602, since a claim lasts ten minutes.
    let claimed = world.claim_one("me", at(2)).await;
    (world, lead, claimed)
}

pub async fn a_bid_under_a_live_lease_is_not_claimed(stores: Stores) {
    let (world, ..) = queued(stores).await;
    for second in [2, 300, 601] {
        assert!(world.claim("other", at(second)).await.is_empty());
        assert!(world.claim("me", at(second)).await.is_empty());
    }
}

pub async fn a_bid_is_claimed_again_once_its_lease_has_ended(stores: Stores) {
    let (world, _, claimed) = queued(stores).await;
    assert_eq!(world.claim_one("other", at(603)).await.bid.id, claimed.bid.id);
}

pub async fn a_renewed_lease_lasts_longer(stores: Stores) {
    let (world, _, claimed) = queued(stores).await;
    let submissions = &world.stores.submissions;
    let renewed = submissions
        .renew(&world.organization, claimed.bid.id, &claimed.owner, at(800))
        .await;
    assert_eq!(renewed, Ok(true));
    assert!(world.claim("other", at(799)).await.is_empty());
    world.claim_one("other", at(801)).await;
}

pub async fn one_account_submits_one_bid_after_the_other(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(3, at(0)).await;
    let mut expected = Vec::new();
    for (lead, second) in leads.iter().zip([1, 2, 3]) {
        expected.push(world.bid(lead, at(second)).await);
    }
    for id in expected {
        let claimed = world.claim_one("me", at(10)).await;
        assert_eq!(claimed.bid.id, id);
        assert!(world.claim("other", at(10)).await.is_empty());
        let end = finish(&claimed.bid, submitted(&id.to_string(), at(11)), at(11));
        assert_eq!(
            world
                .stores
                .submissions
                .finish(&end, &LeaseOwner::new("me"))
                .await,
            Ok(true)
        );
    }
    assert!(world.claim("me", at(12)).await.is_empty());
}

pub async fn an_account_of_another_organization_is_another_account(stores: Stores) {
    let acme = World::new(stores.clone()).await;
    let two = World::with(stores, organization("org_two").campaign(campaign("camp"))).await;
    for (world, id) in [(&acme, "1"), (&two, "2")] {
        let lead = world.new_lead(id, at(0)).await;
        world.bid(&lead, at(1)).await;
    }
    assert_eq!(acme.claim("me", at(2)).await.len(), 2);
}

pub async fn a_long_queue_of_one_account_hides_no_other(stores: Stores) {
    let acme = World::new(stores.clone()).await;
    for lead in acme.new_leads(20, at(0)).await {
        acme.bid(&lead, at(1)).await;
    }
    let mut late = Vec::new();
    for (organization_id, second) in [("org_two", 2), ("org_three", 3)] {
        let of_another = organization(organization_id).campaign(campaign("camp"));
        let world = World::with(stores.clone(), of_another).await;
        let lead = world.new_lead(organization_id, at(0)).await;
        late.push(world.bid(&lead, at(second)).await);
    }
    let submissions = &acme.stores.submissions;
    let claim = async |limit| {
        let claimed = submissions
            .claim(&LeaseOwner::new("me"), at(4), at(604), limit)
            .await;
        let claimed = claimed.unwrap().into_iter();
        claimed.map(|claimed| claimed.bid.id).collect::<Vec<BidId>>()
    };
    let first = claim(2).await;
    assert_eq!((first.len(), first[1]), (2, late[0]));
    assert_eq!(claim(2).await, late[1..]);
    assert!(claim(2).await.is_empty());
}

/// That `owner` cannot touch the bid.
async fn assert_powerless(world: &World, lead: &Lead, claimed: &ClaimedBid, owner: &LeaseOwner) {
    let (submissions, organization, id) = (&world.stores.submissions, &world.organization, claimed.bid.id);
    let before = (
        world.context(lead).await,
        activities(&world.stores, organization).await,
    );
    assert_eq!(
        submissions.renew(organization, id, owner, at(9000)).await,
        Ok(false)
    );
    let sent = proposal(&lead.job_id, "Too late");
    assert_eq!(
        submissions.begin_attempt(organization, id, owner, &sent).await,
        Ok(false)
    );
    assert_eq!(
        submissions
            .postpone(organization, id, owner, at(9000), Some(true))
            .await,
        Ok(false)
    );
    assert_eq!(
        submissions
            .postpone(organization, id, owner, at(9000), None)
            .await,
        Ok(false)
    );
    assert_eq!(
        submissions
            .disconnect_account(organization, id, owner, &token("token_acct_1"))
            .await,
        Ok(false)
    );
    let mut end = finish(&claimed.bid, refused_bid(ReasonCode::InvalidToken), at(700));
    end.refused_token = Some(token("token_acct_1"));
    assert_eq!(submissions.finish(&end, owner).await, Ok(false));
    let after = world.context(lead).await;
    assert_eq!((after.lead, after.bid), (before.0.lead, before.0.bid));
    assert_eq!(
        after.campaign.unwrap().account,
        before.0.campaign.unwrap().account
    );
    assert_eq!(activities(&world.stores, organization).await, before.1);
}

pub async fn a_stale_owner_can_do_nothing(stores: Stores) {
    let (world, lead, claimed) = queued(stores).await;
    let taken_over = world.claim_one("other", at(603)).await;
    let deliveries = world.stores.deliveries.pending_count().await;
    assert_powerless(&world, &lead, &claimed, &claimed.owner).await;
    assert_eq!(world.stores.deliveries.pending_count().await, deliveries);
    let end = finish(&taken_over.bid, submitted("p_1", at(604)), at(604));
    assert_eq!(
        world.stores.submissions.finish(&end, &taken_over.owner).await,
        Ok(true),
        "the lease is untouched"
    );
    assert_powerless(&world, &lead, &claimed, &claimed.owner).await;
    assert_powerless(&world, &lead, &claimed, &taken_over.owner).await;
}

pub async fn an_owner_that_gave_its_lease_up_can_do_nothing(stores: Stores) {
    let (world, lead, claimed) = queued(stores).await;
    let submissions = &world.stores.submissions;
    let postponed = submissions
        .postpone(
            &world.organization,
            claimed.bid.id,
            &claimed.owner,
            at(20),
            Some(false),
        )
        .await;
    assert_eq!(postponed, Ok(true));
    assert_powerless(&world, &lead, &claimed, &claimed.owner).await;
    let again = world.claim_one("me", at(20)).await;
    assert_eq!(
        submissions
            .disconnect_account(
                &world.organization,
                again.bid.id,
                &again.owner,
                &token("token_acct_1")
            )
            .await,
        Ok(true)
    );
    assert_powerless(&world, &lead, &claimed, &claimed.owner).await;
    assert_eq!(world.status(&lead).await, LeadStatus::Queued);
}

pub async fn a_bid_that_was_given_up_waits_and_the_accounts_other_bids_do_not(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    let first = world.bid(&leads[0], at(1)).await;
    let second = world.bid(&leads[1], at(2)).await;
    let claimed = world.claim_one("me", at(3)).await;
    let submissions = &world.stores.submissions;
    let letter = proposal(&claimed.bid.job_id, "Hello");
    let begun = submissions.begin_attempt(&world.organization, first, &claimed.owner, &letter);
    assert_eq!(begun.await, Ok(true));
    let given_up = submissions.postpone(&world.organization, first, &claimed.owner, at(20), None);
    assert_eq!(given_up.await, Ok(true));
    assert_powerless(&world, &leads[0], &claimed, &claimed.owner).await;

    let other = world.claim_one("me", at(4)).await;
    assert_eq!(other.bid.id, second);
    let end = finish(&other.bid, submitted("p_2", at(5)), at(5));
    assert_eq!(submissions.finish(&end, &other.owner).await, Ok(true));
    assert!(world.claim("me", at(19)).await.is_empty());
    let again = world.claim_one("me", at(20)).await.bid;
    assert_eq!((again.id, again.attempts), (first, 1));
    assert_eq!(
        (again.answer_outstanding, again.proposal),
        (true, Some(letter)),
        "what was sent may have come"
    );
}

pub async fn a_bid_of_another_organization_is_not_the_owners(stores: Stores) {
    let (world, _, claimed) = queued(stores).await;
    organization("org_two").provision(&world.stores).await;
    let two = organization_id("org_two");
    let submissions = &world.stores.submissions;
    assert_eq!(
        submissions
            .renew(&two, claimed.bid.id, &claimed.owner, at(9000))
            .await,
        Ok(false)
    );
    assert_eq!(
        submissions
            .postpone(&two, claimed.bid.id, &claimed.owner, at(9000), Some(false))
            .await,
        Ok(false)
    );
    assert_eq!(
        submissions
            .renew(&world.organization, claimed.bid.id, &claimed.owner, at(9000))
            .await,
        Ok(true)
    );
}

/// `accounts` accounts with so many queued bids each.
async fn many_queued(stores: Stores, accounts: usize, bids_each: usize) -> World {
    let mut acme = organization("org_acme");
    for number in 0..accounts {
        let name = format!("own_{number}");
        acme = acme
            .account(&name)
            .campaign(campaign(&name).paused().bids_with(Some(&name)));
    }
    let world = World::with(stores, acme).await;
    for number in 0..accounts {
        let own = world.campaign(&format!("own_{number}"));
        for bid in 0..bids_each {
            let lead = own.new_lead(&format!("{number}-{bid}"), at(0)).await;
            own.bid(&lead, at(1)).await;
        }
    }
    world
}

async fn claim_at_once(world: &World, claims: usize, limit: u32) -> Vec<ClaimedBid> {
    let claimed = at_once(claims, |number| {
        let world = world.clone();
        async move {
            let owner = LeaseOwner::new(format!("owner-{number}"));
            world
                .stores
                .submissions
                .claim(&owner, at(2), at(600), limit)
                .await
                .unwrap()
        }
    })
    .await;
    claimed.into_iter().flatten().collect()
}

pub async fn claims_at_once_never_give_one_bid_twice(stores: Stores) {
    let world = many_queued(stores, 12, 1).await;
    let mut claimed = claim_at_once(&world, 10, 2).await;
    // What a claim passed over because another held it is there for the next one.
    claimed.extend(world.claim("last", at(2)).await);
    let ids: BTreeSet<BidId> = claimed.iter().map(|claimed| claimed.bid.id).collect();
    assert_eq!((claimed.len(), ids.len()), (12, 12));
}

pub async fn claims_at_once_never_give_two_bids_of_one_account(stores: Stores) {
    let world = many_queued(stores, 3, 4).await;
    let mut claimed = claim_at_once(&world, 10, 5).await;
    claimed.extend(world.claim("last", at(2)).await);
    let accounts: BTreeSet<_> = claimed
        .iter()
        .map(|claimed| claimed.bid.account_id.clone())
        .collect();
    assert_eq!((claimed.len(), accounts.len()), (3, 3));
}

pub async fn of_many_ends_at_once_one_counts(stores: Stores) {
    let (world, lead, claimed) = queued(stores).await;
    let before = world.stores.deliveries.pending_count().await.unwrap();
    let answers = at_once(8, |number| {
        let (world, bid) = (world.clone(), claimed.bid.clone());
        async move {
            let end = finish(&bid, submitted(&format!("p_{number}"), at(3)), at(3));
            world
                .stores
                .submissions
                .finish(&end, &LeaseOwner::new("me"))
                .await
                .unwrap()
        }
    })
    .await;
    assert_eq!(answers.iter().filter(|recorded| **recorded).count(), 1);
    assert_eq!(world.status(&lead).await, LeadStatus::Submitted);
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(before + 1));
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 2);
}
