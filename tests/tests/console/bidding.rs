//! A campaign's bidding by clicking (decisions A7, A8 and D3).

use acceptance::{Kind, document};
use serde_json::json;

use crate::acme::{BOB, browser_of, with_paused_campaign};
use crate::session::Session;

on_both_databases!(
    a_changed_value_tells_that_it_comes_from_the_campaign,
    a_template_is_previewed_and_saved,
);

const PATH: &str = "/campaigns/camp_ext/bidding";

fn a_changed_value_tells_that_it_comes_from_the_campaign(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let browser = browser_of(&service, BOB, PATH);
    browser.see("$45/h");
    browser.follow("Change Most connects for a boost");
    browser.fill("Most connects", "many");
    browser.press("Save setting");
    browser.see("must be");
    browser.fill("Most connects", "25");
    browser.press("Save setting");
    browser.see("Saved.");
    let bob = Session::of(&service, BOB);
    let shown = bob.get(PATH).expect(200).text();
    let row = shown.split("Most connects for a boost").nth(1).unwrap();
    let row = row.split("</tr>").next().unwrap();
    assert!(row.contains("25 connects") && row.contains("Campaign"), "{row}");
    bob.post(&format!("{PATH}/account"), &[("account", "")])
        .expect(303);
    browser.go(PATH);
    browser.see("real bids are refused until there is one");
    bob.get(&format!("{PATH}/none")).expect(404);
    bob.get("/campaigns/camp_none/bidding").expect(404);
}

fn a_template_is_previewed_and_saved(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let mut post = acceptance::posts::hourly("A rust service");
    post["questions"] = json!(["Why you?"]);
    world.publish(&service, document::EXTERNAL, vec![post], 1);
    let browser = browser_of(&service, BOB, PATH);
    browser.fill("Template", "About {{ title }}");
    browser.press("Preview");
    browser.see("About A rust service");
    browser.see("the campaign has no answer for the question “Why you?”");
    browser.fill("Another question", "Why you?");
    browser.fill("Its answer", "Since {{ title }} is mine.");
    browser.press("Save template");
    browser.see("Saved.");
    browser.see("Since A rust service is mine.");
    browser.fill("Template", "About {{ title");
    browser.press("Save template");
    browser.see("Preview of what is not saved");
    assert_eq!(browser.value("Template"), "About {{ title");
}
