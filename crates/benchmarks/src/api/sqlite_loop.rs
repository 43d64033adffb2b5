//! The same SQL on SQLite in a bare loop: one connection with the service's settings on one thread, statements prepared
//! once each.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::{Connection, Statement};

use super::contest::{Contender, Run, latency_us};
use super::fill::BY_SQL;
use super::statements::{Script, Step};
use crate::process::Cpu;

/// The service's own settings of a connection.
const SETTINGS: &str = "\
PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864";

type Parameters = Vec<(&'static str, String)>;

/// A loop over some statements.
#[derive(Debug)]
pub(super) struct LoopContender {
    connection: Connection,
    statements: Vec<String>,
    parameters: Parameters,
    /// The parameters that change from turn to turn, over all runs; `None` if all turns are alike.
    turns: Option<std::vec::IntoIter<Parameters>>,
}

impl LoopContender {
    /// A loop over the service's database file.
    pub(super) fn new(file: &Path, script: Script) -> Result<Self> {
        let connection = Connection::open(file)?;
        connection.execute_batch(SETTINGS)?;
        let turns = script.bids.then(|| turns(&connection)).transpose()?;
        let statements = script.steps.into_iter().flat_map(|step| match step {
            Step::One(statement) => vec![statement],
            Step::Together(statements) => statements,
        });
        Ok(Self {
            statements: statements.collect(),
            connection,
            parameters: script.parameters,
            turns: turns.map(IntoIterator::into_iter),
        })
    }
}

/// A bid on every lead that is to be bid on by SQL.
fn turns(connection: &Connection) -> Result<Vec<Parameters>> {
    let query = "SELECT leads.id, leads.job_id, leads.organization_id, api_keys.key_hash FROM leads \
                 JOIN api_keys ON api_keys.organization_id = leads.organization_id \
                 WHERE leads.campaign_id = ?1 ORDER BY leads.job_id, leads.organization_id";
    let mut leads = connection.prepare(query)?;
    let mut rows = leads.query([BY_SQL])?;
    let mut turns = Vec::new();
    while let Some(row) = rows.next()? {
        turns.push(vec![
            ("lead", row.get(0)?),
            ("job", row.get(1)?),
            ("organization", row.get(2)?),
            ("key_hash", row.get(3)?),
            ("bid", format!("{:036}", turns.len())),
        ]);
    }
    Ok(turns)
}

impl Contender for LoopContender {
    fn name(&self) -> &'static str {
        "bare loop"
    }

    fn run(&mut self, time: Duration) -> Result<Run> {
        let mut statements = Vec::new();
        for statement in &self.statements {
            let mut statement = self.connection.prepare(statement)?;
            bind(&mut statement, &self.parameters)?;
            statements.push(statement);
        }
        let mut latencies_us = Vec::new();
        let started = Instant::now();
        while started.elapsed() < time {
            if let Some(turns) = &mut self.turns {
                let Some(turn) = turns.next() else { break };
                for statement in &mut statements {
                    bind(statement, &turn)?;
                }
            }
            let began = Instant::now();
            for statement in &mut statements {
                std::hint::black_box(bytes_read(statement)?);
            }
            latencies_us.push(latency_us(began));
        }
        Ok(Run::since(started, latencies_us))
    }

    fn cpu(&self) -> Cpu {
        // The rest of this process does nothing meanwhile.
        Cpu::of(Some(std::process::id()), None)
    }
}

/// Gives the statement those of the parameters that it names, until they are bound again.
fn bind(statement: &mut Statement<'_>, parameters: &[(&str, String)]) -> Result<()> {
    for (name, value) in parameters {
        if let Some(index) = statement.parameter_index(&format!(":{name}"))? {
            statement.raw_bind_parameter(index, value)?;
        }
    }
    Ok(())
}

/// Runs the statement and reads every column of every row. Returns the bytes of text read.
fn bytes_read(statement: &mut Statement<'_>) -> Result<usize> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            bytes += row.get_ref(column)?.as_str().map_or(8, str::len);
        }
    }
    Ok(bytes)
}
