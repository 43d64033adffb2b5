//! What answers count as, and what is kept of them.

use std::time::Duration;

use bidloop_domain::port::{OutgoingWebhook, WebhookFailureKind};

use crate::receiver::{Event, Receiver, Script};
use crate::{insecure_sender, kind_of, send, webhook_to};

#[tokio::test]
async fn status_200_is_delivered() {
    let receiver = Receiver::start(Script::ok()).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_status, Some(200));
    assert_eq!(attempt.response_body, "ok");
    assert!(attempt.duration > Duration::ZERO);
}

#[tokio::test]
async fn any_other_status_fails() {
    for status in [
        201, 202, 204, 299, 301, 307, 400, 401, 404, 410, 429, 500, 503, 999,
    ] {
        let answer = format!("HTTP/1.1 {status} Whatever\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start(Script::answer(&answer)).await;
        let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::UnexpectedStatus),
            "{status}"
        );
        assert_eq!(attempt.response_status, Some(status));
        assert_eq!(receiver.requests().len(), 1, "{status} is not retried");
    }
}

#[tokio::test]
async fn the_body_of_a_failure_is_kept_too() {
    let answer = "HTTP/1.1 503 Service Unavailable\r\ncontent-length: 9\r\n\r\ntry later";
    let receiver = Receiver::start(Script::answer(answer)).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.response_status, Some(503));
    assert_eq!(attempt.response_body, "try later");
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let elsewhere = Receiver::start(Script::ok()).await;
    for status in [301, 302, 303, 307, 308] {
        let location = elsewhere.url();
        let answer = format!("HTTP/1.1 {status} Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Receiver::start(Script::answer(&answer)).await;
        let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::UnexpectedStatus),
            "{status}"
        );
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn interim_answers_are_passed_over() {
    let answer = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n\
                  HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nfinal";
    let receiver = Receiver::start(Script::answer(answer)).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_body, "final");
}

#[tokio::test]
async fn an_answer_counts_although_the_receiver_reads_only_the_start_of_the_request() {
    let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nearly".to_vec();
    let receiver = Receiver::start(Script::Early(answer)).await;
    // More than the system keeps for a receiver that does not read.
    let body = vec![b' '; 32 * 1024 * 1024].into();
    let webhook = OutgoingWebhook {
        body,
        ..webhook_to(receiver.url())
    };
    let attempt = send(&insecure_sender(), webhook).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_body, "early");
}

#[tokio::test]
async fn bodies_of_every_framing_are_read() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\nbody",
        "HTTP/1.0 200 OK\r\n\r\nbody",
    ] {
        let receiver = Receiver::start(Script::answer(answer)).await;
        let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
        assert_eq!(attempt.failure, None, "{answer}");
        assert_eq!(attempt.response_body, "body", "{answer}");
    }
}

#[tokio::test]
async fn an_answer_body_is_cut_at_2_kib() {
    let body = "0123456789".repeat(1000);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: 10000\r\n\r\n{body}");
    let receiver = Receiver::start(Script::answer(&answer)).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_body, body[..2048]);
}

#[tokio::test]
async fn an_endless_answer_body_is_cut_off() {
    let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n".to_vec();
    let mut receiver = Receiver::start(Script::Endless(head, b"4\r\nmore\r\n".repeat(1000))).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_body, "more".repeat(512));
    receiver.wait_for(|event| *event == Event::Closed).await;
}

#[tokio::test]
async fn a_body_that_stalls_after_the_status_changes_nothing_and_is_cut_off() {
    let answer = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe start";
    let mut receiver = Receiver::start(Script::stall(answer)).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);
    assert_eq!(attempt.response_status, Some(200));
    assert_eq!(attempt.response_body, "the start");
    receiver.wait_for(|event| *event == Event::Closed).await;
}

#[tokio::test]
async fn a_body_that_breaks_off_changes_nothing() {
    for answer in [
        "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nthe start",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n9\r\nthe start\r\nnot a chunk\r\n",
    ] {
        let receiver = Receiver::start(Script::answer(answer)).await;
        let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
        assert_eq!(attempt.failure, None, "{answer}");
        assert_eq!(attempt.response_body, "the start", "{answer}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_after_the_status_line_is_judged_by_it() {
    let receiver = Receiver::start(Script::answer("HTTP/1.1 200 OK\r\nserver: x\r\n")).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(attempt.failure, None);

    let receiver = Receiver::start(Script::answer("HTTP/1.1 500 Oops\r\n")).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::UnexpectedStatus));
    assert_eq!(attempt.response_status, Some(500));
}

#[tokio::test]
async fn an_answer_that_is_not_http_is_a_protocol_error() {
    for answer in [
        "",
        "HTTP/1.1",
        "SSH-2.0-OpenSSH_9.6\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        "{\"status\":200}",
        "\0\u{1}\u{2}\r\n\r\n",
    ] {
        let receiver = Receiver::start(Script::answer(answer)).await;
        let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
        assert_eq!(
            kind_of(&attempt),
            Some(WebhookFailureKind::ProtocolError),
            "{answer:?}"
        );
        assert_eq!(attempt.response_status, None, "{answer:?}");
        assert_eq!(receiver.requests().len(), 1, "{answer:?} is not retried");
    }
}

#[tokio::test]
async fn a_head_without_end_is_a_protocol_error() {
    let head = b"HTTP/1.1 200 OK\r\n".to_vec();
    let receiver = Receiver::start(Script::Endless(head, b"x: yyyyyyyyyyyyyyyy\r\n".repeat(100))).await;
    let attempt = send(&insecure_sender(), webhook_to(receiver.url())).await;
    assert_eq!(kind_of(&attempt), Some(WebhookFailureKind::ProtocolError));
}
