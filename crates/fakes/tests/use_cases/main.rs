//! The use cases over the fakes: every sentence of the specification and of the decisions that a use case answers
//! for, crashes and races included.
#![expect(clippy::unwrap_used, reason = "this is test code")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` reads best where it is passed on as it is"
)]

mod authenticate;
mod backfill_matches;
mod bid_complete;
mod deliver_webhooks;
mod ingest_jobs;
mod list_leads;
mod reject_lead;
mod service;
mod simulation;
mod stepping;
mod submission_crashes;
mod submission_ends;
mod submission_faults;
mod submission_races;
mod submission_tokens;
mod submit_bid;
mod upload_attachments;
mod write_automatic_bids;
