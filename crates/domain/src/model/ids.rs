//! Newtypes for ids. A look-up takes the organization beside the id, so what belongs to another organization
//! does not exist.

use std::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::JobId;

/// Why a text is no id of the caller's choosing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an id is 1 to 64 characters of A-Z a-z 0-9 _ -")]
pub struct InvalidId;

macro_rules! caller_id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        ///
        /// Chosen by the caller: 1 to 64 characters of `A-Z a-z 0-9 _ -`.
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks length and characters.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                let allowed = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
                if (1..=64).contains(&text.len()) && text.bytes().all(allowed) {
                    Ok(Self(text.to_owned()))
                } else {
                    Err(InvalidId)
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
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

caller_id!(
    /// An organization; unique in the installation.
    OrganizationId
);
caller_id!(
    /// A campaign; unique within its organization.
    CampaignId
);
caller_id!(
    /// A saved filter; unique within its organization.
    FilterId
);
caller_id!(
    /// A webhook endpoint; unique within its organization.
    EndpointId
);
caller_id!(
    /// A bidder account; unique within its organization.
    AccountId
);
caller_id!(
    /// An API key's id (never the key itself); unique within its organization.
    ApiKeyId
);

impl ApiKeyId {
    /// The id made of six random bytes, for a key whose creator chose none.
    pub fn random(bytes: [u8; 6]) -> Self {
        Self(format!("key_{}", hex::encode(bytes)))
    }
}

/// A lead; made by the service, unique everywhere, and the same whenever the same job becomes a lead of the same
/// campaign: so creating a lead twice creates it once.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LeadId(String);

impl LeadId {
    /// The id of the lead that `job` is in `campaign`.
    ///
    /// ```
    /// use bidloop_domain::model::{CampaignId, JobId, LeadId, OrganizationId};
    ///
    /// let organization = OrganizationId::parse("org_acme")?;
    /// let campaign = CampaignId::parse("camp_ext")?;
    /// let job = JobId::new("177022")?;
    /// let lead = LeadId::derive(&organization, &campaign, &job);
    /// assert!(lead.as_str().starts_with("ld_"));
    /// assert_eq!(lead, LeadId::derive(&organization, &campaign, &job));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn derive(organization: &OrganizationId, campaign: &CampaignId, job: &JobId) -> Self {
        let mut hash = Sha256::new();
        for part in [organization.as_str(), campaign.as_str(), job.as_ref()] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        Self(format!("ld_{}", hex::encode(&hash.finalize()[..16])))
    }

    /// A lead id as a caller gave it; one that the service never made finds no lead.
    pub fn from_caller(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for LeadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
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
    /// A bid. Its text is the idempotency key under which the marketplace gets the proposal; the next bid on a
    /// reopened lead is a new one (decision B1).
    BidId
);
uuid_id!(
    /// A delivery: one event to one endpoint (decision C2).
    DeliveryId
);
uuid_id!(
    /// An occurrence that is delivered to every endpoint concerned: a lead that became due, the end of a bid,
    /// a dry run.
    EventId
);
uuid_id!(
    /// An entry of the Activity record.
    ActivityId
);
uuid_id!(
    /// An uploaded attachment.
    AttachmentId
);

/// The name space of the ids derived below; random, fixed for ever.
const NAMESPACE: Uuid = Uuid::from_u128(0x6f1c_9e0a_5d0b_4c57_9a68_1f2f_b1d7_0c3e);

impl EventId {
    /// The `job.new` event of a lead: there is one, however often its job is seen.
    pub fn job_new(lead: &LeadId) -> Self {
        Self(Uuid::new_v5(&NAMESPACE, format!("job.new\0{lead}").as_bytes()))
    }

    /// The `bid_complete` event of a bid: there is one, whoever records its end.
    pub fn bid_complete(bid: BidId) -> Self {
        Self(Uuid::new_v5(
            &NAMESPACE,
            format!("bid_complete\0{bid}").as_bytes(),
        ))
    }
}

impl DeliveryId {
    /// The delivery of `event` to `endpoint`: recording it twice records it once.
    pub fn derive(event: EventId, organization: &OrganizationId, endpoint: &EndpointId) -> Self {
        Self(Uuid::new_v5(
            &event.0,
            format!("{organization}\0{endpoint}").as_bytes(),
        ))
    }
}

impl ActivityId {
    /// The Activity entry of a delivery's end.
    pub fn of_delivery(delivery: DeliveryId) -> Self {
        Self(Uuid::new_v5(
            &NAMESPACE,
            format!("delivery\0{delivery}").as_bytes(),
        ))
    }
}
