//! The layering of the workspace: which crate may depend on which, and where each technology may be used.
//!
//! This file is the one place that declares it. It reads the members' manifests and `Cargo.lock`, and needs neither a
//! network nor anything installed. `deny.toml` refuses packages that no crate may use.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

/// What a member may depend on in the workspace. The program sees every crate; benchmarks and acceptance tests drive
/// whatever they measure.
const LAYERS: [(&str, &[&str]); 19] = [
    ("bidloop-matching", &[]),
    ("bidloop-domain", &["bidloop-matching"]),
    ("bidloop-attachments", &["bidloop-domain"]),
    ("bidloop-billing", &["bidloop-domain", "bidloop-http-server"]),
    ("bidloop-client", &[]),
    ("bidloop-console", &["bidloop-domain", "bidloop-http-server"]),
    ("bidloop-demo", &["bidloop-domain", "bidloop-simulator"]),
    ("bidloop-fakes", &["bidloop-domain"]),
    ("bidloop-http-api", &["bidloop-domain", "bidloop-http-server"]),
    ("bidloop-http-server", &[]),
    ("bidloop-mail", &["bidloop-domain"]),
    ("bidloop-marketplace", &["bidloop-domain"]),
    // Not the client's calls: only how an address is read and written.
    (
        "bidloop-marketplace-check",
        &["bidloop-domain", "bidloop-marketplace"],
    ),
    ("bidloop-mcp", &["bidloop-domain", "bidloop-http-server"]),
    ("bidloop-persistence", &["bidloop-domain"]),
    ("bidloop-port-contracts", &["bidloop-domain"]),
    ("bidloop-simulator", &["bidloop-client", "bidloop-domain"]),
    ("bidloop-templates", &["bidloop-domain"]),
    ("bidloop-webhooks", &["bidloop-domain"]),
];

/// Members that may depend on every crate of the workspace and on every technology.
const ABOVE_ALL_LAYERS: [&str; 3] = ["acceptance", "bidloop", "bidloop-benchmarks"];

/// Members whose complete dependencies hold no runtime, SQL, HTTP or exporter of logs.
const PURE: [&str; 2] = ["bidloop-matching", "bidloop-domain"];

/// What is kept out of the pure crates.
const IMPURE: [&str; 10] = [
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
];

/// The only members that may name each technology.
const HOMES: [(&str, &[&str]); 16] = [
    ("actix-http", &["bidloop-http-server"]),
    ("actix-server", &["bidloop-http-server"]),
    (
        "actix-web",
        &[
            "bidloop-billing",
            "bidloop-console",
            "bidloop-http-api",
            "bidloop-http-server",
            "bidloop-mcp",
        ],
    ),
    ("anyhow", &["bidloop"]),
    ("deadpool", &["bidloop-persistence"]),
    ("diesel", &["bidloop-persistence"]),
    ("diesel-async", &["bidloop-persistence"]),
    (
        "hyper",
        &[
            "bidloop-attachments",
            "bidloop-client",
            "bidloop-marketplace",
            "bidloop-marketplace-check",
            "bidloop-simulator",
            "bidloop-webhooks",
        ],
    ),
    ("lettre", &["bidloop-mail"]),
    ("minijinja", &["bidloop-templates"]),
    ("multer", &["bidloop-http-server", "bidloop-simulator"]),
    ("object_store", &["bidloop-attachments"]),
    ("opentelemetry", &["bidloop"]),
    ("opentelemetry_sdk", &["bidloop"]),
    ("rmcp", &["bidloop-mcp"]),
    ("tokio-postgres", &["bidloop-persistence"]),
];

#[test]
fn a_member_depends_on_the_crates_of_lower_layers_only() {
    let workspace = Workspace::read();
    for (member, dependencies) in &workspace.members {
        if ABOVE_ALL_LAYERS.contains(&member.as_str()) {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| name == member) else {
            panic!("{member} stands in no layer: add it to this file");
        };
        for dependency in dependencies {
            if workspace.members.contains_key(dependency) {
                assert!(
                    allowed.contains(&dependency.as_str()),
                    "{member} depends on {dependency}"
                );
            }
        }
    }
}

#[test]
fn the_pure_crates_are_made_of_no_runtime_no_sql_no_http_and_no_logging_exporter() {
    let workspace = Workspace::read();
    for member in PURE {
        let closure = workspace.closure_of(member);
        for refused in IMPURE {
            assert!(!closure.contains(refused), "{member} depends on {refused}");
        }
    }
}

#[test]
fn each_technology_is_used_by_its_adapters_only() {
    let workspace = Workspace::read();
    for (technology, homes) in HOMES {
        for (member, dependencies) in &workspace.members {
            let may = homes.contains(&member.as_str())
                || (ABOVE_ALL_LAYERS.contains(&member.as_str()) && member != "bidloop");
            assert!(
                may || !dependencies.contains(technology),
                "{member} depends on {technology}"
            );
        }
        let is_used = homes
            .iter()
            .any(|home| workspace.members[*home].contains(technology));
        assert!(is_used, "{technology} is declared here and used nowhere");
    }
}

/// Dependencies of the released program: development and build dependencies of members do not count.
struct Workspace {
    /// What each member names in its manifest.
    members: BTreeMap<String, BTreeSet<String>>,
    /// What each locked package depends on, whatever the platform.
    locked: BTreeMap<String, BTreeSet<String>>,
}

impl Workspace {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
        let members = array(&metadata["packages"])
            .iter()
            .map(|package| {
                let dependencies = array(&package["dependencies"])
                    .iter()
                    .filter(|dependency| dependency["kind"].is_null())
                    .map(|dependency| text(&dependency["name"]));
                (text(&package["name"]), dependencies.collect())
            })
            .collect();

        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
        let lock: toml::Table = lock.parse().unwrap();
        let mut locked: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for package in lock["package"].as_array().unwrap() {
            let name = package["name"].as_str().unwrap().to_owned();
            let dependencies = package.get("dependencies").and_then(toml::Value::as_array);
            // An entry is a name, with a version where several are locked.
            let names = dependencies
                .into_iter()
                .flatten()
                .map(|entry| entry.as_str().unwrap().split(' ').next().unwrap().to_owned());
            locked.entry(name).or_default().extend(names);
        }
        Self { members, locked }
    }

    /// Every package that `member` is made of.
    fn closure_of(&self, member: &str) -> BTreeSet<String> {
        let mut closure = BTreeSet::new();
        let mut waiting = vec![member.to_owned()];
        while let Some(next) = waiting.pop() {
            let dependencies = self.members.get(&next).unwrap_or_else(|| &self.locked[&next]);
            for dependency in dependencies {
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

fn text(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}
