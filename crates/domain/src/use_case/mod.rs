//! What Bidloop does, one file a use case.

mod apply_provisioning;
mod authenticate;
mod backfill_matches;
mod campaign_filters;
mod current_filters;
mod deliver_webhooks;
mod ingest_jobs;
mod list_activity;
mod list_leads;
mod locate_lead;
mod manage_api_keys;
mod operate_leads;
mod reject_lead;
mod request_fault;
mod scan_stored_jobs;
mod submit_bid;
mod submit_proposals;
mod upload_attachments;
mod write_automatic_bids;

pub use apply_provisioning::{ApplyProvisioning, ApplyProvisioningError};
pub use authenticate::{Authenticate, AuthenticateError, Caller};
pub use backfill_matches::{BackfillMatches, BackfillReport, BackfillRun};
pub use deliver_webhooks::{DeliverWebhooks, DeliveryFacts, DeliveryLimits, SentDelivery, delivery_activity};
pub use ingest_jobs::{IngestError, IngestJobs, IngestedPage};
pub use list_activity::{DEFAULT_ACTIVITY_LIMIT, ListActivity};
pub use list_leads::{ListLeads, ListLeadsError, ListedLeads, MAX_PAGE, PageRequest};
pub use locate_lead::{LocateLead, LocateLeadError};
pub use manage_api_keys::{CreatedApiKey, ManageApiKeys, ManageApiKeysError, NewApiKey};
pub use operate_leads::{OperateLeads, OperateLeadsError, ShownLead};
pub use reject_lead::{MAX_REASON_CHARS, RejectLead, RejectLeadError};
pub use request_fault::RequestFault;
pub use scan_stored_jobs::JobScan;
pub use submit_bid::{BidAccepted, Bidder, SubmitBid, SubmitBidError};
pub use submit_proposals::{LEASE, SubmissionOutcome, SubmitProposals};
pub use upload_attachments::{UploadAttachments, UploadError, UploadSession};
pub use write_automatic_bids::{AutomaticBidOutcome, WriteAutomaticBids};
