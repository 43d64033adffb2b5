//! Tests of the use cases over the fakes, crashes and races included. Each file has the name of the use case that it
//! tests; `bid_complete` and `simulation` test several together, `service` and `stepping` are the set-up.
#![expect(clippy::unwrap_used, reason = "this is test code")]
#![expect(
    clippy::needless_pass_by_value,
    reason = "`json!` reads best where it is passed on as it is"
)]

mod authenticate;
mod backfill_matches;
mod bid_complete;
mod change_password;
mod deliver_webhooks;
mod describe_lead;
mod erase_organizations;
mod explain_match;
mod first_run;
mod follow_activity;
mod follow_billing;
mod ingest_jobs;
mod invitations;
mod list_leads;
mod list_leads_of_status;
mod list_organizations;
mod manage_lead;
mod manage_members;
mod manage_organization;
mod manage_tokens;
mod notice_changes;
mod operate_leads;
mod people;
mod preview_bid;
mod prune;
mod reject_lead;
mod revocation;
mod search_activity;
mod service;
mod sessions;
mod settle_bids;
mod show_bidding;
mod show_deliveries;
mod show_feed;
mod show_lead;
mod show_overview;
mod show_settings;
mod sign_in;
mod simulation;
mod stepping;
mod submit_bid;
mod submit_proposals;
mod take_turns;
mod try_endpoints;
mod try_filter;
mod upload_attachments;
mod upload_campaign_files;
mod use_link;
mod write_automatic_bids;
