//! Many rows in one statement. Arrays that the server unnests keep the statement the same for any number of rows, so
//! that it is prepared once a connection; `VALUES` of thousands of rows is parsed anew each time.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, Nullable, Text};
use diesel::upsert::excluded;
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::failure::Failure;
use crate::rows::{
    FilterChangeRow, FilterRow, JobSignatureRow, LeadRow, ListEndRow, NewAutomaticBidRow, NewDeliveryRow,
    NewJobRow, NewMatchRow,
};
use crate::schema::filters;

/// Stores those of the jobs whose ids are not taken, and says how many those are.
pub(super) async fn insert_jobs(conn: &mut Conn, rows: &[NewJobRow<'_>]) -> Result<usize, Failure> {
    let statement = Bulk {
        before: "INSERT INTO jobs (id, seq, posted_at, json) SELECT * FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.id).collect()),
            Column::Number(rows.iter().map(|row| row.seq).collect()),
            Column::Number(rows.iter().map(|row| row.posted_at).collect()),
            Column::Text(rows.iter().map(|row| row.json).collect()),
        ],
        after: ") ON CONFLICT DO NOTHING",
    };
    statement.run(conn, rows.len()).await
}

/// Stores matches none of which is there yet.
pub(super) async fn insert_matches(conn: &mut Conn, rows: &[NewMatchRow<'_>]) -> Result<(), Failure> {
    let statement = Bulk {
        before: "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
                 SELECT * FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.organization_id).collect()),
            Column::Text(rows.iter().map(|row| row.campaign_id).collect()),
            Column::Number(rows.iter().map(|row| row.generation).collect()),
            Column::Number(rows.iter().map(|row| row.seq).collect()),
            Column::Text(rows.iter().map(|row| row.job_id).collect()),
            Column::Number(rows.iter().map(|row| row.created_at).collect()),
        ],
        after: ")",
    };
    statement.run(conn, rows.len()).await?;
    Ok(())
}

/// Stores signatures, in place of what is there.
pub(super) async fn put_job_signatures(conn: &mut Conn, rows: &[JobSignatureRow]) -> Result<(), Failure> {
    let statement = Bulk {
        before: "INSERT INTO job_signatures (seq, signature) SELECT * FROM unnest(",
        columns: vec![
            Column::Number(rows.iter().map(|row| row.seq).collect()),
            Column::Bytes(rows.iter().map(|row| row.signature.as_slice()).collect()),
        ],
        after: ") ON CONFLICT (seq) DO UPDATE SET signature = excluded.signature",
    };
    statement.run(conn, rows.len()).await?;
    Ok(())
}

/// Writes how lists end into their campaigns' rows.
pub(super) async fn update_list_ends(conn: &mut Conn, rows: &[ListEndRow<'_>]) -> Result<(), Failure> {
    let statement = Bulk {
        before: "UPDATE campaigns SET match_total = list.match_total, last_match_at = list.last_match_at FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.organization_id).collect()),
            Column::Text(rows.iter().map(|row| row.campaign_id).collect()),
            Column::Number(rows.iter().map(|row| row.match_total).collect()),
            Column::NumberOrNull(rows.iter().map(|row| row.last_match_at).collect()),
        ],
        after: ") AS list (organization_id, campaign_id, match_total, last_match_at) \
                WHERE campaigns.organization_id = list.organization_id AND campaigns.id = list.campaign_id",
    };
    statement.run(conn, rows.len()).await?;
    Ok(())
}

/// Stores filters of different ids, in the places of those that are there.
pub(super) async fn upsert_filters(conn: &mut Conn, rows: &[FilterRow]) -> Result<(), Failure> {
    for rows in rows.chunks(1000) {
        diesel::insert_into(filters::table)
            .values(rows)
            .on_conflict((filters::organization_id, filters::id))
            .do_update()
            .set((
                filters::campaign_id.eq(excluded(filters::campaign_id)),
                filters::name.eq(excluded(filters::name)),
                filters::body.eq(excluded(filters::body)),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Notes the revision of filters' last changes.
pub(super) async fn upsert_filter_changes(
    conn: &mut Conn,
    rows: &[FilterChangeRow<'_>],
) -> Result<(), Failure> {
    let statement = Bulk {
        before: "INSERT INTO filter_changes (organization_id, filter_id, revision) SELECT * FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.organization_id).collect()),
            Column::Text(rows.iter().map(|row| row.filter_id).collect()),
            Column::Number(rows.iter().map(|row| row.revision).collect()),
        ],
        after: ") ON CONFLICT (organization_id, filter_id) DO UPDATE SET revision = excluded.revision",
    };
    statement.run(conn, rows.len()).await?;
    Ok(())
}

/// Stores leads that are as new as [`LeadRow::new`] makes them; those that are there stay as they are.
pub(super) async fn insert_new_leads(conn: &mut Conn, rows: &[LeadRow]) -> Result<(), Failure> {
    let configs: Result<Vec<String>, _> = rows
        .iter()
        .map(|row| serde_json::to_string(&row.bidding_config.0))
        .collect();
    let configs = configs.map_err(|error| Failure::Fault(error.to_string()))?;
    let statement = Bulk {
        before: "INSERT INTO leads (organization_id, id, campaign_id, job_id, created_at, status, bidding_config) \
                 SELECT * FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.organization_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.campaign_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.job_id.as_str()).collect()),
            Column::Number(rows.iter().map(|row| row.created_at).collect()),
            Column::Text(rows.iter().map(|row| row.status.as_str()).collect()),
            Column::Text(configs.iter().map(String::as_str).collect()),
        ],
        after: ") ON CONFLICT DO NOTHING",
    };
    statement.run(conn, rows.len()).await?;
    Ok(())
}

/// Queues those of the deliveries that were not queued before, and says how many those are.
pub(super) async fn insert_deliveries(conn: &mut Conn, rows: &[NewDeliveryRow]) -> Result<usize, Failure> {
    let statement = Bulk {
        before: "INSERT INTO deliveries (organization_id, id, endpoint_id, campaign_id, lead_id, event, data, \
                 created_at, state) SELECT * FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.organization_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.endpoint_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.campaign_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.lead_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.event).collect()),
            Column::TextOrNull(rows.iter().map(|row| row.data.as_deref()).collect()),
            Column::Number(rows.iter().map(|row| row.created_at).collect()),
            Column::Text(rows.iter().map(|row| row.state).collect()),
        ],
        after: ") ON CONFLICT DO NOTHING",
    };
    statement.run(conn, rows.len()).await
}

/// Queues those of the intents to bid that were not queued before, and says how many those are.
pub(super) async fn insert_automatic_bids(
    conn: &mut Conn,
    rows: &[NewAutomaticBidRow],
) -> Result<usize, Failure> {
    let statement = Bulk {
        before: "INSERT INTO automatic_bids (organization_id, lead_id, campaign_id, queued_at) SELECT * FROM unnest(",
        columns: vec![
            Column::Text(rows.iter().map(|row| row.organization_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.lead_id.as_str()).collect()),
            Column::Text(rows.iter().map(|row| row.campaign_id.as_str()).collect()),
            Column::Number(rows.iter().map(|row| row.queued_at).collect()),
        ],
        after: ") ON CONFLICT DO NOTHING",
    };
    statement.run(conn, rows.len()).await
}

/// A statement with columns of values in its middle, separated by commas.
struct Bulk<'a> {
    before: &'static str,
    columns: Vec<Column<'a>>,
    after: &'static str,
}

/// One value a row.
enum Column<'a> {
    Text(Vec<&'a str>),
    TextOrNull(Vec<Option<&'a str>>),
    Number(Vec<i64>),
    NumberOrNull(Vec<Option<i64>>),
    Bytes(Vec<&'a [u8]>),
}

impl Bulk<'_> {
    async fn run(self, conn: &mut Conn, rows: usize) -> Result<usize, Failure> {
        if rows == 0 {
            return Ok(0);
        }
        Ok(self.execute(conn).await?)
    }
}

/// Told from others by its text, under which it stays prepared.
impl QueryId for Bulk<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl QueryFragment<Pg> for Bulk<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(self.before);
        for (number, column) in self.columns.iter().enumerate() {
            if number > 0 {
                out.push_sql(", ");
            }
            match column {
                Column::Text(values) => out.push_bind_param::<Array<Text>, _>(values)?,
                Column::TextOrNull(values) => out.push_bind_param::<Array<Nullable<Text>>, _>(values)?,
                Column::Number(values) => out.push_bind_param::<Array<BigInt>, _>(values)?,
                Column::Bytes(values) => out.push_bind_param::<Array<Binary>, _>(values)?,
                Column::NumberOrNull(values) => out.push_bind_param::<Array<Nullable<BigInt>>, _>(values)?,
            }
        }
        out.push_sql(self.after);
        Ok(())
    }
}
