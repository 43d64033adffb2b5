//! Marketplace tokens and webhook secrets on the disk: sealed by whichever command wrote them, sealed later where an
//! earlier version wrote them, and passed over where their key is lost.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::path::{Path, PathBuf};

use bidloop_domain::model::EventKind;
use bidloop_domain::port::{LeaseOwner, OrganizationRecord, ProvisioningChange};
use bidloop_persistence::{Database, DatabaseSettings};
use bidloop_port_contracts::fixture::{
    World, account, at, campaign, clock_at, commit, organization, organization_id, seconds, token, webhook,
};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    secrets_are_stored_sealed_and_come_back,
    migrating_seals_what_an_earlier_version_stored,
    migrating_seals_anew_with_the_first_key_and_the_old_one_can_go,
    a_secret_whose_key_is_lost_is_passed_over_and_can_be_provisioned_anew,
    a_sealed_secret_in_another_row_opens_nothing,
    work_that_needs_a_lost_key_waits,
);

const OLD: &str = "0101010101010101010101010101010101010101010101010101010101010101";
const NEW: &str = "0202020202020202020202020202020202020202020202020202020202020202";

const SEALED: &str = "SELECT (SELECT count(*) FROM bidder_accounts WHERE token LIKE 'sealed1:%') + \
    (SELECT count(*) FROM webhook_endpoints WHERE secret LIKE 'sealed1:%')";

/// A key file that holds these keys, and the folder that it lies in.
fn key_file(keys: &[&str]) -> (PathBuf, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("keys");
    std::fs::write(&file, keys.join("\n")).unwrap();
    (file, folder)
}

/// Another program's view of the same database, with these keys.
fn opened(bed: &TestDatabase, key_file: &Path) -> Database {
    let settings = DatabaseSettings {
        request_connections: 4,
        secrets_key_file: Some(key_file.to_owned()),
        ..DatabaseSettings::new(bed.url())
    };
    Database::open(&settings).unwrap()
}

async fn provision(database: &Database) -> World {
    World::new(stores(database)).await
}

async fn organization_of(database: &Database) -> OrganizationRecord {
    let id = organization_id("org_acme");
    let snapshot = database.provisioning().snapshot(&[id], &[]).await.unwrap();
    snapshot.organizations.into_iter().next().unwrap()
}

async fn secrets_are_stored_sealed_and_come_back(bed: TestDatabase) -> TestDatabase {
    let (file, _folder) = key_file(&[OLD]);
    let database = opened(&bed, &file);
    provision(&database).await;
    assert_eq!(bed.number(SEALED).await, 2);
    let found = organization_of(&opened(&bed, &file)).await;
    assert_eq!(found.accounts, [account("acct_1")]);
    assert_eq!(found.webhooks[0].secret, webhook("x", None, "", &[]).secret);
    bed
}

async fn migrating_seals_what_an_earlier_version_stored(bed: TestDatabase) -> TestDatabase {
    let (file, _folder) = key_file(&[OLD]);
    let database = opened(&bed, &file);
    provision(&database).await;
    let plain = webhook("x", None, "", &[]).secret;
    // More rows than one step seals.
    bed.run_sql(&format!(
        "UPDATE webhook_endpoints SET secret = '{0}', previous_secret = '{0}', previous_secret_until = 1;
         UPDATE bidder_accounts SET token = 'token_acct_1';
         INSERT INTO bidder_accounts (organization_id, id, name, token, connected)
            WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250)
            SELECT 'org_acme', 'more_' || n, 'More', 'token_' || n, true FROM numbers",
        plain.expose()
    ))
    .await;
    database.migrate().await.unwrap();
    assert_eq!(bed.number(SEALED).await, 252);
    let previous = "SELECT count(*) FROM webhook_endpoints WHERE previous_secret LIKE 'sealed1:%'";
    assert_eq!(bed.number(previous).await, 1);
    let found = organization_of(&database).await;
    assert_eq!(found.accounts.len(), 251);
    assert_eq!(found.accounts[0].token, token("token_acct_1"));
    assert_eq!(found.webhooks[0].secret, plain);
    bed
}

async fn migrating_seals_anew_with_the_first_key_and_the_old_one_can_go(bed: TestDatabase) -> TestDatabase {
    let (old, _folder) = key_file(&[OLD]);
    provision(&opened(&bed, &old)).await;
    let (both, _folder) = key_file(&[NEW, OLD]);
    opened(&bed, &both).migrate().await.unwrap();
    let (new, _folder) = key_file(&[NEW]);
    let found = organization_of(&opened(&bed, &new)).await;
    assert_eq!((found.accounts.len(), found.webhooks.len()), (1, 1));
    bed
}

async fn a_secret_whose_key_is_lost_is_passed_over_and_can_be_provisioned_anew(
    bed: TestDatabase,
) -> TestDatabase {
    let (old, _folder) = key_file(&[OLD]);
    provision(&opened(&bed, &old)).await;
    let (new, _folder) = key_file(&[NEW]);
    let database = opened(&bed, &new);
    database.migrate().await.unwrap();
    let found = organization_of(&database).await;
    assert_eq!((found.accounts.len(), found.webhooks.len()), (0, 0));
    assert_eq!(found.campaigns.len(), 1, "nothing else is missing");
    let set_aside = database.quarantine().counts();
    assert_eq!(set_aside, [("bidder_accounts", 1), ("webhook_endpoints", 1)]);

    let put = ProvisioningChange::PutAccount(organization_id("org_acme"), account("acct_1"));
    commit(&stores(&database), &[put]).await;
    assert_eq!(organization_of(&database).await.accounts, [account("acct_1")]);
    bed
}

async fn a_sealed_secret_in_another_row_opens_nothing(bed: TestDatabase) -> TestDatabase {
    let (file, _folder) = key_file(&[OLD]);
    let database = opened(&bed, &file);
    let acme = organization("org_acme")
        .account("acct_2")
        .campaign(campaign("camp"));
    World::with(stores(&database), acme).await;
    bed.run_sql(
        "UPDATE bidder_accounts SET token = (SELECT token FROM bidder_accounts WHERE id = 'acct_1') \
         WHERE id = 'acct_2'",
    )
    .await;
    assert_eq!(organization_of(&database).await.accounts, [account("acct_1")]);
    bed
}

async fn work_that_needs_a_lost_key_waits(bed: TestDatabase) -> TestDatabase {
    let (old, _folder) = key_file(&[OLD]);
    let world = provision(&opened(&bed, &old)).await;
    let lead = world.new_lead("1", at(0)).await;
    world.bid(&lead, at(1)).await;

    let (new, _folder) = key_file(&[NEW]);
    let without_key = World {
        stores: stores(&opened(&bed, &new)),
        ..world.clone()
    };
    assert_eq!(without_key.claim("me", at(2)).await.len(), 0);
    let pending = without_key.pending().await;
    assert_eq!(pending.len(), 1);
    let claim = |world: &World| {
        let (deliveries, pending) = (world.stores.deliveries.clone(), pending.clone());
        async move {
            let (owner, clock) = (LeaseOwner::new("me"), clock_at(at(3)));
            let claimed = deliveries.claim(&pending, &owner, &clock, seconds(14));
            claimed.await.unwrap()
        }
    };
    assert_eq!(claim(&without_key).await.len(), 0);

    // The key is back.
    let claimed = world.claim_one("me", at(4)).await;
    assert_eq!(claimed.token, Some(account("acct_1").token));
    let claimed = claim(&world).await;
    assert_eq!(claimed.len(), 1);
    let signs = webhook("x", None, "", &[EventKind::JobNew]).secret;
    assert_eq!(claimed[0].target.secrets, [signs]);
    bed
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_seals_with_a_key_file_made_beside_it_and_leaves_no_secret_on_the_disk() {
    let bed = TestDatabase::sqlite().await;
    let file = PathBuf::from(bed.url().trim_start_matches("sqlite://"));
    let key = file.with_file_name("bidloop.db.key");
    let made = std::fs::read(&key).unwrap();
    let world = provision(&bed.database).await;
    bed.run_sql("UPDATE bidder_accounts SET token = 'plain-canary-token'")
        .await;
    bed.database.migrate().await.unwrap();
    assert_eq!(std::fs::read(&key).unwrap(), made, "the key stays");
    let folder = file.parent().unwrap();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let content = std::fs::read(&path).unwrap();
        for secret in ["plain-canary-token", "token_acct_1", "whsec_"] {
            let found = content
                .windows(secret.len())
                .any(|part| part == secret.as_bytes());
            assert!(!found, "{secret} is in {}", path.display());
        }
    }
    drop(world);
    bed.close().await;
}

#[test]
fn a_key_file_that_holds_no_key_is_refused() {
    let (file, _folder) = key_file(&["s3cret"]);
    let refused = bidloop_persistence::check_key_file(&file).unwrap_err();
    assert!(
        refused.contains("line 1") && !refused.contains("s3cret"),
        "{refused}"
    );
    let missing = bidloop_persistence::check_key_file(Path::new("/absent/keys")).unwrap_err();
    assert!(missing.contains("openssl rand -hex 32"), "{missing}");
}
