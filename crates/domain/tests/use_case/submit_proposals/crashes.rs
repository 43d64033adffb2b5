//! A crash at any point of a submission leads to exactly one proposal (decision B4).
//!
//! The crash is tried at every point at which a process talks to the store or the marketplace, before and after the
//! call has had its effect.

use std::time::Duration;

use bidloop_domain::bidding::{JobWarning, LiveJobStatus};
use bidloop_domain::model::{BlobRef, LeadId, LeadStatus, ProposalFile};
use bidloop_domain::port::{BlobPath, BlobStore as _, MarketplaceRefusal};
use bidloop_domain::use_case::LEASE;
use bidloop_fakes::{Call, FakeAccount, Fault};
use bidloop_port_contracts::fixture::{at, campaign, job_id};
use serde_json::json;

use crate::service::{DEADLINE, Service, TOKEN, bare_acme, job, request_with};
use crate::stepping::{pass, stepping_submitter};

/// A queued bid with a boost and a file.
async fn queued() -> (Service, LeadId) {
    let mut with_file = campaign("camp");
    with_file.0.attachments.push(ProposalFile {
        name: "cv.txt".to_owned(),
        content_type: "text/plain".to_owned(),
        blob: BlobRef {
            size_bytes: 2,
            sha256: "ab".repeat(32),
            storage_path: "campaigns/camp/cv".to_owned(),
        },
    });
    let service = Service::with(bare_acme().campaign(with_file)).await;
    let mut staged = service.blobs.stage().await.unwrap();
    staged.write("cv".into()).await.unwrap();
    staged
        .publish(&BlobPath::parse("campaigns/camp/cv").unwrap())
        .await
        .unwrap();
    let lead = service.lead(&job("1")).await;
    service
        .bid(
            &lead,
            request_with(json!({"boostingEnabled": true, "minBoost": 4})),
        )
        .await;
    (service, lead)
}

/// Lets a first process come as far as its `crash`-th pause; false if it was done before.
fn crashed(service: &Service, crash: usize) -> bool {
    let first = stepping_submitter(service, "first");
    let mut pass = pass(&first);
    (0..crash).all(|_| pass.step().is_none())
}

/// Tries every crash point with a service prepared by `prepare`; `after` judges what came of it.
async fn at_every_crash_point(prepare: impl Fn(&Service), after: impl AsyncFn(&Service, &LeadId, bool)) {
    for crash in 1.. {
        let (service, lead) = queued().await;
        prepare(&service);
        let has_crashed = crashed(&service, crash);
        after(&service, &lead, has_crashed).await;
        assert!(crash < 200, "the pass comes to no end");
        if !has_crashed {
            assert!(crash > 15, "there were crash points to try");
            return;
        }
    }
}

async fn assert_submitted_once(service: &Service, lead: &LeadId) {
    let stored = service.context(lead).await;
    assert_eq!(stored.lead.lead.status, LeadStatus::Submitted);
    let received = service.marketplace.proposals();
    assert_eq!(received.len(), 1);
    assert!(!received[0].repeated_with_changes);
    assert_eq!(
        stored.lead.lead.proposal_id.as_ref(),
        Some(&received[0].answer.proposal_id)
    );
    let told = service.bid_complete().await;
    assert_eq!(told["proposalId"], json!(received[0].answer.proposal_id));
    assert_eq!(told["boostConnects"], json!(received[0].proposal.boost_connects));
    assert_eq!(told["connectsSpent"], json!(received[0].answer.connects_spent));
}

#[tokio::test]
async fn another_process_goes_on_where_one_crashed() {
    at_every_crash_point(
        |_| {},
        async |service, lead, has_crashed| {
            if has_crashed {
                let ended = service.status(lead).await != LeadStatus::Queued;
                service.clock.advance(LEASE / 2);
                if !ended && service.context(lead).await.bid.unwrap().attempts == 0 {
                    let taken = service.submit().await;
                    let was_claimed = service.marketplace.calls(Call::Job) > 0 || taken.is_empty();
                    assert!(was_claimed, "a live lease is respected");
                }
                service.clock.advance(LEASE);
            }
            service.submit_all().await;
            assert_submitted_once(service, lead).await;
        },
    )
    .await;
}

#[tokio::test]
async fn what_may_have_been_sent_is_sent_again_before_anything_is_read_or_decided() {
    for change in ["closed", "hired", "warned", "poor", "overdue"] {
        at_every_crash_point(
            |_| {},
            async |service, lead, _| {
                service.clock.advance(LEASE);
                if service.status(lead).await != LeadStatus::Queued {
                    return;
                }
                let outstanding = service.context(lead).await.bid.unwrap().answer_outstanding;
                let was_taken = !service.marketplace.proposals().is_empty();
                assert!(outstanding || !was_taken, "stored before it was sent");
                change_job(service, change);
                let reads =
                    [Call::Job, Call::Account, Call::Upload].map(|call| service.marketplace.calls(call));
                service.submit_all().await;
                let read =
                    [Call::Job, Call::Account, Call::Upload].map(|call| service.marketplace.calls(call));
                let received = service.marketplace.proposals();
                let status = service.status(lead).await;
                assert_eq!(
                    status == LeadStatus::Submitted,
                    received.len() == 1,
                    "{change}: what is told is what is so"
                );
                if was_taken {
                    assert_eq!((status, reads), (LeadStatus::Submitted, read), "{change}");
                    assert_submitted_once(service, lead).await;
                } else if outstanding && change != "poor" {
                    // Refused for lack of connects, it is decided again. Nothing else is read.
                    assert_eq!(reads, read, "{change}");
                    assert_eq!(received.iter().filter(|one| one.repeated > 0).count(), 0);
                    let expected = match change {
                        "hired" | "overdue" => LeadStatus::Submitted,
                        "warned" => LeadStatus::Skipped,
                        _ => LeadStatus::Failed,
                    };
                    assert_eq!(status, expected, "{change}");
                } else if change == "poor" {
                    assert_eq!(status, LeadStatus::Submitted, "without the boost");
                } else {
                    assert_ne!(
                        status,
                        LeadStatus::Submitted,
                        "{change} is seen before the first attempt"
                    );
                }
            },
        )
        .await;
    }
}

fn change_job(service: &Service, change: &str) {
    let id = job_id("1");
    match change {
        "closed" => service
            .marketplace
            .edit_job(&id, |job| job.state.status = LiveJobStatus::Closed),
        "hired" => service
            .marketplace
            .edit_job(&id, |job| job.state.already_hired = true),
        "warned" => service.marketplace.edit_job(&id, |job| {
            job.state.warnings.push(JobWarning {
                code: "odd".to_owned(),
                message: "Odd.".to_owned(),
            });
        }),
        "poor" if service.marketplace.proposals().is_empty() => {
            let poor = FakeAccount {
                connects_balance: bidloop_domain::model::Connects::new(3),
                ..FakeAccount::new("jane")
            };
            service.marketplace.put_account(TOKEN, poor);
        }
        "overdue" => service.clock.set(at(0).plus(DEADLINE)),
        _ => {}
    }
}

#[tokio::test]
async fn a_crash_around_a_refusal_for_want_of_connects_leads_to_one_proposal() {
    at_every_crash_point(
        |service| {
            service.marketplace.script(
                Call::Submit,
                Fault::refused(MarketplaceRefusal::InsufficientConnects),
            );
        },
        async |service, lead, _| {
            service.clock.advance(LEASE);
            service.submit_all().await;
            assert_submitted_once(service, lead).await;
        },
    )
    .await;
}

#[tokio::test]
async fn a_crash_in_a_repeated_attempt_leads_to_one_proposal() {
    for fault in [
        Fault::no_answer(),
        Fault::no_answer_after_commit(),
        Fault::unavailable(),
    ] {
        for crash in 1..40 {
            let (service, lead) = queued().await;
            service.marketplace.script(Call::Submit, fault.clone());
            service.submit().await;
            service.clock.advance(Duration::from_secs(1));
            crashed(&service, crash);
            service.clock.advance(LEASE);
            service.submit_all().await;
            assert_submitted_once(&service, &lead).await;
        }
    }
}

#[tokio::test]
async fn a_store_that_goes_away_at_any_point_leads_to_one_proposal() {
    for outage in 1..40 {
        let (service, lead) = queued().await;
        let first = stepping_submitter(&service, "first");
        let first = crate::stepping::Pass::new(async move {
            // What fails is told to the worker, which lets the lease run out.
            for claimed in first.claim(1).await.unwrap_or_default() {
                let _ = first.work(&claimed).await;
            }
        });
        let mut first = first;
        let done = (0..outage).any(|_| first.step().is_some());
        service.store.set_available(false);
        if !done {
            first.finish();
        }
        service.store.set_available(true);
        service.clock.advance(LEASE);
        service.submit_all().await;
        assert_submitted_once(&service, &lead).await;
    }
}

#[tokio::test]
async fn work_that_outlived_its_lease_does_not_pass_for_its_process_s_next_claim() {
    let (service, lead) = queued().await;
    let process = stepping_submitter(&service, "one");
    let mut stalled = pass(&process);
    while service.marketplace.calls(Call::Upload) == 0 {
        assert!(stalled.step().is_none());
    }
    service.clock.advance(LEASE);
    let mut again = pass(&process);
    while service.marketplace.calls(Call::Submit) == 0 {
        assert!(again.step().is_none());
    }
    assert_eq!(
        stalled.finish(),
        [bidloop_domain::use_case::SubmissionOutcome::LeaseLost]
    );
    assert_eq!(
        service.marketplace.calls(Call::Submit),
        1,
        "the stalled work sends nothing"
    );
    again.finish();
    assert_submitted_once(&service, &lead).await;
}
