//! Every page meets WCAG 2.0 to 2.2, levels A and AA, as far as axe-core can tell, in both colour schemes, at 1280 and at
//! 360 pixels; and stays small.

use acceptance::world::id;
use acceptance::{Kind, Service, World, posts};
use serde_json::json;

use crate::acme::{OPS, PASSWORD, sign_in, stranger, with_active_campaign};
use crate::session::Session;

/// The most bytes of a page and its style sheet together, as they are sent.
const MAX_SENT: usize = 60_000;

/// An installation with something to see on every page, and the paths of all pages.
fn started() -> (World, Service, Vec<String>) {
    let (world, service) = with_active_campaign(Kind::Sqlite);
    let mut jobs = posts::many("Rust service", 60);
    for job in &mut jobs {
        job["description"] = "Build it well, test it, and tell us plainly what you find. "
            .repeat(20)
            .into();
        job["questions"] = json!(["Why you?"]);
        job["clientInfo"] =
            json!({"country": "Atlantis", "rating": 4.9, "totalSpent": 1234.5, "isPaymentVerified": true});
    }
    let leads = world.publish(&service, "camp", jobs, 60);
    let session = Session::of(&service, OPS);
    let bid = format!("/campaigns/camp/leads/{}/bid", id(&leads[0]));
    let form = [
        ("coverLetter", "I can."),
        ("answer-0", "Because."),
        ("action", "submit"),
    ];
    session.post(&bid, &form).expect(303);
    world.bid_complete(id(&leads[0]));
    let reject = format!("/campaigns/camp/leads/{}/reject", id(&leads[1]));
    session.post(&reject, &[("reason", "Too small")]).expect(303);
    let of_leads = leads
        .iter()
        .take(3)
        .map(|lead| format!("/campaigns/camp/leads/{}", id(lead)));
    let mut paths: Vec<String> = PAGES.map(str::to_owned).to_vec();
    paths.extend(of_leads);
    paths.push(format!("/campaigns/camp/leads/{}/bid", id(&leads[2])));
    paths.push(format!("/campaigns/camp/leads/{}/reject", id(&leads[2])));
    (world, service, paths)
}

const PAGES: [&str; 23] = [
    "/",
    "/?period=30d&until=delivery",
    "/campaigns",
    "/campaigns/new",
    "/campaigns/camp/edit",
    "/campaigns/camp/delete",
    "/campaigns/camp/feed",
    "/campaigns/camp/feed?q=nothing",
    "/campaigns/camp/filters",
    "/campaigns/camp/filters?new=1",
    "/campaigns/camp/activity",
    "/activity",
    "/activity?lead=odd",
    "/settings/integrations/api-keys",
    "/settings/integrations/api-keys/new",
    "/settings/users",
    "/settings/users/invite",
    "/settings/tokens",
    "/settings/integrations/webhooks",
    "/settings/accounts",
    "/settings/billing",
    "/campaigns/camp/integrations",
    "/campaigns/camp/bidding",
];

#[test]
fn no_page_has_a_violation_that_axe_finds() {
    let (_world, service, paths) = started();
    let browser = stranger(&service);
    let mut found = Vec::new();
    let mut check = |path: &str| {
        for width in [1280, 360] {
            browser.resize(width);
            for scheme in ["light", "dark"] {
                browser.script(&format!(
                    "document.documentElement.dataset.theme = '{scheme}'; return ''"
                ));
                let violations = browser.violations();
                found.extend(
                    violations
                        .into_iter()
                        .map(|one| format!("{path}, {width} px, {scheme}: {one}")),
                );
            }
        }
    };
    browser.go("/sign-in");
    check("/sign-in");
    sign_in(&browser, OPS, PASSWORD);
    browser.wait_for_path("/");
    for path in &paths {
        browser.go(path);
        check(path);
    }
    browser.resize(1280);
    browser.go("/campaigns/camp/feed");
    browser.press("Reject…");
    browser.see("Reject this lead");
    check("/campaigns/camp/feed with a dialog");
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_page_with_its_style_sheet_is_small_and_asks_no_other_host() {
    let (_world, service, paths) = started();
    let session = Session::of(&service, OPS);
    let mut large = Vec::new();
    for path in &paths {
        let page = session.get(path);
        let text = page.text();
        let css = text
            .split("href=\"")
            .find(|part| part.contains("app.css"))
            .unwrap();
        let css = session.get_compressed(css.split('"').next().unwrap()).body.len();
        let sent = session.get_compressed(path).body.len();
        eprintln!(
            "{path}: {sent} bytes with {css} of the style sheet ({} uncompressed)",
            text.len()
        );
        if sent + css > MAX_SENT {
            large.push(format!("{path}: {sent} + {css}"));
        }
        for foreign in ["src=\"http", "href=\"//", "src=\"//", "url(http"] {
            assert!(!text.contains(foreign), "{path} loads from another host");
        }
        assert!(
            !text.contains(" style=\"") && !text.contains("onclick="),
            "{path}"
        );
    }
    assert!(large.is_empty(), "{}", large.join("\n"));
}
