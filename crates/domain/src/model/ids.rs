//! Typed ids. Look-ups take the organization and the id, so they never find another organization's entities.
//!
//! Text ids are checked by `parse` and read by `as_str`; clones share the text. Ids that the service makes are UUIDs, or
//! derived from what they identify, so that recording an entity twice records it once.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::digest::hex_digits;

/// A text that is not an id of the requested kind. The message says what such an id is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id is {0}")]
pub struct InvalidId(&'static str);

impl InvalidId {
    /// What an id of the kind is.
    pub const fn rule(self) -> &'static str {
        self.0
    }
}

const NAME_RULE: &str = "1 to 64 characters of A-Z a-z 0-9 _ -";

fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(is_of_names)
}

const fn is_of_names(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

const PROVIDER_ID_RULE: &str = "1 to 255 characters of A-Z a-z 0-9 _ -";

fn is_provider_id(text: &str) -> bool {
    (1..=255).contains(&text.len()) && text.bytes().all(is_of_names)
}

const JOB_ID_RULE: &str = "1 to 256 characters, none of them a control character";

fn is_job_id(text: &str) -> bool {
    let short = text.len() <= 256 || text.chars().count() <= 256;
    short && !text.is_empty() && !text.chars().any(char::is_control)
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident: $is_valid:ident, $rule:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        #[serde(try_from = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            /// Checks the characters and their number.
            ///
            /// # Errors
            /// [`InvalidId`] if `text` is not an id of this kind.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                if $is_valid(text) {
                    Ok(Self(text.into()))
                } else {
                    Err(InvalidId($rule))
                }
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;

            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(&text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0.as_ref().to_owned()
            }
        }

        impl From<$name> for Arc<str> {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(&self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

text_id!(
    /// An organization's id, chosen by the caller; unique in the installation.
    OrganizationId: is_name, NAME_RULE
);
text_id!(
    /// A campaign's id, chosen by the caller; unique within its organization.
    CampaignId: is_name, NAME_RULE
);
text_id!(
    /// A saved filter's id, chosen by the caller; unique within its organization.
    FilterId: is_name, NAME_RULE
);
text_id!(
    /// A webhook endpoint's id, chosen by the caller; unique within its organization.
    EndpointId: is_name, NAME_RULE
);
text_id!(
    /// A bidder account's id, chosen by the caller; unique within its organization.
    AccountId: is_name, NAME_RULE
);
text_id!(
    /// An API key's id, never the key itself; unique within its organization.
    ApiKeyId: is_name, NAME_RULE
);
text_id!(
    /// The id of a one-time link, never its token; unique within the organization.
    LinkId: is_name, NAME_RULE
);
text_id!(
    /// A personal token's id, never the token itself; unique within the organization.
    PersonalTokenId: is_name, NAME_RULE
);
text_id!(
    /// A lead's id, made by the service; unique in the installation.
    LeadId: is_name, NAME_RULE
);
text_id!(
    /// The payment provider's id of a subscription.
    BilledSubscriptionId: is_provider_id, PROVIDER_ID_RULE
);
text_id!(
    /// The payment provider's id of a customer.
    CustomerId: is_provider_id, PROVIDER_ID_RULE
);
text_id!(
    /// The payment provider's id of an invoice.
    InvoiceId: is_provider_id, PROVIDER_ID_RULE
);
text_id!(
    /// The marketplace's id of a job: 1 to 256 characters, none of them a control character.
    ///
    /// ```
    /// use bidloop_domain::model::JobId;
    ///
    /// let id = JobId::parse("1770220326750362358")?;
    /// assert_eq!(id.as_str(), "1770220326750362358");
    /// assert!(JobId::parse("").is_err());
    /// # Ok::<(), bidloop_domain::model::InvalidId>(())
    /// ```
    JobId: is_job_id, JOB_ID_RULE
);

impl ApiKeyId {
    /// An id from six random bytes, for a key whose creator names none.
    pub fn random(bytes: [u8; 6]) -> Self {
        Self(format!("key_{}", hex::encode(bytes)).into())
    }
}

impl LinkId {
    /// An id from six random bytes.
    pub fn random(bytes: [u8; 6]) -> Self {
        Self(format!("link_{}", hex::encode(bytes)).into())
    }
}

impl PersonalTokenId {
    /// An id from six random bytes.
    pub fn random(bytes: [u8; 6]) -> Self {
        Self(format!("token_{}", hex::encode(bytes)).into())
    }
}

impl OrganizationId {
    /// The id that suits an organization of this name, as the `number`th attempt, from 1: another one if the first is in
    /// use.
    ///
    /// ```
    /// use bidloop_domain::model::OrganizationId;
    ///
    /// assert_eq!(OrganizationId::of_name("Acme & Söhne GmbH", 1).as_str(), "acme-s-hne-gmbh");
    /// assert_eq!(OrganizationId::of_name("Acme", 2).as_str(), "acme-2");
    /// assert_eq!(OrganizationId::of_name("株式会社", 1).as_str(), "organization");
    /// ```
    pub fn of_name(name: &str, number: u32) -> Self {
        let mut id = String::new();
        for c in name.chars() {
            if c.is_ascii_alphanumeric() {
                id.push(c.to_ascii_lowercase());
            } else if !id.is_empty() && !id.ends_with('-') {
                id.push('-');
            }
        }
        id.truncate(48);
        let id = id.trim_end_matches('-');
        let id = if id.is_empty() { "organization" } else { id };
        Self(if number > 1 {
            format!("{id}-{number}").into()
        } else {
            id.into()
        })
    }
}

impl LeadId {
    /// The id of the lead that `job` is in `campaign`. The same job always gives the same lead of a campaign.
    ///
    /// ```
    /// use bidloop_domain::model::{CampaignId, JobId, LeadId, OrganizationId};
    ///
    /// let organization = OrganizationId::parse("org_acme")?;
    /// let campaign = CampaignId::parse("camp_ext")?;
    /// let job = JobId::parse("177022")?;
    /// let lead = LeadId::derive(&organization, &campaign, &job);
    /// assert!(lead.as_str().starts_with("ld_"));
    /// assert_eq!(lead, LeadId::derive(&organization, &campaign, &job));
    /// # Ok::<(), bidloop_domain::model::InvalidId>(())
    /// ```
    pub fn derive(organization: &OrganizationId, campaign: &CampaignId, job: &JobId) -> Self {
        let mut hash = Sha256::new();
        for part in [&organization.0, &campaign.0, &job.0] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        Self(hex_digits("ld_", &hash.finalize()[..16]))
    }
}

macro_rules! uuid_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(pub Uuid);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

uuid_id!(
    /// A bid's id, and its idempotency key at the marketplace. The next bid on a reopened lead has a new one
    /// (decision B1).
    BidId
);
uuid_id!(
    /// The id of a delivery, which is one event to one endpoint (decision C2).
    DeliveryId
);
uuid_id!(
    /// The id of an event, which is delivered to all subscribed endpoints: a new lead, the end of a bid, a dry run.
    EventId
);
uuid_id!(
    /// The id of an entry of the Activity record.
    ActivityId
);
uuid_id!(
    /// The id of an uploaded attachment.
    AttachmentId
);

/// The name space of the ids derived below. It must never change.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1c_9e0a_5d0b_4c57_9a68_1f2f_b1d7_0c3e);

fn derived(name_space: &Uuid, name: &str) -> Uuid {
    Uuid::new_v5(name_space, name.as_bytes())
}

impl EventId {
    /// The `job.new` event of a lead. A lead has one, however often its job is seen.
    pub fn job_new(lead: &LeadId) -> Self {
        Self(derived(&NAMESPACE, &format!("job.new\0{lead}")))
    }

    /// The `bid_complete` event of a bid. A bid has one, whichever process records its end.
    pub fn bid_complete(bid: BidId) -> Self {
        Self(derived(&NAMESPACE, &format!("bid_complete\0{bid}")))
    }
}

impl DeliveryId {
    /// The delivery of `event` to `endpoint`: recording it twice records it once.
    pub fn derive(event: EventId, organization: &OrganizationId, endpoint: &EndpointId) -> Self {
        Self(derived(&event.0, &format!("{organization}\0{endpoint}")))
    }
}

impl ActivityId {
    /// The Activity entry of a delivery's end.
    pub fn of_delivery(delivery: DeliveryId) -> Self {
        Self(derived(&NAMESPACE, &format!("delivery\0{delivery}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_1_to_64_characters_of_a_closed_set() {
        assert!(CampaignId::parse("A-z_09").is_ok());
        assert!(CampaignId::parse(&"x".repeat(64)).is_ok());
        for refused in ["", "a b", "é", "a/b", "a\0", &"x".repeat(65)] {
            assert!(CampaignId::parse(refused).is_err(), "{refused:?}");
        }
        let stored = serde_json::from_str::<CampaignId>("\"a b\"");
        assert!(stored.unwrap_err().to_string().contains("1 to 64 characters"));
    }

    #[test]
    fn job_ids_are_neither_empty_nor_long_nor_hold_control_characters() {
        assert!(JobId::parse(&"é".repeat(256)).is_ok());
        for refused in ["", "a\0b", &"x".repeat(257), &"é".repeat(257)] {
            assert!(JobId::parse(refused).is_err(), "{refused:?}");
        }
    }
}
