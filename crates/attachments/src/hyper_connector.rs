//! The HTTP client under `object_store`: hyper with rustls, so that neither reqwest nor another cryptography library
//! enters the program.

use std::error::Error;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector as TcpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use object_store::ClientOptions;
use object_store::client::{
    ClientConfigKey, HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpRequestBody,
    HttpResponse, HttpResponseBody, HttpService,
};
use tokio::time::{Instant, Sleep};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// From the request to the answer's head, including the upload of a part of 5 MiB.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Between two pieces of an answer's body.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// Makes hyper clients for `object_store`.
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

/// The values that `object_store` itself takes for true.
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
        let answer = tokio::time::timeout(ANSWER_TIMEOUT, self.client.request(request))
            .await
            .map_err(|elapsed| HttpError::new(HttpErrorKind::Timeout, elapsed))?
            .map_err(|error| HttpError::new(kind_of_call(&error), error))?;
        Ok(answer.map(|body| HttpResponseBody::new(TimedBody::new(body))))
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

#[derive(Debug, thiserror::Error)]
#[error("the answer stalled")]
struct Stalled;

/// An answer's body that fails when it stalls.
#[derive(Debug)]
struct TimedBody {
    body: Incoming,
    deadline: Pin<Box<Sleep>>,
    /// Time counts only while the body is polled and has nothing: a slow reader is not the body's fault.
    is_waiting: bool,
}

impl TimedBody {
    fn new(body: Incoming) -> Self {
        Self {
            body,
            deadline: Box::pin(tokio::time::sleep(READ_TIMEOUT)),
            is_waiting: false,
        }
    }
}

impl Body for TimedBody {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, HttpError>>> {
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(frame) => {
                self.is_waiting = false;
                Poll::Ready(frame.map(|frame| {
                    frame.map_err(|error| {
                        let kind = match kind_of(&error) {
                            HttpErrorKind::Unknown => HttpErrorKind::Interrupted,
                            kind => kind,
                        };
                        HttpError::new(kind, error)
                    })
                }))
            }
            Poll::Pending => {
                if !std::mem::replace(&mut self.is_waiting, true) {
                    self.deadline.as_mut().reset(Instant::now() + READ_TIMEOUT);
                }
                let waited = self.deadline.as_mut().poll(context);
                waited.map(|()| Some(Err(HttpError::new(HttpErrorKind::Timeout, Stalled))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
