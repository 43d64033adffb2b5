//! Passing faults and the deadline (decision B4).

use std::time::Duration;

use bidloop_domain::model::{LeadId, LeadStatus, Timestamp};
use bidloop_domain::port::{LeaseOwner, MarketplaceError, MarketplaceRefusal, SubmissionStore as _};
use bidloop_domain::use_case::{LEASE, SubmissionOutcome};
use bidloop_fakes::{Call, Fault};
use bidloop_port_contracts::fixture::{at, job_id};

use crate::service::{DEADLINE, Service, request};

/// Lets time pass, a tenth of a second at a time, until the bid is due again; answers how long that was.
async fn wait_until_due(service: &Service) -> Duration {
    let since = service.now();
    loop {
        let claimed = service
            .store
            .claim(&LeaseOwner::new("looking"), service.now(), service.now(), 1)
            .await
            .unwrap();
        if !claimed.is_empty() {
            return service.now().since(since);
        }
        service.clock.advance(Duration::from_millis(100));
        assert!(service.now() < at(10_000), "it is never due again");
    }
}

async fn reason(service: &Service, lead: &LeadId) -> Option<&'static str> {
    let reason = service.context(lead).await.lead.lead.reason;
    reason.map(|reason| reason.code.as_str())
}

#[tokio::test]
async fn every_passing_fault_of_every_call_is_tried_again() {
    let faults = [
        Fault::no_answer(),
        Fault::unreachable(),
        Fault::unavailable(),
        Fault::malformed(),
        Fault::gateway(),
    ];
    for call in [Call::Job, Call::Account, Call::Submit] {
        for fault in &faults {
            let (service, lead) = Service::with_bid(request()).await;
            service.marketplace.script(call, fault.clone());
            let outcome = service.submit().await.remove(0);
            assert!(
                matches!(outcome, SubmissionOutcome::Postponed(_)),
                "{call:?} {fault:?}"
            );
            assert_eq!(service.status(&lead).await, LeadStatus::Queued);
            service.submit_all().await;
            assert_eq!(
                service.status(&lead).await,
                LeadStatus::Submitted,
                "{call:?} {fault:?}"
            );
            assert!(service.now() < at(2));
        }
    }
}

#[tokio::test]
async fn pauses_double_up_to_30_seconds_with_jitter() {
    for (fraction, share) in [(0.0, 0.5), (0.999, 0.9995)] {
        let (service, _) = Service::with_bid(request()).await;
        service.entropy.set_fraction(fraction);
        for _ in 0..9 {
            service.marketplace.script(Call::Submit, Fault::unavailable());
        }
        let mut pauses = Vec::new();
        for _ in 0..9 {
            service.submit().await;
            pauses.push(wait_until_due(&service).await.as_secs_f64());
        }
        let expected = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0].map(|pause| pause * share);
        for (pause, expected) in pauses.iter().zip(expected) {
            assert!((pause - expected).abs() <= 0.1, "{pauses:?} for {fraction}");
        }
    }
}

#[tokio::test]
async fn retry_after_is_honoured_beyond_the_longest_pause() {
    for call in [Call::Account, Call::Job, Call::Submit] {
        let (service, lead) = Service::with_bid(request()).await;
        service
            .marketplace
            .script(call, Fault::try_later(Some(Duration::from_secs(120))));
        service.submit().await;
        assert_eq!(
            wait_until_due(&service).await,
            Duration::from_secs(120),
            "{call:?}"
        );
        service.submit().await;
        assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
    }
}

#[tokio::test]
async fn with_an_outstanding_answer_a_retry_after_counts_until_the_deadline_and_then_a_minute() {
    let (service, lead) = Service::with_bid(request()).await;
    let of_a_gateway = MarketplaceError::NotItsAnswer {
        retry_after: Some(Duration::from_secs(86_400)),
        message: "a page".to_owned(),
    };
    for _ in 0..3 {
        service
            .marketplace
            .script(Call::Submit, Fault::Before(of_a_gateway.clone()));
    }
    service.submit().await;
    assert_eq!(wait_until_due(&service).await, DEADLINE);
    for _ in 0..2 {
        service.submit().await;
        assert_eq!(wait_until_due(&service).await, Duration::from_secs(60));
    }
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
}

#[tokio::test]
async fn passing_faults_are_tried_again_until_the_deadline_and_no_longer() {
    for fault in [
        Fault::unavailable(),
        Fault::unreachable(),
        Fault::try_later(Some(Duration::from_secs(3_600))),
    ] {
        for call in [Call::Account, Call::Submit] {
            let (service, lead) = Service::with_bid(request()).await;
            for _ in 0..200 {
                service.marketplace.script(call, fault.clone());
            }
            service.submit_all().await;
            assert_eq!(service.now(), at(0).plus(DEADLINE));
            assert_eq!(reason(&service, &lead).await, Some("deadline_exceeded"));
            assert_eq!(service.marketplace.proposals().len(), 0);
        }
    }
}

#[tokio::test]
async fn a_bid_with_an_answer_outstanding_outlives_the_deadline() {
    for fault in [
        Fault::no_answer(),
        Fault::no_answer_after_commit(),
        Fault::gateway(),
        Fault::gateway_after_commit(),
    ] {
        let (service, lead) = Service::with_bid(request()).await;
        service.marketplace.script(Call::Submit, fault);
        for _ in 0..60 {
            service.marketplace.script(Call::Submit, Fault::unavailable());
        }
        while service.now() < at(0).plus(DEADLINE).plus(Duration::from_secs(60)) {
            service.submit().await;
            assert_eq!(service.status(&lead).await, LeadStatus::Queued);
            service.clock.advance(Duration::from_secs(5));
        }
        service.submit_all().await;
        assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
        let received = service.marketplace.proposals();
        assert_eq!((received.len(), received[0].repeated_with_changes), (1, false));
    }
}

#[tokio::test]
async fn an_answered_refusal_leaves_nothing_outstanding() {
    // The fault comes while the proposal is decided anew, or when the new one is sent.
    for call in [Call::Account, Call::Submit] {
        let (service, lead) = Service::with_bid(request()).await;
        service.marketplace.script(Call::Submit, Fault::no_answer());
        service.submit().await;
        wait_until_due(&service).await;
        service.marketplace.script(
            Call::Submit,
            Fault::refused(MarketplaceRefusal::InsufficientConnects),
        );
        service.marketplace.script(call, Fault::unavailable());
        service.submit().await;
        let record = service.context(&lead).await.bid.unwrap();
        assert!(!record.answer_outstanding, "{call:?}");
        service.clock.set(at(0).plus(DEADLINE));
        service.submit().await;
        assert_eq!(reason(&service, &lead).await, Some("deadline_exceeded"));
    }
}

#[tokio::test]
async fn an_unanswered_proposal_is_sent_again_unchanged_before_anything_is_read() {
    for committed in [false, true] {
        for change in ["closed", "hired", "warned", "gone"] {
            let (service, lead) = Service::with_bid(request()).await;
            let fault = if committed {
                Fault::malformed_after_commit()
            } else {
                Fault::malformed()
            };
            service.marketplace.script(Call::Submit, fault);
            service.submit().await;
            service.marketplace.edit_job(&job_id("1"), |job| match change {
                "closed" => job.state.status = bidloop_domain::bidding::LiveJobStatus::Closed,
                "hired" => job.state.already_hired = true,
                "warned" => job.state.warnings.push(bidloop_domain::bidding::JobWarning {
                    code: "odd".to_owned(),
                    message: "Odd.".to_owned(),
                }),
                _ => {}
            });
            if change == "gone" {
                service.marketplace.remove_job(&job_id("1"));
            }
            let reads = service.marketplace.calls(Call::Job) + service.marketplace.calls(Call::Account);
            service.submit_all().await;
            let after = service.marketplace.calls(Call::Job) + service.marketplace.calls(Call::Account);
            assert_eq!(reads, after, "{change}");
            // Hiring keeps no proposal from being taken; the rest does, unless it had been taken before.
            let expected = if committed || change == "hired" {
                LeadStatus::Submitted
            } else if change == "warned" {
                LeadStatus::Skipped
            } else {
                LeadStatus::Failed
            };
            assert_eq!(
                service.status(&lead).await,
                expected,
                "{change}, committed: {committed}"
            );
            let received = service.marketplace.proposals();
            assert_eq!(received.len(), usize::from(expected == LeadStatus::Submitted));
            assert!(received.iter().all(|proposal| !proposal.repeated_with_changes));
        }
    }
}

#[tokio::test]
async fn a_decision_stays_explained_when_its_proposal_is_sent_again() {
    let (service, _) = Service::with_bid(request()).await;
    service.marketplace.script(Call::Submit, Fault::unavailable());
    service.submit_all().await;
    let steps = service.steps().await;
    assert!(steps.contains(&"job_connects".to_owned()), "{steps:?}");
    assert_eq!(steps.last().map(String::as_str), Some("stored_proposal"));
}

#[tokio::test]
async fn already_applied_under_a_repeated_attempt_means_that_it_was_ours() {
    let (service, lead) = Service::with_bid(request()).await;
    service.marketplace.script(Call::Submit, Fault::no_answer());
    service.submit().await;
    wait_until_due(&service).await;
    let taken = MarketplaceRefusal::AlreadyApplied {
        proposal_id: Some("p_ours".to_owned()),
    };
    service.marketplace.script(Call::Submit, Fault::refused(taken));
    service.submit().await;
    let stored = service.context(&lead).await.lead.lead;
    assert_eq!(
        (stored.status, stored.proposal_id.as_deref()),
        (LeadStatus::Submitted, Some("p_ours"))
    );
    assert_eq!(service.bid_complete().await["connectsSpent"], 2);
    assert!(service.steps().await.contains(&"found_submitted".to_owned()));
}

#[tokio::test]
async fn a_lease_is_renewed_while_a_submission_takes_long_and_lost_when_it_is_not() {
    let (service, lead) = Service::with_bid(request()).await;
    let submit = service.submit_proposals();
    let claimed = submit.claim(1).await.unwrap().remove(0);
    for _ in 0..5 {
        service.clock.advance(LEASE / 2);
        assert_eq!(submit.renew(&claimed).await, Ok(true));
        assert!(service.submit().await.is_empty(), "nobody else takes it");
    }
    service.clock.advance(LEASE);
    assert_eq!(service.submit().await.len(), 1);
    assert_eq!(submit.renew(&claimed).await, Ok(false));
    assert_eq!(submit.work(&claimed).await, Ok(SubmissionOutcome::LeaseLost));
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
    assert_eq!(service.events("bid_complete").await.len(), 1);
}

#[tokio::test]
async fn what_the_store_does_not_record_is_taken_up_again() {
    let (service, lead) = Service::with_bid(request()).await;
    let submit = service.submit_proposals();
    let claimed = submit.claim(1).await.unwrap().remove(0);
    service.store.set_available(false);
    assert!(submit.work(&claimed).await.is_err());
    assert!(submit.claim(1).await.is_err());
    service.store.set_available(true);
    let later: Timestamp = service.clock.advance(LEASE);
    assert_eq!(later, at(0).plus(LEASE));
    service.submit_all().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
}
