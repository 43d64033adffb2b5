//! [`SessionStore`] in memory.

use async_trait::async_trait;
use bidloop_domain::model::{
    EmailKey, MemberRole, OrganizationId, Secret, SessionHash, SessionTimes, Timestamp,
};
use bidloop_domain::port::{FoundSession, NewSession, SESSIONS_OF_A_PERSON, SessionStore, StoreError};

use super::{MemoryStore, State, length};

#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) organization: OrganizationId,
    pub(super) person: EmailKey,
    pub(super) times: SessionTimes,
}

#[async_trait]
impl SessionStore for MemoryStore {
    async fn open_session(&self, new: &NewSession, verified: &Secret<String>) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let person = state.people.people.get(&new.person);
        if person.is_none_or(|person| person.password_hash.as_ref() != Some(verified)) {
            return Ok(false);
        }
        Ok(state.open_session(new))
    }

    async fn session(&self, hash: &SessionHash) -> Result<Option<FoundSession>, StoreError> {
        let state = self.state()?;
        Ok(state.sessions.get(hash).and_then(|session| {
            Some(FoundSession {
                member: state.member(&session.organization, &session.person)?,
                memberships: state.memberships_of(&session.person),
                times: session.times,
            })
        }))
    }

    async fn record_session_use(&self, hash: &SessionHash, at: Timestamp) -> Result<(), StoreError> {
        let mut state = self.state()?;
        let Some(session) = state.sessions.get_mut(hash) else {
            return Ok(());
        };
        session.times.last_used_at = session.times.last_used_at.max(at);
        let place = (session.organization.clone(), session.person.clone());
        state.see(&place, at);
        Ok(())
    }

    async fn show_organization(
        &self,
        hash: &SessionHash,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        let Some(session) = state.sessions.get(hash) else {
            return Ok(false);
        };
        let place = (organization.clone(), session.person.clone());
        if !session.times.is_live_at(at) || !state.people.memberships.contains_key(&place) {
            return Ok(false);
        }
        state.see(&place, at);
        if let Some(session) = state.sessions.get_mut(hash) {
            session.organization = place.0;
        }
        Ok(true)
    }

    async fn end_session(&self, hash: &SessionHash) -> Result<(), StoreError> {
        self.state()?.sessions.remove(hash);
        Ok(())
    }
}

impl State {
    /// Opens a session in the organization that the person saw last; false if there is none.
    pub(super) fn open_session(&mut self, new: &NewSession) -> bool {
        let memberships = self.memberships_of(&new.person);
        // The first by name of those that were seen at the same time, or never.
        let last_seen = memberships.into_iter().rev().max_by_key(|membership| {
            let place = (membership.organization_id.clone(), new.person.clone());
            self.people
                .memberships
                .get(&place)
                .and_then(|entry| entry.last_seen_at)
        });
        last_seen.is_some_and(|shown| self.open_session_in(&shown.organization_id, new))
    }

    /// Opens a session in one of its person's organizations; false if it is none.
    pub(super) fn open_session_in(&mut self, shown: &OrganizationId, new: &NewSession) -> bool {
        let place = (shown.clone(), new.person.clone());
        if !self.people.memberships.contains_key(&place) {
            return false;
        }
        self.see(&place, new.at);
        let session = Session {
            organization: place.0,
            person: place.1,
            times: SessionTimes {
                created_at: new.at,
                last_used_at: new.at,
            },
        };
        let mut of_person: Vec<_> = self
            .sessions
            .iter()
            .filter(|(_, session)| session.person == new.person)
            .map(|(hash, session)| (session.times.last_used_at, hash.clone()))
            .collect();
        of_person.sort();
        let beyond = (of_person.len() + 1).saturating_sub(length(SESSIONS_OF_A_PERSON));
        for (_, hash) in &of_person[..beyond] {
            self.sessions.remove(hash);
        }
        self.sessions.insert(new.hash.clone(), session);
        true
    }

    /// Notes that the person was seen in the organization.
    fn see(&mut self, place: &(OrganizationId, EmailKey), at: Timestamp) {
        if let Some(entry) = self.people.memberships.get_mut(place) {
            entry.last_seen_at = entry.last_seen_at.max(Some(at));
        }
    }

    /// The role of the session's person, if a request of the organization can be accepted on it at `at`.
    pub(super) fn role_of_session(
        &self,
        hash: &SessionHash,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Option<MemberRole> {
        let session = self.sessions.get(hash)?;
        if session.organization != *organization || !session.times.is_live_at(at) {
            return None;
        }
        let place = (session.organization.clone(), session.person.clone());
        self.people
            .memberships
            .get(&place)
            .map(|membership| membership.role)
    }
}
