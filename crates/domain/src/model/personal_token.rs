//! Personal tokens, with which a person's tools act for the person: `lt_` and 64 hexadecimal characters (decision E7).

use std::time::Duration;

use serde::Serialize;

use super::digest::digests;
use super::words::words;
use super::{EmailKey, OrganizationId, PersonalTokenId, Secret, Timestamp};

words! {
    /// What a token may be used for. Each scope includes those before it.
    pub enum TokenScope {
        /// Reading.
        Read,
        /// Bidding and rejecting, too.
        Bid,
        /// Managing API keys, too. Only owners have such tokens.
        Manage,
    }
}

/// A text that is not a personal token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a personal token is `lt_` followed by 64 hexadecimal characters")]
pub struct InvalidPersonalToken;

/// A personal token as a tool presents it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonalToken(Secret<String>);

digests! {
    /// The digest under which a token is stored and looked up.
    pub struct PersonalTokenHash;
}

impl PersonalToken {
    /// The token made of 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Secret::new(format!("lt_{}", hex::encode(bytes))))
    }

    /// Checks the form.
    ///
    /// ```
    /// use bidloop_domain::model::PersonalToken;
    ///
    /// let token = PersonalToken::parse(&format!("lt_{}", "0a".repeat(32)))?;
    /// assert_eq!(format!("{token:?}"), "PersonalToken(Secret(…))");
    /// assert!(PersonalToken::parse(&format!("lk_{}", "0a".repeat(32))).is_err());
    /// # Ok::<(), bidloop_domain::model::InvalidPersonalToken>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidPersonalToken> {
        let digits = text.strip_prefix("lt_").ok_or(InvalidPersonalToken)?;
        if digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
            Ok(Self(Secret::new(text.to_owned())))
        } else {
            Err(InvalidPersonalToken)
        }
    }

    /// The token in the clear, to show it once.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The digest under which the token is stored.
    pub fn hash(&self) -> PersonalTokenHash {
        PersonalTokenHash::of(self.expose())
    }
}

/// How exactly the last use of a token is known: it is written at most once in this time.
pub const TOKEN_USE_WRITTEN: Duration = Duration::from_secs(60);

/// A token's record; the token itself is not stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PersonalTokenRecord {
    /// Unique within the organization.
    pub id: PersonalTokenId,
    /// The organization that it is bound to.
    #[serde(skip)]
    pub organization_id: OrganizationId,
    /// The person whose tools use it.
    pub user: EmailKey,
    /// What the person calls it.
    pub name: String,
    /// What it may be used for.
    pub scope: TokenScope,
    /// When it was created.
    pub created_at: Timestamp,
    /// The last use, to within a minute; `None` before the first.
    pub last_used_at: Option<Timestamp>,
    /// From when on it is refused; `None` if it does not expire.
    pub expires_at: Option<Timestamp>,
    /// When it was revoked, if it was.
    pub revoked_at: Option<Timestamp>,
}

impl PersonalTokenRecord {
    /// Whether the token is accepted at `now`, if its person's membership is as it must be.
    pub fn works_at(&self, now: Timestamp) -> bool {
        self.revoked_at.is_none() && self.expires_at.is_none_or(|expiry| now < expiry)
    }

    /// Whether a use at `now` is to be written.
    pub fn is_use_due_at(&self, now: Timestamp) -> bool {
        self.last_used_at
            .is_none_or(|used| now >= used.plus(TOKEN_USE_WRITTEN))
    }
}
