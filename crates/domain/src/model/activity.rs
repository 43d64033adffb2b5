//! The Activity record: who did what, and why the service acted as it did (decision C8).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::words::words;
use super::{ActivityId, ApiKeyId, BidOutcome, CampaignId, LeadId, OrganizationId, Person, Timestamp};

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
        /// A change of settings, keys, users or campaigns, made in the console (decision E5), or of the subscription,
        /// reported by billing.
        Change,
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Actor {
    /// The kind of actor.
    #[serde(rename = "type")]
    pub kind: ActorKind,
    /// The id of the key or user; `None` for the service and for commands.
    pub id: Option<String>,
    /// The name of the key or user, the command's words, or `billing`; `None` for the service otherwise.
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

    /// The service itself, on a report of the payment provider.
    pub fn billing() -> Self {
        Self {
            name: Some("billing".to_owned()),
            ..Self::service()
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

    /// A person in the console.
    pub fn user(person: &Person) -> Self {
        Self {
            kind: ActorKind::User,
            id: Some(person.key.as_str().to_owned()),
            name: Some(person.email.clone()),
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

impl Activity {
    /// A change of settings, keys, users or campaigns by a person (decision E5), or of the subscription by billing: one sentence, and facts without secrets.
    pub fn change(
        id: ActivityId,
        at: Timestamp,
        organization: &OrganizationId,
        actor: Actor,
        message: String,
        facts: Value,
    ) -> Self {
        Self {
            id,
            at,
            organization_id: organization.clone(),
            campaign_id: None,
            lead_id: None,
            kind: ActivityKind::Change,
            actor,
            outcome: ActivityOutcome::Accepted,
            http_status: None,
            dry_run: false,
            message,
            details: details(facts),
        }
    }
}

/// The most bytes of an entry's details as JSON. What the service records takes far less: this bounds what a caller, a
/// receiver or a marketplace can make it keep.
const MAX_DETAILS_BYTES: usize = 48 * 1024;

/// The member of an entry's details that names the members that were too large to keep.
const LEFT_OUT: &str = "leftOut";

/// An entry's details from a JSON object: its members as far as they fit into [`MAX_DETAILS_BYTES`], then the names of
/// those that do not.
pub(crate) fn details(object: Value) -> Map<String, Value> {
    let Value::Object(mut members) = object else {
        return Map::new();
    };
    let mut room = MAX_DETAILS_BYTES;
    let mut left_out = Vec::new();
    members.retain(|name, value| {
        let left = room.checked_sub(name.len() + json_bytes(value));
        match left {
            Some(left) => room = left,
            None => left_out.push(Value::String(name.clone())),
        }
        left.is_some()
    });
    if !left_out.is_empty() {
        members.insert(LEFT_OUT.to_owned(), Value::Array(left_out));
    }
    members
}

/// The length of a value's JSON.
fn json_bytes(value: &Value) -> usize {
    struct Count(usize);

    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    let mut count = Count(0);
    // A value is always written.
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_leave_out_what_is_too_large_and_name_it() {
        let fits = json!({"a": "x".repeat(1_000), "b": [1, 2]});
        assert_eq!(Value::Object(details(fits.clone())), fits);
        let huge = json!({"a": 1, "errors": "x".repeat(MAX_DETAILS_BYTES), "z": 2});
        assert_eq!(
            Value::Object(details(huge)),
            json!({"a": 1, "z": 2, "leftOut": ["errors"]})
        );
        let halves = json!({"a": "x".repeat(30_000), "b": "x".repeat(30_000)});
        assert_eq!(details(halves)["leftOut"], json!(["b"]));
    }
}
