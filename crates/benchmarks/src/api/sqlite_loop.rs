//! The same SQL on SQLite in a bare loop: one connection with the service's settings, statements prepared once each,
//! no thread to hand anything to.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use rusqlite::types::Value;
use rusqlite::{Connection, Statement};

use super::contest::{Contender, Cpu, Run};
use super::statements::Step;
use crate::process;

/// The service's own settings of a connection.
const SETTINGS: &str = "\
PRAGMA busy_timeout = 5000; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
PRAGMA temp_store = MEMORY; PRAGMA journal_size_limit = 67108864";

/// Opens the service's database.
pub(super) fn open(file: &Path) -> Result<Connection> {
    let connection = Connection::open(file)?;
    connection.execute_batch(SETTINGS)?;
    Ok(connection)
}

/// Parameters that change from one turn of the loop to the next.
pub(super) type Turn = Vec<(&'static str, Value)>;

/// A loop over some statements.
#[derive(Debug)]
pub(super) struct LoopContender {
    connection: Connection,
    statements: Vec<String>,
    parameters: Vec<(&'static str, Value)>,
    /// Each for one turn, over all runs; without any, all turns are alike.
    turns: Option<std::vec::IntoIter<Turn>>,
}

impl LoopContender {
    /// Over the service's database file.
    pub(super) fn new(
        file: &Path,
        steps: Vec<Step>,
        parameters: Vec<(&'static str, Value)>,
        turns: Option<Vec<Turn>>,
    ) -> Result<Self> {
        let statements = steps.into_iter().flat_map(|step| match step {
            Step::One(statement) => vec![statement],
            Step::Together(statements) => statements,
        });
        Ok(Self {
            connection: open(file)?,
            statements: statements.collect(),
            parameters,
            turns: turns.map(IntoIterator::into_iter),
        })
    }
}

impl Contender for LoopContender {
    fn name(&self) -> &'static str {
        "bare loop"
    }

    fn run(&mut self, time: Duration) -> Result<Run> {
        let mut parameters = Parameters::new(&self.parameters);
        let mut statements = Vec::new();
        for statement in &self.statements {
            statements.push(Prepared::new(&self.connection, statement, &mut parameters)?);
        }
        let mut latencies_us = Vec::new();
        let started = Instant::now();
        while started.elapsed() < time {
            if let Some(turns) = &mut self.turns {
                let Some(turn) = turns.next() else { break };
                for (name, value) in turn {
                    let place = parameters.place(name);
                    parameters.values[place] = value;
                }
            }
            let began = Instant::now();
            for statement in &mut statements {
                std::hint::black_box(statement.run(&parameters.values)?);
            }
            latencies_us.push(u32::try_from(began.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
        let seconds = started.elapsed().as_secs_f64();
        Ok(Run {
            seconds,
            latencies_us,
        })
    }

    fn cpu(&self) -> Cpu {
        // Nothing else of this process does anything meanwhile.
        Cpu {
            server: process::cpu_seconds(std::process::id()),
            database: None,
        }
    }
}

/// Values by place, so that the loop looks up no names.
struct Parameters {
    names: Vec<String>,
    values: Vec<Value>,
}

impl Parameters {
    fn new(given: &[(&'static str, Value)]) -> Self {
        let (names, values) = given
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .unzip();
        Self { names, values }
    }

    fn place(&mut self, name: &str) -> usize {
        let known = self.names.iter().position(|known| known == name);
        known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.values.push(Value::Null);
            self.names.len() - 1
        })
    }
}

struct Prepared<'c> {
    statement: Statement<'c>,
    /// The place of each of its parameters' values.
    places: Vec<usize>,
    columns: usize,
}

impl<'c> Prepared<'c> {
    fn new(connection: &'c Connection, sql: &str, parameters: &mut Parameters) -> Result<Self> {
        let statement = connection.prepare(sql)?;
        let places = (1..=statement.parameter_count())
            .map(|index| {
                let name = statement.parameter_name(index).unwrap_or_default();
                parameters.place(name.trim_start_matches(':'))
            })
            .collect();
        let columns = statement.column_count();
        Ok(Self {
            statement,
            places,
            columns,
        })
    }

    /// Runs it and looks at every column of every row; returns how many bytes of text those were.
    fn run(&mut self, values: &[Value]) -> Result<usize> {
        for (index, place) in self.places.iter().enumerate() {
            self.statement.raw_bind_parameter(index + 1, &values[*place])?;
        }
        let mut rows = self.statement.raw_query();
        let mut bytes = 0;
        while let Some(row) = rows.next()? {
            for column in 0..self.columns {
                bytes += row.get_ref(column)?.as_str().map_or(8, str::len);
            }
        }
        Ok(bytes)
    }
}
