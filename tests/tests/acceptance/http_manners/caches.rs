//! What caches may keep.

use acceptance::api::form_token;
use acceptance::document::{self, EXTERNAL, KEY, campaign};
use acceptance::world::{id, path};
use acceptance::{Kind, World, posts};
use serde_json::json;

use super::wire::{Reply, ask, exchange, replies};
use super::{LEADS, list, style_sheet, with_leads};

const PASSWORD: &str = "correct horse battery";

#[test]
fn caches_keep_what_is_for_everybody_and_nothing_else() {
    let (_world, service) = with_leads(3);
    let key = format!("Bearer {KEY}");
    let key = ("Authorization", key.as_str());
    let sheet = &style_sheet(&service);
    for (path, allowed) in [
        (LEADS, "private, no-cache"),
        ("/v1/openapi.json", "public, max-age=300"),
        ("/docs", "public, max-age=300"),
        ("/docs/style.css", "public, max-age=300"),
        (sheet, "public, max-age=31536000, immutable"),
        ("/assets/none", "no-store"),
        ("/sign-in", "no-store"),
        ("/first-run", "no-store"),
        ("/invite/0a", "no-store"),
        ("/", "no-store"),
        ("/healthz", "no-store"),
        ("/metrics", "no-store"),
        ("/nowhere", "no-store"),
        ("/v1/nowhere", "no-store"),
        ("/v1/campaigns/nowhere/leads", "no-store"),
    ] {
        let reply = ask(service.address(), "GET", path, &[key]);
        assert_eq!(reply.header("cache-control"), Some(allowed), "{path}");
    }
    let refused = ask(service.address(), "GET", LEADS, &[]).expect(401);
    assert_eq!(refused.header("cache-control"), Some("no-store"));
    let lead = id(&list(&service, &[]).json()["data"][0]).to_owned();
    let rejected = service.api().post(&path(EXTERNAL, &lead, "reject")).expect(200);
    assert_eq!(rejected.header("cache-control"), Some("no-store"));
    let again = service.api().post(&path(EXTERNAL, &lead, "reject")).expect(400);
    assert_eq!(again.header("cache-control"), Some("no-store"));
    for operation in ["bid", "attachments"] {
        let answer = service.api().post(&path(EXTERNAL, &lead, operation));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{operation}");
    }
}

#[test]
fn the_description_and_the_consoles_files_are_answered_304_if_the_caller_has_them() {
    let (_world, service) = with_leads(0);
    let sheet = &style_sheet(&service);
    for path in ["/v1/openapi.json", "/docs", "/docs/style.css", sheet] {
        let get = |headers: &[(&str, &str)]| ask(service.address(), "GET", path, headers);
        let gzip = ("Accept-Encoding", "gzip");
        let tag = |reply: &Reply| reply.header("etag").unwrap().to_owned();
        let (plain, compressed) = (tag(&get(&[]).expect(200)), tag(&get(&[gzip]).expect(200)));
        assert_ne!(plain, compressed, "{path}");
        for headers in [
            &[("If-None-Match", plain.as_str())][..],
            &[gzip, ("If-None-Match", &compressed)],
        ] {
            let same = get(headers).expect(304);
            assert!(
                same.body.is_empty() && same.header("cache-control").is_some(),
                "{path}"
            );
            assert_eq!(same.header("etag"), Some(headers.last().unwrap().1), "{path}");
        }
        get(&[("If-None-Match", &compressed)]).expect(200);
    }
}

#[test]
fn a_new_key_is_neither_kept_nor_compressed_and_the_record_is_compressed() {
    let world = World::new(Kind::Sqlite);
    let mut organization = world.organization();
    organization["campaigns"] = json!([campaign(EXTERNAL, "rust")]);
    organization["users"] = json!([{"email": "ops@acme.test", "password": PASSWORD, "name": "Ops"}]);
    world.installation.apply(&document::document(organization));
    let service = world.installation.serve();
    let address = service.address();
    let origin = format!("http://{address}");
    let form = |path: &str, cookie: &str, body: &str| {
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: {origin}\r\nCookie: {cookie}\r\nConnection: close\r\n\
             Accept-Encoding: gzip\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        replies(&exchange(address, request.as_bytes()), false).remove(0)
    };
    let password = PASSWORD.replace(' ', "+");
    let signed_in = form(
        "/sign-in",
        "",
        &format!("email=ops%40acme.test&password={password}"),
    )
    .expect(303);
    let cookie = signed_in
        .header("set-cookie")
        .unwrap()
        .split(';')
        .next()
        .unwrap()
        .to_owned();
    let get = |path: &str, encoding: &str| {
        let headers = [("Cookie", cookie.as_str()), ("Accept-Encoding", encoding)];
        ask(address, "GET", path, &headers).expect(200)
    };

    let token = form_token(&get("/settings/integrations/api-keys/new", "identity").text());
    let made = form(
        "/settings/integrations/api-keys",
        &cookie,
        &format!("csrf={token}&name=CI"),
    );
    let made = made.expect(200);
    assert!(made.text().contains("lk_"), "the key is shown, uncompressed");
    assert_eq!(made.header("cache-control"), Some("no-store"));
    assert_eq!(made.header("content-encoding"), None);

    world.publish(&service, EXTERNAL, posts::many("rust", 30), 30);
    for lead in acceptance::world::all_leads(&service.api(), EXTERNAL) {
        service
            .api()
            .post(&path(EXTERNAL, id(&lead), "reject"))
            .expect(200);
    }
    let record = get("/activity.csv", "gzip");
    assert_eq!(record.header("content-encoding"), Some("gzip"));
    assert_eq!(record.header("cache-control"), Some("no-store"));
    for secret in ["/sign-in", "/first-run"] {
        let reply = ask(address, "GET", secret, &[("Accept-Encoding", "gzip")]);
        assert_eq!(reply.header("content-encoding"), None, "{secret}");
    }
}
