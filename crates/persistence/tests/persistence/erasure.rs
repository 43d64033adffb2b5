//! What is left of a removed organization in the tables: nothing.

#![expect(clippy::unwrap_used, reason = "test code")]

use bidloop_domain::model::{ActivityKind, EmailKey, MemberRole, OrganizationId};
use bidloop_domain::port::{LeaseOwner, ProvisioningChange, UserRecord};
use bidloop_port_contracts::fixture::{World, activity, at, campaign, commit, organization, submitted};

use crate::contracts::stores;
use crate::schema::tables_of_organizations;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    an_erased_organization_has_no_row_in_any_table_and_others_keep_all_of_theirs,
    an_organization_whose_rows_cannot_be_read_is_removed_and_erased,
);

/// An organization with rows in each table that has rows of organizations.
async fn busy(bed: &TestDatabase, id: &str) -> World {
    let mut builder = organization(id)
        .campaign(campaign("camp"))
        .campaign(campaign("auto").automatic());
    builder.0.users.push(UserRecord {
        email: format!("jane@{id}.test"),
        name: "Jane".to_owned(),
        password_hash: None,
        role: MemberRole::Owner,
    });
    let number = u8::try_from(id.len()).unwrap();
    let world = World::with(stores(&bed.database), builder.key("key_1", number)).await;
    let id_of = |number: u32| format!("{id}-{number}");
    let lead = world.new_lead(&id_of(1), at(0)).await;
    world
        .bid_to_the_end(&lead, submitted("p_1", at(10)), at(10))
        .await;
    for number in 2..5 {
        world.campaign("auto").new_lead(&id_of(number), at(20)).await;
    }
    let person = EmailKey::of("jane@acme.test");
    let (feed, campaign) = (&world.stores.campaign_feed, &world.campaign);
    let looked = feed
        .looked_at(&world.organization, campaign, &person, at(25))
        .await;
    assert_eq!(looked, Ok(true));
    let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(30));
    world.stores.activities.record(&entry).await.unwrap();
    bed.run_sql(&format!(
        "INSERT INTO sessions (organization_id, token_hash, email_key, created_at, last_used_at) \
         VALUES ('{id}', 's_{id}', 'jane@{id}.test', 1, 1); \
         INSERT INTO one_time_links (organization_id, id, token_hash, kind, email_key, email, name, role, made_by, \
         created_at, expires_at) VALUES ('{id}', 'link', 'l_{id}', 'reset', 'jane@{id}.test', '', '', 'owner', '', 1, 1); \
         INSERT INTO personal_tokens (organization_id, id, token_hash, email_key, name, scope, created_at) \
         VALUES ('{id}', 'token', 't_{id}', 'jane@{id}.test', '', 'read', 1); \
         INSERT INTO billed_subscriptions (id, organization_id, events) VALUES ('sub_{id}', '{id}', '{{')"
    ))
    .await;
    bed.run_sql(&format!(
        "INSERT INTO lead_attachments (organization_id, lead_id, position, name_digest, attachment) \
         VALUES ('{id}', '{}', 1, 'digest', '{{\"originalName\"')",
        lead.id
    ))
    .await;
    bed.run_sql(&format!(
        "INSERT INTO endpoint_tries (organization_id, endpoint_id, id, at) VALUES ('{id}', 'wh_all', 'try', 1)"
    ))
    .await;
    bed.run_sql(&format!(
        "INSERT INTO statistics (organization_id, step, measure, starts_at, campaign_id, subject, bucket, count) \
         VALUES ('{id}', 'hour', 'bid', 0, 'camp', '', 0, 1); \
         INSERT INTO told_leads (organization_id, lead_id) VALUES ('{id}', 'ld_told')"
    ))
    .await;
    world
}

/// How many rows each table has of the organization.
async fn rows_of(bed: &TestDatabase, tables: &[String], id: &str) -> Vec<i64> {
    let mut rows = Vec::new();
    for table in tables {
        let count = format!("SELECT count(*) FROM {table} WHERE organization_id = '{id}'");
        rows.push(bed.number(&count).await);
    }
    rows
}

async fn remove_and_erase(bed: &TestDatabase, organization: &OrganizationId) {
    let stores = stores(&bed.database);
    commit(
        &stores,
        &[ProvisioningChange::RemoveOrganization(organization.clone())],
    )
    .await;
    let (erasure, owner) = (&stores.erasure, LeaseOwner::new("me"));
    assert_eq!(
        erasure
            .claim_erasure(organization, &owner, at(100), at(160))
            .await,
        Ok(true)
    );
    while erasure.erase(organization, &owner, 3).await.unwrap() != Some(0) {}
    assert_eq!(erasure.finish_erasure(organization, &owner).await, Ok(true));
}

async fn an_erased_organization_has_no_row_in_any_table_and_others_keep_all_of_theirs(
    bed: TestDatabase,
) -> TestDatabase {
    let world = busy(&bed, "org_acme").await;
    busy(&bed, "org_other").await;
    // Fresh counts of this organization alone: adding up those of others makes rows of theirs.
    world.stores.statistics.add_all_up().await.unwrap();
    world.new_lead("fresh", at(40)).await;
    let freshly_counted = "SELECT count(*) FROM fresh_counts WHERE counts LIKE '%\"org_acme\"%'";
    assert!(bed.number(freshly_counted).await > 0);
    let tables = tables_of_organizations().await;
    assert!(tables.len() > 14, "{tables:?}");
    let before = rows_of(&bed, &tables, "org_acme").await;
    for (table, rows) in tables.iter().zip(&before) {
        assert!(
            *rows > 0,
            "this test has no row of {table}, so nobody knows whether it is erased"
        );
    }
    let others = rows_of(&bed, &tables, "org_other").await;
    remove_and_erase(&bed, &world.organization).await;
    let left = rows_of(&bed, &tables, "org_acme").await;
    for (table, rows) in tables.iter().zip(&left) {
        assert_eq!(*rows, 0, "{table}");
    }
    assert_eq!(bed.number(freshly_counted).await, 0);
    assert_eq!(rows_of(&bed, &tables, "org_other").await, others);
    for table in ["organizations", "removed_organizations"] {
        let count = format!("SELECT count(*) FROM {table} WHERE id = 'org_acme'");
        assert_eq!(bed.number(&count).await, 0, "{table}");
    }
    assert_eq!(bed.number("SELECT count(*) FROM removed_api_keys").await, 1);
    assert_eq!(
        bed.number("SELECT count(*) FROM people").await,
        1,
        "nobody is left without an organization"
    );
    bed
}

async fn an_organization_whose_rows_cannot_be_read_is_removed_and_erased(bed: TestDatabase) -> TestDatabase {
    let world = busy(&bed, "org_acme").await;
    bed.run_sql(
        "UPDATE memberships SET role = 'king'; UPDATE api_keys SET name = '\\x'; \
         UPDATE filters SET body = '{'; UPDATE campaigns SET state = 'resting'; \
         UPDATE webhook_endpoints SET secret = 'none'; UPDATE bidder_accounts SET token = '\\x'; \
         UPDATE leads SET reason = '{}'; UPDATE bids SET answers = '?'; \
         UPDATE deliveries SET event = 'nap'; UPDATE activities SET kind = 'nap'; \
         UPDATE automatic_bids SET campaign_id = ''; UPDATE fresh_counts SET counts = '[[\"org_acme\",'; \
         UPDATE filter_changes SET filter_id = '' WHERE filter_id = 'f_camp'",
    )
    .await;
    remove_and_erase(&bed, &world.organization).await;
    let tables = tables_of_organizations().await;
    let left = rows_of(&bed, &tables, "org_acme").await;
    assert_eq!(left, vec![0; tables.len()]);
    assert_eq!(bed.number("SELECT count(*) FROM fresh_counts").await, 0);
    bed
}
