//! Digests of secrets: what is stored of a secret that its holder presents.

/// Defines types for the SHA-256 of a secret, 64 lower-case hexadecimal digits.
macro_rules! digests {
    ($($(#[$meta:meta])* pub struct $name:ident;)+) => {$(
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(String);

        impl $name {
            /// The digest of a secret.
            fn of(secret: &str) -> Self {
                Self(hex::encode(<sha2::Sha256 as sha2::Digest>::digest(secret)))
            }

            /// A stored digest.
            pub fn from_stored(text: String) -> Self {
                Self(text)
            }

            /// The digest as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
    )+};
}
pub(super) use digests;
