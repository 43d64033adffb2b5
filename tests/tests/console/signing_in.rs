//! People: the first start, signing in and out (decisions E2 and E3).

use std::time::Duration;

use acceptance::{Installation, Kind, Service};

use crate::acme::{OPS, PASSWORD, sign_in, stranger};

on_both_databases!(the_first_start_makes_an_organization_and_its_owner);

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
