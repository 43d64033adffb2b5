//! Commands that list what there is, follow the record, and test an endpoint.

use acceptance::document::{EXTERNAL, ORGANIZATION, campaign};
use acceptance::world::{STEP, bid, id, path};
use acceptance::{Installation, Kind, Service, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    organizations_campaigns_and_leads_are_listed,
    new_entries_follow_until_an_interrupt,
    an_endpoint_is_tested_and_the_exit_status_says_how_it_ended,
    what_is_not_there_is_named,
);

#[test]
fn a_command_that_lists_makes_no_database() {
    let installation = Installation::new(Kind::Sqlite);
    for command in [&["organizations", "list"][..], &["activity"], &["doctor"]] {
        let refused = installation.run(command).expect(1);
        assert!(
            refused.err.starts_with("there is no database ") && refused.err.contains("`bidloop apply`"),
            "{}",
            refused.err
        );
    }
    let url = installation.database().url();
    let file = url.strip_prefix("sqlite://").unwrap();
    assert!(!std::path::Path::new(file).exists());
}

fn what_is_not_there_is_named(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let run = |line: &str| world.installation.run(&line.split(' ').collect::<Vec<_>>());
    let [no_organization, no_campaign] = ["organization \"nope\"", "campaign \"nope\""];
    for (line, says) in [
        ("activity --follow --organization nope", no_organization),
        ("activity --follow --campaign nope", no_campaign),
        (
            "activity --follow --organization org_acme --campaign nope",
            no_campaign,
        ),
        ("campaigns list --organization nope", no_organization),
        ("leads list --organization org_acme --campaign nope", no_campaign),
        (
            "webhooks test --organization org_acme --id nope",
            "endpoint \"nope\"",
        ),
        ("leads show --lead nope", "lead \"nope\""),
    ] {
        let refused = run(line).expect(1);
        assert!(
            refused.err.contains(says) && refused.out.is_empty(),
            "{line}: {}",
            refused.err
        );
    }
    for line in ["activity --organization nope", "bids list --organization nope"] {
        let listed = run(line).expect(0);
        assert!(
            listed.out.is_empty() && listed.err.contains(no_organization),
            "{line}: {}",
            listed.err
        );
    }
}

fn organizations_campaigns_and_leads_are_listed(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust"), campaign("camp_other", "golang")]);
    let run = |arguments: &[&str]| world.installation.run(arguments);
    let organizations = run(&["organizations", "list", "--json"]).expect(0).json();
    assert_eq!(organizations.as_array().unwrap().len(), 1);
    assert_eq!(organizations[0]["id"], ORGANIZATION);
    assert_eq!(organizations[0]["campaigns"], 2);
    assert_eq!(organizations[0]["subscription"]["status"], "active");
    assert!(
        run(&["organizations", "list"])
            .expect(0)
            .out
            .starts_with(ORGANIZATION)
    );

    let campaigns = run(&["campaigns", "list", "--json"]).expect(0).json();
    assert_eq!(
        campaigns,
        run(&["campaigns", "list", "--organization", ORGANIZATION, "--json"])
            .expect(0)
            .json()
    );
    let mut ids: Vec<&str> = campaigns
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["id"].as_str().unwrap())
        .collect();
    ids.sort_unstable();
    assert_eq!(ids, [EXTERNAL, "camp_other"]);
    let nobody = run(&["campaigns", "list", "--organization", "org_nobody"]).expect(1);
    assert!(nobody.err.contains("org_nobody"), "{}", nobody.err);

    let service = world.installation.serve();
    let listed = world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    service
        .api()
        .post(&path(EXTERNAL, id(&listed[1]), "reject"))
        .expect(200);
    let list = [
        "leads",
        "list",
        "--organization",
        ORGANIZATION,
        "--campaign",
        EXTERNAL,
    ];
    let leads = |more: &[&str]| run(&[&list, more, &["--json"]].concat()).expect(0).json();
    let ids = |document: &Value| -> Vec<String> {
        let leads = document["leads"].as_array().unwrap();
        leads.iter().map(|lead| id(lead).to_owned()).collect()
    };
    let all = leads(&[]);
    assert_eq!(all["total"], 3);
    assert_eq!(
        ids(&all),
        listed.iter().map(|lead| id(lead).to_owned()).collect::<Vec<_>>(),
        "as the API lists them"
    );
    assert_eq!(ids(&leads(&["--status", "rejected"])), [id(&listed[1])]);
    assert_eq!(ids(&leads(&["--offset", "1", "--limit", "1"])), [id(&listed[1])]);
    assert!(run(&list).expect(0).out.starts_with(id(&listed[0])));
    run(&[&list[..], &["--status", "gone"]].concat()).expect(2);
    let unknown = run(&[
        "leads",
        "list",
        "--organization",
        ORGANIZATION,
        "--campaign",
        "camp_none",
    ])
    .expect(1);
    assert!(unknown.err.contains("camp_none"), "{}", unknown.err);
}

fn new_entries_follow_until_an_interrupt(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    world.deliveries("job.new", 3);
    until("the deliveries are recorded", STEP, || {
        world.installation.activity(&[]).len() == 3
    });

    let mut follow = world
        .installation
        .start(&["activity", "--follow", "--limit", "2"]);
    let followed = |follow: &Service| -> Vec<Value> {
        let lines = follow.out();
        lines
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect()
    };
    until("the newest entries are shown", STEP, || {
        followed(&follow).len() == 2
    });
    for lead in &leads[..2] {
        service
            .api()
            .post(&path(EXTERNAL, id(lead), "reject"))
            .expect(200);
    }
    service
        .api()
        .post_json(&path(EXTERNAL, id(&leads[2]), "bid"), &bid())
        .expect(200);
    let mut record = Vec::new();
    until("all is recorded", STEP, || {
        record = world.installation.activity(&[]);
        record.len() == 8
    });
    record.reverse();
    until("each entry follows", STEP, || {
        followed(&follow).len() >= record.len() - 1
    });
    let mut lines = followed(&follow);
    assert_eq!(lines[..2], record[1..3], "oldest first");
    // What becomes visible late stands behind what is newer.
    lines.sort_by_key(|line| (line["at"].as_i64(), line["id"].to_string()));
    assert_eq!(lines, record[1..], "each once");
    follow.interrupt();
    assert!(follow.wait_for_end().success());
}

fn an_endpoint_is_tested_and_the_exit_status_says_how_it_ended(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let endpoint = format!("wh_{EXTERNAL}");
    let test = [
        "webhooks",
        "test",
        "--organization",
        ORGANIZATION,
        "--id",
        &endpoint,
    ];
    let run = |more: &[&str]| world.installation.run(&[&test, more].concat());
    let nothing = run(&[]).expect(1);
    assert!(nothing.err.contains("no lead to test with"), "{}", nothing.err);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 1), 1);
    world.deliveries("job.new", 1);
    let tried = run(&["--json"]).expect(0).json();
    assert_eq!(tried["outcome"], "delivered");
    assert_eq!(tried["responseStatus"], 200);
    let tests = world.deliveries("job.new", 2);
    assert!(
        tests
            .iter()
            .any(|delivery| delivery.header("x-service-test") == Some("true")),
        "{tests:?}"
    );
    let recorded = world.installation.activity(&[]);
    assert_eq!(
        recorded[0]["actor"],
        json!({"type": "command", "id": null, "name": "webhooks test"})
    );
    run(&["--event", "bid_complete"]).expect(1);
    world
        .installation
        .run(&[
            "webhooks",
            "test",
            "--organization",
            ORGANIZATION,
            "--id",
            "wh_none",
        ])
        .expect(1);
}
