//! The pictures of `docs/console.md`, taken of the demo's campaigns and generated jobs.
//!
//! Pixels depend on fonts and on the hour, so a picture is told to be stale by the words of its page: they lie beside it,
//! without numbers, and a page that says something else fails the test. `BIDLOOP_WRITE_SCREENSHOTS=1` takes all anew.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use acceptance::world::{self, STEP};
use acceptance::{Api, Kind, Service, World, document, eventually};
use bidloop_simulator::Generator;
use bidloop_simulator::caller::bid_on;
use serde_json::{Value, json};

use crate::acme::{PASSWORD, browser_of};
use crate::browser::Browser;
use crate::session::Session;

const YOU: &str = "you@demo.test";
/// Of the generated jobs.
const SEED: u64 = 5;
const JOBS: usize = 24;
/// The most pixels that a picture is high.
const MAX_HEIGHT: u32 = 960;
/// The most bytes of a picture.
const MAX_PICTURE: usize = 60_000;

/// The demo's organization, with the world's addresses and secrets.
fn demo(world: &World) -> Value {
    let file = include_str!("../../../crates/demo/src/provisioning.toml");
    let mut demo: Value = toml::from_str(file).unwrap();
    let organization = &mut demo["organizations"][0];
    let subscription = document::organization()["subscription"].clone();
    organization["subscription"]["currentPeriodStart"] = subscription["currentPeriodStart"].clone();
    organization["subscription"]["currentPeriodEnd"] = subscription["currentPeriodEnd"].clone();
    organization["users"] = json!([{"email": YOU, "name": "You", "password": PASSWORD}]);
    organization["apiKeys"][0]["key"] = document::KEY.into();
    for (number, (token, rate)) in [("token-software", 60), ("token-design", 35)]
        .into_iter()
        .enumerate()
    {
        let account =
            json!({"id": token, "name": "Demo", "connectsBalance": 1_000, "profileHourlyRate": rate});
        world.simulator.put_account(token, account).unwrap();
        organization["bidderAccounts"][number]["token"] = token.into();
    }
    for webhook in ["/webhooks/0", "/campaigns/0/webhooks/0"] {
        let webhook = organization.pointer_mut(webhook).unwrap();
        webhook["url"] = world.receiver.url(webhook["url"].as_str().unwrap()).into();
        webhook["secret"] = document::SECRET.into();
    }
    demo
}

/// Waits until so many jobs have been read and nothing is under way, so that the record has the jobs' order.
fn settle(world: &World, api: &Api, jobs: usize) {
    let read = format!("bidloop_feed_entries_total{{outcome=\"new\"}} {jobs}");
    eventually("the job is read", STEP, || {
        let metrics = api.get("/metrics").expect(200).text();
        metrics.lines().any(|line| line == read).then_some(())
    });
    eventually("everything has ended", STEP, || {
        let of_kind =
            |record: &[Value], kind: &str| record.iter().filter(|entry| entry["kind"] == kind).count();
        let queued = world
            .installation
            .run(&["bids", "list", "--json"])
            .expect(0)
            .json();
        let record = world.installation.activity(&[]);
        let told = world.receiver.deliveries();
        let of_event = |event: &str| told.iter().filter(|one| one.event() == event).count();
        let matched = api.get("/v1/campaigns/software/leads").expect(200).json();
        let has_ended = queued == json!([])
            && matched["total"] == of_event("job.new")
            && of_kind(&record, "submission") == of_event("bid_complete")
            && of_kind(&record, "delivery") == told.len();
        has_ended.then_some(())
    });
}

#[expect(
    clippy::disallowed_methods,
    reason = "jobs are posted now, by the clock that the program reads"
)]
fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(now.as_millis()).unwrap()
}

/// The demo's campaigns with jobs, bids by a program, one rejection, and the first lead of the list that has a bid.
fn started() -> (World, Service, Vec<Value>) {
    let world = World::new(Kind::Sqlite);
    world.installation.apply(&demo(&world));
    let service = world.installation.serve();
    let api = service.api();
    let mut generator = Generator::new(SEED);
    for number in 1..=JOBS {
        let mut job = generator.next(now_ms());
        let id = format!("{}", 4_000 + number);
        job["id"] = id.as_str().into();
        world.simulator.publish(vec![job]).unwrap();
        if number % 5 == 0 {
            let hired = json!({"alreadyHired": true});
            world.simulator.patch_job(&id, hired).unwrap();
        }
        settle(&world, &api, number);
    }
    let leads = world::all_leads(&api, "software");
    for lead in leads.iter().skip(2).step_by(2).take(5) {
        let bid = world::path("software", world::id(lead), "bid");
        api.post_json(&bid, &serde_json::to_value(bid_on(lead)).unwrap())
            .expect(200);
        settle(&world, &api, JOBS);
    }
    let session = Session::of(&service, YOU);
    let reject = format!("/campaigns/software/leads/{}/reject", world::id(&leads[1]));
    session
        .post(&reject, &[("reason", "The budget is too small.")])
        .expect(303);
    // What is new since the last visit depends on when a visit is counted.
    for campaign in ["software", "design"] {
        session
            .post(&format!("/campaigns/{campaign}/feed/seen"), &[])
            .expect(204);
    }
    (world, service, leads)
}

/// A line's words, without what differs from run to run: numbers, and what counts them.
fn words_of(line: &str) -> String {
    let mut words: Vec<&str> = Vec::new();
    for word in line.split_whitespace() {
        let of_number = ["ms", "s", "min", "h", "d", "ago", "ms;", "s;", "ms.", "s."];
        let months = [
            "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
        ];
        let is_number = word.chars().any(|letter| letter.is_ascii_digit());
        let continues = words.last() == Some(&"#") && (is_number || of_number.contains(&word));
        if continues || months.contains(&word) {
            continue;
        }
        words.push(if is_number { "#" } else { word });
    }
    words.join(" ")
}

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/screenshots")
}

/// What the page says, a line of the layout each.
fn said(browser: &Browser) -> String {
    let text = browser.text();
    let lines = text.lines().map(words_of).filter(|line| !line.is_empty());
    lines.fold(String::new(), |all, line| {
        // How many numbers a plot has depends on what they are.
        if line == "#" && all.ends_with("\n#\n") {
            all
        } else {
            all + &line + "\n"
        }
    })
}

#[test]
fn the_pages_say_what_their_pictures_in_the_documentation_show() {
    let (_world, service, leads) = started();
    let is_writing = std::env::var_os("BIDLOOP_WRITE_SCREENSHOTS").is_some();
    let browser = browser_of(&service, YOU, "/campaigns");
    browser.hide_scrollbars();
    let lead = format!("/campaigns/software/leads/{}", world::id(&leads[4]));
    let bid = format!("/campaigns/software/leads/{}/bid", world::id(&leads[0]));
    let pages: [(&str, &str, u32, &str); 12] = [
        ("overview", "/?period=24h", 1280, "light"),
        ("overview-dark", "/?period=24h", 1280, "dark"),
        ("campaigns", "/campaigns", 1280, "light"),
        ("feed", "/campaigns/software/feed", 1280, "light"),
        ("feed-phone", "/campaigns/software/feed", 360, "light"),
        ("lead", &lead, 1280, "light"),
        ("bid", &bid, 1280, "light"),
        (
            "filters",
            "/campaigns/software/filters/f_categories",
            1280,
            "light",
        ),
        ("bidding", "/campaigns/design/bidding", 1280, "light"),
        (
            "integrations",
            "/campaigns/software/integrations?endpoint=wh_jobs",
            1280,
            "light",
        ),
        ("activity", "/activity", 1280, "light"),
        ("api-keys", "/settings/integrations/api-keys", 1280, "light"),
    ];
    let mut stale = Vec::new();
    for (name, path, width, theme) in pages {
        browser.resize(width);
        browser.go(path);
        browser.script(&format!("document.documentElement.dataset.theme = '{theme}'"));
        let (picture, words) = (
            folder().join(format!("{name}.webp")),
            folder().join(format!("{name}.txt")),
        );
        if is_writing {
            let taken = browser.picture(MAX_HEIGHT, MAX_PICTURE);
            std::fs::write(&picture, taken).unwrap();
            std::fs::write(&words, said(&browser)).unwrap();
            continue;
        }
        let size = std::fs::metadata(&picture).map_or(0, |file| file.len());
        assert!((1..=MAX_PICTURE as u64).contains(&size), "{name}: {size} bytes");
        let recorded = std::fs::read_to_string(&words).unwrap_or_default();
        let differs = || {
            let now = said(&browser);
            let other = |one: &str, another: &str| {
                let of_other: Vec<&str> = another.lines().collect();
                let missing = one.lines().filter(|line| !of_other.contains(line));
                missing.map(str::to_owned).collect::<Vec<_>>()
            };
            (now != recorded).then(|| {
                format!(
                    "{name}: only in the picture {:?}, only on the page {:?}",
                    other(&recorded, &now),
                    other(&now, &recorded)
                )
            })
        };
        // An open page learns of what came last within seconds.
        let within = std::time::Instant::now() + Duration::from_secs(5);
        let mut difference = differs();
        while difference.is_some() && std::time::Instant::now() < within {
            browser.go(path);
            difference = differs();
        }
        stale.extend(difference);
    }
    assert!(
        stale.is_empty(),
        "take the pictures anew: BIDLOOP_WRITE_SCREENSHOTS=1 tests/run -E 'test(screenshots)', look at them, and commit \
            docs/screenshots\n{}",
        stale.join("\n")
    );
}
