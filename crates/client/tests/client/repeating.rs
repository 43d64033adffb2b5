//! Which calls are repeated, and what a later answer says about an earlier attempt.

use std::time::Duration;

use bidloop_client::{BidOutcome, Client, ErrorKind, LeadStatus, RejectOutcome, RetryPolicy};
use serde_json::json;

use crate::server::{Server, Step};
use crate::{LEAD, acknowledgement, bid, builder, client, key, run, standard};

fn empty_page() -> Step {
    Step::json(
        200,
        &json!({"data": [], "total": 0, "offset": 0, "limit": 100, "hasMore": false}),
    )
}

#[test]
fn a_list_is_read_again_after_every_passing_fault() {
    run(async {
        for fault in [
            Step::Cut,
            Step::CutBody,
            Step::unavailable(),
            Step::Answer(502, Vec::new(), "<html>".to_owned()),
            Step::json(429, &standard(429, "slow down")),
        ] {
            let server = Server::start(vec![fault, empty_page()]);
            client(&server).leads_page("camp", 0, 100).await.unwrap();
            assert_eq!(server.requests().len(), 2);
        }
    });
}

#[test]
fn a_final_refusal_is_not_repeated() {
    run(async {
        for status in [400, 401, 402, 404, 409, 413, 415, 500] {
            let server = Server::start(vec![Step::json(status, &standard(status, "no"))]);
            let error = client(&server).bid(LEAD, &bid()).await.unwrap_err();
            assert_eq!((error.status(), error.attempts()), (Some(status), 1));
            assert_eq!(error.may_have_taken_effect(), status == 500);
        }
    });
}

#[test]
fn a_bid_is_accepted_on_a_later_attempt() {
    run(async {
        let server = Server::start(vec![
            Step::unavailable(),
            Step::Cut,
            Step::json(200, &acknowledgement()),
        ]);
        let outcome = client(&server).bid(LEAD, &bid()).await.unwrap();
        assert!(matches!(outcome, BidOutcome::Accepted(_)));
        let requests = server.requests();
        assert_eq!(requests.len(), 3);
        assert!(requests.iter().all(|request| request.body == requests[0].body));
    });
}

#[test]
fn a_conflict_after_a_lost_answer_is_neither_success_nor_failure() {
    run(async {
        for lost in [Step::Cut, Step::CutBody, Step::unavailable()] {
            let conflict = standard(409, "the lead is already submitted: it takes no further bid");
            let server = Server::start(vec![lost, Step::json(409, &conflict)]);
            let outcome = client(&server).bid(LEAD, &bid()).await.unwrap();
            assert_eq!(
                outcome,
                BidOutcome::AlreadyBid {
                    status: LeadStatus::Submitted
                }
            );
        }
    });
}

#[test]
fn a_conflict_with_a_rejected_lead_says_that_no_attempt_was_accepted() {
    run(async {
        let conflict = standard(409, "the lead is already rejected: it takes no further bid");
        let server = Server::start(vec![Step::Cut, Step::json(409, &conflict)]);
        let error = client(&server).bid(LEAD, &bid()).await.unwrap_err();
        assert_eq!((error.status(), error.attempts()), (Some(409), 2));
        assert!(!error.may_have_taken_effect());
    });
}

#[test]
fn a_refusal_that_precedes_the_leads_status_leaves_the_lost_attempt_unknown() {
    run(async {
        for (status, unknown) in [(401, true), (404, true), (402, false)] {
            let refusal = json!({"message": "no", "code": "proposal_limit_reached"});
            let body = if status == 402 {
                refusal
            } else {
                standard(status, "no")
            };
            let server = Server::start(vec![Step::Cut, Step::json(status, &body)]);
            let error = client(&server).bid(LEAD, &bid()).await.unwrap_err();
            assert_eq!(
                (error.status(), error.may_have_taken_effect()),
                (Some(status), unknown)
            );
        }
    });
}

#[test]
fn a_lost_dry_run_has_no_effect() {
    run(async {
        let server = Server::start(vec![Step::Cut, Step::json(401, &standard(401, "no"))]);
        let error = client(&server).bid(LEAD, &bid().dry_run()).await.unwrap_err();
        assert!(!error.may_have_taken_effect());
        assert_eq!(server.requests()[1].json()["dryRun"], true);
    });
}

#[test]
fn a_rejection_after_a_lost_answer_is_told_from_another_decision() {
    run(async {
        let refusals = [("rejected", true), ("queued", false)];
        for (status, is_ours) in refusals {
            let refusal = standard(
                400,
                &format!("the lead is already {status}: it cannot be rejected"),
            );
            let server = Server::start(vec![Step::Cut, Step::json(400, &refusal)]);
            match client(&server).reject(LEAD, None).await {
                Ok(outcome) => assert_eq!((outcome, is_ours), (RejectOutcome::AlreadyRejected, true)),
                Err(error) => assert!(!is_ours && !error.may_have_taken_effect(), "{error:?}"),
            }
        }
    });
}

#[test]
fn attempts_end_with_the_policy_and_say_what_is_unknown() {
    run(async {
        let server = Server::start((0..9).map(|_| Step::Cut).collect());
        let policy = RetryPolicy {
            attempts: 3,
            first_pause: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let client = builder(&server).retry(policy).build().unwrap();
        let error = client.bid(LEAD, &bid()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::NoAnswer(_)), "{error:?}");
        assert_eq!((error.attempts(), server.requests().len()), (3, 3));
        assert!(error.may_have_taken_effect());
        let error = client.leads_page("camp", 0, 1).await.unwrap_err();
        assert!(!error.may_have_taken_effect(), "a list changes nothing");
    });
}

#[test]
fn a_retry_after_beyond_the_total_time_ends_the_call_at_once() {
    run(async {
        let body = standard(503, "later").to_string();
        let server = Server::start(vec![Step::Answer(503, vec![("retry-after", "3600")], body)]);
        let error = client(&server).leads_page("camp", 0, 1).await.unwrap_err();
        let ErrorKind::Refused { retry_after, .. } = error.kind() else {
            panic!("{error:?}")
        };
        assert_eq!(
            (*retry_after, error.attempts()),
            (Some(Duration::from_secs(3_600)), 1)
        );
    });
}

#[test]
fn an_attempt_ends_at_its_time_limit() {
    run(async {
        let server = Server::start(vec![Step::Hang, Step::json(200, &acknowledgement())]);
        let client = builder(&server)
            .timeout(Duration::from_millis(300))
            .build()
            .unwrap();
        assert!(matches!(
            client.bid(LEAD, &bid()).await,
            Ok(BidOutcome::Accepted(_))
        ));
        assert_eq!(server.requests().len(), 2);
    });
}

#[test]
fn without_a_connection_nothing_was_sent() {
    run(async {
        let closed = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let policy = RetryPolicy {
            attempts: 2,
            first_pause: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let client = Client::builder(&format!("http://{closed}"), key())
            .retry(policy)
            .build()
            .unwrap();
        let error = client.bid(LEAD, &bid()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unreachable(_)), "{error:?}");
        assert_eq!((error.attempts(), error.may_have_taken_effect()), (2, false));
    });
}
