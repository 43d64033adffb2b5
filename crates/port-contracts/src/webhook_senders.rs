//! The rules of `WebhookSender` that any sender keeps, with receivers it can reach (decision C4). Which addresses are
//! forbidden, and what TLS demands, are the real sender's own.

use bidloop_domain::port::{OutgoingWebhook, WebhookAttempt, WebhookFailureKind};
use bytes::Bytes;

use crate::WebhookSenderBed;

async fn send(bed: &impl WebhookSenderBed, url: &str, body: &'static str) -> WebhookAttempt {
    let headers = vec![("content-type", "application/json".to_owned())];
    bed.sender()
        .send(OutgoingWebhook {
            url: url.to_owned(),
            headers,
            body: Bytes::from_static(body.as_bytes()),
        })
        .await
}

fn kind(attempt: &WebhookAttempt) -> Option<WebhookFailureKind> {
    attempt.failure.as_ref().map(|failure| failure.kind)
}

pub async fn a_200_is_a_delivery(bed: &impl WebhookSenderBed) {
    let url = bed.receiver(200, "thanks").await;
    assert!(bed.sender().check_target(&url).is_ok());
    let attempt = send(bed, &url, r#"{"n":1}"#).await;
    assert_eq!((attempt.failure, attempt.response_status), (None, Some(200)));
    assert_eq!(attempt.response_body, "thanks");
}

pub async fn any_other_status_is_a_failure(bed: &impl WebhookSenderBed) {
    for status in [201, 204, 301, 302, 400, 404, 410, 429, 500, 503] {
        let url = bed.receiver(status, "").await;
        let attempt = send(bed, &url, "{}").await;
        assert_eq!(
            kind(&attempt),
            Some(WebhookFailureKind::UnexpectedStatus),
            "{status}"
        );
        assert_eq!(attempt.response_status, Some(status));
    }
}

pub async fn every_call_is_one_request_and_no_more(bed: &impl WebhookSenderBed) {
    for status in [200, 307, 503] {
        let url = bed.receiver(status, "").await;
        send(bed, &url, r#"{"n":1}"#).await;
        assert_eq!(
            bed.received(&url).await,
            [Bytes::from_static(br#"{"n":1}"#)],
            "{status}"
        );
        send(bed, &url, r#"{"n":2}"#).await;
        assert_eq!(bed.received(&url).await.len(), 2, "{status}");
    }
}

pub async fn the_answers_body_is_kept_up_to_two_kibibytes(bed: &impl WebhookSenderBed) {
    for status in [200, 500] {
        let long = "abcdefgh".repeat(1024);
        let url = bed.receiver(status, &long).await;
        assert_eq!(send(bed, &url, "{}").await.response_body, long[..2048]);
    }
}

pub async fn a_receiver_that_cannot_be_reached_is_a_failure_without_a_status(bed: &impl WebhookSenderBed) {
    let url = bed.unreachable().await;
    let attempt = send(bed, &url, "{}").await;
    assert_eq!(kind(&attempt), Some(WebhookFailureKind::ConnectFailed));
    assert_eq!(
        (attempt.response_status, attempt.response_body.as_str()),
        (None, "")
    );
}

pub async fn what_is_no_web_address_is_refused_without_a_request(bed: &impl WebhookSenderBed) {
    for url in [
        "",
        "hooks.test/x",
        "ftp://hooks.test/x",
        "https://",
        "javascript:alert(1)",
    ] {
        let refused = bed.sender().check_target(url).unwrap_err();
        assert_eq!(refused.kind, WebhookFailureKind::InvalidTarget, "{url}");
        let attempt = send(bed, url, "{}").await;
        assert_eq!(kind(&attempt), Some(WebhookFailureKind::InvalidTarget), "{url}");
        assert_eq!(attempt.response_status, None);
        assert!(bed.received(url).await.is_empty());
    }
}
