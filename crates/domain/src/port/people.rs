//! People, their memberships, the links by which they join, and their tokens.

use async_trait::async_trait;

use super::{NewSession, Revision, StoreError};
use crate::model::{
    Activity, EmailKey, LinkHash, LinkId, Member, MemberRole, OneTimeLink, OrganizationId, Person,
    PersonalTokenHash, PersonalTokenId, PersonalTokenRecord, Secret, SessionHash, Subscription, Timestamp,
};

/// A person with what a password is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPerson {
    /// The person.
    pub person: Person,
    /// A PHC string. A person without one cannot sign in.
    pub password_hash: Option<Secret<String>>,
}

/// A member of an organization, as its owners see the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationMember {
    /// The person.
    pub person: Person,
    /// What the person may do here.
    pub role: MemberRole,
    /// Whether the person can sign in.
    pub has_password: bool,
    /// When the person was last seen in this organization.
    pub last_seen_at: Option<Timestamp>,
}

/// A person with all memberships.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonEverywhere {
    /// The person.
    pub stored: StoredPerson,
    /// The role in each organization.
    pub memberships: Vec<(OrganizationId, MemberRole)>,
    /// The tokens in the organization that was asked for, in any state, oldest first.
    pub tokens: Vec<PersonalTokenRecord>,
}

/// A token with whose it is.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundPersonalToken {
    /// The token, in any state.
    pub record: PersonalTokenRecord,
    /// The person in the token's organization, as of now.
    pub member: Member,
}

/// What changes of people are decided on, as of one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationPeople {
    /// The revision that a commit expects.
    pub revision: Revision,
    /// The organization.
    pub organization_id: OrganizationId,
    /// Its name.
    pub name: String,
    /// Its subscription.
    pub subscription: Subscription,
    /// Its members, by address.
    pub members: Vec<OrganizationMember>,
    /// The links that were made in it and not used, expired ones too, by id.
    pub links: Vec<OneTimeLink>,
    /// Those of the asked people whom the installation has.
    pub asked: Vec<PersonEverywhere>,
}

impl OrganizationPeople {
    /// The member with this address.
    pub fn member(&self, key: &EmailKey) -> Option<&OrganizationMember> {
        self.members.iter().find(|member| member.person.key == *key)
    }

    /// Whether the person is an owner.
    pub fn is_owner(&self, key: &EmailKey) -> bool {
        self.member(key)
            .is_some_and(|member| member.role == MemberRole::Owner)
    }

    /// The person that was asked for, with this address.
    pub fn asked(&self, key: &EmailKey) -> Option<&PersonEverywhere> {
        self.asked.iter().find(|asked| asked.stored.person.key == *key)
    }
}

/// One change of people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeopleChange {
    /// Stores a person who is new in the installation.
    CreatePerson(StoredPerson),
    /// Sets a person's password. It ends the person's sessions, except one, and removes the resets made for the person.
    SetPassword {
        /// The person.
        person: EmailKey,
        /// The PHC string.
        hash: Secret<String>,
        /// The session that goes on.
        kept: Option<SessionHash>,
    },
    /// Makes a person a member, or gives a member this role. Another role ends the sessions that show the organization.
    PutMembership(OrganizationId, EmailKey, MemberRole),
    /// Removes a member with sessions, tokens and links there, and the person with the last membership.
    RemoveMember(OrganizationId, EmailKey),
    /// Stores a link by its digest.
    PutLink(OneTimeLink, LinkHash),
    /// Removes a link: it was used or withdrawn.
    RemoveLink(OrganizationId, LinkId),
    /// Stores a token by its digest.
    PutToken(PersonalTokenRecord, PersonalTokenHash),
    /// Marks a token as revoked.
    RevokeToken(OrganizationId, PersonalTokenId, Timestamp),
    /// Forgets a token.
    RemoveToken(OrganizationId, PersonalTokenId),
    /// Opens a session that shows this organization, of which the person is a member.
    OpenSession(NewSession, OrganizationId),
}

/// Finds and changes people (decision E1). Whatever changes a person or a membership raises the store's revision, so that
/// what was decided on an earlier one is decided anew.
#[async_trait]
pub trait PeopleStore: Send + Sync + std::fmt::Debug {
    /// The person with this address.
    async fn person(&self, key: &EmailKey) -> Result<Option<StoredPerson>, StoreError>;

    /// The organization's people and links, and `asked` people wherever they are; `None` if there is no such
    /// organization.
    async fn organization_people(
        &self,
        organization: &OrganizationId,
        asked: &[EmailKey],
    ) -> Result<Option<OrganizationPeople>, StoreError>;

    /// The link with this digest, whether or not it still works.
    async fn link(&self, hash: &LinkHash) -> Result<Option<OneTimeLink>, StoreError>;

    /// Carries out the changes in their order and records them, in one transaction. Returns false, and changes nothing,
    /// if the revision is not `expected` any more.
    async fn commit_people(
        &self,
        expected: Revision,
        changes: &[PeopleChange],
        record: &[Activity],
    ) -> Result<bool, StoreError>;

    /// The token with this digest and its member; `None` if the person is no member of the token's organization.
    async fn token(&self, hash: &PersonalTokenHash) -> Result<Option<FoundPersonalToken>, StoreError>;

    /// Records a use of a token. Never moves the time back; skips an unknown token.
    async fn record_token_use(
        &self,
        organization: &OrganizationId,
        token: &PersonalTokenId,
        at: Timestamp,
    ) -> Result<(), StoreError>;
}
