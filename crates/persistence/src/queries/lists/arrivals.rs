//! The jobs of a page: which of them are new and which changed, and how their contents and signatures are stored.

use std::collections::{HashMap, HashSet};

use bidloop_domain::matching::JobSignature;
use bidloop_domain::port::MatchedJob;

use super::super::prelude::*;
use super::match_list::CampaignKey;

/// A job whose content is stored for the first time, under its number.
pub(super) struct Arrival<'p> {
    pub(super) job: &'p MatchedJob,
    pub(super) seq: i64,
}

impl<'p> Arrival<'p> {
    pub(super) fn id(&self) -> &'p str {
        self.job.id.as_str()
    }

    /// The campaigns that the job matches, each once.
    pub(super) fn campaigns(&self) -> Vec<&'p CampaignKey> {
        let mut seen = HashSet::new();
        let campaigns = self.job.campaigns.iter();
        campaigns.filter(|campaign| seen.insert(*campaign)).collect()
    }
}

/// The jobs of a page that are to be stored. Those whose content is stored already are not among them.
pub(super) struct Arrivals<'p> {
    pub(super) new: Vec<Arrival<'p>>,
    pub(super) changed: Vec<Arrival<'p>>,
    /// The numbers that changed jobs have so far.
    former_seqs: Vec<i64>,
    pub(super) last_job_seq: i64,
}

impl<'p> Arrivals<'p> {
    /// Sorts a page's jobs into new and changed ones, and numbers them in the order of the feed. If an id occurs twice,
    /// the later job counts.
    pub(super) async fn of_page(
        conn: &mut Conn,
        page: &'p [MatchedJob],
        last_job_seq: i64,
    ) -> Result<Self, Failure> {
        let mut seen = HashSet::new();
        let mut latest: Vec<&MatchedJob> = page.iter().rev().filter(|job| seen.insert(&job.id)).collect();
        latest.reverse();
        let ids: Vec<&str> = latest.iter().map(|job| job.id.as_str()).collect();
        let known: Vec<(String, i64, Attempt<String>)> = jobs::table
            .filter(one_of!(jobs::id, ids))
            .select((jobs::id, jobs::seq, jobs::json))
            .load(conn)
            .await?;
        let known: HashMap<String, (i64, Option<String>)> = known
            .into_iter()
            .map(|(id, seq, json)| (id, (seq, json.0.ok())))
            .collect();
        let mut arrivals = Self {
            new: Vec::new(),
            changed: Vec::new(),
            former_seqs: Vec::new(),
            last_job_seq,
        };
        for job in latest {
            let known = known.get(job.id.as_str());
            if known.is_some_and(|(_, json)| json.as_ref() == Some(&job.json)) {
                continue;
            }
            arrivals.last_job_seq += 1;
            let seq = arrivals.last_job_seq;
            if let Some((seq_so_far, _)) = known {
                arrivals.former_seqs.push(*seq_so_far);
                arrivals.changed.push(Arrival { job, seq });
            } else {
                arrivals.new.push(Arrival { job, seq });
            }
        }
        Ok(arrivals)
    }

    /// Stores the jobs with their signatures.
    pub(super) async fn store(&self, conn: &mut Conn) -> Result<(), Failure> {
        let inserted = Batch::of("jobs", &self.new)
            .with(jobs::id, Arrival::id)
            .with(jobs::seq, |new| new.seq)
            .with(jobs::posted_at, |new| new.job.posted_at.as_millis())
            .with(jobs::json, |new| new.job.json.as_str())
            .run(conn, Write::InsertNew)
            .await?;
        if inserted != self.new.len() {
            // Only the transaction that has locked the position stores jobs, and it has just looked.
            return Err(Failure::fault("a new job was stored meanwhile"));
        }
        diesel::delete(job_signatures::table.filter(one_of!(job_signatures::seq, &self.former_seqs)))
            .execute(conn)
            .await?;
        for changed in &self.changed {
            diesel::update(jobs::table.find(changed.id()))
                .set((
                    jobs::seq.eq(changed.seq),
                    jobs::posted_at.eq(changed.job.posted_at.as_millis()),
                    jobs::json.eq(changed.job.json.as_str()),
                ))
                .execute(conn)
                .await?;
        }
        let stored = self.new.iter().chain(&self.changed);
        let signatures: Vec<_> = stored
            .map(|arrival| (arrival.seq, &arrival.job.signature))
            .collect();
        put_signatures(conn, &signatures).await
    }
}

/// Stores signatures under their jobs' numbers and replaces existing ones.
pub(crate) async fn put_signatures(
    conn: &mut Conn,
    signatures: &[(i64, &JobSignature)],
) -> Result<(), Failure> {
    Batch::of("job_signatures", signatures)
        .with(job_signatures::seq, |(seq, _)| *seq)
        .with(job_signatures::signature, |(_, signature)| {
            signature.to_bytes().to_vec()
        })
        .run(conn, Write::Put(1))
        .await?;
    Ok(())
}
