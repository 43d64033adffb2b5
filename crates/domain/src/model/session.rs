//! Sessions of the console: 32 random bytes in a cookie, stored as their SHA-256 (decision E2).

use std::time::Duration;

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use super::digest::digests;
use super::{OrganizationId, Secret, Timestamp};

/// How long a session lives without use.
pub const SESSION_IDLE: Duration = Duration::from_secs(12 * 60 * 60);

/// How long a session lives in all.
pub const SESSION_LIFETIME: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// How exactly the last use of a session is known: it is written at most once in this time.
pub const SESSION_USE_WRITTEN: Duration = Duration::from_secs(60);

/// What the token of requests is derived with. Changing it ends no session, but open pages must be loaded again.
const CSRF_CONTEXT: &[u8] = b"bidloop: the token of a session's requests";

/// A text that is not a session's token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a session's token is 64 lower-case hexadecimal digits")]
pub struct InvalidSessionToken;

/// What the browser of a signed-in person presents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionToken(Secret<String>);

digests! {
    /// The digest under which a session is stored and looked up.
    pub struct SessionHash;
}

impl SessionToken {
    /// The token made of 32 random bytes.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Self(Secret::new(hex::encode(bytes)))
    }

    /// Checks the form.
    ///
    /// ```
    /// use bidloop_domain::model::SessionToken;
    ///
    /// let token = SessionToken::parse(&"0a".repeat(32))?;
    /// assert_eq!(format!("{token:?}"), "SessionToken(Secret(…))");
    /// assert!(SessionToken::parse("0A").is_err());
    /// # Ok::<(), bidloop_domain::model::InvalidSessionToken>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, InvalidSessionToken> {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        if text.len() == 64 && text.bytes().all(is_digit) {
            Ok(Self(Secret::new(text.to_owned())))
        } else {
            Err(InvalidSessionToken)
        }
    }

    /// The token in the clear, for the cookie.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// The digest under which the session is stored.
    pub fn hash(&self) -> SessionHash {
        SessionHash::of(self.expose())
    }

    /// The token that the session's requests carry while it shows this organization (decision E5). A page that was
    /// loaded before the person switched to another one changes nothing there.
    pub fn csrf(&self, organization: &OrganizationId) -> CsrfToken {
        let context = [CSRF_CONTEXT, organization.as_str().as_bytes()].concat();
        let mac = mac_of(self.expose(), &context).finalize().into_bytes();
        CsrfToken(Secret::new(hex::encode(mac)))
    }
}

/// The token that a session's changing requests carry in their body or a header (decision E5). It is derived from the
/// session's token, so nothing is stored, and it does not tell that token.
///
/// ```
/// use bidloop_domain::model::{OrganizationId, SessionToken};
///
/// let (acme, beta) = (OrganizationId::parse("acme").unwrap(), OrganizationId::parse("beta").unwrap());
/// let csrf = SessionToken::from_random([7; 32]).csrf(&acme);
/// let shown = csrf.expose().to_owned();
/// assert!(csrf.matches(&shown));
/// assert!(!csrf.matches(SessionToken::from_random([7; 32]).csrf(&beta).expose()));
/// assert!(!csrf.matches(SessionToken::from_random([8; 32]).csrf(&acme).expose()));
/// ```
#[derive(Debug, Clone)]
pub struct CsrfToken(Secret<String>);

impl CsrfToken {
    /// The token in the clear, for pages of the session.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }

    /// Whether a request presents this token. The time that this takes tells nothing about the token.
    pub fn matches(&self, presented: &str) -> bool {
        let expected = mac_of(self.expose(), self.expose().as_bytes());
        let given = mac_of(self.expose(), presented.as_bytes())
            .finalize()
            .into_bytes();
        expected.verify(&given).is_ok()
    }
}

fn mac_of(key: &str, message: &[u8]) -> Hmac<Sha256> {
    // A key of any length is accepted; this one is never longer than a block.
    let mut block = [0; 64];
    let length = key.len().min(block.len());
    block[..length].copy_from_slice(&key.as_bytes()[..length]);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(message);
    mac
}

/// When a session began and was last used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTimes {
    /// When the person signed in.
    pub created_at: Timestamp,
    /// The last use, to within [`SESSION_USE_WRITTEN`].
    pub last_used_at: Timestamp,
}

impl SessionTimes {
    /// Whether the session lives at `now`.
    ///
    /// ```
    /// use bidloop_domain::model::{SESSION_IDLE, SESSION_LIFETIME, SessionTimes, Timestamp};
    ///
    /// let begin = Timestamp::from_seconds(1_790_000_000);
    /// let unused = SessionTimes { created_at: begin, last_used_at: begin };
    /// assert!(!unused.is_live_at(begin.plus(SESSION_IDLE)));
    /// let used = SessionTimes { created_at: begin, last_used_at: begin.plus(SESSION_LIFETIME) };
    /// assert!(!used.is_live_at(begin.plus(SESSION_LIFETIME)));
    /// ```
    pub fn is_live_at(self, now: Timestamp) -> bool {
        now < self.last_used_at.plus(SESSION_IDLE) && now < self.created_at.plus(SESSION_LIFETIME)
    }

    /// Whether a use at `now` is to be written.
    pub fn is_use_due_at(self, now: Timestamp) -> bool {
        now >= self.last_used_at.plus(SESSION_USE_WRITTEN)
    }
}
