//! How a submission goes and ends when every call is answered (decisions B1, B4 to B7).

use bidloop_domain::bidding::{JobWarning, LiveJobStatus};
use bidloop_domain::model::{ActivityKind, BlobRef, Connects, LeadId, LeadStatus, ProposalFile};
use bidloop_domain::port::{BlobPath, BlobStore, Marketplace as _, MarketplaceRefusal, WorkKind};
use bidloop_domain::use_case::SubmissionOutcome;
use bidloop_fakes::{Call, FakeAccount, Fault};
use bidloop_port_contracts::fixture::{at, campaign, job_id};
use serde_json::{Value, json};

use crate::service::{Service, TOKEN, acme, bare_acme, job, job_with, request, request_with, token};

fn warning() -> JobWarning {
    JobWarning {
        code: "odd".to_owned(),
        message: "Odd.".to_owned(),
    }
}

fn poor(connects: u64) -> FakeAccount {
    FakeAccount {
        connects_balance: Connects::new(connects),
        ..FakeAccount::new("jane")
    }
}

async fn assert_ended(service: &Service, lead: &LeadId, status: LeadStatus, code: &str) {
    let stored = service.context(lead).await.lead.lead;
    let reason = stored.reason.map(|reason| reason.code.as_str());
    assert_eq!((stored.status, reason), (status, Some(code)));
    let entry = service.activities(ActivityKind::Submission).await.remove(0);
    assert_eq!(entry.outcome.as_str(), status.as_str());
    assert_eq!(entry.details["reason"]["code"], code);
    assert_eq!(service.bid_complete().await["reason"]["code"], code);
}

#[tokio::test]
async fn a_queued_bid_is_submitted_with_what_was_frozen() {
    let (service, lead) = Service::with_bid(request()).await;
    service.signal.take();
    assert_eq!(
        service.submit().await,
        [SubmissionOutcome::Ended(LeadStatus::Submitted)]
    );
    let stored = service.context(&lead).await;
    assert_eq!(stored.lead.lead.status, LeadStatus::Submitted);
    assert_eq!(stored.lead.lead.proposal_id.as_deref(), Some("proposal_1"));
    let received = service.marketplace.proposals().remove(0);
    assert_eq!(received.key, stored.bid.unwrap().id);
    assert_eq!(received.proposal.cover_letter, request().cover_letter);
    assert!(!received.proposal.accept_warnings);
    assert_eq!(
        service.signal.take(),
        [WorkKind::Deliveries, WorkKind::Submissions]
    );
}

#[tokio::test]
async fn activity_explains_the_decision_with_its_figures() {
    let boosted = json!({"boostingEnabled": true, "maximumBoost": 9, "connectsAbovePrevious": 2});
    let (service, _) = Service::with_bid(request_with(boosted)).await;
    service.marketplace.edit_job(&job_id("1"), |job| {
        job.state.boosts = [12, 7].map(Connects::new).to_vec();
    });
    service.submit().await;
    let entry = service.activities(ActivityKind::Submission).await.remove(0);
    assert_eq!((entry.outcome.as_str(), entry.http_status), ("submitted", None));
    assert_eq!(entry.details["boostConnects"], 9);
    assert_eq!(entry.details["proposalId"], "proposal_1");
    assert_eq!(entry.details["terms"], json!({"type": "hourly", "amount": 50}));
    let steps = service.steps().await;
    for step in ["job_status", "strategy", "profile_rate", "job_connects"] {
        assert!(steps.contains(&step.to_owned()), "{step} among {steps:?}");
    }
    let figures: Vec<&Value> = entry.details["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| &step["figures"])
        .collect();
    assert!(figures.iter().any(|figures| figures["profileRate"] == 50));
    assert!(figures.iter().any(|figures| figures["balance"] == 100));
}

#[tokio::test]
async fn the_live_state_decides_not_the_stored_one() {
    for (edit, end) in [
        ("closed", Some((LeadStatus::Failed, "job_closed"))),
        ("hired", Some((LeadStatus::Skipped, "already_hired"))),
        ("warning", Some((LeadStatus::Skipped, "job_warning"))),
        ("unknown", Some((LeadStatus::Failed, "job_not_found"))),
        ("nothing", None),
    ] {
        let (service, lead) = Service::with_bid(request()).await;
        let id = job_id("1");
        match edit {
            "closed" => service
                .marketplace
                .edit_job(&id, |job| job.state.status = LiveJobStatus::Closed),
            "hired" => service
                .marketplace
                .edit_job(&id, |job| job.state.already_hired = true),
            "warning" => service
                .marketplace
                .edit_job(&id, |job| job.state.warnings.push(warning())),
            "unknown" => service.marketplace.remove_job(&id),
            _ => {}
        }
        service.submit().await;
        match end {
            Some((status, code)) => {
                assert_ended(&service, &lead, status, code).await;
                assert_eq!(service.marketplace.calls(Call::Submit), 0, "{edit}");
            }
            None => assert_eq!(service.status(&lead).await, LeadStatus::Submitted),
        }
    }
}

#[tokio::test]
async fn accept_warnings_is_true_exactly_when_bid_with_warning_is_bid() {
    for (action, warned) in [("bid", true), ("bid", false), ("skip", false)] {
        let (service, lead) = Service::with_bid(request_with(json!({"bidWithWarning": action}))).await;
        if warned {
            service
                .marketplace
                .edit_job(&job_id("1"), |job| job.state.warnings.push(warning()));
        }
        service.submit().await;
        assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
        let sent = service.marketplace.proposals().remove(0).proposal;
        assert_eq!(sent.accept_warnings, action == "bid");
    }
}

#[tokio::test]
async fn a_client_who_hired_is_bid_to_when_the_configuration_says_so() {
    let (service, lead) = Service::with_bid(request_with(json!({"alreadyHiredAction": "bid"}))).await;
    service
        .marketplace
        .edit_job(&job_id("1"), |job| job.state.already_hired = true);
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
}

#[tokio::test]
async fn what_cannot_be_paid_or_priced_is_skipped() {
    let boost = json!({"boostingEnabled": true, "minBoost": 50, "insufficientBoostConnectsAction": "skip"});
    let bare = json!({"metadata": {"paymentType": "Hourly"}});
    let fixed = json!({"metadata": {"paymentType": "Fixed-price"}});
    let no_rate = FakeAccount {
        profile_hourly_rate: None,
        ..FakeAccount::new("jane")
    };
    for (members, config, account, code) in [
        (json!({}), json!({}), poor(1), "insufficient_connects"),
        (json!({}), boost, poor(20), "insufficient_boost_connects"),
        (bare, json!({}), no_rate.clone(), "rate_unknown"),
        (fixed, json!({}), no_rate, "amount_unknown"),
    ] {
        let service = Service::new().await;
        let lead = service.lead(&job_with("1", members)).await;
        service.marketplace.put_account(TOKEN, account);
        service.bid(&lead, request_with(config)).await;
        service.submit().await;
        assert_ended(&service, &lead, LeadStatus::Skipped, code).await;
    }
}

#[tokio::test]
async fn too_few_connects_for_the_boost_may_leave_it_out() {
    let boost = json!({"boostingEnabled": true, "minBoost": 50});
    let (service, _) = Service::with_bid(request_with(boost)).await;
    service.marketplace.put_account(TOKEN, poor(20));
    service.submit().await;
    let sent = service.marketplace.proposals().remove(0).proposal;
    assert_eq!(sent.boost_connects, Connects::ZERO);
}

#[tokio::test]
async fn refusals_for_good_end_the_bid_with_their_reason() {
    let already_applied = MarketplaceRefusal::AlreadyApplied { proposal_id: None };
    for (refusal, end, reason) in [
        (MarketplaceRefusal::JobClosed, LeadStatus::Failed, "job_closed"),
        (MarketplaceRefusal::JobWarning, LeadStatus::Skipped, "job_warning"),
        (
            MarketplaceRefusal::NotEligible,
            LeadStatus::Failed,
            "not_eligible",
        ),
        (MarketplaceRefusal::Invalid, LeadStatus::Failed, "invalid"),
        (MarketplaceRefusal::NotFound, LeadStatus::Failed, "job_not_found"),
        (already_applied, LeadStatus::Failed, "already_applied"),
    ] {
        let (service, lead) = Service::with_bid(request()).await;
        service.marketplace.script(Call::Submit, Fault::refused(refusal));
        service.submit().await;
        assert_ended(&service, &lead, end, reason).await;
        assert_eq!(service.stores.submissions.queued_count().await, Ok(0));
    }
}

#[tokio::test]
async fn an_account_that_bid_by_other_means_keeps_its_proposal_id_on_the_lead() {
    let (service, lead) = Service::with_bid(request()).await;
    let decided = stored_by_other_means(&service).await;
    service.submit().await;
    assert_ended(&service, &lead, LeadStatus::Failed, "already_applied").await;
    let stored = service.context(&lead).await.lead.lead;
    assert_eq!(stored.proposal_id, Some(decided));
    assert_eq!(service.bid_complete().await["proposalId"], Value::Null);
}

/// The account applies for job 1 by hand.
async fn stored_by_other_means(service: &Service) -> String {
    let mut proposal = bidloop_port_contracts::fixture::proposal(&job_id("1"), "By hand");
    proposal.attachments.clear();
    let key = bidloop_domain::model::BidId(uuid::Uuid::from_u128(u128::MAX));
    let taken = service.marketplace.submit(&token(), key, &proposal).await;
    taken.unwrap().proposal_id
}

#[tokio::test]
async fn a_job_taken_through_another_lead_ends_the_same_way_without_asking() {
    let service = Service::with(acme().campaign(campaign("second"))).await;
    let first = service.lead(&job("1")).await;
    let second = bidloop_port_contracts::fixture::lead_id("org_acme", "second", "1");
    service.bid(&first, request()).await;
    let bidder = Service::requester();
    let campaign = bidloop_port_contracts::fixture::campaign_id("second");
    let submit = service.submit_bid();
    submit
        .execute(&bidder, &campaign, &second, Ok(request()))
        .await
        .unwrap();
    // The first bid waits for its next attempt while the second is taken up.
    service.marketplace.script(Call::Submit, Fault::unavailable());
    service.submit().await;
    let calls = service.marketplace.calls(Call::Job);
    service.submit().await;
    let found = service
        .stores
        .leads
        .find_anywhere(&second)
        .await
        .unwrap()
        .unwrap();
    let reason = found.lead.lead.reason.unwrap();
    assert_eq!(
        (found.lead.lead.status, reason.code.as_str()),
        (LeadStatus::Failed, "already_applied")
    );
    assert_eq!(found.lead.lead.proposal_id, None);
    assert_eq!(service.marketplace.calls(Call::Job), calls, "nobody was asked");
    service.submit_all().await;
    assert_eq!(service.status(&first).await, LeadStatus::Submitted);
    assert_eq!(service.marketplace.proposals().len(), 1);
}

#[tokio::test]
async fn a_refusal_for_want_of_connects_is_decided_anew_under_the_same_key() {
    let boost = json!({"boostingEnabled": true, "minBoost": 8});
    let (service, lead) = Service::with_bid(request_with(boost)).await;
    service.marketplace.put_account(TOKEN, poor(10));
    // The balance falls between the reading and the proposal.
    let submitter = crate::stepping::stepping_submitter(&service, "one");
    let mut pass = crate::stepping::pass(&submitter);
    while service.context(&lead).await.bid.unwrap().proposal.is_none() {
        assert!(pass.step().is_none());
    }
    service.marketplace.put_account(TOKEN, poor(4));
    pass.finish();
    let received = service.marketplace.proposals().remove(0);
    assert_eq!(received.key, service.context(&lead).await.bid.unwrap().id);
    assert_eq!(received.proposal.boost_connects, Connects::ZERO);
    assert_eq!(service.marketplace.calls(Call::Submit), 2);
    assert_eq!(service.bid_complete().await["connectsSpent"], 2);
    let steps = service.steps().await;
    assert_eq!(
        steps.iter().filter(|step| *step == "job_connects").count(),
        2,
        "both decisions are explained"
    );
    assert!(steps.contains(&"connects_refused".to_owned()));
}

#[tokio::test]
async fn deciding_anew_comes_to_an_end_though_the_marketplace_reports_a_balance() {
    let boost = json!({"boostingEnabled": true, "minBoost": 3});
    let (service, lead) = Service::with_bid(request_with(boost)).await;
    for _ in 0..100 {
        service.marketplace.script(
            Call::Submit,
            Fault::refused(MarketplaceRefusal::InsufficientConnects),
        );
    }
    service.submit().await;
    assert_ended(&service, &lead, LeadStatus::Skipped, "insufficient_connects").await;
    assert!(service.marketplace.calls(Call::Submit) <= 8);
}

/// A campaign with the files `one.txt` and `two.txt`, stored.
async fn with_files() -> (Service, LeadId) {
    let mut with_files = campaign("camp");
    for name in ["one.txt", "two.txt"] {
        with_files.0.attachments.push(ProposalFile {
            name: name.to_owned(),
            content_type: "text/plain".to_owned(),
            blob: BlobRef {
                size_bytes: 7,
                sha256: "ab".repeat(32),
                storage_path: format!("campaigns/camp/{name}"),
            },
        });
    }
    let service = Service::with(bare_acme().campaign(with_files)).await;
    for name in ["one.txt", "two.txt"] {
        let mut staged = service.blobs.stage().await.unwrap();
        staged.write(name.into()).await.unwrap();
        let path = BlobPath::parse(&format!("campaigns/camp/{name}")).unwrap();
        staged.publish(&path).await.unwrap();
    }
    let lead = service.lead(&job("1")).await;
    service.bid(&lead, request()).await;
    (service, lead)
}

#[tokio::test]
async fn attachments_are_uploaded_in_order_and_once_a_decision() {
    let (service, _) = with_files().await;
    for fault in [Fault::unavailable(), Fault::no_answer()] {
        service.marketplace.script(Call::Submit, fault);
    }
    service.marketplace.script(
        Call::Submit,
        Fault::refused(MarketplaceRefusal::InsufficientConnects),
    );
    service.submit_all().await;
    let files = service.marketplace.files();
    let told: Vec<(&str, &str, &[u8])> = files
        .iter()
        .map(|file| (&*file.name, &*file.content_type, &*file.content))
        .collect();
    assert_eq!(
        told,
        [
            ("one.txt", "text/plain", &b"one.txt"[..]),
            ("two.txt", "text/plain", &b"two.txt"[..])
        ]
    );
    let sent = service.marketplace.proposals().remove(0).proposal;
    assert_eq!(sent.attachments, ["file_1", "file_2"]);
}

#[tokio::test]
async fn a_file_that_the_marketplace_refuses_fails_the_bid_and_one_that_cannot_be_read_waits() {
    let (service, lead) = with_files().await;
    service.blobs.set_available(false);
    let outcome = service.submit().await.remove(0);
    assert!(matches!(outcome, SubmissionOutcome::Postponed(why) if why.contains("one.txt")));
    service.blobs.set_available(true);
    service
        .marketplace
        .script(Call::Upload, Fault::refused(MarketplaceRefusal::Invalid));
    service.submit_all().await;
    assert_ended(&service, &lead, LeadStatus::Failed, "invalid").await;
    assert_eq!(service.marketplace.calls(Call::Submit), 0);
}

#[tokio::test]
async fn a_failed_bids_next_bid_is_a_new_one_with_a_new_key() {
    let (service, lead) = Service::with_bid(request()).await;
    let first = service.context(&lead).await.bid.unwrap().id;
    service
        .marketplace
        .script(Call::Submit, Fault::refused(MarketplaceRefusal::Invalid));
    service.submit().await;
    let entry = bidloop_port_contracts::fixture::activity(
        &Service::organization(),
        ActivityKind::Submission,
        "new",
        at(0),
    );
    service.stores.leads.reopen(&lead, &entry).await.unwrap();
    let second = service.bid(&lead, request()).await;
    assert_ne!(first, second);
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
    assert_eq!(service.marketplace.proposals().remove(0).key, second);
    let outcomes: Vec<Value> = service
        .events("bid_complete")
        .await
        .iter()
        .map(|event| event["data"]["outcome"].clone())
        .collect();
    assert_eq!(outcomes, ["failed", "submitted"]);
}

#[tokio::test]
async fn bids_that_were_queued_are_submitted_when_the_subscription_has_lapsed() {
    let (service, lead) = Service::with_bid(request()).await;
    let lapsed = acme().status(bidloop_domain::model::SubscriptionStatus::Canceled);
    service.commit(lapsed.put_organization()).await;
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
}
