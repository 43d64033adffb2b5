//! Commands whose output is lost: they fail, and leave no secret that nobody has.

use std::fs::OpenOptions;
use std::process::Stdio;

use acceptance::document::{ORGANIZATION, campaign, document};
use acceptance::{Finished, Kind, World};
use serde_json::{Value, json};

on_both_databases!(
    a_key_that_could_not_be_shown_is_revoked_again,
    generated_secrets_that_could_not_be_shown_are_named_and_the_keys_revoked,
    a_result_that_cannot_be_written_is_a_failure,
);

fn full() -> Stdio {
    OpenOptions::new().write(true).open("/dev/full").unwrap().into()
}

/// A pipe that nobody reads.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    writer.into()
}

fn keys(world: &World) -> Vec<Value> {
    let list = ["keys", "list", "--organization", ORGANIZATION, "--json"];
    let listed = world.installation.run(&list).expect(0).json();
    listed.as_array().unwrap().clone()
}

fn create(world: &World, name: &str, json: bool, out: Stdio) -> Finished {
    let mut arguments = vec!["keys", "create", "--organization", ORGANIZATION, "--name", name];
    if json {
        arguments.push("--json");
    }
    world.installation.run_into(&arguments, out)
}

fn a_key_that_could_not_be_shown_is_revoked_again(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign("camp", "rust")]);
    for (number, json) in [false, true].into_iter().enumerate() {
        for (what, out) in [("full", full()), ("closed", closed())] {
            let name = format!("{what} {number}");
            let lost = create(&world, &name, json, out).expect(1);
            assert!(
                lost.err.contains("could not be shown, and was revoked"),
                "{}",
                lost.err
            );
            assert!(!lost.err.contains("lk_"), "{}", lost.err);
            let key = keys(&world)
                .into_iter()
                .find(|key| key["name"] == name.as_str())
                .unwrap();
            assert!(key["revokedAt"].is_i64(), "{key}");
        }
    }
}

fn generated_secrets_that_could_not_be_shown_are_named_and_the_keys_revoked(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign("camp", "rust")]);
    let described = document(json!({
        "id": ORGANIZATION,
        "apiKeys": [{"id": "key_lost"}],
        "webhooks": [{"id": "wh_lost", "url": "https://hooks.test/", "events": ["bid_complete"]}],
    }));
    let file = world.installation.file("lost.json", described.to_string());
    let lost = world
        .installation
        .run_into(&["apply", &file.display().to_string()], full())
        .expect(1);
    for part in [
        "key \"key_lost\"",
        "was revoked",
        "the secret of webhook \"wh_lost\"",
    ] {
        assert!(lost.err.contains(part), "{}", lost.err);
    }
    let key = keys(&world)
        .into_iter()
        .find(|key| key["id"] == "key_lost")
        .unwrap();
    assert!(key["revokedAt"].is_i64(), "{key}");
}

fn a_result_that_cannot_be_written_is_a_failure(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign("camp", "rust")]);
    for command in [
        &["keys", "list", "--organization", ORGANIZATION][..],
        &["keys", "list", "--organization", ORGANIZATION, "--json"],
        &["config", "check"],
        &["openapi"],
        &["bids", "list", "--json"],
    ] {
        let lost = world.installation.run_into(command, full()).expect(1);
        assert!(
            lost.err.contains("standard output cannot be written"),
            "{}",
            lost.err
        );
        // A reader that has seen enough is none.
        world.installation.run_into(command, closed()).expect(0);
    }
}
