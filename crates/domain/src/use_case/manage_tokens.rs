//! Manage personal tokens: with them a person's tools act for the person (decision E7). Tests:
//! `tests/use_case/manage_tokens.rs`.

use serde_json::{Value, json};

use super::first_run::checked_name;
use super::people_commits::{Decided, PeopleCommits, PeopleError, changed};
use crate::model::{
    Actor, EmailKey, Member, OrganizationId, PersonalToken, PersonalTokenId, PersonalTokenRecord, Timestamp,
    TokenScope,
};
use crate::port::{OrganizationPeople, PeopleChange};

/// The most tokens of a person that work in an organization, and the most others of which something is shown.
pub const MAX_TOKENS: usize = 20;

/// Whose tokens, and who acts.
#[derive(Debug, Clone)]
pub struct TokenHolder {
    /// The organization that the tokens are bound to.
    pub organization: OrganizationId,
    /// The person.
    pub person: EmailKey,
    /// Whom the record names.
    pub actor: Actor,
}

impl TokenHolder {
    /// A person's own, in the organization that the session shows.
    pub fn of(member: &Member) -> Self {
        Self {
            organization: member.organization_id().clone(),
            person: member.person.key.clone(),
            actor: member.actor(),
        }
    }

    /// A person's, by a command of the program.
    pub fn by_command(organization: OrganizationId, person: EmailKey, words: &str) -> Self {
        Self {
            organization,
            person,
            actor: Actor::command(words),
        }
    }
}

/// A token to be made, as it was typed.
#[derive(Debug, Clone)]
pub struct NewPersonalToken<'f> {
    /// What the person calls it.
    pub name: &'f str,
    /// What it may be used for.
    pub scope: TokenScope,
    /// When it stops working.
    pub expires_at: Option<Timestamp>,
}

/// A token that was just made. Only its SHA-256 is stored, so it cannot be shown again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeToken {
    /// What is stored of it.
    pub record: PersonalTokenRecord,
    /// The token itself.
    pub token: PersonalToken,
}

/// Makes, lists and revokes personal tokens.
#[derive(Debug)]
pub struct ManagePersonalTokens {
    /// Finds and changes people.
    pub commits: PeopleCommits,
}

impl ManagePersonalTokens {
    /// The person's tokens in the organization, newest first, revoked and expired ones too.
    pub async fn list(
        &self,
        organization: &OrganizationId,
        person: &EmailKey,
    ) -> Result<Vec<PersonalTokenRecord>, PeopleError> {
        let asked = [person.clone()];
        let people = self.commits.read(organization, &asked).await?;
        if people.member(person).is_none() {
            return Err(PeopleError::Unknown);
        }
        let mut tokens = tokens_of(&people, person).to_vec();
        tokens.reverse();
        Ok(tokens)
    }

    /// Makes a token.
    ///
    /// # Errors
    /// [`PeopleError::ScopeNeedsOwner`] for the scope `manage` of somebody who is no owner.
    pub async fn make(
        &self,
        holder: &TokenHolder,
        new: NewPersonalToken<'_>,
    ) -> Result<MadeToken, PeopleError> {
        let name = checked_name(new.name).ok_or(PeopleError::Name)?;
        let mut secret = [0; 32];
        self.commits.entropy.fill_random(&mut secret);
        let token = PersonalToken::from_random(secret);
        let mut id = [0; 6];
        self.commits.entropy.fill_random(&mut id);
        let id = PersonalTokenId::random(id);
        let asked = [holder.person.clone()];
        let made = self.commits.change(&holder.organization, &asked, |people, now| {
            let member = people.member(&holder.person).ok_or(PeopleError::Unknown)?;
            if !people.subscription.is_active() {
                return Err(PeopleError::SubscriptionInactive);
            }
            if new.scope == TokenScope::Manage && !people.is_owner(&holder.person) {
                return Err(PeopleError::ScopeNeedsOwner);
            }
            if new.expires_at.is_some_and(|expiry| expiry <= now) {
                return Err(PeopleError::ExpiryPast);
            }
            let (working, over): (Vec<_>, Vec<_>) = tokens_of(people, &holder.person)
                .iter()
                .partition(|token| token.works_at(now));
            if working.len() >= MAX_TOKENS {
                return Err(PeopleError::TooMany("20 tokens that work"));
            }
            let beyond = over.len().saturating_sub(MAX_TOKENS);
            let forgotten = over.into_iter().take(beyond);
            let mut changes: Vec<_> = forgotten
                .map(|token| PeopleChange::RemoveToken(holder.organization.clone(), token.id.clone()))
                .collect();
            let record = PersonalTokenRecord {
                id: id.clone(),
                organization_id: holder.organization.clone(),
                user: holder.person.clone(),
                name: name.clone(),
                scope: new.scope,
                created_at: now,
                last_used_at: None,
                expires_at: new.expires_at,
                revoked_at: None,
            };
            changes.push(PeopleChange::PutToken(record.clone(), token.hash()));
            let email = &member.person.email;
            Ok(Decided {
                changes,
                actor: holder.actor.clone(),
                message: format!(
                    "Personal token \"{name}\" of {email} made, with the scope {}.",
                    new.scope
                ),
                facts: changed(
                    "personal_token",
                    id.as_str(),
                    "scope",
                    Value::Null,
                    json!(new.scope),
                ),
                result: record,
            })
        });
        Ok(MadeToken {
            record: made.await?,
            token,
        })
    }

    /// Refuses a token of the person from now on. Returns when it was revoked, which may have been earlier: then nothing
    /// is recorded.
    pub async fn revoke(
        &self,
        holder: &TokenHolder,
        token: &PersonalTokenId,
    ) -> Result<Timestamp, PeopleError> {
        let asked = [holder.person.clone()];
        self.commits
            .change(&holder.organization, &asked, |people, now| {
                let member = people.member(&holder.person).ok_or(PeopleError::Unknown)?;
                let mut known = tokens_of(people, &holder.person).iter();
                let known = known.find(|known| known.id == *token);
                let known = known.ok_or(PeopleError::TokenUnknown)?;
                let revoke = PeopleChange::RevokeToken(holder.organization.clone(), token.clone(), now);
                let (name, email) = (&known.name, &member.person.email);
                Ok(Decided {
                    changes: if known.revoked_at.is_none() {
                        vec![revoke]
                    } else {
                        Vec::new()
                    },
                    actor: holder.actor.clone(),
                    message: format!("Personal token \"{name}\" of {email} revoked."),
                    facts: changed(
                        "personal_token",
                        token.as_str(),
                        "revokedAt",
                        Value::Null,
                        json!(now),
                    ),
                    result: known.revoked_at.unwrap_or(now),
                })
            })
            .await
    }
}

fn tokens_of<'p>(people: &'p OrganizationPeople, person: &EmailKey) -> &'p [PersonalTokenRecord] {
    people
        .asked(person)
        .map_or(&[], |person| person.tokens.as_slice())
}
