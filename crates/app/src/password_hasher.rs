//! Passwords as Argon2id PHC strings.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use bidloop_domain::port::{Entropy, PasswordHasher};

use crate::system::SystemEntropy;

/// Argon2id with the crate's recommended parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argon2PasswordHasher;

impl PasswordHasher for Argon2PasswordHasher {
    fn hash(&self, password: &str) -> String {
        let mut salt = [0; 16];
        SystemEntropy.fill_random(&mut salt);
        Argon2::default()
            .hash_password_with_salt(password.as_bytes(), &salt)
            .map(|hash| hash.to_string())
            // Fails only for invalid parameters and salts; these are constants.
            .unwrap_or_default()
    }

    fn verify(&self, password: &str, hash: &str) -> bool {
        PasswordHash::new(hash).is_ok_and(|parsed| {
            Argon2::default()
                .verify_password(password.as_bytes(), &parsed)
                .is_ok()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_verifies_its_password_alone() {
        let hash = Argon2PasswordHasher.hash("correct horse");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert!(Argon2PasswordHasher.verify("correct horse", &hash));
        assert!(!Argon2PasswordHasher.verify("wrong horse", &hash));
    }

    /// A vector of the reference implementation's `test.c`.
    #[test]
    fn a_stored_hash_with_other_parameters_verifies() {
        let stored = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        assert!(Argon2PasswordHasher.verify("password", stored));
    }
}
