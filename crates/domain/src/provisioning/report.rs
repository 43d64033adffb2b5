//! The result of applying a provisioning file, as `bidloop apply` prints it (contract section 1).

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
    /// The kind of entity.
    #[serde(rename = "type")]
    pub kind: EntityKind,
    /// The entity's id.
    pub id: String,
    /// The entity's organization; for an organization, its own id.
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
    /// The entity's organization.
    pub organization_id: OrganizationId,
    /// The key or the secret in full.
    #[serde(serialize_with = "exposed")]
    pub value: Secret<String>,
}

fn exposed<S: Serializer>(secret: &Secret<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(secret.expose())
}

/// The result of applying a file. Nested entities are reported themselves: a changed filter does not make its campaign
/// changed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ProvisioningReport {
    /// New entities, in the file's order.
    pub created: Vec<ReportedEntity>,
    /// Entities that changed, including campaigns that lost a removed account.
    pub changed: Vec<ReportedEntity>,
    /// Entities that were removed, including those of a removed campaign or organization.
    pub removed: Vec<ReportedEntity>,
    /// Entities of the file that did not change.
    pub unchanged: u64,
    /// Keys and secrets generated for new entities.
    pub secrets: Vec<GeneratedSecret>,
}
