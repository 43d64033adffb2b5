//! The log of changed filters beyond the port's contract: how far it reaches, and who wrote before there was one.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::FilterId;
use bidloop_domain::port::{FilterChanges, FilterRecord, ProvisioningChange, Revision};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{
    campaign, campaign_id, commit, organization, organization_id, revision,
};
use serde_json::json;

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    another_process_learns_of_changes,
    the_log_forgets_the_oldest_changes,
    a_commit_by_a_program_without_a_log_is_a_gap,
    of_changes_before_the_log_was_made_nothing_is_known,
);

/// The changed filters that the log keeps.
const KEPT: i64 = 50_000;

async fn provisioned(bed: &TestDatabase) -> Stores {
    let stores = stores(&bed.database);
    let acme = organization("org_acme").campaign(campaign("camp").paused());
    acme.provision(&stores).await;
    stores
}

async fn put(stores: &Stores, keywords: &str) {
    let filter = FilterRecord {
        id: FilterId::parse("f_camp").unwrap(),
        name: "Rust".to_owned(),
        body: json!({"keywords": keywords}),
    };
    let put = ProvisioningChange::PutFilter(organization_id("org_acme"), campaign_id("camp"), filter);
    commit(stores, &[put]).await;
}

/// The bodies of the filters that changed since; `None` if that is forgotten.
async fn changed(stores: &Stores, since: Revision) -> Option<Vec<String>> {
    match stores.jobs.filters_since(since).await.unwrap() {
        FilterChanges::Known { put, removed, .. } => {
            assert_eq!(removed, []);
            Some(put.into_iter().map(|filter| filter.body).collect())
        }
        FilterChanges::Forgotten => None,
    }
}

async fn another_process_learns_of_changes(bed: TestDatabase) -> TestDatabase {
    let one = provisioned(&bed).await;
    let other = stores(&bed.reopened());
    let before = revision(&other).await;
    put(&one, "go").await;
    let body = json!({"keywords": "go"}).to_string();
    assert_eq!(changed(&other, before).await, Some(vec![body]));
    bed
}

async fn the_log_forgets_the_oldest_changes(bed: TestDatabase) -> TestDatabase {
    let stores = provisioned(&bed).await;
    let Revision(first) = revision(&stores).await;
    // As after so many changes, and just before a revision at which the log is pruned.
    bed.run_sql(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {KEPT}) \
         INSERT INTO filter_changes (organization_id, filter_id, revision) \
         SELECT 'org_gone', 'f_' || i, {first} + i FROM n"
    ))
    .await;
    let last = (first + KEPT) / 64 * 64 + 64 + 62;
    bed.run_sql(&format!(
        "UPDATE revision_counter SET value = {last}, filters_logged_to = {last}"
    ))
    .await;
    put(&stores, "go").await;
    assert_eq!(revision(&stores).await, Revision(last + 1));
    // Nothing was pruned yet: all is known from the beginning on.
    assert!(stores.jobs.filters_since(Revision(first)).await.unwrap() != FilterChanges::Forgotten);
    put(&stores, "qt").await;
    assert_eq!(
        stores.jobs.filters_since(Revision(first)).await,
        Ok(FilterChanges::Forgotten)
    );
    assert_eq!(bed.number("SELECT count(*) FROM filter_changes").await, KEPT);
    assert_eq!(
        bed.number("SELECT filters_logged_since FROM revision_counter")
            .await,
        first + 1
    );
    assert!(stores.jobs.filters_since(Revision(first + 1)).await.unwrap() != FilterChanges::Forgotten);
    let body = json!({"keywords": "qt"}).to_string();
    assert_eq!(changed(&stores, Revision(last)).await, Some(vec![body]));
    bed
}

async fn a_commit_by_a_program_without_a_log_is_a_gap(bed: TestDatabase) -> TestDatabase {
    let stores = provisioned(&bed).await;
    let before = revision(&stores).await;
    // What such a program does: it changes a filter under the next revision, and notes nothing.
    bed.run_sql("UPDATE revision_counter SET value = value + 1").await;
    bed.run_sql(r#"UPDATE filters SET body = '{"keywords":"old"}'"#)
        .await;
    let between = revision(&stores).await;
    assert_eq!(changed(&stores, before).await, None);
    assert_eq!(changed(&stores, between).await, Some(vec![]));
    put(&stores, "go").await;
    assert_eq!(changed(&stores, before).await, None);
    let body = json!({"keywords": "go"}).to_string();
    assert_eq!(changed(&stores, between).await, Some(vec![body]));
    bed
}

async fn of_changes_before_the_log_was_made_nothing_is_known(bed: TestDatabase) -> TestDatabase {
    let stores = provisioned(&bed).await;
    let before = revision(&stores).await;
    put(&stores, "qt").await;
    // Back to the schema without a log.
    bed.run_sql(
        "DROP TABLE filter_changes; \
         ALTER TABLE revision_counter DROP COLUMN filters_logged_since; \
         ALTER TABLE revision_counter DROP COLUMN filters_logged_to; \
         DELETE FROM __diesel_schema_migrations WHERE version = '00000000000002'",
    )
    .await;
    let database = bed.reopened();
    assert_eq!(database.migrate().await.unwrap(), ["00000000000002"]);
    let stores = self::stores(&database);
    let made = revision(&stores).await;
    assert_eq!(changed(&stores, before).await, None);
    put(&stores, "go").await;
    let body = json!({"keywords": "go"}).to_string();
    assert_eq!(changed(&stores, before).await, None);
    assert_eq!(changed(&stores, made).await, Some(vec![body]));
    bed
}
