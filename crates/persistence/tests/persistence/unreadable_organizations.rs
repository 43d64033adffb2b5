//! Organizations that cannot be read hide no others from lists (decision D2).

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_port_contracts::fixture::{at, organization};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(a_page_of_unreadable_organizations_does_not_end_a_list);

async fn a_page_of_unreadable_organizations_does_not_end_a_list(bed: TestDatabase) -> TestDatabase {
    let stores = stores(&bed.database);
    for id in ["org_a", "org_b", "org_c", "org_d"] {
        organization(id).provision(&stores).await;
    }
    // An escape that stands for nothing.
    bed.run_sql("UPDATE organizations SET name = '\\q' WHERE id <> 'org_d'")
        .await;
    let names = stores.overview.organizations(None, 2).await.unwrap();
    let listed: Vec<&str> = names.iter().map(|name| name.id.as_str()).collect();
    assert_eq!(listed, ["org_d"]);
    let summaries = stores.overview.summaries(None, 2, at(1)).await.unwrap();
    let summed_up: Vec<&str> = summaries.iter().map(|one| one.name.id.as_str()).collect();
    assert_eq!(summed_up, ["org_d"]);
    let behind = Some(&summaries[0].name.id);
    assert_eq!(stores.overview.summaries(behind, 2, at(1)).await.unwrap(), []);
    bed
}
