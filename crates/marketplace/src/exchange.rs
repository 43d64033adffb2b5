//! One request and its answer, under one deadline.
//!
//! Exactly-once proposals rest on one distinction made here (decision B4): an error is `Unreachable` only if certainly
//! nothing of the request was sent, and `NoAnswer` if something may have been.

use std::error::Error as StdError;
use std::time::Duration;

use bidloop_domain::port::MarketplaceError;
use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body as _, Incoming};
use tokio::time::{Instant, timeout_at};

use crate::connections::{Connection, Connections, causes};
use crate::request_body::{RequestBody, empty_body};
use crate::upload::UploadFault;

/// The answer to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    /// The body, or why it is incomplete.
    pub(crate) body: Result<Bytes, MarketplaceError>,
}

/// Sends requests.
#[derive(Debug)]
pub(crate) struct Exchange {
    connections: Connections,
    /// The time limit of a call, from the connect to the end of the answer.
    timeout: Duration,
}

impl Exchange {
    pub(crate) fn new(connections: Connections, timeout: Duration) -> Self {
        Self { connections, timeout }
    }

    /// Sends `request` and reads the answer, whose body may have at most `most` bytes.
    pub(crate) async fn run(
        &self,
        request: Request<RequestBody>,
        most: usize,
    ) -> Result<Answer, MarketplaceError> {
        let deadline = Instant::now() + self.timeout;
        let (connection, response) = self.send(request, deadline).await?;
        let (head, incoming) = response.into_parts();
        let body = timeout_at(deadline, read(incoming, most))
            .await
            .unwrap_or_else(|_| Err(self.late("the answer did not end")));
        // A connection with an unread rest of an answer cannot be reused; dropping it closes it.
        if body.is_ok() {
            self.connections.keep(connection).await;
        }
        Ok(Answer {
            status: head.status,
            headers: head.headers,
            body,
        })
    }

    /// Sends `request` and reads the head of the answer.
    async fn send(
        &self,
        mut request: Request<RequestBody>,
        deadline: Instant,
    ) -> Result<(Connection, Response<Incoming>), MarketplaceError> {
        let (head, body) = request.into_parts();
        // A GET changes nothing at the marketplace, so it may be sent again.
        let mut repeatable = (head.method == Method::GET).then(|| head.clone());
        request = Request::from_parts(head, body);
        let mut connection = match self.connections.take_kept() {
            Some(kept) => kept,
            None => self.open(deadline).await?,
        };
        loop {
            let sent = timeout_at(deadline, connection.sender.try_send_request(request))
                .await
                .map_err(|_| self.late("no answer came"))?;
            let mut failure = match sent {
                Ok(response) => return Ok((connection, response)),
                Err(failure) => failure,
            };
            // The marketplace may close a kept connection at the moment of its reuse. The request is then sent again if
            // nothing of it was sent, or if it changes nothing. A fresh connection gets no second try, so this happens
            // once.
            let again = match failure.take_message() {
                Some(unsent) if connection.reused => Some(unsent),
                Some(_) => return Err(MarketplaceError::Unreachable(causes(failure.error()))),
                None if connection.reused && broke(failure.error()) => repeatable
                    .take()
                    .map(|head| Request::from_parts(head, empty_body())),
                None => None,
            };
            request = again.ok_or_else(|| unanswered(&failure.into_error()))?;
            connection = self.open(deadline).await?;
        }
    }

    async fn open(&self, deadline: Instant) -> Result<Connection, MarketplaceError> {
        match timeout_at(deadline, self.connections.open()).await {
            Ok(opened) => opened.map_err(MarketplaceError::Unreachable),
            Err(_) => Err(MarketplaceError::Unreachable(format!(
                "no connection within {} ms",
                self.timeout.as_millis()
            ))),
        }
    }

    fn late(&self, what: &str) -> MarketplaceError {
        MarketplaceError::NoAnswer(format!("{what} within {} ms", self.timeout.as_millis()))
    }
}

/// Whether the connection broke before an answer, instead of returning one that is not HTTP.
fn broke(error: &hyper::Error) -> bool {
    !error.is_parse() && !error.is_user()
}

/// The error of a request that may have been sent and has no answer.
fn unanswered(error: &hyper::Error) -> MarketplaceError {
    if let Some(fault) = cause::<UploadFault>(error) {
        return MarketplaceError::NoAnswer(fault.to_string());
    }
    if error.is_parse() {
        return MarketplaceError::Malformed(format!("not HTTP: {}", causes(error)));
    }
    MarketplaceError::NoAnswer(causes(error))
}

async fn read(incoming: Incoming, most: usize) -> Result<Bytes, MarketplaceError> {
    let too_large = || MarketplaceError::Malformed(format!("the body is larger than {most} bytes"));
    if incoming.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    match Limited::new(incoming, most).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(error) => Err(error
            .downcast_ref::<hyper::Error>()
            .map_or_else(too_large, broken_body)),
    }
}

fn broken_body(error: &hyper::Error) -> MarketplaceError {
    use std::io::ErrorKind::{InvalidData, InvalidInput};
    match cause::<std::io::Error>(error).map(std::io::Error::kind) {
        Some(InvalidData | InvalidInput) => {
            MarketplaceError::Malformed(format!("not HTTP: {}", causes(error)))
        }
        _ => MarketplaceError::NoAnswer(format!("the answer broke off: {}", causes(error))),
    }
}

/// The first cause of this type.
fn cause<T: StdError + 'static>(error: &hyper::Error) -> Option<&T> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(found) = error.downcast_ref() {
            return Some(found);
        }
        cause = error.source();
    }
    None
}
