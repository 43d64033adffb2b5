//! `bidloop prune` beside a running service.

use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{all_leads, id, lead_with_status, path};
use acceptance::{Kind, World, posts};
use serde_json::json;

on_both_databases!(what_is_young_is_kept_and_the_report_names_every_kind);

fn what_is_young_is_kept_and_the_report_names_every_kind(kind: Kind) {
    let mut world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    let counted = world
        .installation
        .run(&["prune", "--dry-run", "--json"])
        .expect(0);
    let none = json!({"rows": 0, "isLeast": false});
    assert_eq!(
        counted.json(),
        json!({"dryRun": true, "prunable": {
            "activity": none, "deliveries": none, "jobs": none, "letters": none, "matches": none,
            "sign_ins": none, "statistics": none,
        }, "removedOrganizations": []})
    );
    world.installation.set("retention.jobs_days", "0");
    let pruned = world.installation.run(&["prune", "--json"]).expect(0).json();
    assert_eq!(
        pruned,
        json!({"dryRun": false,
            "removed": {"activity": 0, "deliveries": 0, "letters": 0, "sign_ins": 0, "statistics": 0},
            "erased": {"organizations": 0, "rows": 0, "files": 0}, "removedOrganizations": []})
    );
    assert_eq!(all_leads(&service.api(), EXTERNAL).len(), 3);
}

#[test]
fn what_is_old_goes_while_the_service_runs_and_leads_stay() {
    let world = World::new(Kind::Postgres);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    world.simulator.publish(posts::many("rust", 30)).unwrap();
    let total = |limit: u64| {
        let page = api
            .get(&format!(
                "/v1/campaigns/{EXTERNAL}/leads?limit=1&offset={}",
                limit - 1
            ))
            .expect(200)
            .json();
        page["total"].as_u64().unwrap()
    };
    acceptance::until("all are listed", acceptance::world::STEP, || total(1) == 30);
    // The newest is a lead by now; one in the middle is rejected.
    let middle = api
        .get(&format!("/v1/campaigns/{EXTERNAL}/leads?limit=1&offset=14"))
        .expect(200)
        .json();
    let lead = id(&middle["data"][0]).to_owned();
    api.post_json(&path(EXTERNAL, &lead, "reject"), &json!({"reason": "No."}))
        .expect(200);
    let year = 366_i64 * 24 * 60 * 60 * 1000;
    // A first pass notes which jobs there are.
    world.installation.run(&["prune"]).expect(0);
    world.installation.database().execute_on_server(&format!(
        "UPDATE matches SET created_at = created_at - {year}; UPDATE leads SET created_at = created_at - {year}; \
         UPDATE campaigns SET last_match_at = last_match_at - {year}; UPDATE job_ages SET at = at - {year}; \
         UPDATE activities SET at = at - 2 * {year}"
    ));
    let pruned = world.installation.run(&["prune", "--json"]).expect(0).json();
    assert_eq!(pruned["removed"]["matches"], 28, "{pruned}");
    assert_eq!(pruned["removed"]["jobs"], 28, "{pruned}");
    assert_eq!(pruned["removed"]["activity"], 1, "{pruned}");
    lead_with_status(&api, EXTERNAL, &lead, "rejected");
    assert_eq!(all_leads(&api, EXTERNAL).len(), 2);
    // The feed goes on.
    world.publish(&service, EXTERNAL, posts::many("rust", 2), 4);
}
