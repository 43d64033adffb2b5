//! The pool of connections to the marketplace.
//!
//! It is not hyper-util's, which hides what a failure means: that depends on whether the connection is new, and on
//! whether anything of the request may have been sent (`exchange`).

use std::error::Error as StdError;
use std::fmt::Write as _;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::Uri;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::ClientConfig;
use tokio::time::Instant;
use tower_service::Service as _;

use crate::request_body::RequestBody;

/// The most idle connections in the pool.
const MAX_IDLE: usize = 32;

/// How long an idle connection is kept. Most servers keep theirs longer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// The time that a connection has to become ready after its answer was read. That needs no network, unless the
/// marketplace answered before it had read the request.
const READY_TIMEOUT: Duration = Duration::from_millis(250);

/// An open connection with no other user.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<RequestBody>,
    /// Whether it was used before: then the marketplace may have closed it in the meantime.
    pub(crate) reused: bool,
}

/// The connections to one marketplace.
#[derive(Debug)]
pub(crate) struct Connections {
    connector: HttpsConnector<HttpConnector>,
    origin: Uri,
    /// The most recently used last.
    idle: Mutex<Vec<(Instant, SendRequest<RequestBody>)>>,
}

impl Connections {
    pub(crate) fn new(origin: Uri, tls: ClientConfig, connect_timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // hyper-util divides it among the addresses of a name, so that one dead address does not use up the whole call.
        tcp.set_connect_timeout(Some(connect_timeout));
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        Self {
            connector,
            origin,
            idle: Mutex::default(),
        }
    }

    /// Takes the most recently used idle connection, if there is one.
    pub(crate) fn take_kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((since, sender)) = idle.pop() {
            if since.elapsed() > IDLE_TIMEOUT {
                // The others are older still.
                idle.clear();
                return None;
            }
            if sender.is_ready() {
                return Some(Connection { sender, reused: true });
            }
        }
        None
    }

    /// Returns a connection to the pool after its answer has been read to its end.
    pub(crate) async fn keep(&self, mut connection: Connection) {
        let ready = tokio::time::timeout(READY_TIMEOUT, connection.sender.ready()).await;
        if !matches!(ready, Ok(Ok(()))) {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(since, sender)| sender.is_ready() && since.elapsed() <= IDLE_TIMEOUT);
        if idle.len() < MAX_IDLE {
            idle.push((Instant::now(), connection.sender));
        }
    }

    /// Opens a connection. If this fails, nothing of a request has been sent.
    pub(crate) async fn open(&self) -> Result<Connection, String> {
        let mut connector = self.connector.clone();
        poll_fn(|cx| connector.poll_ready(cx))
            .await
            .map_err(|error| causes(&*error))?;
        let stream = connector
            .call(self.origin.clone())
            .await
            .map_err(|error| causes(&*error))?;
        let (sender, driver) = http1::handshake(stream).await.map_err(|error| causes(&error))?;
        tokio::spawn(async move {
            if let Err(error) = driver.await {
                tracing::debug!(error = causes(&error), "connection to the marketplace ended");
            }
        });
        Ok(Connection {
            sender,
            reused: false,
        })
    }
}

/// An error and its causes on one line.
pub(crate) fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        // Many errors repeat their cause.
        if !text.contains(&message) {
            let _ = write!(text, ": {message}");
        }
        cause = error.source();
    }
    text
}
