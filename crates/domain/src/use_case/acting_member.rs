//! A member who acts, in the console or through a tool.

use super::{Requester, SignedIn, TokenCaller};
use crate::model::{Authorization, Member};

/// A member of an organization with what the member's changes are accepted on.
#[derive(Debug, Clone)]
pub struct ActingMember {
    /// The person in the organization.
    pub member: Member,
    /// Checked again when a change is accepted.
    pub authorization: Authorization,
}

impl ActingMember {
    /// Who makes the member's requests on leads.
    pub fn requester(&self) -> Requester {
        Requester {
            organization_id: self.member.organization_id().clone(),
            actor: self.member.actor(),
            authorization: self.authorization.clone(),
            http_status: None,
            trace_parent: None,
        }
    }
}

impl From<&SignedIn> for ActingMember {
    fn from(signed_in: &SignedIn) -> Self {
        Self {
            member: signed_in.member.clone(),
            authorization: signed_in.authorization(),
        }
    }
}

impl From<&TokenCaller> for ActingMember {
    fn from(caller: &TokenCaller) -> Self {
        Self {
            member: caller.member.clone(),
            authorization: Authorization::PersonalToken(caller.token.clone()),
        }
    }
}
