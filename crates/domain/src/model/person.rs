//! People who sign in to the console (decisions E1 and E2).

use caseless::Caseless;
use serde::Serialize;
use unicode_normalization::UnicodeNormalization;

use super::words::words;
use super::{Actor, OrganizationId, Subscription};

/// An e-mail address as it is compared: after NFC and full case folding (decision E1).
///
/// ```
/// use bidloop_domain::model::EmailKey;
///
/// assert_eq!(EmailKey::of("Ops@Acme.test"), EmailKey::of("ops@ACME.test"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct EmailKey(String);

impl EmailKey {
    /// The key of an address as it was typed.
    pub fn of(email: &str) -> Self {
        Self(email.nfc().default_case_fold().nfc().collect())
    }

    /// A stored key.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// The key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The most bytes of an e-mail address (RFC 5321).
const MAX_EMAIL_BYTES: usize = 254;

/// A text that is not an e-mail address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be an email address such as ops@example.com")]
pub struct InvalidEmail;

/// An e-mail address: two parts around one `@`, without white space, in at most 254 bytes.
///
/// ```
/// use bidloop_domain::model::EmailAddress;
///
/// assert!(EmailAddress::parse("ops@acme.test").is_ok());
/// assert!(EmailAddress::parse("ops@acme@test").is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmailAddress(String);

impl EmailAddress {
    /// Checks the form. Whether the address exists is not known.
    pub fn parse(text: &str) -> Result<Self, InvalidEmail> {
        let has_parts = text
            .rsplit_once('@')
            .is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty() && !local.contains('@'));
        let is_plain = !text.chars().any(|c| c.is_whitespace() || c.is_control());
        if has_parts && is_plain && text.len() <= MAX_EMAIL_BYTES {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidEmail)
        }
    }

    /// The address as it was typed.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What the address is compared by.
    pub fn key(&self) -> EmailKey {
        EmailKey::of(&self.0)
    }
}

words! {
    /// What a person may do in an organization (decision E1).
    #[derive(Default)]
    pub enum MemberRole {
        /// Runs campaigns and reads everything.
        Member,
        /// Also manages keys, organization webhooks, bidder accounts, users, billing and the deletion of campaigns.
        #[default]
        Owner,
    }
}

/// A person: one e-mail address in the installation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// What the address is compared by.
    pub key: EmailKey,
    /// The address as it was given.
    pub email: String,
    /// The name that others see.
    pub name: String,
}

/// One of a person's organizations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Membership {
    /// The organization.
    pub organization_id: OrganizationId,
    /// Its name.
    pub organization_name: String,
    /// What the person may do there.
    pub role: MemberRole,
}

/// A person who is signed in, in the organization that the session shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    /// The person.
    pub person: Person,
    /// The organization that is shown.
    pub organization: Membership,
    /// The organization's subscription (decision E4).
    pub subscription: Subscription,
}

impl Member {
    /// The organization that is shown.
    pub fn organization_id(&self) -> &OrganizationId {
        &self.organization.organization_id
    }

    /// Whether the person may do what only owners may (decision E1).
    pub fn is_owner(&self) -> bool {
        self.organization.role == MemberRole::Owner
    }

    /// The person as the Activity record names it.
    pub fn actor(&self) -> Actor {
        Actor::user(&self.person)
    }
}
