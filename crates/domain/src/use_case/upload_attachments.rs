//! Upload attachments: streams a request's files into the blob store and adds them to a lead, all or none. Tests:
//! `tests/use_case/upload_attachments.rs`.
//!
//! Owns the order of checks and the batch's atomicity. Does not own the rules of files
//! ([`attachment_rules`](crate::attachment_rules)) or the reading of a request's parts. `session` receives the files.

mod session;

use std::sync::Arc;

pub use session::UploadSession;

use super::{LeadAddress, LeadError, LeadRequests, Requester};
use crate::model::CampaignId;
use crate::port::BlobStore;

/// Takes uploads (specification, POST …/attachments; decisions A9, A10 and C8).
#[derive(Debug, Clone)]
pub struct UploadAttachments {
    /// Stores uploaded files.
    pub blobs: Arc<dyn BlobStore>,
    /// Finds leads and records requests.
    pub requests: LeadRequests,
}

impl UploadAttachments {
    /// Checks what is known before the body is read, in the order of decision A1. `envelope` is the result of the
    /// checks on the request's head: its declared length and its media type.
    pub async fn begin(
        &self,
        requester: &Requester,
        campaign: &CampaignId,
        lead: impl Into<LeadAddress> + Send,
        envelope: Result<(), LeadError>,
    ) -> Result<UploadSession, LeadError> {
        let lead = lead.into();
        let found = self.requests.find(requester, campaign, &lead, &envelope).await?;
        let lead = found.lead.lead;
        let status = lead.status;
        let session = UploadSession::new(self.clone(), requester.clone(), lead, &found.attachments);
        match envelope {
            Err(fault) => Err(session.refuse(fault).await),
            Ok(()) if !status.is_open() => Err(session.refuse(LeadError::UploadTooLate(status)).await),
            Ok(()) => Ok(session),
        }
    }
}
