//! Connections to the marketplace: opening them, and keeping those that can serve again.
//!
//! A pool of its own rather than hyper-util's: which connection a request went out on, whether it was fresh, and
//! whether any of the request can have left decide what a failure means (`exchange`).

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

/// How many unused connections are kept.
const KEPT: usize = 32;

/// How long an unused connection is kept; shorter than servers usually wait before they close theirs.
const KEPT_FOR: Duration = Duration::from_secs(20);

/// How long a connection may take to become usable again once its answer has been read. It takes no network, unless
/// the marketplace answered before it had read the request.
const SETTLES_WITHIN: Duration = Duration::from_millis(250);

/// An open connection, in nobody else's use.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) sender: SendRequest<RequestBody>,
    /// Whether it served before: then the marketplace may have closed it in the meantime.
    pub(crate) reused: bool,
}

/// The connections to one marketplace.
#[derive(Debug)]
pub(crate) struct Connections {
    connector: HttpsConnector<HttpConnector>,
    origin: Uri,
    /// The last used last.
    idle: Mutex<Vec<(Instant, SendRequest<RequestBody>)>>,
}

impl Connections {
    pub(crate) fn new(origin: Uri, tls: ClientConfig, connect_timeout: Duration) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        // Shared out among a name's addresses, so that one dead address does not use up the whole call.
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

    /// The kept connection used last, if there is one.
    pub(crate) fn take_kept(&self) -> Option<Connection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((since, sender)) = idle.pop() {
            if since.elapsed() > KEPT_FOR {
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

    /// Keeps a connection whose answer has been read to its end.
    pub(crate) async fn keep(&self, mut connection: Connection) {
        let settled = tokio::time::timeout(SETTLES_WITHIN, connection.sender.ready()).await;
        if !matches!(settled, Ok(Ok(()))) {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|(since, sender)| sender.is_ready() && since.elapsed() <= KEPT_FOR);
        if idle.len() < KEPT {
            idle.push((Instant::now(), connection.sender));
        }
    }

    /// A fresh connection. Nothing of a request has been sent when this fails.
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

/// An error with what caused it, in one line.
pub(crate) fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let said = error.to_string();
        // Many errors repeat their cause.
        if !text.contains(&said) {
            let _ = write!(text, ": {said}");
        }
        cause = error.source();
    }
    text
}
