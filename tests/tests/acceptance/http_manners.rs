//! How the program answers as a good HTTP server: compression, conditional requests, caches, HEAD, CORS, forwarded headers,
//! and bytes that are no request.

mod caches;
mod cross_origin;
mod no_requests;
mod wire;

use acceptance::document::{EXTERNAL, KEY, campaign};
use acceptance::world::{STEP, id, path};
use acceptance::{Kind, Service, World, posts, until};
use serde_json::json;
use wire::{Reply, ask};

const LEADS: &str = "/v1/campaigns/camp_ext/leads";

on_both_databases!(a_page_that_the_caller_has_is_answered_304_until_something_changes);

/// A campaign with so many leads.
fn with_leads(count: usize) -> (World, Service) {
    on(Kind::Sqlite, count)
}

fn on(kind: Kind, count: usize) -> (World, Service) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", count), count as u64);
    (world, service)
}

fn list(service: &Service, headers: &[(&str, &str)]) -> Reply {
    let key = format!("Bearer {KEY}");
    let headers = [&[("Authorization", key.as_str())], headers].concat();
    ask(service.address(), "GET", LEADS, &headers)
}

/// The path of the console's style sheet.
fn style_sheet(service: &Service) -> String {
    let page = ask(service.address(), "GET", "/first-run", &[])
        .expect(200)
        .text();
    let mut parts = page.split('"');
    let sheet = parts.find(|part| part.starts_with("/assets/app.css."));
    sheet.unwrap().to_owned()
}

#[test]
fn a_page_of_leads_is_compressed_for_callers_that_ask_for_it() {
    let (_world, service) = with_leads(100);
    let plain = list(&service, &[]).expect(200);
    assert_eq!(plain.header("content-encoding"), None);
    assert_eq!(plain.header("vary"), Some("accept-encoding"));
    for _ in 0..2 {
        let compressed = list(&service, &[("Accept-Encoding", "deflate, gzip, br")]).expect(200);
        assert_eq!(compressed.header("content-encoding"), Some("gzip"));
        assert_eq!(compressed.header("vary"), Some("accept-encoding"));
        assert_eq!(compressed.header("content-type"), Some("application/json"));
        assert_eq!(compressed.uncompressed(), plain.body);
        assert!(
            compressed.body.len() * 3 < plain.body.len(),
            "{}",
            compressed.body.len()
        );
        assert_ne!(
            compressed.header("etag"),
            plain.header("etag"),
            "its bytes are others"
        );
    }
    for refusing in ["identity", "gzip;q=0", "br", "gzip;q=0.1, identity"] {
        let reply = list(&service, &[("Accept-Encoding", refusing)]).expect(200);
        assert_eq!(reply.header("content-encoding"), None, "{refusing}");
        assert_eq!(reply.body, plain.body);
    }
    // The list answers no error but 401 and 404.
    let nothing = list(&service, &[("Accept-Encoding", "identity;q=0, *;q=0")]).expect(200);
    assert_eq!(nothing.body, plain.body);
}

#[test]
fn a_short_answer_is_not_compressed() {
    let (_world, service) = with_leads(0);
    let page = list(&service, &[("Accept-Encoding", "gzip")]).expect(200);
    assert_eq!(page.header("content-encoding"), None);
    let health = ask(
        service.address(),
        "GET",
        "/healthz",
        &[("Accept-Encoding", "gzip")],
    );
    assert_eq!(health.expect(200).body, b"ok\n");
}

#[test]
fn the_description_the_metrics_and_the_consoles_files_are_compressed() {
    let (_world, service) = with_leads(0);
    let sheet = &style_sheet(&service);
    for path in ["/v1/openapi.json", "/docs", "/docs/style.css", "/metrics", sheet] {
        let plain = ask(service.address(), "GET", path, &[]).expect(200);
        let gzip = ask(service.address(), "GET", path, &[("Accept-Encoding", "gzip")]).expect(200);
        assert_eq!(gzip.header("content-encoding"), Some("gzip"), "{path}");
        for reply in [&plain, &gzip] {
            assert_eq!(reply.header("vary"), Some("accept-encoding"), "{path}");
        }
        assert!(
            gzip.body.len() * 2 < plain.body.len(),
            "{path}: {}",
            gzip.body.len()
        );
        if path != "/metrics" {
            assert_eq!(gzip.uncompressed(), plain.body, "{path}");
        }
    }
}

fn a_page_that_the_caller_has_is_answered_304_until_something_changes(kind: Kind) {
    let (world, service) = on(kind, 20);
    let first = list(&service, &[]).expect(200);
    let tag = first.header("etag").unwrap().to_owned();
    let known = |tag: &str| list(&service, &[("If-None-Match", tag)]);
    for naming in [
        tag.clone(),
        format!("W/{tag}"),
        format!("\"another\", {tag}"),
        "*".to_owned(),
    ] {
        let same = known(&naming).expect(304);
        assert_eq!(same.body, b"", "{naming}");
        assert_eq!(same.header("etag"), Some(&*tag));
        assert_eq!(same.header("cache-control"), Some("private, no-cache"));
        assert_eq!(same.header("vary"), Some("accept-encoding"));
        assert!(same.header("x-request-id").is_some());
        assert_eq!(same.header("content-length"), None);
    }
    for naming in ["\"another\"", "nonsense", ""] {
        assert_eq!(known(naming).expect(200).body, first.body, "{naming}");
    }
    let gzip = ("Accept-Encoding", "gzip");
    let compressed = list(&service, &[gzip]).expect(200);
    let compressed_tag = compressed.header("etag").unwrap();
    let same = list(&service, &[gzip, ("If-None-Match", compressed_tag)]).expect(304);
    assert_eq!(same.header("etag"), Some(compressed_tag));
    known(compressed_tag).expect(200);

    // Another status of one lead, and another lead.
    let lead = id(&first.json()["data"][3]).to_owned();
    service.api().post(&path(EXTERNAL, &lead, "reject")).expect(200);
    let rejected = known(&tag).expect(200);
    let tag = rejected.header("etag").unwrap().to_owned();
    known(&tag).expect(304);
    world.publish(&service, EXTERNAL, posts::many("rust again", 1), 21);
    known(&tag).expect(200);
    for key in ["lk_wrong", KEY] {
        let headers = [
            ("Authorization", &*format!("Bearer {key}")),
            ("If-None-Match", "*"),
        ];
        let elsewhere = ask(service.address(), "GET", "/v1/campaigns/nowhere/leads", &headers);
        elsewhere.expect(if key == KEY { 404 } else { 401 });
    }
}

#[test]
fn the_leads_of_a_page_that_the_caller_has_are_stored_nevertheless() {
    let job = || {
        let mut job = posts::hourly("rust");
        job["id"] = json!("job-1");
        vec![job]
    };
    // Ids are derived from what they identify, so another installation tells the lead's.
    let (other_world, other) = with_leads(0);
    let leads = other_world.publish(&other, EXTERNAL, job(), 1);
    let (world, service) = with_leads(0);
    let known = || list(&service, &[("If-None-Match", "*")]).expect(304);
    let empty = known();
    world.simulator.publish(job()).unwrap();
    until("the job is listed", STEP, || {
        known().header("etag") != empty.header("etag")
    });
    let rejection = path(EXTERNAL, id(&leads[0]), "reject");
    service.api().post(&rejection).expect(200);
}

#[test]
fn head_is_answered_like_get_without_the_body() {
    let (_world, service) = with_leads(100);
    let key = format!("Bearer {KEY}");
    let key = ("Authorization", key.as_str());
    let sheet = &style_sheet(&service);
    for (path, status) in [
        (LEADS, 200),
        ("/v1/campaigns/nowhere/leads", 404),
        ("/v1/openapi.json", 200),
        ("/docs", 200),
        ("/docs/style.css", 200),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/sign-in", 303),
        ("/first-run", 200),
        ("/", 303),
        (sheet, 200),
        ("/assets/none", 404),
        ("/nowhere", 404),
    ] {
        for gzip in [&[][..], &[("Accept-Encoding", "gzip")]] {
            let headers = [&[key][..], gzip].concat();
            let get = ask(service.address(), "GET", path, &headers);
            let head = ask(service.address(), "HEAD", path, &headers);
            assert_eq!(head.body, b"", "{path}");
            assert_eq!((head.status, get.status), (status, status), "{path}");
            let same = |reply: &Reply| {
                let mut headers = reply.headers.clone();
                headers.retain(|(name, _)| !["date", "x-request-id"].contains(&name.as_str()));
                headers.sort();
                headers
            };
            assert_eq!(same(&head), same(&get), "{path}");
        }
    }
    let head = ask(service.address(), "HEAD", "/metrics", &[]).expect(200);
    assert!(head.body.is_empty() && head.header("content-length").is_some());
    let tag = list(&service, &[]).header("etag").unwrap().to_owned();
    ask(service.address(), "HEAD", LEADS, &[key, ("If-None-Match", &tag)]).expect(304);
}

#[test]
fn a_wrong_method_is_told_of_head_where_get_is_taken() {
    let (_world, service) = with_leads(0);
    let key = format!("Bearer {KEY}");
    for path in [
        LEADS,
        "/v1/openapi.json",
        "/docs",
        "/healthz",
        "/metrics",
        "/sign-out",
    ] {
        let origin = format!("http://{}", service.address());
        let headers = [
            ("Authorization", key.as_str()),
            ("Origin", origin.as_str()),
            ("Content-Length", "0"),
        ];
        let reply = ask(service.address(), "DELETE", path, &headers).expect(405);
        let allow = reply.header("allow").unwrap();
        assert!(allow.contains("GET") && allow.contains("HEAD"), "{path}: {allow}");
    }
}

#[test]
fn what_a_stranger_says_of_the_way_of_a_request_changes_nothing() {
    let (_world, service) = with_leads(3);
    let forwarded = [
        ("X-Forwarded-For", "203.0.113.7"),
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.test"),
        ("Forwarded", "for=203.0.113.7;proto=https;host=evil.test"),
    ];
    assert_eq!(
        list(&service, &forwarded).body,
        list(&service, &[]).body,
        "links and all"
    );
    let page = |headers: &[(&str, &str)]| ask(service.address(), "GET", "/", headers).expect(303);
    assert_eq!(page(&forwarded).header("location"), page(&[]).header("location"));
    let described =
        |headers: &[(&str, &str)]| ask(service.address(), "GET", "/v1/openapi.json", headers).body;
    assert_eq!(described(&forwarded), described(&[]));
}
