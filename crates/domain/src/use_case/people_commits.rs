//! What the use cases that change people share: they read, decide on what they read, and commit it with its Activity entry;
//! again, if others changed people or settings meanwhile.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};

use super::apply_provisioning::ATTEMPTS;
use super::first_run::MAX_NAME_CHARS;
use super::throttle::TryError;
use crate::model::{
    Activity, ActivityId, Actor, EmailKey, InvalidEmail, InvalidPassword, Member, OrganizationId, Timestamp,
};
use crate::port::{Clock, Entropy, OrganizationPeople, PeopleChange, PeopleStore, StoreError};

/// Why nothing about people was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PeopleError {
    /// Only owners may (decision E1).
    #[error("only an owner of the organization may do this")]
    NotOwner,
    /// The organization has no such member, or does not exist any more.
    #[error("the organization has no such member")]
    Unknown,
    /// An organization keeps an owner (decision E1).
    #[error("an organization keeps at least one owner: make somebody else an owner first")]
    LastOwner,
    /// There is nothing to invite to.
    #[error("this person is a member already")]
    AlreadyMember,
    /// The most links are open, or the most people are members.
    #[error("no more than {0}")]
    TooMany(&'static str),
    /// A person also belongs to an organization that the maker of a reset does not own.
    #[error(
        "this person is in an organization that you do not own: only somebody who owns all of them can reset the password"
    )]
    NotOwnerEverywhere,
    /// Nobody resets the own password: that would spare the present one.
    #[error("change your own password with the present one")]
    OwnReset,
    /// The link was used or withdrawn, has expired, or its maker could not make it any more.
    #[error("the link does not work any more: ask for a new one")]
    LinkOver,
    /// The invited person has no password, and an invitation must not set it.
    #[error(
        "this person needs a password first: an owner of all the person's organizations can send a reset link"
    )]
    NeedsReset,
    /// Tokens are not made while the subscription is not active (decision E4).
    #[error("the organization's subscription is not active, which making tokens needs")]
    SubscriptionInactive,
    /// The scope `manage` is for owners (decision E7).
    #[error("only an owner of the organization can have a token with the scope manage")]
    ScopeNeedsOwner,
    /// The token would not work from the start.
    #[error("the token would be expired from the start: choose a moment in the future")]
    ExpiryPast,
    /// The person has no such token in the organization.
    #[error("the person has no such token in the organization")]
    TokenUnknown,
    /// The address cannot be one.
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    /// A name is blank, too long or has control characters.
    #[error("the name must have 1 to {MAX_NAME_CHARS} characters")]
    Name,
    /// The password cannot be set.
    #[error("the password {0}")]
    Password(#[from] InvalidPassword),
    /// The present password is wrong, or it was tried too often.
    #[error(transparent)]
    Try(#[from] TryError),
    /// Others kept changing the store.
    #[error("others are changing people or settings at this moment: try again")]
    Contended,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Commits what is decided about people.
#[derive(Debug, Clone)]
pub struct PeopleCommits {
    /// Holds people, memberships and links.
    pub people: Arc<dyn PeopleStore>,
    /// Dates changes.
    pub clock: Arc<dyn Clock>,
    /// Draws tokens and ids.
    pub entropy: Arc<dyn Entropy>,
}

/// What was decided.
#[derive(Debug)]
pub(super) struct Decided<T> {
    /// Nothing, if all is as wanted.
    pub(super) changes: Vec<PeopleChange>,
    pub(super) actor: Actor,
    pub(super) message: String,
    /// What changed, field by field, without secrets.
    pub(super) facts: Value,
    pub(super) result: T,
}

impl<T> Decided<T> {
    /// All is as wanted already.
    pub(super) fn nothing(member: &Member, result: T) -> Self {
        Self {
            changes: Vec::new(),
            actor: member.actor(),
            message: String::new(),
            facts: Value::Null,
            result,
        }
    }
}

/// The facts of one changed field of a person or link.
pub(super) fn changed(kind: &str, id: &str, field: &str, old: Value, new: Value) -> Value {
    let mut change = json!({"type": kind, "id": id, "field": field});
    change["old"] = old;
    change["new"] = new;
    json!({ "changes": [change] })
}

/// The organizations in whose records the changes stand: a password is the person's in every one (decision E1).
fn concerned<'p>(
    organization: &'p OrganizationId,
    people: &'p OrganizationPeople,
    changes: &[PeopleChange],
) -> BTreeSet<&'p OrganizationId> {
    let others = changes.iter().filter_map(|change| match change {
        PeopleChange::SetPassword { person, .. } => Some(&people.asked(person)?.memberships),
        _ => None,
    });
    let others = others.flatten().map(|(organization, _)| organization);
    others.chain([organization]).collect()
}

impl PeopleCommits {
    /// The organization's people, and `asked` people wherever they are.
    pub(super) async fn read(
        &self,
        organization: &OrganizationId,
        asked: &[EmailKey],
    ) -> Result<OrganizationPeople, PeopleError> {
        let read = self.people.organization_people(organization, asked).await?;
        read.ok_or(PeopleError::Unknown)
    }

    /// Commits what `decide` makes of the people as they are.
    pub(super) async fn change<T>(
        &self,
        organization: &OrganizationId,
        asked: &[EmailKey],
        decide: impl Fn(&OrganizationPeople, Timestamp) -> Result<Decided<T>, PeopleError>,
    ) -> Result<T, PeopleError> {
        for _ in 0..ATTEMPTS {
            let people = self.read(organization, asked).await?;
            let now = self.clock.now();
            let decided = decide(&people, now)?;
            if decided.changes.is_empty() {
                return Ok(decided.result);
            }
            let entry = |organization: &OrganizationId| {
                let id = ActivityId(self.entropy.uuid());
                let (actor, message) = (decided.actor.clone(), decided.message.clone());
                Activity::change(id, now, organization, actor, message, decided.facts.clone())
            };
            let concerned = concerned(organization, &people, &decided.changes);
            let record: Vec<Activity> = concerned.into_iter().map(entry).collect();
            let store = &self.people;
            if store
                .commit_people(people.revision, &decided.changes, &record)
                .await?
            {
                return Ok(decided.result);
            }
        }
        Err(PeopleError::Contended)
    }

    /// As [`change`](Self::change), for somebody who is an owner at the moment of the change.
    pub(super) async fn change_as_owner<T>(
        &self,
        member: &Member,
        asked: &[EmailKey],
        decide: impl Fn(&OrganizationPeople, Timestamp) -> Result<Decided<T>, PeopleError>,
    ) -> Result<T, PeopleError> {
        self.change(member.organization_id(), asked, |people, now| {
            if !people.is_owner(&member.person.key) {
                return Err(PeopleError::NotOwner);
            }
            decide(people, now)
        })
        .await
    }
}
