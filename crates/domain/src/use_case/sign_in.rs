//! Sign in: from an address and a password to a session (decision E2). Tests: `tests/use_case/sign_in.rs`.

use std::sync::Arc;

use super::throttle::{Throttle, TryError};
use crate::model::{EmailAddress, EmailKey, NetworkOrigin, SessionToken};
use crate::port::{Entropy, NewSession, PeopleStore, SessionStore};

/// Signs people in. An unknown address and a wrong password look and take the same.
#[derive(Debug)]
pub struct SignIn {
    /// Finds people.
    pub people: Arc<dyn PeopleStore>,
    /// Opens sessions.
    pub sessions: Arc<dyn SessionStore>,
    /// Counts tries and checks passwords.
    pub throttle: Throttle,
    /// Draws tokens.
    pub entropy: Arc<dyn Entropy>,
}

impl SignIn {
    /// Opens a session of the person with this address. It shows the organization that the person saw last.
    ///
    /// # Errors
    /// [`TryError::Wrong`] if address and password do not belong together, or the person cannot sign in.
    pub async fn execute(
        &self,
        email: &str,
        password: &str,
        network: NetworkOrigin,
    ) -> Result<SessionToken, TryError> {
        // What is no address is nobody's. It is counted as one all the same.
        let key = EmailAddress::parse(email.trim()).map_or_else(|_| EmailKey::of(""), |email| email.key());
        let counted = self.throttle.begin(Some(&key), network).await?;
        let person = self.people.person(&key).await?;
        let hash = person.and_then(|person| person.password_hash);
        let counted = self.throttle.check(counted, password, hash.as_ref()).await?;
        let (token, new) = new_session(&*self.entropy, &*self.throttle.clock, key);
        let opened = match &hash {
            Some(verified) => self.sessions.open_session(&new, verified).await?,
            None => false,
        };
        if !opened {
            return Err(counted.wrong());
        }
        self.throttle.succeeded(counted).await?;
        Ok(token)
    }
}

/// A session that begins now, and its token.
pub(super) fn new_session(
    entropy: &dyn Entropy,
    clock: &dyn crate::port::Clock,
    person: EmailKey,
) -> (SessionToken, NewSession) {
    let mut bytes = [0; 32];
    entropy.fill_random(&mut bytes);
    let token = SessionToken::from_random(bytes);
    let new = NewSession {
        hash: token.hash(),
        person,
        at: clock.now(),
    };
    (token, new)
}
