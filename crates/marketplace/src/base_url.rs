//! The address of the marketplace's protocol: `marketplace.base_url`.

use http::{HeaderValue, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

/// Why a text is not a base address. Never repeats the text, which may contain a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not a URL.
    #[error("is not a URL: {0}")]
    Invalid(String),
    /// Neither http nor https.
    #[error("must begin with https:// or http://, not {0}://")]
    Scheme(String),
    /// It contains a user name or a password; calls are authorized by token.
    #[error("must not contain a user name or a password")]
    Credentials,
    /// Something follows the path.
    #[error("must not contain a query (?) or a fragment (#)")]
    QueryOrFragment,
}

/// A checked base address, split into the parts of a request.
///
/// ```
/// use bidloop_marketplace::{BaseUrl, percent_encode};
///
/// let base_url = BaseUrl::parse("https://market.test/eu/")?;
/// let target = base_url.target(&format!("/api/jobs/{}", percent_encode("a/b")));
/// assert_eq!(target, "/eu/api/jobs/a%2Fb");
/// # Ok::<(), bidloop_marketplace::BaseUrlError>(())
/// ```
#[derive(Debug, Clone)]
pub struct BaseUrl {
    origin: Uri,
    host_header: HeaderValue,
    /// The path in front of every call's path: empty, or `/…` without a slash at its end.
    prefix: String,
}

impl BaseUrl {
    /// Reads an `http` or `https` address.
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
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

    /// The address to connect to.
    pub fn origin(&self) -> &Uri {
        &self.origin
    }

    /// The `Host` header.
    pub fn host_header(&self) -> &HeaderValue {
        &self.host_header
    }

    /// The request target of a call; `path` is the protocol's path and query.
    pub fn target(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }
}

/// What is escaped in a path segment or a query value.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'~')
    .remove(b'.');

/// Percent-encodes a text for one path segment or one query value.
pub fn percent_encode(text: &str) -> String {
    // The segments `.` and `..` would lead to another place.
    let only_dots = text.bytes().all(|byte| byte == b'.');
    let escaped = if only_dots { NON_ALPHANUMERIC } else { ESCAPED };
    utf8_percent_encode(text, escaped).to_string()
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
    fn a_wrong_base_address_is_refused_without_repeating_it() {
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
                "must not contain a user name or a password",
            ),
            (
                "https://:secret@market.test",
                "must not contain a user name or a password",
            ),
            (
                "https://market.test?key=secret",
                "must not contain a query (?) or a fragment (#)",
            ),
            (
                "https://market.test/#top",
                "must not contain a query (?) or a fragment (#)",
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
    fn an_id_with_any_characters_stays_one_segment() {
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
