//! Settle bids (decision B4): what an operator ends in the marketplace's place.

use bidloop_domain::model::{ActivityKind, Actor, BidId, LeadId, LeadStatus};
use bidloop_domain::port::{ProvisioningChange, WaitingBidsQuery};
use bidloop_domain::use_case::{LEASE, SettleBids, SettleBidsError, Settlement};
use bidloop_fakes::{Call, Fault};
use bidloop_port_contracts::fixture::{account, at};
use serde_json::json;

use crate::service::{DEADLINE, Service, links, request};
use crate::stepping::{pass, stepping_submitter};

fn settle_bids(service: &Service) -> SettleBids {
    SettleBids {
        store: service.store.clone(),
        clock: service.clock.clone(),
        entropy: service.entropy.clone(),
        links: links(),
    }
}

fn submitted() -> Settlement {
    Settlement::Submitted {
        proposal_id: "p_found".to_owned(),
    }
}

async fn settle(
    service: &Service,
    bid: BidId,
    settlement: Settlement,
) -> Result<LeadStatus, SettleBidsError> {
    let actor = Actor::command("bids settle");
    settle_bids(service).settle(bid, settlement, actor).await
}

/// A bid whose answer a gateway replaced, and whose account was removed after that.
async fn unsettled() -> (Service, LeadId, BidId) {
    let (service, lead) = Service::with_bid(request()).await;
    service
        .marketplace
        .script(Call::Submit, Fault::gateway_after_commit());
    service.submit().await;
    let removed = ProvisioningChange::RemoveAccount(Service::organization(), account("acct_1").id);
    service.commit(removed).await;
    let bid = service.context(&lead).await.bid.unwrap().id;
    (service, lead, bid)
}

#[tokio::test]
async fn a_bid_of_a_removed_account_with_an_outstanding_answer_waits_and_is_listed() {
    let (service, lead, bid) = unsettled().await;
    service.clock.set(at(0).plus(DEADLINE).plus(DEADLINE));
    assert!(service.submit().await.is_empty());
    assert_eq!(service.status(&lead).await, LeadStatus::Queued);
    let query = WaitingBidsQuery {
        unsettled_at: Some(service.now()),
        limit: 10,
        ..WaitingBidsQuery::default()
    };
    let listed = settle_bids(&service).list(&query).await.unwrap();
    assert_eq!(listed.iter().map(|bid| bid.id).collect::<Vec<_>>(), [bid]);
}

#[tokio::test]
async fn a_bid_is_settled_as_submitted_as_if_the_marketplace_had_said_so() {
    let (service, lead, bid) = unsettled().await;
    assert_eq!(
        settle(&service, bid, submitted()).await,
        Ok(LeadStatus::Submitted)
    );
    let stored = service.context(&lead).await.lead.lead;
    assert_eq!(
        (stored.status, stored.proposal_id.as_deref()),
        (LeadStatus::Submitted, Some("p_found"))
    );
    let data = service.bid_complete().await;
    assert_eq!(
        (&data["outcome"], &data["proposalId"], &data["connectsSpent"]),
        (&json!("submitted"), &json!("p_found"), &json!(2))
    );
    let entry = service.activities(ActivityKind::Submission).await.remove(0);
    assert_eq!(entry.actor, Actor::command("bids settle"));
    assert_eq!(entry.outcome.as_str(), "submitted");
    assert_eq!(service.steps().await.last().map(String::as_str), Some("settled"));
    for again in [submitted(), Settlement::NotSubmitted] {
        let refused = settle(&service, bid, again).await;
        assert_eq!(refused, Err(SettleBidsError::NotUnanswered(bid)));
    }
}

#[tokio::test]
async fn a_bid_is_settled_as_not_submitted_and_its_lead_can_be_reopened() {
    let (service, lead, bid) = unsettled().await;
    assert_eq!(
        settle(&service, bid, Settlement::NotSubmitted).await,
        Ok(LeadStatus::Failed)
    );
    let data = service.bid_complete().await;
    assert_eq!(
        (&data["outcome"], &data["reason"]["code"], &data["proposalId"]),
        (&json!("failed"), &json!("deadline_exceeded"), &json!(null))
    );
    let reopened = service
        .operate_leads()
        .reopen(&lead, Actor::command("leads reopen"))
        .await;
    assert_eq!(reopened, Ok(()));
}

#[tokio::test]
async fn a_bid_is_not_settled_while_a_submitter_sends_it() {
    let (service, lead) = Service::with_bid(request()).await;
    let bid = service.context(&lead).await.bid.unwrap().id;
    let submitter = stepping_submitter(&service, "one");
    let mut sending = pass(&submitter);
    while service.marketplace.calls(Call::Submit) == 0 {
        assert!(sending.step().is_none());
    }
    let refused = settle(&service, bid, Settlement::NotSubmitted).await;
    assert_eq!(refused, Err(SettleBidsError::BeingSent(bid)));
    sending.finish();
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
}

#[tokio::test]
async fn a_submitter_that_lost_its_lease_does_not_undo_a_settlement() {
    let (service, lead) = Service::with_bid(request()).await;
    let bid = service.context(&lead).await.bid.unwrap().id;
    let submitter = stepping_submitter(&service, "one");
    let mut stalled = pass(&submitter);
    while service.marketplace.calls(Call::Submit) == 0 {
        assert!(stalled.step().is_none());
    }
    service.clock.advance(LEASE);
    assert_eq!(
        settle(&service, bid, submitted()).await,
        Ok(LeadStatus::Submitted)
    );
    stalled.finish();
    let stored = service.context(&lead).await.lead.lead;
    assert_eq!(stored.proposal_id.as_deref(), Some("p_found"));
    assert_eq!(service.events("bid_complete").await.len(), 1);
}

#[tokio::test]
async fn a_proposals_id_that_cannot_be_one_changes_nothing() {
    let (service, lead, bid) = unsettled().await;
    for proposal_id in [String::new(), " ".to_owned(), "a\nb".to_owned(), "x".repeat(201)] {
        let refused = settle(&service, bid, Settlement::Submitted { proposal_id }).await;
        assert_eq!(refused, Err(SettleBidsError::ProposalIdInvalid));
    }
    assert_eq!(service.status(&lead).await, LeadStatus::Queued);
    assert_eq!(
        settle(&service, bid, submitted()).await,
        Ok(LeadStatus::Submitted)
    );
}
