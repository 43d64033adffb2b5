//! What applying a provisioning file did, as `bidloop apply` prints it (contract section 1).

use serde::{Serialize, Serializer};

use crate::model::{OrganizationId, Secret};

/// The kinds of entities that a provisioning file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntityKind {
    /// An organization with its subscription.
    Organization,
    /// A user; its id is the email address.
    User,
    /// An API key.
    ApiKey,
    /// A webhook endpoint of either scope.
    Webhook,
    /// A bidder account.
    BidderAccount,
    /// A campaign's own fields.
    Campaign,
    /// A saved filter.
    Filter,
}

/// One entity of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportedEntity {
    /// What it is.
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// Its id.
    pub id: String,
    /// Whose it is; an organization's own id.
    pub organization_id: OrganizationId,
}

/// A key or a webhook secret that the service generated because the file has none. It is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GeneratedSecret {
    /// [`EntityKind::ApiKey`] or [`EntityKind::Webhook`].
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// The entity's id.
    pub id: String,
    /// Whose it is.
    pub organization_id: OrganizationId,
    /// The key or the secret in full.
    #[serde(serialize_with = "exposed")]
    pub value: Secret<String>,
}

fn exposed<S: Serializer>(secret: &Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

/// What applying a file did. A nested entity is reported itself: a campaign whose filter changed is not changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ProvisioningReport {
    /// New entities, in the file's order.
    pub created: Vec<ReportedEntity>,
    /// Entities that were there and are different now; campaigns that lost a removed account included.
    pub changed: Vec<ReportedEntity>,
    /// Entities that were there and are not any more; what hung on a removed campaign included.
    pub removed: Vec<ReportedEntity>,
    /// Entities of the file that were as it says already.
    pub unchanged: u64,
    /// Keys and secrets made for new entities.
    pub secrets: Vec<GeneratedSecret>,
}
