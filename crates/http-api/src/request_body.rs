//! Checks a request's envelope, its declared size and its media type, and words what went wrong with its body.

use actix_web::HttpRequest;
use actix_web::http::header::{self, HeaderMap};
use bidloop_domain::model::FieldError;
use bidloop_domain::use_case::LeadError;
use bidloop_http_server::{BodyFault, ByteShare, NoRoom, RequestBody, declared_length, is_media_type};
use bytes::Bytes;

use crate::bodies_in_flight::overloaded;

/// The largest JSON body: 3 MB of 1,048,576 bytes each (specification, Limits; decision A9).
pub(crate) const MAX_JSON_BYTES: u64 = 3 * 1_048_576;

/// The media type of bids and rejections.
pub(crate) const JSON: &str = "application/json";

/// The media type of uploads.
pub(crate) const FORM_DATA: &str = "multipart/form-data";

/// Refuses a body that is declared larger than `limit_bytes`, before anything is read.
pub(crate) fn check_declared_length(headers: &HeaderMap, limit_bytes: u64) -> Result<(), LeadError> {
    match declared_length(headers) {
        Some(declared) if declared > limit_bytes => Err(LeadError::TooLarge { limit_bytes }),
        _ => Ok(()),
    }
}

/// Refuses an encoded body, and a media type other than `expected`, regardless of its parameters. An absent Content-Type
/// counts as the right one (decision A3).
pub(crate) fn check_media_type(headers: &HeaderMap, expected: &'static str) -> Result<(), LeadError> {
    let refuse = |given: String| Err(LeadError::UnsupportedMediaType { given, expected });
    let shown = |value: &header::HeaderValue| {
        String::from_utf8_lossy(value.as_bytes())
            .chars()
            .take(100)
            .collect::<String>()
    };
    for value in headers.get_all(header::CONTENT_ENCODING) {
        if !value.as_bytes().eq_ignore_ascii_case(b"identity") {
            return refuse(format!("content encoding {}", shown(value)));
        }
    }
    for value in headers.get_all(header::CONTENT_TYPE) {
        if !is_media_type(value, expected) {
            return refuse(shown(value));
        }
    }
    Ok(())
}

/// Reads a whole JSON body, which `share` then holds, after a check of the request's headers.
pub(crate) async fn read_json(
    body: &RequestBody,
    request: &HttpRequest,
    share: &mut ByteShare,
) -> Result<Bytes, LeadError> {
    check_declared_length(request.headers(), MAX_JSON_BYTES)?;
    check_media_type(request.headers(), JSON)?;
    let read = body.read(MAX_JSON_BYTES, |bytes| share.take(bytes).map_err(ReadFault::from));
    Ok(read.await?)
}

/// Why a body could not be read.
#[derive(Debug)]
pub(crate) struct ReadFault(LeadError);

impl From<LeadError> for ReadFault {
    fn from(error: LeadError) -> Self {
        Self(error)
    }
}

impl From<ReadFault> for LeadError {
    fn from(fault: ReadFault) -> Self {
        fault.0
    }
}

impl From<NoRoom> for ReadFault {
    fn from(fault: NoRoom) -> Self {
        Self(overloaded(fault))
    }
}

impl From<BodyFault> for ReadFault {
    fn from(fault: BodyFault) -> Self {
        Self(match fault {
            BodyFault::TooLarge { limit_bytes } => LeadError::TooLarge { limit_bytes },
            fault => malformed(&fault.to_string()),
        })
    }
}

/// A fault of the body as a whole.
pub(crate) fn malformed(message: &str) -> LeadError {
    LeadError::Malformed(vec![FieldError::new::<&str>(&[], message)])
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(name.clone(), HeaderValue::from_str(value).unwrap());
        }
        headers
    }

    #[test]
    fn a_declared_length_at_the_limit_passes_and_one_above_does_not() {
        let declared = |text| check_declared_length(&headers(&[(CONTENT_LENGTH, text)]), MAX_JSON_BYTES);
        assert!(declared("3145728").is_ok());
        assert!(declared("3145729").is_err());
        assert!(declared("99999999999999999999999999").is_err());
    }

    #[test]
    fn the_media_type_counts_and_its_parameters_do_not() {
        let given = |text| check_media_type(&headers(&[(CONTENT_TYPE, text)]), JSON);
        assert!(given("application/json").is_ok());
        assert!(given("Application/JSON ; charset=utf-8").is_ok());
        assert!(given("application/problem+json").is_err());
        assert!(given("text/plain").is_err());
        assert!(given("json").is_err());
        assert!(
            check_media_type(&headers(&[]), JSON).is_ok(),
            "absent is taken for the right one"
        );
    }

    #[test]
    fn an_encoded_body_is_an_unsupported_media_type() {
        assert!(check_media_type(&headers(&[(CONTENT_ENCODING, "gzip")]), JSON).is_err());
        assert!(check_media_type(&headers(&[(CONTENT_ENCODING, "identity")]), JSON).is_ok());
    }
}
