//! Digests of secrets: what is stored of a secret that its holder presents.

/// Two lower-case hexadecimal digits for each byte, behind a prefix. A request makes one, and a page of leads a hundred.
pub(super) fn hex_digits(prefix: &str, bytes: &[u8]) -> String {
    let mut text = String::with_capacity(prefix.len() + 2 * bytes.len());
    text.push_str(prefix);
    for byte in bytes {
        let digits = [byte >> 4, byte & 15];
        text.extend(digits.map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    text
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
                Self($crate::model::digest::hex_digits("", &digest).into())
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
