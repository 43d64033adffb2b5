//! Secrets: values that no log line and no `Debug` output shows.

use std::fmt;

/// A value that `Debug` does not show. [`expose`](Self::expose) is the only way to read it.
///
/// ```
/// use bidloop_domain::model::Secret;
///
/// let password = Secret::new("correct horse".to_owned());
/// assert_eq!(format!("{password:?}"), "Secret(…)");
/// assert_eq!(password.expose(), "correct horse");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret<T>(T);

impl<T> Secret<T> {
    /// Wraps `value`.
    pub const fn new(value: T) -> Self {
        Self(value)
    }

    /// The value in the clear.
    pub const fn expose(&self) -> &T {
        &self.0
    }
}

impl<T> fmt::Debug for Secret<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// A text that is not a [`MarketplaceToken`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be printable ASCII without leading or trailing spaces: it is sent in a header")]
pub struct InvalidMarketplaceToken;

/// The token with which a bidder account authenticates to the marketplace: printable ASCII, so that it fits into
/// an HTTP header.
///
/// ```
/// use bidloop_domain::model::MarketplaceToken;
///
/// let token = MarketplaceToken::parse("mk_0123")?;
/// assert_eq!(token.expose(), "mk_0123");
/// assert_eq!(format!("{token:?}"), "MarketplaceToken(Secret(…))");
/// assert!(MarketplaceToken::parse("two\nlines").is_err());
/// # Ok::<(), bidloop_domain::model::InvalidMarketplaceToken>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MarketplaceToken(Secret<String>);

impl MarketplaceToken {
    /// Checks that `text` is printable ASCII without leading or trailing spaces, and not empty.
    pub fn parse(text: &str) -> Result<Self, InvalidMarketplaceToken> {
        let printable = text.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if printable && !text.is_empty() && text.trim() == text {
            Ok(Self(Secret::new(text.to_owned())))
        } else {
            Err(InvalidMarketplaceToken)
        }
    }

    /// A token that was not checked, such as a stored one. One that [`parse`](Self::parse) refuses fails at the
    /// marketplace like an invalid token.
    pub fn unchecked(text: String) -> Self {
        Self(Secret::new(text))
    }

    /// The token in the clear.
    pub fn expose(&self) -> &str {
        self.0.expose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_fits_into_a_header() {
        for accepted in ["t", "mk_a b~!", &"x".repeat(5_000)] {
            assert!(MarketplaceToken::parse(accepted).is_ok(), "{accepted}");
        }
        for refused in ["", " ", " t", "t ", "a\tb", "a\r\nb", "é", "a\u{7f}"] {
            assert!(MarketplaceToken::parse(refused).is_err(), "{refused:?}");
        }
    }
}
