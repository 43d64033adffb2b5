//! People: the first start, signing in and out (decisions E2 and E3).

use std::time::Duration;

use acceptance::{Installation, Kind, Service, World, document};

use crate::acme::{OPS, PASSWORD, organization, sign_in, stranger, with_paused_campaign};

on_both_databases!(
    the_first_start_makes_an_organization_and_its_owner,
    tries_after_too_many_failures_wait_and_are_told_so,
    a_stranger_behind_a_trusted_proxy_makes_the_own_network_wait_alone,
);

/// The code that the log of an empty installation shows.
pub(crate) fn first_code(service: &Service) -> String {
    acceptance::eventually("the log has the code", Duration::from_secs(20), || {
        let log = service.log();
        let line = log.lines().find(|line| line.contains("first sign-in code"))?;
        let code = line.split_once("code=\"")?.1.split('"').next()?;
        Some(code.to_owned())
    })
}

fn the_first_start_makes_an_organization_and_its_owner(kind: Kind) {
    let installation = Installation::new(kind);
    let mut service = installation.start(&["serve"]);
    service.wait_until_ready();
    let browser = stranger(&service);
    browser.go("/campaigns");
    browser.wait_for_path("/first-run");
    let code = first_code(&service);
    browser.fill("One-time code", "AAAA-AAAA");
    browser.fill("Organization", "Acme");
    browser.fill("Your e-mail", OPS);
    browser.fill("Password", PASSWORD);
    browser.press("Create organization");
    browser.see("That is not the code");
    assert_eq!(browser.value("Organization"), "Acme");
    browser.fill("One-time code", &code);
    browser.fill("Password", PASSWORD);
    browser.press("Create organization");
    browser.wait_for_path("/");
    browser.see(OPS);

    browser.go("/first-run");
    browser.see("Page not found");
    browser.go("/");
    browser.follow("Sign out");
    browser.wait_for_path("/sign-in");
    browser.go("/campaigns?from=test");
    browser.wait_for_path("/sign-in?next=%2Fcampaigns%3Ffrom%3Dtest");
    sign_in(&browser, "OPS@acme.test", "wrong horse battery");
    browser.see("That e-mail and password do not belong together.");
    browser.fill("Password", PASSWORD);
    browser.press("Sign in");
    browser.wait_for_path("/campaigns?from=test");
}

fn tries_after_too_many_failures_wait_and_are_told_so(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let browser = stranger(&service);
    browser.go("/sign-in");
    let wrong = "That e-mail and password do not belong together.";
    for number in 1..=10 {
        sign_in(&browser, OPS, "wrong horse battery");
        browser.see(wrong);
        let is_last = browser.text().contains("before the next try");
        assert_eq!(is_last, number == 10, "{}", browser.text());
    }
    // The right password does not help meanwhile, and another browser does not either.
    let other = stranger(&service);
    other.go("/campaigns");
    for waiting in [&browser, &other] {
        sign_in(waiting, OPS, PASSWORD);
        waiting.see("Too many tries. Wait ");
        assert!(waiting.path().starts_with("/sign-in"), "{}", waiting.path());
        assert_eq!(waiting.value("E-mail"), OPS);
        assert_eq!(waiting.value("Password"), "");
    }
}

fn a_stranger_behind_a_trusted_proxy_makes_the_own_network_wait_alone(kind: Kind) {
    let mut world = World::new(kind);
    let proxies = "127.0.0.0/8";
    world
        .installation
        .set_variable("BIDLOOP_SERVER__TRUSTED_PROXIES", proxies);
    let acme = organization(&world, &[]);
    world.installation.apply(&document::document(acme));
    let service = world.installation.serve();
    let origin = format!("http://{}", service.address());
    let post = |client, email: &str, password: &str| {
        let headers = [
            ("Content-Type", "application/x-www-form-urlencoded"),
            ("Origin", origin.as_str()),
            ("X-Forwarded-For", client),
        ];
        let form = format!("email={email}&password={password}").replace(' ', "+");
        let api = service.api_with(None);
        api.try_call("POST", "/sign-in", &headers, form.as_bytes())
            .unwrap()
    };
    let (stranger, other) = ("192.0.2.1, 203.0.113.7", "198.51.100.1");
    for number in 0..10 {
        let nobody = format!("nobody{number}@acme.test");
        post(stranger, &nobody, "wrong horse battery").expect(200);
    }
    let page = post(stranger, OPS, PASSWORD).expect(200).text();
    assert!(page.contains("Too many tries. Wait "), "{page}");
    post(other, OPS, PASSWORD).expect(303);
}
