//! Reads a request's body: its declared size, its media type, and its bytes, within limits of size and time.

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::time::Instant;

use actix_web::HttpRequest;
use actix_web::dev::Payload;
use actix_web::http::header::{self, HeaderMap};
use bidloop_domain::model::FieldError;
use bidloop_domain::use_case::LeadError;
use bytes::Bytes;
use futures::{Stream, TryStreamExt, stream};
use tokio::time::timeout;

use crate::bodies_in_flight::Share;
use crate::connection::{ConnectionLimits, Exchange, Patience, SHORT_BODY_BYTES};

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

/// Whether the request has no body, by its headers.
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
    // Only a number that is too large does not parse.
    Some(digits.parse().unwrap_or(u64::MAX))
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

/// A request's body, which has several owners and one reader.
#[derive(Clone)]
pub(crate) struct RequestBody {
    payload: Rc<RefCell<Payload>>,
    exchange: Rc<Exchange>,
}

impl RequestBody {
    pub(crate) fn new(payload: actix_web::web::Payload, request: &HttpRequest) -> Self {
        let exchange = request.conn_data::<Rc<Exchange>>().cloned();
        Self {
            payload: Rc::new(RefCell::new(payload.into_inner())),
            exchange: exchange.unwrap_or_else(|| Exchange::new(ConnectionLimits::DEFAULT)),
        }
    }

    /// The bytes as they arrive, which `share` then holds. The stream ends with an error if there are more than
    /// `limit_bytes` or than the share allows, if they come too slowly, or if the connection breaks.
    pub(crate) fn stream<'s>(
        &self,
        limit_bytes: u64,
        share: &'s mut Share,
    ) -> impl Stream<Item = Result<Bytes, LeadError>> + use<'s> {
        let arriving = Arriving {
            body: self.clone(),
            patience: Patience::new(self.exchange.limits()),
            left: limit_bytes,
            limit_bytes,
            share,
        };
        stream::try_unfold(arriving, async |mut arriving| {
            let piece = arriving.next().await?;
            Ok(piece.map(|piece| (piece, arriving)))
        })
    }

    /// Reads a whole JSON body, after a check of the request's headers.
    pub(crate) async fn read_json(
        &self,
        request: &HttpRequest,
        share: &mut Share,
    ) -> Result<Bytes, LeadError> {
        check_declared_length(request.headers(), MAX_JSON_BYTES)?;
        check_media_type(request.headers(), JSON)?;
        let declared = declared_length(request.headers()).and_then(|length| usize::try_from(length).ok());
        let mut body = Vec::new();
        let mut pieces = pin!(self.stream(MAX_JSON_BYTES, share));
        while let Some(piece) = pieces.try_next().await? {
            if body.len() >= SHORT_BODY_BYTES {
                // Doubling would take twice the memory. A short beginning earns no room for a length that is only declared.
                body.reserve_exact(declared.unwrap_or_default().saturating_sub(body.len()));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body.into())
    }
}

/// A body that is being read.
struct Arriving<'s> {
    body: RequestBody,
    /// Only the time counts for which the sender is waited for.
    patience: Patience,
    left: u64,
    limit_bytes: u64,
    share: &'s mut Share,
}

impl Arriving<'_> {
    async fn next(&mut self) -> Result<Option<Bytes>, LeadError> {
        let waiting = Instant::now();
        let payload = &self.body.payload;
        let next = poll_fn(|context| Pin::new(&mut *payload.borrow_mut()).poll_next(context));
        let arrived = timeout(self.patience.left(), next).await;
        let arrived = arrived.map_err(|_| malformed("did not arrive in time"))?;
        let Some(piece) = arrived else {
            self.body.exchange.end_body();
            return Ok(None);
        };
        let piece = piece.map_err(|_| malformed("broke off before its end"))?;
        self.patience.waited(waiting.elapsed());
        self.patience.moved(piece.len());
        let left = self.left.checked_sub(piece.len() as u64);
        self.left = left.ok_or(LeadError::TooLarge {
            limit_bytes: self.limit_bytes,
        })?;
        self.share.take(piece.len())?;
        Ok(Some(piece))
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
