//! Authenticate a personal token: whose tool is calling, and what may it do (decision E7)? Tests:
//! `tests/use_case/manage_tokens.rs`.

use std::sync::Arc;

use crate::model::{Member, PersonalToken, PersonalTokenId, TokenScope};
use crate::port::{Clock, PeopleStore, StoreError};

/// A person whose tool calls.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenCaller {
    /// The person in the token's organization, as of now.
    pub member: Member,
    /// What the token may be used for.
    pub scope: TokenScope,
    /// The token's id.
    pub token: PersonalTokenId,
}

impl TokenCaller {
    /// Whether the token may be used for what needs this scope. Each scope includes those before it.
    pub fn may(&self, needed: TokenScope) -> bool {
        needed <= self.scope
    }
}

/// Turns a personal token into its person. Nothing is remembered between calls: a token that was revoked, a membership
/// that ended and a role that changed count at once.
#[derive(Debug)]
pub struct AuthenticatePersonalToken {
    /// Holds tokens and memberships.
    pub people: Arc<dyn PeopleStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl AuthenticatePersonalToken {
    /// Whose token this is; `None` if it is nobody's, does not work, or has the scope `manage` and its person is no owner.
    /// The use is written at most once a minute.
    pub async fn execute(&self, presented: &str) -> Result<Option<TokenCaller>, StoreError> {
        let Ok(token) = PersonalToken::parse(presented) else {
            return Ok(None);
        };
        let now = self.clock.now();
        let found = self.people.token(&token.hash()).await?;
        let Some(found) = found.filter(|found| found.record.works_at(now)) else {
            return Ok(None);
        };
        if found.record.scope == TokenScope::Manage && !found.member.is_owner() {
            return Ok(None);
        }
        if found.record.is_use_due_at(now) {
            let organization = found.member.organization_id();
            self.people
                .record_token_use(organization, &found.record.id, now)
                .await?;
        }
        Ok(Some(TokenCaller {
            member: found.member,
            scope: found.record.scope,
            token: found.record.id,
        }))
    }
}
