//! `bidloop marketplace check`, and the service on the translator of the guide.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use acceptance::document::{EXTERNAL, TOKEN, campaign};
use acceptance::world::{bid, id, lead_with_status, listed, path};
use acceptance::{Kind, World};
use serde_json::json;

const TRANSLATOR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/guides/translator.py");

/// A world whose marketplace has ten jobs.
fn world() -> World {
    let world = World::new(Kind::Sqlite);
    let posts = (1..=10).map(|number| {
        let posted_at = 1_790_000_000_000_i64 + number;
        json!({"id": format!("job-{number}"), "title": "Rust developer", "postedAt": posted_at})
    });
    world.simulator.publish(posts.collect()).unwrap();
    world
}

#[test]
fn a_sound_marketplace_ends_the_check_with_0_and_a_broken_rule_with_1() {
    let world = world();
    let url = world.simulator.base_url();
    let token = world.installation.file("token", format!("{TOKEN}\n"));
    let token = token.display().to_string();
    let all = [
        "marketplace",
        "check",
        url,
        "--token-file",
        &token,
        "--allow-proposals",
        "job-3",
    ];
    let sound = world.installation.run(&all).expect(0);
    assert!(
        sound.out.contains("held       proposals.repeated  "),
        "{}",
        sound.out
    );
    assert!(
        sound.out.trim_end().ends_with(" 0 broken, 2 not tried."),
        "{}",
        sound.out
    );
    assert_eq!(world.accepted().len(), 1);

    world
        .simulator
        .put_faults(&json!([{"call": "POST /api/attachments", "times": 1, "status": 500}]))
        .unwrap();
    let broken = world
        .installation
        .run(&["marketplace", "check", url, "--token-file", &token, "--json"])
        .expect(1);
    assert_eq!(broken.err.trim_end(), "one rule is broken");
    let report = broken.json();
    assert_eq!(report["broken"], 1);
    let rules = report["rules"].as_array().unwrap();
    let created = rules
        .iter()
        .find(|finding| finding["rule"] == "attachments.created")
        .unwrap();
    assert_eq!(
        (&created["result"], created["why"].is_null()),
        (&json!("broken"), true)
    );
    for detail in ["says", "expected", "came", "do"] {
        assert!(created[detail].is_string(), "{detail}: {created}");
    }
    let not_tried = rules
        .iter()
        .find(|finding| finding["rule"] == "proposals.accepted")
        .unwrap();
    assert_eq!(not_tried["result"], "not tried");
    assert!(
        not_tried["why"]
            .as_str()
            .is_some_and(|why| why.contains("--allow-proposals"))
    );
    assert!(!broken.out.contains(TOKEN));
    assert_eq!(world.accepted().len(), 1, "nothing more was bid");
}

#[test]
fn the_token_comes_from_the_environment_too_and_wrong_usage_ends_with_2() {
    let mut world = world();
    let url = world.simulator.base_url().to_owned();
    world.installation.run(&["marketplace", "check", &url]).expect(0);
    world
        .installation
        .set_variable("BIDLOOP_MARKETPLACE__TOKEN", TOKEN);
    let checked = world.installation.run(&["marketplace", "check", &url]).expect(0);
    assert!(
        checked.out.contains("held       account.shape "),
        "{}",
        checked.out
    );
    for (arguments, problem) in [
        (vec!["market.test"], "market.test: is not a URL"),
        (vec![&url, "--token", "two\nlines"], "--token: "),
        (vec![&url, "--token-file", "/nowhere"], "/nowhere: cannot be read"),
        (vec![&url, "--timeout-ms", "0"], "--timeout-ms"),
        (vec![], "<URL>"),
    ] {
        let command = [vec!["marketplace", "check"], arguments].concat();
        let refused = world.installation.run(&command).expect(2);
        assert!(refused.err.contains(problem), "{}", refused.err);
    }
}

/// The guide's translator; ends with the test.
struct Translator {
    process: Child,
    base_url: String,
}

impl Translator {
    fn start(world: &World) -> Self {
        let mut process = Command::new("python3")
            .arg(TRANSLATOR)
            .env("PORT", "0")
            .env("TRANSLATOR_TOKEN", TOKEN)
            .env(
                "TRANSLATOR_DATABASE",
                world.installation.folder().join("translator.db"),
            )
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("python3, version 3.9 or later, is needed: {error}"));
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.trim_end().trim_end_matches('.').rsplit(' ').next().unwrap();
        Self {
            base_url: address.to_owned(),
            process,
        }
    }
}

impl Drop for Translator {
    fn drop(&mut self) {
        let _ended = self.process.kill();
        let _status = self.process.wait();
    }
}

/// The lines of a console block in the guide that the check printed: from its command to the block's end.
fn printed_lines(guide: &str) -> Vec<&str> {
    let lines = guide
        .lines()
        .skip_while(|line| !line.starts_with("$ bidloop marketplace check"));
    lines
        .skip(1)
        .take_while(|line| !line.starts_with("```"))
        .filter(|line| *line != "…")
        .collect()
}

#[test]
fn the_guides_commands_print_what_the_guide_shows() {
    let world = World::new(Kind::Sqlite);
    let translator = Translator::start(&world);
    let token = world.installation.file("token", TOKEN).display().to_string();
    let arguments = ["--token-file", &token, "--allow-proposals", "job-3"];
    let command = [&["marketplace", "check", &translator.base_url], &arguments[..]].concat();
    let checked = world.installation.run(&command).expect(0);
    let shown = printed_lines(include_str!("../../../docs/marketplace.md"));
    assert!(shown.len() > 5, "{shown:?}");
    let printed: Vec<&str> = checked.out.lines().collect();
    for line in shown {
        assert!(printed.contains(&line), "{line}\n{}", checked.out);
    }
}

#[test]
fn the_service_bids_through_the_translator_of_the_guide() {
    let mut world = World::new(Kind::Sqlite);
    let translator = Translator::start(&world);
    world
        .installation
        .set("marketplace.base_url", &translator.base_url);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    let leads = listed(&api, EXTERNAL, 20);
    let lead = leads.iter().find(|lead| lead["questions"] == json!([])).unwrap();
    api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
        .expect(200);
    let submitted = lead_with_status(&api, EXTERNAL, id(lead), "submitted");
    assert!(
        submitted["proposalId"]
            .as_str()
            .is_some_and(|id| id.starts_with("prop-")),
        "{submitted}"
    );
}
