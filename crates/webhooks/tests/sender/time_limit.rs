//! What a receiver that takes too long comes to, at each step of the attempt.

use std::net::TcpListener;
use std::time::Duration;

use bidloop_domain::port::{WebhookAttempt, WebhookFailureKind};

use crate::fake_network::{FakeNetwork, OTHER_PUBLIC, PUBLIC, Route};
use crate::receiver::{Event, Receiver, Script};
use crate::{insecure_sender, kind_of, send, webhook_to};

/// For steps that never end.
const SHORT: Duration = Duration::from_millis(100);
/// For answers that do begin in time, even on a busy machine.
const AMPLE: Duration = Duration::from_secs(2);

#[track_caller]
fn assert_timed_out(attempt: &WebhookAttempt, limit: Duration, while_doing: &str) {
    assert_eq!(kind_of(attempt), Some(WebhookFailureKind::Timeout), "{attempt:?}");
    assert_eq!(attempt.response_status, None);
    assert!(attempt.duration >= limit, "{:?}", attempt.duration);
    let message = &attempt.failure.as_ref().unwrap().message;
    assert!(message.ends_with(while_doing), "{message}");
}

#[tokio::test]
async fn a_look_up_that_does_not_end_is_a_timeout() {
    let sender = insecure_sender()
        .with_time_limit(SHORT)
        .with_network(FakeNetwork::without_dns());
    let attempt = send(&sender, webhook_to("https://hooks.example.com/")).await;
    assert_timed_out(&attempt, SHORT, "looking up hooks.example.com");
}

#[tokio::test]
async fn a_connect_that_does_not_end_is_a_timeout() {
    let network = FakeNetwork::new(&[&[PUBLIC]], &[(PUBLIC, Route::Silent)]);
    let sender = insecure_sender().with_time_limit(SHORT).with_network(network);
    let attempt = send(&sender, webhook_to("https://hooks.example.com/")).await;
    assert_timed_out(&attempt, SHORT, &format!("connecting to {PUBLIC}:443"));
}

#[tokio::test]
async fn a_tls_handshake_that_does_not_end_is_a_timeout() {
    // The system accepts connections for the listener. Nothing ever reads from them.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let attempt = send(&insecure_sender().with_time_limit(SHORT), webhook_to(url)).await;
    assert_timed_out(&attempt, SHORT, "negotiating TLS");
}

#[tokio::test]
async fn an_answer_that_does_not_begin_is_a_timeout_and_the_connection_is_closed() {
    let mut receiver = Receiver::start(Script::stall("")).await;
    let sender = insecure_sender().with_time_limit(AMPLE);
    let attempt = send(&sender, webhook_to(receiver.url())).await;
    assert_timed_out(&attempt, AMPLE, "waiting for the answer");
    assert_eq!(receiver.requests().len(), 1);
    receiver.wait_for(|event| *event == Event::Closed).await;
}

#[tokio::test]
async fn an_unfinished_status_line_is_a_timeout() {
    let receiver = Receiver::start(Script::stall("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK")).await;
    let attempt = send(
        &insecure_sender().with_time_limit(SHORT),
        webhook_to(receiver.url()),
    )
    .await;
    assert_timed_out(&attempt, SHORT, "waiting for the answer");
}

#[tokio::test]
async fn a_head_that_stalls_after_its_status_line_is_judged_by_the_status() {
    let sender = insecure_sender().with_time_limit(AMPLE);

    let receiver = Receiver::start(Script::stall("HTTP/1.1 200 OK\r\nserver: slow\r\n")).await;
    let attempt = send(&sender, webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);
    assert!(
        attempt.duration < AMPLE,
        "counts to the status line: {:?}",
        attempt.duration
    );

    let receiver = Receiver::start(Script::stall("HTTP/1.1 201 Created\r\n")).await;
    let attempt = send(&sender, webhook_to(receiver.url())).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::UnexpectedStatus));
}

#[tokio::test]
async fn an_address_that_swallows_packets_leaves_the_next_one_its_share_of_the_time() {
    let receiver = Receiver::start(Script::ok()).await;
    let routes = [
        (OTHER_PUBLIC, Route::Silent),
        (PUBLIC, Route::To(receiver.address)),
    ];
    let network = FakeNetwork::new(&[&[OTHER_PUBLIC, PUBLIC]], &routes);
    let sender = insecure_sender()
        .with_time_limit(AMPLE)
        .with_network(network.clone());

    let attempt = send(&sender, webhook_to("http://hooks.example.com/")).await;

    assert_eq!(attempt.failure, None);
    assert_eq!(network.connects(), [OTHER_PUBLIC, PUBLIC]);
    assert_eq!(receiver.connections(), 1);
}
