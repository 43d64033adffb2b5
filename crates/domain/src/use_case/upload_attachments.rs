//! Upload attachments: streams a request's files into the blob store and gives them to a lead, all or none.
//!
//! Owns the order of checks and the batch's atomicity. Does not own the rules of files
//! ([`attachment_rules`](crate::attachment_rules)) nor the reading of a request's parts. `session` takes the files in.

mod session;

use std::sync::Arc;

use serde_json::{Map, Value};

pub use session::{PartHead, UploadSession};

use super::lead_request::{LeadRefusal, LeadRequests, fault_details};
use super::{Caller, RequestFault};
use crate::attachment_rules::{FileFault, shown};
use crate::model::{CampaignId, LeadId, LeadStatus};
use crate::port::{ActivityStore, BlobError, BlobStore, Clock, Ids, LeadStore, StoreError};

/// Why an upload was refused. Nothing but the Activity record has changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// The organization has no such campaign.
    #[error("campaign not found")]
    CampaignUnknown,
    /// The campaign has no such lead.
    #[error("lead not found")]
    LeadUnknown,
    /// The request's wrapping or shape.
    #[error(transparent)]
    Request(#[from] RequestFault),
    /// The lead was bid on or rejected: the files could no longer be used (decision A10).
    #[error("the lead is already {0}: it takes no more files")]
    LeadNotNew(LeadStatus),
    /// A part with another name than `files`.
    #[error("{} was sent in a part named \"{}\": every part must be named \"files\"",
        file_in_words(.file_name.as_deref()), shown(.part_name))]
    UnexpectedPart {
        /// The part's name.
        part_name: String,
        /// Its file's name, if it has one.
        file_name: Option<String>,
    },
    /// The first faulty file (decision A9).
    #[error(transparent)]
    File(#[from] FileFault),
    /// The attachment storage failed.
    #[error(transparent)]
    Blob(#[from] BlobError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl UploadError {
    /// The status it is answered with (specification, Errors); `None` for a failure of the service.
    pub fn http_status(&self) -> Option<u16> {
        match self {
            Self::CampaignUnknown | Self::LeadUnknown => Some(404),
            Self::Request(fault) => Some(fault.http_status()),
            Self::File(fault) if fault.is_too_large() => Some(413),
            Self::LeadNotNew(_) | Self::UnexpectedPart { .. } | Self::File(_) => Some(400),
            Self::Blob(_) | Self::Store(_) => None,
        }
    }
}

impl LeadRefusal for UploadError {
    const CAMPAIGN_UNKNOWN: Self = Self::CampaignUnknown;
    const LEAD_UNKNOWN: Self = Self::LeadUnknown;

    fn answered_with(&self) -> Option<u16> {
        self.http_status()
    }

    fn details(&self) -> Map<String, Value> {
        match self {
            Self::Request(fault) => fault_details(fault),
            _ => Map::new(),
        }
    }
}

fn file_in_words(name: Option<&str>) -> String {
    name.map_or_else(|| "a value".to_owned(), |name| format!("\"{}\"", shown(name)))
}

/// Takes uploads (specification, POST …/attachments; decisions A9, A10 and C8).
#[derive(Debug, Clone)]
pub struct UploadAttachments {
    blobs: Arc<dyn BlobStore>,
    requests: LeadRequests,
}

impl UploadAttachments {
    /// Over its ports.
    pub fn new(
        blobs: Arc<dyn BlobStore>,
        leads: Arc<dyn LeadStore>,
        activities: Arc<dyn ActivityStore>,
        clock: Arc<dyn Clock>,
        ids: Arc<dyn Ids>,
    ) -> Self {
        Self {
            blobs,
            requests: LeadRequests {
                leads,
                activities,
                clock,
                ids,
            },
        }
    }

    /// Checks what is known before the body is read, in the order of decision A1. `envelope` is the result of the
    /// checks on the request's head: its declared length and its media type.
    pub async fn begin(
        &self,
        caller: &Caller,
        campaign: &CampaignId,
        lead: &LeadId,
        envelope: Result<(), RequestFault>,
    ) -> Result<UploadSession, UploadError> {
        let found = self
            .requests
            .find::<UploadError, _>(&caller.organization_id, campaign, lead, &envelope)
            .await?;
        let lead = found.lead.lead;
        let status = lead.status;
        let session = UploadSession::new(self.clone(), caller.actor(), lead, &found.attachments);
        match envelope {
            Err(fault) => Err(session.refuse(fault.into()).await),
            Ok(()) if !status.is_open() => Err(session.refuse(UploadError::LeadNotNew(status)).await),
            Ok(()) => Ok(session),
        }
    }
}
