//! Webhook addresses.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{OutgoingWebhook, WebhookSender};
use bidloop_webhooks::{HyperWebhookSender, Network, OpenedConnection, TargetPolicy};
use bytes::Bytes;
use rustls::{ClientConfig, RootCertStore};
use tokio::runtime::{Builder, Runtime};

use crate::case::Case;
use crate::cost::bounded_by;

/// A resolver that the fuzzer answers for. No connection is ever opened.
#[derive(Debug, Default)]
struct Recording {
    answers: Mutex<Vec<IpAddr>>,
    connected: Mutex<Vec<IpAddr>>,
}

#[async_trait]
impl Network for Recording {
    async fn resolve(&self, _host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(answers.iter().map(|address| (*address, port).into()).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<OpenedConnection> {
        let mut connected = self.connected.lock().unwrap_or_else(PoisonError::into_inner);
        connected.push(address.ip());
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime without I/O")
});

static TLS: LazyLock<Arc<ClientConfig>> = LazyLock::new(|| {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring's protocol versions")
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    Arc::new(config)
});

/// What parsing 2 KB may take in this build, and memory.
const PARSING: (Duration, usize) = (Duration::from_millis(50), 2 * 1_048_576);

/// Sends a webhook to the input as an address. The first 17 bytes are an answer of the resolver. No connection is tried to an
/// address of this machine or its network, and what the check of an address refuses is not connected to.
pub fn urls(data: &[u8]) {
    let Some(case) = Case::of(data) else { return };
    let Some((addresses, url)) = case.content.split_first_chunk::<17>() else {
        return;
    };
    let url = String::from_utf8_lossy(url).into_owned();
    let network = Arc::new(Recording::default());
    *network.answers.lock().unwrap_or_else(PoisonError::into_inner) = answers(addresses);
    let sender =
        HyperWebhookSender::new(TargetPolicy::PublicHttps, TLS.clone()).with_network(network.clone());
    let webhook = OutgoingWebhook {
        url: url.clone(),
        headers: Vec::new(),
        body: Bytes::new(),
    };
    let (checked, attempt) = bounded_by(url.len(), PARSING, || {
        let checked = sender.check_target(&url);
        (checked, RUNTIME.block_on(sender.send(webhook.clone())))
    });
    let failure = attempt.failure.expect("no connection is opened");
    assert!(
        failure.message.len() < 1024,
        "{} bytes of message",
        failure.message.len()
    );
    let connected = network.connected.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(
        checked.is_ok() || connected.is_empty(),
        "{url:?} was refused and tried"
    );
    for address in connected.iter() {
        assert!(is_public(*address), "{url:?} led to {address}");
    }
}

fn answers(bytes: &[u8; 17]) -> Vec<IpAddr> {
    let [kinds, octets @ ..] = *bytes;
    let [a, b, c, d, ..] = octets;
    let v4 = IpAddr::V4(Ipv4Addr::new(a, b, c, d));
    let v6 = IpAddr::V6(Ipv6Addr::from(octets));
    match kinds % 4 {
        0 => vec![v4],
        1 => vec![v6],
        2 => vec![v4, v6],
        _ => vec![IpAddr::V6(Ipv4Addr::new(a, b, c, d).to_ipv6_mapped())],
    }
}

/// A judgement of its own, by the standard library's words.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            !(v4.is_private()
                || v4.is_loopback()
                || v4.is_link_local()
                || v4.is_unspecified()
                || v4.is_broadcast()
                || v4.is_multicast()
                || v4.is_documentation())
        }
        IpAddr::V6(v6) => match v6.to_ipv4_mapped() {
            Some(v4) => is_public(IpAddr::V4(v4)),
            None => {
                !(v6.is_loopback()
                    || v6.is_unspecified()
                    || v6.is_multicast()
                    || v6.is_unique_local()
                    || v6.is_unicast_link_local())
            }
        },
    }
}
