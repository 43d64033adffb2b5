//! `submitBid`.

use bidloop_domain::model::{
    EndpointId, EventKind, OrganizationId, SubscriptionStatus, Timestamp, WebhookEndpoint, WebhookSecret,
};
use bidloop_domain::port::{DRY_RUN_BACKLOG, ProvisioningChange, WebhookRecord};
use serde_json::{Value, json};

use crate::client::Request;
use crate::world::{
    BARE_CAMPAIGN, CAMPAIGN, ORG, QUESTIONS, World, address_of, key, lead_id, lead_of, organization,
};

fn bid(pairs: &Value) -> Value {
    json!({"coverLetter": "Dear client,", "questionAnswerPairs": pairs})
}

fn answered() -> Value {
    json!([
        {"question": QUESTIONS[0], "answer": "Ten years of it."},
        {"question": QUESTIONS[1], "answer": "Now."},
    ])
}

/// Nothing is sent in these tests, so its deliveries stay pending.
fn bid_complete_endpoint() -> ProvisioningChange {
    let endpoint = WebhookEndpoint {
        id: EndpointId::parse("wh").unwrap(),
        campaign_id: None,
        url: "https://hooks.test/".to_owned(),
        events: vec![EventKind::BidComplete],
        active: true,
        created_at: Timestamp::default(),
    };
    let record = WebhookRecord {
        endpoint,
        secret: WebhookSecret::generate([7; 32]),
        previous_secret: None,
    };
    ProvisioningChange::PutWebhook(OrganizationId::parse(ORG).unwrap(), record)
}

#[test]
fn an_accepted_bid_is_acknowledged_and_recorded() {
    let world = World::new();
    let answer = world.post(&address_of(1, "bid"), &bid(&answered()));
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(
        answer.json(),
        json!({"success": true, "leadId": lead_of(1), "campaignId": CAMPAIGN, "organizationId": ORG})
    );
    let recorded = &world.activities()[0];
    assert_eq!(
        (recorded.outcome.as_str(), recorded.http_status),
        ("accepted", Some(200))
    );
    assert_eq!(recorded.actor.name.as_deref(), Some("key_a's name"));
    assert_eq!(recorded.actor.id.as_deref(), Some("key_a"));
}

#[test]
fn a_dry_run_says_so_and_changes_nothing() {
    let world = World::new();
    let mut body = bid(&json!([]));
    body["dryRun"] = json!(true);
    for _ in 0..4 {
        let answer = world.post(&address_of(0, "bid"), &body);
        assert_eq!((answer.status, &answer.json()["dryRun"]), (200, &json!(true)));
    }
    body["dryRun"] = json!(false);
    let answer = world.post(&address_of(0, "bid"), &body);
    assert_eq!((answer.status, answer.json().get("dryRun")), (200, None));
}

/// Sends a dry run with these headers; answers the trace of its `bid_complete`.
fn trace_of_a_dry_run(headers: &[&str]) -> Option<String> {
    let world = World::new();
    world.provision(&[bid_complete_endpoint()]);
    let mut body = bid(&json!([]));
    body["dryRun"] = json!(true);
    let mut request = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .header("Content-Type", "application/json")
        .body(body.to_string());
    for header in headers {
        request = request.header("traceparent", header);
    }
    assert_eq!(world.send(&request).status, 200);
    let mut claimed = world.claim_deliveries();
    assert_eq!(claimed.len(), 1);
    claimed.remove(0).trace_parent.map(|trace| trace.to_string())
}

#[test]
fn a_trace_is_taken_over_and_a_malformed_one_is_ignored() {
    let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    assert_eq!(trace_of_a_dry_run(&[header]).as_deref(), Some(header));
    for ignored in [
        &[][..],
        &[""],
        &["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331"],
        &["00-0af7651916cd43dd8448eb211c80319c-b7ad6b716920333\u{e9}-01"],
        &[header, header],
    ] {
        assert_eq!(trace_of_a_dry_run(ignored), None, "{ignored:?}");
    }
}

#[test]
fn a_second_bid_is_409_naming_the_status() {
    let world = World::new();
    let body = bid(&json!([]));
    assert_eq!(world.post(&address_of(0, "bid"), &body).status, 200);
    let answer = world.post(&address_of(0, "bid"), &body);
    assert_eq!(answer.status, 409);
    assert!(answer.message().contains("queued"), "{}", answer.message());
    assert_eq!(answer.json()["error"], "Conflict");
}

#[test]
fn a_wrong_question_is_a_validation_error_with_the_leads_questions() {
    let world = World::new();
    let pairs = json!([{"question": "why you?", "answer": "x"}, {"question": QUESTIONS[1], "answer": "y"}]);
    let answer = world.post(&address_of(1, "bid"), &bid(&pairs));
    assert_eq!(answer.status, 400);
    let body = answer.json();
    assert_eq!(
        (&body["statusCode"], &body["error"]),
        (&json!(400), &json!("Bad Request"))
    );
    assert_eq!(
        body["errors"][0]["path"],
        json!(["questionAnswerPairs", "0", "question"])
    );
    assert_eq!(body["errors"][0]["code"], "question_mismatch");
    assert_eq!(body["errors"][0]["options"], json!(QUESTIONS));
}

#[test]
fn a_strategy_without_its_rate_is_a_validation_error() {
    let world = World::new();
    for (strategy, code) in [
        ("match_job_budget", "rate_percentage_required"),
        ("match_profile_rate", "rate_percentage_required"),
        ("fixed_rate", "fixed_rate_required"),
    ] {
        let mut body = bid(&json!([]));
        body["biddingConfig"] = json!({"biddingHourlyRateStrategy": strategy});
        let answer = world.post(&address_of(0, "bid"), &body);
        assert_eq!(
            (answer.status, &answer.json()["errors"][0]["code"]),
            (400, &json!(code))
        );
    }
}

#[test]
fn shape_faults_are_reported_together_with_their_paths() {
    let world = World::new();
    let body = json!({
        "coverLetter": " ", "questionAnswerPairs": [{"question": "q"}], "extra": 1,
        "biddingConfig": {"boostDownToNthPlace": 5, "minBoost": 3, "surprise": 0},
    });
    let answer = world.post(&address_of(1, "bid"), &body);
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["statusCode"], 400);
    let mut paths = answer.error_paths();
    paths.sort();
    assert_eq!(
        paths,
        [
            "biddingConfig.boostDownToNthPlace",
            "biddingConfig.surprise",
            "coverLetter",
            "extra",
            "questionAnswerPairs.0.answer",
        ]
    );
    assert!(
        answer.json()["errors"][0].get("code").is_none(),
        "codes are the rules' alone"
    );
}

#[test]
fn a_minimum_above_the_maximum_of_the_effective_configuration_is_a_shape_fault() {
    let world = World::new();
    let mut body = bid(&json!([]));
    body["biddingConfig"] = json!({"minBoost": 9, "maximumBoost": 3});
    let answer = world.post(&address_of(0, "bid"), &body);
    assert_eq!(answer.status, 400);
    assert_eq!(answer.error_paths(), ["biddingConfig.minBoost"]);
}

#[test]
fn malformed_json_is_a_shape_fault_without_a_path() {
    let world = World::new();
    for body in [
        &b""[..],
        b"{",
        b"null",
        b"[]",
        b"{\"coverLetter\": \"\\ud800\", \"questionAnswerPairs\": []}",
        b"{\"coverLetter\": \"\xff\", \"questionAnswerPairs\": []}",
        b"\xef\xbb\xbf{}",
        &b"[".repeat(1_000_000),
        &b"{\"a\":".repeat(100_000),
    ] {
        let request = Request::new("POST", &address_of(0, "bid")).key(&key()).body(body);
        let answer = world.send(&request);
        assert_eq!(answer.status, 400);
        assert_eq!(answer.error_paths(), [""]);
    }
}

#[test]
fn a_member_that_occurs_twice_is_a_shape_fault() {
    let world = World::new();
    let body = r#"{"coverLetter": "a", "coverLetter": "b", "questionAnswerPairs": []}"#;
    let answer = world.send(&Request::new("POST", &address_of(0, "bid")).key(&key()).body(body));
    assert_eq!(
        (answer.status, answer.error_paths()),
        (400, vec!["coverLetter".to_owned()])
    );
}

#[test]
fn a_flood_of_faults_makes_no_flood_of_an_answer() {
    let world = World::new();
    let mut body = String::from(r#"{"coverLetter": "a", "questionAnswerPairs": ["#);
    body.push_str(&"0,".repeat(1_000_000));
    body.push_str("0]}");
    let answer = world.send(&Request::new("POST", &address_of(0, "bid")).key(&key()).body(body));
    assert_eq!(answer.status, 400);
    assert!(answer.body.len() < 20_000, "{}", answer.body.len());
}

#[test]
fn the_checks_come_in_the_order_shape_rules_status_account_quota() {
    let world = World::new();
    world.provision(&[organization(ORG, SubscriptionStatus::Active, 0)]);
    let bare = lead_id(ORG, BARE_CAMPAIGN, "job1");
    let path = format!("/v1/campaigns/{BARE_CAMPAIGN}/leads/{bare}/bid");

    // Everything is wrong at once; fault by fault it is put right.
    let wrong_rules = json!({"coverLetter": "x", "questionAnswerPairs": [], "nope": 1});
    assert_eq!(world.post(&path, &wrong_rules).error_paths(), ["nope"]);
    let answer = world.post(&path, &bid(&json!([])));
    assert_eq!(answer.json()["errors"][0]["code"], "question_mismatch");
    let answer = world.post(&path, &bid(&answered()));
    assert_eq!(answer.status, 400);
    assert!(
        answer.message().contains("bidder account"),
        "{}",
        answer.message()
    );
    assert_eq!(world.post(&address_of(1, "bid"), &bid(&answered())).status, 402);

    assert_eq!(
        world.post(&path.replace("/bid", "/reject"), &json!({})).status,
        200
    );
    let answer = world.post(&path, &bid(&answered()));
    assert_eq!(answer.status, 409, "the status before the account and the quota");
    assert!(answer.message().contains("rejected"));
    assert_eq!(
        world.post(&path, &bid(&json!([]))).status,
        400,
        "the rules before the status"
    );
}

#[test]
fn a_dry_run_passes_without_an_account_a_quota_and_a_new_lead() {
    let world = World::new();
    world.provision(&[organization(ORG, SubscriptionStatus::Active, 0)]);
    let bare = lead_id(ORG, BARE_CAMPAIGN, "job0");
    let path = format!("/v1/campaigns/{BARE_CAMPAIGN}/leads/{bare}");
    assert_eq!(world.post(&format!("{path}/reject"), &json!({})).status, 200);
    let mut body = bid(&json!([]));
    body["dryRun"] = json!(true);
    assert_eq!(world.post(&format!("{path}/bid"), &body).status, 200);
}

#[test]
fn a_dry_run_whose_receiver_is_far_behind_is_503_and_recorded_as_refused() {
    let world = World::new();
    world.provision(&[bid_complete_endpoint()]);
    let mut body = bid(&json!([]));
    body["dryRun"] = json!(true);
    for _ in 0..=DRY_RUN_BACKLOG {
        assert_eq!(world.post(&address_of(0, "bid"), &body).status, 200);
    }
    let answer = world.post(&address_of(0, "bid"), &body);
    assert_eq!(answer.status, 503);
    assert!(answer.header("retry-after").unwrap().parse::<u32>().is_ok());
    assert!(answer.message().contains("deliveries are pending"));
    let entry = world.activities().remove(0);
    assert_eq!(
        (entry.outcome.as_str(), entry.http_status, entry.dry_run),
        ("refused", Some(503), true)
    );

    body["dryRun"] = json!(false);
    assert_eq!(world.post(&address_of(0, "bid"), &body).status, 200, "a real bid");
}

#[test]
fn a_used_up_quota_is_a_quota_error() {
    let world = World::new();
    assert_eq!(world.post(&address_of(0, "bid"), &bid(&json!([]))).status, 200);
    assert_eq!(world.post(&address_of(1, "bid"), &bid(&answered())).status, 200);
    let answer = world.post(&address_of(2, "bid"), &bid(&answered()));
    assert_eq!(answer.status, 402);
    let body = answer.json();
    assert_eq!(body["code"], "proposal_limit_reached");
    assert_eq!((&body["currentUsage"], &body["limit"]), (&json!(2), &json!(2)));
    assert_eq!(body["currentPeriodEnd"], 1_792_000_000);
    assert_eq!(
        (&body["statusCode"], &body["error"]),
        (&json!(402), &json!("Payment Required"))
    );
}

#[test]
fn of_many_bids_at_once_on_one_lead_one_is_accepted() {
    let world = World::new();
    let request = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .json(&bid(&json!([])));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let sent: Vec<_> = (0..16)
            .map(|_| scope.spawn(|| world.send(&request).status))
            .collect();
        sent.into_iter().map(|sent| sent.join().unwrap()).collect()
    });
    assert_eq!(
        statuses.iter().filter(|status| **status == 200).count(),
        1,
        "{statuses:?}"
    );
    assert_eq!(
        statuses.iter().filter(|status| **status == 409).count(),
        15,
        "{statuses:?}"
    );
}
