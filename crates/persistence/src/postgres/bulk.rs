//! Many rows in one statement. Arrays that the server unnests keep the statement the same for any number of rows, so
//! that it is prepared once a connection; `VALUES` of thousands of rows is parsed anew each time.

use diesel::pg::Pg;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Nullable, Text};
use diesel_async::RunQueryDsl;

use super::Conn;
use crate::failure::Failure;
use crate::rows::{ListEndRow, NewMatchRow};

/// Stores matches none of which is there yet.
pub(super) async fn insert_matches(conn: &mut Conn, rows: &[NewMatchRow<'_>]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let statement = InsertMatches {
        organization_ids: rows.iter().map(|row| row.organization_id).collect(),
        campaign_ids: rows.iter().map(|row| row.campaign_id).collect(),
        generations: rows.iter().map(|row| row.generation).collect(),
        seqs: rows.iter().map(|row| row.seq).collect(),
        job_ids: rows.iter().map(|row| row.job_id).collect(),
        created_ats: rows.iter().map(|row| row.created_at).collect(),
    };
    statement.execute(conn).await?;
    Ok(())
}

/// Writes how lists end into their campaigns' rows.
pub(super) async fn update_list_ends(conn: &mut Conn, rows: &[ListEndRow<'_>]) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let statement = UpdateListEnds {
        organization_ids: rows.iter().map(|row| row.organization_id).collect(),
        campaign_ids: rows.iter().map(|row| row.campaign_id).collect(),
        totals: rows.iter().map(|row| row.match_total).collect(),
        last_ats: rows.iter().map(|row| row.last_match_at).collect(),
    };
    statement.execute(conn).await?;
    Ok(())
}

struct InsertMatches<'a> {
    organization_ids: Vec<&'a str>,
    campaign_ids: Vec<&'a str>,
    generations: Vec<i64>,
    seqs: Vec<i64>,
    job_ids: Vec<&'a str>,
    created_ats: Vec<i64>,
}

impl QueryId for InsertMatches<'_> {
    type QueryId = InsertMatches<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for InsertMatches<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "INSERT INTO matches (organization_id, campaign_id, generation, seq, job_id, created_at) \
             SELECT * FROM unnest(",
        );
        out.push_bind_param::<Array<Text>, _>(&self.organization_ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.campaign_ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.generations)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.seqs)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.job_ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.created_ats)?;
        out.push_sql(")");
        Ok(())
    }
}

struct UpdateListEnds<'a> {
    organization_ids: Vec<&'a str>,
    campaign_ids: Vec<&'a str>,
    totals: Vec<i64>,
    last_ats: Vec<Option<i64>>,
}

impl QueryId for UpdateListEnds<'_> {
    type QueryId = UpdateListEnds<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for UpdateListEnds<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql(
            "UPDATE campaigns SET match_total = list.match_total, last_match_at = list.last_match_at FROM unnest(",
        );
        out.push_bind_param::<Array<Text>, _>(&self.organization_ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Text>, _>(&self.campaign_ids)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<BigInt>, _>(&self.totals)?;
        out.push_sql(", ");
        out.push_bind_param::<Array<Nullable<BigInt>>, _>(&self.last_ats)?;
        out.push_sql(
            ") AS list (organization_id, campaign_id, match_total, last_match_at) \
             WHERE campaigns.organization_id = list.organization_id AND campaigns.id = list.campaign_id",
        );
        Ok(())
    }
}
