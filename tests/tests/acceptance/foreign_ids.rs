//! What belongs to another organization is as absent: every operation of the interface description, with the ids of
//! another organization, answers what it answers to ids that nobody has.

use acceptance::document::{EXTERNAL, campaign, document, organization};
use acceptance::world::id;
use acceptance::{Answer, Api, Kind, World, posts};
use serde_json::{Value, json};

on_both_databases!(another_organizations_campaigns_and_leads_are_as_absent);

const STRANGERS_KEY: &str = "lk_5555555555555555555555555555555555555555555555555555555555555555";

/// Every method and path of the description.
fn operations(description: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (path, item) in description["paths"].as_object().unwrap() {
        for method in ["get", "post", "put", "patch", "delete"] {
            if item.get(method).is_some() {
                found.push((method.to_uppercase(), path.clone()));
            }
        }
    }
    found
}

/// The path with ids for its parameters; fails for a parameter that this test does not know.
fn with_ids(path: &str, campaign: &str, lead: &str) -> String {
    let path = path.replace("{campaign_id}", campaign).replace("{lead_id}", lead);
    assert!(
        !path.contains('{'),
        "{path} has a parameter whose foreign values this test lacks"
    );
    path
}

fn call(api: &Api, method: &str, path: &str) -> Answer {
    let body = json!({"coverLetter": "x", "questionAnswerPairs": []}).to_string();
    let headers = [("Content-Type", "application/json")];
    match method {
        "GET" => api.get(path),
        _ => api.try_call(method, path, &headers, body.as_bytes()).unwrap(),
    }
}

fn another_organizations_campaigns_and_leads_are_as_absent(kind: Kind) {
    let world = World::new(kind);
    let mut stranger = organization();
    stranger["id"] = json!("org_stranger");
    stranger["apiKeys"] = json!([{"id": "key_ci", "name": "CI", "key": STRANGERS_KEY}]);
    let mut own = campaign("camp_own", "logo");
    own["filters"][0]["id"] = json!("f_own");
    stranger["campaigns"] = json!([own]);
    let mut both = world.document(&[campaign(EXTERNAL, "rust")]);
    let strangers = document(stranger)["organizations"][0].clone();
    both["organizations"].as_array_mut().unwrap().push(strangers);
    world.installation.apply(&both);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 1), 1);
    let lead = id(&leads[0]);
    let before = world.installation.show(lead);

    let description = world.installation.run(&["openapi"]).expect(0).json();
    let stranger = service.api_with(Some(STRANGERS_KEY));
    let operations = operations(&description);
    assert!(operations.len() >= 4, "{operations:?}");
    for (method, path) in operations {
        // In a foreign campaign; and a foreign lead in a campaign of one's own.
        for (campaign, nobodys) in [(EXTERNAL, "camp_nobody"), ("camp_own", "camp_own")] {
            if !path.contains("{lead_id}") && campaign == "camp_own" {
                continue;
            }
            let foreign = call(&stranger, &method, &with_ids(&path, campaign, lead)).expect(404);
            let absent = call(&stranger, &method, &with_ids(&path, nobodys, "ld_nobody")).expect(404);
            assert_eq!(foreign.body, absent.body, "{method} {path}");
        }
    }
    assert_eq!(world.installation.show(lead), before, "nothing has changed");
    let of_stranger = world.installation.activity(&["--organization", "org_stranger"]);
    assert!(of_stranger.is_empty(), "and nothing is recorded");
}
