//! API keys: `lk_` and 64 hexadecimal characters; stored as their SHA-256 only (decision D5).

use serde::Serialize;

use super::digest::digests;
use super::{ApiKeyId, OrganizationId, PersonalTokenId, Secret, SessionHash, Subscription, Timestamp};

/// A text that is not an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an API key is `lk_` followed by 64 hexadecimal characters")]
pub struct InvalidApiKey;

/// An API key as a caller presents it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiKey(Secret<String>);

impl ApiKey {
    /// Checks the form (specification, Authentication 2).
    ///
    /// # Errors
    /// [`InvalidApiKey`] if `text` does not have the form.
    ///
    /// ```
    /// use bidloop_domain::model::ApiKey;
    ///
    /// let key = ApiKey::parse(&format!("lk_{}", "0a".repeat(32)))?;
    /// assert_eq!(format!("{key:?}"), "ApiKey(Secret(…))");
    /// assert!(ApiKey::parse("lk_short").is_err());
    /// # Ok::<(), bidloop_domain::model::InvalidApiKey>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidApiKey> {
        let digits = text.strip_prefix("lk_").ok_or(InvalidApiKey)?;
        if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(Secret::new(text.to_owned())))
        } else {
            Err(InvalidApiKey)
        }
    }

    /// The key made of 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Secret::new(format!("lk_{}", hex::encode(bytes))))
    }

    /// The key in the clear, to show it once to its creator.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The digest under which the key is stored and looked up.
    pub fn hash(&self) -> ApiKeyHash {
        ApiKeyHash::of(self.expose())
    }
}

digests! {
    /// SHA-256 of an API key, 64 lower-case hexadecimal digits.
    pub struct ApiKeyHash;
}

/// An API key's record; the key itself is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyRecord {
    /// Unique within the organization.
    pub id: ApiKeyId,
    /// The organization that the key authenticates.
    #[serde(skip)]
    pub organization_id: OrganizationId,
    /// Shown as the actor in the Activity record.
    pub name: String,
    /// When the key was created.
    pub created_at: Timestamp,
    /// The last request that was accepted with the key, to within a few seconds; `None` before the first.
    pub last_used_at: Option<Timestamp>,
    /// The moment from which the key is refused; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// When the key was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl ApiKeyRecord {
    /// Whether the key is neither revoked nor expired at `now` (decision D5).
    pub fn works_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expiry| now < expiry)
    }
}

/// What a request on a lead is accepted on. The transaction that accepts it checks this again, so that a request whose
/// body was on its way is refused once its key or the subscription has ended (decisions D5 and D6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authorization {
    /// An API key of the organization that still works, by its digest.
    ApiKey(ApiKeyHash),
    /// A live session that shows the organization, by its digest, and the person's membership (decision E2).
    Session(SessionHash),
    /// A personal token of the organization that still works, by its id, and the person's membership (decision E7).
    PersonalToken(PersonalTokenId),
    /// The organization's active subscription alone: the service bids for an automatic campaign.
    Subscription,
}

/// Why a request is not accepted on its authorization any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Unauthorized {
    /// The key or the token was revoked, removed or has expired; the session or the membership has ended; or it is another
    /// organization's.
    #[error("the key, the token, the session or the membership has ended")]
    Ended,
    /// Only owners may, and the person is none (decision E1).
    #[error("only an owner of the organization may do this")]
    NotOwner,
    /// The organization's subscription is not active (decisions D6 and E4).
    #[error("the organization's subscription is not active")]
    SubscriptionLapsed,
}

/// A key found by its digest, with everything that decides whether it is accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundApiKey {
    /// The key's record.
    pub record: ApiKeyRecord,
    /// The organization's subscription.
    pub subscription: Subscription,
}

impl FoundApiKey {
    /// Whether the key is accepted at `now` (decisions D5 and D6).
    pub fn works_at(&self, now: Timestamp) -> bool {
        self.record.works_at(now) && self.subscription.is_active()
    }
}
