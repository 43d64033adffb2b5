//! The credential of every call.

use std::fmt;

use http::HeaderValue;

/// An API key: `lk_` and 64 hexadecimal characters. `Debug` does not show it.
///
/// ```
/// use bidloop_client::ApiKey;
///
/// let key = ApiKey::parse(&format!("lk_{}", "0a".repeat(32)))?;
/// assert_eq!(format!("{key:?}"), "ApiKey(…)");
/// assert!(ApiKey::parse("lk_secret").is_err());
/// # Ok::<(), bidloop_client::InvalidApiKey>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(HeaderValue);

/// A text that is not an API key. Never repeats the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("an API key is `lk_` and 64 hexadecimal characters")]
pub struct InvalidApiKey;

impl ApiKey {
    /// Checks the form of a key.
    pub fn parse(text: &str) -> Result<Self, InvalidApiKey> {
        let digits = text.strip_prefix("lk_").ok_or(InvalidApiKey)?;
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(InvalidApiKey);
        }
        let mut authorization =
            HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| InvalidApiKey)?;
        authorization.set_sensitive(true);
        Ok(Self(authorization))
    }

    /// The value of `Authorization`.
    pub(crate) fn authorization(&self) -> HeaderValue {
        self.0.clone()
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("ApiKey(…)")
    }
}

impl std::str::FromStr for ApiKey {
    type Err = InvalidApiKey;

    fn from_str(text: &str) -> Result<Self, InvalidApiKey> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_64_hexadecimal_digits_after_its_prefix() {
        let digits = "0123456789abcdefABCDEF0123456789".repeat(2);
        assert!(ApiKey::parse(&format!("lk_{digits}")).is_ok());
        for wrong in [
            String::new(),
            digits.clone(),
            format!("lk_{}", &digits[1..]),
            format!("lk_{digits}0"),
            format!("lk_{}g", &digits[1..]),
            format!("lt_{digits}"),
            format!("lk_{digits}\r\nX: 1"),
            format!(" lk_{digits}"),
        ] {
            assert_eq!(ApiKey::parse(&wrong), Err(InvalidApiKey), "{wrong:?}");
        }
    }

    #[test]
    fn neither_key_nor_header_is_shown() {
        let key = ApiKey::parse(&format!("lk_{}", "ab".repeat(32))).unwrap();
        assert_eq!(format!("{key:?}"), "ApiKey(…)");
        assert!(!format!("{:?}", key.authorization()).contains("abab"));
    }
}
