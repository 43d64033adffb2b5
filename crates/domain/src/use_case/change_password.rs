//! Change password: a signed-in person sets another one (decision E2). Tests: `tests/use_case/change_password.rs`.

use super::people_commits::{Decided, PeopleCommits, PeopleError, changed};
use super::sessions::SignedIn;
use super::throttle::Throttle;
use crate::model::{NetworkOrigin, Password};
use crate::port::PeopleChange;
use serde_json::Value;

/// Changes passwords. It asks for the present one, with the same limit of tries as signing in.
#[derive(Debug)]
pub struct ChangePassword {
    /// Finds and changes people.
    pub commits: PeopleCommits,
    /// Counts tries, checks and hashes passwords.
    pub throttle: Throttle,
}

impl ChangePassword {
    /// Sets the password and ends the person's other sessions.
    ///
    /// # Errors
    /// [`PeopleError::Try`] if `present` is wrong; nothing has changed then.
    pub async fn execute(
        &self,
        signed_in: &SignedIn,
        present: &str,
        new: &str,
        network: NetworkOrigin,
    ) -> Result<(), PeopleError> {
        let new = Password::parse(new)?;
        let member = &signed_in.member;
        let key = &member.person.key;
        let counted = self.throttle.begin(Some(key), network).await?;
        let verified = self.commits.people.person(key).await?;
        let verified = verified.and_then(|person| person.password_hash);
        let counted = self.throttle.check(counted, present, verified.as_ref()).await?;
        let (counted, hash) = self.throttle.hash(counted, new.expose()).await?;
        let asked = [key.clone()];
        self.commits
            .change(member.organization_id(), &asked, |people, _| {
                let person = people.asked(key).ok_or(PeopleError::Unknown)?;
                if people.member(key).is_none() {
                    return Err(PeopleError::Unknown);
                }
                if person.stored.password_hash != verified {
                    return Err(counted.wrong().into());
                }
                Ok(Decided {
                    changes: vec![PeopleChange::SetPassword {
                        person: key.clone(),
                        hash: hash.clone(),
                        kept: Some(signed_in.session.clone()),
                    }],
                    actor: member.actor(),
                    message: format!("{} changed the own password.", member.person.email),
                    facts: changed("user", key.as_str(), "password", Value::Null, Value::Null),
                    result: (),
                })
            })
            .await?;
        self.throttle.succeeded(counted).await?;
        Ok(())
    }
}
