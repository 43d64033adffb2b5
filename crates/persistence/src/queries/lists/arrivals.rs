//! The jobs of a page: which of them are new and which changed, and how their contents and signatures are stored.

use std::collections::{HashMap, HashSet};

use bidloop_domain::port::MatchedJob;
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::super::{Conn, VALUES_AT_ONCE, insert_jobs, put_job_signatures};
use super::match_list::CampaignKey;
use crate::failure::Failure;
use crate::rows::{JobSignatureRow, NewJobRow};
use crate::schema::{job_signatures, jobs};

/// A job whose content is stored for the first time, under its number.
pub(super) struct Arrival<'p> {
    pub(super) job: &'p MatchedJob,
    pub(super) seq: i64,
}

impl<'p> Arrival<'p> {
    pub(super) fn id(&self) -> &'p str {
        self.job.id.as_str()
    }

    /// The campaigns that it matches, each once.
    pub(super) fn campaigns(&self) -> Vec<&'p CampaignKey> {
        let mut seen = HashSet::new();
        let campaigns = self.job.campaigns.iter();
        campaigns.filter(|campaign| seen.insert(*campaign)).collect()
    }
}

/// What a page brings. Jobs that are known as they are do not count.
#[derive(Default)]
pub(super) struct Arrivals<'p> {
    pub(super) new: Vec<Arrival<'p>>,
    pub(super) changed: Vec<Arrival<'p>>,
    pub(super) last_job_seq: i64,
}

/// Tells new jobs from changed ones and from those known as they are, and numbers what is to be stored in the feed's
/// order. Of an id that occurs twice the later counts.
pub(super) async fn sort_out<'p>(
    conn: &mut Conn,
    jobs_of_page: &'p [MatchedJob],
    last_job_seq: i64,
) -> Result<Arrivals<'p>, Failure> {
    let mut seen = HashSet::new();
    let mut later_ones: Vec<&MatchedJob> = jobs_of_page
        .iter()
        .rev()
        .filter(|job| seen.insert(&job.id))
        .collect();
    later_ones.reverse();
    let known = known_contents(conn, &later_ones).await?;
    let mut arrivals = Arrivals {
        last_job_seq,
        ..Arrivals::default()
    };
    for job in later_ones {
        let content = known.get(job.id.as_str());
        if content.is_some_and(|content| *content == job.json) {
            continue;
        }
        arrivals.last_job_seq += 1;
        let arrival = Arrival {
            job,
            seq: arrivals.last_job_seq,
        };
        match content {
            Some(_) => arrivals.changed.push(arrival),
            None => arrivals.new.push(arrival),
        }
    }
    Ok(arrivals)
}

/// The stored JSON of those of the jobs that are known.
async fn known_contents(conn: &mut Conn, of: &[&MatchedJob]) -> Result<HashMap<String, String>, Failure> {
    let mut known = HashMap::new();
    for chunk in of.chunks(VALUES_AT_ONCE) {
        let ids: Vec<&str> = chunk.iter().map(|job| job.id.as_str()).collect();
        let rows: Vec<(String, String)> = jobs::table
            .filter(jobs::id.eq_any(ids))
            .select((jobs::id, jobs::json))
            .load(conn)
            .await?;
        known.extend(rows);
    }
    Ok(known)
}

pub(super) async fn store_new_jobs(conn: &mut Conn, new: &[Arrival<'_>]) -> Result<(), Failure> {
    let rows: Vec<NewJobRow<'_>> = new
        .iter()
        .map(|arrival| NewJobRow {
            id: arrival.id(),
            seq: arrival.seq,
            posted_at: arrival.job.posted_at.as_millis(),
            json: &arrival.job.json,
        })
        .collect();
    let inserted = insert_jobs(conn, &rows).await?;
    if inserted == rows.len() {
        Ok(())
    } else {
        // Only the position's holder stores jobs, and it has just looked.
        Err(Failure::Fault("a new job was stored meanwhile".to_owned()))
    }
}

pub(super) async fn replace_jobs(conn: &mut Conn, changed: &[Arrival<'_>]) -> Result<(), Failure> {
    for arrival in changed {
        diesel::update(jobs::table.find(arrival.id()))
            .set((
                jobs::seq.eq(arrival.seq),
                jobs::posted_at.eq(arrival.job.posted_at.as_millis()),
                jobs::json.eq(arrival.job.json.as_str()),
            ))
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// Stores the signatures of contents that are stored for the first time.
pub(super) async fn store_signatures(conn: &mut Conn, of: &[Arrival<'_>]) -> Result<(), Failure> {
    let rows: Vec<JobSignatureRow> = of
        .iter()
        .map(|arrival| JobSignatureRow::new(arrival.seq, &arrival.job.signature))
        .collect();
    put_job_signatures(conn, &rows).await
}

/// Removes the signatures of what is stored of the jobs so far.
pub(super) async fn remove_signatures(conn: &mut Conn, of: &[Arrival<'_>]) -> Result<(), Failure> {
    for chunk in of.chunks(VALUES_AT_ONCE) {
        let ids = chunk.iter().map(Arrival::id);
        let seqs: Vec<i64> = jobs::table
            .filter(jobs::id.eq_any(ids))
            .select(jobs::seq)
            .load(conn)
            .await?;
        let signatures = job_signatures::table.filter(job_signatures::seq.eq_any(seqs));
        diesel::delete(signatures).execute(conn).await?;
    }
    Ok(())
}
