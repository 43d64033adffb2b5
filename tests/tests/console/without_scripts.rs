//! Every page works with scripts switched off, live parts aside; and on paper.

use acceptance::world::id;
use acceptance::{Kind, World, posts};

use crate::acme::{BOB, OPS, PASSWORD, browser_of, sign_in, with_active_campaign};
use crate::browser::Browser;

/// Acme with a lead, and its path.
fn started() -> (World, acceptance::Service, String) {
    let (world, service) = with_active_campaign(Kind::Sqlite);
    let jobs = ["Rust service", "Rust and Go"].map(posts::hourly);
    let leads = world.publish(&service, "camp", jobs.to_vec(), 2);
    world.deliveries("job.new", 2);
    let older = leads.iter().find(|lead| lead["title"] == "Rust service").unwrap();
    let lead = format!("/campaigns/camp/leads/{}", id(older));
    (world, service, lead)
}

#[test]
fn every_page_works_without_scripts() {
    let (world, service, lead) = started();
    let browser = Browser::open_without_scripts(&format!("http://{}", service.address()));
    browser.go("/campaigns/camp/feed");
    assert_eq!(browser.script("return typeof htmx"), "undefined");
    sign_in(&browser, OPS, "wrong horse battery");
    browser.see("That e-mail and password do not belong together.");
    browser.fill("Password", PASSWORD);
    browser.press("Sign in");
    browser.wait_for_path("/campaigns/camp/feed");

    browser.see("1 to 2 of 2");
    browser.fill("Find in titles and posts", "go");
    browser.strike_enter("Find in titles and posts");
    browser.wait_for_path("/campaigns/camp/feed?q=go");
    browser.see("1 lead found");
    browser.press("Reject…");
    browser.fill("Reason", "Too small");
    browser.press("Reject lead");
    browser.see("Lead rejected.");
    browser.follow("Campaign camp");
    browser.follow("Rejected1");
    browser.see("Rust and Go");
    assert!(!browser.text().contains("Rust service"), "{}", browser.text());

    browser.go(&lead);
    browser.follow("Bid…");
    browser.press("Dry run");
    browser.see("Write a cover letter.");
    browser.fill("Cover letter", "I can start on Monday.");
    browser.choose("Rate", "Fixed rate");
    browser.fill("Fixed rate", "71.50");
    browser.press("Compute again");
    browser.see("$71.50");
    assert_eq!(browser.value("Cover letter"), "I can start on Monday.");
    browser.press_first("Submit bid");
    browser.see("Bid queued.");
    assert_eq!(
        world.deliveries("bid_complete", 1)[0].data()["outcome"],
        "submitted"
    );

    browser.go("/campaigns/camp/filters");
    browser.fill("Keywords", "rust AND AND go");
    browser.press("Preview");
    browser.see("keywords: character 10");
    browser.fill("Keywords", "rust");
    browser.press("Preview");
    browser.see("2 of 2 stored jobs");

    browser.follow("Activity");
    browser.choose("Kind", "Rejection");
    browser.press("Show");
    browser.see("Lead rejected.");
    browser.see("1 record");
    assert!(
        browser.path().starts_with("/activity?kind=rejection"),
        "{}",
        browser.path()
    );

    browser.follow("Settings");
    browser.follow("Users");
    browser.press("Invite user");
    browser.wait_for_path("/settings/users/invite?");
    browser.fill("E-mail", BOB);
    browser.press("Make invitation");
    browser.see("This person is a member already.");
    browser.fill("E-mail", "new@acme.test");
    browser.press("Make invitation");
    browser.see("It is not stored and cannot be shown again.");

    browser.resize(360);
    browser.press("Menu");
    browser.follow("Sign out");
    browser.press("Sign out");
    browser.wait_for_path("/sign-in");
}

/// What asks by script and leads elsewhere without; but for the keys, which need scripts.
const SCRIPT_ONLY: &str =
    "return [...document.querySelectorAll(':is([hx-get], [hx-post]):not([hx-trigger], [aria-label=Keys])')]
    .filter((one) => (one.getAttribute('hx-get') ?? one.getAttribute('hx-post'))
        != one.getAttribute(one.matches('form') ? 'action' : 'href').split('#')[0])
    .map((one) => one.outerHTML.slice(0, 200)).join('\\n')";

/// Texts that a reader of the printed page misses: of what is open or closed, but for menus and buttons.
const NOT_PRINTED: &str = "return [...document.querySelectorAll('main :is(h1, h2, p, td, th, li, dd, summary)')]
    .filter((one) => one.textContent.trim() && !one.closest('.tabs, .live, .toast, nav, dialog, .seg, .lost-state, .sr')
        && [...one.childNodes].some((node) => node.nodeType == 3 && node.data.trim()))
    .filter((one) => !one.checkVisibility({ contentVisibilityAuto: true, opacityProperty: true, visibilityProperty: true })
        || one.getBoundingClientRect().width == 0)
    .map((one) => one.outerHTML.slice(0, 200)).join('\\n')";

#[test]
fn every_page_has_its_dialogs_as_pages_and_is_readable_on_paper() {
    let (_world, service, lead) = started();
    let browser = browser_of(&service, OPS, "/");
    browser.script("document.documentElement.dataset.theme = 'dark'");
    let bid = format!("{lead}/bid");
    for path in [
        "/",
        "/campaigns",
        "/campaigns/camp/feed",
        "/campaigns/camp/filters",
        "/campaigns/camp/bidding",
        "/campaigns/camp/integrations",
        "/campaigns/camp/activity",
        "/campaigns/camp/edit",
        &lead,
        &bid,
        "/activity",
        "/settings/integrations/api-keys",
        "/settings/integrations/webhooks",
        "/settings/accounts",
        "/settings/users",
        "/settings/tokens",
        "/settings/billing",
    ] {
        browser.go(path);
        assert_eq!(browser.script(SCRIPT_ONLY), "", "{path}");
        browser.script("document.documentElement.dataset.theme = 'dark'");
        browser.emulate_paper(true);
        assert_eq!(browser.script(NOT_PRINTED), "", "{path}");
        let shown = browser.text();
        assert!(
            !shown.contains("Sign out") && !shown.contains("Menu"),
            "{path}: {shown}"
        );
        let colours = browser.script(
            "const of = (one, what) => getComputedStyle(one)[what];
            return of(document.body, 'color') + ' on ' + of(document.body, 'backgroundColor')",
        );
        assert_eq!(colours, "rgb(26, 27, 30) on rgb(255, 255, 255)", "{path}");
        browser.emulate_paper(false);
    }
}
