//! What operators see: health, readiness and metrics, on the API's address or apart, and a quiet log.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use acceptance::api::Api;
use acceptance::document::{EXTERNAL, KEY};
use acceptance::installation::free_address;
use acceptance::world::STEP;
use acceptance::{Installation, Kind, World, posts, until};
use serde_json::json;

on_both_databases!(metrics_tell_of_the_feed_the_marketplace_the_database_and_the_process);

#[test]
fn operability_has_an_address_of_its_own_if_the_settings_say_so() {
    let mut installation = Installation::new(Kind::Sqlite);
    let apart = free_address();
    installation.set("server.operability_listen", &apart.to_string());
    let operability = Api::new(apart, None);
    let started = |roles: &[&str]| {
        let service = installation.start(&[&["serve"], roles].concat());
        until("it is ready", STEP, || {
            let answer = operability.try_call("GET", "/readyz", &[], b"");
            answer.is_ok_and(|answer| answer.status == 200)
        });
        service
    };

    let service = started(&[]);
    for path in ["/healthz", "/readyz", "/metrics"] {
        operability.get(path).expect(200);
        service.api_with(None).get(path).expect(404);
    }
    Api::new(apart, Some(KEY))
        .get("/v1/campaigns/c/leads")
        .expect(404);
    service.api_with(None).get("/v1/campaigns/c/leads").expect(401);
    assert!(service.stop().success());

    let worker = started(&["--role", "watch,submit"]);
    let api = worker.api_with(None).try_call("GET", "/healthz", &[], b"");
    assert!(api.is_err(), "nothing is served at server.listen: {api:?}");
    assert!(worker.stop().success());
}

fn metrics_tell_of_the_feed_the_marketplace_the_database_and_the_process(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api_with(None);
    let metric = |start: &str| api.metric(start);
    world.simulator.publish(vec![posts::hourly("rust")]).unwrap();
    until("the feed was read", STEP, || {
        metric("bidloop_feed_reads_total{outcome=\"stored\"}").is_some_and(|reads| reads >= 2.0)
    });
    let read_at = metric("bidloop_feed_last_read_timestamp_seconds").unwrap();
    assert!(read_at > 1.7e9, "{read_at}");
    let answered = "bidloop_marketplace_call_duration_seconds_count{call=\"feed\",outcome=\"answered\"}";
    assert!(metric(answered).unwrap() >= 2.0);
    assert!(metric("bidloop_database_connections{").unwrap() >= 1.0);
    assert!(metric("bidloop_database_work{").unwrap() >= 0.0);
    assert!(metric("bidloop_build_info{version=").is_some());
    assert!(metric("process_resident_memory_bytes").unwrap() > 1e6);
    assert!(metric("process_open_fds").unwrap() > 3.0);
    assert!(metric("process_cpu_seconds_total").unwrap() > 0.0);
    assert!(metric("process_start_time_seconds").unwrap() > 1.7e9);

    let fault = json!([{"call": "GET /api/jobs", "times": 2, "status": 503}]);
    world.simulator.put_faults(&fault).unwrap();
    until("a failed read is counted", STEP, || {
        metric("bidloop_feed_reads_total{outcome=\"marketplace_failed\"}").is_some_and(|reads| reads >= 2.0)
    });
    assert!(service.stop().success());
}

#[test]
fn what_strangers_send_is_no_error_in_the_log() {
    let installation = Installation::new(Kind::Sqlite);
    let service = installation.serve();
    let strange: [&[u8]; 3] = [
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /v1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ];
    for bytes in strange {
        let mut connection = TcpStream::connect(service.address()).unwrap();
        connection.write_all(bytes).unwrap();
        connection.shutdown(std::net::Shutdown::Write).unwrap();
        let _closed = connection.read_to_end(&mut Vec::new());
    }
    let log = service.log();
    assert!(!log.contains("ERROR"), "{log}");
    assert!(service.stop().success());
}
