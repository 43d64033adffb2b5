//! Attachments and proposals: what is accepted, what is refused, what it costs.

use bidloop_simulator::{Options, Simulator};
use serde_json::{Value, json};

use crate::client::{Client, changed, hourly_job, proposal, put_account, with_simulator};

/// A market with the jobs `j1` and `j2` and the account `tok`, and a caller with its token.
async fn market(simulator: &Simulator, connects: u64) -> Client {
    simulator
        .publish(vec![hourly_job("j1"), hourly_job("j2")])
        .unwrap();
    put_account(simulator, connects);
    Client::connect(simulator).await.with_token("tok")
}

async fn balance(client: &mut Client) -> Value {
    client.get("/api/account").await.json()["connectsBalance"].clone()
}

#[test]
fn a_proposal_is_accepted_once_and_its_key_repeats_the_answer() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        let first = client.propose("k1", &proposal("j1")).await;
        assert_eq!((first.status, &first.json()["connectsSpent"]), (201, &json!(12)));
        assert!(first.json()["submittedAt"].as_i64().unwrap() > 1_700_000_000_000);
        let again = client.propose("k1", &proposal("j1")).await;
        assert_eq!((again.status, again.json()), (200, first.json()));
        assert_eq!(balance(&mut client).await, 88);
        let [received] = &simulator.proposals()[..] else {
            panic!("one proposal")
        };
        assert_eq!(
            (&received["idempotencyKey"], &received["repeats"]),
            (&json!("k1"), &json!(1))
        );
        assert_eq!(
            (&received["status"], &received["connectsSpent"]),
            (&json!(201), &json!(12))
        );
        assert_eq!(
            (&received["body"], &received["accountId"]),
            (&proposal("j1"), &json!("acct_1"))
        );
        assert_eq!(
            (&received["jobId"], &received["coverLetter"]),
            (&json!("j1"), &json!("Hello"))
        );
        assert_eq!(received["proposalId"], first.json()["proposalId"]);
    });
}

#[test]
fn a_key_that_stands_for_another_proposal_is_invalid() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        client.propose("k1", &proposal("j1")).await;
        let other = client.propose("k1", &proposal("j2")).await;
        assert_eq!(other.refusal(), (422, "invalid".to_owned()));
        assert_eq!(balance(&mut client).await, 88);
    });
}

#[test]
fn an_account_has_one_proposal_on_a_job_whichever_token_it_comes_with() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        let id = client.propose("k1", &proposal("j1")).await.json()["proposalId"].clone();
        simulator
            .put_account("new token", json!({"id": "acct_1"}))
            .unwrap();
        let mut renewed = Client::connect(&simulator).await.with_token("new token");
        let refused = renewed.propose("k2", &proposal("j1")).await;
        assert_eq!(refused.refusal(), (409, "already_applied".to_owned()));
        assert_eq!(refused.json()["proposalId"], id);
        simulator.put_account("rival", json!({"id": "acct_2"})).unwrap();
        let mut rival = Client::connect(&simulator).await.with_token("rival");
        assert_eq!(rival.propose("k1", &proposal("j1")).await.status, 201);
    });
}

#[test]
fn simultaneous_calls_under_one_key_make_one_proposal() {
    with_simulator(Options::default(), |simulator| async move {
        market(&simulator, 1_000).await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..16 {
            let mut client = Client::connect(&simulator).await.with_token("tok");
            calls.spawn(async move { client.propose("k", &proposal("j1")).await.status });
        }
        let mut statuses = calls.join_all().await;
        statuses.sort_unstable();
        assert_eq!((statuses[14], statuses[15]), (200, 201));
        let received = simulator.proposals();
        assert_eq!((received.len(), &received[0]["repeats"]), (1, &json!(15)));
    });
}

#[test]
fn too_few_connects_are_402_and_the_key_stays_free() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 20).await;
        let boosted = changed(proposal("j1"), "boostConnects", json!(9));
        assert_eq!(
            client.propose("k1", &boosted).await.refusal(),
            (402, "insufficient_connects".to_owned())
        );
        assert_eq!(balance(&mut client).await, 20);
        assert_eq!(client.propose("k1", &proposal("j1")).await.status, 201);
        let [received] = &simulator.proposals()[..] else {
            panic!("one key")
        };
        assert_eq!(
            (&received["statuses"], &received["repeats"]),
            (&json!([402, 201]), &json!(1))
        );
        assert_eq!(received["body"], proposal("j1"));
        assert_eq!(balance(&mut client).await, 8);
    });
}

#[test]
fn boosts_are_paid_and_the_four_highest_stand() {
    with_simulator(Options::default(), |simulator| async move {
        market(&simulator, 0).await;
        for (index, boost) in [5, 0, 9, 7, 3, 8, 9].into_iter().enumerate() {
            let token = format!("bidder{index}");
            simulator
                .put_account(&token, json!({"connectsBalance": 12 + boost}))
                .unwrap();
            let mut bidder = Client::connect(&simulator).await.with_token(&token);
            let accepted = bidder
                .propose("k", &changed(proposal("j1"), "boostConnects", json!(boost)))
                .await;
            assert_eq!(accepted.json()["connectsSpent"], 12 + boost);
            assert_eq!(balance(&mut bidder).await, 0);
        }
        let state = Client::connect(&simulator).await.get("/api/jobs/j1").await.json();
        assert_eq!(state["state"]["boosts"], json!([9, 9, 8, 7]));
    });
}

#[test]
fn a_jobs_state_refuses_proposals_until_it_changes() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        for (state, code) in [
            (json!({"status": "closed"}), "job_closed"),
            (json!({"status": "open", "eligible": false}), "not_eligible"),
            (
                json!({"eligible": true, "warnings": [{"code": "w", "message": "Odd"}]}),
                "job_warning",
            ),
        ] {
            simulator.patch_job("j1", state).unwrap();
            assert_eq!(
                client.propose("k", &proposal("j1")).await.refusal(),
                (422, code.to_owned())
            );
        }
        let accepting = changed(proposal("j1"), "acceptWarnings", json!(true));
        assert_eq!(client.propose("k", &accepting).await.status, 201);
    });
}

#[test]
fn accounts_that_fall_short_of_what_a_job_asks_for_are_not_eligible() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        let qualifications = json!({"jobSuccessScore": 90, "minimumEarnings": 1000});
        let mut picky = hourly_job("picky");
        picky["vendorQualifications"] = qualifications;
        picky["region"] = json!("USOnly");
        simulator.publish(vec![picky]).unwrap();
        for shortfall in [
            json!({"jobSuccessScore": 89}),
            json!({"earnings": 1000}),
            json!({"country": "Peru"}),
        ] {
            let sufficient = json!({"jobSuccessScore": 90, "earnings": 1001, "country": "United States"});
            simulator.put_account("tok", sufficient).unwrap();
            simulator.put_account("tok", shortfall.clone()).unwrap();
            let refused = client.propose("k", &proposal("picky")).await;
            assert_eq!(refused.refusal(), (422, "not_eligible".to_owned()), "{shortfall}");
        }
        simulator
            .put_account("tok", json!({"country": "United States"}))
            .unwrap();
        assert_eq!(client.propose("k", &proposal("picky")).await.status, 201);
    });
}

#[test]
fn what_a_proposal_says_must_fit_the_job() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        let answer = |question: &str| json!({"question": question, "answer": "x"});
        for (name, value) in [
            ("coverLetter", json!(" \n")),
            ("coverLetter", Value::Null),
            ("answers", json!([])),
            ("answers", json!([answer("How long?")])),
            ("answers", json!([answer("How long?"), answer("How long?")])),
            ("answers", json!([answer("How long?"), answer("How much? ")])),
            (
                "answers",
                json!([answer("How long?"), answer("How much?"), answer("Why?")]),
            ),
            ("terms", json!({"type": "fixed", "amount": 20})),
            ("terms", json!({"type": "hourly", "amount": 0})),
            ("terms", json!({"type": "hourly", "amount": -1})),
            ("terms", json!({"type": "hourly"})),
            ("boostConnects", json!(-1)),
            ("boostConnects", json!(1.5)),
            ("attachments", json!(["unknown"])),
            ("acceptWarnings", json!("no")),
            ("unknownMember", json!(1)),
        ] {
            let refused = client
                .propose("k", &changed(proposal("j1"), name, value.clone()))
                .await;
            assert_eq!(refused.refusal(), (422, "invalid".to_owned()), "{name} {value}");
        }
        assert_eq!(
            client.propose("k", &proposal("j3")).await.refusal(),
            (404, "job_not_found".to_owned())
        );
        let keyless = client.call("POST", "/api/proposals", &proposal("j1")).await;
        assert_eq!(keyless.refusal(), (422, "invalid".to_owned()));
        let broken = client
            .send("POST", "/api/proposals", &[("idempotency-key", "k")], "{")
            .await
            .unwrap();
        assert_eq!(broken.refusal(), (422, "invalid".to_owned()));
        assert_eq!(client.propose("k", &proposal("j1")).await.status, 201);
    });
}

#[test]
fn a_fixed_price_job_takes_fixed_terms_and_one_that_says_nothing_takes_either() {
    with_simulator(Options::default(), |simulator| async move {
        put_account(&simulator, 100);
        let fixed =
            json!({"id": "fixed", "title": "Logo", "metadata": {"paymentType": "Fixed", "fixedPrice": 90}});
        simulator
            .publish(vec![fixed, json!({"id": "unsaid", "title": "Logo"})])
            .unwrap();
        let mut client = Client::connect(&simulator).await.with_token("tok");
        let on = |job: &str, kind: &str| json!({"jobId": job, "coverLetter": "Hi", "answers": [], "terms": {"type": kind, "amount": 90}});
        assert_eq!(client.propose("k", &on("fixed", "hourly")).await.status, 422);
        assert_eq!(client.propose("k", &on("fixed", "fixed")).await.status, 201);
        assert_eq!(client.propose("k2", &on("unsaid", "hourly")).await.status, 201);
    });
}

#[test]
fn a_proposal_without_a_known_token_is_401() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        let mut nobody = Client::connect(&simulator).await;
        assert_eq!(
            nobody.propose("k", &proposal("j1")).await.refusal(),
            (401, "invalid_token".to_owned())
        );
        assert_eq!(
            nobody.upload(b"x").await.refusal(),
            (401, "invalid_token".to_owned())
        );
        let revoked = client.call("DELETE", "/sim/accounts/tok", &Value::Null).await;
        assert_eq!(revoked.status, 200);
        assert_eq!(
            client.propose("k", &proposal("j1")).await.refusal(),
            (401, "invalid_token".to_owned())
        );
        assert_eq!(simulator.proposals()[0]["accountId"], Value::Null);
    });
}

#[test]
fn attachments_are_measured_and_belong_to_the_account_that_sent_them() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, 100).await;
        let uploaded = client.upload(b"abc").await;
        assert_eq!(uploaded.status, 201);
        let id = uploaded.json()["id"].clone();
        let kept = client.get("/sim/attachments").await.json();
        let expected = json!([{"id": id, "accountId": "acct_1", "fileName": "cv.pdf", "sizeBytes": 3,
            "contentType": "application/pdf",
            "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}]);
        assert_eq!(kept, expected);
        simulator.put_account("rival", json!({"id": "acct_2"})).unwrap();
        let with_file = changed(proposal("j1"), "attachments", json!([id]));
        let mut rival = Client::connect(&simulator).await.with_token("rival");
        assert_eq!(
            rival.propose("k", &with_file).await.refusal(),
            (422, "invalid".to_owned())
        );
        let twice = changed(proposal("j1"), "attachments", json!([id, id]));
        assert_eq!(
            client.propose("k", &twice).await.refusal(),
            (422, "invalid".to_owned())
        );
        assert_eq!(client.propose("k", &with_file).await.status, 201);
        let large = client.upload(&vec![0; 25 * 1_048_576 + 1]).await;
        assert_eq!(large.refusal(), (413, "too_large".to_owned()));
        let unframed = client
            .send("POST", "/api/attachments", &[("content-type", "text/plain")], "x")
            .await
            .unwrap();
        assert_eq!(unframed.refusal(), (415, "unsupported_media_type".to_owned()));
    });
}
