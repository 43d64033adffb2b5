//! The Activity record: who did what, and why the service acted as it did (decision C8).

use serde::Serialize;
use serde_json::{Map, Value};

use super::words::words;
use super::{ActivityId, ApiKeyId, BidOutcome, CampaignId, LeadId, OrganizationId, Timestamp};

words! {
    /// The subject of an entry.
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

    /// The outcome of an entry. Requests are accepted or refused, deliveries delivered or failed; submissions have a
    /// status of decision B1.
    pub enum ActivityOutcome {
        /// The request was accepted.
        Accepted,
        /// The request was refused.
        Refused,
        /// The event was delivered.
        Delivered,
        /// The lead was reopened.
        New,
        /// The marketplace took the proposal.
        Submitted,
        /// The configuration said not to bid.
        Skipped,
        /// The delivery or the bid failed.
        Failed,
    }
}

impl From<&BidOutcome> for ActivityOutcome {
    fn from(outcome: &BidOutcome) -> Self {
        match outcome {
            BidOutcome::Submitted { .. } => Self::Submitted,
            BidOutcome::NotSubmitted { reason, .. } if reason.code.is_skip() => Self::Skipped,
            BidOutcome::NotSubmitted { .. } => Self::Failed,
        }
    }
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Actor {
    /// The kind of actor.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The id of the key or user; `None` for the service and for commands.
    pub id: Option<String>,
    /// The name of the key or user, or the command's words; `None` for the service.
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

    /// A command of the program; `words` is such as `leads reopen`.
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

words! {
    /// The kinds of actors.
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
}

/// One entry of the record. Its JSON is a line of `bidloop activity` (contract section 1).
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Activity {
    /// Unique in the installation.
    pub id: ActivityId,
    /// When it happened.
    pub at: Timestamp,
    /// The organization whose record this is.
    pub organization_id: OrganizationId,
    /// The campaign concerned, if any.
    pub campaign_id: Option<CampaignId>,
    /// The lead concerned, if any.
    pub lead_id: Option<LeadId>,
    /// The entry's subject.
    pub kind: ActivityKind,
    /// Who acted.
    pub actor: Actor,
    /// How it ended.
    pub outcome: ActivityOutcome,
    /// The status of the answer; `None` unless the entry is a request over HTTP.
    pub http_status: Option<u16>,
    /// Whether the bid was a dry run, or the delivery reports one.
    pub dry_run: bool,
    /// One sentence for people.
    pub message: String,
    /// Facts for programs; the members depend on the kind.
    pub details: Map<String, Value>,
}

impl Activity {
    /// An entry about a lead, with the outcome [`Accepted`](ActivityOutcome::Accepted) and no more facts.
    pub(crate) fn on_lead(
        id: ActivityId,
        at: Timestamp,
        (organization, campaign, lead): (&OrganizationId, &CampaignId, &LeadId),
        kind: ActivityKind,
        actor: Actor,
    ) -> Self {
        Self {
            id,
            at,
            organization_id: organization.clone(),
            campaign_id: Some(campaign.clone()),
            lead_id: Some(lead.clone()),
            kind,
            actor,
            outcome: ActivityOutcome::Accepted,
            http_status: None,
            dry_run: false,
            message: String::new(),
            details: Map::new(),
        }
    }
}

/// An entry's details from a JSON object.
pub(crate) fn details(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}

/// Selects entries to list, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ActivityQuery {
    /// Only this organization's entries.
    pub organization_id: Option<OrganizationId>,
    /// Only this campaign's entries.
    pub campaign_id: Option<CampaignId>,
    /// Only this lead's entries.
    pub lead_id: Option<LeadId>,
    /// The largest number of entries to return.
    pub limit: u32,
}
