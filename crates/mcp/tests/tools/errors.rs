//! The errors of tools: the API's own bodies (contract section 7).

use std::sync::Arc;

use bidloop_domain::model::TokenScope;
use bidloop_domain::use_case::ListCampaigns;
use bidloop_fakes::PanickingClock;
use serde_json::json;

use crate::world::{INJECTION, MEMBER, OWNER, World};

#[tokio::test]
async fn what_is_unknown_or_anothers_is_404() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Bid).await;
    let unknown = World::on("4");
    let foreign = json!({"campaignId": "other", "leadId": World::lead("1")});
    for (arguments, message) in [(unknown, "lead not found"), (foreign, "campaign not found")] {
        for tool in ["get_lead", "explain_match", "reject_lead"] {
            let (status, body) = client.fail(tool, arguments.clone()).await;
            assert_eq!((status, &body["message"]), (404, &json!(message)), "{tool}");
        }
    }
    let no_id = json!({"campaignId": "no/id"});
    assert_eq!(client.fail("list_leads", no_id).await.0, 404);
}

#[tokio::test]
async fn every_fault_of_the_arguments_is_reported_with_its_path() {
    let world = World::new().await;
    let mut client = world.client(OWNER, TokenScope::Manage).await;
    for (tool, arguments, paths) in [
        ("list_campaigns", json!({"x": 1}), json!([["x"]])),
        (
            "get_lead",
            json!({"leadId": 1}),
            json!([["campaignId"], ["leadId"]]),
        ),
        (
            "test_filter",
            json!({"filter": {"keywords": "("}}),
            json!([["filter", "keywords"]]),
        ),
        ("list_activity", json!({"kind": "bids"}), json!([["kind"]])),
        (
            "submit_bid",
            World::bid(
                "1",
                json!({"coverLetter": " ", "biddingConfig": {"minBoost": -1}, "x": 1}),
            ),
            json!([["coverLetter"], ["biddingConfig", "minBoost"], ["x"]]),
        ),
        (
            "submit_bid",
            json!({"coverLetter": "Hello"}),
            json!([["campaignId"], ["leadId"]]),
        ),
        (
            "create_api_key",
            json!({"expiresAt": "soon"}),
            json!([["name"], ["expiresAt"]]),
        ),
        ("revoke_api_key", json!({}), json!([["id"]])),
    ] {
        let (status, body) = client.fail(tool, arguments).await;
        let faults = body["errors"].as_array().unwrap();
        let mut found: Vec<_> = faults.iter().map(|fault| fault["path"].to_string()).collect();
        let mut expected: Vec<_> = paths
            .as_array()
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        found.sort();
        expected.sort();
        assert_eq!((status, found), (400, expected), "{tool}");
        assert_eq!(body["error"], "Bad Request");
    }
}

#[tokio::test]
async fn a_leads_questions_in_an_error_are_marked_as_strangers_words() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Bid).await;
    let called = client.call("submit_bid", World::bid("2", json!({}))).await;
    let error = &called.body["errors"][0];
    assert_eq!(
        (&error["code"], &error["options"]),
        (&json!("question_mismatch"), &json!([INJECTION]))
    );
    assert!(called.is_error && called.text.starts_with("Other people wrote texts in `errors`."));
}

#[tokio::test]
async fn with_a_lapsed_subscription_reading_goes_on_and_nothing_acts() {
    let world = World::new().await;
    let mut client = world.client(OWNER, TokenScope::Manage).await;
    world.lapse().await;
    client.succeed("list_leads", json!({"campaignId": "camp"})).await;
    let listed = client.succeed("list_campaigns", json!({})).await;
    assert_eq!(listed["subscription"], "canceled");
    for (tool, arguments) in [
        ("submit_bid", World::bid("1", json!({}))),
        ("submit_bid", World::bid("1", json!({"dryRun": false}))),
        ("reject_lead", World::on("1")),
        ("create_api_key", json!({"name": "CI"})),
    ] {
        let (status, body) = client.fail(tool, arguments).await;
        let message = body["message"].as_str().unwrap();
        assert!(
            status == 401 && message.contains("no active paid subscription"),
            "{tool}: {body}"
        );
    }
    assert_eq!(client.succeed("get_lead", World::on("1")).await["status"], "new");
}

#[tokio::test]
async fn an_unknown_tool_is_an_error_of_the_protocol() {
    let world = World::new().await;
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    let params = json!({"name": "delete_everything", "arguments": {}});
    let error = client.ask("tools/call", params).await.unwrap_err();
    assert_eq!(error["code"], -32_602);
}

#[tokio::test]
async fn a_read_that_panics_is_an_internal_error_of_its_call_alone() {
    let mut world = World::new().await;
    world.server.list_campaigns = Arc::new(ListCampaigns {
        store: world.store.clone(),
        statistics: world.store.clone(),
        clock: Arc::new(PanickingClock),
    });
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    for _ in 0..2 {
        let (status, body) = client.fail("list_campaigns", json!({})).await;
        assert_eq!(
            (status, &body["message"]),
            (500, &json!("an internal error occurred"))
        );
    }
    client.succeed("get_lead", World::on("1")).await;
}
