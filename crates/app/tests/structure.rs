//! The layering, held against what Cargo says of the workspace's dependencies. `deny.toml` says the same to
//! `cargo deny`; this test needs nothing installed.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// Normal dependencies by package: what the released program is made of, whatever the platform.
struct Workspace {
    dependencies: BTreeMap<String, BTreeSet<String>>,
    members: BTreeSet<String>,
}

impl Workspace {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--locked", "--offline"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let names: BTreeMap<&str, &str> = array(&metadata["packages"])
            .iter()
            .map(|package| (text(&package["id"]), text(&package["name"])))
            .collect();
        let members = array(&metadata["workspace_members"]);
        let mut dependencies: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in array(&metadata["resolve"]["nodes"]) {
            let found = dependencies
                .entry(names[text(&node["id"])].to_owned())
                .or_default();
            for dependency in array(&node["deps"]) {
                let is_normal = array(&dependency["dep_kinds"])
                    .iter()
                    .any(|kind| kind["kind"].is_null());
                if is_normal {
                    found.insert(names[text(&dependency["pkg"])].to_owned());
                }
            }
        }
        Self {
            dependencies,
            members: members.iter().map(|id| names[text(id)].to_owned()).collect(),
        }
    }

    fn of(&self, package: &str) -> &BTreeSet<String> {
        &self.dependencies[package]
    }

    /// Everything that `package` is made of.
    fn closure_of(&self, package: &str) -> BTreeSet<String> {
        let mut closure = BTreeSet::new();
        let mut waiting = vec![package.to_owned()];
        while let Some(next) = waiting.pop() {
            for dependency in self.of(&next) {
                if closure.insert(dependency.clone()) {
                    waiting.push(dependency.clone());
                }
            }
        }
        closure
    }
}

fn array(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn the_domain_is_made_of_no_runtime_no_sql_no_http_and_no_logging_exporter() {
    let domain = Workspace::read().closure_of("bidloop-domain");
    for refused in [
        "actix-web",
        "deadpool",
        "diesel",
        "diesel-async",
        "http",
        "hyper",
        "object_store",
        "rustls",
        "tokio",
        "tracing-subscriber",
    ] {
        assert!(!domain.contains(refused), "bidloop-domain depends on {refused}");
    }
}

#[test]
fn an_adapter_depends_on_the_domain_and_on_no_other_adapter() {
    let workspace = Workspace::read();
    // The program sees them all; benchmarks and tests drive what they measure.
    let outside = ["acceptance", "bidloop", "bidloop-benchmarks"];
    for member in workspace
        .members
        .iter()
        .filter(|member| !outside.contains(&member.as_str()))
    {
        let others: Vec<&String> = workspace
            .of(member)
            .iter()
            .filter(|dependency| workspace.members.contains(*dependency))
            .filter(|dependency| *dependency != "bidloop-domain")
            .collect();
        assert!(others.is_empty(), "{member} depends on {others:?}");
    }
}

#[test]
fn each_technology_lives_under_its_adapters_only() {
    let workspace = Workspace::read();
    let homes: [(&str, &[&str]); 9] = [
        ("actix-web", &["bidloop-http-api"]),
        ("actix-multipart", &["bidloop-http-api"]),
        ("diesel", &["bidloop-persistence"]),
        ("diesel-async", &["bidloop-persistence"]),
        ("deadpool", &["bidloop-persistence"]),
        (
            "hyper",
            &[
                "bidloop-attachments",
                "bidloop-marketplace",
                "bidloop-simulator",
                "bidloop-webhooks",
            ],
        ),
        ("object_store", &["bidloop-attachments"]),
        ("minijinja", &["bidloop-templates"]),
        ("anyhow", &["bidloop"]),
    ];
    for (technology, homes) in homes {
        for member in &workspace.members {
            let is_measured_or_tested = member == "bidloop-benchmarks" || member == "acceptance";
            if workspace.of(member).contains(technology) && !is_measured_or_tested {
                assert!(
                    homes.contains(&member.as_str()),
                    "{member} depends on {technology}"
                );
            }
        }
    }
}
