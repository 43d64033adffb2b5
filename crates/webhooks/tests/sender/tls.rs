//! Which certificates the sender accepts.

use std::sync::Arc;

use bidloop_domain::port::WebhookFailureKind;
use bidloop_webhooks::{HyperWebhookSender, TargetPolicy};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::fake_network::{FakeNetwork, PUBLIC, Route};
use crate::receiver::{Event, Receiver, Script};
use crate::{client_config, insecure_sender, kind_of, no_roots, send, webhook_to};

const NAME: &str = "hooks.example.com";

/// A certificate authority that no bundled root knows.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
    certificate: CertificateDer<'static>,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap().der().clone();
        Self {
            issuer: Issuer::new(params, key),
            certificate,
        }
    }

    /// TLS settings that trust this authority alone.
    pub(crate) fn trusted(&self) -> Arc<ClientConfig> {
        trusting(&self.certificate)
    }

    /// The TLS side of a receiver whose certificate bears `name`.
    pub(crate) fn acceptor(&self, name: &str) -> TlsAcceptor {
        self.acceptor_with(
            &CertificateParams::new([name.to_owned()]).unwrap(),
            &[b"http/1.1"],
        )
    }

    fn acceptor_with(&self, params: &CertificateParams, protocols: &[&[u8]]) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        acceptor_of(&certificate, &key, protocols)
    }
}

fn trusting(root: &CertificateDer<'static>) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(root.clone()).unwrap();
    client_config(roots)
}

fn acceptor_of(certificate: &Certificate, key: &KeyPair, protocols: &[&[u8]]) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// Sends to `url` through a network in which every name leads to `receiver`.
async fn kind_of_sending(
    url: &str,
    tls: Arc<ClientConfig>,
    receiver: &Receiver,
) -> Option<WebhookFailureKind> {
    let network = FakeNetwork::new(&[&[PUBLIC]], &[(PUBLIC, Route::Disguised(receiver.address))]);
    let sender = HyperWebhookSender::new(TargetPolicy::PublicHttps, tls).with_network(network);
    kind_of(&send(&sender, webhook_to(url)).await)
}

#[tokio::test]
async fn a_receiver_of_an_extra_root_is_delivered_to_over_http_1_1() {
    let authority = Authority::new();
    let mut receiver = Receiver::start_tls(authority.acceptor(NAME), Script::ok()).await;
    for url in ["https://hooks.example.com/", "https://hooks.example.com./"] {
        assert_eq!(
            kind_of_sending(url, authority.trusted(), &receiver).await,
            None,
            "{url}"
        );
    }
    let secured = receiver
        .wait_for(|event| matches!(event, Event::Secured(_)))
        .await;
    assert_eq!(secured, Event::Secured(Some(b"http/1.1".to_vec())));
    assert!(receiver.requests()[0].contains("\r\nhost: hooks.example.com\r\n"));
}

#[tokio::test]
async fn a_receiver_of_an_unknown_root_is_refused_before_anything_is_sent() {
    let receiver = Receiver::start_tls(Authority::new().acceptor(NAME), Script::ok()).await;
    for tls in [no_roots(), Authority::new().trusted()] {
        let kind = kind_of_sending("https://hooks.example.com/", tls, &receiver).await;
        assert_eq!(kind, Some(WebhookFailureKind::TlsFailed));
    }
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn a_self_signed_certificate_can_be_its_own_root() {
    let params = CertificateParams::new([NAME.to_owned()]).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let receiver = Receiver::start_tls(acceptor_of(&certificate, &key, &[]), Script::ok()).await;
    let tls = trusting(certificate.der());
    assert_eq!(
        kind_of_sending("https://hooks.example.com/", tls, &receiver).await,
        None
    );
}

#[tokio::test]
async fn certificates_are_checked_where_insecure_targets_are_allowed_too() {
    let authority = Authority::new();
    let receiver = Receiver::start_tls(authority.acceptor("127.0.0.1"), Script::ok()).await;
    let url = format!("https://{}/", receiver.address);

    let attempt = send(&insecure_sender(), webhook_to(&url)).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::TlsFailed));

    let trusting = HyperWebhookSender::new(TargetPolicy::AllowInsecure, authority.trusted());
    assert_eq!(kind_of(&send(&trusting, webhook_to(&url)).await), None);
}

#[tokio::test]
async fn a_certificate_of_another_name_is_refused() {
    let authority = Authority::new();
    let receiver = Receiver::start_tls(authority.acceptor("other.example.com"), Script::ok()).await;
    let kind = kind_of_sending("https://hooks.example.com/", authority.trusted(), &receiver).await;
    assert_eq!(kind, Some(WebhookFailureKind::TlsFailed));
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn an_expired_certificate_is_refused() {
    let authority = Authority::new();
    let mut params = CertificateParams::new([NAME.to_owned()]).unwrap();
    params.not_before = rcgen::date_time_ymd(2020, 1, 1);
    params.not_after = rcgen::date_time_ymd(2021, 1, 1);
    let receiver = Receiver::start_tls(authority.acceptor_with(&params, &[]), Script::ok()).await;
    let kind = kind_of_sending("https://hooks.example.com/", authority.trusted(), &receiver).await;
    assert_eq!(kind, Some(WebhookFailureKind::TlsFailed));
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn a_receiver_without_alpn_is_delivered_to_and_one_of_http_2_alone_is_not() {
    let authority = Authority::new();
    let params = CertificateParams::new([NAME.to_owned()]).unwrap();
    let url = "https://hooks.example.com/";

    let receiver = Receiver::start_tls(authority.acceptor_with(&params, &[]), Script::ok()).await;
    assert_eq!(kind_of_sending(url, authority.trusted(), &receiver).await, None);

    let receiver = Receiver::start_tls(authority.acceptor_with(&params, &[b"h2"]), Script::ok()).await;
    let kind = kind_of_sending(url, authority.trusted(), &receiver).await;
    assert_eq!(kind, Some(WebhookFailureKind::TlsFailed));
}

#[tokio::test]
async fn a_receiver_that_speaks_no_tls_is_a_failed_handshake() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream
            .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            .await
            .unwrap();
        stream.read_to_end(&mut Vec::new()).await
    });
    let attempt = send(&insecure_sender(), webhook_to(url)).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::TlsFailed));
}
