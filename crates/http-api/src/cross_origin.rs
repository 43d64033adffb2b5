//! [`AllowedOrigins`]: which web pages may call the operations (CORS). Without a setting, none may.
//!
//! The credential of a call is its `Authorization` header, which the page has to have: cookies are neither sent nor taken.

use actix_cors::{Cors, CorsError};
use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, header};
use actix_web::middleware::Next;
use actix_web::{Error, web};
use url::Url;

use crate::HttpApi;
use crate::errors::Refusal;

/// For how many seconds a browser need not ask again.
const KEPT_SECONDS: usize = 3_600;

/// The pages that may call the operations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum AllowedOrigins {
    /// None.
    #[default]
    None,
    /// All.
    Any,
    /// Those of these origins.
    These(Vec<String>),
}

impl AllowedOrigins {
    /// Reads origins such as `https://app.example.com`, or `*` alone.
    ///
    /// # Errors
    /// The end of a sentence that says what is wrong with which of them.
    pub fn parse<'o>(origins: impl IntoIterator<Item = &'o str>) -> Result<Self, String> {
        let origins: Vec<&str> = origins.into_iter().collect();
        match origins[..] {
            [] => Ok(Self::None),
            ["*"] => Ok(Self::Any),
            _ if origins.contains(&"*") => {
                Err("`*` stands for every origin: it must be the only entry".to_owned())
            }
            _ => origins
                .into_iter()
                .map(origin)
                .collect::<Result<_, _>>()
                .map(Self::These),
        }
    }

    /// What guards the operations, if any page may call them.
    pub(crate) fn guard(&self) -> Option<Cors> {
        let cors = match self {
            Self::None => return None,
            Self::Any => Cors::default().allow_any_origin().send_wildcard(),
            Self::These(origins) => origins
                .iter()
                .fold(Cors::default(), |cors, origin| cors.allowed_origin(origin)),
        };
        let sent = [
            header::AUTHORIZATION,
            header::CONTENT_TYPE,
            header::IF_NONE_MATCH,
            header::HeaderName::from_static("x-request-id"),
            header::HeaderName::from_static("traceparent"),
        ];
        let read = [
            header::ETAG,
            header::HeaderName::from_static("x-request-id"),
            header::RETRY_AFTER,
            header::WWW_AUTHENTICATE,
            header::ALLOW,
        ];
        let cors = cors
            .allowed_methods([Method::GET, Method::HEAD, Method::POST])
            .allowed_headers(sent)
            .expose_headers(read)
            .max_age(KEPT_SECONDS);
        Some(cors)
    }
}

/// An origin as browsers write it.
fn origin(text: &str) -> Result<String, String> {
    let because = match Url::parse(text) {
        Err(_) => "it is no URL".to_owned(),
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            "only pages of http:// and https:// have one".to_owned()
        }
        Ok(url) => {
            let written = url.origin().ascii_serialization();
            if written == text && !written.contains('*') {
                return Ok(written);
            }
            if written.contains('*') {
                "there are no patterns: name each one".to_owned()
            } else {
                format!("browsers write it `{written}`")
            }
        }
    };
    Err(format!(
        "`{text}` is not an origin such as `https://app.example.com`, without a path: {because}"
    ))
}

/// Words the refusal of a preflight as a Standard Error, and refuses it while the database is unavailable.
pub(crate) async fn word_refusals<B: MessageBody + 'static>(
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let is_preflight = request.method() == Method::OPTIONS
        && request
            .headers()
            .contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    if is_preflight
        && let Some(api) = request.app_data::<web::Data<HttpApi>>().cloned()
        && let Err(refusal) = api.require_database().await
    {
        return Ok(request.into_response(refusal.into_response()));
    }
    let response = next.call(request).await?.map_into_boxed_body();
    let error = response.response().error();
    let refused = error
        .and_then(|error| error.as_error::<CorsError>())
        .map(ToString::to_string);
    Ok(match refused {
        Some(why) => response.into_response(Refusal::preflight(&why).into_response()),
        None => response,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(origins: &[&str]) -> Result<AllowedOrigins, String> {
        AllowedOrigins::parse(origins.iter().copied())
    }

    #[test]
    fn origins_are_taken_as_browsers_write_them() {
        assert_eq!(parsed(&[]), Ok(AllowedOrigins::None));
        assert_eq!(parsed(&["*"]), Ok(AllowedOrigins::Any));
        for taken in [
            "https://app.example.com",
            "http://localhost:3000",
            "http://[::1]:8080",
            "https://xn--mnchen-3ya.example",
        ] {
            assert_eq!(
                parsed(&[taken]),
                Ok(AllowedOrigins::These(vec![taken.to_owned()])),
                "{taken}"
            );
        }
    }

    #[test]
    fn anything_else_is_refused_with_what_to_write() {
        for (refused, because) in [
            (&["app.example.com"][..], "no URL"),
            (&["null"], "no URL"),
            (&["file:///tmp/page.html"], "http:// and https://"),
            (
                &["https://app.example.com/"],
                "write it `https://app.example.com`",
            ),
            (
                &["https://app.example.com:443"],
                "write it `https://app.example.com`",
            ),
            (
                &["https://App.example.com/x?y"],
                "write it `https://app.example.com`",
            ),
            (&["https://*.example.com"], "no patterns"),
            (
                &["https://user@app.example.com"],
                "write it `https://app.example.com`",
            ),
            (&["https://a.example", "*"], "the only entry"),
        ] {
            let why = parsed(refused).unwrap_err();
            assert!(why.contains(because), "{refused:?}: {why}");
        }
    }
}
