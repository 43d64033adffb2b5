//! Tokens that the marketplace refuses (decision B4).

use std::time::Duration;

use bidloop_domain::model::{LeadId, LeadStatus};
use bidloop_domain::port::ProvisioningChange;
use bidloop_domain::use_case::{LEASE, LeadError};
use bidloop_fakes::{Call, Fault};
use bidloop_port_contracts::fixture::{account, at};

use crate::service::{DEADLINE, Service, TOKEN, job, request};
use crate::stepping::{pass, stepping_submitter};

async fn reason(service: &Service, lead: &LeadId) -> Option<&'static str> {
    let reason = service.context(lead).await.lead.lead.reason;
    reason.map(|reason| reason.code.as_str())
}

/// Three bids of one account, the last one second after the others.
async fn three_bids() -> (Service, [LeadId; 3]) {
    let service = Service::new().await;
    let mut leads = Vec::new();
    for id in ["1", "2", "3"] {
        leads.push(service.lead(&job(id)).await);
    }
    for (second, lead) in leads.iter().enumerate() {
        service.clock.set(at(i64::try_from(second).unwrap()));
        service.bid(lead, request()).await;
    }
    (service, leads.try_into().unwrap())
}

#[tokio::test]
async fn a_refused_token_fails_the_bid_and_disconnects_the_account() {
    for call in [Call::Job, Call::Account, Call::Submit] {
        let (service, lead) = Service::with_bid(request()).await;
        service.marketplace.script(call, Fault::invalid_token());
        service.submit().await;
        assert_eq!(service.status(&lead).await, LeadStatus::Failed);
        assert_eq!(reason(&service, &lead).await, Some("invalid_token"));
        assert!(!service.account_is_connected(&lead).await, "{call:?}");
        assert_eq!(service.bid_complete().await["reason"]["code"], "invalid_token");
        let other = service.lead(&job("2")).await;
        let answer = crate::submit_bid::bid(&service, &other, Ok(request())).await;
        assert_eq!(answer, Err(LeadError::NoConnectedAccount));
    }
}

#[tokio::test]
async fn the_accounts_other_bids_wait_for_a_new_token() {
    let (service, leads) = three_bids().await;
    service.marketplace.revoke_token(TOKEN);
    service.submit().await;
    assert_eq!(reason(&service, &leads[0]).await, Some("invalid_token"));
    for _ in 0..20 {
        assert!(service.submit().await.is_empty());
        service.clock.advance(Duration::from_secs(30));
    }
    service.renew_token("token_new").await;
    service.submit_all().await;
    for lead in &leads[1..] {
        assert_eq!(service.status(lead).await, LeadStatus::Submitted);
    }
    assert!(service.account_is_connected(&leads[1]).await);
}

#[tokio::test]
async fn the_accounts_other_bids_fail_at_their_own_deadlines() {
    let (service, leads) = three_bids().await;
    service.marketplace.revoke_token(TOKEN);
    service.submit().await;
    let calls = service.marketplace.calls(Call::Account);
    for (second, lead) in [(1, &leads[1]), (2, &leads[2])] {
        service.clock.set(at(second).plus(DEADLINE));
        service.submit().await;
        assert_eq!(reason(&service, lead).await, Some("deadline_exceeded"));
    }
    assert_eq!(
        service.marketplace.calls(Call::Account),
        calls,
        "a refused token is not used again"
    );
}

#[tokio::test]
async fn an_account_that_is_removed_leaves_its_bids_to_their_deadlines() {
    let (service, lead) = Service::with_bid(request()).await;
    let removal = ProvisioningChange::RemoveAccount(Service::organization(), account("acct_1").id);
    service.commit(removal).await;
    assert!(service.submit().await.is_empty());
    service.clock.set(at(0).plus(DEADLINE));
    service.submit().await;
    assert_eq!(reason(&service, &lead).await, Some("deadline_exceeded"));
}

#[tokio::test]
async fn with_an_answer_outstanding_a_refused_token_makes_the_bid_wait_beyond_its_deadline() {
    for fault in [Fault::no_answer(), Fault::no_answer_after_commit()] {
        let (service, lead) = Service::with_bid(request()).await;
        service.marketplace.script(Call::Submit, fault);
        service.submit().await;
        service.marketplace.revoke_token(TOKEN);
        service.clock.advance(Duration::from_secs(1));
        service.submit().await;
        assert!(!service.account_is_connected(&lead).await);
        assert_eq!(service.status(&lead).await, LeadStatus::Queued);
        let submitted = service.marketplace.calls(Call::Submit);
        service.clock.set(at(0).plus(DEADLINE * 2));
        assert!(service.submit().await.is_empty());
        assert_eq!(service.marketplace.calls(Call::Submit), submitted);
        service.renew_token("token_new").await;
        service.submit_all().await;
        assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
        assert_eq!(service.marketplace.proposals().len(), 1);
    }
}

#[tokio::test]
async fn a_token_given_while_the_old_one_was_being_refused_stays_connected() {
    // Without and with an answer outstanding.
    for outstanding in [false, true] {
        let (service, lead) = Service::with_bid(request()).await;
        if outstanding {
            service.marketplace.script(Call::Submit, Fault::no_answer());
            service.submit().await;
            service.clock.advance(Duration::from_secs(1));
        }
        service.marketplace.revoke_token(TOKEN);
        let submitter = stepping_submitter(&service, "one");
        let mut refused = pass(&submitter);
        let (asked, sent) = (
            service.marketplace.calls(Call::Job),
            service.marketplace.calls(Call::Submit),
        );
        while (asked, sent)
            == (
                service.marketplace.calls(Call::Job),
                service.marketplace.calls(Call::Submit),
            )
        {
            assert!(refused.step().is_none());
        }
        service.renew_token("token_new").await;
        refused.finish();
        assert!(
            service.account_is_connected(&lead).await,
            "outstanding: {outstanding}"
        );
        service.clock.advance(LEASE);
        service.submit().await;
        let expected = if outstanding {
            LeadStatus::Submitted
        } else {
            LeadStatus::Failed
        };
        assert_eq!(service.status(&lead).await, expected);
    }
}
