//! The HTTP client for `object_store`: hyper with rustls, so that the program contains neither reqwest nor another
//! cryptography library.

use std::error::Error;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream;
use http_body_util::{BodyExt as _, StreamBody};
use hyper::body::{Body, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::timeout;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The time from the request to the answer's head, including the upload of a part of 5 MiB.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// The longest wait for the next piece of an answer's body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Creates hyper clients for `object_store`.
#[derive(Debug)]
pub(crate) struct HyperConnector {
    pub(crate) tls: Arc<rustls::ClientConfig>,
}

impl HttpConnector for HyperConnector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let mut tcp = TcpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let tls = HttpsConnectorBuilder::new().with_tls_config(self.tls.as_ref().clone());
        let allows_http = options
            .get_config_value(&ClientConfigKey::AllowHttp)
            .is_some_and(|value| is_truthy(&value));
        let tls = if allows_http {
            tls.https_or_http()
        } else {
            tls.https_only()
        };
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .build(tls.enable_http1().wrap_connector(tcp));
        Ok(HttpClient::new(HyperService { client }))
    }
}

/// Whether `object_store` itself reads the value as true.
fn is_truthy(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "1" | "true" | "on" | "yes" | "y"
    )
}

#[derive(Debug)]
struct HyperService {
    client: Client<HttpsConnector<TcpConnector>, HttpRequestBody>,
}

#[async_trait]
impl HttpService for HyperService {
    async fn call(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        let answer = timeout(ANSWER_TIMEOUT, self.client.request(request))
            .await
            .map_err(|elapsed| HttpError::new(HttpErrorKind::Timeout, elapsed))?
            .map_err(|error| HttpError::new(kind_of_call(&error), error))?;
        Ok(answer.map(|body| HttpResponseBody::new(timed(body))))
    }
}

fn kind_of_call(error: &hyper_util::client::legacy::Error) -> HttpErrorKind {
    if error.is_connect() {
        return HttpErrorKind::Connect;
    }
    error
        .source()
        .and_then(|source| source.downcast_ref())
        .map_or(HttpErrorKind::Unknown, kind_of)
}

fn kind_of(error: &hyper::Error) -> HttpErrorKind {
    if error.is_timeout() {
        HttpErrorKind::Timeout
    } else if error.is_canceled()
        || error.is_closed()
        || error.is_incomplete_message()
        || error.is_body_write_aborted()
    {
        HttpErrorKind::Interrupted
    } else {
        HttpErrorKind::Unknown
    }
}

/// The frames of an answer's body; a stall is an error. Time counts only while a frame is awaited, so a slow reader is
/// not an error.
fn timed(body: Incoming) -> impl Body<Data = Bytes, Error = HttpError> + Send + Sync {
    StreamBody::new(stream::try_unfold(body, |mut body| async move {
        let frame = timeout(READ_TIMEOUT, body.frame())
            .await
            .map_err(|_| HttpError::new(HttpErrorKind::Timeout, io::Error::other("the answer stalled")))?;
        let frame = frame.transpose().map_err(|error| {
            let kind = match kind_of(&error) {
                HttpErrorKind::Unknown => HttpErrorKind::Interrupted,
                kind => kind,
            };
            HttpError::new(kind, error)
        })?;
        Ok(frame.map(|frame| (frame, body)))
    }))
}
