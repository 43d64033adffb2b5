//! The control calls under `/sim/`.

use bidloop_simulator::Options;
use serde_json::{Value, json};

use crate::client::{Client, hourly_job, proposal, put_account, with_simulator};

#[test]
fn jobs_are_published_all_or_none_and_answered_as_published() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        let body = json!([{"title": "A"}, {"title": "B", "id": "b", "ciphertext": "~b", "url": "/b", "postedAt": 7}]);
        let published = client.call("POST", "/sim/jobs", &body).await;
        assert_eq!(published.status, 200);
        let published = published.json();
        for name in ["id", "ciphertext", "url"] {
            assert!(!published[0][name].as_str().unwrap().is_empty(), "{name}");
            assert_eq!(published[1][name], body[1][name], "{name}");
        }
        assert_eq!(published[1]["postedAt"], 7);
        assert_eq!(client.get("/api/jobs").await.json()["jobs"], published);
        let faulty = json!([{"title": "C"}, {"title": "D", "skills": "Rust"}]);
        let refused = client.call("POST", "/sim/jobs", &faulty).await;
        assert_eq!(refused.refusal(), (400, "bad_request".to_owned()));
        assert_eq!(
            refused.json()["message"],
            "jobs[1]: skills: expected an array or null"
        );
        assert_eq!(
            client
                .call("POST", "/sim/jobs", &json!({"title": "E"}))
                .await
                .status,
            400
        );
        assert_eq!(client.get("/sim/jobs").await.json()["total"], 2);
    });
}

#[test]
fn a_job_published_again_moves_to_the_end_and_keeps_its_state() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        simulator.publish(vec![hourly_job("a"), hourly_job("b")]).unwrap();
        simulator.patch_job("a", json!({"boosts": [3]})).unwrap();
        let seen = client.get("/api/jobs").await.json();
        simulator
            .publish(vec![json!({"id": "a", "title": "Changed"})])
            .unwrap();
        let next = format!("/api/jobs?after={}", seen["cursor"].as_str().unwrap());
        assert_eq!(client.get(&next).await.json()["jobs"][0]["title"], "Changed");
        let ids: Vec<Value> = client.get("/api/jobs").await.json()["jobs"]
            .as_array()
            .unwrap()
            .iter()
            .map(|job| job["id"].clone())
            .collect();
        assert_eq!(ids, ["b", "a"]);
        assert_eq!(
            client.get("/api/jobs/a").await.json()["state"]["boosts"],
            json!([3])
        );
    });
}

#[test]
fn posts_that_depart_from_the_protocol_can_be_published_on_purpose() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        let odd = json!([{"id": "odd", "title": 7, "skills": "Rust"}]);
        assert_eq!(
            client.call("POST", "/sim/jobs?unchecked=true", &odd).await.json(),
            odd
        );
        assert_eq!(client.get("/api/jobs").await.json()["jobs"], odd);
    });
}

#[test]
fn a_jobs_state_is_merged_and_answered() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        simulator.publish(vec![hourly_job("a")]).unwrap();
        let patch = json!({"alreadyHired": true, "boosts": [2, 8], "requiredConnects": 4});
        let state = client.call("PATCH", "/sim/jobs/a", &patch).await.json()["state"].clone();
        let expected = json!({"status": "open", "alreadyHired": true, "warnings": [], "boosts": [8, 2],
            "requiredConnects": 4});
        assert_eq!(state, expected);
        for (path, patch, status) in [
            ("/sim/jobs/b", json!({}), 404),
            ("/sim/jobs/a", json!({"status": "paused"}), 400),
            ("/sim/jobs/a", json!({"hired": true}), 400),
            ("/sim/jobs/a", json!([]), 400),
        ] {
            assert_eq!(
                client.call("PATCH", path, &patch).await.status,
                status,
                "{path} {patch}"
            );
        }
        assert_eq!(client.get("/api/jobs/a").await.json()["state"], expected);
    });
}

#[test]
fn accounts_are_put_and_read_back() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        let account = json!({"id": "a", "name": "Jo", "connectsBalance": 5, "profileHourlyRate": null});
        let path = "/sim/accounts/token%20one";
        assert_eq!(client.call("PUT", path, &account).await.json(), account);
        assert_eq!(client.get(path).await.json(), account);
        assert_eq!(
            client
                .call("PUT", path, &json!({"connectsBalance": -1}))
                .await
                .status,
            400
        );
        let mut owner = Client::connect(&simulator).await.with_token("token one");
        assert_eq!(owner.get("/api/account").await.json(), account);
    });
}

#[test]
fn calls_and_proposals_are_counted() {
    with_simulator(Options::default(), |simulator| async move {
        put_account(&simulator, 100);
        simulator.publish(vec![hourly_job("a")]).unwrap();
        let mut client = Client::connect(&simulator).await.with_token("tok");
        client.propose("k", &proposal("a")).await;
        client.propose("k2", &proposal("a")).await;
        client.get("/api/jobs/a").await;
        let stats = client.get("/sim/stats").await.json();
        assert_eq!(
            stats["calls"],
            json!({"GET /api/jobs/<id>": 1, "POST /api/proposals": 2})
        );
        assert_eq!(
            (&stats["proposals"], &stats["proposalsAccepted"]),
            (&json!(2), &json!(1))
        );
        assert_eq!((&stats["jobs"], &stats["accounts"]), (&json!(1), &json!(1)));
    });
}

#[test]
fn what_is_no_call_is_404_or_405() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        assert_eq!(client.get("/").await.refusal(), (404, "not_found".to_owned()));
        let wrong = client.call("DELETE", "/api/jobs", &Value::Null).await;
        assert_eq!(wrong.refusal(), (405, "method_not_allowed".to_owned()));
        assert_eq!(wrong.headers["allow"], "GET");
    });
}
