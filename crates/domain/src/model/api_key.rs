//! API keys: `lk_` and 64 hexadecimal characters; stored as their SHA-256 only (decision D5).

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use super::{ApiKeyId, OrganizationId, Subscription, Timestamp};

/// Why a text is no API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an API key is `lk_` followed by 64 hexadecimal characters")]
pub struct InvalidApiKey;

/// An API key as a caller presents it. Its `Debug` form hides it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Checks the form (specification, Authentication 2).
    ///
    /// ```
    /// use bidloop_domain::model::ApiKey;
    ///
    /// let key = ApiKey::parse(&format!("lk_{}", "0a".repeat(32)))?;
    /// assert_eq!(format!("{key:?}"), "ApiKey(lk_…)");
    /// assert!(ApiKey::parse("lk_short").is_err());
    /// # Ok::<(), bidloop_domain::model::InvalidApiKey>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidApiKey> {
        let digits = text.strip_prefix("lk_").ok_or(InvalidApiKey)?;
        if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidApiKey)
        }
    }

    /// The key made of 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(format!("lk_{}", hex::encode(bytes)))
    }

    /// The key in full, for its one showing.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// What is stored and looked up.
    pub fn hash(&self) -> ApiKeyHash {
        ApiKeyHash(hex::encode(Sha256::digest(self.0.as_bytes())))
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(lk_…)")
    }
}

/// SHA-256 of an API key, 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ApiKeyHash(String);

impl ApiKeyHash {
    /// A digest as the store holds it.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The digest as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is known of a key; never the key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiKeyRecord {
    /// Its id.
    pub id: ApiKeyId,
    /// Its organization.
    #[serde(skip)]
    pub organization_id: OrganizationId,
    /// Shown as the actor in the Activity record.
    pub name: String,
    /// UNIX milliseconds.
    pub created_at: Timestamp,
    /// Last request that the key was accepted for, to within a few seconds.
    pub last_used_at: Option<Timestamp>,
    /// From when on it is refused.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked.
    pub revoked_at: Option<Timestamp>,
}

/// A key found by its digest, with what decides whether it works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundApiKey {
    /// The key.
    pub record: ApiKeyRecord,
    /// Its organization's subscription.
    pub subscription: Subscription,
}

impl FoundApiKey {
    /// Whether the key is accepted at `now` (decisions D5 and D6).
    pub fn works_at(&self, now: Timestamp) -> bool {
        self.record.revoked_at.is_none()
            && self.record.expires_at.is_none_or(|expiry| now < expiry)
            && self.subscription.is_active()
    }
}
