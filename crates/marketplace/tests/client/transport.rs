//! Connections: what is known of a call that got no answer, time-outs, reuse, TLS.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::{Marketplace as _, MarketplaceError};
use bidloop_marketplace::MarketplaceSettings;
use tokio::net::TcpListener;

use crate::fixtures::{
    ACCOUNT_JSON, SUBMITTED_JSON, TOKEN, client, client_with, hasty_client, key, proposal, settings,
    tls_trusting,
};
use crate::scripted_server::{ScriptedServer, Step, answer, answer_bytes, ok};

#[tokio::test]
async fn a_refused_connection_is_unreachable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let submitted = client(&base_url).submit(&TOKEN, key(), &proposal("7")).await;
    assert!(
        matches!(submitted, Err(MarketplaceError::Unreachable(_))),
        "{submitted:?}"
    );
}

#[tokio::test]
async fn a_tls_handshake_that_does_not_end_is_unreachable() {
    // The system accepts the connection, but no TLS record ever arrives.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("https://{}", listener.local_addr().unwrap());
    let submitted = hasty_client(&base_url)
        .submit(&TOKEN, key(), &proposal("7"))
        .await;
    assert!(
        matches!(submitted, Err(MarketplaceError::Unreachable(_))),
        "{submitted:?}"
    );
}

#[tokio::test]
async fn an_answer_that_does_not_come_or_does_not_end_is_no_answer_after_the_timeout() {
    let half = b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{".to_vec();
    for step in [
        Step::WriteAndHang(Vec::new()),
        Step::WriteAndHang(b"HTTP/1.1 201".to_vec()),
        Step::WriteAndHang(half),
    ] {
        let server = ScriptedServer::start(vec![step.clone()]).await;
        let begun = Instant::now();
        let submitted = hasty_client(&server.base_url)
            .submit(&TOKEN, key(), &proposal("7"))
            .await;
        let Err(MarketplaceError::NoAnswer(message)) = submitted else {
            panic!("{step:?}: {submitted:?}")
        };
        assert!(message.ends_with("within 250 ms"), "{message}");
        assert!(begun.elapsed() >= Duration::from_millis(250));
        assert_eq!(server.received().len(), 1, "sent once");
    }
}

#[tokio::test]
async fn a_connection_cut_after_the_request_is_no_answer() {
    let half_head = b"HTTP/1.1 201 Cre".to_vec();
    let half_body = b"HTTP/1.1 201 Created\r\nContent-Length: 100\r\n\r\n{\"proposalId\"".to_vec();
    for bytes in [Vec::new(), half_head, half_body] {
        let server = ScriptedServer::start(vec![Step::WriteAndClose(bytes.clone())]).await;
        let submitted = client(&server.base_url)
            .submit(&TOKEN, key(), &proposal("7"))
            .await;
        assert!(
            matches!(submitted, Err(MarketplaceError::NoAnswer(_))),
            "{bytes:?}: {submitted:?}"
        );
        assert_eq!(server.received().len(), 1, "sent once");
    }
}

#[tokio::test]
async fn an_answer_that_is_no_http_is_malformed() {
    for bytes in [
        &b"220 smtp.test ESMTP\r\n\r\n"[..],
        b"HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ] {
        let server = ScriptedServer::start(vec![Step::WriteAndClose(bytes.to_vec())]).await;
        let submitted = client(&server.base_url)
            .submit(&TOKEN, key(), &proposal("7"))
            .await;
        assert!(
            matches!(submitted, Err(MarketplaceError::Malformed(_))),
            "{submitted:?}"
        );
    }
}

#[tokio::test]
async fn an_answer_larger_than_its_bound_is_malformed() {
    let announced = b"HTTP/1.1 200 OK\r\nContent-Length: 1048577\r\n\r\n".to_vec();
    let mut chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n100001\r\n".to_vec();
    chunked.resize(chunked.len() + 0x10_0001, b' ');
    for bytes in [announced, chunked] {
        let server = ScriptedServer::start(vec![Step::WriteAndHang(bytes)]).await;
        let account = client(&server.base_url).account(&TOKEN).await;
        let expected = MarketplaceError::Malformed("the body is larger than 1048576 bytes".to_owned());
        assert_eq!(account, Err(expected));
    }
}

#[tokio::test]
async fn calls_one_after_the_other_share_a_connection() {
    let chunked = format!(
        "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{SUBMITTED_JSON}\r\n0\r\n\r\n",
        SUBMITTED_JSON.len()
    );
    let server = ScriptedServer::start(vec![
        ok(ACCOUNT_JSON),
        Step::Write(chunked.into_bytes()),
        answer(503, "", "busy"),
        answer(401, "", ""),
        answer(422, "", r#"{"code":"invalid","message":""}"#),
        ok(ACCOUNT_JSON),
    ])
    .await;
    let client = client(&server.base_url);
    client.account(&TOKEN).await.unwrap();
    client.submit(&TOKEN, key(), &proposal("7")).await.unwrap();
    client.account(&TOKEN).await.unwrap_err();
    client.account(&TOKEN).await.unwrap_err();
    client.submit(&TOKEN, key(), &proposal("7")).await.unwrap_err();
    client.account(&TOKEN).await.unwrap();
    assert_eq!(server.connections(), [0; 6]);
}

#[tokio::test]
async fn calls_side_by_side_have_a_connection_each() {
    let server = ScriptedServer::start(vec![ok(ACCOUNT_JSON), ok(ACCOUNT_JSON)]).await;
    let client = client(&server.base_url);
    let (one, other) = tokio::join!(client.account(&TOKEN), client.account(&TOKEN));
    one.unwrap();
    other.unwrap();
    let mut connections = server.connections();
    connections.sort_unstable();
    assert_eq!(connections, [0, 1]);
}

#[tokio::test]
async fn a_connection_that_the_marketplace_announced_to_close_is_not_used_again() {
    let server = ScriptedServer::start(vec![
        Step::WriteAndClose(answer_bytes(200, "Connection: close\r\n", ACCOUNT_JSON)),
        answer(201, "", SUBMITTED_JSON),
    ])
    .await;
    let client = client(&server.base_url);
    client.account(&TOKEN).await.unwrap();
    client.submit(&TOKEN, key(), &proposal("7")).await.unwrap();
    assert_eq!(server.connections(), [0, 1]);
}

#[tokio::test]
async fn a_read_on_a_kept_connection_that_closes_is_made_again_on_a_fresh_one() {
    let server = ScriptedServer::start(vec![
        ok(ACCOUNT_JSON),
        Step::WriteAndClose(Vec::new()),
        ok(ACCOUNT_JSON),
    ])
    .await;
    let client = client(&server.base_url);
    client.account(&TOKEN).await.unwrap();
    client.account(&TOKEN).await.unwrap();
    assert_eq!(server.connections(), [0, 0, 1]);
    let [_, cut, again] = &server.received()[..] else {
        panic!("{:?}", server.received())
    };
    assert_eq!(cut.head, again.head, "the same request, token and all");
}

#[tokio::test]
async fn a_read_on_a_fresh_connection_is_made_once() {
    let server = ScriptedServer::start(vec![Step::WriteAndClose(Vec::new())]).await;
    let account = client(&server.base_url).account(&TOKEN).await;
    assert!(
        matches!(account, Err(MarketplaceError::NoAnswer(_))),
        "{account:?}"
    );
    assert_eq!(server.received().len(), 1);
}

#[tokio::test]
async fn a_proposal_on_a_kept_connection_that_closes_is_no_answer_and_not_sent_twice() {
    let server = ScriptedServer::start(vec![ok(ACCOUNT_JSON), Step::WriteAndClose(Vec::new())]).await;
    let client = client(&server.base_url);
    client.account(&TOKEN).await.unwrap();
    let submitted = client.submit(&TOKEN, key(), &proposal("7")).await;
    assert!(
        matches!(submitted, Err(MarketplaceError::NoAnswer(_))),
        "{submitted:?}"
    );
    assert_eq!(server.connections(), [0, 0]);
}

#[tokio::test]
async fn the_connection_of_a_cancelled_call_is_not_reused() {
    let server = ScriptedServer::start(vec![Step::WriteAndHang(Vec::new()), ok(ACCOUNT_JSON)]).await;
    let client = client(&server.base_url);
    let given_up = tokio::time::timeout(Duration::from_millis(100), client.account(&TOKEN)).await;
    assert!(given_up.is_err());
    client.account(&TOKEN).await.unwrap();
    assert_eq!(server.connections().last(), Some(&1));
}

#[tokio::test]
async fn https_works_with_a_trusted_root_and_not_without() {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key_der = rustls::pki_types::PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key_der.into())
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let server = ScriptedServer::start_with(vec![ok(ACCOUNT_JSON), ok(ACCOUNT_JSON)], Some(acceptor)).await;

    let distrustful = client(&server.base_url).account(&TOKEN).await;
    assert!(
        matches!(distrustful, Err(MarketplaceError::Unreachable(_))),
        "{distrustful:?}"
    );

    let trusting = client_with(&MarketplaceSettings {
        tls: tls_trusting(Some(certified.cert.der())),
        ..settings(&server.base_url)
    });
    trusting.account(&TOKEN).await.unwrap();
    trusting.account(&TOKEN).await.unwrap();
    assert_eq!(server.connections(), [1, 1]);
}
