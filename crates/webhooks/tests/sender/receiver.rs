//! A receiver that reads a request, gives a scripted answer, and remembers what it saw.

use std::future::pending;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

use crate::SOON;

/// What a receiver does with a request once it has read it.
#[derive(Debug, Clone)]
pub(crate) enum Script {
    /// Writes these bytes and closes the connection.
    Answer(Vec<u8>),
    /// Writes these bytes and then nothing, keeping the connection open until the sender closes it.
    Stall(Vec<u8>),
    /// Writes these bytes, and then the others again and again until the sender closes the connection.
    Endless(Vec<u8>, Vec<u8>),
    /// Writes these bytes once a request has begun, and neither reads on nor closes the connection.
    Early(Vec<u8>),
}

impl Script {
    pub(crate) fn answer(text: &str) -> Self {
        Self::Answer(text.as_bytes().to_vec())
    }

    pub(crate) fn stall(text: &str) -> Self {
        Self::Stall(text.as_bytes().to_vec())
    }

    pub(crate) fn ok() -> Self {
        Self::answer("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok")
    }
}

/// What happened at a receiver, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Event {
    /// A TCP connection was accepted.
    Connected,
    /// TLS was agreed on, with this application protocol.
    Secured(Option<Vec<u8>>),
    /// A whole request arrived.
    Requested(String),
    /// The connection is over.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    seen: Arc<Mutex<Vec<Event>>>,
    news: mpsc::UnboundedReceiver<Event>,
}

impl Receiver {
    pub(crate) async fn start(script: Script) -> Self {
        Self::serve(None, script).await
    }

    pub(crate) async fn start_tls(tls: TlsAcceptor, script: Script) -> Self {
        Self::serve(Some(tls), script).await
    }

    async fn serve(tls: Option<TlsAcceptor>, script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (report, news) = mpsc::unbounded_channel();
        let log = Log {
            seen: Arc::clone(&seen),
            report,
        };
        // Ends with the test's runtime.
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, script, log) = (tls.clone(), script.clone(), log.clone());
                tokio::spawn(async move {
                    log.add(Event::Connected);
                    // What breaks here is what the sender broke off; the events say how far it came.
                    let _ = match tls {
                        None => converse(stream, &script, &log).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => {
                                let protocol = stream.get_ref().1.alpn_protocol().map(<[u8]>::to_vec);
                                log.add(Event::Secured(protocol));
                                converse(stream, &script, &log).await
                            }
                            Err(error) => Err(error),
                        },
                    };
                    log.add(Event::Closed);
                });
            }
        });
        Self { address, seen, news }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The requests that have arrived.
    pub(crate) fn requests(&self) -> Vec<String> {
        let seen = self.seen.lock().unwrap();
        seen.iter()
            .filter_map(|event| match event {
                Event::Requested(request) => Some(request.clone()),
                _ => None,
            })
            .collect()
    }

    pub(crate) fn connections(&self) -> usize {
        let seen = self.seen.lock().unwrap();
        seen.iter().filter(|event| **event == Event::Connected).count()
    }

    /// Waits for the first event that `wanted` picks, and hands it out.
    pub(crate) async fn wait_for(&mut self, wanted: fn(&Event) -> bool) -> Event {
        let found = async {
            loop {
                let event = self.news.recv().await.unwrap();
                if wanted(&event) {
                    return event;
                }
            }
        };
        tokio::time::timeout(SOON, found).await.unwrap()
    }
}

#[derive(Debug, Clone)]
struct Log {
    seen: Arc<Mutex<Vec<Event>>>,
    report: mpsc::UnboundedSender<Event>,
}

impl Log {
    fn add(&self, event: Event) {
        self.seen.lock().unwrap().push(event.clone());
        // The test may have ended and stopped receiving.
        let _ = self.report.send(event);
    }
}

async fn converse<S>(mut stream: S, script: &Script, log: &Log) -> io::Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    if let Script::Early(bytes) = script {
        stream.read_u8().await?;
        stream.write_all(bytes).await?;
        return pending().await;
    }
    let request = read_request(&mut stream).await?;
    log.add(Event::Requested(request));
    match script {
        Script::Answer(bytes) => {
            stream.write_all(bytes).await?;
            stream.shutdown().await
        }
        Script::Stall(bytes) => {
            stream.write_all(bytes).await?;
            stream.flush().await?;
            stream.read_to_end(&mut Vec::new()).await.map(|_| ())
        }
        Script::Endless(bytes, repeated) => {
            stream.write_all(bytes).await?;
            loop {
                stream.write_all(repeated).await?;
            }
        }
        Script::Early(_) => unreachable!("has returned above"),
    }
}

/// The head and a body as long as `content-length` says.
async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<String> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        if body.len() >= length {
            return Ok(text.into_owned());
        }
    }
}
