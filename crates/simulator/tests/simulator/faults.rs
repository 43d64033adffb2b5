//! Calls that fail on demand.

use bidloop_simulator::{Options, Simulator};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

use crate::client::{Client, hourly_job, proposal, put_account, with_simulator};

async fn market(simulator: &Simulator, faults: Value) -> Client {
    simulator.publish(vec![hourly_job("j1")]).unwrap();
    put_account(simulator, 100);
    let mut client = Client::connect(simulator).await.with_token("tok");
    assert_eq!(client.call("PUT", "/sim/faults", &faults).await.status, 200);
    client
}

#[test]
fn a_status_is_answered_so_many_times_and_nothing_is_done() {
    with_simulator(Options::default(), |simulator| async move {
        let fault = json!([{"call": "POST /api/proposals", "times": 3, "status": 503}]);
        let mut client = market(&simulator, fault).await;
        for _ in 0..3 {
            assert_eq!(
                client.propose("k", &proposal("j1")).await.refusal(),
                (503, "unavailable".to_owned())
            );
        }
        assert_eq!(simulator.proposals().len(), 0);
        assert_eq!(client.propose("k", &proposal("j1")).await.status, 201);
        let received = &simulator.proposals()[0];
        assert_eq!(
            (&received["repeats"], &received["attempts"]),
            (&json!(0), &json!(4))
        );
        assert_eq!(client.get("/sim/faults").await.json(), json!([]));
    });
}

#[test]
fn a_429_says_when_to_come_again_and_bodies_can_be_chosen() {
    with_simulator(Options::default(), |simulator| async move {
        let faults = json!([
            {"call": "GET /api/account", "times": 1, "status": 429},
            {"call": "GET /api/account", "times": 1, "status": 429, "retryAfter": 7},
            {"call": "GET /api/account", "status": 400, "body": {"code": "odd", "message": "Odd"}},
        ]);
        let mut client = market(&simulator, faults).await;
        assert_eq!(client.get("/api/account").await.headers["retry-after"], "1");
        assert_eq!(client.get("/api/account").await.headers["retry-after"], "7");
        for _ in 0..2 {
            assert_eq!(
                client.get("/api/account").await.refusal(),
                (400, "odd".to_owned())
            );
        }
    });
}

#[test]
fn drop_after_commit_accepts_and_cuts_the_connection() {
    with_simulator(Options::default(), |simulator| async move {
        let fault = json!([{"call": "POST /api/proposals", "times": 1, "dropAfterCommit": true}]);
        let mut client = market(&simulator, fault).await;
        assert!(client.try_propose("k", &proposal("j1")).await.is_err());
        assert_eq!(simulator.proposals()[0]["status"], 201);
        let mut again = Client::connect(&simulator).await.with_token("tok");
        let answer = again.propose("k", &proposal("j1")).await;
        assert_eq!(
            (answer.status, &answer.json()["connectsSpent"]),
            (200, &json!(12))
        );
        assert_eq!(simulator.proposals()[0]["repeats"], 1);
        assert_eq!(again.get("/api/account").await.json()["connectsBalance"], 88);
    });
}

#[test]
fn drop_after_commit_with_a_status_or_a_hang_commits_too() {
    with_simulator(Options::default(), |simulator| async move {
        let faults = json!([
            {"call": "POST /api/proposals", "times": 1, "dropAfterCommit": true, "status": 500},
            {"call": "POST /api/proposals", "times": 1, "dropAfterCommit": true, "hang": true},
        ]);
        let mut client = market(&simulator, faults).await;
        simulator.publish(vec![hourly_job("j2")]).unwrap();
        let gateway = client.propose("k1", &proposal("j1")).await;
        assert_eq!(gateway.status, 500);
        assert!(gateway.text.starts_with("<html>"), "{}", gateway.text);
        let job = proposal("j2");
        let silent = tokio::time::timeout(Duration::from_millis(200), client.try_propose("k2", &job)).await;
        assert!(silent.is_err());
        let accepted: Vec<Value> = simulator
            .proposals()
            .iter()
            .map(|received| received["status"].clone())
            .collect();
        assert_eq!(accepted, [json!(201), json!(201)]);
    });
}

#[test]
fn a_hanging_call_does_nothing_and_is_never_answered() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = market(&simulator, json!([{"call": "POST /api/proposals", "hang": true}])).await;
        let job = proposal("j1");
        let silent = tokio::time::timeout(Duration::from_millis(200), client.try_propose("k", &job)).await;
        assert!(silent.is_err());
        assert_eq!(simulator.proposals().len(), 0);
        let mut other = Client::connect(&simulator).await.with_token("tok");
        assert_eq!(other.get("/api/account").await.status, 200);
    });
}

#[test]
fn a_delayed_call_is_carried_out_though_its_caller_has_gone() {
    with_simulator(Options::default(), |simulator| async move {
        let fault = json!([{"call": "POST /api/proposals", "times": 1, "delayMs": 300}]);
        let mut client = market(&simulator, fault).await;
        let started = Instant::now();
        let job = proposal("j1");
        let silent = tokio::time::timeout(Duration::from_millis(50), client.try_propose("k", &job)).await;
        assert!(silent.is_err() && simulator.proposals().is_empty());
        drop(client);
        let mut ticks = tokio::time::interval(Duration::from_millis(10));
        while simulator.proposals().is_empty() {
            ticks.tick().await;
        }
        assert!(started.elapsed() >= Duration::from_millis(300));
    });
}

#[test]
fn a_malformed_answer_comes_after_the_call_was_carried_out() {
    with_simulator(Options::default(), |simulator| async move {
        let faults = json!([
            {"call": "POST /api/proposals", "times": 1, "malformed": true},
            {"call": "GET /api/jobs/<id>", "malformed": true},
        ]);
        let mut client = market(&simulator, faults).await;
        let answer = client.propose("k", &proposal("j1")).await;
        assert_eq!(answer.status, 201);
        assert!(serde_json::from_str::<Value>(&answer.text).is_err());
        assert_eq!(simulator.proposals()[0]["status"], 201);
        let job = client.get("/api/jobs/j1").await;
        assert!(job.status == 200 && serde_json::from_str::<Value>(&job.text).is_err());
        assert_eq!(client.get("/api/jobs").await.json()["jobs"][0]["id"], "j1");
    });
}

#[test]
fn each_fault_strikes_as_often_as_it_says_under_simultaneous_calls() {
    with_simulator(Options::default(), |simulator| async move {
        market(
            &simulator,
            json!([{"call": "GET /api/jobs", "times": 7, "status": 503}]),
        )
        .await;
        let mut calls = tokio::task::JoinSet::new();
        for _ in 0..20 {
            let mut client = Client::connect(&simulator).await;
            calls.spawn(async move { client.get("/api/jobs").await.status });
        }
        let struck = calls
            .join_all()
            .await
            .into_iter()
            .filter(|status| *status == 503)
            .count();
        assert_eq!(struck, 7);
    });
}

#[test]
fn an_empty_list_clears_and_a_faulty_one_changes_nothing() {
    with_simulator(Options::default(), |simulator| async move {
        let standing = json!([{"call": "GET /api/jobs", "status": 503}]);
        let mut client = market(&simulator, standing).await;
        let faulty = json!([{"call": "GET /api/jobs", "hang": "yes"}]);
        assert_eq!(
            client.call("PUT", "/sim/faults", &faulty).await.refusal(),
            (400, "bad_request".to_owned())
        );
        assert_eq!(client.get("/api/jobs").await.status, 503);
        assert_eq!(
            client.call("PUT", "/sim/faults", &json!([])).await.json(),
            json!([])
        );
        assert_eq!(client.get("/api/jobs").await.status, 200);
    });
}
