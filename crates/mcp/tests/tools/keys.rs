//! API keys by tool, for owners (decisions D5 and E1).

use bidloop_domain::model::{ApiKey, TokenScope};
use bidloop_domain::port::{ApiKeyStore as _, Clock as _};
use serde_json::json;

use crate::world::{OWNER, World};

#[tokio::test]
async fn a_key_is_created_listed_without_itself_and_revoked() {
    let world = World::new().await;
    let mut client = world.client(OWNER, TokenScope::Manage).await;
    let arguments = json!({"name": "CI", "expiresAt": "2099-01-01T00:00:00Z"});
    let created = client.succeed("create_api_key", arguments).await;
    assert_eq!(
        (&created["id"], &created["name"], &created["expiresAt"]),
        (&json!("key_ci"), &json!("CI"), &json!(4_070_908_800_000_i64))
    );
    let key = ApiKey::parse(created["key"].as_str().unwrap()).unwrap();
    let works = async || {
        let found = world.store.find(&key.hash()).await.unwrap().unwrap();
        found.works_at(world.clock.now())
    };
    assert!(works().await);
    let listed = client.call("list_api_keys", json!({})).await;
    assert_eq!(listed.body["keys"][0]["id"], "key_ci");
    assert!(!listed.text.contains(key.expose()));
    let revoked = client.succeed("revoke_api_key", json!({"id": "key_ci"})).await;
    assert!(!works().await);
    let again = client.succeed("revoke_api_key", json!({"id": "key_ci"})).await;
    assert_eq!(again, revoked, "when it was revoked does not change");
    let recorded = serde_json::to_string(&world.recorded().await).unwrap();
    assert!(!recorded.contains(key.expose()));
}

#[tokio::test]
async fn a_key_is_refused_as_the_console_refuses_it() {
    let world = World::new().await;
    let mut client = world.client(OWNER, TokenScope::Manage).await;
    for (tool, arguments, expected) in [
        ("create_api_key", json!({"name": " "}), 400),
        ("create_api_key", json!({"name": "CI", "expiresAt": 1}), 400),
        ("revoke_api_key", json!({"id": "none"}), 404),
        ("revoke_api_key", json!({"id": "no/id"}), 404),
    ] {
        let (status, body) = client.fail(tool, arguments).await;
        assert_eq!(status, expected, "{tool}: {body}");
    }
}
