//! Decisions B4, C5 and D4 under SIGKILL: what was answered holds, nothing happens twice, nothing is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use acceptance::document::{self, AUTOMATIC, EXTERNAL, ORGANIZATION, campaign};
use acceptance::installation::free_address;
use acceptance::posts::{hourly, many};
use acceptance::world::{STEP, all_leads, bid, id, listed, path, stays};
use acceptance::{Api, Kind, World, eventually, until};
use bidloop_simulator::caller::Answer;
use serde_json::{Value, json};

on_both_databases!(
    whenever_the_service_is_killed_every_accepted_bid_is_submitted_once_and_no_delivery_comes_twice,
    an_automatic_campaign_bids_on_each_job_once_whenever_the_service_is_killed,
    a_filter_change_cut_short_by_a_kill_still_ends_in_the_right_list,
    a_marketplace_that_starts_anew_is_read_again_and_no_job_is_matched_twice,
);

/// Rounds of a burst that ends in a SIGKILL.
const ROUNDS: usize = 4;
const JOBS_A_ROUND: usize = 80;
/// Deliveries that may be in flight at one endpoint.
const IN_FLIGHT: usize = 16;

fn whenever_the_service_is_killed_every_accepted_bid_is_submitted_once_and_no_delivery_comes_twice(
    kind: Kind,
) {
    let mut random = Random::seeded();
    let mut world = World::new(kind);
    world.installation.set("marketplace.timeout_ms", "2000");
    world.provision(&[world.external(EXTERNAL, "rust")]);
    for _ in 0..ROUNDS * JOBS_A_ROUND * 2 {
        // A backlog builds up, so that a crash can only be right about what was really in flight.
        world
            .receiver
            .answer_next(Answer::status(200).after(Duration::from_millis(20)));
    }
    let answered: Mutex<BTreeSet<String>> = Mutex::default();
    let asked: Mutex<BTreeSet<String>> = Mutex::default();
    for round in 0..ROUNDS {
        let service = world.installation.serve();
        let faults = json!([
            {"call": "POST /api/proposals", "times": 2, "dropAfterCommit": true},
            {"call": "GET /api/jobs", "times": 1, "status": 503},
            {"call": "POST /api/proposals", "times": 2, "hang": true, "dropAfterCommit": true},
        ]);
        world.simulator.put_faults(&faults).unwrap();
        world
            .simulator
            .publish(many(&format!("rust {round}"), JOBS_A_ROUND))
            .unwrap();
        let bids = AtomicUsize::new(0);
        let kill_after = 1 + random.below(JOBS_A_ROUND / 2);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (api, asked, answered, bids) = (service.api(), &asked, &answered, &bids);
                scope.spawn(move || bid_until_it_dies(&api, asked, answered, bids));
            }
            until(&format!("{kill_after} bids of round {round}"), STEP, || {
                bids.load(Ordering::Relaxed) >= kill_after
            });
            std::thread::sleep(Duration::from_millis(random.below(120) as u64));
            service.kill();
        });
        // What has been proposed looks different when the answer is asked for again.
        for proposal in world.accepted() {
            let job = proposal["jobId"].as_str().unwrap();
            let state = json!({"status": "closed", "alreadyHired": true, "requiredConnects": 40});
            world.simulator.patch_job(job, state).unwrap();
        }
    }

    world.simulator.put_faults(&json!([])).unwrap();
    let service = world.installation.serve();
    let published = ROUNDS * JOBS_A_ROUND;
    listed(&service.api(), EXTERNAL, published as u64);
    let leads = all_leads(&service.api(), EXTERNAL);
    let unique = |field: &str| {
        leads
            .iter()
            .map(|lead| lead[field].to_string())
            .collect::<BTreeSet<_>>()
            .len()
    };
    assert_eq!(
        (unique("id"), unique("jobUrl"), unique("title")),
        (published, published, published)
    );
    for lead in leads.iter().filter(|lead| lead["status"] == "new") {
        let answer = service.api().post_json(&path(EXTERNAL, id(lead), "bid"), &bid());
        assert_eq!(answer.status, 200, "{}", answer.text());
        answered.lock().unwrap().insert(id(lead).to_owned());
    }
    let answered = answered.into_inner().unwrap();
    assert!(answered.len() > published / 2);
    let leads = eventually("every bid ends", Duration::from_secs(60), || {
        let leads = all_leads(&service.api(), EXTERNAL);
        leads
            .iter()
            .all(|lead| lead["status"] != "queued")
            .then_some(leads)
    });
    let not_submitted: Vec<&Value> = leads
        .iter()
        .filter(|lead| lead["status"] != "submitted")
        .collect();
    let shown: Vec<Value> = not_submitted
        .iter()
        .take(3)
        .map(|lead| world.installation.show(id(lead)))
        .collect();
    assert!(
        not_submitted.is_empty(),
        "{} bids are not submitted: {shown:#?}",
        not_submitted.len()
    );

    let proposals = world.simulator.proposals();
    assert!(
        proposals.iter().all(|proposal| proposal["status"] == 201),
        "no proposal was tried under two keys"
    );
    let by_id: BTreeMap<&str, &Value> = proposals
        .iter()
        .map(|p| (p["proposalId"].as_str().unwrap(), p))
        .collect();
    let jobs: BTreeSet<&str> = proposals.iter().map(|p| p["jobId"].as_str().unwrap()).collect();
    assert_eq!(
        (proposals.len(), by_id.len(), jobs.len()),
        (published, published, published)
    );
    for lead in &leads {
        let proposal = by_id[lead["proposalId"].as_str().unwrap()];
        assert!(
            lead["jobUrl"]
                .as_str()
                .unwrap()
                .ends_with(proposal["jobId"].as_str().unwrap())
        );
    }

    deliveries_came_at_most_once(&world, published * 2);
    assert!(service.stop().success());
}

/// Each event was received once, or was in flight at a crash and is `interrupted`.
fn deliveries_came_at_most_once(world: &World, events: usize) {
    let lines = eventually("every delivery has ended", Duration::from_secs(60), || {
        let lines = world.installation.activity(&["--organization", ORGANIZATION]);
        let lines: Vec<Value> = lines
            .into_iter()
            .filter(|line| line["kind"] == "delivery")
            .collect();
        (lines.len() == events).then_some(lines)
    });
    let received = world.receiver.deliveries();
    let ids: BTreeSet<&str> = received.iter().map(|delivery| delivery.id()).collect();
    assert_eq!(ids.len(), received.len(), "a delivery id was received twice");
    let told: BTreeSet<(&str, String)> = received
        .iter()
        .map(|d| (d.event(), d.data()["leadId"].to_string()))
        .collect();
    assert_eq!(told.len(), received.len(), "an event was told twice");
    let mut interrupted = 0;
    for line in &lines {
        let details = &line["details"];
        let delivery = details["deliveryId"].as_str().unwrap();
        if line["outcome"] == "delivered" {
            assert!(ids.contains(delivery), "{line}");
        } else {
            assert_eq!(details["reason"], "interrupted", "{line}");
            interrupted += 1;
        }
    }
    eprintln!("{interrupted} of {events} deliveries were interrupted by {ROUNDS} crashes");
    assert!(
        interrupted <= ROUNDS * IN_FLIGHT * 2,
        "{interrupted} deliveries cannot have been in flight"
    );
}

/// Bids on leads that nobody has bid on yet, until the service is gone.
fn bid_until_it_dies(
    api: &Api,
    asked: &Mutex<BTreeSet<String>>,
    answered: &Mutex<BTreeSet<String>>,
    bids: &AtomicUsize,
) {
    loop {
        let Ok(page) = api.try_call("GET", &format!("/v1/campaigns/{EXTERNAL}/leads"), &[], b"") else {
            return;
        };
        let page = page.expect(200).json();
        let free =
            |lead: &&Value| lead["status"] == "new" && asked.lock().unwrap().insert(id(lead).to_owned());
        let Some(lead) = page["data"].as_array().unwrap().iter().find(free) else {
            continue;
        };
        let Ok(answer) = api.try_post_json(&path(EXTERNAL, id(lead), "bid"), &bid()) else {
            return;
        };
        assert_eq!(answer.status, 200, "{}", answer.text());
        answered.lock().unwrap().insert(id(lead).to_owned());
        bids.fetch_add(1, Ordering::Relaxed);
    }
}

/// Intents, accepted bids and submissions are all taken up again, and none of them twice.
fn an_automatic_campaign_bids_on_each_job_once_whenever_the_service_is_killed(kind: Kind) {
    let mut random = Random::seeded();
    let world = World::new(kind);
    let mut automatic = campaign(AUTOMATIC, "logo");
    automatic["mode"] = "automatic".into();
    automatic["state"] = "active".into();
    automatic["proposal"] = json!({"coverLetter": "Hello, about {{ title }}."});
    world.provision(&[automatic]);
    let mut published = 0;
    for round in 0..3 {
        let service = world.installation.serve();
        world
            .simulator
            .publish(many(&format!("logo {round}"), 30))
            .unwrap();
        published += 30;
        let before = world.accepted().len();
        let kill_at = before + 1 + random.below(10);
        until("bids go out", STEP, || world.accepted().len() >= kill_at);
        std::thread::sleep(Duration::from_millis(random.below(60) as u64));
        service.kill();
    }
    let service = world.installation.serve();
    let leads = eventually("every lead is bid on", Duration::from_secs(60), || {
        let leads = all_leads(&service.api(), AUTOMATIC);
        (leads.len() == published && leads.iter().all(|lead| lead["status"] == "submitted")).then_some(leads)
    });
    let proposals = world.simulator.proposals();
    let jobs: BTreeSet<&str> = proposals.iter().map(|p| p["jobId"].as_str().unwrap()).collect();
    assert_eq!(
        (leads.len(), proposals.len(), jobs.len()),
        (published, published, published)
    );
    assert!(proposals.iter().all(|proposal| proposal["status"] == 201));
}

fn a_filter_change_cut_short_by_a_kill_still_ends_in_the_right_list(kind: Kind) {
    let mut random = Random::seeded();
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    // Those that match come last: when they are stored, the others are.
    let mut jobs = many("golang", 500);
    jobs.extend(many("rust", 700));
    world.simulator.publish(jobs).unwrap();
    let total = |api: &Api| {
        let page = api
            .get(&format!("/v1/campaigns/{EXTERNAL}/leads?limit=1"))
            .expect(200)
            .json();
        page["total"].as_u64().unwrap()
    };
    let api = service.api();
    until("all are matched", STEP, || total(&api) == 700);
    service.kill();
    for (keywords, expected) in [("golang", 500), ("rust OR golang", 1200), ("rust", 700)] {
        let filters = json!([{"id": "f_camp_ext", "keywords": keywords}]);
        let change = document::document(
            json!({"id": ORGANIZATION, "campaigns": [{"id": EXTERNAL, "filters": filters}]}),
        );
        let file = world.installation.file("change.json", change.to_string());
        // The command works in the background of a service that is killed with it.
        let mut service = world.installation.start(&["serve"]);
        let apply = world.installation.start(&["apply", &file.display().to_string()]);
        std::thread::sleep(Duration::from_millis(random.below(150) as u64));
        apply.kill();
        service.wait_until_ready();
        service.kill();
        let service = world.installation.serve();
        world
            .installation
            .run(&["apply", &file.display().to_string()])
            .expect(0);
        let leads = all_leads(&service.api(), EXTERNAL);
        assert_eq!(leads.len(), expected, "{keywords}");
        let unique: BTreeSet<String> = leads.iter().map(|lead| lead["jobUrl"].to_string()).collect();
        assert_eq!(unique.len(), expected, "{keywords}");
    }
}

/// The stored position means nothing to the new marketplace; the jobs are known by their ids.
fn a_marketplace_that_starts_anew_is_read_again_and_no_job_is_matched_twice(kind: Kind) {
    let mut world = World::new(kind);
    let market = free_address();
    let line = |number: usize| {
        let mut post = hourly(&format!("rust {number}"));
        post["id"] = format!("job-{number}").into();
        format!("{post}\n")
    };
    let jobs = |count: usize| (0..count).map(line).collect::<String>();
    let start = |world: &World, count: usize| {
        let file = world.installation.file("jobs.jsonl", jobs(count));
        world.installation.start(&[
            "simulate",
            "--listen",
            &market.to_string(),
            "--jobs",
            &file.display().to_string(),
        ])
    };
    world
        .installation
        .set("marketplace.base_url", &format!("http://{market}"));
    world.provision(&[world.external(EXTERNAL, "rust"), campaign("camp_other", "rust")]);
    let first = start(&world, 5);
    let service = world.installation.serve();
    let before = listed(&service.api(), EXTERNAL, 5);
    world.deliveries("job.new", 5);
    first.kill();
    let second = start(&world, 8);
    let after = listed(&service.api(), EXTERNAL, 8);
    assert_eq!(
        after[3..].iter().map(id).collect::<Vec<_>>(),
        before.iter().map(id).collect::<Vec<_>>()
    );
    world.deliveries("job.new", 8);
    stays("eight leads, told once each", Duration::from_millis(500), || {
        world.receiver.deliveries().len() == 8 && listed(&service.api(), "camp_other", 8).len() == 8
    });
    drop(second);
}

/// A small generator whose seed is shown, so that a failure can be looked into.
struct Random(u64);

impl Random {
    fn seeded() -> Self {
        let seed = RandomState::new().build_hasher().finish() | 1;
        eprintln!("seed {seed}");
        Self(seed)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }
}
