//! Job posts to publish: plain ones with chosen words, and the file of real ones where it is present.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

/// An hourly job that pays 30 to 60 dollars and asks nothing.
pub fn hourly(title: &str) -> Value {
    json!({
        "title": title, "description": "Work that is worth doing well.",
        "skills": [{"name": "Patience"}], "questions": [],
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 60}},
    })
}

/// `count` hourly jobs whose titles end in a number.
pub fn many(title: &str, count: usize) -> Vec<Value> {
    (1..=count)
        .map(|number| hourly(&format!("{title} {number}")))
        .collect()
}

/// The file of real job posts, as JSON lines in `folder`; `None`, said on standard error, where it is absent.
pub fn real(folder: &std::path::Path) -> Option<PathBuf> {
    let packed = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/job-posts.jsonl.gz");
    if !packed.exists() {
        eprintln!(
            "NOT RUN: {} is absent, so nothing is shown on real job posts",
            packed.display()
        );
        return None;
    }
    let unpacked = Command::new("gzip").arg("-dc").arg(&packed).output().unwrap();
    assert!(unpacked.status.success(), "gzip: {}", unpacked.status);
    let file = folder.join("job-posts.jsonl");
    std::fs::write(&file, unpacked.stdout).unwrap();
    Some(file)
}
