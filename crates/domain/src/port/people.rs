//! People and their memberships.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{EmailKey, Person, Secret};

/// A person with what a password is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredPerson {
    /// The person.
    pub person: Person,
    /// A PHC string. A person without one cannot sign in.
    pub password_hash: Option<Secret<String>>,
}

/// Finds people (decision E1). Whatever changes a person or a membership raises the store's revision, so that a
/// provisioning plan that was made before is made again.
#[async_trait]
pub trait PeopleStore: Send + Sync + std::fmt::Debug {
    /// The person with this address.
    async fn person(&self, key: &EmailKey) -> Result<Option<StoredPerson>, StoreError>;
}
