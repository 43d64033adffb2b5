//! The contracts of the store ports on both databases, PostgreSQL also in a pooler's sessions.
//! `cargo test on_postgres::leads::` runs one port's on one.

use async_trait::async_trait;
use bidloop_persistence::Database;
use bidloop_port_contracts::{StoreBed, Stores};

use crate::kept_prepared;
use crate::test_database::TestDatabase;

struct Bed(TestDatabase);

#[async_trait]
impl StoreBed for Bed {
    fn stores(&self) -> Stores {
        stores(&self.0.database)
    }

    async fn close(self) {
        self.0.close().await;
        kept_prepared::assert_all_are_kept();
    }
}

/// All ports of a database.
pub(crate) fn stores(database: &Database) -> Stores {
    Stores {
        billing: database.billing(),
        api_keys: database.api_keys(),
        leads: database.leads(),
        campaign_feed: database.campaign_feed(),
        jobs: database.jobs(),
        matches: database.matches(),
        delivery_records: database.delivery_records(),
        deliveries: database.deliveries(),
        submissions: database.submissions(),
        automatic_bids: database.automatic_bids(),
        activities: database.activities(),
        provisioning: database.provisioning(),
        retention: database.retention(),
        erasure: database.erasure(),
        feed_lease: database.feed_lease(),
        people: database.people(),
        sessions: database.sessions(),
        sign_in_tries: database.sign_in_tries(),
        first_run: database.first_run(),
        statistics: database.statistics(),
        overview: database.overview(),
    }
}

async fn sqlite() -> Bed {
    kept_prepared::watch();
    Bed(TestDatabase::sqlite().await)
}

async fn postgres() -> Bed {
    kept_prepared::watch();
    Bed(TestDatabase::spare_postgres().await)
}

/// As behind a pooler that knows no prepared statements.
async fn pooled_postgres() -> NothingKept {
    let spare = TestDatabase::spare_postgres().await;
    NothingKept(spare.without_prepared_statements())
}

/// A bed whose server keeps no statements prepared.
struct NothingKept(TestDatabase);

#[async_trait]
impl StoreBed for NothingKept {
    fn stores(&self) -> Stores {
        stores(&self.0.database)
    }

    async fn close(self) {
        self.0.close().await;
    }
}

mod on_sqlite {
    bidloop_port_contracts::store_contracts!(crate::contracts::sqlite);
}

mod on_postgres {
    bidloop_port_contracts::store_contracts!(crate::contracts::postgres);
}

mod on_pooled_postgres {
    bidloop_port_contracts::store_contracts!(crate::contracts::pooled_postgres);
}
