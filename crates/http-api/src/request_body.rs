//! Reading a request's body: its declared size, its media type, and its bytes as they come, within bounds.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::error::PayloadError;
use actix_web::http::header::{self, HeaderMap};
use bidloop_domain::model::FieldError;
use bidloop_domain::use_case::LeadError;
use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt};
use tokio::time::{Instant, Sleep, sleep};

/// The most bytes of a JSON body: 3 MB of 1,048,576 bytes each (specification, Limits; decision A9).
pub(crate) const MAX_JSON_BYTES: u64 = 3 * 1_048_576;

/// How a body above its limit is told from other failures of its stream.
const ABOVE_LIMIT: io::ErrorKind = io::ErrorKind::FileTooLarge;

/// How long a body may stall.
const STALL_LIMIT: Duration = Duration::from_secs(30);

/// Holds back no more than this for a body of unknown length before its bytes are there.
const FIRST_ALLOCATION: usize = 16 * 1024;

/// What is accepted, by its essence.
pub(crate) const JSON: &str = "application/json";
/// What is accepted, by its essence.
pub(crate) const FORM_DATA: &str = "multipart/form-data";

/// The request's head refuses a body that is declared larger than `limit_bytes`, before anything is read.
pub(crate) fn check_declared_length(headers: &HeaderMap, limit_bytes: u64) -> Result<(), LeadError> {
    match declared_length(headers) {
        Some(declared) if declared > limit_bytes => Err(LeadError::TooLarge { limit_bytes }),
        _ => Ok(()),
    }
}

/// Whether the head says that there is no body.
pub(crate) fn declares_no_body(headers: &HeaderMap) -> bool {
    match declared_length(headers) {
        Some(length) => length == 0,
        None => !headers.contains_key(header::TRANSFER_ENCODING),
    }
}

fn declared_length(headers: &HeaderMap) -> Option<u64> {
    let digits = headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.trim();
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // More digits than fit are a larger number still.
    Some(digits.parse().unwrap_or(u64::MAX))
}

/// The media type is `expected`, whatever its parameters, and the body is sent as it is. An absent Content-Type is
/// taken for the right one (decision A3).
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
        let essence = value
            .as_bytes()
            .split(|byte| *byte == b';')
            .next()
            .unwrap_or_default();
        if !essence.trim_ascii().eq_ignore_ascii_case(expected.as_bytes()) {
            return refuse(shown(value));
        }
    }
    Ok(())
}

/// A request's body, which several may hold and one reads.
#[derive(Clone)]
pub(crate) struct RequestBody {
    payload: Rc<RefCell<Payload>>,
}

impl RequestBody {
    pub(crate) fn new(payload: actix_web::web::Payload) -> Self {
        Self {
            payload: Rc::new(RefCell::new(payload.into_inner())),
        }
    }

    /// The bytes as they come. More than `limit_bytes`, and a stall, end them with an error that
    /// [`broken_body`] knows.
    pub(crate) fn stream(&self, limit_bytes: u64) -> BoundedStream {
        BoundedStream {
            payload: self.payload.clone(),
            left: limit_bytes,
            stalled: Box::pin(sleep(STALL_LIMIT)),
        }
    }

    /// The whole JSON body, counted while it is read, once its head has passed.
    pub(crate) async fn read_json(&self, request: &HttpRequest) -> Result<Bytes, LeadError> {
        check_declared_length(request.headers(), MAX_JSON_BYTES)?;
        check_media_type(request.headers(), JSON)?;
        let declared = declared_length(request.headers()).unwrap_or_default();
        let first = usize::try_from(declared).map_or(FIRST_ALLOCATION, |length| length.min(FIRST_ALLOCATION));
        let mut body = BytesMut::with_capacity(first);
        let mut pieces = self.stream(MAX_JSON_BYTES);
        while let Some(piece) = pieces.next().await {
            body.extend_from_slice(&piece.map_err(|error| broken_body(&error, MAX_JSON_BYTES))?);
        }
        Ok(body.freeze())
    }
}

/// The fault of a body that could not be read to its end.
pub(crate) fn broken_body(error: &PayloadError, limit_bytes: u64) -> LeadError {
    let message = match error {
        PayloadError::Io(error) if error.kind() == ABOVE_LIMIT => {
            return LeadError::TooLarge { limit_bytes };
        }
        PayloadError::Io(error) if error.kind() == io::ErrorKind::TimedOut => "did not arrive in time",
        _ => "broke off before its end",
    };
    LeadError::Malformed(vec![FieldError::new::<&str>(&[], message)])
}

/// See [`RequestBody::stream`].
pub(crate) struct BoundedStream {
    payload: Rc<RefCell<Payload>>,
    left: u64,
    stalled: Pin<Box<Sleep>>,
}

impl Stream for BoundedStream {
    type Item = Result<Bytes, PayloadError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = Pin::new(&mut *self.payload.borrow_mut()).poll_next(context);
        match polled {
            Poll::Ready(Some(Ok(piece))) => {
                let length = piece.len() as u64;
                if length > self.left {
                    return Poll::Ready(Some(Err(PayloadError::Io(ABOVE_LIMIT.into()))));
                }
                self.left -= length;
                self.stalled.as_mut().reset(Instant::now() + STALL_LIMIT);
                Poll::Ready(Some(Ok(piece)))
            }
            Poll::Ready(end) => Poll::Ready(end),
            Poll::Pending => self
                .stalled
                .as_mut()
                .poll(context)
                .map(|()| Some(Err(PayloadError::Io(io::ErrorKind::TimedOut.into())))),
        }
    }
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
