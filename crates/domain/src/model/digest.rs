//! Digests of secrets: what is stored of a secret that its holder presents.

use std::sync::Arc;

/// The longest prefix, and the digits of a SHA-256.
const MAX_DIGITS: usize = 3 + 64;

/// Two lower-case hexadecimal digits for each byte, behind a prefix. A request makes one, and a page of leads a hundred.
pub(super) fn hex_digits(prefix: &str, bytes: &[u8]) -> Arc<str> {
    let mut text = [0; MAX_DIGITS];
    let (before, digits) = text.split_at_mut(prefix.len());
    before.copy_from_slice(prefix.as_bytes());
    for (digits, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        for (digit, value) in digits.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = b"0123456789abcdef"[usize::from(value)];
        }
    }
    String::from_utf8_lossy(&text[..prefix.len() + 2 * bytes.len()]).into()
}

/// Defines types for the SHA-256 of a secret, 64 lower-case hexadecimal digits. Clones share the text.
macro_rules! digests {
    ($($(#[$meta:meta])* pub struct $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(std::sync::Arc<str>);

        impl $name {
            /// The digest of a secret.
            fn of(secret: &str) -> Self {
                let digest = <sha2::Sha256 as sha2::Digest>::digest(secret);
                Self($crate::model::digest::hex_digits("", &digest))
            }

            /// A stored digest.
            pub fn from_stored(text: String) -> Self {
                Self(text.into())
            }

            /// The digest as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )+};
}
pub(super) use digests;
