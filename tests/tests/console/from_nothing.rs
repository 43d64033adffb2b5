//! From an empty installation to the outcomes of bids, by clicking (decisions D1, E3 and E6).

use acceptance::{Kind, World, document, eventually, posts, world};
use bidloop_simulator::caller::ReceiverOptions;
use serde_json::{Value, json};

use crate::acme::{OPS, PASSWORD, stranger};
use crate::browser::Browser;
use crate::signing_in::first_code;

on_both_databases!(a_newcomer_gets_from_an_empty_installation_to_the_outcomes_of_bids);

/// Sets the installation up, and answers an API key.
fn organization_and_key(browser: &Browser, code: &str) -> String {
    browser.go("/");
    browser.fill("One-time code", code);
    browser.fill("Organization", "Acme");
    browser.fill("Your e-mail", OPS);
    browser.fill("Password", PASSWORD);
    browser.press("Create organization");
    browser.follow("Settings");
    browser.press("Create key");
    browser.fill("Name", "Proposal writer");
    browser.press("Create key");
    let key = browser.content("#secret");
    browser.follow("I have copied it");
    key
}

/// Makes a campaign over one filter that submits with an account and sends its events to `url`.
fn campaign(browser: &Browser, url: &str) {
    browser.follow("Bidder accounts");
    browser.press("Connect account…");
    browser.fill("Token", document::TOKEN);
    browser.press("Connect account");
    browser.see("Account connected");

    browser.follow("Campaigns");
    browser.follow("Create a campaign");
    browser.fill("Name", "Rust work");
    browser.press_label("External");
    browser.press("Create campaign");
    browser.see("Before it can start");
    browser.follow("A saved filter");
    browser.fill("Name", "Rust");
    browser.fill("Keywords", "rust");
    browser.press("Save filter");
    browser.see("Saved.");
    browser.follow("Bidding");
    browser.choose("Bid with", "Jane's profile");
    browser.press("Change account");
    browser.see("Connected");
    browser.follow("Change Rate");
    browser.choose("Rate", "Fixed rate");
    browser.fill("Fixed rate", "45");
    browser.press("Save setting");
    browser.see("Saved.");
    browser.follow("Integrations");
    browser.press("Add webhook…");
    browser.fill("Address", url);
    browser.press_label("bid_complete");
    browser.press("Add webhook");
    browser.see("Shown once.");
    browser.follow("I have copied it");
}

fn a_newcomer_gets_from_an_empty_installation_to_the_outcomes_of_bids(kind: Kind) {
    let world = World::new(kind);
    let account =
        json!({"id": "market-1", "name": "Jane's profile", "connectsBalance": 500, "profileHourlyRate": 50});
    world.simulator.put_account(document::TOKEN, account).unwrap();
    let receiver = world.another_receiver(ReceiverOptions::default());
    let url = receiver.url("/jobs");
    let service = world.installation.serve();
    let browser = stranger(&service);
    let key = organization_and_key(&browser, &first_code(&service));
    campaign(&browser, &url);
    let path = browser.path();
    let campaign = path.split('/').nth(2).unwrap();
    let api = service.api_with(Some(&key));

    // A paused campaign lists what matches, and sends nothing by itself.
    world
        .simulator
        .publish(vec![posts::hourly("Rust for a test")])
        .unwrap();
    world::listed(&api, campaign, 1);
    browser.press(&format!("Test job.new {url}"));
    browser.see("Test delivered.");
    assert_eq!(receiver.deliveries()[0].header("x-service-test"), Some("true"));
    browser.press("Start");
    browser.see("Active");

    let jobs = ["Rust by hand", "Rust by program"].map(posts::hourly);
    world.simulator.publish(jobs.to_vec()).unwrap();
    let lead_of = |title: &str| {
        let job: Value = eventually(&format!("the job.new of {title}"), world::STEP, || {
            let all = receiver.deliveries();
            let of_title = |data: &&Value| data.to_string().contains(title);
            all.iter().map(|delivery| delivery.data()).find(of_title).cloned()
        });
        job["leadId"].as_str().unwrap().to_owned()
    };
    let (by_hand, by_program) = (lead_of("Rust by hand"), lead_of("Rust by program"));
    browser.follow("Integrations");
    browser.follow(&url);
    browser.see("Last deliveries");
    browser.see("Rust by program");
    browser.follow("200 Open this delivery");
    browser.see("x-service-delivery-id:");

    browser.follow("Rust by hand");
    browser.wait_for_path(&format!("/campaigns/{campaign}/leads/{by_hand}"));
    browser.follow("Bid…");
    browser.fill("Cover letter", "I can start on Monday.");
    browser.press_first("Submit bid");
    browser.see("Proposal submitted");
    let bid = world::path(campaign, &by_program, "bid");
    api.post_json(&bid, &world::bid()).expect(200);
    eventually("two proposals", world::STEP, || {
        (world.accepted().len() == 2).then_some(())
    });
    for lead in [&by_hand, &by_program] {
        eventually(&format!("the bid_complete of {lead}"), world::STEP, || {
            let all = receiver.deliveries();
            let of_lead = all
                .iter()
                .find(|one| one.event() == "bid_complete" && one.data()["leadId"] == **lead);
            of_lead.map(|one| assert_eq!(one.data()["outcome"], "submitted"))
        });
    }

    browser.follow("Overview");
    browser.see("of 2 bids");
    browser.follow("Activity");
    browser.choose("Kind", "Bid");
    browser.press("Show");
    browser.see("Proposal writer");
    browser.see(OPS);
    assert!(browser.path().contains("kind=bid"), "{}", browser.path());
    browser.follow("Rust by program");
    browser.wait_for_path(&format!("/campaigns/{campaign}/leads/{by_program}"));
    browser.see("Proposal submitted");
    browser.see("I have done this before.");
    let log = service.log();
    assert!(!log.contains("a page cannot be shown"), "{log}");
}
