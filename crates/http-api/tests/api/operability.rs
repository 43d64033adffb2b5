//! `/healthz`, `/readyz`, `/metrics`, request ids, and what happens while the database is away or we stop.

use std::io::Write;
use std::time::Instant;

use bidloop_http_api::Offer;
use serde_json::json;

use crate::client::{PATIENCE, Request, connect, exchange, read_answer};
use crate::world::{SETTINGS, ServerSettings, World, address_of, key};

#[test]
fn the_operability_endpoints_ask_for_no_key() {
    let world = World::new();
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(world.send(&Request::new("GET", path)).status, 200, "{path}");
        let answer = world.send(&Request::new("DELETE", path));
        assert_eq!(
            (answer.status, answer.header("allow")),
            (405, Some("GET, HEAD")),
            "{path}"
        );
    }
    let metrics = world.send(&Request::new("GET", "/metrics"));
    assert!(
        String::from_utf8(metrics.body)
            .unwrap()
            .starts_with("requests_total ")
    );
}

#[test]
fn a_process_without_the_api_role_offers_the_operability_endpoints_alone() {
    let world = World::with_settings(ServerSettings {
        offer: Offer::OperabilityOnly,
        ..SETTINGS
    });
    assert_eq!(world.send(&Request::new("GET", "/healthz")).status, 200);
    assert_eq!(world.send(&Request::new("GET", "/readyz")).status, 200);
    let list = Request::new("GET", "/v1/campaigns/camp/leads").key(&key());
    assert_eq!(world.send(&list).status, 404);
}

#[test]
fn while_the_database_is_away_all_but_healthz_and_metrics_is_503() {
    let world = World::new();
    world.store.set_available(false);
    for path in ["/healthz", "/metrics"] {
        assert_eq!(world.send(&Request::new("GET", path)).status, 200, "{path}");
    }
    let bid = json!({"coverLetter": "x", "questionAnswerPairs": []});
    let requests = [
        Request::new("GET", "/readyz"),
        Request::new("GET", "/nowhere"),
        Request::new("GET", "/v1/campaigns/camp/leads"),
        Request::new("GET", "/v1/campaigns/camp/leads").key(&key()),
        Request::new("GET", "/v1/campaigns/camp/leads").key("lk_malformed"),
        Request::new("POST", &address_of(0, "bid")).key(&key()).json(&bid),
        Request::new("POST", &address_of(0, "reject")).key(&key()),
        Request::new("DELETE", &address_of(0, "reject")).key(&key()),
        Request::new("POST", &address_of(0, "attachments")).key(&key()),
        Request::new("OPTIONS", &address_of(0, "bid"))
            .header("Origin", "https://app.test")
            .header("Access-Control-Request-Method", "POST"),
    ];
    for request in &requests {
        let answer = world.send(request);
        assert_eq!(answer.status, 503, "{request:?}");
        assert!(answer.header("retry-after").unwrap().parse::<u32>().is_ok());
        assert_eq!(answer.json()["statusCode"], 503);
        assert!(
            !answer.message().contains("memory"),
            "no internals: {}",
            answer.message()
        );
    }
    world.store.set_available(true);
    let patience = Instant::now() + PATIENCE;
    while world.send(&Request::new("GET", "/readyz")).status != 200 {
        assert!(Instant::now() < patience, "the end of an outage is seen");
    }
    assert_eq!(world.get("/v1/campaigns/camp/leads").status, 200);
}

#[test]
fn a_request_id_is_echoed_or_made() {
    let world = World::new();
    let given = Request::new("GET", "/healthz").header("X-Request-Id", "trace-7/a");
    assert_eq!(world.send(&given).header("x-request-id"), Some("trace-7/a"));
    let first = world.send(&Request::new("GET", "/healthz"));
    let second = world.send(&Request::new("GET", "/healthz").header("X-Request-Id", &"x".repeat(500)));
    assert_eq!(first.header("x-request-id").unwrap().len(), 36);
    assert_eq!(second.header("x-request-id").unwrap().len(), 36);
    assert_ne!(first.header("x-request-id"), second.header("x-request-id"));
}

#[test]
fn every_request_is_counted_under_its_operation() {
    let world = World::new();
    world.get("/v1/campaigns/camp/leads");
    world.post(&address_of(0, "bid"), &json!({}));
    world.post(&address_of(0, "reject"), &json!({}));
    world.post(&address_of(1, "attachments"), &json!({}));
    world.send(&Request::new("DELETE", &address_of(0, "reject")).key(&key()));
    world.send(&Request::new("GET", "/nowhere"));
    world.send(&Request::new("GET", "/healthz"));
    assert_eq!(
        world.metrics.seen(),
        [
            ("listCampaignLeads", 200),
            ("submitBid", 400),
            ("rejectLead", 200),
            ("uploadLeadAttachments", 415),
            ("none", 405),
            ("none", 404),
            ("healthz", 200),
        ]
    );
}

#[test]
fn a_stop_closes_connections_and_takes_no_more() {
    let mut world = World::new();
    let mut idle = connect(world.address);
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
        .unwrap();
    assert_eq!(read_answer(&mut idle).unwrap().status, 200);
    world.stop();
    assert!(read_answer(&mut idle).is_none(), "an idle connection is closed");
    let after = std::net::TcpStream::connect(world.address);
    assert!(after.is_err() || exchange(world.address, b"GET /healthz HTTP/1.1\r\n\r\n").is_none());
}

#[test]
fn probes_and_requests_without_a_valid_key_ask_the_database_for_readiness_once_a_second() {
    let world = World::new();
    let started = Instant::now();
    for _ in 0..200 {
        let wrong = Request::new("GET", "/v1/campaigns/camp/leads").key("lk_malformed");
        assert_eq!(world.send(&wrong).status, 401);
        assert_eq!(world.send(&Request::new("GET", "/readyz")).status, 200);
    }
    let asked = u64::try_from(world.readiness_asked()).unwrap();
    assert!(asked <= started.elapsed().as_secs() + 1, "asked {asked} times");
}
