//! Traces: what a caller's `traceparent` becomes, and the spans that are exported.

mod collector;

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use acceptance::document::EXTERNAL;
use acceptance::posts::hourly;
use acceptance::world::{STEP, bid, id, path};
use acceptance::{Kind, Service, World, eventually, until};
use bidloop_simulator::caller::Delivery;
use serde_json::{Value, json};

use self::collector::{Collector, Exported};

on_both_databases!(
    the_trace_of_a_bid_reaches_the_marketplace_and_the_receiver_also_after_a_kill,
    a_malformed_trace_is_ignored,
);

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const COVER_LETTER: &str = "I have done this before.";

fn header(parent: &str) -> String {
    format!("00-{TRACE}-{parent}-01")
}

/// A lead of the campaign, which is not bid on yet.
fn new_lead(world: &World, service: &Service) -> String {
    let leads = world.publish(service, EXTERNAL, vec![hourly("Rust for traces")], 1);
    id(&leads[0]).to_owned()
}

fn bid_with(service: &Service, lead: &str, trace: &str, body: &Value) {
    let headers = [("Content-Type", "application/json"), ("traceparent", trace)];
    let path = path(EXTERNAL, lead, "bid");
    let answer = service
        .api()
        .try_call("POST", &path, &headers, body.to_string().as_bytes());
    answer.unwrap().expect(200);
}

fn dry_run() -> Value {
    let mut dry_run = bid();
    dry_run["dryRun"] = json!(true);
    dry_run
}

fn only(deliveries: &[Arc<Delivery>]) -> &Delivery {
    let [one] = deliveries else {
        panic!("{} deliveries", deliveries.len())
    };
    one
}

fn the_trace_of_a_bid_reaches_the_marketplace_and_the_receiver_also_after_a_kill(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let lead = new_lead(&world, &service);
    let told = only(&world.deliveries("job.new", 1))
        .header("traceparent")
        .map(str::to_owned);
    assert_eq!(told, None, "nothing is traced");

    bid_with(&service, &lead, &header("00000000000000d1"), &dry_run());
    let simulated = world.deliveries("bid_complete", 1);
    let simulated = only(&simulated).header("traceparent");
    assert_eq!(simulated, Some(&*header("00000000000000d1")));

    // The bid cannot be submitted before the service is killed.
    let refuse = json!([{"call": "GET /api/account", "status": 503}]);
    world.simulator.put_faults(&refuse).unwrap();
    bid_with(&service, &lead, &header("00000000000000b1"), &bid());
    until("the submission was tried", STEP, || {
        world.simulator.stats().to_string().contains("GET /api/account")
    });
    service.kill();
    assert_eq!(world.simulator.proposals().len(), 0);
    world.simulator.put_faults(&json!([])).unwrap();

    let service = world.installation.serve();
    let proposals = eventually("the proposal", STEP, || {
        Some(world.accepted()).filter(|proposals| !proposals.is_empty())
    });
    assert_eq!(proposals[0]["traceparent"], header("00000000000000b1"));
    let ended = &world.deliveries("bid_complete", 2)[1];
    assert_eq!(ended.header("traceparent"), Some(&*header("00000000000000b1")));
    assert!(service.stop().success());
}

fn a_malformed_trace_is_ignored(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let lead = new_lead(&world, &service);
    let malformed = header("00000000000000B1");
    bid_with(&service, &lead, &malformed, &dry_run());
    bid_with(&service, &lead, &malformed, &bid());
    for ended in world.deliveries("bid_complete", 2) {
        assert_eq!(ended.header("traceparent"), None);
    }
    assert_eq!(world.accepted()[0]["traceparent"], Value::Null);
    assert!(service.stop().success());
}

/// A receiver that hands the trace of its `job.new` back with the bid has one trace of the whole loop.
#[test]
fn the_spans_of_one_loop_are_one_trace() {
    let collector = Collector::start();
    let mut world = World::new(Kind::Sqlite);
    world
        .installation
        .set("telemetry.otlp_endpoint", &collector.url());
    world.installation.set("telemetry.service_name", "bidloop-test");
    world.installation.set(
        "telemetry.otlp_headers",
        "authorization=Bearer collectors-token, x-scope=traces",
    );
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let lead = new_lead(&world, &service);
    let job_new = world.deliveries("job.new", 1);
    let handed_out = only(&job_new).header("traceparent").unwrap();
    bid_with(&service, &lead, handed_out, &bid());
    let bid_complete = world.deliveries("bid_complete", 1);
    let told = only(&bid_complete).header("traceparent").unwrap();
    let proposed = world.accepted()[0]["traceparent"].as_str().unwrap().to_owned();
    assert!(service.stop().success());

    let received = collector.received();
    let (trace, _) = ids(handed_out);
    let of_loop: BTreeMap<&str, &Exported> = received
        .spans
        .iter()
        .filter(|span| span.trace == trace)
        .map(|span| (span.name.as_str(), span))
        .collect();
    let span = |name: &str| {
        *of_loop
            .get(name)
            .unwrap_or_else(|| panic!("no {name} in {of_loop:#?}"))
    };
    let request = span("POST /v1/campaigns/{campaign_id}/leads/{lead_id}/bid");
    let submission = span("submission");
    let relations = [
        (span("deliver job.new"), "", "client"),
        (request, &*span("deliver job.new").id, "server"),
        (submission, &*request.id, "internal"),
        (span("GET /api/jobs/{id}"), &*submission.id, "client"),
        (span("GET /api/account"), &*submission.id, "client"),
        (span("POST /api/proposals"), &*submission.id, "client"),
        (span("deliver bid_complete"), &*submission.id, "client"),
    ];
    assert_eq!(of_loop.len(), relations.len(), "{of_loop:#?}");
    for (span, parent, kind) in relations {
        assert_eq!((&*span.parent, span.kind), (parent, kind), "{}", span.name);
        assert!(!span.is_error, "{}", span.name);
    }
    // What others see are the spans of the calls themselves.
    for (seen, name) in [
        (handed_out, "deliver job.new"),
        (&*proposed, "POST /api/proposals"),
        (told, "deliver bid_complete"),
    ] {
        assert_eq!(ids(seen), (trace.clone(), span(name).id.clone()), "{name}");
    }
    for (span, name, value) in [
        (request, "http.request.method", "POST"),
        (
            request,
            "http.route",
            "/v1/campaigns/{campaign_id}/leads/{lead_id}/bid",
        ),
        (request, "http.response.status_code", "200"),
        (submission, "bidloop.lead", &lead),
        (submission, "bidloop.outcome", "submitted"),
        (span("deliver bid_complete"), "http.response.status_code", "200"),
    ] {
        assert_eq!(
            span.attributes.get(name).map(String::as_str),
            Some(value),
            "{name}"
        );
    }

    let page = received
        .spans
        .iter()
        .find(|span| span.name == "feed page")
        .unwrap();
    let read = |span: &&Exported| span.name == "GET /api/jobs" && span.parent == page.id;
    assert!(
        received.spans.iter().any(|span| read(&span)),
        "a page of the feed"
    );
    assert_eq!(received.service_names(), ["bidloop-test"]);
    for head in &received.heads {
        assert!(head.starts_with("POST /v1/traces "), "{head}");
        assert!(head.contains("authorization: Bearer collectors-token"), "{head}");
        assert!(!head.contains("traceparent"), "an export is traced: {head}");
    }
    let everything = format!("{:?}", received.spans);
    for others_words in [COVER_LETTER, "Rust for traces", "Bearer", "whsec_"] {
        assert!(!everything.contains(others_words), "{others_words}");
    }
}

/// The trace and the span that a `traceparent` names.
fn ids(header: &str) -> (String, String) {
    let parts: Vec<&str> = header.split('-').collect();
    assert_eq!((parts.len(), parts[3]), (4, "01"), "{header}");
    (parts[1].to_owned(), parts[2].to_owned())
}

#[test]
fn a_collector_that_never_answers_delays_neither_work_nor_a_stop() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    let mut world = World::new(Kind::Sqlite);
    world
        .installation
        .set("telemetry.otlp_endpoint", &format!("http://{address}"));
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let lead = new_lead(&world, &service);
    bid_with(&service, &lead, &header("00000000000000b1"), &bid());
    assert_eq!(world.bid_complete(&lead)["outcome"], "submitted");
    let asked = Instant::now();
    assert!(service.stop().success());
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
}

/// A caller that does not record its trace keeps it unrecorded here.
#[test]
fn a_trace_that_its_caller_does_not_record_is_passed_on_and_not_exported() {
    let collector = Collector::start();
    let mut world = World::new(Kind::Sqlite);
    world
        .installation
        .set("telemetry.otlp_endpoint", &collector.url());
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let lead = new_lead(&world, &service);
    bid_with(
        &service,
        &lead,
        &format!("00-{TRACE}-00000000000000b1-00"),
        &bid(),
    );
    let ended = world.deliveries("bid_complete", 1);
    let told = only(&ended).header("traceparent").unwrap().to_owned();
    assert!(
        told.starts_with(&format!("00-{TRACE}-")) && told.ends_with("-00"),
        "{told}"
    );
    assert!(service.stop().success());
    let received = collector.received();
    assert!(!received.spans.is_empty(), "other traces are exported");
    assert!(received.spans.iter().all(|span| span.trace != TRACE));
}
