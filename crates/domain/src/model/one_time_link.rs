//! Links that work once: an invitation, or a password reset (decision E2).

use std::time::Duration;

use super::digest::digests;
use super::words::words;
use super::{EmailKey, LinkId, MemberRole, OrganizationId, Person, Secret, Timestamp};

/// How long a link works.
pub const LINK_LIFETIME: Duration = Duration::from_secs(72 * 60 * 60);

words! {
    /// What a link is for.
    pub enum LinkKind {
        /// Joining an organization.
        Invitation,
        /// Setting another password.
        Reset,
    }
}

/// The secret part of a link: 64 lower-case hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkToken(Secret<String>);

digests! {
    /// The digest under which a link is stored and looked up.
    pub struct LinkHash;
}

impl LinkToken {
    /// The token made of 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Secret::new(hex::encode(bytes)))
    }

    /// Checks the form.
    ///
    /// ```
    /// use bidloop_domain::model::LinkToken;
    ///
    /// assert!(LinkToken::parse(&"0a".repeat(32)).is_some());
    /// assert!(LinkToken::parse("0a").is_none());
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        (text.len() == 64 && text.bytes().all(is_digit)).then(|| Self(Secret::new(text.to_owned())))
    }

    /// The token in the clear, to show it once to its maker.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The digest under which the link is stored.
    pub fn hash(&self) -> LinkHash {
        LinkHash::of(self.expose())
    }
}

/// A link that was made and not used yet. The token itself is not stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneTimeLink {
    /// Unique within the organization.
    pub id: LinkId,
    /// The organization that it leads into, or whose owner made it.
    pub organization_id: OrganizationId,
    /// What it is for.
    pub kind: LinkKind,
    /// Who is to use it. The name is what the owner typed.
    pub person: Person,
    /// The role in the organization; of a reset, the role that the person had.
    pub role: MemberRole,
    /// The owner who made it. The link works as long as that owner could make it.
    pub made_by: EmailKey,
    /// When it was made.
    pub created_at: Timestamp,
    /// From when on it does not work.
    pub expires_at: Timestamp,
}
