//! Decision A1: 401, 413, 404, 405 and 415, 400 for the shape, 400 for the rules, 409, 400 for the account, 402.

use std::time::Duration;

use bidloop_domain::model::SubscriptionStatus;
use serde_json::json;

use crate::client::{Answer, Request};
use crate::world::{
    BARE_CAMPAIGN, CAMPAIGN, FOREIGN_CAMPAIGN, ORG, World, address_of, api_key, key, lead_id, lead_of,
    organization,
};

const TOO_LARGE: u64 = 3 * 1_048_576 + 1;
const UPLOAD_TOO_LARGE: u64 = 200 * 1_048_576;

fn assert_standard_error(answer: &Answer, status: u16, error: &str) {
    assert_eq!(answer.status, status, "{answer:?}");
    let body = answer.json();
    assert_eq!(body["statusCode"], status);
    assert_eq!(body["error"], error);
    assert!(!answer.message().is_empty());
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("x-request-id").is_some());
    for (name, _) in &answer.headers {
        assert!(!name.to_ascii_lowercase().starts_with("ratelimit"), "{name}");
        assert!(status == 503 || !name.eq_ignore_ascii_case("retry-after"));
    }
}

#[test]
fn a_missing_or_invalid_key_is_401_before_anything_else() {
    let world = World::new();
    let unknown = format!("lk_{}", "0".repeat(64));
    for operation in ["bid", "reject", "attachments"] {
        for lead in ["nowhere", &lead_of(0)] {
            let path = format!("/v1/campaigns/{CAMPAIGN}/leads/{lead}/{operation}");
            let requests = [
                Request::new("POST", &path),
                Request::new("POST", &path).key(&unknown),
                Request::new("POST", &path).key("lk_short"),
                Request::new("POST", &path).header("Authorization", &key()),
                Request::new("POST", &path).key(&key()).key(&key()),
                Request::new("POST", &path).header("X-Api-Key", &key()),
                Request::new("POST", &path).declared(UPLOAD_TOO_LARGE),
                Request::new("POST", &path)
                    .header("Content-Type", "text/html")
                    .body("<"),
                Request::new("DELETE", &path),
            ];
            for request in requests {
                let answer = world.send(&request);
                assert_standard_error(&answer, 401, "Unauthorized");
                assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
            }
        }
    }
    for path in [
        "/v1/campaigns/camp/leads",
        "/v1/nothing",
        "/v1",
        "/v1/",
        "/v1/campaigns/%ff/leads",
    ] {
        assert_standard_error(&world.send(&Request::new("GET", path)), 401, "Unauthorized");
    }
    let query = format!("/v1/campaigns/camp/leads?key={0}&access_token={0}", key());
    assert_eq!(world.send(&Request::new("GET", &query)).status, 401);
    assert!(world.activities().is_empty(), "an unknown caller leaves no trace");
}

#[test]
fn the_bearer_scheme_is_read_without_regard_to_case() {
    let world = World::new();
    for scheme in ["bearer", "BEARER", "Bearer "] {
        let request = Request::new("GET", "/v1/campaigns/camp/leads")
            .header("authorization", &format!("{scheme} {}", key()));
        assert_eq!(world.send(&request).status, 200, "{scheme}");
    }
}

#[test]
fn revoked_keys_and_lapsed_subscriptions_are_401() {
    let world = World::new();
    let status = || world.get("/v1/campaigns/camp/leads").status;
    let status_after = |change| {
        world.provision(&[change]);
        // Commands wait that long before they report.
        world.clock.advance(Duration::from_secs(1));
        status()
    };
    assert_eq!(status(), 200);
    assert_eq!(
        status_after(organization(ORG, SubscriptionStatus::PastDue, 5)),
        401
    );
    assert_eq!(
        status_after(organization(ORG, SubscriptionStatus::Active, 5)),
        200
    );
    assert_eq!(status_after(api_key(ORG, "key_a", &key(), true)), 401);
    let restored = status_after(api_key(ORG, "key_a", &key(), false));
    assert_eq!(restored, 401, "a revoked key never works again");
}

#[test]
fn a_body_that_is_declared_too_large_is_413_before_404() {
    let world = World::new();
    for (operation, length) in [
        ("bid", TOO_LARGE),
        ("reject", TOO_LARGE),
        ("attachments", UPLOAD_TOO_LARGE),
    ] {
        for path in [
            address_of(0, operation),
            format!("/v1/campaigns/{CAMPAIGN}/leads/nowhere/{operation}"),
            format!("/v1/campaigns/nowhere/leads/nowhere/{operation}"),
            format!("/v1/campaigns/no%20where/leads/nowhere/{operation}"),
        ] {
            let request = Request::new("POST", &path)
                .key(&key())
                .header("Content-Type", "text/html")
                .declared(length);
            assert_standard_error(&world.send(&request), 413, "Payload Too Large");
        }
    }
}

#[test]
fn a_chunked_body_is_413_as_soon_as_it_is_too_large() {
    let world = World::new();
    for lead in [lead_of(0), "nowhere".to_owned()] {
        for operation in ["bid", "reject"] {
            let path = format!("/v1/campaigns/{CAMPAIGN}/leads/{lead}/{operation}");
            let request = Request::new("POST", &path)
                .key(&key())
                .body(vec![b' '; 3 * 1_048_576 + 1])
                .chunked();
            assert_standard_error(&world.send(&request), 413, "Payload Too Large");
        }
    }
}

#[test]
fn a_body_of_exactly_3_mb_passes() {
    let world = World::new();
    let mut body = json!({"coverLetter": "Hi", "questionAnswerPairs": []})
        .to_string()
        .into_bytes();
    body.resize(3 * 1_048_576, b' ');
    let request = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .body(body.clone());
    assert_eq!(world.send(&request).status, 200);
    let request = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .body(body)
        .chunked();
    assert_eq!(world.send(&request).status, 409);
}

#[test]
fn an_unknown_campaign_or_lead_is_404_before_media_type_and_shape() {
    let world = World::new();
    let foreign = lead_id("org_b", FOREIGN_CAMPAIGN, "job0");
    let own = lead_of(0);
    for (campaign, lead) in [
        ("nowhere", own.as_str()),
        (CAMPAIGN, "ld_nowhere"),
        (FOREIGN_CAMPAIGN, &foreign),
        (CAMPAIGN, &foreign),
        (BARE_CAMPAIGN, &own),
        ("a%2Fb", &own),
        ("%00", "%00"),
        (CAMPAIGN, "%00"),
        (CAMPAIGN, "%ff"),
        (CAMPAIGN, "a%20b"),
    ] {
        for operation in ["bid", "reject", "attachments"] {
            let path = format!("/v1/campaigns/{campaign}/leads/{lead}/{operation}");
            for method in ["POST", "DELETE", "GET"] {
                let request = Request::new(method, &path)
                    .key(&key())
                    .header("Content-Type", "text/html")
                    .body("<nonsense>");
                assert_standard_error(&world.send(&request), 404, "Not Found");
            }
        }
    }
    for campaign in ["nowhere", FOREIGN_CAMPAIGN, "%00", "%ff", "a%2Fb"] {
        for method in ["GET", "POST"] {
            let request = Request::new(method, &format!("/v1/campaigns/{campaign}/leads")).key(&key());
            assert_standard_error(&world.send(&request), 404, "Not Found");
        }
    }
    assert!(
        world.activities().is_empty(),
        "only requests on existing leads are recorded"
    );
}

#[test]
fn unknown_addresses_are_404() {
    let world = World::new();
    for path in [
        "/v1",
        "/v1/",
        "/v1/campaigns",
        "/v1/campaigns/camp/leads/",
        "/v1/campaigns/camp/leads/x",
    ] {
        assert_standard_error(&world.get(path), 404, "Not Found");
    }
    for path in ["/", "/v2/campaigns", "/v1x"] {
        assert_standard_error(&world.send(&Request::new("GET", path)), 404, "Not Found");
    }
}

#[test]
fn a_wrong_method_is_405_with_the_allowed_one() {
    let world = World::new();
    for operation in ["bid", "reject", "attachments"] {
        for method in ["GET", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"] {
            let request = Request::new(method, &address_of(0, operation))
                .key(&key())
                .header("Content-Type", "text/html");
            let answer = world.send(&request);
            assert_standard_error(&answer, 405, "Method Not Allowed");
            assert_eq!(answer.header("allow"), Some("POST"));
        }
    }
    let answer = world.send(&Request::new("POST", "/v1/campaigns/camp/leads").key(&key()));
    assert_standard_error(&answer, 405, "Method Not Allowed");
    assert_eq!(answer.header("allow"), Some("GET, HEAD"));
}

#[test]
fn a_wrong_media_type_is_415_before_the_shape() {
    let world = World::new();
    for (operation, wrong) in [
        ("bid", "text/plain"),
        ("bid", "application/vnd.api+json"),
        ("bid", "multipart/form-data; boundary=x"),
        ("reject", "application/x-www-form-urlencoded"),
        ("attachments", "application/json"),
        ("attachments", "multipart/mixed; boundary=x"),
    ] {
        let request = Request::new("POST", &address_of(0, operation))
            .key(&key())
            .header("Content-Type", wrong)
            .body("{");
        assert_standard_error(&world.send(&request), 415, "Unsupported Media Type");
    }
    for encoding in ["gzip", "br", "deflate"] {
        let request = Request::new("POST", &address_of(0, "bid"))
            .key(&key())
            .header("Content-Encoding", encoding)
            .json(&json!({}));
        assert_standard_error(&world.send(&request), 415, "Unsupported Media Type");
    }
    let recorded = world.activities();
    assert_eq!(recorded.len(), 9, "C8: refused ones on an existing lead too");
    assert!(recorded.iter().all(|entry| entry.http_status == Some(415)));
}

#[test]
fn an_absent_media_type_is_taken_for_the_right_one() {
    let world = World::new();
    let body = json!({"coverLetter": "Hi", "questionAnswerPairs": []}).to_string();
    let request = Request::new("POST", &address_of(0, "bid")).key(&key()).body(body);
    assert_eq!(world.send(&request).status, 200);
    let answer = world.send(
        &Request::new("POST", &address_of(1, "attachments"))
            .key(&key())
            .body("x"),
    );
    assert_eq!(answer.status, 400, "right type, but no boundary");
}

#[test]
fn expecting_100_continue_is_answered() {
    let world = World::new();
    let request = Request::new("POST", &address_of(0, "bid"))
        .key(&key())
        .header("Expect", "100-continue")
        .json(&json!({"coverLetter": "Hi", "questionAnswerPairs": []}));
    assert_eq!(world.send(&request).status, 200);
}
