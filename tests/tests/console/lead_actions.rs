//! What people do with leads by clicking: Trigger and Reopen (decisions B1, E4 and E6).

use acceptance::world::STEP;
use acceptance::{Kind, Service, World, document, eventually, posts};
use serde_json::json;

use crate::acme::{self, OPS, browser_of};
use crate::session::Session;

on_both_databases!(
    a_lead_is_triggered_from_the_feed_and_its_page_says_how_it_ended,
    a_skipped_lead_is_reopened_and_a_rejected_one_is_not,
    a_lapsed_subscription_is_said_on_every_page_and_refuses_what_acts,
    a_refused_action_makes_no_lead_and_an_accepted_one_does,
    a_form_that_a_lapsed_subscription_refuses_keeps_what_was_typed,
);

/// Acme with the owner Ops and the active campaign `camp_ext`, which has one lead of a job with this state.
fn started(kind: Kind, job: &serde_json::Value) -> (World, Service, String) {
    let (world, service) = acme::started(kind, |world| world.external(document::EXTERNAL, "rust"));
    let mut post = posts::hourly("A rust service");
    post["id"] = "job-1".into();
    let leads = world.publish(&service, document::EXTERNAL, vec![post], 1);
    world.simulator.patch_job("job-1", job.clone()).unwrap();
    world.deliveries("job.new", 1);
    let lead = leads[0]["id"].as_str().unwrap().to_owned();
    (world, service, lead)
}

/// Ends the subscription of Acme, which has this campaign.
fn lapse(world: &World, campaign: &serde_json::Value) {
    let mut organization = acme::organization(world, std::slice::from_ref(campaign));
    organization["subscription"]["status"] = "past_due".into();
    world.installation.apply(&document::document(organization));
}

fn a_lead_is_triggered_from_the_feed_and_its_page_says_how_it_ended(kind: Kind) {
    let (world, service, lead) = started(kind, &json!({}));
    let browser = browser_of(&service, OPS, "/campaigns/camp_ext/feed");
    browser.press("Trigger");
    browser.see("Triggered.");
    browser.see("answered 200 in");
    assert!(
        browser
            .path()
            .starts_with(&format!("/campaigns/camp_ext/leads/{lead}?tried="))
    );
    let deliveries = world.deliveries("job.new", 2);
    assert_eq!(deliveries[0].data(), deliveries[1].data());
    assert_ne!(deliveries[0].id(), deliveries[1].id());
    assert_eq!(deliveries[1].header("x-service-test"), None);
    let activity = world.installation.activity(&["--lead", &lead]);
    let actors: Vec<_> = activity.iter().map(|entry| &entry["actor"]["name"]).collect();
    assert!(actors.contains(&&json!(OPS)), "{actors:?}");
}

fn a_skipped_lead_is_reopened_and_a_rejected_one_is_not(kind: Kind) {
    let (world, service, lead) = started(kind, &json!({"alreadyHired": true}));
    let bid = format!("/v1/campaigns/camp_ext/leads/{lead}/bid");
    let letter = json!({"coverLetter": "Hello", "questionAnswerPairs": []});
    service.api().post_json(&bid, &letter).expect(200);
    assert_eq!(world.bid_complete(&lead)["outcome"], "skipped");
    let page = format!("/campaigns/camp_ext/leads/{lead}");
    let browser = browser_of(&service, OPS, &page);
    browser.press("Reopen");
    browser.see("Lead reopened.");
    browser.press("Reject…");
    browser.press("Reject lead");
    browser.see("Lead rejected.");
    let ops = Session::of(&service, OPS);
    let shown = ops.get(&page).expect(200).text();
    assert!(!shown.contains(">Reopen<") && !shown.contains(">Trigger<"));
    ops.post(&format!("{page}/reopen"), &[]).expect(409);
    ops.post(&format!("{page}/trigger"), &[]).expect(409);
    ops.post(&format!("{page}/settle"), &[("found", "no")])
        .expect(409);
    ops.post("/campaigns/camp_none/leads/ld_1/reopen", &[])
        .expect(404);
}

fn a_lapsed_subscription_is_said_on_every_page_and_refuses_what_acts(kind: Kind) {
    let (world, service, lead) = started(kind, &json!({}));
    lapse(&world, &world.external(document::EXTERNAL, "rust"));
    let ops = Session::of(&service, OPS);
    let page = format!("/campaigns/camp_ext/leads/{lead}");
    for path in [
        "/",
        "/campaigns",
        "/campaigns/camp_ext/feed",
        "/campaigns/camp_ext/integrations",
        "/settings/integrations/webhooks",
        "/settings/accounts",
        "/settings/billing",
        &page,
    ] {
        let shown = ops.get(path).expect(200).text();
        assert!(shown.contains("The subscription is past due."), "{path}");
    }
    ops.post(&format!("{page}/trigger"), &[]).expect(409);
    ops.post("/settings/integrations/webhooks/wh_org/test", &[])
        .expect(409);
    assert_eq!(world.receiver.deliveries().len(), 1);
}

/// The address of the one match in the Feed, which nothing has made a lead yet: its path, and its job.
fn matched(world: &World, ops: &Session<'_>) -> (String, String) {
    world
        .simulator
        .publish(vec![posts::hourly("A rust service")])
        .unwrap();
    let address = eventually("a card in the Feed", STEP, || {
        let feed = ops.get("/campaigns/camp_ext/feed").expect(200).text();
        let from = feed.find("/campaigns/camp_ext/leads/")?;
        Some(feed[from..].split('"').next()?.to_owned())
    });
    let (path, query) = address.split_once("?job=").expect("a match without a record");
    (path.to_owned(), query.to_owned())
}

fn a_refused_action_makes_no_lead_and_an_accepted_one_does(kind: Kind) {
    let (world, service) = acme::with_paused_campaign(kind);
    let ops = Session::of(&service, OPS);
    let (path, job) = matched(&world, &ops);
    let lead = path.rsplit('/').next().unwrap();
    let is_a_lead = || {
        world
            .installation
            .run(&["leads", "show", "--lead", lead, "--json"])
            .status
            == 0
    };
    let of_match = ("job", job.as_str());
    // The campaign has no receiver, and the bid no letter.
    ops.post(&format!("{path}/trigger"), &[of_match]).expect(409);
    let bid = format!("{path}/bid");
    ops.post(&bid, &[of_match, ("action", "submit")]).expect(200);
    let dry_run = [of_match, ("action", "dry_run"), ("coverLetter", "Hello")];
    let page = ops.post(&bid, &dry_run).expect(303);
    assert!(!is_a_lead());
    ops.get(page.header("location").unwrap()).expect(200);

    let campaign = document::campaign(document::EXTERNAL, "rust");
    lapse(&world, &campaign);
    ops.post(&format!("{path}/reject"), &[of_match]).expect(409);
    let letter = [of_match, ("action", "submit"), ("coverLetter", "Hello")];
    ops.post(&bid, &letter).expect(409);
    ops.post(&format!("{path}/configure"), &[of_match, ("minBoost", "2")])
        .expect(409);
    assert!(!is_a_lead());

    let active = acme::organization(&world, &[campaign]);
    world.installation.apply(&document::document(active));
    ops.post(&format!("{path}/reject"), &[of_match]).expect(303);
    assert!(is_a_lead());
    assert_eq!(ops.get(&path).expect(200).status, 200);
}

fn a_form_that_a_lapsed_subscription_refuses_keeps_what_was_typed(kind: Kind) {
    let (world, service, lead) = started(kind, &json!({}));
    lapse(&world, &world.external(document::EXTERNAL, "rust"));
    let ops = Session::of(&service, OPS);
    let page = format!("/campaigns/camp_ext/leads/{lead}");
    let refused = |path: &str, fields: &[(&str, &str)]| {
        let shown = ops.post(&format!("{page}{path}"), fields).expect(409).text();
        assert!(shown.contains("The subscription is not active."), "{shown}");
        assert!(shown.contains("<form"), "{shown}");
        shown
    };
    let letter = [
        ("action", "submit"),
        ("coverLetter", "I can start on Monday."),
        ("biddingMinHourlyRate", "41.5"),
    ];
    let bid = refused("/bid", &letter);
    assert!(
        bid.contains("I can start on Monday.") && bid.contains("value=\"41.5\""),
        "{bid}"
    );
    let reject = refused("/reject", &[("reason", "Too far away.")]);
    assert!(reject.contains("Too far away."), "{reject}");
    let own = refused("/configure", &[("minBoost", "7")]);
    assert!(own.contains("value=\"7\""), "{own}");
}
