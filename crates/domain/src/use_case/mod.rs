//! What Bidloop does, one file a use case.

mod authenticate;
mod backfill_matches;
mod deliver_webhooks;
mod ingest_jobs;
mod list_leads;
mod reject_lead;
mod request_fault;
mod submit_bid;
mod submit_proposals;
mod write_automatic_bids;

pub use authenticate::{Authenticate, AuthenticateError, Caller};
pub use backfill_matches::{BackfillMatches, BackfillReport};
pub use deliver_webhooks::{DeliverWebhooks, DeliveryFacts, DeliveryLimits, SentDelivery, delivery_activity};
pub use ingest_jobs::{FilterKey, IngestError, IngestJobs, IngestedPage};
pub use list_leads::{ListLeads, ListLeadsError, ListedLeads, MAX_PAGE, PageRequest};
pub use reject_lead::{MAX_REASON_CHARS, RejectLead, RejectLeadError};
pub use request_fault::RequestFault;
pub use submit_bid::{BidAccepted, Bidder, SubmitBid, SubmitBidError};
pub use submit_proposals::{LEASE, SubmissionOutcome, SubmitProposals};
pub use write_automatic_bids::{AutomaticBidOutcome, WriteAutomaticBids};
