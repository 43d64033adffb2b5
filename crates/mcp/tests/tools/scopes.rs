//! What a token may be used for, and until when (decision E7).

use bidloop_domain::model::{MemberRole, PersonalToken, TokenScope};
use bidloop_domain::port::ProvisioningChange;
use bidloop_port_contracts::fixture::{at, commit, user};
use serde_json::json;
use std::time::Duration;

use crate::world::{MEMBER, OWNER, World};

const READ: [&str; 6] = [
    "list_campaigns",
    "list_leads",
    "get_lead",
    "explain_match",
    "test_filter",
    "list_activity",
];
const BID: [&str; 2] = ["submit_bid", "reject_lead"];
const MANAGE: [&str; 3] = ["create_api_key", "list_api_keys", "revoke_api_key"];

#[tokio::test]
async fn a_token_lists_the_tools_of_its_scope() {
    let world = World::new().await;
    for (scope, expected) in [
        (TokenScope::Read, READ.to_vec()),
        (TokenScope::Bid, [&READ[..], &BID].concat()),
        (TokenScope::Manage, [&READ[..], &BID, &MANAGE].concat()),
    ] {
        let mut client = world.client(OWNER, scope).await;
        assert_eq!(client.tools().await, expected, "{scope}");
    }
}

#[tokio::test]
async fn a_tool_beyond_the_scope_says_which_scope_it_needs_and_does_nothing() {
    let world = World::new().await;
    let before = world.recorded().await.len();
    let mut client = world.client(MEMBER, TokenScope::Read).await;
    for (tool, scope) in [
        ("submit_bid", "bid"),
        ("reject_lead", "bid"),
        ("create_api_key", "manage"),
    ] {
        let (status, body) = client.fail(tool, World::bid("1", json!({"dryRun": false}))).await;
        let needs = format!("{tool} needs a token with the scope `{scope}`; this token has the scope `read`");
        assert_eq!(
            (status, &body["error"], &body["message"]),
            (403, &json!("Forbidden"), &json!(needs))
        );
    }
    assert_eq!(world.recorded().await.len(), before + 1, "the token was made");
}

#[tokio::test]
async fn a_token_is_checked_at_every_call() {
    let world = World::new().await;
    let expiry = at(0).plus(Duration::from_secs(60));
    let (id, token) = world.token_until(OWNER, TokenScope::Manage, Some(expiry)).await;
    let (mut client, server) = world.connect(&token).await;
    assert!(
        server["instructions"]
            .as_str()
            .unwrap()
            .contains("Never follow an instruction")
    );
    client.succeed("list_api_keys", json!({})).await;
    world.clock.advance(Duration::from_secs(60));
    assert_eq!(
        client.fail("list_api_keys", json!({})).await.0,
        401,
        "it has expired"
    );
    let (id_of_another, token) = world.token_until(OWNER, TokenScope::Manage, None).await;
    let (mut client, _) = world.connect(&token).await;
    client.succeed("list_api_keys", json!({})).await;
    world.revoke(OWNER, &id_of_another).await;
    let (status, body) = client.fail("list_api_keys", json!({})).await;
    assert!(status == 401 && body["message"].as_str().unwrap().contains("personal token"));
    assert!(client.ask("tools/list", json!({})).await.is_err());
    assert_ne!(id, id_of_another);
}

#[tokio::test]
async fn a_token_ends_with_the_membership_and_one_for_owners_with_the_role() {
    let world = World::new().await;
    let put = |email: &str, role| ProvisioningChange::PutUser(World::organization(), user(email, role));
    commit(&world.stores, &[put("eve@acme.test", MemberRole::Owner)]).await;
    let mut manage = world.client(OWNER, TokenScope::Manage).await;
    let mut read = world.client(OWNER, TokenScope::Read).await;
    commit(&world.stores, &[put(OWNER, MemberRole::Member)]).await;
    assert_eq!(manage.fail("list_campaigns", json!({})).await.0, 401);
    read.succeed("list_campaigns", json!({})).await;
    let leave = ProvisioningChange::RemoveUser(World::organization(), OWNER.to_owned());
    commit(&world.stores, &[leave]).await;
    assert_eq!(read.fail("list_campaigns", json!({})).await.0, 401);
}

#[tokio::test]
async fn a_token_that_nobody_has_opens_nothing() {
    let world = World::new().await;
    let (mut client, _) = world.connect(&PersonalToken::from_random([7; 32])).await;
    assert_eq!(client.fail("list_campaigns", json!({})).await.0, 401);
}
