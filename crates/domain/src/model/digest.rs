//! Digests of secrets: what is stored of a secret that its holder presents.

use std::sync::Arc;

/// Two lower-case hexadecimal digits for each byte, behind a prefix. A request makes one, and a page of leads a hundred.
pub(super) fn hex_digits(prefix: &str, bytes: &[u8]) -> Arc<str> {
    let mut text = vec![0; prefix.len() + 2 * bytes.len()];
    let (before, digits) = text.split_at_mut(prefix.len());
    before.copy_from_slice(prefix.as_bytes());
    // It fails for a wrong length alone.
    let _ = hex::encode_to_slice(bytes, digits);
    String::from_utf8(text).unwrap_or_default().into()
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
