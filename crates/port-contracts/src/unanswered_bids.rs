//! The rules of `SubmissionStore` for operators: queued bids are listed, and unanswered ones claimed to be settled
//! (decision B4).

use bidloop_domain::model::{BidId, Lead, LeadStatus, MarketplaceToken, Timestamp};
use bidloop_domain::port::{
    AccountState, ClaimUnanswered, LeaseOwner, ProvisioningChange, WaitingBid, WaitingBidsQuery,
};

use crate::Stores;
use crate::fixture::{
    World, account, at, at_once, commit, finish, fresh_uuid, organization_id, proposal, submitted,
};

async fn list(world: &World, query: WaitingBidsQuery) -> Vec<WaitingBid> {
    world.stores.submissions.waiting(&query).await.unwrap()
}

fn all() -> WaitingBidsQuery {
    WaitingBidsQuery {
        limit: 100,
        ..WaitingBidsQuery::default()
    }
}

fn unsettled_at(now: Timestamp) -> WaitingBidsQuery {
    WaitingBidsQuery {
        unsettled_at: Some(now),
        ..all()
    }
}

/// A queued bid whose proposal was sent and not answered. Its deadline is at 901.
async fn unanswered(world: &World, lead: &Lead) -> BidId {
    let id = world.bid(lead, at(1)).await;
    let claimed = world.claim_one("submitter", at(2)).await;
    let submissions = &world.stores.submissions;
    let sent = proposal(&lead.job_id, "Dear client");
    let begun = submissions.begin_attempt(&world.organization, id, &claimed.owner, &sent);
    assert_eq!(begun.await, Ok(true));
    let postponed = submissions.postpone(&world.organization, id, &claimed.owner, at(5), Some(true));
    assert_eq!(postponed.await, Ok(true));
    id
}

async fn claim(world: &World, bid: BidId, owner: &str, second: i64) -> ClaimUnanswered {
    let submissions = &world.stores.submissions;
    let owner = LeaseOwner::new(owner);
    submissions
        .claim_unanswered(bid, &owner, at(second), at(second + 10))
        .await
        .unwrap()
}

async fn remove_account(world: &World) {
    let removed = ProvisioningChange::RemoveAccount(world.organization.clone(), account("acct_1").id);
    commit(&world.stores, &[removed]).await;
}

pub async fn queued_bids_are_listed_oldest_first_with_the_state_of_their_account(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(3, at(0)).await;
    let mut ids = Vec::new();
    for (lead, second) in leads.iter().zip([3, 1, 2]) {
        ids.push(world.bid(lead, at(second)).await);
    }
    let listed = list(&world, all()).await;
    let order: Vec<BidId> = listed.iter().map(|bid| bid.id).collect();
    assert_eq!(order, [ids[1], ids[2], ids[0]]);
    assert_eq!(
        listed[0],
        WaitingBid {
            id: ids[1],
            organization_id: world.organization.clone(),
            campaign_id: world.campaign.clone(),
            lead_id: leads[1].id.clone(),
            account_id: account("acct_1").id,
            account: AccountState::Connected,
            queued_at: at(1),
            deadline: at(901),
            attempts: 0,
            answer_outstanding: false,
        }
    );
    let two = WaitingBidsQuery { limit: 2, ..all() };
    assert_eq!(list(&world, two).await.len(), 2);
    let of = |organization: &str| WaitingBidsQuery {
        organization_id: Some(organization_id(organization)),
        ..all()
    };
    assert_eq!(list(&world, of("org_acme")).await.len(), 3);
    assert_eq!(list(&world, of("org_two")).await, []);

    let claimed = world.claim_one("me", at(4)).await;
    let token = MarketplaceToken::unchecked("token_acct_1".to_owned());
    let submissions = &world.stores.submissions;
    let disconnected =
        submissions.disconnect_account(&world.organization, claimed.bid.id, &claimed.owner, &token);
    assert_eq!(disconnected.await, Ok(true));
    assert_eq!(list(&world, all()).await[0].account, AccountState::Disconnected);
    remove_account(&world).await;
    assert_eq!(list(&world, all()).await[0].account, AccountState::Removed);
}

pub async fn an_unanswered_bid_is_unsettled_beyond_its_deadline_or_without_an_account(stores: Stores) {
    let world = World::new(stores).await;
    let leads = world.new_leads(2, at(0)).await;
    let id = unanswered(&world, &leads[0]).await;
    world.bid(&leads[1], at(6)).await;
    assert_eq!(list(&world, unsettled_at(at(900))).await, []);
    let overdue = list(&world, unsettled_at(at(901))).await;
    assert_eq!(overdue.iter().map(|bid| bid.id).collect::<Vec<_>>(), [id]);
    assert!(overdue[0].is_unsettled(at(901)) && !overdue[0].is_unsettled(at(900)));
    remove_account(&world).await;
    let removed = list(&world, unsettled_at(at(7))).await;
    assert_eq!(removed.iter().map(|bid| bid.id).collect::<Vec<_>>(), [id]);
    assert!(removed[0].is_unsettled(at(7)));
}

pub async fn an_unanswered_bid_is_claimed_with_its_proposal_and_ended_like_any_other(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = unanswered(&world, &lead).await;
    remove_account(&world).await;
    let ClaimUnanswered::Claimed(claimed) = claim(&world, id, "operator", 1_000).await else {
        panic!("the bid was not claimed")
    };
    assert_eq!((claimed.bid.id, &claimed.token), (id, &None));
    assert_eq!(claimed.bid.proposal, Some(proposal(&lead.job_id, "Dear client")));
    assert!(claimed.bid.answer_outstanding);
    let end = finish(&claimed.bid, submitted("p_1", at(1_001)), at(1_001));
    assert_eq!(
        world.stores.submissions.finish(&end, &claimed.owner).await,
        Ok(true)
    );
    assert_eq!(world.status(&lead).await, LeadStatus::Submitted);
    assert!(matches!(
        claim(&world, id, "operator", 1_002).await,
        ClaimUnanswered::Unknown
    ));
}

pub async fn a_bid_that_is_being_sent_cannot_be_claimed_to_be_settled(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = unanswered(&world, &lead).await;
    // Until 610.
    let sending = world.claim_one("submitter", at(10)).await;
    assert!(matches!(
        claim(&world, id, "operator", 20).await,
        ClaimUnanswered::BeingSent
    ));
    let submissions = &world.stores.submissions;
    let postponed = submissions.postpone(&world.organization, id, &sending.owner, at(30), Some(true));
    assert_eq!(postponed.await, Ok(true));
    assert!(matches!(
        claim(&world, id, "operator", 31).await,
        ClaimUnanswered::Claimed(_)
    ));
    assert!(
        world.claim("submitter", at(32)).await.is_empty(),
        "nobody else has it meanwhile"
    );
    assert_eq!(
        world.claim("submitter", at(42)).await.len(),
        1,
        "an operator who goes away loses it"
    );
}

pub async fn a_bid_without_an_outstanding_answer_is_nothing_to_settle(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = world.bid(&lead, at(1)).await;
    for unknown in [id, BidId(fresh_uuid())] {
        assert!(matches!(
            claim(&world, unknown, "operator", 2_000).await,
            ClaimUnanswered::Unknown
        ));
    }
}

pub async fn of_a_submitter_and_many_operators_one_has_an_unanswered_bid(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let id = unanswered(&world, &lead).await;
    let had = at_once(8, |number| {
        let world = world.clone();
        async move {
            if number % 2 == 0 {
                !world.claim("submitter", at(20)).await.is_empty()
            } else {
                matches!(
                    claim(&world, id, &format!("operator {number}"), 20).await,
                    ClaimUnanswered::Claimed(_)
                )
            }
        }
    })
    .await;
    assert_eq!(had.into_iter().filter(|had| *had).count(), 1);
}
