//! One attempt to send a webhook, from the URL to the outcome.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{
    OutgoingWebhook, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookSender,
};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_LENGTH, HOST, HeaderName, HeaderValue};
use http::uri::PathAndQuery;
use http::{Method, Request, Uri};
use http_body_util::Full;
use rustls::ClientConfig;
use rustls_pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout_at};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use url::Host;

use crate::exchange::{Answer, NoAnswer, exchange};
use crate::network::{Network, SystemNetwork};
use crate::target_guard::{Target, Targets};

/// The time limit from the start of the connect, name look-up included, to the answer's status line (decision C4).
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How many addresses of a name are tried: twice the usual pair of IPv6 and IPv4.
const TRIED_ADDRESSES: usize = 4;

/// Sends each webhook over a hyper connection of its own, which is never reused or retried (decisions C4 to C6).
///
/// Dropping an attempt closes its connection and leaves nothing running.
#[derive(Debug)]
pub struct HyperWebhookSender {
    targets: Targets,
    network: Arc<dyn Network>,
    tls: Arc<ClientConfig>,
    time_limit: Duration,
}

impl HyperWebhookSender {
    /// Creates a sender over the operating system's network that waits 10 seconds for a status line.
    ///
    /// `tls` holds the trust roots. The sender speaks HTTP/1.1 over it.
    pub fn new(targets: impl Into<Targets>, tls: Arc<ClientConfig>) -> Self {
        let mut tls = Arc::unwrap_or_clone(tls);
        tls.alpn_protocols = vec![b"http/1.1".to_vec()];
        Self {
            targets: targets.into(),
            network: Arc::new(SystemNetwork::default()),
            tls: Arc::new(tls),
            time_limit: TIME_LIMIT,
        }
    }

    /// Sets the time limit from the start of the connect to the status line.
    #[must_use]
    pub fn with_time_limit(mut self, time_limit: Duration) -> Self {
        self.time_limit = time_limit;
        self
    }

    /// Replaces the network. The network is trusted to report the peer that it connected to.
    #[must_use]
    pub fn with_network(mut self, network: Arc<dyn Network>) -> Self {
        self.network = network;
        self
    }

    /// The target of a URL that can be sent to, as far as it shows without a look-up.
    fn target(&self, url: &str) -> Result<Target, WebhookFailure> {
        let target = self.targets.check_url(url)?;
        if target.is_https() {
            server_name(target.host())?;
        }
        Ok(target)
    }

    async fn attempt(&self, webhook: OutgoingWebhook, deadline: Deadline) -> Result<Answer, WebhookFailure> {
        let target = self.target(&webhook.url)?;
        let request = request_to(&target, webhook)?;
        let stream = self.connect(&target, deadline).await?;
        let answer = if target.is_https() {
            let stream = self.secure(&target, stream, deadline).await?;
            exchange(stream, request, deadline.at).await
        } else {
            exchange(stream, request, deadline.at).await
        };
        answer.map_err(|no_answer| match no_answer {
            NoAnswer::Timeout => deadline.missed("waiting for the answer"),
            NoAnswer::Protocol(what) => failure(WebhookFailureKind::ProtocolError, what),
        })
    }

    /// Connects to one of the target's permitted addresses and checks the address of the peer.
    async fn connect(&self, target: &Target, deadline: Deadline) -> Result<TcpStream, WebhookFailure> {
        let addresses = self.permitted_addresses(target, deadline).await?;
        let mut last_failure = None;
        for (tried, address) in addresses.iter().enumerate() {
            // An address that drops packets must leave the others their share of the time.
            let share = deadline.share(addresses.len() - tried);
            match timeout_at(share, self.network.connect(*address)).await {
                Ok(Ok(opened)) => {
                    // Address translation on the way may lead to another address.
                    self.targets.check_address(opened.peer.ip())?;
                    return Ok(opened.stream);
                }
                Ok(Err(error)) => {
                    let what = format!("connecting to {address}: {error}");
                    last_failure = Some(failure(WebhookFailureKind::ConnectFailed, what));
                }
                Err(_) => last_failure = Some(deadline.missed(&format!("connecting to {address}"))),
            }
        }
        Err(last_failure.unwrap_or_else(|| {
            failure(
                WebhookFailureKind::ConnectFailed,
                "the name has no address".to_owned(),
            )
        }))
    }

    /// Returns the first few of the target's addresses that the policy permits, in the resolver's order. It is an error
    /// if the policy permits none of them.
    async fn permitted_addresses(
        &self,
        target: &Target,
        deadline: Deadline,
    ) -> Result<Vec<SocketAddr>, WebhookFailure> {
        let name = match target.host() {
            Host::Domain(name) => name,
            Host::Ipv4(address) => return Ok(vec![(*address, target.port()).into()]),
            Host::Ipv6(address) => return Ok(vec![(*address, target.port()).into()]),
        };
        let resolved = timeout_at(deadline.at, self.network.resolve(name, target.port()))
            .await
            .map_err(|_| deadline.missed(&format!("looking up {name}")))?
            .map_err(|error| {
                failure(
                    WebhookFailureKind::ConnectFailed,
                    format!("looking up {name}: {error}"),
                )
            })?;

        let mut permitted = Vec::new();
        let mut refusal = None;
        for address in resolved {
            match self.targets.check_address(address.ip()) {
                Ok(()) => permitted.push(address),
                Err(refused) => refusal = Some(refused),
            }
        }
        match refusal {
            Some(WebhookFailure { kind, message }) if permitted.is_empty() => Err(failure(
                kind,
                format!("{name} has no permitted address: {message}"),
            )),
            _ => {
                permitted.truncate(TRIED_ADDRESSES);
                Ok(permitted)
            }
        }
    }

    async fn secure(
        &self,
        target: &Target,
        stream: TcpStream,
        deadline: Deadline,
    ) -> Result<TlsStream<TcpStream>, WebhookFailure> {
        let name = server_name(target.host())?;
        let handshake = TlsConnector::from(Arc::clone(&self.tls)).connect(name, stream);
        timeout_at(deadline.at, handshake)
            .await
            .map_err(|_| deadline.missed("negotiating TLS"))?
            .map_err(|error| failure(WebhookFailureKind::TlsFailed, error.to_string()))
    }
}

#[async_trait]
impl WebhookSender for HyperWebhookSender {
    async fn send(&self, webhook: OutgoingWebhook) -> WebhookAttempt {
        let started = Instant::now();
        let deadline = Deadline {
            at: started + self.time_limit,
            limit: self.time_limit,
        };
        match self.attempt(webhook, deadline).await {
            Ok(Answer { status_line, body }) => WebhookAttempt {
                failure: failure_of(status_line.status),
                response_status: Some(status_line.status),
                duration: status_line.at - started,
                response_body: body,
            },
            Err(failure) => WebhookAttempt {
                failure: Some(failure),
                response_status: None,
                duration: started.elapsed(),
                response_body: String::new(),
            },
        }
    }

    fn check_target(&self, url: &str) -> Result<(), WebhookFailure> {
        self.target(url).map(drop)
    }
}

/// The moment by which the status line must have arrived.
#[derive(Debug, Clone, Copy)]
struct Deadline {
    at: Instant,
    limit: Duration,
}

impl Deadline {
    /// The end of the first of `parties` equal parts of the remaining time.
    fn share(self, parties: usize) -> Instant {
        let now = Instant::now();
        let left = self.at.saturating_duration_since(now);
        now + left / u32::try_from(parties).unwrap_or(u32::MAX).max(1)
    }

    fn missed(self, doing: &str) -> WebhookFailure {
        let limit = self.limit;
        failure(
            WebhookFailureKind::Timeout,
            format!("no answer within {limit:?}; timed out while {doing}"),
        )
    }
}

fn failure(kind: WebhookFailureKind, message: String) -> WebhookFailure {
    WebhookFailure { kind, message }
}

/// Success is 200 and nothing else (decision C4).
fn failure_of(status: u16) -> Option<WebhookFailure> {
    let message = match status {
        200 => return None,
        300..=399 => format!("the receiver answered {status}; redirects are not followed"),
        _ => format!("the receiver answered {status} instead of 200"),
    };
    Some(failure(WebhookFailureKind::UnexpectedStatus, message))
}

/// The name that the receiver's certificate must carry.
fn server_name(host: &Host<String>) -> Result<ServerName<'static>, WebhookFailure> {
    match host {
        // Certificates never carry the dot that marks a name as absolute.
        Host::Domain(name) => ServerName::try_from(name.trim_end_matches('.').to_owned()).map_err(|_| {
            let message = format!("{name} is not a valid name for a certificate");
            failure(WebhookFailureKind::InvalidTarget, message)
        }),
        Host::Ipv4(address) => Ok(ServerName::IpAddress(IpAddr::V4(*address).into())),
        Host::Ipv6(address) => Ok(ServerName::IpAddress(IpAddr::V6(*address).into())),
    }
}

fn request_to(target: &Target, webhook: OutgoingWebhook) -> Result<Request<Full<Bytes>>, WebhookFailure> {
    let unusable = |what: &str| {
        failure(
            WebhookFailureKind::InvalidTarget,
            format!("{what} cannot be sent"),
        )
    };

    let path = PathAndQuery::try_from(target.path_and_query()).map_err(|_| unusable("the URL's path"))?;
    let host = HeaderValue::from_str(target.authority()).map_err(|_| unusable("the URL's host"))?;
    let length = webhook.body.len();

    let mut request = Request::new(Full::new(webhook.body));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::from(path);
    let headers = request.headers_mut();
    for (name, value) in webhook.headers {
        let value = HeaderValue::try_from(value).map_err(|_| unusable(&format!("the header {name}")))?;
        let name = HeaderName::try_from(name).map_err(|_| unusable("a header's name"))?;
        headers.append(name, value);
    }
    headers.insert(HOST, host);
    headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Ok(request)
}
