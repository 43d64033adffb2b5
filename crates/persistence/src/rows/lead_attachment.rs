//! Files uploaded for leads.

use bidloop_domain::model::{CampaignAttachment, FrozenAttachment, LeadAttachment, LeadId, OrganizationId};
use bidloop_domain::port::NewAttachment;
use diesel::prelude::*;
use sha2::{Digest as _, Sha256};

use crate::columns::{Json, stored};
use crate::schema::lead_attachments;

/// A row of `lead_attachments`.
#[derive(Debug, Clone, Insertable, Queryable, Selectable)]
#[diesel(table_name = lead_attachments)]
pub(crate) struct LeadAttachmentRow {
    organization_id: String,
    lead_id: String,
    position: i64,
    pub(crate) name_digest: String,
    pub(crate) attachment: Json<LeadAttachment>,
}

impl LeadAttachmentRow {
    /// The lead's file after `earlier` others.
    pub(crate) fn new(
        organization: &OrganizationId,
        lead: &LeadId,
        earlier: usize,
        file: &NewAttachment,
    ) -> Self {
        Self {
            organization_id: organization.to_string(),
            lead_id: lead.to_string(),
            position: stored(earlier).saturating_add(1),
            name_digest: hex::encode(Sha256::digest(file.comparison_key.as_bytes())),
            attachment: Json(file.attachment.clone()),
        }
    }
}

/// An upload as an accepted bid keeps it. The marketplace gets the name that is safe everywhere.
pub(crate) fn frozen_upload(upload: LeadAttachment) -> FrozenAttachment {
    FrozenAttachment {
        name: upload.safe_name,
        content_type: upload.content_type,
        blob: upload.blob,
    }
}

/// A campaign's file as an accepted bid keeps it.
pub(crate) fn frozen_campaign_file(file: CampaignAttachment) -> FrozenAttachment {
    FrozenAttachment {
        name: file.name,
        content_type: file.content_type,
        blob: file.blob,
    }
}
