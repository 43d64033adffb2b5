//! What holds for every request to the console: the host it names, where a change comes from, and the headers of its
//! answer (decision E5).

use std::net::IpAddr;
use std::str::FromStr;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use actix_web::http::uri::Authority;
use actix_web::http::{Method, Uri};
use actix_web::middleware::Next;
use actix_web::{Error, HttpMessage, web};
use bidloop_http_server::{Holding, RequestBody};

use crate::Console;
use crate::page::PageError;
use crate::wanted_part::WantedPart;

/// Pages load nothing from elsewhere, run no script of their own text, and are shown in no frame.
const CONTENT_SECURITY_POLICY: &str =
    "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'; object-src 'none'";

const SECURITY_HEADERS: [(HeaderName, &str); 5] = [
    (header::CONTENT_SECURITY_POLICY, CONTENT_SECURITY_POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "same-origin"),
    (
        HeaderName::from_static("cross-origin-opener-policy"),
        "same-origin",
    ),
];

/// Where the console is reached.
#[derive(Debug, Clone)]
pub struct ConsoleAddress {
    is_https: bool,
    /// Host and port as browsers name them, in lower case.
    authority: String,
}

impl ConsoleAddress {
    /// The address under `base_url` (setting `server.base_url`).
    pub fn of(base_url: &str) -> Self {
        let (scheme, rest) = base_url.split_once("://").unwrap_or(("http", base_url));
        let is_https = scheme.eq_ignore_ascii_case("https");
        let authority = rest.split('/').next().unwrap_or_default().to_ascii_lowercase();
        let default_port = if is_https { ":443" } else { ":80" };
        Self {
            is_https,
            authority: authority
                .strip_suffix(default_port)
                .unwrap_or(&authority)
                .to_owned(),
        }
    }

    /// Whether browsers reach the console over TLS.
    pub(crate) const fn is_https(&self) -> bool {
        self.is_https
    }

    /// The whole address of a path, for somebody elsewhere.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        format!("{scheme}://{}{path}", self.authority)
    }

    /// Whether a request may name this host: the console's own, or one that no stranger's DNS can point here.
    fn takes_host(&self, authority: &str) -> bool {
        let authority = authority.to_ascii_lowercase();
        let host = Authority::from_str(&authority);
        let Ok(host) = host.as_ref().map(Authority::host) else {
            return false;
        };
        let address = host.trim_start_matches('[').trim_end_matches(']');
        authority == self.authority || host == "localhost" || IpAddr::from_str(address).is_ok()
    }

    /// Whether a request that changes something comes from a page of the console.
    fn is_own_page(&self, headers: &HeaderMap, host: &str) -> bool {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        if let Some(site) = text(HeaderName::from_static("sec-fetch-site"))
            && site != "same-origin"
        {
            return false;
        }
        // A browser sends the header with every such request.
        let Some(origin) = text(header::ORIGIN).and_then(|origin| Uri::from_str(origin).ok()) else {
            return false;
        };
        let authority = origin
            .authority()
            .map(|authority| authority.as_str().to_ascii_lowercase());
        authority
            .is_some_and(|authority| authority == host.to_ascii_lowercase() || authority == self.authority)
    }
}

/// Guards every request to a page.
pub(crate) async fn guard<B: MessageBody + 'static>(
    mut request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let payload = request.take_payload();
    let body = RequestBody::of(payload, request.request());
    request.extensions_mut().insert(body.clone());
    let part = WantedPart::of(request.request());
    let refusal = refusal(&request);
    let mut response = match refusal {
        Some(refusal) => request.into_response(refusal.answer()),
        None => next.call(request).await?.map_into_boxed_body(),
    };
    if let Some(part) = part {
        let error = response.response().error();
        let error = error.and_then(|error| error.as_error::<PageError>());
        if let Some(answer) = error.map(|error| part.refused(error)) {
            response = response.into_response(answer);
        }
    }
    let headers = response.headers_mut();
    for (name, value) in SECURITY_HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    Ok(response.map_body(|_, answer| Holding::new(body, answer).boxed()))
}

fn refusal(request: &ServiceRequest) -> Option<PageError> {
    let console = request.app_data::<web::Data<Console>>()?;
    let host = request
        .headers()
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let Some(host) = host.filter(|host| console.address.takes_host(host)) else {
        return Some(PageError::WrongHost);
    };
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    (changes && !console.address.is_own_page(request.headers(), host)).then_some(PageError::ForeignOrigin)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_own_name_and_addresses_are_taken_as_host() {
        let address = ConsoleAddress::of("https://bidloop.acme.test/");
        for taken in [
            "bidloop.acme.test",
            "Bidloop.Acme.Test",
            "127.0.0.1:8080",
            "[::1]:8080",
            "localhost:8080",
            "10.1.2.3",
        ] {
            assert!(address.takes_host(taken), "{taken}");
        }
        for refused in [
            "evil.test",
            "bidloop.acme.test.evil.test",
            "localhost.evil.test",
            "127.0.0.1.evil.test",
            "",
            "a b",
        ] {
            assert!(!address.takes_host(refused), "{refused}");
        }
    }

    #[test]
    fn a_change_comes_from_a_page_of_the_console() {
        let address = ConsoleAddress::of("https://bidloop.acme.test");
        let from = |pairs: &[(&str, &str)]| {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(
                    HeaderName::from_str(name).unwrap(),
                    HeaderValue::from_str(value).unwrap(),
                );
            }
            address.is_own_page(&headers, "127.0.0.1:8080")
        };
        assert!(from(&[("origin", "http://127.0.0.1:8080")]));
        assert!(from(&[
            ("origin", "https://bidloop.acme.test"),
            ("sec-fetch-site", "same-origin")
        ]));
        assert!(!from(&[]));
        assert!(!from(&[("origin", "null")]));
        assert!(!from(&[("origin", "http://127.0.0.1:3000")]));
        assert!(!from(&[("origin", "https://evil.test")]));
        assert!(!from(&[
            ("origin", "https://bidloop.acme.test"),
            ("sec-fetch-site", "cross-site")
        ]));
    }
}
