//! The feed, the job states, the account.

use bidloop_simulator::{Options, PostSource, Publishing, Simulator};
use serde_json::{Value, json};
use std::io::Write;
use std::time::Duration;

use crate::client::{Client, hourly_job, put_account, with_simulator};

fn titles(page: &Value) -> Vec<&str> {
    page["jobs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|job| job["title"].as_str().unwrap())
        .collect()
}

#[test]
fn the_feed_is_read_oldest_first_in_pages_strictly_after_the_cursor() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        let empty = client.get("/api/jobs").await.json();
        assert_eq!((&empty["jobs"], &empty["hasMore"]), (&json!([]), &json!(false)));
        simulator
            .publish((0..5).map(|n| json!({"title": n.to_string()})).collect())
            .unwrap();
        let first = client.get("/api/jobs?limit=2").await.json();
        assert_eq!(
            (titles(&first), &first["hasMore"]),
            (vec!["0", "1"], &json!(true))
        );
        let next = format!("/api/jobs?after={}&limit=3", first["cursor"].as_str().unwrap());
        let second = client.get(&next).await.json();
        assert_eq!(
            (titles(&second), &second["hasMore"]),
            (vec!["2", "3", "4"], &json!(false))
        );
        let end = format!("/api/jobs?limit=500&after={}", second["cursor"].as_str().unwrap());
        let last = client.get(&end).await.json();
        assert_eq!(
            (titles(&last), &last["cursor"], &last["hasMore"]),
            (vec![], &second["cursor"], &json!(false))
        );
        simulator.publish(vec![json!({"title": "late"})]).unwrap();
        assert_eq!(titles(&client.get(&end).await.json()), ["late"]);
        let before = format!("/api/jobs?after={}", empty["cursor"].as_str().unwrap());
        assert_eq!(titles(&client.get(&before).await.json()).len(), 6);
    });
}

#[test]
fn a_limit_outside_1_to_500_and_a_foreign_cursor_are_400() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        for limit in ["0", "501", "-1", "ten", ""] {
            let refusal = client.get(&format!("/api/jobs?limit={limit}")).await.refusal();
            assert_eq!(refusal, (400, "invalid_limit".to_owned()), "{limit}");
        }
        let other = Simulator::start("127.0.0.1:0", Options::default()).await.unwrap();
        let page = Client::connect(&other).await.get("/api/jobs").await.json();
        for cursor in [page["cursor"].as_str().unwrap(), "", "opaque", "%F0%9F%A6%80"] {
            let refusal = client.get(&format!("/api/jobs?after={cursor}")).await.refusal();
            assert_eq!(refusal, (400, "invalid_cursor".to_owned()), "{cursor}");
        }
    });
}

#[test]
fn only_the_newest_posts_are_kept_and_older_cursors_expire() {
    let options = Options {
        keep_posts: Some(3),
        ..Options::default()
    };
    with_simulator(options, |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        let start = client.get("/api/jobs").await.json();
        simulator
            .publish(
                (0..5)
                    .map(|n| json!({"id": n.to_string(), "title": n.to_string()}))
                    .collect(),
            )
            .unwrap();
        assert_eq!(titles(&client.get("/api/jobs").await.json()), ["2", "3", "4"]);
        let expired = client
            .get(&format!("/api/jobs?after={}", start["cursor"].as_str().unwrap()))
            .await;
        assert_eq!(expired.refusal(), (400, "invalid_cursor".to_owned()));
        assert_eq!(
            client.get("/api/jobs/1").await.refusal(),
            (404, "job_not_found".to_owned())
        );
    });
}

#[test]
fn a_feed_token_is_asked_for_where_one_is_configured() {
    let options = Options {
        feed_token: Some("watcher".to_owned()),
        ..Options::default()
    };
    with_simulator(options, |simulator| async move {
        let refused = Client::connect(&simulator).await.get("/api/jobs").await;
        assert_eq!(refused.refusal(), (401, "invalid_token".to_owned()));
        assert_eq!(refused.headers["www-authenticate"], "Bearer");
        let mut watcher = Client::connect(&simulator).await.with_token("watcher");
        assert_eq!(watcher.get("/api/jobs").await.status, 200);
    });
}

#[test]
fn a_job_comes_with_its_state() {
    with_simulator(Options::default(), |simulator| async move {
        let mut client = Client::connect(&simulator).await;
        let published = simulator.publish(vec![hourly_job("j/1")]).unwrap();
        let found = client.get("/api/jobs/j%2F1").await.json();
        assert_eq!(found["job"], published[0]);
        let state = json!({"status": "open", "alreadyHired": false, "warnings": [], "boosts": [],
            "requiredConnects": 12});
        assert_eq!(found["state"], state);
        let page = published[0]["url"]
            .as_str()
            .unwrap()
            .strip_prefix(simulator.base_url())
            .unwrap()
            .to_owned();
        assert_eq!(client.get(&page).await.json(), found);
        assert_eq!(
            client.get("/api/jobs/j2").await.refusal(),
            (404, "job_not_found".to_owned())
        );
    });
}

#[test]
fn an_account_is_seen_with_its_own_token_alone() {
    with_simulator(Options::default(), |simulator| async move {
        put_account(&simulator, 70);
        let account = json!({"id": "acct_1", "name": "Jo", "connectsBalance": 70, "profileHourlyRate": 40.0});
        let mut known = Client::connect(&simulator).await.with_token("tok");
        assert_eq!(known.get("/api/account").await.json(), account);
        let mut unknown = Client::connect(&simulator).await.with_token("other");
        assert_eq!(
            unknown.get("/api/account").await.refusal(),
            (401, "invalid_token".to_owned())
        );
        let mut nobody = Client::connect(&simulator).await;
        assert_eq!(
            nobody.get("/api/account").await.refusal(),
            (401, "invalid_token".to_owned())
        );
    });
}

fn job_file() -> tempfile::NamedTempFile {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    for n in 0..3 {
        writeln!(
            file,
            "{}",
            json!({"id": format!("f{n}"), "title": format!("file {n}"), "postedAt": n})
        )
        .unwrap();
    }
    file
}

#[test]
fn a_files_posts_are_in_the_feed_from_the_start_as_they_are() {
    let source = PostSource::from_file(job_file().path()).unwrap();
    let publishing = Some(Publishing {
        source,
        rate: None,
        fresh_times: false,
    });
    with_simulator(
        Options {
            publishing,
            ..Options::default()
        },
        |simulator| async move {
            let page = Client::connect(&simulator).await.get("/api/jobs").await.json();
            assert_eq!(titles(&page), ["file 0", "file 1", "file 2"]);
            assert_eq!(page["jobs"][2]["postedAt"], 2);
        },
    );
}

#[test]
fn posts_are_released_at_their_rate_with_fresh_times_if_asked_for() {
    let source = PostSource::from_file(job_file().path()).unwrap();
    let publishing = Some(Publishing {
        source,
        rate: Some(200.0),
        fresh_times: true,
    });
    with_simulator(
        Options {
            publishing,
            ..Options::default()
        },
        |simulator| async move {
            let mut client = Client::connect(&simulator).await;
            let mut ticks = tokio::time::interval(Duration::from_millis(10));
            let page = loop {
                ticks.tick().await;
                let page = client.get("/api/jobs").await.json();
                if titles(&page).len() == 3 {
                    break page;
                }
            };
            assert_eq!(titles(&page), ["file 0", "file 1", "file 2"]);
            assert!(page["jobs"][0]["postedAt"].as_i64().unwrap() > 1_700_000_000_000);
        },
    );
}

#[test]
fn a_generated_backlog_stands_in_the_feed_from_the_start_oldest_first() {
    let source = PostSource::Generated { seed: 3, backlog: 40 };
    let publishing = Some(Publishing {
        source,
        rate: None,
        fresh_times: true,
    });
    with_simulator(
        Options {
            publishing,
            ..Options::default()
        },
        |simulator| async move {
            let page = Client::connect(&simulator)
                .await
                .get("/api/jobs?limit=500")
                .await
                .json();
            let posted: Vec<i64> = page["jobs"]
                .as_array()
                .unwrap()
                .iter()
                .map(|job| job["postedAt"].as_i64().unwrap())
                .collect();
            assert_eq!(posted.len(), 40);
            assert!(posted.is_sorted());
        },
    );
}

#[test]
fn a_stopped_simulator_cuts_what_hangs_and_frees_its_port() {
    with_simulator(Options::default(), |simulator| async move {
        let address = simulator.address();
        simulator
            .put_faults(&json!([{"call": "GET /api/jobs", "hang": true}]))
            .unwrap();
        let mut client = Client::connect(&simulator).await;
        let (answer, ()) = tokio::join!(client.send("GET", "/api/jobs", &[], ""), simulator.shutdown());
        assert!(answer.is_err());
        Simulator::start(address, Options::default()).await.unwrap();
    });
}
