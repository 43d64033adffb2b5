//! The two databases have the same schema after their migrations.

#![expect(clippy::unwrap_used, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};

use diesel::connection::Connection as _;
use diesel::sql_types::{BigInt, Text};
use diesel::{QueryableByName, RunQueryDsl as _, SqliteConnection};

use crate::test_database::{TestDatabase, connect};

/// What both databases must agree on.
#[derive(Debug, Default, PartialEq, Eq)]
struct Table {
    /// Name to type, in SQLite's terms, and whether it may be null.
    columns: BTreeMap<String, (String, bool)>,
    primary_key: Vec<String>,
    /// Name to columns and whether it is unique.
    indexes: BTreeMap<String, (Vec<String>, bool)>,
    /// Column to the table and column that it refers to.
    references: BTreeSet<(String, String, String)>,
}

type Schema = BTreeMap<String, Table>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_databases_have_the_same_tables_columns_keys_and_indexes() {
    let sqlite_bed = TestDatabase::sqlite().await;
    let postgres_bed = TestDatabase::postgres().await;
    let sqlite = sqlite_schema(sqlite_bed.url().strip_prefix("sqlite://").unwrap());
    let postgres = postgres_schema(&postgres_bed.url()).await;
    assert!(sqlite.contains_key("leads"));
    assert_eq!(
        sqlite.keys().collect::<Vec<_>>(),
        postgres.keys().collect::<Vec<_>>()
    );
    for (name, table) in &sqlite {
        assert_eq!(table, &postgres[name], "{name}");
    }
    postgres_bed.close().await;
}

/// The tables with rows of organizations.
pub(crate) async fn tables_of_organizations() -> Vec<String> {
    let bed = TestDatabase::sqlite().await;
    let schema = sqlite_schema(bed.url().strip_prefix("sqlite://").unwrap());
    let tables = schema.into_iter();
    let tables = tables.filter(|(_, table)| table.columns.contains_key("organization_id"));
    tables.map(|(name, _)| name).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_an_organization_has_it_first_in_every_unique_key() {
    /// Looked up before the organization is known, or in all organizations.
    const GLOBAL: [&str; 7] = [
        "api_keys_by_hash",
        "leads_by_id",
        "leads_once_a_job",
        "matches_once_a_job",
        "one_time_links_by_hash",
        "personal_tokens_by_hash",
        "sessions_by_hash",
    ];
    let bed = TestDatabase::sqlite().await;
    let schema = sqlite_schema(bed.url().strip_prefix("sqlite://").unwrap());
    for (name, table) in schema {
        if !table.columns.contains_key("organization_id") {
            continue;
        }
        // A report of billing brings the provider's id.
        let is_apart = name == "billed_subscriptions";
        assert!(table.primary_key[0] == "organization_id" || is_apart, "{name}");
        for (index, (columns, unique)) in table.indexes {
            assert!(
                !unique || columns[0] == "organization_id" || GLOBAL.contains(&index.as_str()),
                "{index}"
            );
        }
    }
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    table: String,
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    detail: String,
    #[diesel(sql_type = Text)]
    more: String,
    #[diesel(sql_type = BigInt)]
    number: i64,
}

fn sqlite_schema(path: &str) -> Schema {
    let mut conn = SqliteConnection::establish(path).unwrap();
    let mut ask = |sql: &str| diesel::sql_query(sql).load::<Row>(&mut conn).unwrap();
    let mut schema = Schema::new();
    let columns = ask(
        "SELECT t.name AS \"table\", c.name, c.type AS detail, CAST(c.\"notnull\" AS TEXT) AS more, c.pk AS number
         FROM sqlite_schema t, pragma_table_info(t.name) c
         WHERE t.type = 'table' AND t.name NOT LIKE '%diesel%' AND t.name NOT LIKE 'sqlite_%'
         ORDER BY t.name, c.pk",
    );
    for row in columns {
        let table = schema.entry(row.table).or_default();
        if row.number > 0 {
            table.primary_key.push(row.name.clone());
        }
        table.columns.insert(row.name, (row.detail, row.more == "0"));
    }
    let indexes = ask(
        "SELECT t.name AS \"table\", i.name, c.name AS detail, '' AS more, i.\"unique\" AS number
         FROM sqlite_schema t, pragma_index_list(t.name) i, pragma_index_info(i.name) c
         WHERE t.type = 'table' AND i.origin = 'c' ORDER BY i.name, c.seqno",
    );
    for row in indexes {
        let index = schema
            .get_mut(&row.table)
            .unwrap()
            .indexes
            .entry(row.name)
            .or_default();
        index.0.push(row.detail);
        index.1 = row.number == 1;
    }
    let references = ask(
        "SELECT t.name AS \"table\", f.\"from\" AS name, f.\"table\" AS detail, f.\"to\" AS more, 0 AS number
         FROM sqlite_schema t, pragma_foreign_key_list(t.name) f WHERE t.type = 'table'",
    );
    for row in references {
        schema
            .get_mut(&row.table)
            .unwrap()
            .references
            .insert((row.name, row.detail, row.more));
    }
    schema
}

async fn postgres_schema(url: &str) -> Schema {
    let client = connect(url).await;
    let mut schema = Schema::new();
    let columns = client
        .query(
            "SELECT table_name::text, column_name::text, data_type::text, is_nullable = 'YES'
             FROM information_schema.columns
             WHERE table_schema = 'public' AND table_name NOT LIKE '%diesel%'",
            &[],
        )
        .await
        .unwrap();
    for row in columns {
        let (table, name, kind): (String, String, &str) = (row.get(0), row.get(1), row.get(2));
        let kind = match kind {
            "text" => "TEXT",
            "bigint" | "boolean" => "INTEGER",
            "double precision" => "REAL",
            "bytea" => "BLOB",
            other => other,
        };
        schema
            .entry(table)
            .or_default()
            .columns
            .insert(name, (kind.to_owned(), row.get(3)));
    }
    let indexes = client
        .query(
            "SELECT t.relname::text, i.relname::text, a.attname::text, x.indisunique, x.indisprimary
             FROM pg_index x
             JOIN pg_class t ON t.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid
             JOIN pg_namespace n ON n.oid = t.relnamespace
             CROSS JOIN LATERAL unnest(x.indkey) WITH ORDINALITY AS k (attnum, place)
             JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = k.attnum
             WHERE n.nspname = 'public' AND t.relname NOT LIKE '%diesel%'
             ORDER BY i.relname, k.place",
            &[],
        )
        .await
        .unwrap();
    for row in indexes {
        let table = schema.get_mut(row.get::<_, &str>(0)).unwrap();
        if row.get(4) {
            table.primary_key.push(row.get(2));
        } else {
            let index = table.indexes.entry(row.get(1)).or_default();
            index.0.push(row.get(2));
            index.1 = row.get(3);
        }
    }
    let references = client
        .query(
            "SELECT c.conrelid::regclass::text, a.attname::text, c.confrelid::regclass::text, b.attname::text
             FROM pg_constraint c
             JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
             JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = c.confkey[1]
             WHERE c.contype = 'f'",
            &[],
        )
        .await
        .unwrap();
    for row in references {
        let table = schema.get_mut(row.get::<_, &str>(0)).unwrap();
        table.references.insert((row.get(1), row.get(2), row.get(3)));
    }
    schema
}
