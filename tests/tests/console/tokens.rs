//! Personal tokens (decision E7): by page and by command, and refused by the HTTP API.

use acceptance::document::EXTERNAL;
use acceptance::{Installation, Kind};
use serde_json::{Value, json};

use crate::acme::{BOB, OPS, browser_of, with_paused_campaign};
use crate::session::Session;

on_both_databases!(
    a_person_makes_a_token_sees_it_once_and_revokes_it,
    a_token_is_made_listed_and_revoked_by_command,
    the_http_api_refuses_personal_tokens,
);

fn tokens(installation: &Installation, command: &str, more: &[&str]) -> acceptance::Finished {
    let mut arguments = vec![
        "tokens",
        command,
        "--organization",
        "org_acme",
        "--user",
        BOB,
        "--json",
    ];
    arguments.extend(more);
    installation.run(&arguments)
}

fn create(installation: &Installation, scope: &str) -> Value {
    let made = tokens(installation, "create", &["--name", "Editor", "--scope", scope]);
    made.expect(0).json()
}

fn a_person_makes_a_token_sees_it_once_and_revokes_it(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let browser = browser_of(&service, BOB, "/settings/tokens");
    browser.see("No tokens yet");
    browser.press("Create token");
    browser.see("Which tool will use it.");
    assert!(!browser.text().contains("manage keys"), "{}", browser.text());
    browser.fill("Name", "Editor");
    browser.press("Create token");
    browser.see("Token “Editor” created");
    let token = browser.content("#secret");
    assert!(token.len() == 67 && token.starts_with("lt_"), "{token}");
    browser.follow("I have copied it");
    browser.wait_for_path("/settings/tokens");
    assert!(!browser.text().contains(&token));

    let ops = Session::of(&service, OPS);
    assert!(!ops.get("/settings/tokens").expect(200).text().contains("Editor"));
    let listed = tokens(&world.installation, "list", &[]).expect(0).json();
    let path = format!("/settings/tokens/{}/revoke", listed[0]["id"].as_str().unwrap());
    ops.get(&path).expect(404);
    ops.post(&path, &[]).expect(404);
    let bob = Session::of(&service, BOB);
    bob.post("/settings/tokens", &[("name", "x"), ("scope", "manage")])
        .expect(403);

    browser.press("Revoke… Editor");
    browser.press("Revoke token");
    browser.see("Token revoked.");
    let record = world.installation.activity(&["--organization", "org_acme"]);
    let messages: Vec<&str> = record
        .iter()
        .filter_map(|line| line["message"].as_str())
        .collect();
    assert_eq!(
        messages,
        [
            "Personal token \"Editor\" of bob@acme.test revoked.",
            "Personal token \"Editor\" of bob@acme.test made, with the scope read.",
        ]
    );
    assert_eq!(record[0]["actor"]["name"], BOB);
    assert!(!format!("{record:?}").contains(&token));
}

fn a_token_is_made_listed_and_revoked_by_command(kind: Kind) {
    let (world, _service) = with_paused_campaign(kind);
    let made = create(&world.installation, "bid");
    let fields: Vec<&String> = made.as_object().unwrap().keys().collect();
    assert_eq!(fields, ["id", "name", "scope", "token"]);
    let listed = tokens(&world.installation, "list", &[]).expect(0);
    assert!(!listed.out.contains(made["token"].as_str().unwrap()));
    let listed = listed.json();
    let fields: Vec<&String> = listed[0].as_object().unwrap().keys().collect();
    let expected = [
        "createdAt",
        "expiresAt",
        "id",
        "lastUsedAt",
        "name",
        "revokedAt",
        "scope",
        "user",
    ];
    assert_eq!(fields, expected);
    assert_eq!(
        (&listed[0]["user"], &listed[0]["scope"]),
        (&json!(BOB), &json!("bid"))
    );
    let id = made["id"].as_str().unwrap();
    tokens(&world.installation, "revoke", &["--id", id]).expect(0);
    let listed = tokens(&world.installation, "list", &[]).expect(0).json();
    assert!(listed[0]["revokedAt"].is_i64());
    let refused = tokens(
        &world.installation,
        "create",
        &["--name", "x", "--scope", "manage"],
    )
    .expect(1);
    assert!(refused.err.contains("only an owner"), "{}", refused.err);
    tokens(&world.installation, "revoke", &["--id", "token_x"]).expect(1);
    tokens(&world.installation, "create", &["--name", "x", "--scope", "all"]).expect(2);
}

fn the_http_api_refuses_personal_tokens(kind: Kind) {
    let (world, service) = with_paused_campaign(kind);
    let made = create(&world.installation, "bid");
    let token = made["token"].as_str().unwrap();
    let path = format!("/v1/campaigns/{EXTERNAL}/leads");
    service.api().get(&path).expect(200);
    let refused = service.api_with(Some(token)).get(&path).expect(401);
    let wrong = format!("lk_{}", "0a".repeat(32));
    let unknown = service.api_with(Some(&wrong)).get(&path).expect(401);
    assert_eq!(refused.json(), unknown.json());
}
