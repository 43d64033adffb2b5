//! What provisioning reads and changes.

use async_trait::async_trait;

use super::{Revision, StoreError, StoredPerson};
use crate::model::{
    Activity, ApiKeyHash, Authorization, CampaignId, EmailKey, EndpointId, OrganizationId, Timestamp,
    Unauthorized,
};
use crate::provisioning::{EntityKind, OrganizationRecord, ProvisioningChange};

/// The stored state that a plan starts from.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvisioningSnapshot {
    /// Committing fails if the revision has moved since.
    pub revision: Revision,
    /// The requested organizations that exist.
    pub organizations: Vec<OrganizationRecord>,
    /// The requested digests that a key of any organization has.
    pub taken_key_hashes: Vec<(ApiKeyHash, OrganizationId)>,
    /// The requested digests that a key had which was removed or replaced (decision D5).
    pub removed_key_hashes: Vec<ApiKeyHash>,
    /// The requested organizations that were removed, as long as something of them may be left.
    pub being_erased: Vec<OrganizationId>,
    /// The entities of these organizations that cannot be read. They are not in the records.
    pub unreadable: Vec<UnreadableEntity>,
}

/// An entity whose row cannot be read. A file that names it puts it anew, or removes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableEntity {
    /// The entity's organization.
    pub organization_id: OrganizationId,
    /// The kind of entity.
    pub kind: EntityKind,
    /// The entity's id; of a user, the address as it is compared.
    pub id: String,
}

/// The person behind changes of one organization: what they are accepted on, and how they are recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct ByPerson {
    /// Checked again in the transaction that makes the changes, so that those of a request that was on its way are refused
    /// once the session, the membership or the role has ended (decisions D7 and E2).
    pub authorization: Authorization,
    /// Only owners may (decision E1).
    pub needs_owner: bool,
    /// Names the organization and the person (decision E5).
    pub entry: Activity,
}

/// The outcome of [`ProvisioningStore::commit`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitProvisioning {
    /// All changes are stored and hold for every later request and job in every process (decision D7).
    Committed,
    /// The revision moved since the snapshot: read and plan again. Nothing changed.
    RevisionMoved,
    /// The person may not, or not any more. Nothing changed.
    NotAuthorized(Unauthorized),
    /// An organization that was to be removed has bids that are queued, being submitted or unsettled (decision B4).
    /// Nothing changed.
    BidsOutstanding {
        /// The organization.
        organization: OrganizationId,
        /// How many bids.
        bids: u64,
    },
}

/// Where an active endpoint wants its webhooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebhookUrl {
    /// The endpoint's organization.
    pub organization_id: OrganizationId,
    /// The endpoint.
    pub id: EndpointId,
    /// Its URL.
    pub url: String,
}

/// Organizations and their entities, as operators provision them.
#[async_trait]
pub trait ProvisioningStore: Send + Sync + std::fmt::Debug {
    /// Reads the given organizations with all their entities, and finds which of the digests are taken.
    async fn snapshot(
        &self,
        organizations: &[OrganizationId],
        key_hashes: &[ApiKeyHash],
    ) -> Result<ProvisioningSnapshot, StoreError>;

    /// Those of these people that exist. Read it after [`snapshot`](Self::snapshot): a change of people raises the
    /// revision.
    async fn people(&self, keys: &[EmailKey]) -> Result<Vec<StoredPerson>, StoreError>;

    /// The URLs of up to `limit` active endpoints behind `after`, in the order of organization and id.
    async fn webhook_urls(
        &self,
        after: Option<&(OrganizationId, EndpointId)>,
        limit: u32,
    ) -> Result<Vec<WebhookUrl>, StoreError>;

    /// Makes all changes in their order, or none, and raises the revision. The entry of the person who makes them is added
    /// to the Activity record in the same transaction (decision E5). The subscription is not asked after: settings may be
    /// changed without (decision E4).
    ///
    /// Once a removed organization's removal is committed, nothing is stored for it any more but what its own stored
    /// deliveries, intents and leads cause, and nothing is sent for it.
    async fn commit_by(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        person: Option<&ByPerson>,
        at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError>;

    /// Makes all changes as [`commit_by`](Self::commit_by) does, for an operator, and records nothing.
    async fn commit(
        &self,
        expected: Revision,
        changes: &[ProvisioningChange],
        at: Timestamp,
    ) -> Result<CommitProvisioning, StoreError> {
        self.commit_by(expected, changes, None, at).await
    }

    /// Whether leads or Activity entries of a campaign are stored, be it there or removed. A new campaign of this id
    /// would take them for its own.
    async fn has_history(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError>;
}
