//! Submit bid of the specification; decisions A1, A6 to A8, B2, B3, B8, C8. What a dry run tells is in `bid_complete`.

use std::sync::Arc;

use bidloop_domain::model::{ActivityKind, BidRequest, Connects, FieldError, LeadId, LeadStatus};
use bidloop_domain::port::{Marketplace as _, ProvisioningChange, WorkKind};
use bidloop_domain::use_case::{BidAccepted, LeadError, Requester};
use bidloop_fakes::Call;
use bidloop_port_contracts::fixture::{account, at, at_once, campaign, campaign_id, commit, organization_id};
use serde_json::{Value, json};

use crate::service::{
    Answered as _, DEADLINE, Service, TOKEN, acme, answer, bare_acme, config, dry_run, job, job_with,
    request, request_with, token,
};

pub(crate) async fn bid(
    service: &Service,
    lead: &LeadId,
    request: Result<BidRequest, LeadError>,
) -> Result<BidAccepted, LeadError> {
    service
        .submit_bid()
        .execute(&Service::requester(), &Service::campaign(), lead, request)
        .await
}

fn shape() -> LeadError {
    LeadError::Malformed(vec![FieldError::new(&["coverLetter"], "must not be blank")])
}

fn too_large() -> LeadError {
    LeadError::TooLarge {
        limit_bytes: 3_145_728,
    }
}

/// Breaks a bidding rule: the lead has no such question.
fn against_the_rules() -> BidRequest {
    BidRequest {
        question_answer_pairs: vec![answer("Why?", "Because.")],
        ..request()
    }
}

#[tokio::test]
async fn a_bid_is_queued_with_all_that_it_needs_frozen() {
    let (service, lead) = Service::with_lead().await;
    service.signal.take();
    let accepted = bid(&service, &lead, Ok(request_with(json!({"minBoost": 3})))).await;
    assert_eq!(accepted, Ok(BidAccepted::Queued));
    assert_eq!(service.status(&lead).await, LeadStatus::Queued);
    assert_eq!(service.signal.take(), [WorkKind::Submissions]);
    let record = service.context(&lead).await.bid.unwrap();
    assert_eq!((record.queued_at, record.deadline), (at(0), at(0).plus(DEADLINE)));
    assert_eq!(json!(record.config)["minBoost"], json!(3));
    let entry = service.activities(ActivityKind::Bid).await.remove(0);
    assert_eq!(
        (entry.outcome.as_str(), entry.http_status, entry.dry_run),
        ("accepted", Some(200), false)
    );
    assert_eq!(entry.actor, Service::caller().actor());
    assert_eq!(entry.details["bidId"], json!(record.id));
    assert_eq!(
        service.marketplace.calls(Call::Submit),
        0,
        "queued is not submitted"
    );
    assert!(service.events("bid_complete").await.is_empty());
}

#[tokio::test]
async fn checks_come_in_the_order_of_decision_a1() {
    // Everything is wrong at once: each check is seen once the ones before it are passed.
    let service = Service::with(acme().limit(0).campaign(campaign("other"))).await;
    let lead = service.lead(&job("1")).await;
    let bidder = Service::requester();
    let unknown = LeadId::parse("ld_unknown").unwrap();
    let at_campaign = async |campaign: &str, lead: &LeadId, request| {
        let answer = service
            .submit_bid()
            .execute(&bidder, &campaign_id(campaign), lead, request)
            .await;
        answer.unwrap_err().http_status().unwrap()
    };
    assert_eq!(at_campaign("nowhere", &unknown, Err(too_large())).await, 413);
    assert_eq!(at_campaign("nowhere", &unknown, Err(shape())).await, 404);
    assert_eq!(at_campaign("camp", &unknown, Err(shape())).await, 404);
    assert_eq!(
        at_campaign("other", &lead, Err(shape())).await,
        404,
        "a lead of another campaign"
    );
    assert_eq!(at_campaign("camp", &lead, Err(too_large())).await, 413);
    service.reject(&lead).await;
    service
        .commit(ProvisioningChange::RemoveAccount(
            Service::organization(),
            account("acct_1").id,
        ))
        .await;
    assert_eq!(at_campaign("camp", &lead, Err(shape())).await, 400);
    let boosts = json!({"minBoost": 5, "maximumBoost": 4});
    let mismatched = BidRequest {
        bidding_config: config(boosts),
        ..against_the_rules()
    };
    let answer = bid(&service, &lead, Ok(mismatched)).await;
    assert!(matches!(answer, Err(LeadError::Malformed(_))), "{answer:?}");
    let answer = bid(&service, &lead, Ok(against_the_rules())).await;
    assert!(matches!(answer, Err(LeadError::Rules(_))), "{answer:?}");
    let answer = bid(&service, &lead, Ok(request())).await;
    assert_eq!(answer, Err(LeadError::BidTooLate(LeadStatus::Rejected)));

    let other = service.lead(&job("2")).await;
    let answer = bid(&service, &other, Ok(request())).await;
    assert_eq!(answer, Err(LeadError::NoConnectedAccount));
    commit(&service.stores, &acme().limit(0).changes()).await;
    let answer = bid(&service, &other, Ok(request())).await;
    let Err(LeadError::QuotaUsedUp(usage)) = answer else {
        panic!("{answer:?}")
    };
    assert_eq!((usage.used, usage.limit), (0, Some(0)));
    assert_eq!(service.status(&other).await, LeadStatus::New);
}

#[tokio::test]
async fn every_refusal_on_an_existing_lead_is_recorded_with_its_status_and_changes_nothing() {
    let service = Service::with(acme().limit(1)).await;
    let (lead, other) = (service.lead(&job("1")).await, service.lead(&job("2")).await);
    bid(&service, &other, Ok(request())).await.unwrap();
    let media_type = LeadError::UnsupportedMediaType {
        given: "text/plain".to_owned(),
        expected: "application/json",
    };
    let quota = service
        .context(&lead)
        .await
        .campaign
        .unwrap()
        .subscription
        .period_end;
    for (asked, status, details) in [
        (Err(too_large()), 413, json!({})),
        (Err(media_type), 415, json!({})),
        (
            Err(shape()),
            400,
            json!({"errors": [{"path": ["coverLetter"], "message": "must not be blank"}]}),
        ),
        (
            Ok(against_the_rules()),
            400,
            json!({"errors": [{"path": ["questionAnswerPairs", "0", "question"], "code": "question_mismatch"}]}),
        ),
        (
            Ok(request()),
            402,
            json!({"code": "proposal_limit_reached", "currentUsage": 1, "limit": 1,
                   "currentPeriodEnd": quota.as_seconds()}),
        ),
    ] {
        let before = service.activities(ActivityKind::Bid).await.len();
        let refused = bid(&service, &lead, asked).await.unwrap_err();
        assert_eq!(refused.http_status(), Some(status));
        let entries = service.activities(ActivityKind::Bid).await;
        assert_eq!(entries.len(), before + 1);
        let entry = &entries[0];
        assert_eq!(
            (entry.outcome.as_str(), entry.http_status),
            ("refused", Some(status))
        );
        assert_eq!(
            (entry.message.clone(), entry.lead_id.as_ref()),
            (refused.to_string(), Some(&lead))
        );
        assert_eq!(entry.actor, Service::caller().actor());
        contains(&json!(entry.details), &details);
        let context = service.context(&lead).await;
        assert_eq!((context.lead.lead.status, context.bid), (LeadStatus::New, None));
    }
}

/// Every member of `expected` is found in `actual`.
fn contains(actual: &Value, expected: &Value) {
    match expected {
        Value::Object(members) => members
            .iter()
            .for_each(|(name, value)| contains(&actual[name], value)),
        Value::Array(items) => {
            assert_eq!(actual.as_array().map(Vec::len), Some(items.len()), "{actual}");
            items
                .iter()
                .enumerate()
                .for_each(|(place, item)| contains(&actual[place], item));
        }
        _ => assert_eq!(actual, expected),
    }
}

#[tokio::test]
async fn a_bid_on_any_status_but_new_is_refused_and_names_it() {
    let (service, lead) = Service::with_bid(request()).await;
    for status in ["queued", "submitted"] {
        let refused = bid(&service, &lead, Ok(request())).await.unwrap_err();
        assert_eq!(refused.http_status(), Some(409));
        assert!(refused.to_string().contains(status), "{refused}");
        service.submit().await;
    }
    assert_eq!(service.marketplace.proposals().len(), 1);
}

#[tokio::test]
async fn each_question_is_answered_once_and_answers_follow_the_leads_order() {
    let service = Service::new().await;
    let lead = service
        .lead(&job_with("1", json!({"questions": ["A?", "B?", "A?"]})))
        .await;
    let with = |pairs: &[(&str, &str)]| BidRequest {
        question_answer_pairs: pairs
            .iter()
            .map(|(question, text)| answer(question, text))
            .collect(),
        ..request()
    };
    for (asked, options) in [
        (with(&[("A?", "1"), ("B?", "2")]), vec!["A?"]),
        (
            with(&[("A?", "1"), ("B?", "2"), ("A?", "3"), ("B?", "4")]),
            vec!["A?", "B?", "A?"],
        ),
        (
            with(&[("A?", "1"), ("b?", "2"), ("A?", "3")]),
            vec!["A?", "B?", "A?"],
        ),
        (request(), vec!["A?", "B?", "A?"]),
    ] {
        let Err(LeadError::Rules(faults)) = bid(&service, &lead, Ok(asked)).await else {
            panic!("the answers do not fit")
        };
        assert_eq!(json!(faults[0].code), "question_mismatch");
        assert_eq!(
            faults[0].options.as_deref(),
            Some(&options.iter().map(|o| (*o).to_owned()).collect::<Vec<_>>()[..])
        );
    }
    bid(
        &service,
        &lead,
        Ok(with(&[("A?", "first"), ("A?", "second"), ("B?", "b")])),
    )
    .await
    .unwrap();
    service.submit().await;
    let sent = service.marketplace.proposals().remove(0).proposal;
    assert_eq!(
        sent.answers,
        [answer("A?", "first"), answer("B?", "b"), answer("A?", "second")]
    );
}

#[tokio::test]
async fn a_strategys_missing_figure_is_refused_unless_a_layer_sets_it() {
    for (strategy, code, figure) in [
        (
            "match_job_budget",
            "rate_percentage_required",
            json!({"biddingHourlyRatePercentage": 90}),
        ),
        (
            "match_profile_rate",
            "rate_percentage_required",
            json!({"biddingHourlyRatePercentage": 90}),
        ),
        (
            "fixed_rate",
            "fixed_rate_required",
            json!({"biddingFixedHourlyRate": 45}),
        ),
    ] {
        let asked = || request_with(json!({"biddingHourlyRateStrategy": strategy}));
        let (service, lead) = Service::with_lead().await;
        for asked in [asked(), dry_run(asked())] {
            let Err(LeadError::Rules(faults)) = bid(&service, &lead, Ok(asked)).await else {
                panic!("{strategy} lacks its figure")
            };
            assert_eq!(json!(faults[0].code), code);
        }
        service
            .stores
            .leads
            .configure(&lead, &config(figure.clone()))
            .await
            .unwrap();
        assert!(
            bid(&service, &lead, Ok(asked())).await.is_ok(),
            "the lead's own configuration sets it"
        );

        let mut of_campaign = campaign("camp");
        of_campaign.0.bidding_config = config(figure);
        let service = Service::with(bare_acme().campaign(of_campaign)).await;
        let lead = service.lead(&job("1")).await;
        assert!(
            bid(&service, &lead, Ok(asked())).await.is_ok(),
            "the campaign's configuration sets it"
        );
    }
}

#[tokio::test]
async fn the_requests_configuration_goes_before_the_leads_and_the_campaigns_field_by_field() {
    let mut of_campaign = campaign("camp");
    of_campaign.0.bidding_config =
        config(json!({"minBoost": 1, "maximumBoost": 20, "alreadyHiredAction": "bid"}));
    let service = Service::with(bare_acme().campaign(of_campaign)).await;
    let lead = service.lead(&job("1")).await;
    let of_lead = config(json!({"minBoost": 2, "connectsAbovePrevious": 7}));
    service.stores.leads.configure(&lead, &of_lead).await.unwrap();
    bid(
        &service,
        &lead,
        Ok(request_with(json!({"minBoost": 3, "maximumBoost": null}))),
    )
    .await
    .unwrap();
    let effective = json!(service.context(&lead).await.bid.unwrap().config);
    contains(
        &effective,
        &json!({"minBoost": 3, "connectsAbovePrevious": 7, "maximumBoost": 20, "alreadyHiredAction": "bid",
                "bidWithWarning": "skip", "biddingHourlyRateStrategy": "smart_bidding", "boostingEnabled": false,
                "boostDownToNthPlace": 4, "insufficientBoostConnectsAction": "bid_without_boost"}),
    );
}

#[tokio::test]
async fn a_campaign_without_a_connected_account_takes_dry_runs_alone() {
    let without = Service::with(bare_acme().campaign(campaign("camp").bids_with(None))).await;
    let (disconnected, trigger) = Service::with_bid(request()).await;
    disconnected.marketplace.revoke_token(TOKEN);
    disconnected.submit().await;
    assert_eq!(disconnected.status(&trigger).await, LeadStatus::Failed);
    for service in [without, disconnected] {
        let lead = service.lead(&job("2")).await;
        let refused = bid(&service, &lead, Ok(request())).await.unwrap_err();
        assert_eq!(
            (refused.http_status(), &refused),
            (Some(400), &LeadError::NoConnectedAccount)
        );
        assert!(bid(&service, &lead, Ok(dry_run(request()))).await.is_ok());
    }
}

#[tokio::test]
async fn a_paused_campaign_does_what_it_is_told() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    service.publish(&job("1"));
    service.ingest().await;
    service
        .list_leads()
        .execute(&Service::organization(), &Service::campaign(), 0, 1)
        .await
        .unwrap();
    let lead = Service::lead_of("1");
    bid(&service, &lead, Ok(request())).await.unwrap();
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
}

#[tokio::test]
async fn a_dry_run_looks_at_neither_quota_nor_status_and_changes_nothing_but_the_record() {
    let service = Service::with(acme().limit(1)).await;
    let lead = service.lead(&job("1")).await;
    bid(&service, &lead, Ok(request())).await.unwrap();
    service.signal.take();
    let before = service.context(&lead).await;
    let calls = |service: &Service| {
        [Call::Job, Call::Account, Call::Upload, Call::Submit].map(|call| service.marketplace.calls(call))
    };
    let called = calls(&service);
    let accepted = bid(&service, &lead, Ok(dry_run(request()))).await.unwrap();
    let BidAccepted::Simulated(simulated) = accepted else {
        panic!("{accepted:?}")
    };
    assert_eq!(simulated.boost_connects, Some(Connects::ZERO));
    let after = service.context(&lead).await;
    assert_eq!((before.lead, before.bid), (after.lead, after.bid));
    assert_eq!(calls(&service), called, "the marketplace is not contacted");
    assert_eq!(service.stores.submissions.queued_count().await, Ok(1));
    assert_eq!(service.signal.take(), [WorkKind::Deliveries]);
    let entry = service.activities(ActivityKind::Bid).await.remove(0);
    assert_eq!(
        (entry.outcome.as_str(), entry.http_status, entry.dry_run),
        ("accepted", Some(200), true)
    );
    let balance = service
        .marketplace
        .account(&token())
        .await
        .unwrap()
        .connects_balance;
    assert_eq!(balance.get(), 100, "no connects are spent");
    assert_eq!(service.bid_complete().await["dryRun"], true);
    let refused = bid(&service, &lead, Ok(dry_run(against_the_rules())))
        .await
        .unwrap_err();
    assert_eq!(
        refused.http_status(),
        Some(400),
        "a dry run is validated all the same"
    );
    let entry = service.activities(ActivityKind::Bid).await.remove(0);
    assert_eq!((entry.outcome.as_str(), entry.dry_run), ("refused", true));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_64_bids_at_once_under_a_quota_of_10_ten_are_queued() {
    let service = Service::with(acme().limit(10)).await;
    for number in 0..64 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let service = Arc::new(service);
    let asked = service.clone();
    let answers = at_once(64, move |number| {
        let service = asked.clone();
        async move { bid(&service, &Service::lead_of(&number.to_string()), Ok(request())).await }
    })
    .await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 10);
    for refused in answers.iter().filter_map(|answer| answer.as_ref().err()) {
        let LeadError::QuotaUsedUp(usage) = refused else {
            panic!("{refused}")
        };
        assert_eq!((usage.used, usage.limit), (10, Some(10)));
    }
    assert_eq!(service.stores.submissions.queued_count().await, Ok(10));
    assert_eq!(service.activities(ActivityKind::Bid).await.len(), 64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_32_bids_at_once_on_one_lead_one_is_queued() {
    let (service, lead) = Service::with_lead().await;
    let service = Arc::new(service);
    let asked = service.clone();
    let answers = at_once(32, move |_| {
        let (service, lead) = (asked.clone(), lead.clone());
        async move { bid(&service, &lead, Ok(request())).await }
    })
    .await;
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 1);
    let conflict = Err(LeadError::BidTooLate(LeadStatus::Queued));
    assert_eq!(answers.iter().filter(|answer| **answer == conflict).count(), 31);
    assert_eq!(service.stores.submissions.queued_count().await, Ok(1));
}

#[tokio::test]
async fn a_unit_of_quota_comes_back_when_its_bid_is_not_submitted_and_with_the_next_period() {
    let service = Service::with(acme().limit(1)).await;
    let leads = [
        service.lead(&job("1")).await,
        service.lead(&job("2")).await,
        service.lead(&job("3")).await,
    ];
    bid(&service, &leads[0], Ok(request())).await.unwrap();
    assert_eq!(
        bid(&service, &leads[1], Ok(request()))
            .await
            .unwrap_err()
            .http_status(),
        Some(402)
    );
    service
        .marketplace
        .edit_job(&bidloop_port_contracts::fixture::job_id("1"), |job| {
            job.state.already_hired = true;
        });
    service.submit().await;
    assert_eq!(service.status(&leads[0]).await, LeadStatus::Skipped);
    bid(&service, &leads[1], Ok(request())).await.unwrap();
    service.submit().await;
    assert_eq!(service.status(&leads[1]).await, LeadStatus::Submitted);
    assert_eq!(
        bid(&service, &leads[2], Ok(request()))
            .await
            .unwrap_err()
            .http_status(),
        Some(402)
    );
    let end = service
        .context(&leads[2])
        .await
        .campaign
        .unwrap()
        .subscription
        .period_end;
    service.clock.set(end);
    assert!(bid(&service, &leads[2], Ok(request())).await.is_ok());
}

#[tokio::test]
async fn another_organizations_lead_does_not_exist() {
    let (service, lead) = Service::with_lead().await;
    bidloop_port_contracts::fixture::organization("org_other")
        .campaign(campaign("camp"))
        .provision(&service.stores)
        .await;
    let stranger = Requester {
        organization_id: organization_id("org_other"),
        ..Service::requester()
    };
    let answer = service
        .submit_bid()
        .execute(&stranger, &Service::campaign(), &lead, Ok(request()))
        .await;
    assert_eq!(answer, Err(LeadError::LeadUnknown));
    assert!(service.activities(ActivityKind::Bid).await.is_empty());
}

#[tokio::test]
async fn a_store_that_is_away_is_no_refusal() {
    let (service, lead) = Service::with_lead().await;
    service.store.set_available(false);
    let answer = bid(&service, &lead, Ok(request())).await.unwrap_err();
    assert_eq!(answer.http_status(), None);
    service.store.set_available(true);
    assert_eq!(service.status(&lead).await, LeadStatus::New);
}
