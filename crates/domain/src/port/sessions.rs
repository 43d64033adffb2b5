//! Sessions of signed-in people.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{
    EmailKey, Member, Membership, OrganizationId, Secret, SessionHash, SessionTimes, Timestamp,
};

/// The most sessions that a person has. One more ends the one that was not used for the longest.
pub const SESSIONS_OF_A_PERSON: u32 = 50;

/// A session to be opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// The digest of its token.
    pub hash: SessionHash,
    /// The person.
    pub person: EmailKey,
    /// When the person signed in.
    pub at: Timestamp,
}

/// A session with what it shows.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundSession {
    /// The person in the organization that is shown.
    pub member: Member,
    /// All of the person's organizations, by name.
    pub memberships: Vec<Membership>,
    /// Whether it lives is for the caller to say.
    pub times: SessionTimes,
}

/// Sessions (decision E2). A session shows one organization of its person; without that membership there is no session.
#[async_trait]
pub trait SessionStore: Send + Sync + std::fmt::Debug {
    /// Opens a session if `verified` is still the hash of the person's password. It shows the organization that the person
    /// saw last. Returns false if the person has another password or no organization.
    async fn open_session(&self, new: &NewSession, verified: &Secret<String>) -> Result<bool, StoreError>;

    /// The session with this digest.
    async fn session(&self, hash: &SessionHash) -> Result<Option<FoundSession>, StoreError>;

    /// Records a use of the session and that its person was seen in the organization. Never moves a time back.
    async fn record_session_use(&self, hash: &SessionHash, at: Timestamp) -> Result<(), StoreError>;

    /// Shows another of the person's organizations. Returns false, and changes nothing, if it is none or the session has
    /// ended.
    async fn show_organization(
        &self,
        hash: &SessionHash,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Result<bool, StoreError>;

    /// Ends the session. When this returns, nothing is accepted on it any more.
    async fn end_session(&self, hash: &SessionHash) -> Result<(), StoreError>;
}
