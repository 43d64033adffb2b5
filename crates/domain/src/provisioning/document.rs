//! The file model: one patch an entity, as far as the file could be read.
//!
//! Owns what a file can say, and the questions that must be asked of the store and of the file system before it
//! can be planned. Does not own what it says ([`reading`](super::reading)) nor what that amounts to
//! ([`plan`](super::plan)).

use std::fmt;

use serde_json::{Map, Value};

use super::faults::{Faults, Path};
use super::fields::{Field, Listed};
use crate::attachment_rules::{ContentType, FileName};
use crate::model::{
    AccountId, AnswerTemplate, ApiKey, ApiKeyHash, ApiKeyId, BlobRef, CampaignId, CampaignMode,
    CampaignState, EndpointId, EventKind, FilterId, OrganizationId, SubscriptionStatus, Timestamp,
    WebhookSecret,
};

/// A provisioning file as read, with its faults of shape.
#[derive(Debug)]
pub(crate) struct Document {
    pub(super) organizations: Listed<OrganizationPatch>,
    pub(super) faults: Faults,
}

impl Document {
    /// The organizations to take a snapshot of.
    pub(crate) fn organization_ids(&self) -> Vec<OrganizationId> {
        self.organizations
            .entries
            .iter()
            .filter_map(|patch| patch.id.clone())
            .collect()
    }

    /// The digests of the keys that the file gives.
    pub(crate) fn key_hashes(&self) -> Vec<ApiKeyHash> {
        let keys = self
            .organizations
            .entries
            .iter()
            .flat_map(|patch| &patch.api_keys.entries);
        keys.filter_map(|patch| patch.key.given().map(ApiKey::hash))
            .collect()
    }

    /// The attachments to be read, with the organization that each is for. A file is read only where its name
    /// and its type are good.
    pub(crate) fn attachments_mut(
        &mut self,
    ) -> impl Iterator<Item = (&OrganizationId, &mut AttachmentPatch)> {
        self.organizations.entries.iter_mut().flat_map(|patch| {
            let OrganizationPatch { id, campaigns, .. } = patch;
            let attachments = campaigns
                .entries
                .iter_mut()
                .filter(|campaign| campaign.state.given() != Some(&StatedState::Absent))
                .flat_map(|campaign| match &mut campaign.attachments {
                    Field::Given(attachments) => attachments.as_mut_slice(),
                    _ => &mut [],
                });
            let id: Option<&OrganizationId> = id.as_ref();
            attachments.filter_map(move |attachment| Some((id?, attachment)))
        })
    }
}

#[derive(Debug)]
pub(super) struct OrganizationPatch {
    pub(super) path: Path,
    pub(super) id: Option<OrganizationId>,
    pub(super) name: Field<String>,
    pub(super) subscription: Field<SubscriptionPatch>,
    pub(super) users: Listed<UserPatch>,
    pub(super) api_keys: Listed<ApiKeyPatch>,
    pub(super) webhooks: Listed<WebhookPatch>,
    pub(super) accounts: Listed<AccountPatch>,
    pub(super) campaigns: Listed<CampaignPatch>,
}

#[derive(Debug)]
pub(super) struct SubscriptionPatch {
    pub(super) path: Path,
    pub(super) status: Field<SubscriptionStatus>,
    pub(super) collection_paused: Field<bool>,
    pub(super) period_start: Field<Timestamp>,
    pub(super) period_end: Field<Timestamp>,
    pub(super) proposal_limit: Field<u32>,
}

pub(super) struct UserPatch {
    pub(super) path: Path,
    pub(super) email: Option<String>,
    pub(super) name: Field<String>,
    pub(super) password: Field<String>,
    pub(super) absent: bool,
}

impl fmt::Debug for UserPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UserPatch")
            .field("email", &self.email)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
pub(super) struct ApiKeyPatch {
    pub(super) path: Path,
    pub(super) id: Option<ApiKeyId>,
    pub(super) name: Field<String>,
    pub(super) key: Field<ApiKey>,
    pub(super) absent: bool,
}

#[derive(Debug)]
pub(super) struct WebhookPatch {
    pub(super) path: Path,
    pub(super) id: Option<EndpointId>,
    pub(super) url: Field<String>,
    pub(super) events: Field<Vec<EventKind>>,
    pub(super) active: Field<bool>,
    pub(super) secret: Field<WebhookSecret>,
    pub(super) absent: bool,
}

pub(super) struct AccountPatch {
    pub(super) path: Path,
    pub(super) id: Option<AccountId>,
    pub(super) name: Field<String>,
    pub(super) token: Field<String>,
    pub(super) absent: bool,
}

impl fmt::Debug for AccountPatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AccountPatch")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The words that a campaign's `state` can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StatedState {
    Is(CampaignState),
    Absent,
}

#[derive(Debug)]
pub(super) struct CampaignPatch {
    pub(super) path: Path,
    pub(super) id: Option<CampaignId>,
    pub(super) name: Field<String>,
    pub(super) mode: Field<CampaignMode>,
    pub(super) state: Field<StatedState>,
    pub(super) account_id: Field<AccountId>,
    pub(super) filters: Listed<FilterPatch>,
    pub(super) webhooks: Listed<WebhookPatch>,
    /// Judged once it is merged into what stands.
    pub(super) bidding_config: Option<Value>,
    pub(super) attachments: Field<Vec<AttachmentPatch>>,
    pub(super) proposal: Field<ProposalPatch>,
}

impl CampaignPatch {
    pub(super) fn is_absent(&self) -> bool {
        self.state.given() == Some(&StatedState::Absent)
    }
}

#[derive(Debug)]
pub(super) struct FilterPatch {
    pub(super) path: Path,
    pub(super) id: Option<FilterId>,
    pub(super) name: Field<String>,
    pub(super) absent: bool,
    /// Every other field; judged once it is merged into what stands.
    pub(super) body: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct ProposalPatch {
    pub(super) cover_letter: Field<String>,
    pub(super) answers: Field<Vec<AnswerTemplate>>,
}

/// One of a campaign's files.
#[derive(Debug)]
pub(crate) struct AttachmentPatch {
    pub(crate) path: Path,
    pub(crate) name: FileName,
    pub(crate) content_type: ContentType,
    /// Where it is read from, as the file wrote it.
    pub(crate) source: String,
    /// What was read; `None` if that failed, which has been reported.
    pub(crate) blob: Option<BlobRef>,
}
