//! Invitations: links by which people join, or set another password (decision E2). Tests: `tests/use_case/invitations.rs`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::first_run::checked_name;
use super::manage_members::{a_role, is_open, remove_link};
use super::people_commits::{Decided, PeopleCommits, PeopleError, changed};
use crate::model::{
    EmailAddress, EmailKey, LINK_LIFETIME, LinkId, LinkKind, LinkToken, Member, MemberRole, OneTimeLink,
    Person,
};
use crate::port::{LinkMail, LinkMailer, MailError, OrganizationPeople, PeopleChange, PersonEverywhere};

/// The most links that an organization has open.
pub const MAX_OPEN_LINKS: usize = 50;

/// From how many members on nobody more is invited.
pub const MAX_MEMBERS: usize = 500;

/// Whom an owner invites, as it was typed.
#[derive(Debug, Clone)]
pub struct NewInvitation<'f> {
    /// The address.
    pub email: &'f str,
    /// The name; the address if it is left out.
    pub name: &'f str,
    /// The role in the organization.
    pub role: MemberRole,
}

/// A link that was just made. Only its SHA-256 is stored, so it cannot be shown again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeLink {
    /// Whom it is for, and until when it works.
    pub link: OneTimeLink,
    /// The secret part.
    pub token: LinkToken,
    /// Whether the link was mailed; `None` without a mailer.
    pub mailed: Option<Result<(), MailError>>,
}

/// Makes and withdraws links.
#[derive(Debug)]
pub struct Invitations {
    /// Finds and changes people.
    pub commits: PeopleCommits,
    /// Mails each link that is made. Without one, owners pass links on themselves.
    pub mailer: Option<Arc<dyn LinkMailer>>,
}

impl Invitations {
    /// Makes an invitation into the organization. A former one for the same address works no more.
    pub async fn invite(&self, member: &Member, new: NewInvitation<'_>) -> Result<MadeLink, PeopleError> {
        let email = EmailAddress::parse(new.email.trim())?;
        let name = match new.name.trim() {
            "" => email.as_str().to_owned(),
            typed => checked_name(typed).ok_or(PeopleError::Name)?,
        };
        let person = Person {
            key: email.key(),
            email: email.as_str().to_owned(),
            name,
        };
        self.make(member, LinkKind::Invitation, &person.key.clone(), |people| {
            if people.member(&person.key).is_some() {
                return Err(PeopleError::AlreadyMember);
            }
            if people.members.len() >= MAX_MEMBERS {
                return Err(PeopleError::TooMany("500 members"));
            }
            Ok((person.clone(), new.role))
        })
        .await
    }

    /// Makes a link with which a member sets another password. A former one works no more.
    ///
    /// # Errors
    /// [`PeopleError::NotOwnerEverywhere`] unless the maker owns every organization of the person.
    pub async fn reset(&self, member: &Member, person: &EmailKey) -> Result<MadeLink, PeopleError> {
        if member.person.key == *person {
            return Err(PeopleError::OwnReset);
        }
        self.make(member, LinkKind::Reset, person, |people| {
            let known = people.member(person).ok_or(PeopleError::Unknown)?;
            if !may_reset(people, &member.person.key, person) {
                return Err(PeopleError::NotOwnerEverywhere);
            }
            Ok((known.person.clone(), known.role))
        })
        .await
    }

    /// Withdraws a link. One that is gone already is none.
    pub async fn withdraw(&self, member: &Member, link: &LinkId) -> Result<(), PeopleError> {
        self.commits
            .change_as_owner(member, &[], |people, _| {
                let known = people.links.iter().find(|known| known.id == *link);
                let known = known.ok_or(PeopleError::LinkOver)?;
                let what = match known.kind {
                    LinkKind::Invitation => "invitation of",
                    LinkKind::Reset => "password link for",
                };
                Ok(Decided {
                    changes: vec![remove_link(people, link)],
                    actor: member.actor(),
                    message: format!("The {what} {} was withdrawn.", known.person.email),
                    facts: changed(
                        "link",
                        link.as_str(),
                        known.kind.as_str(),
                        json!(known.person.email),
                        Value::Null,
                    ),
                    result: (),
                })
            })
            .await
    }

    async fn make(
        &self,
        member: &Member,
        kind: LinkKind,
        person: &EmailKey,
        whom: impl Fn(&OrganizationPeople) -> Result<(Person, MemberRole), PeopleError>,
    ) -> Result<MadeLink, PeopleError> {
        let mut secret = [0; 32];
        self.commits.entropy.fill_random(&mut secret);
        let token = LinkToken::from_random(secret);
        let mut id = [0; 6];
        self.commits.entropy.fill_random(&mut id);
        let id = LinkId::random(id);
        let asked = [person.clone(), member.person.key.clone()];
        let link = self.commits.change_as_owner(member, &asked, |people, now| {
            let (person, role) = whom(people)?;
            let is_former = |link: &&OneTimeLink| {
                link.kind == kind && link.person.key == person.key || !is_open(people, link, now)
            };
            let mut changes: Vec<_> = people
                .links
                .iter()
                .filter(is_former)
                .map(|link| remove_link(people, &link.id))
                .collect();
            if people.links.len() - changes.len() >= MAX_OPEN_LINKS {
                return Err(PeopleError::TooMany("50 open links"));
            }
            let link = OneTimeLink {
                id: id.clone(),
                organization_id: people.organization_id.clone(),
                kind,
                role,
                made_by: member.person.key.clone(),
                created_at: now,
                expires_at: now.plus(LINK_LIFETIME),
                person,
            };
            changes.push(PeopleChange::PutLink(link.clone(), token.hash()));
            let email = &link.person.email;
            let (message, field, new) = match kind {
                LinkKind::Invitation => (
                    format!("{email} was invited as {}.", a_role(role)),
                    "role",
                    json!(role),
                ),
                LinkKind::Reset => (
                    format!("A link to set another password was made for {email}."),
                    "password",
                    Value::Null,
                ),
            };
            Ok(Decided {
                changes,
                actor: member.actor(),
                message,
                facts: changed(kind.as_str(), link.person.key.as_str(), field, Value::Null, new),
                result: link,
            })
        });
        let link = link.await?;
        let mailed = self.mail(member, &link, &token).await;
        Ok(MadeLink { link, token, mailed })
    }

    /// Mails a link that is stored: it works, whatever becomes of the mail.
    async fn mail(
        &self,
        member: &Member,
        link: &OneTimeLink,
        token: &LinkToken,
    ) -> Option<Result<(), MailError>> {
        let mailer = self.mailer.as_ref()?;
        let mail = LinkMail {
            link: link.clone(),
            token: token.clone(),
            organization: member.organization.organization_name.clone(),
            made_by: member.person.email.clone(),
        };
        Some(mailer.send(&mail).await)
    }
}

/// Whether `maker` owns every organization of `person`; both were asked for.
pub(super) fn may_reset(people: &OrganizationPeople, maker: &EmailKey, person: &EmailKey) -> bool {
    let (Some(maker), Some(person)) = (people.asked(maker), people.asked(person)) else {
        return false;
    };
    let owns = |person: &PersonEverywhere, id| person.memberships.contains(&(id, MemberRole::Owner));
    person.memberships.iter().all(|(id, _)| owns(maker, id.clone()))
}
