//! Endpoints: added, tested, rotated and removed by clicking (decisions C3, E1, E6 and E8).

use acceptance::{Kind, document, posts};
use bidloop_simulator::caller::ReceiverOptions;
use serde_json::json;

use crate::acme::{BOB, OPS, browser_of, with_paused_campaign};
use crate::session::Session;

on_both_databases!(
    a_webhook_is_added_with_its_secret_shown_once_and_tested_and_rotated,
    an_endpoint_is_paused_edited_and_removed,
    members_test_the_organizations_webhooks_and_change_none,
    keys_and_webhooks_lead_to_the_reference_of_the_api,
);

fn keys_and_webhooks_lead_to_the_reference_of_the_api(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let session = Session::of(&service, OPS);
    for page in ["api-keys", "webhooks"] {
        let shown = session
            .get(&format!("/settings/integrations/{page}"))
            .expect(200)
            .text();
        assert!(
            shown.contains("<a href=\"/docs\">API reference</a>"),
            "{page}: {shown}"
        );
    }
    assert!(session.get("/docs").expect(200).text().contains("Bidloop"));
}

fn a_webhook_is_added_with_its_secret_shown_once_and_tested_and_rotated(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let receiver = world.another_receiver(ReceiverOptions::default());
    let url = receiver.url("/jobs");
    let path = "/campaigns/camp_ext/integrations";
    let browser = browser_of(&service, BOB, path);
    browser.press("Add webhook…");
    browser.fill("Address", "ftp://hooks.acme.test");
    browser.press("Add webhook");
    browser.see("Address");
    browser.fill("Address", &url);
    browser.press("Add webhook");
    browser.see("Shown once.");
    let secret = browser.content("#secret");
    assert!(secret.starts_with("whsec_"), "{secret}");
    browser.follow("I have copied it");
    browser.wait_for_path(path);
    assert!(!browser.text().contains("whsec_"));

    browser.press(&format!("Test {url}"));
    browser.see("there is no lead to test with yet");
    world
        .simulator
        .publish(vec![posts::hourly("A rust service")])
        .unwrap();
    acceptance::eventually("the match", acceptance::world::STEP, || {
        let feed = Session::of(&service, BOB).get("/campaigns/camp_ext/feed");
        feed.text().contains("A rust service").then_some(())
    });
    browser.press(&format!("Test {url}"));
    browser.press("Make it a lead and test");
    browser.see("Test delivered.");
    browser.see("Built from “A rust service”");
    let deliveries = receiver.deliveries();
    assert_eq!(deliveries.len(), 1);
    assert_eq!(deliveries[0].header("x-service-test"), Some("true"));
    assert_eq!(deliveries[0].event(), "job.new");
    let told = browser.path();
    let (undisturbed, _) = told.split_once("&tried=").unwrap();
    browser.follow("Dismiss");
    browser.wait_for_path(undisturbed);
    assert!(!browser.text().contains("Test delivered."));
    browser.follow("All deliveries in Activity");
    browser.wait_for_path("/campaigns/camp_ext/activity?kind=delivery");
    browser.go(undisturbed);
    browser.follow("200 Open this delivery");
    browser.see("x-service-test: true");
    browser.see("A rust service");
    let activity = world
        .installation
        .activity(&["--organization", document::ORGANIZATION]);
    let entry = activity.iter().find(|entry| entry["kind"] == "delivery").unwrap();
    assert_eq!(
        (&entry["actor"]["name"], &entry["details"]["test"]),
        (&json!(BOB), &json!(true))
    );

    browser.press(&format!("Rotate secret… {url}"));
    browser.press("Rotate secret");
    browser.see("For a day both secrets sign.");
    assert_ne!(browser.content("#secret"), secret);
    browser.follow("I have copied it");
    browser.see("Two secrets sign until");
    assert!(!service.log().contains(&secret));
}

fn an_endpoint_is_paused_edited_and_removed(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let url = world.receiver.url("/bids");
    let path = "/settings/integrations/webhooks";
    let browser = browser_of(&service, OPS, path);
    browser.press(&format!("Pause {url}"));
    browser.see("Webhook paused.");
    browser.press(&format!("Resume {url}"));
    browser.see("Webhook resumed.");
    let moved = world.receiver.url("/moved");
    browser.press(&format!("Edit… {url}"));
    browser.fill("Address", &moved);
    browser.press("Save webhook");
    browser.see("Saved.");
    browser.press(&format!("Remove… {moved}"));
    browser.press("Remove webhook");
    browser.see("Webhook removed.");
    browser.see("No endpoint yet.");
}

fn members_test_the_organizations_webhooks_and_change_none(kind: Kind) {
    let (_world, service) = with_paused_campaign(kind);
    let bob = Session::of(&service, BOB);
    let path = "/settings/integrations/webhooks";
    let shown = bob.get(path).expect(200).text();
    for button in ["Add webhook", "Rotate secret", "Pause", "Edit…", "Remove"] {
        assert!(!shown.contains(button), "{button}");
    }
    assert!(shown.contains(">Test<"));
    bob.get(&format!("{path}/new")).expect(403);
    let fields = [("url", "https://hooks.acme.test"), ("job.new", "on")];
    bob.post(path, &fields).expect(403);
    for action in ["rotate", "pause", "resume", "remove", "edit"] {
        bob.post(&format!("{path}/wh_org/{action}"), &fields).expect(403);
        // Nor through a campaign's page, which shows it.
        let elsewhere = format!("/campaigns/camp_ext/integrations/wh_org/{action}");
        bob.post(&elsewhere, &fields).expect(404);
    }
    // There is no lead, so the page offers nothing and says so.
    let tested = bob.post(&format!("{path}/wh_org/test"), &[]).expect(200).text();
    assert!(tested.contains("there is no lead to test with yet"), "{tested}");
    bob.post(&format!("{path}/wh_none/test"), &[]).expect(404);
}
