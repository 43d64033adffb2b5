//! Hashing passwords, which is slow on purpose.

/// Hashes users' passwords and checks them against a hash.
pub trait PasswordHasher: Send + Sync + std::fmt::Debug {
    /// A PHC string with a new salt: hashing the same password again gives another string.
    fn hash(&self, password: &str) -> String;

    /// Whether `hash` is a PHC string of `password`.
    fn verify(&self, password: &str, hash: &str) -> bool;
}
