//! Use link: somebody opens an invitation or a password reset (decision E2). Tests: `tests/use_case/use_link.rs`.

use serde_json::{Value, json};

use super::first_run::checked_name;
use super::invitations::may_reset;
use super::manage_members::{a_role, is_open, remove_link};
use super::people_commits::{Decided, PeopleCommits, PeopleError, changed};
use super::sign_in::new_session;
use super::throttle::Throttle;
use crate::model::{
    Actor, EmailKey, LinkKind, LinkToken, MemberRole, NetworkOrigin, OneTimeLink, Password, Person, Secret,
    SessionToken, Timestamp,
};
use crate::port::{OrganizationPeople, PeopleChange, StoredPerson};

/// What a link asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkAsks {
    /// A name and a new password: the person is new in the installation.
    NameAndPassword,
    /// The person's present password.
    PresentPassword,
    /// A new password, in place of the present one.
    NewPassword,
}

/// A link that works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenedLink {
    /// What it is for.
    pub kind: LinkKind,
    /// The organization's name.
    pub organization: String,
    /// Whose it is. The name is what the owner typed.
    pub person: Person,
    /// The role in the organization.
    pub role: MemberRole,
    /// From when on it does not work.
    pub expires_at: Timestamp,
    /// What is to be given.
    pub asks: LinkAsks,
}

/// What was given, as it was typed.
#[derive(Debug, Clone)]
pub struct LinkForm<'f> {
    /// The name of a new person; the one that the owner typed if it is left out.
    pub name: &'f str,
    /// The present or the new password.
    pub password: &'f str,
}

/// Joins an organization, or sets another password, with a link that works once.
#[derive(Debug)]
pub struct UseLink {
    /// Finds and changes people.
    pub commits: PeopleCommits,
    /// Counts tries, checks and hashes passwords.
    pub throttle: Throttle,
}

impl UseLink {
    /// What the link is for, and what it asks for. Nothing changes.
    ///
    /// # Errors
    /// [`PeopleError::LinkOver`] if it does not work.
    pub async fn look(&self, token: &str) -> Result<OpenedLink, PeopleError> {
        let link = self.find(token).await?;
        let people = self.people_of(&link).await?;
        let asks = asks(&people, &link, self.commits.clock.now())?;
        Ok(OpenedLink {
            kind: link.kind,
            organization: people.name,
            person: link.person,
            role: link.role,
            expires_at: link.expires_at,
            asks,
        })
    }

    /// Uses the link, this once, and opens a session of its person in the organization. A new password ends the person's
    /// other sessions.
    pub async fn execute(
        &self,
        token: &str,
        form: LinkForm<'_>,
        network: NetworkOrigin,
    ) -> Result<SessionToken, PeopleError> {
        let link = self.find(token).await?;
        let people = self.people_of(&link).await?;
        let asked = asks(&people, &link, self.commits.clock.now())?;
        let key = &link.person.key;
        let verified = people
            .asked(key)
            .and_then(|person| person.stored.password_hash.clone());
        let (name, counted, hash) = match asked {
            LinkAsks::PresentPassword => {
                let counted = self.throttle.begin(Some(key), network).await?;
                let checked = self.throttle.check(counted, form.password, verified.as_ref());
                (String::new(), checked.await?, None)
            }
            LinkAsks::NameAndPassword | LinkAsks::NewPassword => {
                let name = match form.name.trim() {
                    "" => link.person.name.clone(),
                    typed => checked_name(typed).ok_or(PeopleError::Name)?,
                };
                let new = Password::parse(form.password)?;
                let counted = self.throttle.begin(None, network).await?;
                let (counted, hash) = self.throttle.hash(counted, new.expose()).await?;
                (name, counted, Some(hash))
            }
        };
        let (session, new_session) = new_session(&*self.commits.entropy, &*self.commits.clock, key.clone());
        let both = [key.clone(), link.made_by.clone()];
        let used = self.commits.change(&link.organization_id, &both, |people, now| {
            let known = people.asked(key).map(|person| &person.stored);
            // Whatever was checked must hold still.
            if asks(people, &link, now)? != asked
                || known.and_then(|known| known.password_hash.as_ref()) != verified.as_ref()
            {
                return Err(PeopleError::LinkOver);
            }
            let person = known.map_or_else(
                || Person {
                    name: name.clone(),
                    ..link.person.clone()
                },
                |known| known.person.clone(),
            );
            let mut decided = used(people, &link, &person, hash.as_ref());
            decided.changes.push(PeopleChange::OpenSession(
                new_session.clone(),
                link.organization_id.clone(),
            ));
            Ok(decided)
        });
        used.await?;
        self.throttle.succeeded(counted).await?;
        Ok(session)
    }

    async fn find(&self, token: &str) -> Result<OneTimeLink, PeopleError> {
        let token = LinkToken::parse(token).ok_or(PeopleError::LinkOver)?;
        let link = self.commits.people.link(&token.hash()).await?;
        link.ok_or(PeopleError::LinkOver)
    }

    async fn people_of(&self, link: &OneTimeLink) -> Result<OrganizationPeople, PeopleError> {
        let both = [link.person.key.clone(), link.made_by.clone()];
        let people = self.commits.read(&link.organization_id, &both).await;
        people.map_err(|error| match error {
            PeopleError::Unknown => PeopleError::LinkOver,
            other => other,
        })
    }
}

/// What the link asks for, if it works.
fn asks(people: &OrganizationPeople, link: &OneTimeLink, now: Timestamp) -> Result<LinkAsks, PeopleError> {
    let key = &link.person.key;
    if !people.links.contains(link) || !is_open(people, link, now) {
        return Err(PeopleError::LinkOver);
    }
    match link.kind {
        LinkKind::Reset if people.member(key).is_some() && may_reset(people, &link.made_by, key) => {
            Ok(LinkAsks::NewPassword)
        }
        LinkKind::Reset => Err(PeopleError::LinkOver),
        LinkKind::Invitation if people.member(key).is_some() => Err(PeopleError::AlreadyMember),
        LinkKind::Invitation => match people.asked(key) {
            None => Ok(LinkAsks::NameAndPassword),
            Some(person) if person.stored.password_hash.is_some() => Ok(LinkAsks::PresentPassword),
            // Whoever has the link would get into the person's other organizations.
            Some(_) => Err(PeopleError::NeedsReset),
        },
    }
}

/// What using the link changes, apart from the session.
fn used(
    people: &OrganizationPeople,
    link: &OneTimeLink,
    person: &Person,
    hash: Option<&Secret<String>>,
) -> Decided<()> {
    let key: &EmailKey = &person.key;
    let mut changes = vec![remove_link(people, &link.id)];
    let (message, facts) = match link.kind {
        LinkKind::Invitation => {
            if people.asked(key).is_none() {
                changes.push(PeopleChange::CreatePerson(StoredPerson {
                    person: person.clone(),
                    password_hash: hash.cloned(),
                }));
            }
            changes.push(PeopleChange::PutMembership(
                people.organization_id.clone(),
                key.clone(),
                link.role,
            ));
            let role = a_role(link.role);
            (
                format!("{} joined the organization as {role}.", person.email),
                changed("user", key.as_str(), "role", Value::Null, json!(link.role)),
            )
        }
        LinkKind::Reset => {
            changes.extend(hash.map(|hash| PeopleChange::SetPassword {
                person: key.clone(),
                hash: hash.clone(),
                kept: None,
            }));
            (
                format!("{} set another password with a link.", person.email),
                changed("user", key.as_str(), "password", Value::Null, Value::Null),
            )
        }
    };
    Decided {
        changes,
        actor: Actor::user(person),
        message,
        facts,
        result: (),
    }
}
