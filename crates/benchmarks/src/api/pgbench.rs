//! The same SQL through `pgbench`: as many connections as the load generator has, statements prepared once each.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::contest::{Contender, Cpu, Run};
use super::statements::Step;
use crate::postgres::{PostgresDatabase, PostgresServer, run};
use crate::process;

/// A script under `pgbench`.
#[derive(Debug)]
pub(super) struct PgbenchContender<'d> {
    server: &'d PostgresServer,
    url: String,
    connections: usize,
    /// Holds the script, and a run's log of latencies.
    folder: TempDir,
    parameters: Vec<(String, String)>,
    runs: u32,
}

/// How a script counts its transactions: `:n` over all connections and `:run`, which tells one run from the others.
const COUNTING: &str = "\\set n :i * :connections + :client_id\n\\set i :i + 1\n";

impl<'d> PgbenchContender<'d> {
    /// `prelude` computes further variables from `:n`, as `pgbench` commands.
    pub(super) fn new(
        database: &'d PostgresDatabase<'_>,
        connections: usize,
        prelude: &str,
        steps: &[Step],
        parameters: &[(&str, String)],
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bidloop-pgbench.").tempdir()?;
        let mut script = format!("{COUNTING}{prelude}");
        for step in steps {
            // Writing to a string cannot fail.
            let _ = match step {
                Step::One(statement) => writeln!(script, "{statement};"),
                Step::Together(statements) => {
                    writeln!(
                        script,
                        "\\startpipeline\n{};\n\\endpipeline",
                        statements.join(";\n")
                    )
                }
            };
        }
        std::fs::write(folder.path().join("script"), script)?;
        let named = parameters
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()));
        Ok(Self {
            server: database.server,
            url: database.url.clone(),
            connections,
            folder,
            parameters: named.collect(),
            runs: 0,
        })
    }
}

impl Contender for PgbenchContender<'_> {
    fn name(&self) -> &'static str {
        "pgbench"
    }

    fn run(&mut self, time: Duration) -> Result<Run> {
        self.runs += 1;
        let connections = self.connections.to_string();
        let mut pgbench = self.server.client("pgbench");
        pgbench
            .current_dir(self.folder.path())
            .args([
                "-M",
                "prepared",
                "-n",
                "-j",
                "2",
                "-c",
                &connections,
                "-f",
                "script",
            ])
            .args([
                "-T",
                &time.as_secs().max(1).to_string(),
                "-l",
                "--log-prefix=latencies",
            ])
            .arg(format!("-Dconnections={connections}"))
            .args(["-Di=0", &format!("-Drun={}", self.runs)]);
        for (name, value) in &self.parameters {
            pgbench.arg(format!("-D{name}={value}"));
        }
        let output = run(pgbench.arg(&self.url))?;
        let said = String::from_utf8(output.stdout)?;
        let tps = said.lines().find_map(|line| {
            let tps = line.strip_prefix("tps = ")?;
            tps.split_whitespace().next()?.parse::<f64>().ok()
        });
        let tps = tps.context("pgbench says nothing of its throughput")?;
        let latencies_us = take_latencies(self.folder.path())?;
        ensure!(tps > 0.0, "pgbench did nothing: {said}");
        let seconds = f64::from(u32::try_from(latencies_us.len())?) / tps;
        Ok(Run {
            seconds,
            latencies_us,
        })
    }

    fn cpu(&self) -> Cpu {
        Cpu {
            server: None,
            database: self.server.pid().and_then(process::cpu_seconds_of_family),
        }
    }
}

/// Reads and removes a run's logs: a line a transaction, the third word its microseconds.
fn take_latencies(folder: &Path) -> Result<Vec<u32>> {
    let mut latencies = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_string_lossy().starts_with("latencies.") {
            continue;
        }
        for line in std::fs::read_to_string(entry.path())?.lines() {
            let microseconds = line.split(' ').nth(2).context("pgbench's log has another form")?;
            latencies.push(microseconds.parse()?);
        }
        std::fs::remove_file(entry.path())?;
    }
    Ok(latencies)
}
