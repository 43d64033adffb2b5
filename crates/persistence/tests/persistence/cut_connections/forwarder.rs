//! A forwarder between a store and PostgreSQL that closes all connections at a chosen message.

use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

/// How long a forwarder lives at most.
const LIFETIME: Duration = Duration::from_secs(30);
/// Far more than the messages of a test have.
const MOST_BYTES: usize = 1 << 20;

/// The direction of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Towards {
    Server,
    Store,
}

/// What becomes of connections that are opened after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Afterwards {
    Refused,
    Served,
}

/// Where connections are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cut {
    pub(super) towards: Towards,
    /// The number of the first message in this direction that is not forwarded, counted over all connections from 1.
    pub(super) at: usize,
    pub(super) afterwards: Afterwards,
}

/// Forwards until it is dropped, and for half a minute at most.
pub(super) struct Forwarder {
    port: u16,
    messages: Arc<Messages>,
    _serving: JoinSet<()>,
}

impl Forwarder {
    /// `url` is the server's.
    pub(super) async fn start(url: &str, cut: Cut) -> Self {
        let server = address(url).await;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let messages = Arc::new(Messages {
            cut,
            passed: Mutex::default(),
            is_cut: watch::Sender::new(false),
        });
        let mut serving = JoinSet::new();
        let forwarding = serve(listener, server, Arc::clone(&messages));
        serving.spawn(async move {
            let _ = tokio::time::timeout(LIFETIME, forwarding).await;
        });
        Self {
            port,
            messages,
            _serving: serving,
        }
    }

    /// The URL of the same database through the forwarder.
    pub(super) fn through(&self, url: &str) -> String {
        let forwarder = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let host = url.rfind('@').or_else(|| Some(url.find("://")? + 2)).unwrap() + 1;
        let database = host + url[host..].find('/').unwrap();
        format!("{}{forwarder}{}", &url[..host], &url[database..])
    }

    /// Whether the chosen message came.
    pub(super) fn has_cut(&self) -> bool {
        *self.messages.is_cut.borrow()
    }
}

/// The server's address in a URL.
async fn address(url: &str) -> SocketAddr {
    let config: Config = url.parse().unwrap();
    let [Host::Tcp(host)] = config.get_hosts() else {
        panic!("the test server is not reached by TCP");
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    tokio::net::lookup_host((host.as_str(), port))
        .await
        .unwrap()
        .next()
        .unwrap()
}

/// The messages of all connections.
struct Messages {
    cut: Cut,
    /// How many have passed in the direction of the cut.
    passed: Mutex<usize>,
    is_cut: watch::Sender<bool>,
}

impl Messages {
    /// Whether the next message of a connection may pass.
    fn may_pass(&self, towards: Towards, is_new: bool) -> bool {
        let mut passed = self.passed.lock().unwrap();
        if *self.is_cut.borrow() {
            return is_new;
        }
        if towards == self.cut.towards {
            *passed += 1;
            if *passed == self.cut.at {
                self.is_cut.send_replace(true);
                return false;
            }
        }
        true
    }
}

async fn serve(listener: TcpListener, server: SocketAddr, messages: Arc<Messages>) {
    let mut is_cut = messages.is_cut.subscribe();
    let mut connections = JoinSet::new();
    let refuses = messages.cut.afterwards == Afterwards::Refused;
    loop {
        let accepted = tokio::select! {
            biased;
            _ = is_cut.wait_for(|is_cut| *is_cut), if refuses => return,
            accepted = listener.accept() => accepted,
        };
        let Ok((store, _)) = accepted else { return };
        connections.spawn(forward(store, server, Arc::clone(&messages)));
        while connections.try_join_next().is_some() {}
    }
}

/// Forwards in both directions until one side is gone, or the connection is cut.
async fn forward(store: TcpStream, server: SocketAddr, messages: Arc<Messages>) {
    let mut cut = messages.is_cut.subscribe();
    let is_new = *cut.borrow_and_update();
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    if store.set_nodelay(true).and(server.set_nodelay(true)).is_err() {
        return;
    }
    let (from_store, to_store) = store.into_split();
    let (from_server, to_server) = server.into_split();
    let is_cut = async {
        if is_new {
            pending::<()>().await;
        }
        let _ = cut.wait_for(|is_cut| *is_cut).await;
    };
    // The first message of the store bears no type.
    let there = pass_on(from_store, to_server, false, || {
        messages.may_pass(Towards::Server, is_new)
    });
    let back = pass_on(from_server, to_store, true, || {
        messages.may_pass(Towards::Store, is_new)
    });
    tokio::select! {
        () = is_cut => {}
        () = there => {}
        () = back => {}
    }
}

/// Forwards whole messages, one after the other.
async fn pass_on(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    mut has_type: bool,
    may_pass: impl Fn() -> bool,
) {
    let mut bytes = Vec::new();
    loop {
        while let Some(length) = length(&bytes, has_type) {
            if length > bytes.len() {
                break;
            }
            if !may_pass() || to.write_all(&bytes[..length]).await.is_err() {
                return;
            }
            bytes.drain(..length);
            has_type = true;
        }
        let read = from.read_buf(&mut bytes).await;
        if read.map_or(true, |count| count == 0) || bytes.len() > MOST_BYTES {
            return;
        }
    }
}

/// The length of the first message, if its head is there.
fn length(bytes: &[u8], has_type: bool) -> Option<usize> {
    let start = usize::from(has_type);
    let (length, _) = bytes.get(start..)?.split_first_chunk()?;
    let length = u32::from_be_bytes(*length).max(4);
    Some(start + usize::try_from(length).ok()?)
}
