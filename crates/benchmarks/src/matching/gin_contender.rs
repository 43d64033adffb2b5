//! PostgreSQL with a GIN index over every filter's anchor, the words of its rarest required group, asked with one
//! prepared query a job.
//!
//! Owns the server, the tables and the plans. What is compared with them is `gin_rows`'.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::io::{BufWriter, Write};
use std::process::{ChildStdin, Stdio};

use anyhow::{Context as _, Result, ensure};
use tokio::runtime::Runtime;
use tokio_postgres::{Client, NoTls, Statement};

use super::workload::{Filter, Job, Jobs};
use crate::postgres::PostgresServer;

/// Jobs that tell how frequent words are; those that the index has seen.
const OBSERVED: usize = 1_000;
/// All tables and indexes of a million filters stay in it.
const SHARED_BUFFERS: &str = "2GB";

const SESSION: &str = "SET jit = off; SET max_parallel_workers_per_gather = 0; SET work_mem = '64MB'; \
    SET plan_cache_mode = force_generic_plan;";

/// What is copied: groups by their frequency, rarest first, as words and as numbers.
const COPIED: &str = "CREATE UNLOGGED TABLE dictionary (word text COLLATE \"C\" NOT NULL, number int NOT NULL); \
    CREATE UNLOGGED TABLE copied (id int NOT NULL, \
        anchor text[] NOT NULL, second text[], third text[], fourth text[], excluded text[], \
        anchor_numbers int[] NOT NULL, second_numbers int[], third_numbers int[], fourth_numbers int[], \
        excluded_numbers int[], \
        categories int[], min_rate int, payment_verified bool NOT NULL, excluded_countries int[]);";

/// Filters with the same anchor lie side by side, so that fewer pages are read. `fastupdate` is off because pending
/// entries would have to be searched one by one.
const TABLES: &str = "CREATE UNIQUE INDEX ON dictionary (word) INCLUDE (number); \
    CREATE UNLOGGED TABLE by_words AS \
        SELECT id, anchor, second, third, fourth, excluded, \
            categories, min_rate, payment_verified, excluded_countries FROM copied ORDER BY anchor, id; \
    CREATE UNLOGGED TABLE by_numbers AS \
        SELECT id, anchor_numbers AS anchor, second_numbers AS second, third_numbers AS third, \
            fourth_numbers AS fourth, excluded_numbers AS excluded, \
            categories, min_rate, payment_verified, excluded_countries FROM copied ORDER BY anchor_numbers, id; \
    DROP TABLE copied; \
    CREATE INDEX ON by_words USING gin (anchor) WITH (fastupdate = off); \
    CREATE INDEX ON by_numbers USING gin (anchor) WITH (fastupdate = off);";

/// In a schema of its own: on the search path its operators would hide PostgreSQL's, which then use no index.
const INTARRAY: &str = "CREATE SCHEMA intarray; CREATE EXTENSION intarray SCHEMA intarray; \
    CREATE INDEX ON by_numbers USING gin (anchor intarray.gin__int_ops) WITH (fastupdate = off);";

/// The job's words, looked up in the database.
const DICTIONARY: &str = "WITH known AS MATERIALIZED \
    (SELECT array_agg(number ORDER BY number) AS numbers FROM dictionary WHERE word = ANY ($1)) ";

/// PostgreSQL, and a connection to it over its Unix socket.
pub(super) struct Server {
    runtime: Runtime,
    client: Client,
    process: PostgresServer,
    address: String,
}

/// A way to ask: its query is prepared.
pub(super) struct Plan {
    /// The detail of the report that tells its time.
    pub(super) name: &'static str,
    statement: Statement,
}

/// A job as the query's parameters.
pub(super) struct Asked {
    words: Vec<String>,
    category: i32,
    rate: i32,
    payment_verified: bool,
    country: i32,
}

impl Server {
    pub(super) fn start() -> Result<Self> {
        let server = PostgresServer::start_throw_away(SHARED_BUFFERS)?;
        let address = server.socket().context("PostgreSQL has no socket")?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (client, connection) = runtime.block_on(tokio_postgres::connect(&address, NoTls))?;
        runtime.spawn(connection);
        runtime.block_on(client.batch_execute(SESSION))?;
        Ok(Self {
            runtime,
            client,
            process: server,
            address,
        })
    }

    /// Stores the filters, in place of those stored before, and returns the ways to ask for those that match.
    pub(super) fn store(&self, filters: impl Iterator<Item = Filter>) -> Result<Vec<Plan>> {
        self.execute(
            "DROP SCHEMA IF EXISTS intarray CASCADE; \
             DROP TABLE IF EXISTS dictionary, copied, by_words, by_numbers",
        )?;
        self.execute(COPIED)?;
        let seen = frequencies();
        let mut numbers = HashMap::new();
        self.copy("copied", |copy| {
            for (id, filter) in filters.enumerate() {
                writeln!(copy, "{}", line(id, &filter, &seen, &mut numbers)?)?;
            }
            Ok(())
        })?;
        self.copy("dictionary", |copy| {
            for (word, number) in &numbers {
                writeln!(copy, "{word}\t{number}")?;
            }
            Ok(())
        })?;
        self.execute(TABLES)?;
        let mut plans = vec![
            ("words as text, ms a job", query("", "by_words", "$1", "&&")),
            (
                "words as numbers, ms a job",
                query(
                    DICTIONARY,
                    "by_numbers",
                    "(SELECT numbers FROM known)",
                    "OPERATOR(pg_catalog.&&)",
                ),
            ),
        ];
        if self.has_intarray()? {
            self.execute(INTARRAY)?;
            plans.push((
                "numbers with intarray, ms a job",
                query(
                    DICTIONARY,
                    "by_numbers",
                    "(SELECT numbers FROM known)",
                    "OPERATOR(intarray.&&)",
                ),
            ));
        }
        self.execute("VACUUM ANALYZE dictionary")?;
        self.execute("VACUUM ANALYZE by_words")?;
        self.execute("VACUUM ANALYZE by_numbers")?;
        plans
            .into_iter()
            .map(|(name, sql)| self.plan(name, &sql))
            .collect()
    }

    /// The numbers of the filters that match, in any order.
    pub(super) fn matches(&self, plan: &Plan, job: &Asked) -> Result<Vec<i32>> {
        let row = self.runtime.block_on(self.client.query_one(
            &plan.statement,
            &[
                &job.words,
                &job.category,
                &job.rate,
                &job.payment_verified,
                &job.country,
            ],
        ))?;
        Ok(row.try_get(0)?)
    }

    fn execute(&self, sql: &str) -> Result<()> {
        Ok(self.runtime.block_on(self.client.batch_execute(sql))?)
    }

    fn has_intarray(&self) -> Result<bool> {
        let sql = "SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'intarray')";
        Ok(self
            .runtime
            .block_on(self.client.query_one(sql, &[]))?
            .try_get(0)?)
    }

    /// Prepares the query; an error if it would not use the index.
    fn plan(&self, name: &'static str, sql: &str) -> Result<Plan> {
        let statement = self.runtime.block_on(self.client.prepare(sql))?;
        let explained = self.runtime.block_on(self.client.simple_query(&format!(
            "PREPARE explained (text[], int, int, bool, int) AS {sql}; \
             EXPLAIN EXECUTE explained ('{{}}', 0, 0, true, 0); DEALLOCATE explained"
        )))?;
        let explained = format!("{explained:?}");
        ensure!(
            explained.contains("Bitmap Index Scan on by_"),
            "PostgreSQL does not use the index: {explained}"
        );
        Ok(Plan { name, statement })
    }

    fn copy(&self, table: &str, write: impl FnOnce(&mut BufWriter<ChildStdin>) -> Result<()>) -> Result<()> {
        let sql = format!("COPY {table} FROM STDIN");
        let mut psql = self.process.client("psql");
        psql.args([
            "-X",
            "-q",
            "-v",
            "ON_ERROR_STOP=1",
            "-d",
            &self.address,
            "-c",
            &sql,
        ]);
        let mut psql = psql.stdin(Stdio::piped()).spawn().context("psql cannot be run")?;
        let mut input = BufWriter::new(psql.stdin.take().context("psql has no input")?);
        let written = write(&mut input).and_then(|()| Ok(input.flush()?));
        drop(input);
        ensure!(psql.wait()?.success(), "the filters cannot be copied");
        written
    }
}

impl Asked {
    pub(super) fn of(job: &Job) -> Result<Self> {
        let mut words = job.words.clone();
        words.sort_unstable();
        words.dedup();
        Ok(Self {
            words,
            category: i32::try_from(job.category)?,
            rate: i32::try_from(job.rate)?,
            payment_verified: job.payment_verified,
            country: i32::try_from(job.country)?,
        })
    }
}

/// The query: what is cheap to judge stands before what is not, and the answer is one row.
fn query(with: &str, table: &str, words: &str, overlaps: &str) -> String {
    let mut sql = format!(
        "{with}SELECT coalesce(array_agg(id), '{{}}') FROM {table} WHERE anchor {overlaps} {words} \
         AND (min_rate IS NULL OR min_rate <= $3) AND (NOT payment_verified OR $4) \
         AND (categories IS NULL OR $2 = ANY (categories)) \
         AND (excluded_countries IS NULL OR NOT $5 = ANY (excluded_countries))"
    );
    for group in ["second", "third", "fourth"] {
        let _ = write!(sql, " AND ({group} IS NULL OR {group} {overlaps} {words})");
    }
    let _ = write!(sql, " AND (excluded IS NULL OR NOT excluded {overlaps} {words})");
    sql
}

/// In how many of the observed jobs each word stands.
fn frequencies() -> HashMap<String, usize> {
    let mut seen = HashMap::new();
    for mut job in Jobs::new(12).take(OBSERVED) {
        job.words.sort_unstable();
        job.words.dedup();
        for word in job.words {
            *seen.entry(word).or_default() += 1;
        }
    }
    seen
}

/// The filter as a line of COPY's.
fn line(
    id: usize,
    filter: &Filter,
    seen: &HashMap<String, usize>,
    numbers: &mut HashMap<String, usize>,
) -> Result<String> {
    ensure!(
        filter.phrase.is_none() && (1..=4).contains(&filter.groups.len()),
        "the filter does not fit the table"
    );
    let mut groups: Vec<&[String]> = filter.groups.iter().map(Vec::as_slice).collect();
    let frequency = |group: &&[String]| -> usize {
        let each = group.iter().map(|word| seen.get(word).copied().unwrap_or(0));
        each.sum()
    };
    groups.sort_by_key(frequency);
    groups.resize(4, &[]);
    groups.push(&filter.excluded);
    let mut line = id.to_string();
    for group in &groups {
        let _ = write!(line, "\t{}", array(group));
    }
    for group in groups {
        let numbered = group.iter().map(|word| {
            let next = numbers.len();
            *numbers.entry(word.clone()).or_insert(next)
        });
        let numbered: Vec<usize> = numbered.collect();
        let _ = write!(line, "\t{}", array(&numbered));
    }
    let rate = filter
        .min_rate
        .map_or_else(|| "\\N".to_owned(), |rate| rate.to_string());
    let _ = write!(
        line,
        "\t{}\t{rate}\t{}\t{}",
        array(&filter.categories),
        filter.payment_verified,
        array(&filter.excluded_countries)
    );
    Ok(line)
}

/// An array's literal; null for an empty one.
fn array<T: ToString>(values: &[T]) -> String {
    if values.is_empty() {
        return "\\N".to_owned();
    }
    let values: Vec<String> = values.iter().map(T::to_string).collect();
    format!("{{{}}}", values.join(","))
}
