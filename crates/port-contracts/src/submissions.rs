//! The rules of `SubmissionStore` for what is claimed, when, and how bids end (decision B4). Leases, what many
//! submitters do at once, and ends that arrive at the same time have files of their own.

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{BidId, Connects, Lead, LeadStatus, Proposal, VariantArray};
use bidloop_domain::port::{AccountReading, ClaimedBid, LeaseOwner, ProvisioningChange};

use crate::Stores;
use crate::fixture::{
    World, account, activities, already_applied, at, campaign, commit, finish, job, organization, proposal,
    reason, refused_bid, submitted, token,
};

/// The token of the account `acct_1`.
const TOKEN: &str = "token_acct_1";

async fn begin(world: &World, claimed: &ClaimedBid, proposal: &Proposal) -> bool {
    let begun = world
        .stores
        .submissions
        .begin_attempt(&world.organization, claimed.bid.id, &claimed.owner, proposal)
        .await;
    begun.unwrap()
}

async fn postpone(world: &World, claimed: &ClaimedBid, until: i64, outstanding: bool) {
    let submissions = &world.stores.submissions;
    let postponed = submissions
        .postpone(
            &world.organization,
            claimed.bid.id,
            &claimed.owner,
            at(until),
            Some(outstanding),
        )
        .await;
    assert_eq!(postponed, Ok(true));
}

async fn disconnect(world: &World, claimed: &ClaimedBid) {
    let disconnected = world
        .stores
        .submissions
        .disconnect_account(&world.organization, claimed.bid.id, &claimed.owner, &token(TOKEN))
        .await;
    assert_eq!(disconnected, Ok(true));
}

/// Campaigns `one`, `two` and `three`, each with an account of its own.
async fn three_accounts(stores: Stores) -> [World; 3] {
    let mut acme = organization("org_acme");
    for name in ["one", "two", "three"] {
        acme = acme.account(name).campaign(campaign(name).bids_with(Some(name)));
    }
    let world = World::with(stores, acme).await;
    [world.clone(), world.campaign("two"), world.campaign("three")]
}

fn ids(claimed: &[ClaimedBid]) -> Vec<BidId> {
    claimed.iter().map(|claimed| claimed.bid.id).collect()
}

pub async fn bids_are_claimed_earliest_due_first_and_no_more_than_asked_for(stores: Stores) {
    let worlds = three_accounts(stores).await;
    let mut accepted = Vec::new();
    for (world, second) in [(&worlds[1], 10), (&worlds[2], 20), (&worlds[0], 30)] {
        let lead = world.new_lead(&second.to_string(), at(0)).await;
        accepted.push(world.bid(&lead, at(second)).await);
    }
    let (submissions, me) = (&worlds[0].stores.submissions, LeaseOwner::new("me"));
    let early = submissions.claim(&me, at(9), at(99), 10).await.unwrap();
    assert!(early.is_empty(), "none is due");
    // The first to be accepted becomes the last to be due.
    let first = submissions.claim(&me, at(31), at(99), 1).await.unwrap();
    assert_eq!(ids(&first), accepted[..1]);
    postpone(&worlds[0], &first[0], 35, false).await;
    let first_two = submissions.claim(&me, at(40), at(99), 2).await.unwrap();
    assert_eq!(ids(&first_two), accepted[1..]);
    let last = submissions.claim(&me, at(40), at(99), 2).await.unwrap();
    assert_eq!(ids(&last), accepted[..1]);
}

pub async fn a_postponed_bid_waits_for_its_next_attempt(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    postpone(&world, &claimed, 30, false).await;
    assert!(world.claim("me", at(29)).await.is_empty());
    let again = world.claim_one("me", at(30)).await;
    assert_eq!((again.bid.id, again.bid.attempts), (claimed.bid.id, 1));
    assert!(!again.bid.answer_outstanding);
    assert_eq!(world.stores.submissions.queued_count().await, Ok(1));
    assert_eq!(world.status(&lead).await, LeadStatus::Queued);
}

pub async fn a_begun_attempt_is_stored_before_it_is_sent(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    let decided = proposal(&lead.job_id, "As decided");
    assert!(begin(&world, &claimed, &decided).await);
    let record = world.context(&lead).await.bid.unwrap();
    assert_eq!(record.proposal, Some(decided.clone()));
    assert!(record.answer_outstanding);
    postpone(&world, &claimed, 10, true).await;
    let again = world.claim_one("me", at(10)).await.bid;
    assert_eq!((again.proposal, again.answer_outstanding), (Some(decided), true));
}

pub async fn an_attempt_that_a_crash_cut_off_is_outstanding_for_the_next_owner(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    let decided = proposal(&lead.job_id, "As decided");
    begin(&world, &claimed, &decided).await;
    let taken_over = world.claim_one("other", at(700)).await.bid;
    assert_eq!(taken_over.id, claimed.bid.id);
    assert_eq!(
        (taken_over.proposal, taken_over.answer_outstanding),
        (Some(decided), true)
    );
}

pub async fn a_proposal_decided_anew_takes_the_place_of_the_refused_one(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    begin(&world, &claimed, &proposal(&lead.job_id, "With a boost")).await;
    let anew = Proposal {
        boost_connects: Connects::ZERO,
        ..proposal(&lead.job_id, "Without")
    };
    assert!(begin(&world, &claimed, &anew).await);
    postpone(&world, &claimed, 10, false).await;
    let again = world.claim_one("me", at(10)).await.bid;
    assert_eq!((again.proposal, again.answer_outstanding), (Some(anew), false));
}

/// Two leads of one job, in campaigns that bid with these accounts.
async fn two_leads_of_one_job(stores: Stores, accounts: [&str; 2]) -> [(World, Lead); 2] {
    let acme = organization("org_acme")
        .account("acct_2")
        .campaign(campaign("one").bids_with(Some(accounts[0])))
        .campaign(campaign("two").bids_with(Some(accounts[1])));
    let one = World::with(stores, acme).await;
    let two = one.campaign("two");
    one.ingest(
        at(0),
        vec![job("1", at(0), &[("org_acme", "one"), ("org_acme", "two")])],
    )
    .await;
    let first = one.listed_lead(0).await;
    let second = two.listed_lead(0).await;
    [(one, first), (two, second)]
}

pub async fn the_later_of_two_bids_of_an_account_on_one_job_finds_it_taken(stores: Stores) {
    let [(one, first), (two, second)] = two_leads_of_one_job(stores, ["acct_1", "acct_1"]).await;
    let earlier = one.bid(&first, at(1)).await;
    let later = two.bid(&second, at(2)).await;
    let claimed = one.claim_one("me", at(3)).await;
    assert_eq!((claimed.bid.id, claimed.job_taken), (earlier, false));
    postpone(&one, &claimed, 60, false).await;
    let claimed = one.claim_one("me", at(4)).await;
    assert_eq!((claimed.bid.id, claimed.job_taken), (later, true));
}

pub async fn a_job_is_taken_by_a_submitted_bid_and_not_by_one_that_ended_otherwise(stores: Stores) {
    let [(one, first), (two, second)] = two_leads_of_one_job(stores, ["acct_1", "acct_1"]).await;
    two.bid_to_the_end(&second, refused_bid(ReasonCode::JobWarning), at(1))
        .await;
    one.bid(&first, at(2)).await;
    let claimed = one.claim_one("me", at(3)).await;
    assert!(!claimed.job_taken);
    let end = finish(&claimed.bid, submitted("p_1", at(3)), at(3));
    assert_eq!(
        one.stores.submissions.finish(&end, &LeaseOwner::new("me")).await,
        Ok(true)
    );
    let entry = crate::fixture::activity(
        &two.organization,
        bidloop_domain::model::ActivityKind::Submission,
        "new",
        at(4),
    );
    two.stores.leads.reopen(&second.id, &entry).await.unwrap();
    two.bid(&second, at(5)).await;
    assert!(two.claim_one("me", at(6)).await.job_taken);
}

pub async fn another_account_on_the_same_job_does_not_take_it(stores: Stores) {
    let [(one, first), (two, second)] = two_leads_of_one_job(stores, ["acct_1", "acct_2"]).await;
    one.bid_to_the_end(&first, submitted("p_1", at(1)), at(1)).await;
    two.bid(&second, at(2)).await;
    assert!(!two.claim_one("me", at(3)).await.job_taken);
}

pub async fn bids_of_a_disconnected_account_wait_until_it_is_connected_again(stores: Stores) {
    let world = World::new(stores).await;
    for lead in world.new_leads(2, at(0)).await {
        world.bid(&lead, at(1)).await;
    }
    let claimed = world.claim_one("me", at(2)).await;
    disconnect(&world, &claimed).await;
    assert!(world.claim("me", at(700)).await.is_empty());
    assert_eq!(
        world.stores.submissions.queued_count().await,
        Ok(2),
        "disconnecting ends no bid"
    );
    let mut renewed = account("acct_1");
    (renewed.token, renewed.connected) = (token("another"), false);
    world.put_account(renewed).await;
    let again = world.claim_one("me", at(701)).await;
    assert_eq!(again.token, Some(token("another")));
}

pub async fn bids_of_a_disconnected_account_are_claimed_once_their_deadline_has_passed(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    disconnect(&world, &claimed).await;
    assert!(world.claim("me", at(900)).await.is_empty());
    let overdue = world.claim_one("me", at(902)).await;
    assert_eq!(overdue.bid.id, claimed.bid.id);
}

pub async fn bids_of_a_removed_account_are_claimed_once_their_deadline_has_passed(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = world.bid(&lead, at(1)).await;
    let removal = ProvisioningChange::RemoveAccount(world.organization.clone(), account("acct_1").id);
    commit(&world.stores, &[removal]).await;
    assert!(world.claim("me", at(900)).await.is_empty());
    let overdue = world.claim_one("me", at(902)).await;
    assert_eq!((overdue.bid.id, overdue.token), (id, None));
}

pub async fn a_bid_beyond_its_deadline_is_claimed_so_that_it_can_be_ended(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = world.bid(&lead, at(1)).await;
    let overdue = world.claim_one("me", at(5000)).await;
    assert_eq!((overdue.bid.id, overdue.owner.as_str()), (id, "me"));
}

pub async fn a_bid_beyond_its_deadline_does_not_wait_for_its_next_attempt(stores: Stores) {
    let world = World::new(stores).await;
    for (number, lead) in world.new_leads(2, at(0)).await.iter().enumerate() {
        world.bid(lead, at(1)).await;
        let claimed = world.claim_one("me", at(2)).await;
        begin(&world, &claimed, &proposal(&lead.job_id, "As decided")).await;
        // The second one's answer is outstanding.
        postpone(&world, &claimed, 5000, number == 1).await;
        assert!(world.claim("me", at(900)).await.is_empty());
        let due: Vec<_> = ids(&world.claim("me", at(902)).await);
        assert_eq!(due, if number == 0 { vec![claimed.bid.id] } else { vec![] });
        let end = finish(&claimed.bid, refused_bid(ReasonCode::DeadlineExceeded), at(903));
        let ended = world.stores.submissions.finish(&end, &claimed.owner).await;
        assert_eq!(ended, Ok(number == 0));
    }
}

pub async fn an_outstanding_answer_is_waited_for_beyond_the_deadline(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    let decided = proposal(&lead.job_id, "As decided");
    begin(&world, &claimed, &decided).await;
    postpone(&world, &claimed, 5, true).await;
    let claimed = world.claim_one("me", at(6)).await;
    disconnect(&world, &claimed).await;
    assert!(
        world.claim("me", at(5000)).await.is_empty(),
        "nobody may end it before the marketplace answered"
    );
    world.renew_token("another").await;
    let again = world.claim_one("me", at(5001)).await.bid;
    assert_eq!((again.proposal, again.answer_outstanding), (Some(decided), true));
}

pub async fn a_submitted_bid_leaves_its_proposal_on_the_lead_and_tells_the_receivers(stores: Stores) {
    let world = World::with(
        stores,
        organization("org_acme").campaign(campaign("camp").paused()),
    )
    .await;
    let lead = world.new_lead("1", at(0)).await;
    let id = world.bid(&lead, at(1)).await;
    let claimed = world.claim_one("me", at(2)).await;
    let end = finish(&claimed.bid, submitted("p_1", at(3)), at(4));
    assert_eq!(
        world
            .stores
            .submissions
            .finish(&end, &LeaseOwner::new("me"))
            .await,
        Ok(true)
    );
    let context = world.context(&lead).await;
    assert_eq!(context.lead.lead.status, LeadStatus::Submitted);
    assert_eq!(context.lead.lead.proposal_id.as_deref(), Some("p_1"));
    assert_eq!(context.lead.lead.reason, None);
    let record = context.bid.unwrap();
    assert_eq!(
        (record.id, record.status, record.reason),
        (id, LeadStatus::Submitted, None)
    );
    assert_eq!(
        (record.proposal_id.as_deref(), record.submitted_at),
        (Some("p_1"), Some(at(3)))
    );
    assert_eq!(
        (record.connects_spent, record.answer_outstanding),
        (Connects::new(15), false)
    );
    assert_eq!(world.stores.submissions.queued_count().await, Ok(0));
    assert_eq!(world.stores.deliveries.pending_count().await, Ok(1));
    assert!(
        activities(&world.stores, &world.organization)
            .await
            .contains(&end.activity)
    );
    assert!(world.claim("me", at(5000)).await.is_empty());
}

pub async fn a_refused_bid_leaves_its_reason_on_the_lead(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(ReasonCode::VARIANTS.len(), at(0)).await;
    for (lead, &code) in leads.iter().zip(ReasonCode::VARIANTS) {
        world.bid_to_the_end(lead, refused_bid(code), at(1)).await;
        let context = world.context(lead).await;
        assert_eq!(context.lead.lead.status, code.status());
        assert_eq!(context.lead.lead.reason, Some(reason(code)));
        assert_eq!(context.lead.lead.proposal_id, None);
        assert_eq!(context.bid.unwrap().reason, Some(reason(code)));
    }
}

pub async fn an_account_that_had_applied_leaves_its_proposal_id_on_the_lead(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world
        .bid_to_the_end(&lead, already_applied("p_earlier"), at(1))
        .await;
    let ended = world.context(&lead).await.lead.lead;
    assert_eq!(
        (ended.status, ended.proposal_id.as_deref()),
        (LeadStatus::Failed, Some("p_earlier"))
    );
}

pub async fn an_end_may_disconnect_the_account(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    for lead in &leads {
        world.bid(lead, at(1)).await;
    }
    let claimed = world.claim_one("me", at(2)).await;
    let mut end = finish(&claimed.bid, refused_bid(ReasonCode::InvalidToken), at(3));
    end.refused_token = Some(token(TOKEN));
    assert_eq!(
        world
            .stores
            .submissions
            .finish(&end, &LeaseOwner::new("me"))
            .await,
        Ok(true)
    );
    let campaign = world.context(&leads[0]).await.campaign.unwrap();
    assert!(!campaign.account.unwrap().connected);
    assert!(
        world.claim("me", at(4)).await.is_empty(),
        "the account's other bid waits"
    );
}

pub async fn an_account_that_was_given_another_token_stays_connected(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    for lead in &leads {
        world.bid(lead, at(1)).await;
    }
    let claimed = world.claim_one("me", at(2)).await;
    world.renew_token("another").await;
    disconnect(&world, &claimed).await;
    let claimed = world.claim_one("me", at(3)).await;
    assert_eq!(claimed.token, Some(token("another")));
    world.renew_token("a third").await;
    let mut end = finish(&claimed.bid, refused_bid(ReasonCode::InvalidToken), at(4));
    end.refused_token = claimed.token;
    assert_eq!(
        world
            .stores
            .submissions
            .finish(&end, &LeaseOwner::new("me"))
            .await,
        Ok(true)
    );
    let campaign = world.context(&leads[0]).await.campaign.unwrap();
    assert!(campaign.account.unwrap().connected);
    assert_eq!(world.claim_one("me", at(5)).await.token, Some(token("a third")));
}

pub async fn what_the_marketplace_says_of_an_account_is_noted(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = account("acct_1").id;
    let rate = async || {
        let campaign = world.context(&lead).await.campaign.unwrap();
        campaign.account.unwrap().profile_hourly_rate
    };
    assert_eq!(rate().await, None);
    for (second, profile_hourly_rate) in [(1, Some(61.5)), (2, None), (3, Some(0.1))] {
        let reading = AccountReading {
            profile_hourly_rate,
            connects_balance: Connects::new(9),
            at: at(second),
        };
        world
            .stores
            .submissions
            .record_account(&world.organization, &id, &reading)
            .await
            .unwrap();
        assert_eq!(rate().await, profile_hourly_rate);
    }
    let gone = account("acct_9").id;
    let reading = AccountReading {
        profile_hourly_rate: None,
        connects_balance: Connects::ZERO,
        at: at(4),
    };
    world
        .stores
        .submissions
        .record_account(&world.organization, &gone, &reading)
        .await
        .unwrap();
    assert_eq!(rate().await, Some(0.1));
}

pub async fn a_reading_of_an_account_never_replaces_a_later_one(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    for (second, rate) in [(5, 50.0), (4, 40.0), (5, 55.0)] {
        let reading = AccountReading {
            profile_hourly_rate: Some(rate),
            connects_balance: Connects::ZERO,
            at: at(second),
        };
        let recorded = world
            .stores
            .submissions
            .record_account(&world.organization, &account("acct_1").id, &reading)
            .await;
        assert_eq!(recorded, Ok(()));
        let summary = world.context(&lead).await.campaign.unwrap().account.unwrap();
        let expected = if second == 4 { 50.0 } else { rate };
        assert_eq!(summary.profile_hourly_rate, Some(expected));
    }
}
