//! Jobs of the feed.

use bidloop_domain::model::JobId;
use bidloop_domain::port::StoredJob;
use diesel::prelude::*;

use crate::columns::read;
use crate::failure::Failure;
use crate::schema::jobs;

/// A job's content under the number that it is stored as.
#[derive(Debug, Clone, Insertable)]
#[diesel(table_name = jobs)]
pub(crate) struct NewJobRow<'a> {
    pub(crate) id: &'a str,
    pub(crate) seq: i64,
    pub(crate) posted_at: i64,
    pub(crate) json: &'a str,
}

/// A job as a backfill reads it.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = jobs)]
pub(crate) struct StoredJobRow {
    id: String,
    seq: i64,
    json: String,
}

impl StoredJobRow {
    pub(crate) fn into_stored_job(self) -> Result<StoredJob, Failure> {
        Ok(StoredJob {
            seq: self.seq,
            id: read("jobs.id", &self.id, JobId::parse(&self.id))?,
            json: self.json,
        })
    }
}

/// What a job's place in a list depends on.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = jobs)]
pub(crate) struct JobPlaceRow {
    pub(crate) id: String,
    pub(crate) seq: i64,
    pub(crate) posted_at: i64,
}
