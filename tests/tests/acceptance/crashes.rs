//! Decisions B3, B4, C5 and D4 under SIGKILL and crashes of PostgreSQL: what was answered holds, nothing happens twice,
//! nothing is forgotten, and no limit is passed. `BIDLOOP_CRASH_KILLS` and `BIDLOOP_CRASH_DATABASE_STOPS` say how often.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use acceptance::document::{self, AUTOMATIC, EXTERNAL, ORGANIZATION, TOKEN, campaign};
use acceptance::installation::free_address;
use acceptance::posts::{hourly, many};
use acceptance::world::{STEP, all_leads, bid, id, listed, path, stays};
use acceptance::{Api, Installation, Kind, OwnServer, Service, World, eventually, until};
use bidloop_simulator::caller::Answer;
use serde_json::{Value, json};

on_both_databases!(
    whenever_the_service_is_killed_every_accepted_bid_is_submitted_once_and_no_delivery_comes_twice,
    an_automatic_campaign_bids_on_each_job_once_whenever_the_service_is_killed,
    a_filter_change_cut_short_by_a_kill_still_ends_in_the_right_list,
    a_marketplace_that_starts_anew_is_read_again_and_no_job_is_matched_twice,
);

/// Jobs that are posted before each crash.
const JOBS_A_ROUND: usize = 80;
/// Deliveries that may be in flight at one endpoint.
const IN_FLIGHT: usize = 31;

/// How many crashes the caller asks for; a long run is a measure of its own.
fn asked_for(variable: &str, default: usize) -> usize {
    #[expect(
        clippy::disallowed_methods,
        reason = "how long to measure is said by the caller"
    )]
    let count = std::env::var(variable).ok();
    count.map_or(default, |count| count.parse().unwrap())
}

fn whenever_the_service_is_killed_every_accepted_bid_is_submitted_once_and_no_delivery_comes_twice(
    kind: Kind,
) {
    let kills = asked_for("BIDLOOP_CRASH_KILLS", 4);
    let mut crashing = Crashing::begin(World::new(kind), kills);
    let mut service = crashing.world.installation.serve();
    for _ in 0..kills {
        service = crashing.round(service, |service, installation| {
            service.kill();
            installation.serve()
        });
    }
    crashing.nothing_is_lost_or_doubled(&service);
    assert!(service.stop().success());
}

/// What PostgreSQL had in memory alone is gone. The service runs on, and does not know which of its commits succeeded.
#[test]
fn whenever_postgresql_crashes_every_accepted_bid_is_submitted_once_and_no_delivery_comes_twice() {
    let stops = asked_for("BIDLOOP_CRASH_DATABASE_STOPS", 2);
    let server = OwnServer::new();
    let mut crashing = Crashing::begin(World::on_server(&server), stops);
    let mut service = crashing.world.installation.serve();
    for _ in 0..stops {
        service = crashing.round(service, |mut service, _| {
            server.stop_at_once();
            server.start();
            service.wait_until_ready();
            service
        });
    }
    crashing.nothing_is_lost_or_doubled(&service);
    assert!(service.stop().success());
}

/// Bids and deliveries that crashes interrupt, and what was answered to those who bid.
struct Crashing {
    world: World,
    random: Random,
    crashes: usize,
    rounds: usize,
    /// The leads that someone bid on, and those whose bids were answered 200.
    asked: Mutex<BTreeSet<String>>,
    answered: Mutex<BTreeSet<String>>,
    /// Proposals whose jobs look different by now.
    changed: usize,
}

impl Crashing {
    /// The quota allows a bid on each of the jobs, and none more.
    fn begin(mut world: World, crashes: usize) -> Self {
        world.installation.set("marketplace.timeout_ms", "2000");
        let account = json!({"id": "market-1", "connectsBalance": 100_000_000, "profileHourlyRate": 50});
        world.simulator.put_account(TOKEN, account).unwrap();
        let mut document = world.document(&[world.external(EXTERNAL, "rust")]);
        document["organizations"][0]["subscription"]["proposalLimit"] = json!(crashes * JOBS_A_ROUND);
        world.installation.apply(&document);
        for _ in 0..crashes * JOBS_A_ROUND * 2 {
            // A backlog builds up, so that a crash can only be right about what was really in flight.
            world
                .receiver
                .answer_next(Answer::status(200).after(Duration::from_millis(20)));
        }
        Self {
            world,
            random: Random::seeded(),
            crashes,
            rounds: 0,
            asked: Mutex::default(),
            answered: Mutex::default(),
            changed: 0,
        }
    }

    /// Lets four callers bid, and a crash happen in the middle of that. Returns the service that runs after it.
    fn round(&mut self, service: Service, crash: impl FnOnce(Service, &Installation) -> Service) -> Service {
        let world = &self.world;
        let faults = json!([
            {"call": "POST /api/proposals", "times": 2, "dropAfterCommit": true},
            {"call": "GET /api/jobs", "times": 1, "status": 503},
            {"call": "POST /api/proposals", "times": 2, "hang": true, "dropAfterCommit": true},
        ]);
        world.simulator.put_faults(&faults).unwrap();
        let posts = many(&format!("rust {}", self.rounds), JOBS_A_ROUND);
        world.simulator.publish(posts).unwrap();
        self.rounds += 1;
        let (bids, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
        let crash_after = 1 + self.random.below(JOBS_A_ROUND / 2);
        let pause = Duration::from_millis(self.random.below(120) as u64);
        let what = format!("{crash_after} bids of round {}", self.rounds);
        let service = std::thread::scope(|scope| {
            for _ in 0..4 {
                let (api, bids, is_over, this) = (service.api(), &bids, &is_over, &*self);
                scope.spawn(move || this.bid_until(is_over, &api, bids));
            }
            until(&what, STEP, || bids.load(Ordering::Relaxed) >= crash_after);
            std::thread::sleep(pause);
            let service = crash(service, &world.installation);
            is_over.store(true, Ordering::Relaxed);
            service
        });
        // What has been proposed looks different when the answer is asked for again.
        let accepted = self.world.accepted();
        for proposal in &accepted[self.changed..] {
            let job = proposal["jobId"].as_str().unwrap();
            let state = json!({"status": "closed", "alreadyHired": true, "requiredConnects": 40});
            self.world.simulator.patch_job(job, state).unwrap();
        }
        self.changed = accepted.len();
        service
    }

    /// Bids on leads that nobody has bid on yet, until the round is over or the service is gone.
    fn bid_until(&self, is_over: &AtomicBool, api: &Api, bids: &AtomicUsize) {
        while !is_over.load(Ordering::Relaxed) {
            let Ok(page) = api.try_call("GET", &format!("/v1/campaigns/{EXTERNAL}/leads"), &[], b"") else {
                return;
            };
            if page.status == 503 {
                // The database is away.
                continue;
            }
            let page = page.expect(200).json();
            let free = |lead: &&Value| {
                lead["status"] == "new" && self.asked.lock().unwrap().insert(id(lead).to_owned())
            };
            let Some(lead) = page["data"].as_array().unwrap().iter().find(free) else {
                continue;
            };
            let Ok(answer) = api.try_post_json(&path(EXTERNAL, id(lead), "bid"), &bid()) else {
                return;
            };
            if answer.status == 503 {
                // Whether the bid was accepted is unknown.
                continue;
            }
            assert_eq!(answer.status, 200, "{}", answer.text());
            self.answered.lock().unwrap().insert(id(lead).to_owned());
            bids.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Bids on what is left. Then each job has one lead, each lead one proposal, and no unit of the quota is left.
    fn nothing_is_lost_or_doubled(self, service: &Service) {
        let world = &self.world;
        world.simulator.put_faults(&json!([])).unwrap();
        let published = self.rounds * JOBS_A_ROUND;
        let patience =
            Duration::from_secs(60) + Duration::from_millis(100) * u32::try_from(published).unwrap();
        eventually("all jobs are listed", patience, || {
            let page = service
                .api()
                .get(&format!("/v1/campaigns/{EXTERNAL}/leads?limit=1"));
            (page.expect(200).json()["total"] == published).then_some(())
        });
        let leads = all_leads(&service.api(), EXTERNAL);
        for field in ["id", "jobUrl", "title"] {
            let values: BTreeSet<String> = leads.iter().map(|lead| lead[field].to_string()).collect();
            assert_eq!(values.len(), published, "{field}");
        }
        let answered = self.answered.into_inner().unwrap();
        let is_new = |lead: &&Value| lead["status"] == "new";
        let lost: Vec<&str> = leads
            .iter()
            .filter(is_new)
            .map(id)
            .filter(|lead| answered.contains(*lead))
            .collect();
        assert!(lost.is_empty(), "bids were answered 200 and are lost: {lost:?}");
        for lead in leads.iter().filter(is_new) {
            let answer = service.api().post_json(&path(EXTERNAL, id(lead), "bid"), &bid());
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        let bid_on_now = leads.iter().rfind(is_new).map(id);
        let leads = eventually("every bid ends", patience, || {
            // To read all leads again and again would take the service's time.
            if bid_on_now.is_some_and(|lead| world.installation.show(lead)["status"] == "queued") {
                return None;
            }
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
        each_lead_has_its_proposal(world, &leads);
        deliveries_came_at_most_once(world, published * 2, self.crashes, patience);
        world.simulator.publish(many("rust, one too many", 1)).unwrap();
        let newest = listed(&service.api(), EXTERNAL, published as u64 + 1);
        let answer = service
            .api()
            .post_json(&path(EXTERNAL, id(&newest[0]), "bid"), &bid());
        assert_eq!(answer.status, 402, "each bid was counted once: {}", answer.text());
        eprintln!(
            "{} crashes: {published} bids, {} of them answered before or during one",
            self.crashes,
            answered.len()
        );
    }
}

/// Each lead has one proposal on its job, and there is no other.
fn each_lead_has_its_proposal(world: &World, leads: &[Value]) {
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
        (leads.len(), leads.len(), leads.len())
    );
    for lead in leads {
        let proposal = by_id[lead["proposalId"].as_str().unwrap()];
        assert!(
            lead["jobUrl"]
                .as_str()
                .unwrap()
                .ends_with(proposal["jobId"].as_str().unwrap())
        );
    }
}

/// Each event was received once, or was in flight at a crash and is `interrupted`.
fn deliveries_came_at_most_once(world: &World, events: usize, crashes: usize, patience: Duration) {
    let lines = eventually("every delivery has ended", patience, || {
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
    eprintln!("{interrupted} of {events} deliveries were interrupted by {crashes} crashes");
    assert!(
        interrupted <= crashes * IN_FLIGHT * 2,
        "{interrupted} deliveries cannot have been in flight"
    );
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
