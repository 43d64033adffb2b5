//! Every page meets WCAG 2.0 to 2.2, levels A and AA, as far as axe-core can tell, in both colour schemes, at 1280 and at
//! 360 pixels; and stays small.

use std::collections::BTreeSet;

use acceptance::world::{STEP, id};
use acceptance::{Kind, Service, World, posts, until};
use serde_json::json;

use crate::acme::{OPS, PASSWORD, browser_of, sign_in, stranger, with_active_campaign};
use crate::browser::Browser;
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
    // The marketplace has a proposal of which it never tells: the lead's page offers to settle it.
    let silent = json!([
        {"call": "POST /api/proposals", "dropAfterCommit": true, "status": 502},
        {"call": "GET /api/proposals", "status": 502},
    ]);
    world.simulator.put_faults(&silent).unwrap();
    let unanswered = id(&leads[3]);
    session
        .post(&format!("/campaigns/camp/leads/{unanswered}/bid"), &form)
        .expect(303);
    until("the lost answer is known", STEP, || {
        let page = session.get(&format!("/campaigns/camp/leads/{unanswered}"));
        page.text().contains("Settle…")
    });
    session
        .post("/settings/tokens", &[("name", "Editor"), ("scope", "read")])
        .expect(200);
    let of_leads = leads
        .iter()
        .take(4)
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

/// What axe found, with the page, its width and its colours.
struct Findings<'b> {
    browser: &'b Browser,
    found: Vec<String>,
}

impl<'b> Findings<'b> {
    fn none(browser: &'b Browser) -> Self {
        Self {
            browser,
            found: Vec::new(),
        }
    }

    fn assert_none(&self) {
        assert!(self.found.is_empty(), "{}", self.found.join("\n"));
    }

    /// Looks at what the selector chooses of the page that is shown.
    fn check(&mut self, what: &str, selector: &str, widths: &[u32]) {
        for width in widths {
            self.browser.resize(*width);
            for scheme in ["light", "dark"] {
                self.browser.script(&format!(
                    "document.documentElement.dataset.theme = '{scheme}'; return ''"
                ));
                // Other colours change nothing else.
                let rules: &[&str] = if scheme == "dark" { &COLOUR_RULES } else { &[] };
                let violations = self.browser.violations(selector, rules);
                self.found.extend(
                    violations
                        .into_iter()
                        .map(|one| format!("{what}, {width} px, {scheme}: {one}")),
                );
            }
        }
    }

    /// Opens each dialog that the page offers, once of its kind.
    fn check_dialogs(&mut self, page: &str, known: &mut BTreeSet<String>) {
        let offered = self.browser.script(
            "return [...document.querySelectorAll('[hx-target=\"#dialog\"]')].map((one) => one.getAttribute('hx-get')).join(' ')",
        );
        for dialog in offered.split_whitespace() {
            let parts: Vec<&str> = dialog.split(['/', '?']).collect();
            let kind = format!("{} {}", parts[1..3].join(" "), dialog.rsplit('/').next().unwrap());
            if !known.insert(kind.split('?').next().unwrap().to_owned()) {
                continue;
            }
            self.browser.script(&format!(
                "const opener = document.querySelector('[hx-target=\"#dialog\"][hx-get={}]');
                (opener.querySelector('button') ?? opener).click();",
                json!(dialog)
            ));
            self.browser.see_selector("dialog[open] h2");
            self.check(&format!("{page} with the dialog {dialog}"), "dialog", &WIDTHS);
            self.browser.script("document.querySelector('dialog').close()");
        }
    }
}

const WIDTHS: [u32; 2] = [1280, 360];
/// The rules of axe-core whose findings depend on colours.
const COLOUR_RULES: [&str; 2] = ["color-contrast", "link-in-text-block"];

#[test]
fn no_page_has_a_violation_that_axe_finds() {
    let (_world, service, paths) = started();
    let browser = stranger(&service);
    let mut findings = Findings::none(&browser);
    browser.go("/sign-in");
    findings.check("/sign-in", "html", &WIDTHS);
    // The page of the interface description is the API's. It needs no session.
    browser.go("/docs");
    findings.check("/docs", "html", &WIDTHS);
    browser.go("/sign-in");
    sign_in(&browser, OPS, PASSWORD);
    browser.wait_for_path("/");
    for path in &paths {
        browser.go(path);
        findings.check(path, "html", &WIDTHS);
    }
    findings.assert_none();
}

#[test]
fn no_dialog_and_no_menu_has_a_violation_that_axe_finds() {
    let (_world, service, paths) = started();
    let browser = browser_of(&service, OPS, "/");
    let mut findings = Findings::none(&browser);
    let mut dialogs = BTreeSet::new();
    for path in &paths {
        browser.go(path);
        findings.check_dialogs(path, &mut dialogs);
    }
    assert!(dialogs.len() >= 20, "{dialogs:#?}");
    browser.go("/campaigns/camp/feed");
    browser.resize(360);
    browser.press("Menu");
    browser.see("Sign out");
    findings.check("/campaigns/camp/feed with the menu", "html", &[360]);
    findings.assert_none();
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
