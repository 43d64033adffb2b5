//! People and their memberships in memory.

use std::collections::BTreeMap;

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, EmailKey, LinkHash, LinkKind, Member, MemberRole, Membership, OneTimeLink, OrganizationId,
    Person, PersonalTokenHash, PersonalTokenId, Timestamp,
};
use bidloop_domain::port::{
    FoundPersonalToken, OrganizationMember, OrganizationPeople, PeopleChange, PeopleStore, PersonEverywhere,
    Revision, StoreError, StoredPerson, UserRecord,
};

use super::{MemoryStore, State};

/// Everybody, and who is where.
#[derive(Debug, Clone, Default)]
pub(super) struct People {
    pub(super) people: BTreeMap<EmailKey, StoredPerson>,
    pub(super) memberships: BTreeMap<(OrganizationId, EmailKey), MembershipEntry>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct MembershipEntry {
    pub(super) role: MemberRole,
    pub(super) last_seen_at: Option<Timestamp>,
}

#[async_trait]
impl PeopleStore for MemoryStore {
    async fn person(&self, key: &EmailKey) -> Result<Option<StoredPerson>, StoreError> {
        Ok(self.state()?.people.people.get(key).cloned())
    }

    async fn organization_people(
        &self,
        organization: &OrganizationId,
        asked: &[EmailKey],
    ) -> Result<Option<OrganizationPeople>, StoreError> {
        let state = self.state()?;
        let Some(known) = state.organizations.get(organization) else {
            return Ok(None);
        };
        let people = &state.people;
        let links = state.links.iter().filter(|((of, _), _)| of == organization);
        Ok(Some(OrganizationPeople {
            revision: Revision(state.revision),
            organization_id: organization.clone(),
            name: known.record.name.clone(),
            subscription: known.record.subscription.clone(),
            members: people.members_of(organization),
            links: links.map(|(_, (link, _))| link.clone()).collect(),
            asked: asked
                .iter()
                .filter_map(|key| state.everywhere(organization, key))
                .collect(),
        }))
    }

    async fn link(&self, hash: &LinkHash) -> Result<Option<OneTimeLink>, StoreError> {
        let state = self.state()?;
        let link = state.links.values().find(|(_, known)| known == hash);
        Ok(link.map(|(link, _)| link.clone()))
    }

    async fn commit_people(
        &self,
        expected: Revision,
        changes: &[PeopleChange],
        record: &[Activity],
    ) -> Result<bool, StoreError> {
        let mut state = self.state()?;
        if state.revision != expected.0 {
            return Ok(false);
        }
        let mut next = state.clone();
        next.revision += 1;
        for change in changes {
            next.change_people(change)?;
        }
        for entry in record {
            next.record_activity(entry);
        }
        *state = next;
        Ok(true)
    }

    async fn token(&self, hash: &PersonalTokenHash) -> Result<Option<FoundPersonalToken>, StoreError> {
        let state = self.state()?;
        let found = state.tokens.values().find(|(_, known)| known == hash);
        Ok(found.and_then(|(record, _)| {
            Some(FoundPersonalToken {
                record: record.clone(),
                member: state.member(&record.organization_id, &record.user)?,
            })
        }))
    }

    async fn record_token_use(
        &self,
        organization: &OrganizationId,
        token: &PersonalTokenId,
        at: Timestamp,
    ) -> Result<(), StoreError> {
        let mut state = self.state()?;
        if let Some((token, _)) = state.tokens.get_mut(&(organization.clone(), token.clone())) {
            token.last_used_at = token.last_used_at.max(Some(at));
        }
        Ok(())
    }
}

impl People {
    /// The users of an organization.
    pub(super) fn users_of(&self, organization: &OrganizationId) -> Vec<UserRecord> {
        let of_organization = self.memberships.iter().filter(|((of, _), _)| of == organization);
        of_organization
            .filter_map(|((_, key), membership)| {
                let stored = self.people.get(key)?;
                Some(UserRecord {
                    email: stored.person.email.clone(),
                    name: stored.person.name.clone(),
                    password_hash: stored.password_hash.clone(),
                    role: membership.role,
                })
            })
            .collect()
    }

    fn members_of(&self, organization: &OrganizationId) -> Vec<OrganizationMember> {
        let of_organization = self.memberships.iter().filter(|((of, _), _)| of == organization);
        of_organization
            .filter_map(|((_, key), membership)| {
                let stored = self.people.get(key)?;
                Some(OrganizationMember {
                    person: stored.person.clone(),
                    role: membership.role,
                    has_password: stored.password_hash.is_some(),
                    last_seen_at: membership.last_seen_at,
                })
            })
            .collect()
    }

    /// The organizations of a person.
    pub(super) fn organizations_of(&self, person: &EmailKey) -> Vec<OrganizationId> {
        let of_person = self.memberships.keys().filter(|(_, key)| key == person);
        of_person.map(|(organization, _)| organization.clone()).collect()
    }
}

impl State {
    fn everywhere(&self, organization: &OrganizationId, person: &EmailKey) -> Option<PersonEverywhere> {
        let of_person = self
            .people
            .memberships
            .iter()
            .filter(|((_, key), _)| key == person);
        let tokens = self.tokens.values().map(|(record, _)| record);
        let mut tokens: Vec<_> = tokens
            .filter(|record| record.organization_id == *organization && record.user == *person)
            .cloned()
            .collect();
        tokens.sort_by_key(|record| (record.created_at, record.id.clone()));
        Some(PersonEverywhere {
            stored: self.people.people.get(person)?.clone(),
            memberships: of_person
                .map(|((id, _), entry)| (id.clone(), entry.role))
                .collect(),
            tokens,
        })
    }

    fn change_people(&mut self, change: &PeopleChange) -> Result<(), StoreError> {
        match change {
            PeopleChange::CreatePerson(new) => {
                self.people.people.insert(new.person.key.clone(), new.clone());
            }
            PeopleChange::SetPassword { person, hash, kept } => {
                if let Some(stored) = self.people.people.get_mut(person) {
                    stored.password_hash = Some(hash.clone());
                }
                self.sessions
                    .retain(|hash, session| session.person != *person || kept.as_ref() == Some(hash));
                self.links
                    .retain(|_, (link, _)| link.person.key != *person || link.kind != LinkKind::Reset);
            }
            PeopleChange::PutMembership(organization, person, role) => {
                self.put_membership(organization, person, *role);
            }
            PeopleChange::RemoveMember(organization, person) => self.remove_member(organization, person),
            PeopleChange::PutLink(link, hash) => {
                let place = (link.organization_id.clone(), link.id.clone());
                self.links.insert(place, (link.clone(), hash.clone()));
            }
            PeopleChange::RemoveLink(organization, link) => {
                self.links.remove(&(organization.clone(), link.clone()));
            }
            PeopleChange::PutToken(token, hash) => {
                let place = (token.organization_id.clone(), token.id.clone());
                self.tokens.insert(place, (token.clone(), hash.clone()));
            }
            PeopleChange::RevokeToken(organization, token, at) => {
                if let Some((token, _)) = self.tokens.get_mut(&(organization.clone(), token.clone())) {
                    token.revoked_at.get_or_insert(*at);
                }
            }
            PeopleChange::RemoveToken(organization, token) => {
                self.tokens.remove(&(organization.clone(), token.clone()));
            }
            PeopleChange::OpenSession(new, organization) => {
                if !self.open_session_in(organization, new) {
                    return Err(StoreError::Backend(
                        "a session of somebody who is no member".to_owned(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The person's memberships, by the organizations' names.
    pub(super) fn memberships_of(&self, person: &EmailKey) -> Vec<Membership> {
        let of_person = self
            .people
            .memberships
            .iter()
            .filter(|((_, key), _)| key == person);
        let mut memberships: Vec<Membership> = of_person
            .filter_map(|((id, _), entry)| {
                Some(Membership {
                    organization_id: id.clone(),
                    organization_name: self.organizations.get(id)?.record.name.clone(),
                    role: entry.role,
                })
            })
            .collect();
        memberships.sort_by(|one, other| {
            let key = |membership: &Membership| {
                (
                    membership.organization_name.clone(),
                    membership.organization_id.clone(),
                )
            };
            key(one).cmp(&key(other))
        });
        memberships
    }

    /// The person as a member of the organization.
    pub(super) fn member(&self, organization: &OrganizationId, person: &EmailKey) -> Option<Member> {
        let memberships = self.memberships_of(person);
        Some(Member {
            person: self.people.people.get(person)?.person.clone(),
            organization: memberships
                .into_iter()
                .find(|membership| &membership.organization_id == organization)?,
            subscription: self.organizations.get(organization)?.record.subscription.clone(),
        })
    }

    pub(super) fn put_user(&mut self, organization: &OrganizationId, user: &UserRecord) {
        let key = EmailKey::of(&user.email);
        let stored = StoredPerson {
            person: Person {
                key: key.clone(),
                email: user.email.clone(),
                name: user.name.clone(),
            },
            password_hash: user.password_hash.clone(),
        };
        let before = self.people.people.insert(key.clone(), stored);
        if before.is_some_and(|before| before.password_hash != user.password_hash) {
            self.end_sessions_of(&key, None);
        }
        self.put_membership(organization, &key, user.role);
    }

    /// Makes the person a member, or gives the member this role.
    pub(super) fn put_membership(
        &mut self,
        organization: &OrganizationId,
        person: &EmailKey,
        role: MemberRole,
    ) {
        let place = (organization.clone(), person.clone());
        let before = self.people.memberships.get(&place).copied();
        let last_seen_at = before.and_then(|before| before.last_seen_at);
        let entry = MembershipEntry { role, last_seen_at };
        self.people.memberships.insert(place, entry);
        if before.is_some_and(|before| before.role != role) {
            self.end_sessions_of(person, Some(organization));
        }
    }

    /// Removes a membership with what hangs on it, and the person if it was the last.
    pub(super) fn remove_member(&mut self, organization: &OrganizationId, person: &EmailKey) {
        let place = (organization.clone(), person.clone());
        self.people.memberships.remove(&place);
        self.end_sessions_of(person, Some(organization));
        self.looks
            .retain(|(of, by, _), _| of != organization || by != person);
        self.links
            .retain(|(of, _), (link, _)| of != organization || link.person.key != *person);
        self.tokens
            .retain(|(of, _), (token, _)| of != organization || token.user != *person);
        if self.people.organizations_of(person).is_empty() {
            self.people.people.remove(person);
        }
    }

    /// The role of the token's person, if a request of the organization can be accepted on it at `at`.
    pub(super) fn role_of_token(
        &self,
        id: &PersonalTokenId,
        organization: &OrganizationId,
        at: Timestamp,
    ) -> Option<MemberRole> {
        let (token, _) = self.tokens.get(&(organization.clone(), id.clone()))?;
        if !token.works_at(at) {
            return None;
        }
        let place = (organization.clone(), token.user.clone());
        let membership = self.people.memberships.get(&place)?;
        Some(membership.role)
    }

    /// Removes everybody from a removed organization.
    pub(super) fn remove_members(&mut self, organization: &OrganizationId) {
        let keys: Vec<EmailKey> = self
            .people
            .memberships
            .keys()
            .filter(|(of, _)| of == organization)
            .map(|(_, key)| key.clone())
            .collect();
        for key in keys {
            self.remove_member(organization, &key);
        }
        self.links.retain(|(of, _), _| of != organization);
        self.tokens.retain(|(of, _), _| of != organization);
    }

    /// Ends the person's sessions, all of them or those that show this organization.
    pub(super) fn end_sessions_of(&mut self, person: &EmailKey, organization: Option<&OrganizationId>) {
        self.sessions.retain(|_, session| {
            session.person != *person || organization.is_some_and(|of| session.organization != *of)
        });
    }
}
