//! The step that makes people of the users of organizations, on databases that the steps before it made.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{EmailKey, MemberRole, OrganizationId};
use bidloop_persistence::Database;

use crate::test_database::TestDatabase;

/// The step under test.
const STEP: &str = "00000000000007";

/// Users as an earlier version stored them: keys in lower case.
fn users() -> String {
    let organizations = ["org_a", "org_b", "org_c"].map(|id| {
        let period = if id == "org_a" { "false" } else { "true" };
        format!(
            "INSERT INTO organizations (id, name, subscription_status, collection_paused, period_start, \
             period_end, proposal_limit) VALUES ('{id}', '{id}', 'active', {period}, 1000, 2000, 50);"
        )
    });
    organizations.concat()
        + "INSERT INTO users (organization_id, email_key, email, name, password_hash) VALUES \
           ('org_b', 'ann@acme.test', 'Ann@acme.test', 'Ann of B', 'hash of b'), \
           ('org_a', 'ann@acme.test', 'ann@acme.test', 'Ann of A', NULL), \
           ('org_c', 'ann@acme.test', 'ann@acme.test', 'Ann of C', 'hash of c'), \
           ('org_a', 'straße@acme.test', 'Straße@acme.test', 'Sharp', NULL), \
           ('org_b', 'strasse@acme.test', 'strasse@acme.test', 'Double', NULL), \
           ('org_c', 'o\\\\''neil@acme.test', 'O\\\\''Neil@acme.test', 'Back\\\\slash', 'hash'), \
           ('org_c', 'ünal@acme.test', 'Ünal@acme.test', 'Ünal', 'hash of ü');"
}

async fn people_are_as_expected(database: &Database) {
    database.migrate().await.unwrap();
    let people = database.people();
    let person = async |email: &str| people.person(&EmailKey::of(email)).await.unwrap().unwrap();
    let hash = async |email: &str| {
        person(email)
            .await
            .password_hash
            .map(|hash| hash.expose().clone())
    };
    let ann = person("ANN@acme.test").await.person;
    assert_eq!(
        (ann.email.as_str(), ann.name.as_str()),
        ("ann@acme.test", "Ann of A")
    );
    assert_eq!(
        hash("ann@acme.test").await.as_deref(),
        Some("hash of b"),
        "the first that there is"
    );
    let double = person("Straße@acme.test").await.person;
    assert_eq!(
        (double.email.as_str(), double.name.as_str()),
        ("strasse@acme.test", "Double")
    );
    assert_eq!(person("o\\'neil@acme.test").await.person.name, "Back\\slash");
    assert_eq!(hash("ÜNAL@acme.test").await.as_deref(), Some("hash of ü"));
    let ids = ["org_a", "org_b", "org_c"].map(|id| OrganizationId::parse(id).unwrap());
    let snapshot = database.provisioning().snapshot(&ids, &[]).await.unwrap();
    let users = snapshot.organizations.iter().map(|organization| {
        assert!(
            organization
                .users
                .iter()
                .all(|user| user.role == MemberRole::Owner)
        );
        let mut emails: Vec<&str> = organization
            .users
            .iter()
            .map(|user| user.email.as_str())
            .collect();
        emails.sort_unstable();
        emails
    });
    let expected = [
        vec!["ann@acme.test", "strasse@acme.test"],
        vec!["ann@acme.test", "strasse@acme.test"],
        vec!["O\\'Neil@acme.test", "ann@acme.test", "Ünal@acme.test"],
    ];
    assert_eq!(users.collect::<Vec<_>>(), expected);
    assert_eq!(
        database.migrate().await,
        Ok(Vec::new()),
        "folding again changes nothing"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_an_existing_sqlite_database_become_people() {
    let bed = TestDatabase::sqlite_before(STEP, &users());
    people_are_as_expected(&bed.database).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn users_of_an_existing_postgres_database_become_people() {
    let bed = TestDatabase::postgres_before(STEP, &users()).await;
    people_are_as_expected(&bed.database).await;
    bed.close().await;
}
