//! The first person of an installation.

use async_trait::async_trait;

use super::{NewSession, StoreError};
use crate::model::{Activity, FirstRunCodeHash, OrganizationId, Person, Secret, Subscription, Timestamp};

/// How many codes are remembered, so that an old one can be told from a wrong one.
pub const FIRST_RUN_CODES: u32 = 8;

/// What a code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstRunCodeState {
    /// There are people: no code is of use.
    Over,
    /// The newest one.
    Current,
    /// A newer one replaced it then.
    Replaced(Timestamp),
    /// None of the last ones.
    Unknown,
}

/// The first organization, its owner and the owner's session.
#[derive(Debug, Clone, PartialEq)]
pub struct FirstOrganization {
    /// Must be the newest code.
    pub code: FirstRunCodeHash,
    /// The organization's id.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// Its subscription.
    pub subscription: Subscription,
    /// Its owner.
    pub owner: Person,
    /// The hash of the owner's password.
    pub password_hash: Secret<String>,
    /// The owner's session.
    pub session: NewSession,
    /// Records it.
    pub activity: Activity,
}

/// The outcome of [`FirstRunStore::create_first`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CreateFirst {
    /// All of it is stored, and the codes are forgotten.
    Created,
    /// The code is not [`Current`](FirstRunCodeState::Current). Nothing changed.
    Refused(FirstRunCodeState),
    /// An organization has the id, or had it and is not erased yet. Nothing changed.
    IdTaken,
}

/// The first start (decision E3).
#[async_trait]
pub trait FirstRunStore: Send + Sync + std::fmt::Debug {
    /// Whether there is nobody yet.
    async fn has_no_people(&self) -> Result<bool, StoreError>;

    /// Stores a code, which replaces the former one. Returns false, and stores nothing, if there are people.
    async fn put_first_run_code(&self, code: &FirstRunCodeHash, at: Timestamp) -> Result<bool, StoreError>;

    /// What this code is.
    async fn first_run_code(&self, code: &FirstRunCodeHash) -> Result<FirstRunCodeState, StoreError>;

    /// One atomic step: creates the first organization, if the code is the newest and there is nobody.
    async fn create_first(&self, first: &FirstOrganization) -> Result<CreateFirst, StoreError>;
}
