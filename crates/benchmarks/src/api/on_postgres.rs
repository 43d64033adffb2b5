//! The suite on PostgreSQL.

use anyhow::{Context, Result, ensure};

use super::contest::Pace;
use super::operations::{SameSql, UNKNOWN_LEAD, measure as measure_operations};
use super::pgbench::PgbenchContender;
use super::statements::{self, Dialect, Parameter, Step};
use super::world::{self, BY_SQL, JOBS, LISTED, POOLS, bids_by_sql};
use crate::marketplace::Marketplace;
use crate::postgres::{PostgresDatabase, PostgresServer};
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
    let server = PostgresServer::start()?;
    let database = server.create_database()?;
    let mut installation = Installation::new(program, Some(&database.url))?;
    world::fill(&mut installation, &marketplace)?;
    marketplace.close();
    number_leads(&database)?;
    // What autovacuum would do a little later, or in the middle of a round.
    database.sql("VACUUM ANALYZE")?;

    let service = installation.serve("api")?;
    let leads = world::newest_leads(&service)?;
    let look_up = with(
        constant_parameters(&database)?,
        &[("campaign", LISTED), ("lead", UNKNOWN_LEAD)],
    );
    let list = statements::list(Dialect::Postgres, &leads);
    let pgbench = |prelude: &str, steps: &[Step], parameters: &Parameters| {
        PgbenchContender::new(&database, connections, prelude, steps, parameters)
    };
    let sql = SameSql {
        list: Box::new(pgbench("", &list, &list_parameters(&database, &leads)?)?),
        look_up: Box::new(pgbench("", &statements::look_up(), &look_up)?),
        bid: Box::new(pgbench(
            BID,
            &numbered(statements::bid(Dialect::Postgres)),
            &bid_parameters(&database)?,
        )?),
    };
    measure_operations(
        "PostgreSQL",
        &service,
        server.pid(),
        sql,
        (pace, connections),
        report,
    )?;
    let bids = database.sql(&bids_by_sql())?;
    ensure!(bids.parse::<u64>()? > 0, "pgbench's bids are not there");
    service.stop()
}

/// Gives the leads that are to be bid on by SQL numbers for ids, which `pgbench` can count.
fn number_leads(database: &PostgresDatabase<'_>) -> Result<()> {
    let statement = format!(
        "WITH numbered AS (SELECT id, row_number() OVER (ORDER BY campaign_id, job_id) - 1 AS n FROM leads \
         WHERE campaign_id LIKE '{BY_SQL}%') \
         UPDATE leads SET id = lpad(n::text, 35, '0') FROM numbered WHERE leads.id = numbered.id"
    );
    database.sql(&statement)?;
    Ok(())
}

/// Lead and campaign of the transaction's number; of one that goes beyond all leads, again the first.
const BID: &str = "\\set l :n % :leads\n\\set c :l / :jobs\n";

/// What stands for the parameters that change from bid to bid.
const NUMBERED: [(&str, &str); 4] = [
    (":lead ", "lpad(:l::text, 35, '0') "),
    (":campaign ", "(:by_sql || :c::text) "),
    (":job ", "(:l::bigint % :jobs::bigint)::text "),
    (":bid ", "(:run::text || lpad(:n::text, 35, '0')) "),
];

fn numbered(steps: Vec<Step>) -> Vec<Step> {
    let statement = |statement: String| {
        // Apart from what follows, so that no name is the beginning of another.
        let spaced = statement.replace(',', " ,").replace(')', " )") + " ";
        NUMBERED.iter().fold(spaced, |statement, (name, number)| {
            statement.replace(name, number)
        })
    };
    let step = |step| match step {
        Step::One(one) => Step::One(statement(one)),
        Step::Together(all) => Step::Together(all.into_iter().map(statement).collect()),
    };
    steps.into_iter().map(step).collect()
}

type Parameters = Vec<(&'static str, String)>;

fn constant_parameters(database: &PostgresDatabase<'_>) -> Result<Parameters> {
    let key_hash = database.sql("SELECT key_hash FROM api_keys")?;
    let constant = statements::parameters(&key_hash).into_iter();
    Ok(constant
        .map(|(name, value)| match value {
            Parameter::Text(text) => (name, text),
            Parameter::Number(number) => (name, number.to_string()),
        })
        .collect())
}

fn list_parameters(database: &PostgresDatabase<'_>, leads: &[String]) -> Result<Parameters> {
    let query = format!("SELECT generation, match_total FROM campaigns WHERE id = '{LISTED}'");
    let found = database.sql(&query)?;
    let (generation, newest) = found
        .split_once('|')
        .context("the listed campaign is not there")?;
    let newest: i64 = newest.parse()?;
    let numbers: Vec<String> = (newest - 99..=newest).map(|number| number.to_string()).collect();
    let mut parameters = with(
        constant_parameters(database)?,
        &[("campaign", LISTED), ("generation", generation)],
    );
    parameters.push(("oldest", (newest - 99).to_string()));
    parameters.push(("newest", newest.to_string()));
    parameters.push(("numbers", format!("{{{}}}", numbers.join(","))));
    parameters.push(("leads", format!("{{{}}}", leads.join(","))));
    Ok(parameters)
}

fn bid_parameters(database: &PostgresDatabase<'_>) -> Result<Parameters> {
    let mut parameters = with(constant_parameters(database)?, &[("by_sql", BY_SQL)]);
    parameters.push(("jobs", JOBS.to_string()));
    parameters.push(("leads", (JOBS * POOLS).to_string()));
    Ok(parameters)
}

fn with(mut parameters: Parameters, more: &[(&'static str, &str)]) -> Parameters {
    parameters.extend(more.iter().map(|(name, value)| (*name, (*value).to_owned())));
    parameters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_from_bid_to_bid_is_counted_by_pgbench() {
        let steps = numbered(vec![Step::One(
            "VALUES (:lead, :letter, :job, :bid) = :campaign".to_owned(),
        )]);
        let expected = "VALUES (lpad(:l::text, 35, '0') , :letter , (:l::bigint % :jobs::bigint)::text , \
                        (:run::text || lpad(:n::text, 35, '0')) ) = (:by_sql || :c::text) ";
        assert_eq!(steps, [Step::One(expected.to_owned())]);
    }
}
