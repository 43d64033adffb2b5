//! The translator of the guide, and what the guide says about the rules.

use std::path::Path;
use std::process::Stdio;

use bidloop_marketplace_check::{RULES, Verdict};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

use crate::market::{assert_nothing_broken, checked, rules_that_are, run, target, unheld};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");

#[test]
fn the_translator_of_the_guide_holds_every_rule() {
    run(async || {
        let folder = tempfile::tempdir().unwrap();
        let mut translator = Command::new("python3")
            .arg(Path::new(DOCS).join("guides/translator.py"))
            .env("PORT", "0")
            .env("TRANSLATOR_TOKEN", "the-guides-token")
            .env("TRANSLATOR_DATABASE", folder.path().join("translator.db"))
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("python3, version 3.9 or later, must be installed");
        let mut lines = BufReader::new(translator.stdout.take().unwrap()).lines();
        let line = lines.next_line().await.unwrap().unwrap();
        let address = line
            .strip_prefix("The translator listens on ")
            .unwrap()
            .trim_end_matches('.');

        let mut target = target(address);
        target.token = Some("the-guides-token".to_owned());
        target.allow_proposals = Some("job-3".to_owned());
        let report = checked(&target).await;
        assert_nothing_broken(&report);
        assert_eq!(
            rules_that_are(&report, Verdict::NotTried),
            ["answers.retry-after"],
            "{}",
            unheld(&report)
        );
    });
}

#[test]
fn the_guide_lists_every_rule_and_what_it_protects_from() {
    let guide = std::fs::read_to_string(Path::new(DOCS).join("marketplace.md")).unwrap();
    let listed: Vec<&str> = guide
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once('`'))
        .map(|(name, _)| name)
        .collect();
    let names: Vec<&str> = RULES.iter().map(|rule| rule.name).collect();
    assert_eq!(listed, names);
}
