//! One organization on a database, provisioned through the program: a campaign that lists every job, and campaigns
//! without a filter that are given one later.

use anyhow::Result;
use serde_json::{Value, json};

use super::database::Database;
use crate::http::KEY;
use crate::marketplace::Marketplace;
use crate::postgres::PostgresServer;
use crate::program::{Installation, Program};

pub(super) const ORGANIZATION: &str = "organization";
/// The campaign that lists every job.
pub(super) const EVERYTHING: &str = "everything";

/// The program with a database and a marketplace to watch.
#[derive(Debug)]
pub(super) struct World<'s> {
    pub(super) installation: Installation,
    pub(super) database: Database<'s>,
    pub(super) marketplace: Marketplace,
}

impl<'s> World<'s> {
    /// On PostgreSQL, if there is a server, else on SQLite.
    pub(super) fn new(program: &Program, server: Option<&'s PostgresServer>) -> Result<Self> {
        let postgres = server.map(PostgresServer::create_database).transpose()?;
        let url = postgres.as_ref().map(|database| database.url.as_str());
        let mut installation = Installation::new(program, url)?;
        let database = postgres.map_or_else(
            || Database::Sqlite(installation.sqlite_file()),
            Database::Postgres,
        );
        let marketplace = Marketplace::open()?;
        installation.watch(marketplace.address());
        installation.send_to_this_machine();
        Ok(Self {
            installation,
            database,
            marketplace,
        })
    }

    /// A name in the report.
    pub(super) fn name(&self, measure: &str) -> String {
        format!("{measure}, {}", self.database.kind().name())
    }
}

/// An organization with paused campaigns: each one's id and its filters, `None` for none.
pub(super) fn organization(campaigns: impl Iterator<Item = (String, Option<Value>)>) -> Value {
    let campaign = |(id, filter): (String, Option<Value>)| {
        let filters: Vec<Value> = filter.into_iter().map(|filter| named(filter, &id)).collect();
        json!({"id": id, "name": id, "mode": "automatic", "state": "paused", "filters": filters})
    };
    json!({"organizations": [{
        "id": ORGANIZATION, "name": "Benchmark", "subscription": subscription(),
        "apiKeys": [{"id": "key", "name": "Load", "key": KEY}],
        "campaigns": campaigns.map(campaign).collect::<Vec<_>>(),
    }]})
}

/// A subscription for as long as any run could want.
pub(super) fn subscription() -> Value {
    json!({
        "status": "active", "collectionPaused": false, "currentPeriodStart": 1_704_067_200,
        "currentPeriodEnd": 4_102_444_800_u64, "proposalLimit": 10_000_000,
    })
}

/// The change of one filter of one campaign of the organization.
pub(super) fn filter_change(campaign: &str, filter: &Value) -> Value {
    json!({"organizations": [{
        "id": ORGANIZATION, "campaigns": [{"id": campaign, "filters": [named(filter.clone(), campaign)]}],
    }]})
}

fn named(mut filter: Value, campaign: &str) -> Value {
    filter["id"] = json!(format!("filter_{campaign}"));
    filter["name"] = json!("A filter");
    filter
}
