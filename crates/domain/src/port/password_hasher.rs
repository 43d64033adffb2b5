//! Hashing passwords, which is slow on purpose.

use async_trait::async_trait;

/// Too many passwords are waiting to be hashed: try again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("too many people are signing in at this moment: try again")]
pub struct HasherBusy;

/// Hashes people's passwords and checks them against a hash. It blocks no thread of the caller's, works on few passwords
/// at once, and lets only so many wait.
#[async_trait]
pub trait PasswordHasher: Send + Sync + std::fmt::Debug {
    /// A PHC string with a new salt: hashing the same password again gives another string.
    async fn hash(&self, password: &str) -> Result<String, HasherBusy>;

    /// Whether `hash` is a PHC string of `password`. Without a hash it takes as long, and it is not.
    async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, HasherBusy>;
}
