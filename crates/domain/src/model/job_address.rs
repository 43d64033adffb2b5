//! The address of a job's page on the marketplace.

use url::{Position, Url};

/// A host that no path leads away from, so that a path is read by the rules of addresses.
const ANY_HOST: &str = "http://any.invalid";

/// The address of a job's page: a path under the marketplace's address, or an `http` or `https` address (decision D2,
/// `docs/rules.md#d2`).
///
/// People and programs open it, so nothing else passes: no `javascript:`, no `data:`, no control characters, and no
/// user name, behind which another host hides. What an address may not hold literally, such as a space, is
/// percent-encoded. Any host is accepted: a marketplace's pages may be on another host than its protocol.
///
/// ```
/// use bidloop_domain::model::JobAddress;
///
/// let path = JobAddress::parse("/jobs/~17")?;
/// assert_eq!(path.under(Some("https://market.test/eu")), "https://market.test/eu/jobs/~17");
/// let whole = JobAddress::parse("https://www.market.test/jobs/a b")?;
/// assert_eq!(whole.under(Some("https://market.test")), "https://www.market.test/jobs/a%20b");
/// assert!(JobAddress::parse("javascript:alert(1)").is_err());
/// # Ok::<(), bidloop_domain::model::InvalidJobAddress>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobAddress(Address);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Address {
    /// Begins with one slash.
    Path(String),
    /// With scheme and host.
    Whole(String),
}

/// A text that is not a [`JobAddress`]. Does not repeat the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be a path that begins with one `/`, or an http or https address without a user name")]
pub struct InvalidJobAddress;

impl JobAddress {
    /// Reads a post's `url`.
    ///
    /// # Errors
    /// [`InvalidJobAddress`] if it is neither a path nor an `http` or `https` address.
    pub fn parse(text: &str) -> Result<Self, InvalidJobAddress> {
        // Browsers drop control characters, and take a backslash for a slash.
        if text.chars().any(|c| c.is_control() || c == '\\') {
            return Err(InvalidJobAddress);
        }
        if text.starts_with('/') {
            // Two slashes begin a host.
            if text.starts_with("//") {
                return Err(InvalidJobAddress);
            }
            let url = Url::parse(&format!("{ANY_HOST}{text}")).map_err(|_| InvalidJobAddress)?;
            return Ok(Self(Address::Path(url[Position::BeforePath..].to_owned())));
        }
        let begins_with = |scheme: &str| {
            let start = text.get(..scheme.len());
            start.is_some_and(|start| start.eq_ignore_ascii_case(scheme))
        };
        if !begins_with("http://") && !begins_with("https://") {
            return Err(InvalidJobAddress);
        }
        let url = Url::parse(text).map_err(|_| InvalidJobAddress)?;
        if url.username().is_empty() && url.password().is_none() {
            Ok(Self(Address::Whole(url.into())))
        } else {
            Err(InvalidJobAddress)
        }
    }

    /// The marketplace's own address.
    pub(super) fn marketplace() -> Self {
        Self(Address::Path("/".to_owned()))
    }

    pub(super) const fn is_path(&self) -> bool {
        matches!(self.0, Address::Path(_))
    }

    /// The whole address; a path lies under `marketplace`, an address without a slash at its end.
    pub fn under(&self, marketplace: Option<&str>) -> String {
        match &self.0 {
            Address::Path(path) => format!("{}{path}", marketplace.unwrap_or_default()),
            Address::Whole(address) => address.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Option<String> {
        let address = JobAddress::parse(text).ok()?;
        Some(address.under(Some("https://market.test")))
    }

    #[test]
    fn a_path_lies_under_the_marketplace() {
        for (text, address) in [
            ("/jobs/~017", "https://market.test/jobs/~017"),
            ("/", "https://market.test/"),
            ("/jobs?id=1&x=%2F#top", "https://market.test/jobs?id=1&x=%2F#top"),
            ("/jobs/a b/é\"<", "https://market.test/jobs/a%20b/%C3%A9%22%3C"),
            ("/jobs/../../x", "https://market.test/x"),
            ("/@evil.test/x", "https://market.test/@evil.test/x"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(address), "{text}");
        }
    }

    #[test]
    fn a_whole_address_may_be_on_any_host() {
        for (text, address) in [
            (
                "https://www.upwork.com/jobs/~017",
                "https://www.upwork.com/jobs/~017",
            ),
            ("HTTP://127.0.0.1:9292/jobs/~1", "http://127.0.0.1:9292/jobs/~1"),
            ("https://märkt.test/x", "https://xn--mrkt-loa.test/x"),
        ] {
            assert_eq!(shown(text).as_deref(), Some(address), "{text}");
        }
    }

    #[test]
    fn whatever_else_a_browser_would_open_is_refused() {
        for text in [
            "javascript:alert(1)",
            "JavaScript://market.test/%0aalert(1)",
            " javascript:alert(1)",
            "data:text/html,<script>alert(1)</script>",
            "vbscript:x",
            "file:///etc/passwd",
            "ftp://market.test/x",
            "mailto:a@market.test",
            "//evil.test/x",
            "/\\evil.test/x",
            "\\\\evil.test\\x",
            "https:evil.test",
            "https://",
            "https://market.test@evil.test/",
            "https://user:password@market.test/",
            "/jobs/\u{0}",
            "/jobs\n/~1",
            "https://market.test/\r\nx",
            "java\tscript:alert(1)",
            "/jobs/\u{7f}",
            "/jobs/\u{9b}",
            "jobs/~1",
            "",
            " ",
        ] {
            assert_eq!(shown(text), None, "{text:?}");
        }
    }
}
