//! HTTPS with trust roots of one's own.

use std::sync::Arc;
use std::time::Duration;

use bidloop_client::{BuildError, Client, ErrorKind, RetryPolicy};
use rustls_pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

use crate::server::{Step, serve_steps};
use crate::{key, run};

#[test]
fn a_certificate_is_accepted_only_from_a_trusted_root() {
    run(async {
        let certified = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let secret = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certified.cert.der().clone()], secret)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                if let Ok(stream) = acceptor.accept(stream).await {
                    let page = json!({"data": [], "total": 0, "offset": 0, "limit": 1, "hasMore": false});
                    tokio::spawn(serve_steps(stream, vec![Step::json(200, &page)]));
                }
            }
        });

        let policy = RetryPolicy {
            attempts: 2,
            first_pause: Duration::from_millis(1),
            ..RetryPolicy::default()
        };
        let builder = Client::builder(&base_url, key()).retry(policy);
        let trusting = builder
            .clone()
            .root_certificates(certified.cert.pem())
            .build()
            .unwrap();
        assert_eq!(trusting.leads_page("camp", 0, 1).await.unwrap().total, 0);

        let error = builder
            .build()
            .unwrap()
            .leads_page("camp", 0, 1)
            .await
            .unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unreachable(_)), "{error:?}");
        assert!(error.to_string().contains("UnknownIssuer"), "{error}");
    });
}

#[test]
fn certificates_that_cannot_be_read_are_refused() {
    let pem = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    let built = Client::builder("https://bids.test", key())
        .root_certificates(pem)
        .build();
    assert!(matches!(built, Err(BuildError::RootCertificates(_))));
}
