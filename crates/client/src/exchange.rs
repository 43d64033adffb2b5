//! One call: a request, its repetitions, and its answer.
//!
//! What a failed attempt means for the service's state is decided here: nothing was done, or that is unknown.

use std::error::Error as StdError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Empty, Full, LengthLimitError, Limited, StreamBody};
use hyper::body::Frame;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Connections;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Serialize;
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::api_key::ApiKey;
use crate::attachment::Upload;
use crate::error::{Error, ErrorKind, causes};
use crate::multipart::{FileFault, Multipart};
use crate::refusal::Refusal;
use crate::retry::RetryPolicy;
use crate::retry_after::retry_after;

/// The largest answer. A page of 100 leads is far smaller.
const MAX_ANSWER: usize = 64 * 1_048_576;

/// How long an unused connection is kept. Many servers close theirs after 5 s.
const IDLE: Duration = Duration::from_secs(4);

type RequestBody = UnsyncBoxBody<Bytes, FileFault>;

/// Makes calls of one API key.
#[derive(Debug)]
pub(crate) struct Exchange {
    connections: Connections<HttpsConnector<HttpConnector>, RequestBody>,
    key: ApiKey,
    /// The time limit of an attempt.
    timeout: Duration,
    /// The time limit of an attempt to upload.
    upload_timeout: Duration,
    retry: RetryPolicy,
}

/// The body of an attempt.
struct Attempt {
    content_type: Option<String>,
    length: Option<u64>,
    body: RequestBody,
    /// Whether the whole body was taken to be sent; for a body that is sent at once there is nothing to know.
    taken_whole: Option<Arc<AtomicBool>>,
}

/// What a failed attempt left at the service.
#[derive(PartialEq, Eq)]
enum Effect {
    None,
    Unknown,
}

impl Exchange {
    pub(crate) fn new(
        tls: rustls::ClientConfig,
        key: ApiKey,
        timeout: Duration,
        upload_timeout: Duration,
        retry: RetryPolicy,
    ) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(timeout));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let connections = Connections::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE)
            .build(connector);
        Self {
            connections,
            key,
            timeout,
            upload_timeout,
            retry,
        }
    }

    /// `GET`: changes nothing that a repetition would change again, so it is repeated.
    pub(crate) async fn get(&self, url: &Url) -> Result<Bytes, Error> {
        let attempt = || self.attempt(&Method::GET, url, Attempt::empty(), self.timeout);
        let called = self
            .repeat(attempt, |failed| is_passing(failed.error.kind()))
            .await;
        called.map_err(|mut error| {
            error.effect_unknown = false;
            error
        })
    }

    /// `POST` of JSON, repeated: the second of two equal bids or rejections is refused.
    pub(crate) async fn post(&self, url: &Url, body: Option<&impl Serialize>) -> Result<Bytes, Error> {
        let json = match body.map(serde_json::to_vec).transpose() {
            Ok(json) => json.map(Bytes::from),
            Err(error) => return Err(ErrorKind::Request(error.to_string()).into()),
        };
        let attempt = || {
            let body = json.clone().map_or_else(Attempt::empty, Attempt::json);
            self.attempt(&Method::POST, url, body, self.timeout)
        };
        self.repeat(attempt, |failed| is_passing(failed.error.kind()))
            .await
    }

    /// `POST` of files. A second upload of a name is refused, so it is repeated only if the service cannot have the files:
    /// if there was no connection, or a 503 with `Retry-After` came before the body was sent whole.
    pub(crate) async fn upload(&self, url: &Url, mut files: Vec<Upload>) -> Result<Bytes, Error> {
        let repeatable = files.iter().all(Upload::is_repeatable);
        let attempt = || {
            let attempt = Attempt::files(&mut files);
            async move {
                self.attempt(&Method::POST, url, attempt?, self.upload_timeout)
                    .await
            }
        };
        let again = |failed: &Failed| {
            let is_invited = match *failed.error.kind() {
                ErrorKind::Unreachable(_) => true,
                ErrorKind::Refused {
                    status, retry_after, ..
                } => status == 503 && retry_after.is_some(),
                _ => false,
            };
            repeatable && is_invited && failed.effect == Effect::None
        };
        self.repeat(attempt, again).await
    }

    async fn repeat<F: Future<Output = Result<Bytes, Failed>>>(
        &self,
        mut attempt: impl FnMut() -> F,
        again: impl Fn(&Failed) -> bool,
    ) -> Result<Bytes, Error> {
        let started = Instant::now();
        let mut effect_unknown = false;
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failed = match attempt().await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            effect_unknown |= failed.effect == Effect::Unknown;
            let asked = match *failed.error.kind() {
                ErrorKind::Refused { retry_after, .. } => retry_after,
                _ => None,
            };
            let pause = self.retry.pause(attempts, asked, started.elapsed(), chance());
            let Some(pause) = pause.filter(|_| again(&failed)) else {
                let mut error = failed.error;
                error.attempts = attempts;
                error.effect_unknown = effect_unknown;
                return Err(error);
            };
            sleep(pause).await;
        }
    }

    /// Sends a request and reads its answer, whose status must be 200.
    async fn attempt(
        &self,
        method: &Method,
        url: &Url,
        attempt: Attempt,
        limit: Duration,
    ) -> Result<Bytes, Failed> {
        let taken_whole = attempt.taken_whole.clone();
        let request = self.request(method, url, attempt)?;
        let (status, headers, body) = match timeout(limit, self.exchange(request)).await {
            Ok(answer) => answer?,
            Err(_) => return Err(ErrorKind::NoAnswer(format!("not within {limit:?}")).into()),
        };
        if status == StatusCode::OK {
            return Ok(body);
        }
        let failed = Failed::from(ErrorKind::Refused {
            status: status.as_u16(),
            refusal: Refusal::read(&body),
            retry_after: retry_after(&headers),
            request_id: headers
                .get("x-request-id")
                .and_then(|id| id.to_str().ok())
                .map(str::to_owned),
        });
        match taken_whole {
            Some(taken) if !taken.load(Ordering::Relaxed) => Err(Failed {
                effect: Effect::None,
                ..failed
            }),
            _ => Err(failed),
        }
    }

    fn request(&self, method: &Method, url: &Url, attempt: Attempt) -> Result<Request<RequestBody>, Failed> {
        let mut request = Request::builder()
            .method(method)
            .uri(url.as_str())
            .header(AUTHORIZATION, self.key.authorization())
            .header(ACCEPT, HeaderValue::from_static("application/json"))
            .header(USER_AGENT, concat!("bidloop-client/", env!("CARGO_PKG_VERSION")));
        if let Some(content_type) = attempt.content_type {
            request = request.header(CONTENT_TYPE, content_type);
        }
        if let Some(length) = attempt.length {
            request = request.header(CONTENT_LENGTH, length);
        }
        request
            .body(attempt.body)
            .map_err(|error| ErrorKind::Request(error.to_string()).into())
    }

    async fn exchange(
        &self,
        request: Request<RequestBody>,
    ) -> Result<(StatusCode, HeaderMap, Bytes), Failed> {
        let response = self.connections.request(request).await.map_err(|error| {
            if error.is_connect() {
                ErrorKind::Unreachable(causes(&error))
            } else if let Some(fault) = file_fault(&error) {
                ErrorKind::File(fault.to_string())
            } else {
                ErrorKind::NoAnswer(causes(&error))
            }
        })?;
        let (head, body) = response.into_parts();
        let body = Limited::new(body, MAX_ANSWER).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                ErrorKind::Malformed(format!("it is larger than {MAX_ANSWER} bytes"))
            } else {
                ErrorKind::NoAnswer(format!("the answer breaks off: {}", causes(&*error)))
            }
        })?;
        Ok((head.status, head.headers, body.to_bytes()))
    }
}

impl Attempt {
    fn empty() -> Self {
        Self {
            content_type: None,
            length: None,
            body: Empty::new().map_err(|never| match never {}).boxed_unsync(),
            taken_whole: None,
        }
    }

    fn json(json: Bytes) -> Self {
        Self {
            content_type: Some("application/json".to_owned()),
            body: Full::new(json).map_err(|never| match never {}).boxed_unsync(),
            ..Self::empty()
        }
    }

    fn files(files: &mut [Upload]) -> Result<Self, Failed> {
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(|error| ErrorKind::Request(error.to_string()))?;
        let boundary = format!("bidloop-{:032x}", u128::from_le_bytes(random));
        let multipart = Multipart::of(files, &boundary);
        Ok(Self {
            content_type: Some(multipart.content_type),
            length: multipart.length,
            body: StreamBody::new(multipart.pieces.map(|piece| piece.map(Frame::data))).boxed_unsync(),
            taken_whole: Some(multipart.taken_whole),
        })
    }
}

/// A failed attempt.
struct Failed {
    error: Error,
    effect: Effect,
}

impl From<ErrorKind> for Failed {
    fn from(kind: ErrorKind) -> Self {
        let effect = match kind {
            ErrorKind::NoAnswer(_) | ErrorKind::Malformed(_) => Effect::Unknown,
            // A service that lost its database may have stored what it could not confirm; a gateway knows nothing.
            ErrorKind::Refused { status, .. } if status >= 500 || status == 408 => Effect::Unknown,
            _ => Effect::None,
        };
        Self {
            error: kind.into(),
            effect,
        }
    }
}

/// Whether the same request may succeed later.
fn is_passing(kind: &ErrorKind) -> bool {
    match kind {
        ErrorKind::Unreachable(_) | ErrorKind::NoAnswer(_) => true,
        ErrorKind::Refused { status, .. } => matches!(status, 408 | 429 | 502 | 503 | 504),
        _ => false,
    }
}

fn file_fault<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a FileFault> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(fault) = error.downcast_ref() {
            return Some(fault);
        }
        cause = error.source();
    }
    None
}

/// A random byte; 0 if the system has none, which only makes a pause longer.
fn chance() -> u8 {
    let mut random = [0];
    let _longest_pause = getrandom::fill(&mut random);
    random[0]
}
