//! Figures that the program promises: memory and the time from start to ready. Held by the release build.

mod under_attack;

use std::time::{Duration, Instant};

use acceptance::api::Upload;
use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{id, listed, path};
use acceptance::{Installation, Kind, World, eventually, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    five_uploads_of_25_mb_at_once_take_less_than_32_mb_of_memory,
    an_idle_service_takes_less_than_40_mb_of_memory,
);

const MB: usize = 1_048_576;
const KIB_A_MB: u64 = 1_024;

fn five_uploads_of_25_mb_at_once_take_less_than_32_mb_of_memory(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 5), 5);
    let content = "A line of a very long sample of work.\n".repeat(25 * MB / 38 + 1);
    let content = &content.as_bytes()[..25 * MB];
    let file = Upload {
        name: "sample.txt",
        content_type: "text/plain",
        content,
    };
    let before = service.memory();
    std::thread::scope(|scope| {
        for lead in &leads {
            let (api, file) = (service.api(), &file);
            scope.spawn(move || {
                let answer = api
                    .upload(&path(EXTERNAL, id(lead), "attachments"), &[*file])
                    .expect(200);
                assert_eq!(answer.json()[0]["sizeBytes"], 25 * MB);
            });
        }
    });
    let after = service.memory();
    let grown = after.highest_kib.saturating_sub(before.resident_kib);
    eprintln!(
        "five uploads at once: {} KiB before, at most {} KiB",
        before.resident_kib, after.highest_kib
    );
    assert!(grown < 32 * KIB_A_MB, "grew by {grown} KiB");
}

fn an_idle_service_takes_less_than_40_mb_of_memory(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    service
        .api()
        .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
        .expect(200);
    let resident = service.memory().resident_kib;
    eprintln!("idle: {resident} KiB");
    assert!(resident < 40 * KIB_A_MB, "{resident} KiB");
}

/// Decision D4: however long the marketplace was away. `BIDLOOP_OUTAGE_SECONDS=600` is the measure; run it with
/// `cargo test`, since nextest ends tests after five minutes.
#[test]
fn after_an_outage_the_feed_is_read_on_within_5_s() {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long to measure is said by the caller"
    )]
    let seconds = std::env::var("BIDLOOP_OUTAGE_SECONDS").ok();
    let seconds = seconds.map_or(20, |seconds| seconds.parse().unwrap());
    let outages = [
        json!([{"call": "GET /api/jobs", "status": 503}]),
        json!([{"call": "GET /api/jobs", "hang": true}]),
    ];
    std::thread::scope(|scope| {
        for outage in &outages {
            scope.spawn(move || of_outage(outage, Duration::from_secs(seconds)));
        }
    });
}

fn of_outage(outage: &Value, long: Duration) {
    let world = World::new(Kind::Sqlite);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 1), 1);
    world.simulator.put_faults(outage).unwrap();
    world.simulator.publish(posts::many("rust again", 1)).unwrap();
    let over = Instant::now() + long;
    until("the outage is over", long * 2, || Instant::now() >= over);
    world.simulator.put_faults(&json!([])).unwrap();
    let back = Instant::now();
    listed(&service.api(), EXTERNAL, 2);
    let took = back.elapsed();
    eprintln!("{long:?} of {outage}: from the marketplace's return to the next page listed: {took:?}");
    assert!(took < Duration::from_secs(5), "{outage}: {took:?}");
}

#[test]
fn the_service_is_ready_on_sqlite_within_300_ms() {
    let installation = Installation::new(Kind::Sqlite);
    installation.run(&["migrate"]).expect(0);
    // The best of a few: what else this machine does is not the program's.
    let best = (0..6)
        .map(|_| {
            let started = Instant::now();
            let service = installation.start(&["serve"]);
            let api = service.api_with(None);
            let took = eventually("ready", Duration::from_secs(10), || {
                api.try_call("GET", "/readyz", &[], b"")
                    .is_ok_and(|answer| answer.status == 200)
                    .then(|| started.elapsed())
            });
            assert!(service.stop().success());
            took
        })
        .min()
        .unwrap();
    eprintln!("start to ready: {best:?} at best");
    assert!(best < Duration::from_millis(300), "{best:?}");
}
