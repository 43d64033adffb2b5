//! What holds for every request to the console: headers, host, origin, session and token (decision E5).

use acceptance::api::form_token;
use acceptance::{Answer, Kind, Service};

use crate::acme::{PASSWORD, with_paused_campaign};

on_both_databases!(
    a_page_without_a_session_leads_to_signing_in_and_back,
    every_page_forbids_what_it_does_not_need,
    a_host_that_a_stranger_may_have_chosen_is_refused,
    a_change_from_another_page_is_refused,
    a_form_without_the_sessions_token_is_refused,
    a_form_that_is_too_large_is_refused,
);

const FORM: (&str, &str) = ("Content-Type", "application/x-www-form-urlencoded");

fn origin(service: &Service) -> String {
    format!("http://{}", service.address())
}

#[track_caller]
fn call(service: &Service, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    service
        .api_with(None)
        .try_call(method, path, headers, body.as_bytes())
        .unwrap()
}

/// Signs in and returns the session's cookie.
fn sign_in(service: &Service) -> String {
    let origin = origin(service);
    let body = format!("email=ops%40acme.test&password={}", PASSWORD.replace(' ', "+"));
    let answer = call(service, "POST", "/sign-in", &[FORM, ("Origin", &origin)], &body).expect(303);
    let cookie = answer.header("set-cookie").expect("a session").to_owned();
    for attribute in ["HttpOnly", "SameSite=Lax", "Path=/", "Max-Age=2592000"] {
        assert!(cookie.contains(attribute), "{cookie}");
    }
    cookie.split(';').next().unwrap().to_owned()
}

fn a_page_without_a_session_leads_to_signing_in_and_back(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    for path in ["/", "/sign-out"] {
        let answer = call(&service, "GET", path, &[], "").expect(303);
        assert!(
            answer.header("location").unwrap().starts_with("/sign-in?next="),
            "{path}"
        );
    }
    let made_up = format!("bidloop={}", "ab".repeat(32));
    call(&service, "GET", "/", &[("Cookie", &made_up)], "").expect(303);
    let cookie = sign_in(&service);
    call(&service, "GET", "/", &[("Cookie", &cookie)], "").expect(200);
}

fn every_page_forbids_what_it_does_not_need(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let cookie = sign_in(&service);
    for path in [
        "/",
        "/sign-in",
        "/first-run",
        "/sign-out",
        "/settings/users",
        "/settings/users/invite",
        "/settings/tokens",
        "/settings/tokens/new",
        "/invite/0a",
    ] {
        let answer = call(&service, "GET", path, &[("Cookie", &cookie)], "");
        let policy = answer.header("content-security-policy").unwrap();
        assert!(
            policy.starts_with("default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
            "{path}: {policy}"
        );
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
        let page = answer.text();
        for inline in [" style=", "<style", " onclick=", "<script>", "javascript:"] {
            assert!(!page.contains(inline), "{path} has {inline}");
        }
    }
}

fn a_host_that_a_stranger_may_have_chosen_is_refused(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let port = service.address().port();
    for taken in [format!("127.0.0.1:{port}"), format!("localhost:{port}")] {
        call(&service, "GET", "/sign-in", &[("Host", &taken)], "").expect(200);
    }
    call(&service, "GET", "/sign-in", &[("Host", "evil.test")], "").expect(421);
}

fn a_change_from_another_page_is_refused(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let cookie = sign_in(&service);
    let own = origin(&service);
    let token = form_token(&call(&service, "GET", "/sign-out", &[("Cookie", &cookie)], "").text());
    let body = format!("csrf={token}");
    let post = |headers: &[(&str, &str)]| {
        let mut all = vec![FORM, ("Cookie", cookie.as_str())];
        all.extend(headers);
        call(&service, "POST", "/sign-out", &all, &body).status
    };
    assert_eq!(post(&[]), 403);
    assert_eq!(post(&[("Origin", "http://evil.test")]), 403);
    assert_eq!(post(&[("Origin", "null")]), 403);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "cross-site")]), 403);
    call(&service, "GET", "/", &[("Cookie", &cookie)], "").expect(200);
    assert_eq!(post(&[("Origin", &own), ("Sec-Fetch-Site", "same-origin")]), 303);
    call(&service, "GET", "/", &[("Cookie", &cookie)], "").expect(303);
}

fn a_form_without_the_sessions_token_is_refused(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let (cookie, other) = (sign_in(&service), sign_in(&service));
    let own = origin(&service);
    let of_other = form_token(&call(&service, "GET", "/sign-out", &[("Cookie", &other)], "").text());
    let headers = [FORM, ("Cookie", cookie.as_str()), ("Origin", own.as_str())];
    for body in [String::new(), "csrf=".to_owned(), format!("csrf={of_other}")] {
        call(&service, "POST", "/sign-out", &headers, &body).expect(403);
    }
    call(&service, "GET", "/", &[("Cookie", &cookie)], "").expect(200);
}

fn a_form_that_is_too_large_is_refused(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let own = origin(&service);
    let body = format!("email={}", "a".repeat(20_000));
    let answer = call(&service, "POST", "/sign-in", &[FORM, ("Origin", &own)], &body).expect(400);
    assert!(answer.text().contains("too large"));
}
