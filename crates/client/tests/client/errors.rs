//! What each answer becomes.

use bidloop_client::{BidOutcome, Client, ErrorKind, LeadStatus, Refusal, RejectOutcome, RuleCode};
use serde_json::json;

use crate::server::{Server, Step};
use crate::{LEAD, acknowledgement, bid, builder, client, key, run, standard};

/// The error of a bid that is answered so.
async fn refused_bid(status: u16, body: &serde_json::Value) -> bidloop_client::Error {
    let server = Server::start(vec![Step::json(status, body)]);
    client(&server).bid(LEAD, &bid()).await.unwrap_err()
}

#[test]
fn a_bid_is_sent_with_the_key_and_its_acknowledgement_is_read() {
    run(async {
        let server = Server::start(vec![Step::json(200, &acknowledgement())]);
        let outcome = client(&server).bid(LEAD, &bid().answer("Q?", "A")).await.unwrap();
        let BidOutcome::Accepted(ack) = outcome else {
            panic!("{outcome:?}")
        };
        assert_eq!((ack.lead_id.as_str(), ack.dry_run), ("ld_1", false));
        let request = &server.requests()[0];
        assert_eq!(
            (&request.method, request.target.as_str()),
            (&http::Method::POST, "/v1/campaigns/camp/leads/ld_1/bid")
        );
        assert_eq!(
            request.header("authorization"),
            Some(format!("Bearer lk_{}", "0a".repeat(32)).as_str())
        );
        assert_eq!(
            request.json(),
            json!({"coverLetter": "Hello", "questionAnswerPairs": [{"question": "Q?", "answer": "A"}]})
        );
    });
}

#[test]
fn a_lead_is_rejected_with_a_reason_or_without_a_body() {
    run(async {
        let ack = acknowledgement();
        let server = Server::start(vec![Step::json(200, &ack), Step::json(200, &ack)]);
        let client = client(&server);
        let url = format!("{}/v1/campaigns/camp/leads/ld_1/reject", server.base_url());
        for outcome in [
            client.reject(LEAD, Some("too small")).await,
            client.reject_at(&url, None).await,
        ] {
            assert!(matches!(outcome.unwrap(), RejectOutcome::Rejected(_)));
        }
        let requests = server.requests();
        assert_eq!(requests[0].json(), json!({"reason": "too small"}));
        assert_eq!(
            (requests[1].body.len(), requests[1].header("content-type")),
            (0, None)
        );
        assert_eq!(requests[0].target, requests[1].target);
    });
}

#[test]
fn faults_of_shape_are_a_standard_error_with_paths() {
    run(async {
        let mut body = standard(400, "the request body is not valid");
        body["errors"] =
            json!([{"path": ["questionAnswerPairs", "0", "answer"], "message": "must be a string"}]);
        let error = refused_bid(400, &body).await;
        let Some(Refusal::Standard(refusal)) = error.refusal() else {
            panic!("{error:?}")
        };
        assert_eq!(refusal.errors[0].path, ["questionAnswerPairs", "0", "answer"]);
        assert_eq!(error.to_string(), "400: the request body is not valid");
        let ErrorKind::Refused { request_id, .. } = error.kind() else {
            panic!("{error:?}")
        };
        assert_eq!(request_id.as_deref(), Some("req-1"));
    });
}

#[test]
fn broken_rules_are_a_validation_error_with_codes_and_options() {
    run(async {
        let mut body = standard(400, "the bid breaks the bidding rules");
        body["errors"] = json!([
            {"path": ["questionAnswerPairs", "0", "question"], "code": "question_mismatch", "message": "m", "options": ["Why?"]},
            {"path": [], "code": "a_later_rule", "message": "m"},
        ]);
        let error = refused_bid(400, &body).await;
        let Some(Refusal::Validation(refusal)) = error.refusal() else {
            panic!("{error:?}")
        };
        let codes: Vec<&RuleCode> = refusal.errors.iter().map(|fault| &fault.code).collect();
        assert_eq!(
            codes,
            [
                &RuleCode::QuestionMismatch,
                &RuleCode::Other("a_later_rule".to_owned())
            ]
        );
        assert_eq!(refusal.errors[0].options, ["Why?"]);
    });
}

#[test]
fn a_used_up_quota_is_a_quota_error() {
    run(async {
        let mut body = standard(402, "the plan's limit is reached");
        body["code"] = json!("proposal_limit_reached");
        body["currentUsage"] = json!(50);
        body["limit"] = json!(50);
        body["currentPeriodEnd"] = json!(1_797_592_000);
        let error = refused_bid(402, &body).await;
        let Some(Refusal::Quota(refusal)) = error.refusal() else {
            panic!("{error:?}")
        };
        assert_eq!((refusal.current_usage, refusal.limit), (Some(50), Some(50)));
        assert_eq!(refusal.current_period_end, Some(1_797_592_000));
        assert!(!error.may_have_taken_effect());
    });
}

#[test]
fn a_gateways_page_is_foreign() {
    run(async {
        let page = "<h1>403</h1>".repeat(100);
        let server = Server::start(vec![Step::Answer(403, Vec::new(), page)]);
        let error = client(&server).bid(LEAD, &bid()).await.unwrap_err();
        let Some(Refusal::Foreign(text)) = error.refusal() else {
            panic!("{error:?}")
        };
        assert!(text.starts_with("<h1>403") && text.len() == 512, "{text}");
    });
}

#[test]
fn a_conflict_on_the_first_attempt_is_an_error() {
    run(async {
        let error = refused_bid(
            409,
            &standard(409, "the lead is already queued: it takes no further bid"),
        )
        .await;
        assert_eq!((error.status(), error.attempts()), (Some(409), 1));
        assert!(!error.may_have_taken_effect());
    });
}

#[test]
fn a_page_has_what_the_service_knows_and_the_client_does_not() {
    run(async {
        let mut lead = crate::lead("ld_1");
        lead["status"] = json!("parked");
        let page = json!({"data": [lead], "total": 1, "offset": 0, "limit": 10, "hasMore": false});
        let server = Server::start(vec![Step::json(200, &page)]);
        let page = client(&server).leads_page("camp", 0, 10).await.unwrap();
        assert_eq!(page.data[0].status, Some(LeadStatus::Other("parked".to_owned())));
        assert_eq!(
            server.requests()[0].target,
            "/v1/campaigns/camp/leads?offset=0&limit=10"
        );
    });
}

#[test]
fn an_unreadable_200_is_malformed_and_the_bid_may_be_queued() {
    run(async {
        let server = Server::start(vec![Step::Answer(200, Vec::new(), "<html>".to_owned())]);
        let error = client(&server).bid(LEAD, &bid()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Malformed(_)), "{error:?}");
        assert!(error.may_have_taken_effect());
    });
}

#[test]
fn the_key_is_sent_below_the_base_url_only() {
    run(async {
        let stranger = Server::start(Vec::new());
        let server = Server::start(vec![Step::json(200, &acknowledgement())]);
        let client = client(&server);
        let url = format!("{}/v1/campaigns/camp/leads/ld_1/bid", stranger.base_url());
        let error = client.bid_at(&url, &bid()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::ForeignUrl(_)), "{error:?}");
        assert!(stranger.requests().is_empty());
        let url = format!("{}/v1/campaigns/camp/leads/ld_1/bid", server.base_url());
        assert!(matches!(
            client.bid_at(&url, &bid()).await,
            Ok(BidOutcome::Accepted(_))
        ));
    });
}

#[test]
fn nothing_shows_the_key() {
    run(async {
        let server = Server::start(Vec::new());
        let shown = format!("{:?} {:?} {:?}", key(), builder(&server), client(&server));
        assert!(!shown.contains("0a0a"), "{shown}");
        assert!(Client::new("bids.test", key()).is_err());
    });
}
