//! Which answer becomes which result, and what a request looks like on the wire.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::Connects;
use bidloop_domain::port::{FeedCursor, FeedEntry, Marketplace as _, MarketplaceError, MarketplaceRefusal};
use bidloop_marketplace::{HyperMarketplace, MarketplaceSettings};
use bytes::Bytes;
use serde_json::{Value, json};

use crate::fixtures::{
    ACCOUNT_JSON, FixedSurroundings, SUBMITTED_JSON, TOKEN, TRACE, client, client_with, file, job_id, key,
    post_json, proposal, settings, token,
};
use crate::scripted_server::{ScriptedServer, Step, answer, ok};

/// What `submit` makes of one answer.
async fn submit_answered(step: Step) -> Result<String, MarketplaceError> {
    let server = ScriptedServer::start(vec![step]).await;
    let submitted = client(&server.base_url)
        .submit(&TOKEN, key(), &proposal("7"))
        .await;
    server.only();
    submitted.map(|submitted| submitted.proposal_id)
}

#[tokio::test]
async fn each_call_carries_the_trace_that_it_belongs_to() {
    let steps = vec![
        ok(ACCOUNT_JSON),
        answer(201, "", r#"{"id":"att_1"}"#),
        answer(201, "", SUBMITTED_JSON),
    ];
    let server = ScriptedServer::start(steps).await;
    let client = client(&server.base_url).with_trace(Arc::new(FixedSurroundings));
    client.account(&TOKEN).await.unwrap();
    let content = file("cv.txt", vec![Ok(Bytes::from_static(b"cv"))]);
    client.upload(&TOKEN, content).await.unwrap();
    client.submit(&TOKEN, key(), &proposal("7")).await.unwrap();
    let received = server.received();
    assert_eq!(received.len(), 3);
    for request in received {
        assert_eq!(request.header("traceparent"), Some(TRACE), "{}", request.line());
    }
}

#[tokio::test]
async fn a_proposal_is_sent_in_the_protocols_words_under_its_key() {
    let server = ScriptedServer::start(vec![answer(201, "", SUBMITTED_JSON)]).await;
    let submitted = client(&server.base_url)
        .submit(&TOKEN, key(), &proposal("7"))
        .await
        .unwrap();
    assert_eq!(submitted.proposal_id, "p1");
    assert_eq!(submitted.connects_spent, Connects::new(19));
    assert_eq!(submitted.submitted_at.as_millis(), 1_790_000_000_001);

    let request = server.only();
    assert_eq!(request.line(), "POST /api/proposals HTTP/1.1");
    assert_eq!(request.header("authorization"), Some("Bearer tk_secret"));
    assert_eq!(
        request.header("idempotency-key"),
        Some("00000000-0000-0000-0000-000000000007")
    );
    assert_eq!(request.header("content-type"), Some("application/json"));
    assert_eq!(request.header("accept-encoding"), None);
    assert_eq!(request.header("traceparent"), None);
    assert_eq!(request.header("host"), server.base_url.strip_prefix("http://"));
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({
            "jobId": "7",
            "coverLetter": "Hello,\n\"quoted\" – ünïcode",
            "answers": [{"question": "Why?", "answer": "Because."}],
            "terms": {"type": "hourly", "amount": 45.5},
            "boostConnects": 3,
            "attachments": ["att_1"],
            "acceptWarnings": true,
        })
    );
}

#[tokio::test]
async fn a_proposal_that_the_marketplace_had_already_counts_as_taken() {
    assert_eq!(
        submit_answered(answer(200, "", SUBMITTED_JSON)).await,
        Ok("p1".to_owned())
    );
}

#[tokio::test]
async fn a_success_with_a_nonsensical_body_is_malformed() {
    for body in [
        "",
        "OK",
        "[]",
        r#"{"connectsSpent":1,"submittedAt":1}"#,
        r#"{"proposalId":"","connectsSpent":1,"submittedAt":1}"#,
        r#"{"proposalId":"p","connectsSpent":-1,"submittedAt":1}"#,
        r#"{"proposalId":"p","connectsSpent":1,"submittedAt":"today"}"#,
        r#"{"proposalId":"p","connectsSpent":1,"submittedAt":1} trailing"#,
    ] {
        let submitted = submit_answered(answer(201, "", body)).await;
        assert!(
            matches!(submitted, Err(MarketplaceError::Malformed(_))),
            "{body}: {submitted:?}"
        );
    }
    let compressed = submit_answered(answer(201, "Content-Encoding: gzip\r\n", SUBMITTED_JSON)).await;
    assert!(
        matches!(compressed, Err(MarketplaceError::Malformed(_))),
        "{compressed:?}"
    );
}

#[tokio::test]
async fn a_status_that_the_protocol_does_not_have_is_malformed() {
    for (status, headers) in [
        (202, ""),
        (204, ""),
        (302, "Location: https://elsewhere.test/\r\n"),
        (304, ""),
    ] {
        // 204 and 304 have no body, even with a Content-Length.
        let submitted = submit_answered(answer(status, headers, "")).await;
        let Err(MarketplaceError::Malformed(message)) = submitted else {
            panic!("{status}: {submitted:?}")
        };
        assert!(message.contains(&status.to_string()), "{message}");
    }
}

#[tokio::test]
async fn passing_faults_say_how_long_to_wait() {
    for (status, headers, wait) in [
        (429, "Retry-After: 7\r\n", Some(7)),
        (429, "Retry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n", Some(60)),
        (500, "Retry-After: soon\r\n", None),
        (
            503,
            "Date: Sun, 06 Nov 1994 08:50:07 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:50:37 GMT\r\n",
            Some(30),
        ),
        (599, "", None),
    ] {
        let submitted =
            submit_answered(answer(status, headers, r#"{"code":"busy","message":"Not now"}"#)).await;
        let expected = MarketplaceError::TryLater {
            retry_after: wait.map(Duration::from_secs),
            message: "Not now".to_owned(),
        };
        assert_eq!(submitted, Err(expected));
    }
}

#[tokio::test]
async fn an_error_without_the_protocols_body_does_not_say_whether_a_proposal_was_taken() {
    let page = "<html><h1>502 Bad Gateway</h1></html>";
    for status in [
        400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 599,
    ] {
        for body in [
            page,
            "",
            "null",
            "[]",
            r#"{"message":"upstream"}"#,
            r#"{"code":502,"message":"upstream"}"#,
            r#"{"code":"","message":"upstream"}"#,
        ] {
            let submitted = submit_answered(answer(status, "Retry-After: 7\r\n", body)).await;
            assert!(
                matches!(
                    &submitted,
                    Err(MarketplaceError::NotItsAnswer { retry_after: Some(wait), message })
                        if *wait == Duration::from_secs(7) && message.contains(&status.to_string())
                ),
                "{status} {body}: {submitted:?}"
            );
        }
    }
    let known = r#"{"code":"timeout","message":"Too slow."}"#;
    let submitted = submit_answered(answer(408, "", known)).await;
    assert!(
        matches!(submitted, Err(MarketplaceError::NotItsAnswer { .. })),
        "{submitted:?}"
    );
}

#[tokio::test]
async fn an_error_whose_body_breaks_off_does_not_say_whether_a_proposal_was_taken() {
    for status in [401, 409, 503] {
        let half = format!("HTTP/1.1 {status} Scripted\r\nContent-Length: 100\r\n\r\n{{\"code\":\"x\"}}");
        let submitted = submit_answered(Step::WriteAndClose(half.into_bytes())).await;
        assert!(
            matches!(submitted, Err(MarketplaceError::NoAnswer(_))),
            "{status}: {submitted:?}"
        );
    }
}

#[tokio::test]
async fn a_read_passes_passing_faults_on_by_status_alone() {
    for status in [408, 429, 502, 504] {
        let server = ScriptedServer::start(vec![answer(status, "", "<html>")]).await;
        let account = client(&server.base_url).account(&TOKEN).await;
        assert!(
            matches!(account, Err(MarketplaceError::TryLater { .. })),
            "{status}: {account:?}"
        );
    }
}

#[tokio::test]
async fn a_refusal_without_the_protocols_body_is_not_the_marketplaces_on_any_call_of_a_submission() {
    let page = "<html><h1>Not Found</h1></html>";
    for status in [400, 401, 403, 404, 409, 422] {
        let server = ScriptedServer::start(vec![answer(status, "Retry-After: 7\r\n", page); 3]).await;
        let client = client(&server.base_url);
        let uploaded = client.upload(&TOKEN, file("a.txt", vec![Ok(Bytes::from_static(b"x"))]));
        for error in [
            client.account(&TOKEN).await.unwrap_err(),
            client.job(&TOKEN, &job_id("7")).await.unwrap_err(),
            uploaded.await.unwrap_err(),
        ] {
            assert!(
                matches!(
                    &error,
                    MarketplaceError::NotItsAnswer { retry_after: Some(wait), .. }
                        if *wait == Duration::from_secs(7)
                ),
                "{status}: {error:?}"
            );
        }
    }
    let body = r#"{"code":"invalid_token","message":"No."}"#;
    let server = ScriptedServer::start(vec![answer(401, "", body)]).await;
    let account = client(&server.base_url).account(&TOKEN).await;
    assert_eq!(account, Err(MarketplaceError::InvalidToken));
}

#[tokio::test]
async fn the_feed_passes_a_refusal_on_by_status_alone() {
    let server = ScriptedServer::start(vec![answer(404, "", "<html>"), answer(401, "", "")]).await;
    let client = client(&server.base_url);
    let refused = client.feed(None, 10).await;
    assert!(
        matches!(refused, Err(MarketplaceError::Refused { .. })),
        "{refused:?}"
    );
    let refused = client.feed(None, 10).await;
    assert!(
        matches!(refused, Err(MarketplaceError::InvalidToken)),
        "{refused:?}"
    );
}

#[tokio::test]
async fn refusals_carry_their_meaning_message_and_proposal() {
    let already_applied = |proposal_id| MarketplaceRefusal::AlreadyApplied { proposal_id };
    for (status, code, refusal) in [
        (400, "bad_request", MarketplaceRefusal::Invalid),
        (
            402,
            "insufficient_connects",
            MarketplaceRefusal::InsufficientConnects,
        ),
        (402, "too_poor", MarketplaceRefusal::InsufficientConnects),
        (403, "forbidden", MarketplaceRefusal::Invalid),
        (404, "not_found", MarketplaceRefusal::NotFound),
        (409, "conflict", already_applied(None)),
        (422, "already_applied", already_applied(None)),
        (422, "job_closed", MarketplaceRefusal::JobClosed),
        (422, "job_warning", MarketplaceRefusal::JobWarning),
        (422, "not_eligible", MarketplaceRefusal::NotEligible),
        (422, "invalid", MarketplaceRefusal::Invalid),
    ] {
        let body = json!({"code": code, "message": "No."}).to_string();
        let refused = MarketplaceError::Refused {
            refusal,
            message: "No.".to_owned(),
        };
        assert_eq!(submit_answered(answer(status, "", &body)).await, Err(refused));
    }
    let body = r#"{"code":"already_applied","message":"Twice.","proposalId":"p9"}"#;
    let refused = MarketplaceError::Refused {
        refusal: already_applied(Some("p9".to_owned())),
        message: "Twice.".to_owned(),
    };
    assert_eq!(submit_answered(answer(409, "", body)).await, Err(refused));
}

#[tokio::test]
async fn status_401_in_the_protocols_words_is_an_invalid_token() {
    for code in ["invalid_token", "expired"] {
        let body = json!({"code": code, "message": "tk_secret"}).to_string();
        assert_eq!(
            submit_answered(answer(401, "", &body)).await,
            Err(MarketplaceError::InvalidToken)
        );
    }
}

#[tokio::test]
async fn no_error_repeats_the_token() {
    let body = r#"{"code":"forbidden","message":"Token tk_secret may not."}"#;
    let refused = submit_answered(answer(403, "", body)).await.unwrap_err();
    assert!(
        refused.to_string().ends_with("Token [token] may not."),
        "{refused}"
    );
    let malformed = submit_answered(answer(201, "", "\"tk_secret\""))
        .await
        .unwrap_err();
    assert!(
        !format!("{malformed:?}").contains(TOKEN.expose()),
        "{malformed:?}"
    );
}

#[tokio::test]
async fn a_token_that_no_header_can_carry_is_invalid_and_nothing_is_sent() {
    let server = ScriptedServer::start(vec![]).await;
    let account = client(&server.base_url).account(&token("tk_\r\nevil: 1")).await;
    assert_eq!(account, Err(MarketplaceError::InvalidToken));
    assert!(server.received().is_empty());
}

#[test]
fn a_wrong_base_address_is_refused_and_no_token_is_shown() {
    let surroundings = std::sync::Arc::new(FixedSurroundings);
    let settings = settings("localhost:9090");
    let refused = HyperMarketplace::new(&settings, surroundings.clone(), surroundings).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "must begin with https:// or http://, not localhost://"
    );
    for shown in [format!("{settings:?}"), format!("{:?}", client("http://x.test"))] {
        assert!(!shown.contains("tk_"), "{shown}");
    }
}

#[tokio::test]
async fn the_feed_is_read_with_the_watchers_token_or_none() {
    let page = r#"{"jobs":[],"cursor":"c","hasMore":false}"#;
    let server = ScriptedServer::start(vec![ok(page), ok(page)]).await;
    client(&server.base_url).feed(None, 100).await.unwrap();
    let nameless = client_with(&MarketplaceSettings {
        feed_token: None,
        ..settings(&server.base_url)
    });
    nameless
        .feed(Some(&FeedCursor("a&b=c/ü".to_owned())), 9999)
        .await
        .unwrap();

    let [first, second] = &server.received()[..] else {
        panic!("{:?}", server.received())
    };
    assert_eq!(first.line(), "GET /api/jobs?limit=100 HTTP/1.1");
    assert_eq!(first.header("authorization"), Some("Bearer tk_feed"));
    assert_eq!(
        second.line(),
        "GET /api/jobs?after=a%26b%3Dc%2F%C3%BC&limit=500 HTTP/1.1"
    );
    assert_eq!(second.header("authorization"), None);
}

#[tokio::test]
async fn a_malformed_entry_does_not_make_its_page_malformed() {
    let bad = post_json("8").replace("1790000000000", "\"today\"");
    let body = format!(
        r#"{{"jobs":[{},{bad},{}],"cursor":"c","hasMore":true}}"#,
        post_json("7"),
        post_json("9")
    );
    let server = ScriptedServer::start(vec![ok(&body)]).await;
    let page = client(&server.base_url).feed(None, 100).await.unwrap();
    let [
        FeedEntry::Job { json, .. },
        FeedEntry::Malformed { id, fault },
        FeedEntry::Job { post, .. },
    ] = &page.entries[..]
    else {
        panic!("{page:?}")
    };
    assert_eq!(*json, post_json("7"));
    assert_eq!(id.as_deref(), Some("8"));
    assert!(fault.starts_with("postedAt: "), "{fault}");
    assert_eq!(post.id, job_id("9"));
}

#[tokio::test]
async fn an_entry_that_lists_a_posts_values_is_malformed() {
    let body = format!(
        r#"{{"jobs":[["8","~8","T","D","/jobs/~8",1790000000000],{}],"cursor":"c","hasMore":false}}"#,
        post_json("9")
    );
    let server = ScriptedServer::start(vec![ok(&body)]).await;
    let page = client(&server.base_url).feed(None, 100).await.unwrap();
    assert!(
        matches!(
            &page.entries[..],
            [FeedEntry::Malformed { id: None, .. }, FeedEntry::Job { .. }]
        ),
        "{page:?}"
    );
}

#[tokio::test]
async fn an_answer_that_lists_values_is_malformed() {
    let server = ScriptedServer::start(vec![ok(r#"["a", "A", 1000, 50]"#), ok(r#"[[], "c", false]"#)]).await;
    let client = client(&server.base_url);
    let account = client.account(&TOKEN).await;
    assert!(
        matches!(account, Err(MarketplaceError::Malformed(_))),
        "{account:?}"
    );
    let feed = client.feed(None, 100).await;
    assert!(matches!(feed, Err(MarketplaceError::Malformed(_))), "{feed:?}");
    let submitted = submit_answered(answer(201, "", r#"["p", 1, 1]"#)).await;
    assert!(
        matches!(submitted, Err(MarketplaceError::Malformed(_))),
        "{submitted:?}"
    );
}

#[tokio::test]
async fn a_refused_cursor_differs_from_a_temporary_fault() {
    let body = r#"{"code":"invalid_cursor","message":"Too old."}"#;
    let server = ScriptedServer::start(vec![answer(410, "", body)]).await;
    let feed = client(&server.base_url)
        .feed(Some(&FeedCursor("old".to_owned())), 100)
        .await;
    assert!(matches!(&feed, Err(MarketplaceError::Refused { message, .. }) if message == "Too old."));
}

#[tokio::test]
async fn a_job_is_read_with_its_state() {
    let state = r#"{"status":"closed","alreadyHired":true,"warnings":[{"code":"w","message":"Odd"}],
        "boosts":[3,9,5],"requiredConnects":16}"#;
    let body = format!(r#"{{"job":{},"state":{state}}}"#, post_json("a/b"));
    let server = ScriptedServer::start(vec![ok(&body)]).await;
    let live = client(&server.base_url)
        .job(&TOKEN, &job_id("a/b"))
        .await
        .unwrap();
    assert_eq!(server.only().line(), "GET /api/jobs/a%2Fb HTTP/1.1");
    assert_eq!(live.post.id, job_id("a/b"));
    assert_eq!(live.state.boosts, [9, 5, 3].map(Connects::new), "highest first");
    assert!(live.state.already_hired);
    assert_eq!(live.state.required_connects, Connects::new(16));
    assert_eq!(
        (
            live.state.warnings[0].code.as_str(),
            live.state.warnings[0].message.as_str()
        ),
        ("w", "Odd")
    );
}

#[tokio::test]
async fn a_job_whose_answer_lacks_something_is_malformed() {
    let complete = json!({
        "job": serde_json::from_str::<Value>(&post_json("7")).unwrap(),
        "state": {"status": "open", "alreadyHired": false, "warnings": [], "boosts": [], "requiredConnects": 6},
    });
    let mut bodies = vec![json!({}), json!({"job": complete["job"]})];
    for member in ["status", "alreadyHired", "warnings", "boosts", "requiredConnects"] {
        let mut body = complete.clone();
        body["state"].as_object_mut().unwrap().remove(member);
        bodies.push(body);
    }
    let mut other_job = complete.clone();
    other_job["job"]["id"] = json!("8");
    bodies.push(other_job);
    let mut listed_state = complete.clone();
    listed_state["state"] = json!(["open", false, [], [], 6]);
    bodies.push(listed_state);
    let mut listed_warning = complete.clone();
    listed_warning["state"]["warnings"] = json!([["w", "Odd"]]);
    bodies.push(listed_warning);
    for body in bodies {
        let server = ScriptedServer::start(vec![ok(&body.to_string())]).await;
        let job = client(&server.base_url).job(&TOKEN, &job_id("7")).await;
        assert!(
            matches!(job, Err(MarketplaceError::Malformed(_))),
            "{body}: {job:?}"
        );
    }
    let server = ScriptedServer::start(vec![ok(&complete.to_string())]).await;
    assert!(client(&server.base_url).job(&TOKEN, &job_id("7")).await.is_ok());
}

#[tokio::test]
async fn a_path_before_the_protocols_is_kept() {
    let server = ScriptedServer::start(vec![ok(ACCOUNT_JSON)]).await;
    let account = client(&format!("{}/eu/v2/", server.base_url))
        .account(&TOKEN)
        .await
        .unwrap();
    assert_eq!((account.id.as_str(), account.name.as_str()), ("a1", "Jane"));
    assert_eq!(
        (account.connects_balance, account.profile_hourly_rate),
        (Connects::new(80), None)
    );
    assert_eq!(server.only().line(), "GET /eu/v2/api/account HTTP/1.1");
}
