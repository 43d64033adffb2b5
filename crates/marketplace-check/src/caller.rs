//! Makes calls and keeps what came of them. Every call has a connection of its own, unless the connection is what is tried.

use std::error::Error as StdError;
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bidloop_marketplace::BaseUrl;
use bytes::Bytes;
use http::header::{
    ACCEPT, AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT,
};
use http::{HeaderName, HeaderValue, Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::ClientConfig;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tower_service::Service as _;

use crate::answer::{Answer, Asked, NoAnswer};

/// The largest answer that is read. The service reads pages of the feed up to this size.
const MAX_ANSWER_BYTES: usize = 64 << 20;
/// After so many calls without an answer no further ones are made: each may take the whole time-out.
const MOST_SILENT: usize = 3;
/// How often a call is repeated that was answered with 429.
const MOST_REPEATS: usize = 3;
/// The longest wait that a 429 can ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How long an answer is waited for before its connection is cut.
const ANSWER_BEGINS_WITHIN: Duration = Duration::from_millis(500);

/// A call to make.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    method: Method,
    /// Path and query, below the base address.
    path: String,
    headers: Vec<(HeaderName, String)>,
    body: Bytes,
}

impl Call {
    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            headers: vec![(ACCEPT, "application/json".to_owned())],
            body: Bytes::new(),
        }
    }

    pub(crate) fn post(path: &str, content_type: &str, body: impl Into<Bytes>) -> Self {
        let mut call = Self::get(path);
        call.method = Method::POST;
        call.body = body.into();
        call.with(CONTENT_TYPE, content_type)
    }

    pub(crate) fn with(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The call with this token, or without one.
    pub(crate) fn token(self, token: Option<&str>) -> Self {
        match token {
            Some(token) => self.with(AUTHORIZATION, &format!("Bearer {token}")),
            None => self,
        }
    }

    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

type Sender = SendRequest<Full<Bytes>>;

/// Makes the calls of a check.
pub(crate) struct Caller {
    base_url: BaseUrl,
    connector: HttpsConnector<HttpConnector>,
    timeout: Duration,
    asked: Vec<Asked>,
    silent: usize,
}

impl Caller {
    pub(crate) fn new(base_url: BaseUrl, tls: &Arc<ClientConfig>, timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls.as_ref().clone())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Self {
            base_url,
            connector,
            timeout,
            asked: Vec::new(),
            silent: 0,
        }
    }

    /// Every call that was made, with its outcome. Bodies of successes are left out.
    pub(crate) fn into_asked(self) -> Vec<Asked> {
        self.asked
    }

    /// Makes a call. Waits and repeats it as long as the answer is 429.
    pub(crate) async fn ask(&mut self, call: Call) -> Asked {
        for _ in 0..MOST_REPEATS {
            let asked = self.ask_once(&call).await;
            match &asked.outcome {
                Ok(answer) if answer.status == StatusCode::TOO_MANY_REQUESTS => sleep(wait(answer)).await,
                _ => return asked,
            }
        }
        self.ask_once(&call).await
    }

    async fn ask_once(&mut self, call: &Call) -> Asked {
        let outcome = if self.is_given_up() {
            Err(NoAnswer::NotAsked)
        } else {
            let mut connection = Connection::default();
            self.send(&mut connection, call).await
        };
        self.silent += usize::from(outcome.is_err());
        let asked = Asked {
            call: call.name(),
            outcome,
        };
        self.asked.push(asked.without_page());
        asked
    }

    /// Whether no further calls are made: there was no answer at the beginning, or several times.
    fn is_given_up(&self) -> bool {
        self.silent >= MOST_SILENT || (self.silent > 0 && self.silent == self.asked.len())
    }

    /// Makes a call on a connection that outlives it. The outcome concerns the connection alone and is not kept.
    pub(crate) async fn ask_on(&self, connection: &mut Connection, call: Call) -> Asked {
        let outcome = if self.is_given_up() {
            Err(NoAnswer::NotAsked)
        } else {
            self.send(connection, &call).await
        };
        Asked {
            call: call.name(),
            outcome,
        }
    }

    async fn send(&self, connection: &mut Connection, call: &Call) -> Result<Answer, NoAnswer> {
        let exchange = async {
            let sender = match &mut connection.sender {
                Some(sender) => sender,
                none => none.insert(self.handshake().await?),
            };
            let broken = |error: hyper::Error| NoAnswer::Broken(causes(&error));
            sender.ready().await.map_err(broken)?;
            let response = sender.send_request(self.request(call)?).await.map_err(broken)?;
            let (head, body) = response.into_parts();
            let body = Limited::new(body, MAX_ANSWER_BYTES)
                .collect()
                .await
                .map_err(|error| match error.downcast_ref::<hyper::Error>() {
                    Some(error) => NoAnswer::Broken(format!("the answer broke off: {}", causes(error))),
                    None => NoAnswer::TooLarge(MAX_ANSWER_BYTES),
                })?;
            Ok(Answer::new(
                head.status,
                head.version,
                head.headers,
                body.to_bytes(),
            ))
        };
        let outcome = timeout(self.timeout, exchange).await;
        outcome.unwrap_or_else(|_| Err(NoAnswer::Late(self.timeout.as_millis())))
    }

    fn request(&self, call: &Call) -> Result<Request<Full<Bytes>>, NoAnswer> {
        let mut request = Request::builder()
            .method(&call.method)
            .uri(self.base_url.target(&call.path))
            .header(HOST, self.base_url.host_header())
            .header(USER_AGENT, concat!("bidloop-check/", env!("CARGO_PKG_VERSION")));
        for (name, value) in &call.headers {
            request = request.header(name, value);
        }
        request
            .body(Full::new(call.body.clone()))
            .map_err(|error| NoAnswer::Broken(format!("the request cannot be written: {error}")))
    }

    async fn open(&self) -> Result<MaybeHttpsStream<TokioIo<TcpStream>>, NoAnswer> {
        let mut connector = self.connector.clone();
        let unreachable = |error: Box<dyn StdError + Send + Sync>| NoAnswer::Unreachable(causes(&*error));
        poll_fn(|cx| connector.poll_ready(cx))
            .await
            .map_err(unreachable)?;
        connector
            .call(self.base_url.origin().clone())
            .await
            .map_err(unreachable)
    }

    async fn handshake(&self) -> Result<Sender, NoAnswer> {
        let stream = self.open().await?;
        let handshake = http1::handshake(stream).await;
        let (sender, driver) = handshake.map_err(|error| NoAnswer::Broken(causes(&error)))?;
        tokio::spawn(async move {
            // The call that uses the connection reports its end.
            let _ended = driver.await;
        });
        Ok(sender)
    }

    /// Sends a call as a whole, and closes the connection when its answer begins, or after half a second: by then the call
    /// has arrived.
    pub(crate) async fn send_and_hang_up(&self, call: &Call) -> Result<(), NoAnswer> {
        if self.is_given_up() {
            return Err(NoAnswer::NotAsked);
        }
        let mut bytes = format!(
            "{} {} HTTP/1.1\r\n",
            call.method,
            self.base_url.target(&call.path)
        )
        .into_bytes();
        let fixed = [
            (HOST, self.base_url.host_header().clone()),
            (CONNECTION, HeaderValue::from_static("keep-alive")),
            (CONTENT_LENGTH, HeaderValue::from(call.body.len())),
        ];
        for (name, value) in &fixed {
            push_header(&mut bytes, name, value.as_bytes());
        }
        for (name, value) in &call.headers {
            push_header(&mut bytes, name, value.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(&call.body);
        let sending = async {
            let mut stream = TokioIo::new(self.open().await?);
            let broken = |error: std::io::Error| NoAnswer::Broken(error.to_string());
            stream.write_all(&bytes).await.map_err(broken)?;
            stream.flush().await.map_err(broken)?;
            let _ = timeout(ANSWER_BEGINS_WITHIN.min(self.timeout / 2), stream.read_u8()).await;
            stream.shutdown().await.map_err(broken)
        };
        let sent = timeout(self.timeout, sending).await;
        sent.unwrap_or(Err(NoAnswer::Late(self.timeout.as_millis())))
    }
}

/// A connection that is opened by its first call.
#[derive(Debug, Default)]
pub(crate) struct Connection {
    sender: Option<Sender>,
}

fn push_header(bytes: &mut Vec<u8>, name: &HeaderName, value: &[u8]) {
    bytes.extend_from_slice(name.as_str().as_bytes());
    bytes.extend_from_slice(b": ");
    bytes.extend_from_slice(value);
    bytes.extend_from_slice(b"\r\n");
}

/// How long an answer with 429 asks to wait: a second if it says nothing that can be read.
fn wait(answer: &Answer) -> Duration {
    let seconds = answer.header(RETRY_AFTER.as_str()).trim().parse().unwrap_or(1);
    Duration::from_secs(seconds).min(LONGEST_WAIT)
}

/// An error and its causes on one line.
fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    text
}
