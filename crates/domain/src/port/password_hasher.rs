//! Hashing passwords: slow on purpose, so behind a port.

/// Hashes users' passwords and checks them against a hash.
pub trait PasswordHasher: Send + Sync + std::fmt::Debug {
    /// A PHC string with a salt of its own: hashing one password twice gives two strings.
    fn hash(&self, password: &str) -> String;

    /// Whether `hash` was made of `password`; false for what is no PHC string.
    fn verify(&self, password: &str, hash: &str) -> bool;
}
