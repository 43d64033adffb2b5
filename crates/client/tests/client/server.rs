//! A server that answers requests as a script says, and keeps them.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpSocket;

/// The bytes that the system takes in for a connection before they are read.
const RECEIVE_BUFFER: u32 = 256 << 10;

/// What happens to one request.
pub(crate) enum Step {
    /// An answer with these headers.
    Answer(u16, Vec<(&'static str, &'static str)>, String),
    /// The connection is closed without an answer.
    Cut,
    /// The answer's body breaks off.
    CutBody,
    /// No answer ever comes.
    Hang,
    /// An answer before the body is read; the rest of it is never read.
    Early(u16, Vec<(&'static str, &'static str)>, String),
}

impl Step {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Answer(status, vec![("x-request-id", "req-1")], body.to_string())
    }

    /// A 503 that asks for no more than the client's own pause.
    pub(crate) fn unavailable() -> Self {
        let body = r#"{"statusCode":503,"error":"Service Unavailable","message":"later"}"#;
        Self::Answer(503, vec![("retry-after", "0")], body.to_owned())
    }
}

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }
}

#[derive(Default)]
struct Shared {
    script: Mutex<VecDeque<Step>>,
    requests: Mutex<Vec<Received>>,
    /// Bytes of bodies received so far.
    received: AtomicU64,
    /// Bodies that are not read.
    unread: Mutex<Vec<Incoming>>,
    /// Whether bodies are kept.
    forgets_bodies: bool,
}

pub(crate) struct Server {
    address: SocketAddr,
    shared: Arc<Shared>,
}

type Body = UnsyncBoxBody<Bytes, std::io::Error>;

impl Server {
    pub(crate) fn start(script: Vec<Step>) -> Self {
        Self::with(script, false)
    }

    /// A server that counts the bytes of bodies and does not keep them.
    pub(crate) fn counting(script: Vec<Step>) -> Self {
        Self::with(script, true)
    }

    fn with(script: Vec<Step>, forgets_bodies: bool) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        // Else the system may take in tens of megabytes that nobody has read.
        socket.set_recv_buffer_size(RECEIVE_BUFFER).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let listener = socket.listen(16).unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into()),
            forgets_bodies,
            ..Shared::default()
        });
        let serving = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&serving)));
            }
        });
        Self { address, shared }
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.shared.requests.lock().unwrap().clone()
    }

    pub(crate) fn received(&self) -> Arc<impl Fn() -> u64 + Send + Sync + use<>> {
        let shared = Arc::clone(&self.shared);
        Arc::new(move || shared.received.load(Ordering::SeqCst))
    }
}

/// Serves one connection.
pub(crate) async fn serve_steps(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    script: Vec<Step>,
) {
    let shared = Shared {
        script: Mutex::new(script.into()),
        ..Shared::default()
    };
    serve(stream, Arc::new(shared)).await;
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, shared: Arc<Shared>) {
    let service = service_fn(move |request| respond(request, Arc::clone(&shared)));
    let connection =
        hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    // A connection that the script cuts ends with an error.
    let _cut = connection.await;
}

async fn respond(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Response<Body>, &'static str> {
    let step = shared.script.lock().unwrap().pop_front();
    let step = step.unwrap_or_else(|| Step::Answer(500, Vec::new(), "the script has ended".to_owned()));
    let (head, body) = request.into_parts();
    let is_early = matches!(step, Step::Early(..));
    let body = if is_early {
        shared.unread.lock().unwrap().push(body);
        Bytes::new()
    } else {
        read(body, &shared).await
    };
    shared.requests.lock().unwrap().push(Received {
        method: head.method,
        target: head.uri.to_string(),
        headers: head.headers,
        body,
    });
    match step {
        Step::Answer(status, headers, text) | Step::Early(status, headers, text) => {
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            let body = Full::from(text)
                .map_err(|never: Infallible| match never {})
                .boxed_unsync();
            Ok(response.body(body).unwrap())
        }
        Step::Cut => Err("cut"),
        Step::CutBody => {
            let pieces = [
                Ok(Frame::data(Bytes::from_static(b"{\"succ"))),
                Err(std::io::Error::other("cut")),
            ];
            let body = StreamBody::new(stream::iter(pieces)).boxed_unsync();
            Ok(Response::new(body))
        }
        Step::Hang => std::future::pending().await,
    }
}

async fn read(body: Incoming, shared: &Shared) -> Bytes {
    let mut kept = Vec::new();
    let mut frames = body.into_data_stream();
    while let Some(Ok(piece)) = frames.next().await {
        shared.received.fetch_add(piece.len() as u64, Ordering::SeqCst);
        if !shared.forgets_bodies {
            kept.extend_from_slice(&piece);
        }
    }
    kept.into()
}
