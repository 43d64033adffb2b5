//! What `bid_complete` tells (decision C1), whole, at every kind of end and for dry runs.

use bidloop_domain::bidding::{JobWarning, LiveJobStatus};
use bidloop_domain::model::Connects;
use bidloop_domain::port::MarketplaceRefusal;
use bidloop_fakes::{Call, FakeAccount, FakeMarketplace, Fault};
use bidloop_port_contracts::fixture::{at, job_id};
use serde_json::{Value, json};

use crate::service::{DEADLINE, Service, TOKEN, dry_run, job, job_with, request, request_with};

/// `expected` beside what every event about the lead of `job("1")` tells.
async fn assert_told(service: &Service, expected: Value) {
    let mut whole = json!({
        "organizationId": "org_acme", "campaignId": "camp", "leadId": Service::lead_of("1"), "dryRun": false,
        "proposalId": null, "submittedAt": null, "boostConnects": 0, "connectsSpent": 0, "connectsCostUsd": 0,
        "jobUrl": "https://market.test/jobs/~1", "title": "Rust service",
    });
    let Value::Object(members) = expected else {
        panic!("members")
    };
    for (name, value) in members {
        whole[name] = value;
    }
    let mut told = service.bid_complete().await;
    if let Some(message) = told["reason"]
        .as_object_mut()
        .and_then(|reason| reason.remove("message"))
    {
        assert!(!message.as_str().unwrap().is_empty());
    }
    assert_eq!(told, whole);
}

fn hourly(amount: Value) -> Value {
    json!({"type": "hourly", "amount": amount})
}

fn boosted() -> Value {
    json!({"boostingEnabled": true, "boostDownToNthPlace": 1, "connectsAbovePrevious": 5})
}

#[tokio::test]
async fn a_submitted_bid() {
    let (service, _) = Service::with_bid(request_with(boosted())).await;
    service.clock.set(at(3));
    service.submit().await;
    let expected = json!({
        "outcome": "submitted", "reason": null, "proposalId": "proposal_1", "submittedAt": at(3).as_millis(),
        "terms": hourly(json!(50)), "boostConnects": 5, "connectsSpent": 7, "connectsCostUsd": 1.05,
    });
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_submitted_bid_for_a_fixed_price() {
    let service = Service::new().await;
    let fixed = json!({"metadata": {"paymentType": "Fixed", "fixedPrice": 333.35}});
    let lead = service.lead(&job_with("1", fixed)).await;
    let strategy =
        json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 50});
    service.bid(&lead, request_with(strategy)).await;
    service.submit().await;
    let expected = json!({
        "outcome": "submitted", "reason": null, "proposalId": "proposal_1", "submittedAt": at(0).as_millis(),
        "terms": {"type": "fixed", "amount": 166.68}, "connectsSpent": 2, "connectsCostUsd": 0.3,
    });
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_bid_skipped_before_an_amount_was_known() {
    let (service, _) = Service::with_bid(request()).await;
    let warning = JobWarning {
        code: "odd".to_owned(),
        message: "Odd.".to_owned(),
    };
    service
        .marketplace
        .edit_job(&job_id("1"), |job| job.state.warnings.push(warning));
    service.submit().await;
    let expected = json!({"outcome": "skipped", "reason": {"code": "job_warning"}, "terms": null});
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_bid_skipped_after_an_amount_was_known() {
    let (service, _) = Service::with_bid(request()).await;
    let poor = FakeAccount {
        connects_balance: Connects::new(1),
        ..FakeAccount::new("jane")
    };
    service.marketplace.put_account(TOKEN, poor);
    service.submit().await;
    let expected = json!({
        "outcome": "skipped", "reason": {"code": "insufficient_connects"}, "terms": hourly(json!(50)),
    });
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_bid_that_the_marketplace_refused() {
    let (service, _) = Service::with_bid(request_with(boosted())).await;
    service
        .marketplace
        .script(Call::Submit, Fault::refused(MarketplaceRefusal::NotEligible));
    service.submit().await;
    let expected = json!({
        "outcome": "failed", "reason": {"code": "not_eligible"}, "terms": hourly(json!(50)), "boostConnects": 5,
    });
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_bid_that_ended_at_its_deadline_tells_the_terms_if_they_were_decided() {
    let (service, _) = Service::with_bid(request()).await;
    service.marketplace.script(Call::Submit, Fault::unavailable());
    service.submit().await;
    service.clock.set(at(0).plus(DEADLINE));
    service.submit().await;
    let expected = json!({
        "outcome": "failed", "reason": {"code": "deadline_exceeded"}, "terms": hourly(json!(50)),
    });
    assert_told(&service, expected).await;
    assert!(
        service.steps().await.contains(&"job_connects".to_owned()),
        "the decision stays explained"
    );

    let (service, _) = Service::with_bid(request()).await;
    service.clock.set(at(0).plus(DEADLINE));
    service.submit().await;
    let expected = json!({"outcome": "failed", "reason": {"code": "deadline_exceeded"}, "terms": null});
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_job_that_closed_after_a_refusal_for_want_of_connects() {
    let (service, _) = Service::with_bid(request()).await;
    let submitter = crate::stepping::stepping_submitter(&service, "one");
    service.marketplace.script(
        Call::Submit,
        Fault::refused(MarketplaceRefusal::InsufficientConnects),
    );
    let mut pass = crate::stepping::pass(&submitter);
    while service.marketplace.calls(Call::Submit) == 0 {
        assert!(pass.step().is_none());
    }
    service
        .marketplace
        .edit_job(&job_id("1"), |job| job.state.status = LiveJobStatus::Closed);
    pass.finish();
    let expected = json!({"outcome": "failed", "reason": {"code": "job_closed"}, "terms": hourly(json!(50))});
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn an_account_that_had_applied_before_tells_no_proposal() {
    let (service, lead) = Service::with_bid(request()).await;
    let refusal = MarketplaceRefusal::AlreadyApplied {
        proposal_id: Some("p_earlier".to_owned()),
    };
    service.marketplace.script(Call::Submit, Fault::refused(refusal));
    service.submit().await;
    let expected =
        json!({"outcome": "failed", "reason": {"code": "already_applied"}, "terms": hourly(json!(50))});
    assert_told(&service, expected).await;
    assert_eq!(
        service.context(&lead).await.lead.lead.proposal_id.as_deref(),
        Some("p_earlier")
    );
}

async fn dry(service: &Service, bid: bidloop_domain::model::BidRequest) {
    crate::submit_bid::bid(service, &Service::lead_of("1"), Ok(dry_run(bid)))
        .await
        .unwrap();
}

#[tokio::test]
async fn a_dry_run_tells_null_for_what_it_cannot_know() {
    let (service, _) = Service::with_lead().await;
    dry(&service, request_with(boosted())).await;
    let expected = json!({
        "dryRun": true, "outcome": "submitted", "reason": null, "terms": hourly(Value::Null), "boostConnects": null,
    });
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn a_dry_run_computes_from_the_profile_rate_once_it_was_read() {
    let (service, lead) = Service::with_lead().await;
    let other = service.lead(&job("2")).await;
    assert_ne!(lead, other);
    let rich = FakeAccount {
        profile_hourly_rate: Some(55.5),
        ..FakeAccount::new("jane")
    };
    service.marketplace.put_account(TOKEN, rich);
    service.bid(&other, request()).await;
    service.submit().await;
    service.deliver().await;
    dry(&service, request()).await;
    let told = service.events("bid_complete").await.remove(1)["data"].take();
    assert_eq!(
        (&told["terms"], &told["dryRun"]),
        (&hourly(json!(55.5)), &json!(true))
    );
}

#[tokio::test]
async fn a_dry_run_needs_no_profile_rate_for_the_jobs_budget() {
    let (service, _) = Service::with_lead().await;
    let strategy =
        json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90});
    dry(&service, request_with(strategy)).await;
    let expected =
        json!({"dryRun": true, "outcome": "submitted", "reason": null, "terms": hourly(json!(54))});
    assert_told(&service, expected).await;
}

#[tokio::test]
async fn the_jobs_own_connects_are_what_the_marketplace_said_it_took() {
    let (service, _) = Service::with_bid(request()).await;
    service.marketplace.edit_job(&job_id("1"), |job| {
        job.state.required_connects = Connects::new(16);
    });
    service.submit().await;
    let told = service.bid_complete().await;
    assert_ne!(FakeMarketplace::REQUIRED_CONNECTS, Connects::new(16));
    assert_eq!(
        (&told["connectsSpent"], &told["connectsCostUsd"]),
        (&json!(16), &json!(2.4))
    );
}
