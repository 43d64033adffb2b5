//! `rejectLead`.

use serde_json::json;

use crate::client::Request;
use crate::world::{CAMPAIGN, ORG, World, address_of, key, lead_of};

#[test]
fn a_rejection_needs_no_body_and_no_reason() {
    let world = World::new();
    let requests = [
        Request::new("POST", &address_of(0, "reject")),
        Request::new("POST", &address_of(1, "reject")).json(&json!({})),
        Request::new("POST", &address_of(2, "reject"))
            .header("Content-Type", "application/x-www-form-urlencoded"),
        Request::new("POST", &address_of(3, "reject")).chunked(),
        Request::new("POST", &address_of(4, "reject")).json(&json!({"reason": "too cheap"})),
    ];
    for (job, request) in requests.into_iter().enumerate() {
        let answer = world.send(&request.key(&key()));
        assert_eq!(answer.status, 200, "{job}: {answer:?}");
        assert_eq!(
            answer.json(),
            json!({"success": true, "leadId": lead_of(job), "campaignId": CAMPAIGN, "organizationId": ORG})
        );
    }
    assert_eq!(world.activities()[0].details["reason"], "too cheap");
}

#[test]
fn a_second_rejection_is_400_naming_the_status() {
    let world = World::new();
    assert_eq!(world.post(&address_of(0, "reject"), &json!({})).status, 200);
    let answer = world.post(&address_of(0, "reject"), &json!({}));
    assert_eq!(
        (answer.status, &answer.json()["error"]),
        (400, &json!("Bad Request"))
    );
    assert!(answer.message().contains("rejected"));
    assert!(answer.json().get("errors").is_none());
}

#[test]
fn a_queued_lead_cannot_be_rejected() {
    let world = World::new();
    let bid = json!({"coverLetter": "x", "questionAnswerPairs": []});
    assert_eq!(world.post(&address_of(0, "bid"), &bid).status, 200);
    let answer = world.post(&address_of(0, "reject"), &json!({}));
    assert_eq!(answer.status, 400);
    assert!(answer.message().contains("queued"));
}

#[test]
fn a_reason_has_at_most_500_characters() {
    let world = World::new();
    let answer = world.post(&address_of(0, "reject"), &json!({"reason": "ß".repeat(501)}));
    assert_eq!(
        (answer.status, answer.error_paths()),
        (400, vec!["reason".to_owned()])
    );
    let answer = world.post(&address_of(0, "reject"), &json!({"reason": "ß".repeat(500)}));
    assert_eq!(answer.status, 200);
}

#[test]
fn the_shape_comes_before_the_status() {
    let world = World::new();
    assert_eq!(world.post(&address_of(0, "reject"), &json!({})).status, 200);
    for body in [
        json!({"reason": null}),
        json!({"reason": 1}),
        json!({"reasons": "x"}),
        json!([]),
    ] {
        let answer = world.post(&address_of(0, "reject"), &body);
        assert_eq!(answer.status, 400);
        assert_eq!(answer.error_paths().len(), 1, "{body}");
    }
}
