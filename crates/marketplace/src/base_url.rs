//! The address under which the marketplace speaks its protocol: `marketplace.base_url`.

use http::{HeaderValue, Uri};
use url::Url;

/// Why a text cannot be the marketplace's base address. Never repeats the text, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not a URL.
    #[error("is not a URL: {0}")]
    Invalid(String),
    /// Neither http nor https.
    #[error("must begin with https:// or http://, not {0}://")]
    Scheme(String),
    /// A user name or a password stands in it; calls are authorized by token.
    #[error("must hold no user name and no password")]
    Credentials,
    /// Something follows the path.
    #[error("must hold no query (?) and no fragment (#)")]
    QueryOrFragment,
}

/// A checked base address, taken apart into what a request needs of it.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl {
    origin: Uri,
    host_header: HeaderValue,
    /// The path that every call's path follows; empty or `/…` without a slash at its end.
    prefix: String,
}

impl BaseUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let url = Url::parse(text).map_err(|error| BaseUrlError::Invalid(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlError::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlError::QueryOrFragment);
        }
        let host = url.host_str().unwrap_or_default();
        let authority = url
            .port()
            .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
        let unusable = |error: &dyn std::error::Error| BaseUrlError::Invalid(error.to_string());
        Ok(Self {
            origin: format!("{}://{authority}/", url.scheme())
                .parse()
                .map_err(|error| unusable(&error))?,
            host_header: authority.parse().map_err(|error| unusable(&error))?,
            prefix: url.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Where to connect to.
    pub(crate) fn origin(&self) -> &Uri {
        &self.origin
    }

    /// The `Host` header.
    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    /// The request target of a call, `path` being the protocol's path and query.
    pub(crate) fn target(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

/// Percent-encodes a text for one path segment or one query value.
///
/// A dot is encoded too where it stands alone or doubled, since `.` and `..` would name another place.
pub(crate) fn percent_encode(text: &str) -> String {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let only_dots = text.bytes().all(|byte| byte == b'.');
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let plain = byte.is_ascii_alphanumeric()
            || matches!(byte, b'-' | b'_' | b'~')
            || (byte == b'.' && !only_dots);
        if plain {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(HEX[usize::from(byte >> 4)]));
            encoded.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(base_url: &str) -> String {
        BaseUrl::parse(base_url).unwrap().target("/api/jobs")
    }

    #[test]
    fn paths_follow_the_prefix_with_one_slash_between() {
        assert_eq!(target("https://market.test"), "/api/jobs");
        assert_eq!(target("https://market.test/"), "/api/jobs");
        assert_eq!(target("https://market.test/eu/v2"), "/eu/v2/api/jobs");
        assert_eq!(target("https://market.test/eu/v2//"), "/eu/v2/api/jobs");
        assert_eq!(target("https://market.test/e u/"), "/e%20u/api/jobs");
    }

    #[test]
    fn the_port_is_named_unless_it_is_the_schemes_own() {
        for (base_url, origin, host) in [
            ("https://Market.test:443/", "https://market.test/", "market.test"),
            (
                "http://market.test:9090",
                "http://market.test:9090/",
                "market.test:9090",
            ),
            ("http://[::1]:9090/x", "http://[::1]:9090/", "[::1]:9090"),
            (
                "https://märkt.test",
                "https://xn--mrkt-loa.test/",
                "xn--mrkt-loa.test",
            ),
        ] {
            let parsed = BaseUrl::parse(base_url).unwrap();
            assert_eq!(parsed.origin().to_string(), origin);
            assert_eq!(parsed.host_header(), host);
        }
    }

    #[test]
    fn what_cannot_be_a_base_address_is_refused_without_repeating_it() {
        for (base_url, problem) in [
            ("market.test", "is not a URL: relative URL without a base"),
            ("", "is not a URL: relative URL without a base"),
            ("https://", "is not a URL: empty host"),
            (
                "ftp://market.test",
                "must begin with https:// or http://, not ftp://",
            ),
            (
                "market.test:80",
                "must begin with https:// or http://, not market.test://",
            ),
            (
                "https://user@market.test",
                "must hold no user name and no password",
            ),
            (
                "https://:secret@market.test",
                "must hold no user name and no password",
            ),
            (
                "https://market.test?key=secret",
                "must hold no query (?) and no fragment (#)",
            ),
            (
                "https://market.test/#top",
                "must hold no query (?) and no fragment (#)",
            ),
        ] {
            assert_eq!(
                BaseUrl::parse(base_url).unwrap_err().to_string(),
                problem,
                "{base_url}"
            );
        }
    }

    #[test]
    fn whatever_an_id_holds_stays_one_segment() {
        assert_eq!(percent_encode("1770220326750362358"), "1770220326750362358");
        assert_eq!(percent_encode("~01a-b_c.d"), "~01a-b_c.d");
        assert_eq!(
            percent_encode("a/b?c#d%e f&g=h+i"),
            "a%2Fb%3Fc%23d%25e%20f%26g%3Dh%2Bi"
        );
        assert_eq!(percent_encode("ü"), "%C3%BC");
        assert_eq!(percent_encode(".."), "%2E%2E");
    }
}
