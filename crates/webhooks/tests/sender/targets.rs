//! Decision C6 at connect time: the addresses of the name and of the connection decide, not the URL.

use std::net::TcpListener;

use bidloop_domain::port::{WebhookFailureKind, WebhookSender as _};
use bidloop_webhooks::{HyperWebhookSender, TargetPolicy};

use crate::fake_network::{FakeNetwork, OTHER_PUBLIC, PUBLIC, Route};
use crate::receiver::{Receiver, Script};
use crate::tls::Authority;
use crate::{insecure_sender, kind_of, no_roots, send, webhook_to};

const URL: &str = "https://hooks.example.com/";

fn public_sender() -> HyperWebhookSender {
    HyperWebhookSender::new(TargetPolicy::PublicHttps, no_roots())
}

#[tokio::test]
async fn a_name_that_resolves_to_a_private_address_alone_is_refused_unconnected() {
    for address in [
        "127.0.0.1",
        "10.1.2.3",
        "169.254.169.254",
        "::1",
        "fd00:ec2::254",
        "::ffff:127.0.0.1",
    ] {
        let network = FakeNetwork::new(&[&[address]], &[]);
        let sender = public_sender().with_network(network.clone());
        let attempt = send(&sender, webhook_to(URL)).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::ForbiddenTarget),
            "{address}"
        );
        assert_eq!(network.lookups(), ["hooks.example.com"]);
        assert!(network.connects().is_empty(), "{address}");
    }
}

#[tokio::test]
async fn of_mixed_addresses_only_the_public_ones_are_tried() {
    let answer: &[&str] = &["127.0.0.1", OTHER_PUBLIC, "10.0.0.1", PUBLIC, "::1"];
    let routes = [(OTHER_PUBLIC, Route::Refused), (PUBLIC, Route::Refused)];
    let network = FakeNetwork::new(&[answer], &routes);
    let attempt = send(&public_sender().with_network(network.clone()), webhook_to(URL)).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::ConnectFailed));
    assert_eq!(network.connects(), [OTHER_PUBLIC, PUBLIC]);
}

#[tokio::test]
async fn a_connection_that_turns_out_to_lead_inside_is_refused_before_anything_is_sent() {
    let authority = Authority::new();
    let receiver = Receiver::start_tls(authority.acceptor("hooks.example.com"), Script::ok()).await;
    let network = FakeNetwork::new(&[&[PUBLIC]], &[(PUBLIC, Route::To(receiver.address))]);
    let sender =
        HyperWebhookSender::new(TargetPolicy::PublicHttps, authority.trusted()).with_network(network.clone());

    let attempt = send(&sender, webhook_to(URL)).await;

    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::ForbiddenTarget));
    assert_eq!(network.connects(), [PUBLIC]);
    assert!(receiver.requests().is_empty());
}

#[tokio::test]
async fn every_attempt_looks_the_name_up_anew_and_judges_the_new_answer() {
    let authority = Authority::new();
    let receiver = Receiver::start_tls(authority.acceptor("hooks.example.com"), Script::ok()).await;
    let network = FakeNetwork::new(
        &[&[PUBLIC], &["127.0.0.1"]],
        &[
            (PUBLIC, Route::Disguised(receiver.address)),
            ("127.0.0.1", Route::To(receiver.address)),
        ],
    );
    let sender =
        HyperWebhookSender::new(TargetPolicy::PublicHttps, authority.trusted()).with_network(network.clone());

    let before = send(&sender, webhook_to(URL)).await;
    let after_rebinding = send(&sender, webhook_to(URL)).await;

    assert_eq!(before.failure, None, "a public target is reached");
    assert_eq!(
        kind_of(&after_rebinding),
        Some(WebhookFailureKind::ForbiddenTarget)
    );
    assert_eq!(network.lookups().len(), 2);
    assert_eq!(receiver.requests().len(), 1);
}

#[tokio::test]
async fn literal_private_addresses_are_refused_without_look_up_or_connect() {
    for host in [
        "127.0.0.1",
        "2130706433",
        "0x7f.1",
        "127.0.0.1.",
        "[::ffff:127.0.0.1]",
        "localhost",
    ] {
        let network = FakeNetwork::new(&[&[PUBLIC]], &[]);
        let sender = public_sender().with_network(network.clone());
        let url = format!("https://{host}/");
        let attempt = send(&sender, webhook_to(&url)).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::ForbiddenTarget),
            "{host}"
        );
        assert_eq!(
            sender.check_target(&url).unwrap_err().kind,
            WebhookFailureKind::ForbiddenTarget
        );
        assert!(
            network.lookups().is_empty() && network.connects().is_empty(),
            "{host}"
        );
    }
}

#[tokio::test]
async fn literal_public_addresses_are_connected_to_without_look_up() {
    let network = FakeNetwork::new(&[], &[(PUBLIC, Route::Refused)]);
    let sender = public_sender().with_network(network.clone());
    let attempt = send(&sender, webhook_to(format!("https://{PUBLIC}/"))).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::ConnectFailed));
    assert!(network.lookups().is_empty());
    assert_eq!(network.connects(), [PUBLIC]);
}

#[tokio::test]
async fn an_invalid_target_is_refused_without_look_up_or_connect() {
    for url in [
        "",
        "http://hooks.example.com/",
        "ftp://hooks.example.com/",
        "https://u:p@hooks.example.com/",
        "https://*/",
        &format!("https://{}/", "a.".repeat(200)),
    ] {
        let network = FakeNetwork::new(&[&[PUBLIC]], &[]);
        let sender = public_sender().with_network(network.clone());
        let attempt = send(&sender, webhook_to(url)).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::InvalidTarget),
            "{url}"
        );
        assert_eq!(sender.check_target(url), Err(attempt.failure.unwrap()), "{url}");
        assert!(
            network.lookups().is_empty() && network.connects().is_empty(),
            "{url}"
        );
    }
}

#[tokio::test]
async fn checking_a_target_looks_nothing_up() {
    let network = FakeNetwork::new(&[], &[]);
    let sender = public_sender().with_network(network.clone());
    assert_eq!(sender.check_target("https://hooks.example.com:8443/a?b"), Ok(()));
    assert!(network.lookups().is_empty());
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_a_failed_connect() {
    for answers in [&[][..], &[&[][..]][..]] {
        let sender = public_sender().with_network(FakeNetwork::new(answers, &[]));
        let attempt = send(&sender, webhook_to(URL)).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::ConnectFailed),
            "{answers:?}"
        );
    }
}

#[tokio::test]
async fn a_refused_connection_is_a_failed_connect() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
    let attempt = send(&insecure_sender(), webhook_to(url)).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::ConnectFailed));
}

#[tokio::test]
async fn where_insecure_targets_are_allowed_the_systems_resolver_finds_localhost() {
    let receiver = Receiver::start(Script::ok()).await;
    let url = format!("http://localhost:{}/hook", receiver.address.port());
    assert_eq!(kind_of(&send(&insecure_sender(), webhook_to(url)).await), None);
    assert_eq!(receiver.requests().len(), 1);
}
