//! The same SQL through `pgbench`: as many connections as the load generator has, statements prepared once each.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use super::contest::{Contender, Run};
use super::fill::{BY_SQL, BY_SQL_LEADS, ORGANIZATIONS};
use super::statements::{Script, Step};
use crate::postgres::{PostgresDatabase, run};
use crate::process::Cpu;

/// How a script counts its transactions: `:n` over all connections and `:run`, which tells one run from the others.
const COUNTING: &str = "\\set n :i * :connections + :client_id\n\\set i :i + 1\n";

/// Lead, organization and job of the transaction's number, starting again when all leads are used.
const BID: &str =
    "\\set l :n % (:organizations * :leads)\n\\set o :l % :organizations\n\\set j :l / :organizations\n";

/// What stands for the parameters that change from bid to bid.
const NUMBERED: [(&str, &str); 5] = [
    (":lead", "lpad(:l::text, 35, '0')"),
    (":organization", "('spread_' || lpad(:o::text, 2, '0'))"),
    (
        ":key_hash",
        "encode(sha256(convert_to('lk_' || lpad((:o::bigint + 1)::text, 64, '0'), 'UTF8')), 'hex')",
    ),
    (":job", "lpad(:j::text, 19, '0')"),
    (":bid", "(:run::text || lpad(:n::text, 35, '0'))"),
];

/// Prepares a filled database: vacuums it, as autovacuum would a little later, and gives the leads to bid on by SQL, and the
/// jobs of their matches, numbers for ids, which `pgbench` can count.
pub(super) fn prepare(database: &PostgresDatabase<'_>) -> Result<()> {
    database.execute(&format!(
        "WITH numbered AS (SELECT id, row_number() OVER (ORDER BY job_id, organization_id) - 1 AS n FROM leads \
         WHERE campaign_id = '{BY_SQL}') \
         UPDATE leads SET id = lpad(n::text, 35, '0') FROM numbered WHERE leads.id = numbered.id; \
         UPDATE matches SET job_id = lpad((leads.id::bigint / {ORGANIZATIONS})::text, 19, '0') FROM leads \
         WHERE leads.campaign_id = '{BY_SQL}' AND matches.organization_id = leads.organization_id \
         AND matches.campaign_id = leads.campaign_id AND matches.job_id = leads.job_id"
    ))?;
    database.execute("VACUUM ANALYZE").map(drop)
}

/// A script under `pgbench`.
#[derive(Debug)]
pub(super) struct PgbenchContender<'d> {
    database: &'d PostgresDatabase<'d>,
    connections: u16,
    /// Holds the script, and a run's log of latencies.
    folder: TempDir,
    parameters: Vec<(&'static str, String)>,
    /// The number of the last run. No two runs on a database have the same.
    run: u32,
}

impl<'d> PgbenchContender<'d> {
    /// Its first run has the number after `run`.
    pub(super) fn new(
        database: &'d PostgresDatabase<'_>,
        connections: u16,
        script: Script,
        run: u32,
    ) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("bidloop-pgbench.").tempdir()?;
        std::fs::write(folder.path().join("script"), text(&script))?;
        Ok(Self {
            database,
            connections,
            folder,
            parameters: script.parameters,
            run,
        })
    }
}

/// The script as `pgbench` reads it.
fn text(script: &Script) -> String {
    let mut text = String::new();
    for step in &script.steps {
        // Writing to a string cannot fail.
        let _ = match step {
            Step::One(statement) => writeln!(text, "{statement};"),
            Step::Together(statements) => {
                writeln!(
                    text,
                    "\\startpipeline\n{};\n\\endpipeline",
                    statements.join(";\n")
                )
            }
        };
    }
    if script.bids {
        let numbered = NUMBERED.iter();
        text = BID.to_owned() + &numbered.fold(text, |text, (name, number)| text.replace(name, number));
    }
    COUNTING.to_owned() + &text
}

impl Contender for PgbenchContender<'_> {
    fn name(&self) -> &'static str {
        "pgbench"
    }

    fn run(&mut self, time: Duration) -> Result<Run> {
        self.run += 1;
        let (connections, seconds) = (self.connections, time.as_secs().max(1));
        let mut pgbench = self.database.server.pgbench();
        pgbench
            .current_dir(self.folder.path())
            .args("-M prepared -n -j 2 -f script -l --log-prefix=latencies -Di=0".split(' '))
            .arg(format!("-c{connections}"))
            .arg(format!("-T{seconds}"))
            .arg(format!("-Dconnections={connections}"))
            .arg(format!("-Drun={}", self.run))
            .arg(format!("-Dorganizations={ORGANIZATIONS}"))
            .arg(format!("-Dleads={BY_SQL_LEADS}"));
        for (name, value) in &self.parameters {
            pgbench.arg(format!("-D{name}={value}"));
        }
        let output = run(pgbench.arg(&self.database.url))?;
        let output = String::from_utf8(output.stdout)?;
        let per_second: Option<f64> = output.lines().find_map(|line| {
            let figure = line.strip_prefix("tps = ")?.split_whitespace().next()?;
            figure.parse().ok()
        });
        let per_second = per_second.context("pgbench does not print its throughput")?;
        ensure!(per_second > 0.0, "pgbench did nothing: {output}");
        let latencies_us = take_latencies(self.folder.path())?;
        Ok(Run {
            seconds: latencies_us.len() as f64 / per_second,
            latencies_us,
        })
    }

    fn cpu(&self) -> Cpu {
        Cpu::of(None, self.database.server.pid())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_bid_to_bid_is_counted_by_pgbench() {
        let statement = "VALUES (:lead, :letter, :job, :bid)".to_owned();
        let script = Script {
            steps: vec![Step::One(statement)],
            parameters: Vec::new(),
            bids: true,
        };
        let expected = "VALUES (lpad(:l::text, 35, '0'), :letter, lpad(:j::text, 19, '0'), \
                        (:run::text || lpad(:n::text, 35, '0')));\n";
        assert_eq!(text(&script), format!("{COUNTING}{BID}{expected}"));
    }
}
