//! Starting and stopping: databases that are away, empty or too new, replicas, and graceful ends.

use std::collections::BTreeSet;
use std::io::{BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use acceptance::api::read_answer;
use acceptance::document::{EXTERNAL, KEY, campaign, document, organization};
use acceptance::forwarder::Forwarder;
use acceptance::installation::free_address;
use acceptance::world::{STEP, all_leads, bid, id, listed, path};
use acceptance::{Installation, Kind, World, posts, until};
use bidloop_simulator::caller::Answer;
use serde_json::json;

on_both_databases!(
    a_database_from_a_newer_version_is_refused_by_name_with_status_1,
    without_auto_migrate_an_empty_database_ends_the_program_with_status_1,
    migrate_brings_an_empty_database_to_this_version_and_then_does_nothing,
    a_stop_in_the_middle_of_the_start_is_not_lost,
    a_stop_lets_deliveries_in_flight_finish_and_exits_0,
    a_stop_lets_requests_in_flight_finish_and_exits_0,
    replicas_share_the_work_and_do_nothing_twice,
    roles_split_the_work_between_processes,
);

#[test]
fn the_service_listens_while_its_database_is_away_and_works_once_it_comes() {
    let mut installation = Installation::new(Kind::Postgres);
    installation.apply(&document(organization()));
    let target = installation.database().server_address().unwrap();
    let address = free_address();
    let url = installation.database().url_through(&address.to_string());
    installation.set("database.url", &url);
    let mut service = installation.start(&["serve"]);
    service.wait_until_it_listens();
    let api = service.api();
    let away = || {
        api.get("/healthz").expect(200);
        api.get("/readyz").expect(503);
        assert!(
            api.get("/metrics")
                .expect(200)
                .text()
                .contains("bidloop_build_info")
        );
        let answer = api.get("/v1/campaigns/c/leads").expect(503);
        assert!(answer.header("retry-after").is_some());
        let body = answer.json();
        assert_eq!(
            (&body["statusCode"], &body["error"]),
            (&json!(503), &json!("Service Unavailable"))
        );
    };
    away();
    let failed = installation.try_apply(&document(organization())).expect(1);
    assert!(
        failed.err.contains("database") && failed.out.is_empty(),
        "{}",
        failed.err
    );
    for command in [
        &["keys", "list", "--organization", "org_acme"][..],
        &["activity"],
        &["migrate"],
    ] {
        installation.run(command).expect(1);
    }

    let forwarder = Forwarder::start(address, &target);
    service.wait_until_ready();
    api.get("/v1/campaigns/c/leads").expect(404);
    forwarder.cut();
    until("the service notices", STEP, || api.get("/readyz").status == 503);
    away();
    let _forwarder = Forwarder::start(address, &target);
    service.wait_until_ready();
    until("it answers again", STEP, || {
        api.get("/v1/campaigns/c/leads").status == 404
    });
    assert!(service.stop().success());
}

#[test]
fn a_service_that_waits_for_its_database_stops_when_asked() {
    let mut installation = Installation::new(Kind::Postgres);
    let url = installation.database().url_through(&free_address().to_string());
    installation.set("database.url", &url);
    let service = installation.start(&["serve"]);
    service.wait_until_it_listens();
    assert_eq!(service.stop().code(), Some(0));
}

fn a_database_from_a_newer_version_is_refused_by_name_with_status_1(kind: Kind) {
    let installation = Installation::new(kind);
    installation.run(&["migrate"]).expect(0);
    installation.database().pretend_newer();
    for arguments in [&["serve"][..], &["migrate"], &["activity"]] {
        let finished = installation.run(arguments).expect(1);
        assert!(tells_newer(&finished.err), "{arguments:?}: {}", finished.err);
        assert!(
            finished.err.contains("99999999999999"),
            "{arguments:?}: {}",
            finished.err
        );
    }
    let finished = installation.try_apply(&document(organization())).expect(1);
    assert!(tells_newer(&finished.err), "{}", finished.err);
}

/// Whether it says that another, newer program has been here, and what that program did.
fn tells_newer(err: &str) -> bool {
    err.contains("newer version") && err.contains("99999999999999")
}

fn without_auto_migrate_an_empty_database_ends_the_program_with_status_1(kind: Kind) {
    let mut installation = Installation::new(kind);
    installation.set("database.auto_migrate", "false");
    for arguments in [&["serve"][..], &["activity"]] {
        let finished = installation.run(arguments).expect(1);
        assert!(
            finished.err.contains("bidloop migrate"),
            "{arguments:?}: {}",
            finished.err
        );
    }
    installation.try_apply(&document(organization())).expect(1);
    installation.run(&["migrate"]).expect(0);
    installation.apply(&document(organization()));
    let service = installation.serve();
    assert!(service.stop().success());
}

fn migrate_brings_an_empty_database_to_this_version_and_then_does_nothing(kind: Kind) {
    let installation = Installation::new(kind);
    let first = installation.run(&["migrate", "--json"]).expect(0).json();
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/persistence/migrations/sqlite"
    );
    let steps: BTreeSet<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|step| step.unwrap().file_name().into_string().unwrap()[..14].to_owned())
        .collect();
    assert_eq!(first["migrated"], json!(steps));
    let second = installation.run(&["migrate", "--json"]).expect(0).json();
    assert_eq!(second, json!({"migrated": []}));
}

fn a_stop_in_the_middle_of_the_start_is_not_lost(kind: Kind) {
    let installation = Installation::new(kind);
    for _ in 0..12 {
        let service = installation.start(&["serve"]);
        service.wait_until_it_listens();
        assert_eq!(service.stop().code(), Some(0));
    }
}

fn a_stop_lets_deliveries_in_flight_finish_and_exits_0(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    world
        .receiver
        .answer_next(Answer::status(200).after(Duration::from_secs(3)));
    let service = world.installation.serve();
    world.simulator.publish(vec![posts::hourly("rust")]).unwrap();
    world.deliveries("job.new", 1);
    assert_eq!(service.stop().code(), Some(0));
    let lines = world.installation.activity(&[]);
    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["outcome"], "delivered", "{}", lines[0]);
    assert!(
        lines[0]["details"]["durationMs"].as_i64().unwrap() >= 2_900,
        "{}",
        lines[0]
    );
}

fn a_stop_lets_requests_in_flight_finish_and_exits_0(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let mut service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let body = bid().to_string();
    let (now, later) = body.split_at(10);
    let mut stream = TcpStream::connect(service.address()).unwrap();
    let head = format!(
        "POST {} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        path(EXTERNAL, id(&leads[0]), "bid"),
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // A request is in flight from the moment the service has read its head, which this answer shows.
    let mut answers = BufReader::new(stream.try_clone().unwrap());
    assert_eq!(read_answer(&mut answers).unwrap().0.status, 100);
    stream.write_all(now.as_bytes()).unwrap();
    service.ask_to_stop();
    until("the stop is under way", STEP, || {
        service.log().contains("stopping")
    });
    stream.write_all(later.as_bytes()).unwrap();
    let (answer, _) = read_answer(&mut answers).unwrap();
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(service.wait_for_end().code(), Some(0));
    let service = world.installation.serve();
    let lead = &listed(&service.api(), EXTERNAL, 1)[0];
    assert_ne!(lead["status"], "new", "what was answered holds");
}

fn replicas_share_the_work_and_do_nothing_twice(kind: Kind) {
    let mut world = World::with_auto_reply(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let first = world.installation.serve();
    let second_address = free_address();
    world
        .installation
        .set("server.listen", &second_address.to_string());
    let second = world.installation.start(&["serve"]);
    let api = acceptance::Api::new(second_address, Some(KEY));
    until("the second replica is ready", STEP, || {
        api.try_call("GET", "/readyz", &[], b"")
            .is_ok_and(|answer| answer.status == 200)
    });
    world.simulator.publish(posts::many("rust", 60)).unwrap();
    world.deliveries("bid_complete", 60);
    let leads = all_leads(&api, EXTERNAL);
    assert_eq!(
        leads,
        all_leads(&first.api(), EXTERNAL)
            .into_iter()
            .zip(&leads)
            .map(|(mut lead, other)| {
                // Each replica is reached through its own address here.
                lead["bidUrl"] = other["bidUrl"].clone();
                lead["rejectUrl"] = other["rejectUrl"].clone();
                lead
            })
            .collect::<Vec<_>>()
    );
    let jobs: BTreeSet<String> = leads.iter().map(|lead| lead["jobUrl"].to_string()).collect();
    assert_eq!((leads.len(), jobs.len()), (60, 60));
    let deliveries = world.receiver.deliveries();
    let ids: BTreeSet<&str> = deliveries.iter().map(|delivery| delivery.id()).collect();
    assert_eq!((deliveries.len(), ids.len()), (120, 120));
    // Decision D7: what a command reported holds in every replica.
    world
        .installation
        .run(&["keys", "revoke", "--organization", "org_acme", "--id", "key_ci"])
        .expect(0);
    for replica in [&api, &first.api()] {
        replica
            .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
            .expect(401);
    }
    let proposals = world.simulator.proposals();
    assert_eq!(proposals.len(), 60);
    assert!(
        proposals
            .iter()
            .all(|proposal| proposal["repeats"] == 0 && proposal["status"] == 201)
    );
    drop(second);
}

fn roles_split_the_work_between_processes(kind: Kind) {
    let mut world = World::with_auto_reply(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let mut api = world.installation.start(&["serve", "--role", "api"]);
    api.wait_until_ready();
    let base_url = format!("http://{}", api.address());
    world.installation.set("server.base_url", &base_url);
    world.installation.set("server.listen", "127.0.0.1:0");
    let start = |role: &str| world.installation.start(&["serve", "--role", role]);
    world.simulator.publish(posts::many("rust", 3)).unwrap();
    let _watch = start("watch");
    listed(&api.api(), EXTERNAL, 3);
    assert!(world.receiver.deliveries().is_empty(), "nobody dispatches yet");
    let _dispatch = start("dispatch");
    world.deliveries("job.new", 3);
    until("the caller's bids are queued", STEP, || {
        all_leads(&api.api(), EXTERNAL)
            .iter()
            .all(|lead| lead["status"] == "queued")
    });
    assert!(world.simulator.proposals().is_empty(), "nobody submits yet");
    let _submit = start("submit");
    world.deliveries("bid_complete", 3);
    assert_eq!(world.accepted().len(), 3);
}
