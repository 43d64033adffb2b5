//! The service's address and the addresses of its operations.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use url::Url;

use crate::lead_ref::LeadRef;

/// Why a text is not a base URL. Never repeats the text, which may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    /// Not a URL.
    #[error("is not a URL: {0}")]
    Invalid(#[from] url::ParseError),
    /// Neither https nor http.
    #[error("must begin with https:// or http://")]
    Scheme,
    /// It contains a user name or a password; calls are authorized by the API key.
    #[error("must not contain a user name or a password")]
    Credentials,
    /// Something follows the path.
    #[error("must not contain a query (?) or a fragment (#)")]
    QueryOrFragment,
}

/// A checked base URL.
#[derive(Debug, Clone)]
pub(crate) struct BaseUrl(Url);

impl BaseUrl {
    pub(crate) fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let url = Url::parse(text)?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(BaseUrlError::Scheme);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BaseUrlError::Credentials);
        }
        if url.query().is_some() || url.fragment().is_some() {
            return Err(BaseUrlError::QueryOrFragment);
        }
        Ok(Self(url))
    }

    /// The address of a campaign's leads.
    pub(crate) fn leads(&self, campaign_id: &str, offset: u64, limit: u32) -> Url {
        let mut url = self.below(&format!("/v1/campaigns/{}/leads", segment(campaign_id)));
        url.set_query(Some(&format!("offset={offset}&limit={limit}")));
        url
    }

    /// The address of an operation on a lead.
    pub(crate) fn operation(&self, lead: LeadRef<'_>, operation: &str) -> Url {
        let (campaign, lead) = (segment(lead.campaign_id), segment(lead.lead_id));
        self.below(&format!("/v1/campaigns/{campaign}/leads/{lead}/{operation}"))
    }

    /// An address that the service sent, if it lies below the base URL: the API key goes nowhere else.
    pub(crate) fn checked(&self, address: &str) -> Option<Url> {
        let url = Url::parse(address).ok()?;
        let api = format!("{}/v1/", self.prefix());
        let ours = url.origin() == self.0.origin()
            && url.path().starts_with(&api)
            && url.username().is_empty()
            && url.password().is_none();
        ours.then_some(url)
    }

    fn below(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        url.set_path(&format!("{}{path}", self.prefix()));
        url
    }

    fn prefix(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }
}

/// What is escaped in a path segment.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'~')
    .remove(b'.');

/// Percent-encodes an id for one path segment.
fn segment(id: &str) -> String {
    utf8_percent_encode(id, ESCAPED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn base(text: &str) -> BaseUrl {
        BaseUrl::parse(text).unwrap()
    }

    #[test]
    fn operations_follow_the_base_url_and_its_path() {
        for (text, expected) in [
            (
                "http://127.0.0.1:8080",
                "http://127.0.0.1:8080/v1/campaigns/c/leads/l/bid",
            ),
            (
                "https://bids.test/",
                "https://bids.test/v1/campaigns/c/leads/l/bid",
            ),
            (
                "https://bids.test/api//",
                "https://bids.test/api/v1/campaigns/c/leads/l/bid",
            ),
        ] {
            assert_eq!(base(text).operation(("c", "l").into(), "bid").as_str(), expected);
        }
        let leads = base("http://s.test").leads("a/b?c", 20, 10);
        assert_eq!(
            leads.as_str(),
            "http://s.test/v1/campaigns/a%2Fb%3Fc/leads?offset=20&limit=10"
        );
    }

    #[test]
    fn an_address_elsewhere_is_not_called() {
        let base = base("https://bids.test/api");
        assert!(
            base.checked("https://bids.test/api/v1/campaigns/c/leads/l/bid")
                .is_some()
        );
        assert!(base.checked("https://bids.test:443/api/v1/x").is_some());
        for elsewhere in [
            "https://bids.test.evil.test/api/v1/x",
            "http://bids.test/api/v1/x",
            "https://bids.test:8443/api/v1/x",
            "https://bids.test/v1/x",
            "https://bids.test/api/../v1/x",
            "https://user@bids.test/api/v1/x",
            "/api/v1/x",
            "",
        ] {
            assert!(base.checked(elsewhere).is_none(), "{elsewhere}");
        }
    }

    #[test]
    fn a_wrong_base_url_is_refused() {
        assert_eq!(BaseUrl::parse("ftp://s.test").unwrap_err(), BaseUrlError::Scheme);
        assert_eq!(
            BaseUrl::parse("http://me:pw@s.test").unwrap_err(),
            BaseUrlError::Credentials
        );
        assert_eq!(
            BaseUrl::parse("http://s.test?a").unwrap_err(),
            BaseUrlError::QueryOrFragment
        );
        assert!(matches!(BaseUrl::parse("s.test"), Err(BaseUrlError::Invalid(_))));
    }
}
