//! What the suites measure on: the program with a database, a marketplace to watch, and an organization.

use anyhow::Result;
use serde_json::{Value, json};

use crate::database::Database;
use crate::http::KEY;
use crate::marketplace::Marketplace;
use crate::postgres::PostgresServer;
use crate::program::{Installation, Program};
use crate::report::{Report, Row};

/// The organization's id.
pub(crate) const ORGANIZATION: &str = "organization";
/// Start of the billing period, in UNIX seconds. The period is longer than any run.
pub(crate) const PERIOD_START: i64 = 1_704_067_200;
/// Its end.
pub(crate) const PERIOD_END: i64 = 4_102_444_800;

/// The program with a database and a marketplace to watch.
#[derive(Debug)]
pub(crate) struct World<'s> {
    pub(crate) installation: Installation,
    pub(crate) database: Database<'s>,
    pub(crate) marketplace: Marketplace,
}

impl<'s> World<'s> {
    /// On PostgreSQL if there is a server, else on SQLite.
    pub(crate) fn new(program: &Program, server: Option<&'s PostgresServer>) -> Result<Self> {
        let postgres = server.map(PostgresServer::create_database).transpose()?;
        let url = postgres.as_ref().map(|database| database.url.as_str());
        let mut installation = Installation::new(program, url)?;
        let database = postgres.map_or_else(
            || Database::Sqlite(installation.sqlite_file()),
            Database::Postgres,
        );
        let marketplace = Marketplace::open()?;
        installation.watch(marketplace.address());
        Ok(Self {
            installation,
            database,
            marketplace,
        })
    }

    /// A name in the report.
    pub(crate) fn name(&self, measure: &str) -> String {
        format!("{measure}, {}", self.database.name())
    }
}

/// The databases to measure on; both without an option.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Databases {
    /// On SQLite alone.
    #[arg(long, conflicts_with = "postgres")]
    sqlite: bool,
    /// On PostgreSQL alone.
    #[arg(long)]
    postgres: bool,
}

impl Databases {
    pub(crate) const fn has_sqlite(self) -> bool {
        !self.postgres
    }

    const fn has_postgres(self) -> bool {
        !self.sqlite
    }
}

/// Measures on those of the databases that are asked for: without a server, which means SQLite, and then on PostgreSQL. What
/// cannot be measured becomes a row that fails, and the other database is measured all the same.
pub(crate) fn on_databases(
    databases: Databases,
    report: &mut Report,
    mut measure: impl FnMut(Option<&PostgresServer>, &mut Report) -> Result<()>,
) {
    if databases.has_sqlite() {
        let sqlite = measure(None, report);
        note_failure("SQLite", sqlite, report);
    }
    if databases.has_postgres() {
        let postgres = PostgresServer::start().and_then(|server| measure(Some(&server), report));
        note_failure("PostgreSQL", postgres, report);
    }
}

fn note_failure(database: &str, measured: Result<()>, report: &mut Report) {
    if let Err(error) = measured {
        let measure = format!("everything else, {database}");
        report.add(Row::failed(measure, format!("{error:#}")));
    }
}

/// A provisioning document: the organization with an API key, a bidder account and paused campaigns, given by id and
/// filter. Paused campaigns list jobs and take bids but do nothing by themselves.
pub(crate) fn organization(campaigns: impl Iterator<Item = (String, Option<Value>)>) -> Value {
    json!({"organizations": [bidding_organization(ORGANIZATION, KEY, campaigns)]})
}

/// Such an organization with this id and this API key, for a provisioning document.
pub(crate) fn bidding_organization(
    id: &str,
    key: &str,
    campaigns: impl Iterator<Item = (String, Option<Value>)>,
) -> Value {
    let campaign = |(id, filter): (String, Option<Value>)| {
        let filters: Vec<Value> = filter.into_iter().map(|filter| named(filter, &id)).collect();
        json!({
            "id": id, "name": id, "mode": "automatic", "state": "paused", "bidderAccountId": "account",
            "filters": filters,
        })
    };
    json!({
        "id": id, "name": "Benchmark", "subscription": subscription(),
        "apiKeys": [{"id": "key", "name": "Load", "key": key}],
        "bidderAccounts": [{"id": "account", "name": "Account", "token": "token"}],
        "campaigns": campaigns.map(campaign).collect::<Vec<_>>(),
    })
}

/// A subscription that covers any run.
pub(crate) fn subscription() -> Value {
    json!({
        "status": "active", "collectionPaused": false, "currentPeriodStart": PERIOD_START,
        "currentPeriodEnd": PERIOD_END, "proposalLimit": 10_000_000,
    })
}

/// A provisioning document that changes the filter of one of the organization's campaigns.
pub(crate) fn filter_change(campaign: &str, filter: &Value) -> Value {
    json!({"organizations": [{
        "id": ORGANIZATION, "campaigns": [{"id": campaign, "filters": [named(filter.clone(), campaign)]}],
    }]})
}

fn named(mut filter: Value, campaign: &str) -> Value {
    filter["id"] = json!(format!("filter_{campaign}"));
    filter["name"] = json!("A filter");
    filter
}
