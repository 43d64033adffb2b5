//! Looking for unreadable rows finds each of them once, in every table.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::BTreeSet;

use bidloop_domain::model::ActivityKind;
use bidloop_domain::port::InspectedUpTo;
use bidloop_port_contracts::fixture::{World, activity, at, campaign, organization};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, on_both_databases};

on_both_databases!(
    a_database_that_is_sound_has_no_unreadable_row,
    each_unreadable_row_of_each_table_is_found_once,
);

/// A world with rows in each table.
async fn busy(bed: &TestDatabase) -> World {
    let mut builder = organization("org_acme")
        .campaign(campaign("camp"))
        .campaign(campaign("auto").automatic())
        .key("key_1", 1);
    builder.0.users.push(bidloop_domain::port::UserRecord {
        email: "jane@acme.test".to_owned(),
        name: "Jane".to_owned(),
        password_hash: None,
        role: bidloop_domain::model::MemberRole::Owner,
    });
    let world = World::with(stores(&bed.database), builder).await;
    let leads = world.new_leads(4, at(0)).await;
    for lead in &leads[..2] {
        world.bid(lead, at(10)).await;
    }
    world.campaign("auto").new_leads(2, at(20)).await;
    for number in 0..2 {
        let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(number));
        world.stores.activities.record(&entry).await.unwrap();
    }
    bed.run_sql(&format!(
        "INSERT INTO lead_attachments (organization_id, lead_id, position, name_digest, attachment) \
         VALUES ('org_acme', '{}', 1, 'digest', '{{\"originalName\"')",
        leads[3].id
    ))
    .await;
    world
}

/// The unreadable rows by table and id, and how many rows there are.
async fn inspect(bed: &TestDatabase, at_once: u32) -> (Vec<(&'static str, String)>, u64) {
    let inspector = bed.database.row_inspector();
    let (mut found, mut examined) = (Vec::new(), 0);
    let mut next = Some(InspectedUpTo::default());
    while let Some(from) = next {
        let rows = inspector.inspect(&from, at_once).await.unwrap();
        examined += rows.examined;
        found.extend(rows.unreadable.into_iter().map(|row| (row.table, row.id)));
        next = rows.next;
    }
    (found, examined)
}

async fn a_database_that_is_sound_has_no_unreadable_row(bed: TestDatabase) -> TestDatabase {
    busy(&bed).await;
    bed.run_sql("DELETE FROM lead_attachments").await;
    let (found, examined) = inspect(&bed, 500).await;
    assert_eq!(found, []);
    assert!(examined > 30, "{examined}");
    bed
}

async fn each_unreadable_row_of_each_table_is_found_once(bed: TestDatabase) -> TestDatabase {
    let world = busy(&bed).await;
    let least = |table: &str| format!("id = (SELECT MIN(id) FROM {table})");
    for (table, with) in [
        ("organizations", "name = '\\x'"),
        ("api_keys", "name = '\\x'"),
        ("webhook_endpoints", "secret = 'none'"),
        ("bidder_accounts", "token = '\\x'"),
        ("campaigns", "state = 'resting'"),
        ("filters", "body = '{\"keywords\": 5}'"),
        ("jobs", "json = '{'"),
        ("leads", "reason = '{}'"),
        ("bids", "answers = '?'"),
        ("deliveries", "event = 'bid_complete', data = NULL"),
        ("activities", "kind = 'nap'"),
    ] {
        bed.run_sql(&format!("UPDATE {table} SET {with} WHERE {}", least(table)))
            .await;
    }
    bed.run_sql(
        "UPDATE people SET name = '\\x'; UPDATE memberships SET role = 'king'; \
         INSERT INTO sessions (organization_id, token_hash, email_key, created_at, last_used_at) \
         VALUES ('org_acme', 's', '\\x', 1, 1); \
         INSERT INTO one_time_links (organization_id, id, token_hash, kind, email_key, email, name, role, made_by, \
         created_at, expires_at) VALUES ('org_acme', 'link_1', 'l', 'visit', 'a@b', 'a@b', 'A', 'owner', 'c@d', 1, 1); \
         INSERT INTO personal_tokens (organization_id, id, token_hash, email_key, name, scope, created_at) \
         VALUES ('org_acme', 'token_1', 't', 'a@b', 'T', 'everything', 1); \
         UPDATE filter_changes SET filter_id = '' WHERE filter_id = 'f_camp'; \
         UPDATE feed_position SET position = '\\x'; \
         UPDATE matches SET job_id = '' WHERE campaign_id = 'camp' AND seq = 1; \
         INSERT INTO automatic_bids (organization_id, lead_id, campaign_id, queued_at) \
         VALUES ('org_acme', 'ld_x', '', 1); \
         INSERT INTO billed_subscriptions (id, organization_id, events) VALUES ('sub_1', NULL, '{'); \
         INSERT INTO removed_organizations (id, removed_at) VALUES ('a/b', 1)",
    )
    .await;
    let tables = [
        "organizations",
        "people",
        "api_keys",
        "webhook_endpoints",
        "bidder_accounts",
        "campaigns",
        "filters",
        "filter_changes",
        "feed_position",
        "jobs",
        "matches",
        "leads",
        "lead_attachments",
        "bids",
        "automatic_bids",
        "deliveries",
        "activities",
        "removed_organizations",
        "memberships",
        "sessions",
        "one_time_links",
        "personal_tokens",
        "billed_subscriptions",
    ];
    let (found, examined) = inspect(&bed, 500).await;
    let by_table: Vec<&str> = found.iter().map(|(table, _)| *table).collect();
    assert_eq!(by_table, tables);
    for at_once in [1, 2, 3] {
        assert_eq!(
            inspect(&bed, at_once).await,
            (found.clone(), examined),
            "{at_once} at once"
        );
    }
    let ids: BTreeSet<&str> = found.iter().map(|(_, id)| id.as_str()).collect();
    assert!(
        ids.contains("org_acme/acct_1") && ids.contains("org_acme/jane@acme.test"),
        "{ids:?}"
    );
    drop(world);
    bed
}
