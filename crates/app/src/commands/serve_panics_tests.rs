//! Workers that panic at random: none is dead afterwards, nothing is lost or doubled, and `/readyz` tells the truth.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use bidloop_domain::model::{ActivityKind, ActivityOutcome, ActivityQuery};
use bidloop_simulator::caller::{Receiver, ReceiverOptions};
use bidloop_simulator::{Options, Simulator};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::commands::apply::FolderSource;
use crate::service::Operations;

/// How long workers panic. `BIDLOOP_PANIC_SECONDS=60` is the measure.
const PANIC_FOR: Duration = Duration::from_secs(8);
/// Of a thousand passes and pieces of work, so many panic.
const PANICS_PER_MILLE: u32 = 60;
/// Longer than the longest pause of a worker and the lease of a bid: by then something has gone on. How long all takes
/// depends on the machine, since one account's bids are submitted one after the other.
const GOES_ON_WITHIN: Duration = Duration::from_secs(60);

fn panic_for() -> Duration {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long to measure is said by the caller"
    )]
    let seconds = std::env::var("BIDLOOP_PANIC_SECONDS").ok();
    let seconds = seconds.and_then(|seconds| seconds.parse().ok());
    seconds.map_or(PANIC_FOR, Duration::from_secs)
}

fn settings(folder: &Path, market: &str) -> Settings {
    let file = folder.join("settings.toml");
    let folder = folder.display();
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n[database]\nurl = \"sqlite://{folder}/bidloop.db\"\n\
         [attachments]\nurl = \"file:{folder}/files\"\n[webhooks]\nallow_insecure_targets = true\n\
         [marketplace]\nbase_url = \"{market}\"\npoll_interval_ms = 50\n"
    );
    std::fs::write(&file, text).unwrap();
    Settings::load(Some(&file)).unwrap()
}

fn document(receiver: &Receiver) -> Value {
    let campaign = |id: &str, mode: &str, rest: Value| {
        let mut campaign = json!({
            "id": id, "name": id, "mode": mode, "state": "active", "bidderAccountId": "acct_1",
            "filters": [{"id": format!("f_{id}"), "name": "Words", "keywords": "rust"}],
            "biddingConfig": {"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 45},
        });
        campaign
            .as_object_mut()
            .unwrap()
            .extend(rest.as_object().unwrap().clone());
        campaign
    };
    let webhooks = json!({"webhooks": [{"id": "wh", "url": receiver.url("/jobs"), "events": ["job.new"]}]});
    let letter = json!({"proposal": {"coverLetter": "About {{ title }}."}});
    json!({"organizations": [{
        "id": "org", "name": "Acme",
        "subscription": {
            "status": "active", "collectionPaused": false, "currentPeriodStart": 1_700_000_000_i64,
            "currentPeriodEnd": 4_000_000_000_i64, "proposalLimit": 100_000,
        },
        "bidderAccounts": [{"id": "acct_1", "name": "Jane", "token": "token-1"}],
        "campaigns": [campaign("ext", "external", webhooks), campaign("auto", "automatic", letter)],
    }]})
}

/// The status and body of an answer.
async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let mut connection = tokio::net::TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
    (status, answer)
}

/// Compares `/readyz` with what the supervisor knows, unless that changed meanwhile.
async fn readyz_tells_the_truth(running: &Running) -> Option<Vec<&'static str>> {
    let before = running.service.worker_states.down();
    let (status, body) = get(running.servers.running[0].address(), "/readyz").await;
    let down = running.service.worker_states.down();
    if down != before {
        return None;
    }
    assert_eq!(
        status,
        if down.is_empty() { 200 } else { 503 },
        "{down:?}: {body}"
    );
    for worker in &down {
        assert!(body.contains(worker), "{worker}: {body}");
    }
    Some(down)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn workers_that_panic_at_random_are_all_alive_afterwards_and_have_lost_and_doubled_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let simulator = Simulator::start("127.0.0.1:0", Options::default()).await.unwrap();
    let account = json!({"id": "market-1", "connectsBalance": 1_000_000, "profileHourlyRate": 50});
    simulator.put_account("token-1", account).unwrap();
    let receiver = Receiver::start("127.0.0.1:0", ReceiverOptions::default(), |_| {})
        .await
        .unwrap();
    let settings = settings(folder.path(), simulator.base_url());
    let database = database::open_migrated(&settings).await.unwrap();
    let operations = Operations::new(&settings, &database).await.unwrap();
    let no_files = FolderSource(folder.path().to_path_buf());
    let applied = operations
        .apply_provisioning
        .execute(&document(&receiver), &no_files)
        .await;
    applied.unwrap();
    let running = start(&settings, &database, &all_roles()).await.unwrap();
    let states = Arc::clone(&running.service.worker_states);

    states.panics_per_mille.store(PANICS_PER_MILLE, Ordering::SeqCst);
    let began = Instant::now();
    let (mut published, mut looks, mut seen_down) = (0, 0, BTreeSet::new());
    while began.elapsed() < panic_for() {
        let posts = (0..2).map(|number| {
            json!({
                "title": format!("rust {}", published + number), "description": "Work.", "questions": [],
                "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 60}},
            })
        });
        simulator.publish(posts.collect()).unwrap();
        published += 2;
        if let Some(down) = readyz_tells_the_truth(&running).await {
            looks += 1;
            seen_down.extend(down);
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    states.panics_per_mille.store(0, Ordering::SeqCst);

    let calm = Instant::now();
    let stores = running.stores();
    let (mut last, mut changed) = (None, calm);
    loop {
        let waiting = stores.deliveries.pending_count().await.unwrap()
            + stores.submissions.queued_count().await.unwrap()
            + stores.automatic_bids.automatic_count().await.unwrap();
        let ended = deliveries(stores).await.len();
        if waiting == 0 && ended == published && states.down().is_empty() {
            break;
        }
        if last != Some((waiting, ended)) {
            (last, changed) = (Some((waiting, ended)), Instant::now());
        }
        assert!(
            changed.elapsed() < GOES_ON_WITHIN,
            "{waiting} waiting, {ended} of {published} deliveries ended, {:?} down",
            states.down()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(readyz_tells_the_truth(&running).await, Some(Vec::new()));
    assert!(!seen_down.is_empty(), "no worker was ever down");

    let ended = deliveries(stores).await;
    let delivered = ended
        .values()
        .filter(|outcomes| *outcomes == &[ActivityOutcome::Delivered])
        .count();
    assert!(
        ended.values().all(|outcomes| outcomes.len() == 1),
        "each delivery ends once: {ended:?}"
    );
    let came = receiver.deliveries();
    let distinct: BTreeSet<String> = came.iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(came.len(), distinct.len(), "no delivery came twice");
    assert!(came.len() >= delivered);

    let proposals = simulator.proposals();
    let jobs: BTreeSet<&str> = proposals
        .iter()
        .map(|one| one["jobId"].as_str().unwrap())
        .collect();
    assert!(
        proposals.iter().all(|one| one["status"] == 201),
        "each job was tried under one key"
    );
    assert_eq!((proposals.len(), jobs.len()), (published, published));

    let mut panics = String::new();
    for line in running.metrics().render().lines() {
        if line.starts_with("bidloop_worker_panics_total{") {
            write!(panics, " {line}").unwrap();
        }
    }
    eprintln!(
        "{:?} of panics: {published} jobs, {delivered} delivered, {} interrupted, {} proposals; {looks} looks at /readyz; \
         calm after {:?};{panics}",
        panic_for(),
        published - delivered,
        proposals.len(),
        calm.elapsed(),
    );
    running.stop().await.unwrap();
}

/// The outcomes of each delivery, by its lead.
async fn deliveries(stores: &Stores) -> BTreeMap<String, Vec<ActivityOutcome>> {
    let all = ActivityQuery {
        limit: 100_000,
        ..ActivityQuery::default()
    };
    let mut outcomes: BTreeMap<String, Vec<ActivityOutcome>> = BTreeMap::new();
    for entry in stores.activities.list(&all).await.unwrap() {
        if entry.kind == ActivityKind::Delivery {
            let lead = entry.lead_id.unwrap().to_string();
            outcomes.entry(lead).or_default().push(entry.outcome);
        }
    }
    outcomes
}
