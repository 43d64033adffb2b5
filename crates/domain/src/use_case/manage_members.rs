//! Manage members: who is in an organization and as what (decision E1). Tests: `tests/use_case/manage_members.rs`.

use serde_json::{Value, json};

use super::people_commits::{Decided, PeopleCommits, PeopleError, changed};
use crate::model::{EmailKey, LinkId, Member, MemberRole, OneTimeLink, OrganizationId, Timestamp};
use crate::port::{OrganizationMember, OrganizationPeople, PeopleChange};

/// An organization's people, as its members see them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedMembers {
    /// Owners first, then by address.
    pub members: Vec<OrganizationMember>,
    /// The links that can be used, the newest first.
    pub links: Vec<OneTimeLink>,
}

impl ListedMembers {
    /// Whether the organization would have no owner without this person.
    pub fn is_last_owner(&self, key: &EmailKey) -> bool {
        let mut owners = self
            .members
            .iter()
            .filter(|member| member.role == MemberRole::Owner);
        owners.all(|owner| owner.person.key == *key)
    }
}

/// Lists members, changes their roles and removes them.
#[derive(Debug)]
pub struct ManageMembers {
    /// Finds and changes people.
    pub commits: PeopleCommits,
}

impl ManageMembers {
    /// The organization's members and open links.
    pub async fn list(&self, organization: &OrganizationId) -> Result<ListedMembers, PeopleError> {
        let people = self.commits.read(organization, &[]).await?;
        let now = self.commits.clock.now();
        let mut links: Vec<OneTimeLink> = people.links.clone();
        links.retain(|link| is_open(&people, link, now));
        links.sort_by_key(|link| std::cmp::Reverse((link.created_at, link.id.clone())));
        let mut members = people.members;
        members.sort_by_key(|member| std::cmp::Reverse(member.role));
        Ok(ListedMembers { members, links })
    }

    /// Gives a member another role. That ends the member's sessions in the organization.
    ///
    /// # Errors
    /// [`PeopleError::LastOwner`] if the organization would have no owner.
    pub async fn set_role(
        &self,
        member: &Member,
        person: &EmailKey,
        role: MemberRole,
    ) -> Result<(), PeopleError> {
        let organization = member.organization_id();
        self.commits
            .change_as_owner(member, &[], |people, _| {
                let known = people.member(person).ok_or(PeopleError::Unknown)?;
                if known.role == role {
                    return Ok(Decided::nothing(member, ()));
                }
                if role != MemberRole::Owner {
                    keep_an_owner(people, person)?;
                }
                let mut changes = vec![PeopleChange::PutMembership(
                    organization.clone(),
                    person.clone(),
                    role,
                )];
                changes.extend(links_of(people, person));
                Ok(Decided {
                    changes,
                    actor: member.actor(),
                    message: format!("{} is {} now.", known.person.email, a_role(role)),
                    facts: changed("user", person.as_str(), "role", json!(known.role), json!(role)),
                    result: (),
                })
            })
            .await
    }

    /// Removes a member, with sessions, links and tokens. A person without any organization is forgotten.
    ///
    /// # Errors
    /// [`PeopleError::LastOwner`] if the organization would have no owner.
    pub async fn remove(&self, member: &Member, person: &EmailKey) -> Result<(), PeopleError> {
        self.commits
            .change_as_owner(member, &[], |people, _| removal(people, member, person))
            .await
    }

    /// Removes oneself, which needs no owner.
    ///
    /// # Errors
    /// [`PeopleError::LastOwner`] if the organization would have no owner.
    pub async fn leave(&self, member: &Member) -> Result<(), PeopleError> {
        let organization = member.organization_id();
        self.commits
            .change(organization, &[], |people, _| {
                removal(people, member, &member.person.key)
            })
            .await
    }
}

fn removal(
    people: &OrganizationPeople,
    member: &Member,
    person: &EmailKey,
) -> Result<Decided<()>, PeopleError> {
    let known = people.member(person).ok_or(PeopleError::Unknown)?;
    keep_an_owner(people, person)?;
    let mut changes: Vec<_> = links_of(people, person).collect();
    changes.push(PeopleChange::RemoveMember(
        people.organization_id.clone(),
        person.clone(),
    ));
    let message = if member.person.key == *person {
        format!("{} left the organization.", known.person.email)
    } else {
        format!("{} was removed from the organization.", known.person.email)
    };
    Ok(Decided {
        changes,
        actor: member.actor(),
        message,
        facts: changed("user", person.as_str(), "role", json!(known.role), Value::Null),
        result: (),
    })
}

/// Refuses to lose the last owner.
fn keep_an_owner(people: &OrganizationPeople, person: &EmailKey) -> Result<(), PeopleError> {
    let mut owners = people
        .members
        .iter()
        .filter(|member| member.role == MemberRole::Owner);
    if people.is_owner(person) && owners.all(|owner| owner.person.key == *person) {
        return Err(PeopleError::LastOwner);
    }
    Ok(())
}

/// Removes the links that a person made, who stops to be an owner: should the person become one again, they do not revive.
fn links_of<'a>(
    people: &'a OrganizationPeople,
    person: &'a EmailKey,
) -> impl Iterator<Item = PeopleChange> + 'a {
    let made = people.links.iter().filter(|link| link.made_by == *person);
    made.map(|link| remove_link(people, &link.id))
}

pub(super) fn remove_link(people: &OrganizationPeople, link: &LinkId) -> PeopleChange {
    PeopleChange::RemoveLink(people.organization_id.clone(), link.clone())
}

/// Whether a link can be used, as far as the organization knows.
pub(super) fn is_open(people: &OrganizationPeople, link: &OneTimeLink, now: Timestamp) -> bool {
    now < link.expires_at && people.is_owner(&link.made_by)
}

/// "an owner", "a member".
pub(super) const fn a_role(role: MemberRole) -> &'static str {
    match role {
        MemberRole::Owner => "an owner",
        MemberRole::Member => "a member",
    }
}
