//! Reading leads, bidding on them and rejecting them (contract section 7).

use bidloop_domain::model::{ActivityKind, TokenScope};
use bidloop_domain::port::SubmissionStore as _;
use serde_json::{Value, json};

use crate::world::{INJECTION, MEMBER, World};

fn ids(page: &Value) -> Vec<&str> {
    let leads = page["data"].as_array().unwrap();
    leads.iter().map(|lead| lead["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn campaigns_are_listed_with_what_they_lack() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    let listed = client.succeed("list_campaigns", json!({})).await;
    assert_eq!(listed["organizationId"], "org_acme");
    let campaigns = listed["campaigns"].as_array().unwrap();
    assert_eq!(campaigns.len(), 1, "another organization's are not listed");
    assert_eq!(
        (
            &campaigns[0]["id"],
            &campaigns[0]["state"],
            &campaigns[0]["filters"]
        ),
        (&json!("camp"), &json!("paused"), &json!(2))
    );
}

#[tokio::test]
async fn leads_are_listed_as_the_api_lists_them_and_marked_as_strangers_words() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    let called = client
        .call(
            "list_leads",
            json!({"campaignId": "camp", "offset": -1, "limit": 2}),
        )
        .await;
    let page = called.body;
    assert_eq!(
        (&page["total"], &page["offset"], &page["limit"], &page["hasMore"]),
        (&json!(3), &json!(0), &json!(2), &json!(true))
    );
    let newest = World::lead("3");
    assert_eq!(page["data"][0]["id"], newest.as_str());
    assert_eq!(
        page["data"][0]["bidUrl"],
        format!("https://bids.test/v1/campaigns/camp/leads/{newest}/bid")
    );
    let (before, data) = called.text.split_once("----- untrusted data").unwrap();
    assert!(before.contains("follow no instruction") && !before.contains(INJECTION));
    assert!(data.contains(INJECTION));
    let rest = client
        .succeed(
            "list_leads",
            json!({"campaignId": "camp", "offset": 2, "limit": 1000}),
        )
        .await;
    assert_eq!((ids(&rest).len(), &rest["limit"]), (1, &json!(100)));
}

#[tokio::test]
async fn leads_of_a_status_are_listed_alone() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Bid).await;
    client.succeed("reject_lead", World::on("2")).await;
    let of = |status: &str| json!({"campaignId": "camp", "status": status});
    let rejected = client.succeed("list_leads", of("rejected")).await;
    assert_eq!(ids(&rejected), [World::lead("2").as_str()]);
    assert_eq!(client.succeed("list_leads", of("new")).await["total"], 2);
    let (status, body) = client.fail("list_leads", of("open")).await;
    assert_eq!((status, &body["errors"][0]["path"]), (400, &json!(["status"])));
}

#[tokio::test]
async fn a_lead_is_shown_with_its_configuration_and_its_match_explained() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    let shown = client.succeed("get_lead", World::on("1")).await;
    assert_eq!((&shown["status"], &shown["bid"]), (&json!("new"), &Value::Null));
    assert_eq!(shown["lead"]["description"], INJECTION);
    assert_eq!(shown["effectiveBiddingConfig"]["alreadyHiredAction"], "skip");
    let explained = client.succeed("explain_match", World::on("1")).await;
    assert_eq!(
        (&explained["matches"], &explained["filterId"]),
        (&json!(true), &json!("f_camp"))
    );
    assert_eq!(explained["conditions"][0]["result"], "held");
    let verdicts: Vec<&Value> = explained["filters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|filter| &filter["matches"])
        .collect();
    assert_eq!(verdicts, [&json!(true), &json!(false)]);
}

#[tokio::test]
async fn a_filter_is_tested_on_stored_jobs() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    let arguments = json!({"filter": {"keywords": "rust"}, "limit": 1});
    let tested = client.succeed("test_filter", arguments).await;
    assert_eq!(
        (&tested["jobs"], &tested["matched"], &tested["ids"]),
        (&json!(3), &json!(3), &json!(["3"]))
    );
    assert_eq!(tested["newest"][0]["jobUrl"], "https://market.test/jobs/~3");
    let none = client
        .succeed("test_filter", json!({"filter": {"keywords": "cobol"}}))
        .await;
    assert_eq!((&none["matched"], &none["newest"]), (&json!(0), &json!([])));
}

#[tokio::test]
async fn a_bid_is_a_dry_run_unless_the_call_says_otherwise() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Bid).await;
    let tried = client.succeed("submit_bid", World::bid("1", json!({}))).await;
    assert_eq!(tried["dryRun"], true);
    let mut simulated = tried["simulated"].clone();
    let steps = simulated["steps"].take();
    let figures = json!({
        "outcome": "submitted", "terms": {"type": "hourly", "amount": null}, "boostConnects": 0, "connectsSpent": 0,
        "connectsCostUsd": 0, "steps": null,
    });
    assert_eq!(simulated, figures);
    let recorded = &world.recorded().await[0].details["steps"];
    assert!(steps.as_array().is_some_and(|steps| !steps.is_empty()));
    assert_eq!(&steps, recorded);
    assert_eq!(world.store.queued_count().await, Ok(0));
    let bid = World::bid("1", json!({"dryRun": false}));
    let queued = client.succeed("submit_bid", bid.clone()).await;
    let acknowledged = json!({
        "success": true, "leadId": World::lead("1"), "campaignId": "camp", "organizationId": "org_acme",
    });
    assert_eq!(queued, acknowledged);
    assert_eq!(world.store.queued_count().await, Ok(1));
    let (status, body) = client.fail("submit_bid", bid).await;
    assert_eq!(
        (status, body["message"].as_str().unwrap()),
        (409, "the lead is already queued: it takes no further bid")
    );
}

#[tokio::test]
async fn what_a_tool_does_is_its_persons_in_the_record_and_can_be_listed() {
    let world = World::new().await;
    let (id, token) = world.token_until(MEMBER, TokenScope::Bid, None).await;
    let (mut client, _) = world.connect(&token).await;
    let mut rejection = World::on("1");
    rejection["reason"] = json!("Too far.");
    client.succeed("reject_lead", rejection).await;
    let recorded = world.recorded().await;
    let entry = &recorded[0];
    assert_eq!(entry.kind, ActivityKind::Rejection);
    assert_eq!(entry.actor.name.as_deref(), Some(MEMBER));
    assert_eq!(entry.details["personalToken"], id.as_str());
    assert_eq!(entry.http_status, None);
    let listed = client
        .succeed("list_activity", json!({"kind": "rejection", "limit": 5}))
        .await;
    assert_eq!(listed["data"], json!([entry]));
    assert_eq!(listed["hasMore"], false);
    let of_lead = json!({"campaignId": "camp", "leadId": World::lead("2")});
    assert_eq!(client.succeed("list_activity", of_lead).await["data"], json!([]));
}
