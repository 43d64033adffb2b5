//! A server on the loopback that does byte for byte what a script says, one step a request.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// What to do once a request has arrived whole.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Write these bytes and wait for the next request on the connection.
    Write(Vec<u8>),
    /// Write these bytes, then close.
    WriteAndClose(Vec<u8>),
    /// Write these bytes, then nothing more; the connection stays open.
    WriteAndHang(Vec<u8>),
}

/// An answer with a length.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> Step {
    Step::Write(answer_bytes(status, headers, body))
}

pub(crate) fn answer_bytes(status: u16, headers: &str, body: &str) -> Vec<u8> {
    format!(
        "HTTP/1.1 {status} Scripted\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

pub(crate) fn ok(body: &str) -> Step {
    answer(200, "Content-Type: application/json\r\n", body)
}

/// A request as it arrived.
#[derive(Debug, Clone)]
pub(crate) struct Received {
    /// The connection's number, from 0.
    pub(crate) connection: usize,
    /// Request line and headers, names in lower case.
    pub(crate) head: Vec<String>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn line(&self) -> &str {
        &self.head[0]
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head[1..]
            .iter()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

/// Dropping it closes everything.
#[derive(Debug)]
pub(crate) struct ScriptedServer {
    pub(crate) base_url: String,
    received: Arc<Mutex<Vec<Received>>>,
    accepting: JoinHandle<()>,
}

impl Drop for ScriptedServer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl ScriptedServer {
    pub(crate) async fn start(steps: Vec<Step>) -> Self {
        Self::start_with(steps, None).await
    }

    pub(crate) async fn start_with(steps: Vec<Step>, tls: Option<tokio_rustls::TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let base_url = format!("{scheme}://localhost:{}", listener.local_addr().unwrap().port());
        let received = Arc::new(Mutex::new(Vec::new()));
        let steps = Arc::new(Mutex::new(VecDeque::from(steps)));
        let log = Arc::clone(&received);
        let accepting = tokio::spawn(async move {
            let mut serving = tokio::task::JoinSet::new();
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (steps, log, tls) = (Arc::clone(&steps), Arc::clone(&log), tls.clone());
                serving.spawn(async move {
                    match tls {
                        None => serve(stream, connection, &steps, &log).await,
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                serve(stream, connection, &steps, &log).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            base_url,
            received,
            accepting,
        }
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.received.lock().unwrap().clone()
    }

    /// The one request received.
    pub(crate) fn only(&self) -> Received {
        let received = self.received();
        assert_eq!(received.len(), 1, "{received:?}");
        received[0].clone()
    }

    /// The connection that each request came on.
    pub(crate) fn connections(&self) -> Vec<usize> {
        self.received().iter().map(|request| request.connection).collect()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    steps: &Mutex<VecDeque<Step>>,
    log: &Mutex<Vec<Received>>,
) {
    while let Some(request) = read_request(&mut stream, connection).await {
        log.lock().unwrap().push(request);
        let step = steps.lock().unwrap().pop_front();
        let (bytes, then) = match step.expect("one step a request") {
            Step::Write(bytes) => (bytes, Then::Continue),
            Step::WriteAndClose(bytes) => (bytes, Then::Close),
            Step::WriteAndHang(bytes) => (bytes, Then::Hang),
        };
        if stream.write_all(&bytes).await.is_err() {
            return;
        }
        stream.flush().await.ok();
        match then {
            Then::Continue => {}
            Then::Close => {
                stream.shutdown().await.ok();
                return;
            }
            Then::Hang => std::future::pending().await,
        }
    }
}

enum Then {
    Continue,
    Close,
    Hang,
}

/// `None` when the connection ends before a request is whole.
async fn read_request(stream: &mut (impl AsyncRead + Unpin), connection: usize) -> Option<Received> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head: Vec<String> = std::str::from_utf8(&bytes[..head_end])
        .unwrap()
        .split("\r\n")
        .map(str::to_owned)
        .collect();
    let mut request = Received {
        connection,
        head,
        body: bytes.split_off(head_end + 4),
    };
    let length: usize = request
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    while request.body.len() < length {
        if stream.read_buf(&mut request.body).await.ok()? == 0 {
            return None;
        }
    }
    Some(request)
}
