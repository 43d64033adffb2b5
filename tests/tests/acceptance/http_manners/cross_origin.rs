//! Web pages of other origins (CORS): none may call the API unless the settings name them.

use acceptance::document::{EXTERNAL, KEY, campaign};
use acceptance::{Installation, Kind, Service, World};

use super::LEADS;
use super::wire::{Reply, ask};

const APP: &str = "https://app.example.com";

fn served(origins: Option<&str>) -> (World, Service) {
    let mut world = World::new(Kind::Sqlite);
    if let Some(origins) = origins {
        world.installation.set("server.cors_origins", origins);
    }
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    (world, service)
}

fn preflight(service: &Service, path: &str, origin: &str, method: &str, headers: &str) -> Reply {
    let asked = [
        ("Origin", origin),
        ("Access-Control-Request-Method", method),
        ("Access-Control-Request-Headers", headers),
    ];
    ask(service.address(), "OPTIONS", path, &asked)
}

fn allowed(reply: &Reply) -> Option<&str> {
    reply.header("access-control-allow-origin")
}

fn cors_headers(reply: &Reply) -> usize {
    let is_cors = |name: &str| name.starts_with("access-control-");
    reply.headers.iter().filter(|(name, _)| is_cors(name)).count()
}

#[test]
fn without_the_setting_no_page_may_call_and_options_is_a_method_like_others() {
    let (_world, service) = served(None);
    let key = format!("Bearer {KEY}");
    let refused = preflight(&service, LEADS, APP, "GET", "authorization").expect(401);
    assert_eq!(cors_headers(&refused), 0);
    let headers = [
        ("Origin", APP),
        ("Authorization", &key),
        ("Access-Control-Request-Method", "GET"),
    ];
    let wrong = ask(service.address(), "OPTIONS", LEADS, &headers).expect(405);
    assert_eq!(
        (cors_headers(&wrong), wrong.header("allow")),
        (0, Some("GET, HEAD"))
    );
    let page = ask(service.address(), "GET", LEADS, &headers).expect(200);
    assert_eq!(
        (cors_headers(&page), page.header("vary")),
        (0, Some("accept-encoding"))
    );
}

#[test]
fn a_named_page_may_call_the_operations_without_a_key_for_the_preflight() {
    let (_world, service) = served(Some(&format!("{APP}, http://localhost:3000")));
    for (path, method) in [
        (LEADS, "GET"),
        (LEADS, "HEAD"),
        ("/v1/campaigns/camp_ext/leads/ld_1/bid", "POST"),
        ("/v1/openapi.json", "GET"),
    ] {
        let headers = "authorization,content-type,if-none-match,traceparent,x-request-id";
        let reply = preflight(&service, path, APP, method, headers);
        assert!(matches!(reply.status, 200 | 204), "{path}: {reply:?}");
        assert_eq!(allowed(&reply), Some(APP), "{path}");
        for (header, needed) in [
            ("access-control-allow-methods", &["GET", "HEAD", "POST"][..]),
            (
                "access-control-allow-headers",
                &[
                    "authorization",
                    "content-type",
                    "if-none-match",
                    "traceparent",
                    "x-request-id",
                ],
            ),
        ] {
            let value = reply.header(header).unwrap();
            assert!(needed.iter().all(|one| value.contains(one)), "{header}: {value}");
        }
        assert_eq!(reply.header("access-control-allow-credentials"), None);
        assert!(reply.header("vary").unwrap().contains("Origin"));
    }
}

#[test]
fn a_named_page_reads_answers_and_errors_with_their_headers() {
    let (_world, service) = served(Some(APP));
    let key = format!("Bearer {KEY}");
    let call = |method: &str, path: &str, key: &str| {
        let headers = [("Origin", APP), ("Authorization", key), ("Content-Length", "0")];
        ask(service.address(), method, path, &headers)
    };
    for (method, path, key, status) in [
        ("GET", LEADS, &*key, 200),
        ("GET", LEADS, "Bearer lk_wrong", 401),
        ("GET", "/v1/campaigns/nowhere/leads", &key, 404),
        ("GET", "/v1/nowhere", &key, 404),
        ("DELETE", LEADS, &key, 405),
        ("GET", "/v1/openapi.json", "", 200),
    ] {
        let reply = call(method, path, key).expect(status);
        assert_eq!(allowed(&reply), Some(APP), "{method} {path}");
        let exposed = reply.header("access-control-expose-headers").unwrap();
        for name in ["etag", "x-request-id", "retry-after", "www-authenticate", "allow"] {
            assert!(exposed.contains(name), "{exposed}");
        }
        let vary = reply.header("vary").unwrap();
        assert!(vary.contains("Origin"), "{vary}");
        assert_eq!(vary.contains("accept-encoding"), status == 200, "{vary}");
    }
}

#[test]
fn another_page_is_refused_and_the_console_is_nobody_elses() {
    let (_world, service) = served(Some(APP));
    let refused = preflight(&service, LEADS, "https://evil.test", "GET", "authorization").expect(400);
    assert_eq!(allowed(&refused), None);
    assert_eq!(refused.json()["statusCode"], 400, "a Standard Error");
    let method = preflight(&service, LEADS, APP, "DELETE", "authorization").expect(400);
    assert_eq!(method.json()["error"], "Bad Request");
    let key = format!("Bearer {KEY}");
    let evil = [("Origin", "https://evil.test"), ("Authorization", &*key)];
    let page = ask(service.address(), "GET", LEADS, &evil).expect(200);
    assert_eq!(allowed(&page), None, "browsers hide it");
    for path in ["/", "/sign-in", "/activity.csv", "/healthz", "/metrics", "/docs"] {
        let reply = ask(service.address(), "GET", path, &[("Origin", APP)]);
        assert_eq!(cors_headers(&reply), 0, "{path}");
        let reply = preflight(&service, path, APP, "GET", "");
        assert_eq!(cors_headers(&reply), 0, "{path}");
    }
}

#[test]
fn every_page_may_call_if_the_setting_is_a_star() {
    let (_world, service) = served(Some("*"));
    let reply = preflight(&service, LEADS, "null", "POST", "authorization");
    assert_eq!(allowed(&reply), Some("*"));
    let key = format!("Bearer {KEY}");
    let page = ask(
        service.address(),
        "GET",
        LEADS,
        &[("Origin", APP), ("Authorization", &key)],
    );
    assert_eq!(allowed(&page.expect(200)), Some("*"));
}

#[test]
fn config_check_says_what_is_no_origin_and_how_to_write_it() {
    for (value, because) in [
        (
            "https://app.example.com/",
            "browsers write it `https://app.example.com`",
        ),
        ("app.example.com", "it is no URL"),
        ("https://a.example, *", "it must be the only entry"),
        ("ftp://a.example", "only pages of http:// and https:// have one"),
    ] {
        let mut installation = Installation::new(Kind::Sqlite);
        installation.set("server.cors_origins", value);
        let finished = installation.run(&["config", "check"]).expect(2);
        let said = format!("{finished:?}");
        assert!(
            said.contains("server.cors_origins") && said.contains(because),
            "{said}"
        );
    }
    let mut installation = Installation::new(Kind::Sqlite);
    installation.set(
        "server.cors_origins",
        "https://app.example.com http://localhost:3000",
    );
    installation.run(&["config", "check"]).expect(0);
}
