//! What a page shows when a part of it cannot be had.

use acceptance::Kind;

use crate::acme::{BOB, OPS, browser_of, with_paused_campaign};
use crate::session::Session;

on_both_databases!(
    a_script_of_a_signed_out_person_is_led_to_sign_in,
    a_change_of_a_signed_out_person_leads_back_to_its_page,
    an_update_that_cannot_be_leaves_the_page_as_it_is,
    a_query_that_no_link_has_is_no_page,
    what_cannot_be_done_is_told_in_a_dialog,
);

fn a_script_of_a_signed_out_person_is_led_to_sign_in(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let session = Session::of(&service, OPS);
    session.post("/sign-out", &[]).expect(303);
    let page = format!("http://{}/activity?kind=bid", service.address());
    let answer = session.get_part("/activity/new", &page, None).expect(401);
    assert_eq!(
        answer.header("hx-redirect"),
        Some("/sign-in?next=%2Factivity%3Fkind%3Dbid")
    );
}

fn a_change_of_a_signed_out_person_leads_back_to_its_page(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let session = Session::of(&service, OPS);
    let token = session.token();
    session.post("/sign-out", &[]).expect(303);
    let answer = session.post_with(&token, "/settings/users/role", &[]).expect(303);
    assert_eq!(
        answer.header("location"),
        Some("/sign-in?next=%2Fsettings%2Fusers")
    );
}

fn an_update_that_cannot_be_leaves_the_page_as_it_is(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let session = Session::of(&service, OPS);
    // A line that follows what happens has no id of its own.
    for element in [None, Some("expression-fault")] {
        let gone = session.get_part("/campaigns/gone/feed/live?since=0", "/", element);
        let answer = gone.expect(404);
        let told = (answer.header("hx-retarget"), answer.text());
        assert_eq!(told, (None, String::new()), "{element:?}");
    }
    let dialog = session.get_part("/campaigns/gone/edit", "/", Some("dialog"));
    assert_eq!(dialog.expect(404).header("hx-retarget"), Some("#dialog"));
}

fn a_query_that_no_link_has_is_no_page(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let session = Session::of(&service, OPS);
    let answer = session.get("/campaigns/gone/feed/live?since=x").expect(404);
    assert!(answer.text().contains("Page not found"));
}

fn what_cannot_be_done_is_told_in_a_dialog(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let browser = browser_of(&service, OPS, "/settings/users");
    let removed = Session::of(&service, OPS).post("/settings/users/remove", &[("user", BOB)]);
    removed.expect(303);
    browser.press("Remove… bob@acme.test");
    browser.see("There is nothing here, or it belongs to another organization.");
    let heading = "return document.querySelector('dialog:modal h2').textContent";
    assert_eq!(browser.script(heading), "Page not found");
    browser.follow("Close");
    let is_open = "return String(document.querySelector('dialog').open)";
    assert_eq!(browser.script(is_open), "false");
}
