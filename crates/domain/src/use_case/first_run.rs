//! First run: the first organization and its owner, for whoever can read the service's log (decision E3). Tests:
//! `tests/use_case/first_run.rs`.

use std::sync::Arc;

use serde_json::json;

use super::sign_in::new_session;
use super::throttle::{Throttle, TryError};
use crate::model::{
    Activity, ActivityId, Actor, EmailAddress, FirstRunCode, InvalidEmail, InvalidPassword, NetworkOrigin,
    OrganizationId, Password, Person, SessionToken, Subscription, Timestamp,
};
use crate::port::{CreateFirst, Entropy, FirstOrganization, FirstRunCodeState, FirstRunStore, StoreError};

/// The most characters of a name that people type.
pub const MAX_NAME_CHARS: usize = 200;

/// How many ids are tried that suit the organization's name.
const ID_ATTEMPTS: u32 = 20;

/// What the form of the first start holds, as it was typed.
#[derive(Debug, Clone)]
pub struct FirstRunForm<'f> {
    /// The code from the log.
    pub code: &'f str,
    /// The name of the organization.
    pub organization: &'f str,
    /// The owner's address.
    pub email: &'f str,
    /// The owner's name; the address if it is left out.
    pub name: Option<&'f str>,
    /// The owner's password.
    pub password: &'f str,
}

/// Why nothing was created.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FirstRunError {
    /// There is somebody: the first start is over.
    #[error("the installation is set up already")]
    Over,
    /// The code was replaced by a newer one.
    #[error("a newer code has replaced this one: use the newest in the log")]
    CodeReplaced {
        /// When.
        at: Timestamp,
    },
    /// A name is blank, too long or has control characters.
    #[error("the name must have 1 to {MAX_NAME_CHARS} characters")]
    Name(FirstRunField),
    /// The address cannot be one.
    #[error(transparent)]
    Email(#[from] InvalidEmail),
    /// The password cannot be set.
    #[error("the password {0}")]
    Password(#[from] InvalidPassword),
    /// The code is wrong, or it was tried too often.
    #[error(transparent)]
    Try(#[from] TryError),
}

/// A field with a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRunField {
    /// The organization's.
    Organization,
    /// The owner's.
    Owner,
}

impl From<StoreError> for FirstRunError {
    fn from(error: StoreError) -> Self {
        Self::Try(error.into())
    }
}

/// Sets up an installation in which there is nobody.
#[derive(Debug)]
pub struct FirstRun {
    /// Holds codes, and the first organization.
    pub store: Arc<dyn FirstRunStore>,
    /// Counts tries.
    pub throttle: Throttle,
    /// Draws codes and tokens.
    pub entropy: Arc<dyn Entropy>,
}

impl FirstRun {
    /// Whether there is nobody yet.
    pub async fn is_open(&self) -> Result<bool, StoreError> {
        self.store.has_no_people().await
    }

    /// A new code, which replaces the former one; `None` if there is somebody.
    pub async fn new_code(&self) -> Result<Option<FirstRunCode>, StoreError> {
        let mut bytes = [0; 5];
        self.entropy.fill_random(&mut bytes);
        let code = FirstRunCode::from_random(bytes);
        let now = self.throttle.clock.now();
        let stored = self.store.put_first_run_code(&code.hash(), now).await?;
        Ok(stored.then_some(code))
    }

    /// Creates the organization with an active subscription, its owner, and the owner's session.
    pub async fn execute(
        &self,
        form: FirstRunForm<'_>,
        network: NetworkOrigin,
    ) -> Result<SessionToken, FirstRunError> {
        if !self.is_open().await? {
            return Err(FirstRunError::Over);
        }
        let name = checked_name(form.organization).ok_or(FirstRunError::Name(FirstRunField::Organization))?;
        let email = EmailAddress::parse(form.email.trim())?;
        let owner_name = match form.name.filter(|name| !name.trim().is_empty()) {
            Some(name) => checked_name(name).ok_or(FirstRunError::Name(FirstRunField::Owner))?,
            None => email.as_str().to_owned(),
        };
        let password = Password::parse(form.password)?;
        let counted = self.throttle.begin(None, network).await?;
        let code = FirstRunCode::parse(form.code).map(|code| code.hash());
        let state = match &code {
            Some(code) => self.store.first_run_code(code).await?,
            None => FirstRunCodeState::Unknown,
        };
        let (Some(code), FirstRunCodeState::Current) = (code, state) else {
            return Err(refused(state, counted.wrong()));
        };
        let (counted, password_hash) = self.throttle.hash(counted, password.expose()).await?;
        let clock = &*self.throttle.clock;
        let (token, session) = new_session(&*self.entropy, clock, email.key());
        let now = clock.now();
        let owner = Person {
            key: email.key(),
            email: email.as_str().to_owned(),
            name: owner_name,
        };
        let first = |id: OrganizationId| FirstOrganization {
            code: code.clone(),
            activity: Activity::change(
                ActivityId(self.entropy.uuid()),
                now,
                &id,
                Actor::user(&owner),
                format!("Created the organization {name} at the first start."),
                json!({"change": "organization_created", "organization": name}),
            ),
            id,
            name: name.clone(),
            subscription: Subscription::unbilled(now),
            owner: owner.clone(),
            password_hash: password_hash.clone(),
            session: session.clone(),
        };
        for number in 1..=ID_ATTEMPTS {
            let id = OrganizationId::of_name(&name, number);
            match self.store.create_first(&first(id)).await? {
                CreateFirst::Created => {
                    self.throttle.succeeded(counted).await?;
                    return Ok(token);
                }
                CreateFirst::Refused(state) => return Err(refused(state, counted.wrong())),
                CreateFirst::IdTaken => {}
            }
        }
        Err(StoreError::Backend("no free id for the first organization".to_owned()).into())
    }
}

/// The error for a code in this state; `wrong` is that of an unknown one.
fn refused(state: FirstRunCodeState, wrong: TryError) -> FirstRunError {
    match state {
        FirstRunCodeState::Over => FirstRunError::Over,
        FirstRunCodeState::Replaced(at) => FirstRunError::CodeReplaced { at },
        FirstRunCodeState::Current | FirstRunCodeState::Unknown => wrong.into(),
    }
}

/// A name that a person typed, without space around it; `None` if it is blank, too long or has control characters.
pub(super) fn checked_name(typed: &str) -> Option<String> {
    let name = typed.trim();
    let is_short = name.chars().nth(MAX_NAME_CHARS).is_none();
    (!name.is_empty() && is_short && !name.chars().any(char::is_control)).then(|| name.to_owned())
}
