//! Passwords as Argon2id PHC strings.

use argon2::Argon2;
use argon2::password_hash::{PasswordHash, PasswordHasher as _, PasswordVerifier as _, SaltString};
use bidloop_domain::port::{Ids, PasswordHasher};

use crate::system::SystemIds;

/// Argon2id with the crate's recommended parameters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argon2PasswordHasher;

impl PasswordHasher for Argon2PasswordHasher {
    fn hash(&self, password: &str) -> String {
        let mut random = [0; 16];
        SystemIds.fill_random(&mut random);
        let hashed = SaltString::encode_b64(&random).and_then(|salt| {
            Ok(Argon2::default()
                .hash_password(password.as_bytes(), &salt)?
                .to_string())
        });
        // The parameters and the salt's length are constants that the algorithm takes.
        hashed.unwrap_or_default()
    }

    fn verify(&self, password: &str, hash: &str) -> bool {
        PasswordHash::new(hash).is_ok_and(|parsed| {
            Argon2::default()
                .verify_password(password.as_bytes(), &parsed)
                .is_ok()
        })
    }
}
