//! The suite on SQLite.

use anyhow::{Result, ensure};
use rusqlite::Connection;
use rusqlite::types::Value;

use super::contest::Pace;
use super::footprint;
use super::operations::{SameSql, UNKNOWN_LEAD, measure as measure_operations};
use super::sqlite_loop::{LoopContender, Turn, open};
use super::statements::{self, Dialect, Parameter};
use super::world::{self, BY_SQL, LISTED, bids_by_sql};
use crate::marketplace::Marketplace;
use crate::program::{Installation, Program};
use crate::report::Report;

/// Fills a database and measures on it.
pub(super) fn measure(
    program: &Program,
    marketplace: Marketplace,
    pace: Pace,
    connections: usize,
    report: &mut Report,
) -> Result<()> {
    let mut installation = Installation::new(program, None)?;
    world::fill(&mut installation, &marketplace)?;
    let service = installation.serve("api")?;
    let leads = world::newest_leads(&service)?;
    service.stop()?;
    footprint::memory(&installation, &leads, report)?;
    marketplace.close();

    let service = installation.serve("api")?;
    let file = installation.sqlite_file();
    let connection = open(&file)?;
    let look_up = with(
        constant_parameters(&connection)?,
        &[("campaign", LISTED), ("lead", UNKNOWN_LEAD)],
    );
    let list = statements::list(Dialect::Sqlite, &leads);
    let sql = SameSql {
        list: Box::new(LoopContender::new(
            &file,
            list,
            list_parameters(&connection)?,
            None,
        )?),
        look_up: Box::new(LoopContender::new(&file, statements::look_up(), look_up, None)?),
        bid: Box::new(LoopContender::new(
            &file,
            statements::bid(Dialect::Sqlite),
            constant_parameters(&connection)?,
            Some(turns(&connection)?),
        )?),
    };
    measure_operations("SQLite", &service, None, sql, (pace, connections), report)?;
    let bids: i64 = connection.query_row(&bids_by_sql(), [], |row| row.get(0))?;
    ensure!(bids > 0, "the loop's bids are not there");
    service.stop()
}

type Parameters = Vec<(&'static str, Value)>;

fn constant_parameters(connection: &Connection) -> Result<Parameters> {
    let key_hash: String = connection.query_row("SELECT key_hash FROM api_keys", [], |row| row.get(0))?;
    let constant = statements::parameters(&key_hash).into_iter();
    Ok(constant
        .map(|(name, value)| match value {
            Parameter::Text(text) => (name, Value::Text(text)),
            Parameter::Number(number) => (name, Value::Integer(number)),
        })
        .collect())
}

fn list_parameters(connection: &Connection) -> Result<Parameters> {
    let query = "SELECT generation, match_total FROM campaigns WHERE id = ?1";
    let (generation, newest): (i64, i64) =
        connection.query_row(query, [LISTED], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let mut parameters = with(constant_parameters(connection)?, &[("campaign", LISTED)]);
    parameters.push(("generation", Value::Integer(generation)));
    parameters.push(("oldest", Value::Integer(newest - 99)));
    parameters.push(("newest", Value::Integer(newest)));
    Ok(parameters)
}

fn with(mut parameters: Parameters, more: &[(&'static str, &str)]) -> Parameters {
    parameters.extend(
        more.iter()
            .map(|(name, value)| (*name, Value::Text((*value).to_owned()))),
    );
    parameters
}

/// A bid on every lead that is to be bid on by SQL.
fn turns(connection: &Connection) -> Result<Vec<Turn>> {
    let mut leads =
        connection.prepare("SELECT id, campaign_id, job_id FROM leads WHERE campaign_id LIKE ?1")?;
    let mut rows = leads.query([format!("{BY_SQL}%")])?;
    let mut turns = Vec::new();
    while let Some(row) = rows.next()? {
        let bid = format!("{:036}", turns.len());
        turns.push(vec![
            ("lead", row.get(0)?),
            ("campaign", row.get(1)?),
            ("job", row.get(2)?),
            ("bid", Value::Text(bid)),
        ]);
    }
    Ok(turns)
}
