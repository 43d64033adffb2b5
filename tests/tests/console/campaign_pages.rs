//! A campaign's pages: its Feed, its filters, bids on its leads, and what the record says of them.

use acceptance::world::id;
use acceptance::{Kind, document, posts};
use serde_json::{Value, json};

use crate::acme::{OPS, PASSWORD, browser_of, started, with_active_campaign};
use crate::session::Session;

on_both_databases!(
    a_filter_is_checked_and_tried_while_it_is_typed,
    a_filter_too_many_is_refused_and_its_form_keeps_what_was_typed,
    a_bid_is_computed_before_it_is_sent_and_its_outcome_recorded,
    an_open_feed_announces_new_leads,
    everybody_who_can_act_is_offered_and_an_empty_record_announces_news,
    nothing_of_another_organization_is_found,
    the_record_is_exported_as_it_is_filtered,
    what_others_wrote_never_runs,
);

fn asking(title: &str, question: &str) -> Value {
    let mut post = posts::hourly(title);
    post["questions"] = json!([question]);
    post
}

fn a_filter_is_checked_and_tried_while_it_is_typed(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    let jobs = ["Rust service", "Rust and Go", "Go service"].map(posts::hourly);
    world.publish(&service, "camp", jobs.to_vec(), 2);
    let browser = browser_of(&service, OPS, "/campaigns/camp/filters?new=1");
    browser.see("3 of 3 stored jobs");
    browser.fill("Name", "Go only");
    browser.fill("Keywords", "go AND AND rust");
    browser.see("^ character 8");
    browser.see("to find the word itself, write `and`");
    browser.see("keywords: character 8");
    browser.see("3 of 3 stored jobs");
    browser.fill("Keywords", "go -rust");
    browser.see("1 of 3 stored jobs");
    browser.see("Missed by one condition");
    browser.fill("Title, job id or address", "rust and go");
    browser.press("Try it");
    browser.see("does not match");
    browser.press("Save filter");
    browser.see("Saved.");
    browser.go("/campaigns/camp/feed");
    browser.see("1 to 3 of 3");
    browser.go("/campaigns/camp/filters");
    browser.follow("Go only");
    browser.follow("Delete filter…");
    browser.see("Delete “Go only”?");
    browser.press("Delete filter");
    browser.see("Deleted.");
}

fn a_filter_too_many_is_refused_and_its_form_keeps_what_was_typed(kind: Kind) {
    let (_world, service) = started(kind, |_| {
        let filters = (0..1_000).map(|number| {
            json!({"id": format!("f_{number}"), "name": format!("Words {number}"), "keywords": "rust"})
        });
        let mut campaign = document::campaign("camp", "rust");
        campaign["filters"] = filters.collect();
        campaign
    });
    let ops = Session::of(&service, OPS);
    let typed = [("action", "save"), ("name", "One more"), ("keywords", "go -rust")];
    let refused = ops.post("/campaigns/camp/filters", &typed).expect(409).text();
    for kept in ["No more than 1000 filters", "value=\"One more\"", "go -rust"] {
        assert!(refused.contains(kept), "{kept}: {refused}");
    }
}

fn a_bid_is_computed_before_it_is_sent_and_its_outcome_recorded(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    world.publish(&service, "camp", vec![asking("Rust service", "Why you?")], 1);
    let browser = browser_of(&service, OPS, "/campaigns/camp/feed");
    browser.follow("Bid…");
    browser.see("What will be sent");
    browser.see("from the live state");
    browser.press("Dry run");
    browser.see("Write a cover letter.");
    browser.fill("Cover letter", "I can start on Monday.");
    browser.press("Dry run");
    browser.see("Answer this question");
    assert_eq!(browser.value("Cover letter"), "I can start on Monday.");
    browser.choose("Rate", "Percentage of the budget");
    browser.see("Nothing would be sent");
    browser.choose("Rate", "Fixed rate");
    browser.fill("Fixed rate", "abc");
    browser.see("biddingFixedHourlyRate must be");
    browser.fill("Fixed rate", "71.50");
    browser.see("$71.50");
    browser.fill("1. Why you?", "Ten years of it.");
    browser.press_first("Submit bid");
    browser.see("Bid queued.");
    browser.see("Proposal submitted");
    let accepted = world.accepted();
    assert_eq!(accepted.len(), 1);
    assert_eq!(accepted[0]["terms"]["amount"], 71.5, "{accepted:#?}");
    browser.go("/activity?kind=submission");
    browser.see("Proposal submitted: USD 71.50 hourly");
    browser.see("Submitted");
    browser.go("/?period=24h");
    browser.see("of 1 bid");
    browser.go("/campaigns/camp/feed");
    browser.see("Proposed $71.50/h");
}

fn an_open_feed_announces_new_leads(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    world.publish(&service, "camp", vec![posts::hourly("Rust service")], 1);
    let browser = browser_of(&service, OPS, "/campaigns/camp/feed");
    browser.see("1 to 1 of 1");
    world.publish(&service, "camp", vec![posts::hourly("Rust again")], 2);
    browser.follow("Show 1 new lead");
    browser.see("Rust again");
}

fn nothing_of_another_organization_is_found(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    let leads = world.publish(&service, "camp", vec![posts::hourly("Rust service")], 1);
    let lead = id(&leads[0]);
    let mut other = acceptance::document::organization();
    other["id"] = json!("org_other");
    other["users"] = json!([{"email": "eve@other.test", "password": PASSWORD}]);
    other["apiKeys"] = json!([]);
    world.installation.apply(&acceptance::document::document(other));
    let session = Session::of(&service, "eve@other.test");
    for path in [
        "/campaigns/camp/feed".to_owned(),
        "/campaigns/camp/feed/live?since=0".to_owned(),
        "/campaigns/camp/activity".to_owned(),
        "/campaigns/camp/filters".to_owned(),
        "/campaigns/camp/filters/f_camp".to_owned(),
        "/campaigns/camp/edit".to_owned(),
        format!("/campaigns/camp/leads/{lead}"),
        format!("/campaigns/camp/leads/{lead}/bid"),
        format!("/campaigns/camp/leads/{lead}/reject"),
    ] {
        let answer = session.get(&path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(!answer.text().contains("Rust service"), "{path}");
    }
    let bid = [("coverLetter", "Mine."), ("action", "submit")];
    let answer = session.post(&format!("/campaigns/camp/leads/{lead}/bid"), &bid);
    assert_eq!(answer.status, 404);
    for path in ["/activity", "/activity.csv", "/"] {
        let page = session.get(path).expect(200).text();
        assert!(!page.contains("Rust service") && !page.contains(lead), "{path}");
    }
}

fn the_record_is_exported_as_it_is_filtered(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    let leads = world.publish(&service, "camp", vec![posts::hourly("Rust service")], 1);
    world.deliveries("job.new", 1);
    let session = Session::of(&service, OPS);
    let path = format!("/campaigns/camp/leads/{}/reject", id(&leads[0]));
    session
        .post(&path, &[("reason", "=cmd(), too small")])
        .expect(303);
    let csv = session.get("/activity.csv?kind=rejection").expect(200);
    assert_eq!(csv.header("content-type"), Some("text/csv; charset=utf-8"));
    let csv = csv.text();
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("id,at,kind,"), "{csv}");
    assert_eq!(lines.len(), 2, "{csv}");
    assert!(
        lines[1].contains(",rejection,accepted,user,ops@acme.test,"),
        "{csv}"
    );
}

/// Texts that would run if they were not escaped.
const HOSTILE: &str =
    "<script>window.owned=1</script><img src=x onerror=\"window.owned=1\">\"'><svg onload=window.owned=1>";

fn what_others_wrote_never_runs(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    let mut post = asking(&format!("Rust {HOSTILE}"), HOSTILE);
    post["description"] = json!(HOSTILE);
    post["skills"] = json!([{"name": HOSTILE}]);
    post["clientInfo"] = json!({"country": HOSTILE, "companyIndustry": HOSTILE});
    post["attachments"] = json!([{"fileName": HOSTILE, "uri": "javascript:window.owned=1"}]);
    let leads = world.publish(&service, "camp", vec![post], 1);
    let lead = id(&leads[0]).to_owned();
    let browser = browser_of(&service, OPS, "/campaigns/camp/feed");
    let paths = [
        "/campaigns/camp/feed".to_owned(),
        format!("/campaigns/camp/leads/{lead}"),
        format!("/campaigns/camp/leads/{lead}/bid"),
        format!("/campaigns/camp/leads/{lead}/reject"),
        "/campaigns/camp/filters".to_owned(),
        "/activity".to_owned(),
        "/campaigns/camp/activity".to_owned(),
        "/".to_owned(),
    ];
    for path in &paths {
        browser.go(path);
        assert_eq!(
            browser.script("return String(window.owned)"),
            "undefined",
            "{path}"
        );
        let links = browser.script(
            "return [...document.links].map(l => l.protocol).filter(p => !/^https?:$/.test(p)).join()",
        );
        assert_eq!(links, "", "{path}");
    }
    let session = Session::of(&service, OPS);
    let reject = format!("/campaigns/camp/leads/{lead}/reject");
    session.post(&reject, &[("reason", HOSTILE)]).expect(303);
    for path in &paths {
        browser.go(path);
        assert_eq!(
            browser.script("return String(window.owned)"),
            "undefined",
            "{path}"
        );
    }
}

fn everybody_who_can_act_is_offered_and_an_empty_record_announces_news(kind: Kind) {
    let (world, service) = with_active_campaign(kind);
    let page = Session::of(&service, OPS)
        .get("/activity?kind=rejection")
        .expect(200)
        .text();
    for offered in ["user:ops@acme.test", "user:bob@acme.test", "api_key:"] {
        assert!(
            page.contains(&format!("<option value=\"{offered}")),
            "{offered} in {page}"
        );
    }
    let browser = browser_of(&service, OPS, "/activity?kind=rejection");
    browser.see("Nothing fits these filters");
    let leads = world.publish(&service, "camp", vec![posts::hourly("Rust service")], 1);
    let reject = format!("/v1/campaigns/camp/leads/{}/reject", id(&leads[0]));
    service.api().post_json(&reject, &json!({})).expect(200);
    browser.follow("Show 1 new record");
    browser.see("Lead rejected.");
}
