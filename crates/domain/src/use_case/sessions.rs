//! Sessions: who is signed in, signing out, and showing another organization. Tests: `tests/use_case/sessions.rs`.

use std::sync::Arc;

use super::{ActingMember, Requester};
use crate::model::{Authorization, CsrfToken, Member, Membership, OrganizationId, SessionHash, SessionToken};
use crate::port::{Clock, SessionStore, StoreError};

/// A person who is signed in.
#[derive(Debug, Clone)]
pub struct SignedIn {
    /// The person in the organization that the session shows.
    pub member: Member,
    /// What the session's changing requests must carry.
    pub csrf: CsrfToken,
    /// All of the person's organizations, by name.
    pub memberships: Vec<Membership>,
    /// The session's digest. It names the session and does not open it.
    pub session: SessionHash,
}

impl SignedIn {
    /// What the session's changes are accepted on.
    pub(super) fn authorization(&self) -> Authorization {
        Authorization::Session(self.session.clone())
    }

    /// Who makes the session's requests on leads. They are checked again when they are accepted.
    pub fn requester(&self) -> Requester {
        ActingMember::from(self).requester()
    }
}

/// Finds, switches and ends sessions (decision E2).
#[derive(Debug)]
pub struct Sessions {
    /// Holds the sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl Sessions {
    /// Who presents this token; `None` if it is nobody's, or the session or the membership has ended. The use is written
    /// at most once a minute.
    pub async fn current(&self, presented: &str) -> Result<Option<SignedIn>, StoreError> {
        self.find(presented, true).await
    }

    /// As [`current`](Self::current), for what an open page asks for by itself: the person may be away, so the session is
    /// not used.
    pub async fn current_of_open_page(&self, presented: &str) -> Result<Option<SignedIn>, StoreError> {
        self.find(presented, false).await
    }

    async fn find(&self, presented: &str, is_use: bool) -> Result<Option<SignedIn>, StoreError> {
        let Ok(token) = SessionToken::parse(presented) else {
            return Ok(None);
        };
        let (hash, now) = (token.hash(), self.clock.now());
        let found = self.sessions.session(&hash).await?;
        let Some(found) = found.filter(|found| found.times.is_live_at(now)) else {
            return Ok(None);
        };
        if is_use && found.times.is_use_due_at(now) {
            self.sessions.record_session_use(&hash, now).await?;
        }
        Ok(Some(SignedIn {
            csrf: token.csrf(found.member.organization_id()),
            member: found.member,
            memberships: found.memberships,
            session: hash,
        }))
    }

    /// Ends the session. Once this returns, nothing is accepted on it.
    pub async fn sign_out(&self, signed_in: &SignedIn) -> Result<(), StoreError> {
        self.sessions.end_session(&signed_in.session).await
    }

    /// Shows another of the person's organizations. Returns false if it is none of them, or the session has ended.
    pub async fn switch(
        &self,
        signed_in: &SignedIn,
        organization: &OrganizationId,
    ) -> Result<bool, StoreError> {
        let now = self.clock.now();
        self.sessions
            .show_organization(&signed_in.session, organization, now)
            .await
    }
}
