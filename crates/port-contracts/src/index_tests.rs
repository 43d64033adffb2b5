//! That no rule was written and then forgotten in its file's index.

/// The files with rules.
const FILES: [(&str, &str); 19] = [
    ("activities", include_str!("activities.rs")),
    ("api_keys", include_str!("api_keys.rs")),
    ("automatic_bids", include_str!("automatic_bids.rs")),
    ("blobs", include_str!("blobs.rs")),
    ("changed_jobs", include_str!("changed_jobs.rs")),
    ("deliveries", include_str!("deliveries.rs")),
    ("filter_changes", include_str!("filter_changes.rs")),
    ("ingest_actions", include_str!("ingest_actions.rs")),
    ("jobs", include_str!("jobs.rs")),
    ("lead_attachments", include_str!("lead_attachments.rs")),
    ("lead_bids", include_str!("lead_bids.rs")),
    ("leads", include_str!("leads.rs")),
    ("matches", include_str!("matches.rs")),
    ("provisioning", include_str!("provisioning.rs")),
    ("provisioning_removal", include_str!("provisioning_removal.rs")),
    ("quota", include_str!("quota.rs")),
    ("submission_leases", include_str!("submission_leases.rs")),
    ("submissions", include_str!("submissions.rs")),
    ("webhook_senders", include_str!("webhook_senders.rs")),
];

#[test]
fn every_rule_is_in_the_index_of_its_file() {
    for (name, text) in FILES {
        let (_, index) = text.split_once("stamp!(").unwrap();
        let (index, rules) = index.split_once(']').unwrap();
        let indexed: Vec<&str> = index
            .lines()
            .map(|line| line.trim().trim_end_matches(','))
            .collect();
        let written: Vec<&str> = rules
            .lines()
            .filter_map(|line| line.strip_prefix("pub async fn "))
            .filter_map(|line| line.split('(').next())
            .collect();
        assert!(!written.is_empty(), "{name}");
        for rule in written {
            assert!(indexed.contains(&rule), "{name}::{rule} is stamped out by nobody");
        }
    }
}

#[test]
fn every_index_of_a_store_port_is_part_of_the_whole() {
    let whole = include_str!("lib.rs");
    for (name, text) in FILES {
        let (_, rest) = text.split_once("macro_rules! ").unwrap();
        let (index, _) = rest.split_once(' ').unwrap();
        let of_store = rest.contains("StoreBed::stores");
        assert_eq!(
            whole.contains(&format!("$crate::{index}!($bed)")),
            of_store,
            "{name}"
        );
    }
}
