//! The Activity record: who did what, and why the service did what it did (decision C8).

use serde::Serialize;
use serde_json::{Map, Value};
use strum::{Display, EnumString, IntoStaticStr};

use super::{ActivityId, ApiKeyId, CampaignId, LeadId, OrganizationId, Timestamp};

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ActivityKind {
    /// A bid request, by API or by template.
    Bid,
    /// A rejection request.
    Rejection,
    /// An upload request.
    Upload,
    /// The end of a webhook delivery.
    Delivery,
    /// The end of a queued bid.
    Submission,
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// What kind of actor.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The key's or user's id.
    pub id: Option<String>,
    /// The key's or user's name, the command's words.
    pub name: Option<String>,
}

impl Actor {
    /// The service itself.
    pub fn service() -> Self {
        Self {
            kind: ActorKind::Service,
            id: None,
            name: None,
        }
    }

    /// A command of the program, by its words such as `leads reopen`.
    pub fn command(words: &str) -> Self {
        Self {
            kind: ActorKind::Command,
            id: None,
            name: Some(words.to_owned()),
        }
    }

    /// An API key.
    pub fn api_key(id: &ApiKeyId, name: &str) -> Self {
        Self {
            kind: ActorKind::ApiKey,
            id: Some(id.to_string()),
            name: Some(name.to_owned()),
        }
    }
}

/// Kinds of actors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Display, EnumString, IntoStaticStr)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum ActorKind {
    /// A program with an API key.
    ApiKey,
    /// A person in the console.
    User,
    /// A command of the program.
    Command,
    /// The service itself.
    Service,
}

/// One entry. Its JSON is a line of `bidloop activity` (contract section 1).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// Unique everywhere.
    pub id: ActivityId,
    /// UNIX milliseconds.
    pub at: Timestamp,
    /// Whose record this is.
    pub organization_id: OrganizationId,
    /// The campaign concerned.
    pub campaign_id: Option<CampaignId>,
    /// The lead concerned.
    pub lead_id: Option<LeadId>,
    /// What it is about.
    pub kind: ActivityKind,
    /// Who acted.
    pub actor: Actor,
    /// Requests: `accepted` or `refused`; deliveries: `delivered` or `failed`; submissions: a status of
    /// decision B1.
    pub outcome: String,
    /// The status answered, for requests over HTTP.
    pub http_status: Option<u16>,
    /// Whether a bid was a dry run, or a delivery tells of one.
    pub dry_run: bool,
    /// One sentence for people.
    pub message: String,
    /// What machines want to know; its members depend on the kind.
    pub details: Map<String, Value>,
}

/// An entry's details: the members of a JSON object.
pub(crate) fn details(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Which entries to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivityQuery {
    /// Only this organization's.
    pub organization_id: Option<OrganizationId>,
    /// Only this campaign's.
    pub campaign_id: Option<CampaignId>,
    /// Only this lead's.
    pub lead_id: Option<LeadId>,
    /// At most so many.
    pub limit: u32,
}
