//! Organizations that cannot be read hide no others from lists (decision D2).

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_port_contracts::fixture::{at, key, organization};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    a_page_of_unreadable_organizations_does_not_end_a_list,
    unreadable_keys_hide_no_others_that_are_asked_for_with_them,
);

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

async fn unreadable_keys_hide_no_others_that_are_asked_for_with_them(bed: TestDatabase) -> TestDatabase {
    let stores = stores(&bed.database);
    let mut hashes = Vec::new();
    for (number, id) in (1..).zip(["org_a", "org_b", "org_c"]) {
        organization(id).key("key", number).provision(&stores).await;
        hashes.push(key(id, "key", number, at(0)).1);
    }
    bed.run_sql("UPDATE api_keys SET name = '\\q' WHERE organization_id = 'org_a'")
        .await;
    bed.run_sql("UPDATE organizations SET subscription_status = 'odd' WHERE id = 'org_b'")
        .await;
    let found = stores.api_keys.find_each(&hashes).await.unwrap();
    assert_eq!(found.keys().collect::<Vec<_>>(), [&hashes[2]]);
    bed
}
