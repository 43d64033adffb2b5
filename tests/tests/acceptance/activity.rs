//! `bidloop activity`: every attempt stands in the record, as JSON lines, newest first.

use acceptance::api::Upload;
use acceptance::document::{EXTERNAL, ORGANIZATION, campaign};
use acceptance::world::{STEP, bid, id, path};
use acceptance::{Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(every_attempt_stands_in_activity_newest_first);

fn every_attempt_stands_in_activity_newest_first(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust"), campaign("camp_other", "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    world.deliveries("job.new", 2);
    let (first, second) = (id(&leads[0]), id(&leads[1]));
    let api = service.api();
    api.post_json(&path(EXTERNAL, first, "bid"), &json!({}))
        .expect(400);
    let file = Upload {
        name: "a.txt",
        content_type: "text/plain",
        content: b"a",
    };
    api.upload(&path(EXTERNAL, first, "attachments"), &[file])
        .expect(200);
    api.upload(&path(EXTERNAL, first, "attachments"), &[file])
        .expect(400);
    api.post_json(&path(EXTERNAL, first, "bid"), &bid()).expect(200);
    world.bid_complete(first);
    api.post_json(&path(EXTERNAL, first, "bid"), &bid()).expect(409);
    api.post(&path(EXTERNAL, second, "reject")).expect(200);
    api.post(&path(EXTERNAL, second, "reject")).expect(400);
    // Neither is an attempt on an existing lead.
    api.post_json(&path(EXTERNAL, "ld_nobody", "bid"), &bid())
        .expect(404);
    service
        .api_with(None)
        .post_json(&path(EXTERNAL, first, "bid"), &bid())
        .expect(401);

    let of = |lead: &str| world.installation.activity(&["--lead", lead]);
    until("all of it is recorded", STEP, || {
        of(first).len() == 8 && of(second).len() == 3
    });
    let told = |lines: &[Value]| -> Vec<(String, String, Value)> {
        let of = |line: &Value, field: &str| line[field].as_str().unwrap().to_owned();
        lines
            .iter()
            .rev()
            .map(|l| (of(l, "kind"), of(l, "outcome"), l["httpStatus"].clone()))
            .collect()
    };
    let entry = |kind: &str, outcome: &str, status: Value| (kind.to_owned(), outcome.to_owned(), status);
    let lines = of(first);
    let recorded = told(&lines);
    for expected in [
        entry("delivery", "delivered", Value::Null),
        entry("bid", "refused", json!(400)),
        entry("upload", "accepted", json!(200)),
        entry("upload", "refused", json!(400)),
        entry("bid", "accepted", json!(200)),
        entry("submission", "submitted", Value::Null),
        entry("bid", "refused", json!(409)),
    ] {
        let found = recorded.iter().any(|(kind, outcome, status)| {
            // What no caller asked for has no answer's status of its own.
            (kind, outcome) == (&expected.0, &expected.1) && (expected.2.is_null() || *status == expected.2)
        });
        assert!(found, "{expected:?} in {recorded:#?}");
    }
    for line in &lines {
        let fields: Vec<&String> = line.as_object().unwrap().keys().collect();
        assert_eq!(
            fields,
            [
                "actor",
                "at",
                "campaignId",
                "details",
                "dryRun",
                "httpStatus",
                "id",
                "kind",
                "leadId",
                "message",
                "organizationId",
                "outcome"
            ]
        );
        assert_eq!(
            (&line["organizationId"], &line["campaignId"], &line["leadId"]),
            (&json!(ORGANIZATION), &json!(EXTERNAL), &json!(first))
        );
        assert!(line["at"].as_i64().unwrap() > 1_000_000_000_000, "UNIX ms");
        let actor = &line["actor"];
        if ["bid", "upload"].contains(&line["kind"].as_str().unwrap()) {
            assert_eq!(
                *actor,
                json!({"type": "api_key", "id": "key_ci", "name": "CI"}),
                "{line}"
            );
        } else {
            assert_eq!(actor["type"], "service", "{line}");
        }
    }
    let submission = lines.iter().find(|line| line["kind"] == "submission").unwrap();
    assert!(
        submission["details"].to_string().contains("45"),
        "the decision is explained: {submission}"
    );
    let rejected = told(&of(second));
    assert_eq!(
        rejected[1..],
        [
            entry("rejection", "accepted", json!(200)),
            entry("rejection", "refused", json!(400))
        ]
    );

    let all = world.installation.activity(&["--organization", ORGANIZATION]);
    let at: Vec<i64> = all.iter().map(|line| line["at"].as_i64().unwrap()).collect();
    assert!(at.is_sorted_by(|a, b| a >= b), "newest first");
    assert_eq!(all.len(), 11);
    assert_eq!(world.installation.activity(&["--campaign", EXTERNAL]).len(), 11);
    assert!(
        world
            .installation
            .activity(&["--campaign", "camp_other"])
            .is_empty()
    );
    let newest = world
        .installation
        .run(&["activity", "--limit", "2"])
        .expect(0)
        .json_lines();
    assert_eq!(newest, all[..2]);
    world.installation.run(&["activity", "--limit", "many"]).expect(2);
}
