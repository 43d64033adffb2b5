//! Passwords of people, as they are set (decision E1).

use super::Secret;

/// The fewest bytes of a password.
pub const MIN_PASSWORD_BYTES: usize = 12;

/// The most bytes of a password.
pub const MAX_PASSWORD_BYTES: usize = 1_024;

/// Why a text cannot be a password.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPassword {
    /// Shorter than [`MIN_PASSWORD_BYTES`].
    #[error("must have at least {MIN_PASSWORD_BYTES} characters")]
    TooShort,
    /// Longer than [`MAX_PASSWORD_BYTES`].
    #[error("must have at most {MAX_PASSWORD_BYTES} bytes")]
    TooLong,
}

/// A password that may be set: 12 to 1,024 bytes. Nothing else is asked of it.
///
/// ```
/// use bidloop_domain::model::{InvalidPassword, Password};
///
/// assert!(Password::parse("correct horse").is_ok());
/// assert_eq!(Password::parse("short").unwrap_err(), InvalidPassword::TooShort);
/// assert_eq!(Password::parse(&"x".repeat(1_025)).unwrap_err(), InvalidPassword::TooLong);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Password(Secret<String>);

impl Password {
    /// Checks the length.
    pub fn parse(text: &str) -> Result<Self, InvalidPassword> {
        match text.len() {
            ..MIN_PASSWORD_BYTES => Err(InvalidPassword::TooShort),
            MIN_PASSWORD_BYTES..=MAX_PASSWORD_BYTES => Ok(Self(Secret::new(text.to_owned()))),
            _ => Err(InvalidPassword::TooLong),
        }
    }

    /// The password in the clear.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}
