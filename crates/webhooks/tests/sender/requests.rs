//! What reaches the receiver.

use bidloop_domain::port::{OutgoingWebhook, WebhookSender as _};

use crate::receiver::{Event, Receiver, Script};
use crate::{insecure_sender, kind_of, send, webhook_to};

#[tokio::test]
async fn one_connection_carries_one_request_with_the_headers_and_the_body_as_given() {
    let receiver = Receiver::start(Script::ok()).await;
    let webhook = OutgoingWebhook {
        url: format!("{}?channel=1&name=%C3%A9#part", receiver.url()),
        headers: vec![
            ("content-type", "application/json".to_owned()),
            ("user-agent", "Bidloop".to_owned()),
            ("webhook-id", "0198c6f4".to_owned()),
            ("webhook-signature", "v1,a= v1,b=".to_owned()),
            ("x-service-delivery-id", "0198c6f4".to_owned()),
        ],
        body: "{\"title\":\"Größe\"}".into(),
    };

    let attempt = send(&insecure_sender(), webhook).await;

    assert_eq!(kind_of(&attempt), None);
    assert_eq!(receiver.connections(), 1);
    let expected = format!(
        "POST /hook?channel=1&name=%C3%A9 HTTP/1.1\r\n\
         content-type: application/json\r\n\
         user-agent: Bidloop\r\n\
         webhook-id: 0198c6f4\r\n\
         webhook-signature: v1,a= v1,b=\r\n\
         x-service-delivery-id: 0198c6f4\r\n\
         host: {}\r\n\
         content-length: 19\r\n\
         connection: close\r\n\
         \r\n\
         {{\"title\":\"Größe\"}}",
        receiver.address
    );
    assert_eq!(receiver.requests(), [expected]);
}

#[tokio::test]
async fn every_attempt_opens_a_connection_of_its_own() {
    let receiver = Receiver::start(Script::ok()).await;
    let sender = insecure_sender();
    for _ in 0..3 {
        assert_eq!(kind_of(&send(&sender, webhook_to(receiver.url())).await), None);
    }
    assert_eq!(receiver.connections(), 3);
    assert_eq!(receiver.requests().len(), 3);
}

#[tokio::test]
async fn a_body_of_a_megabyte_arrives_whole() {
    let receiver = Receiver::start(Script::ok()).await;
    let body = "0123456789abcdef".repeat(65_536);
    let webhook = OutgoingWebhook {
        body: body.clone().into(),
        ..webhook_to(receiver.url())
    };

    assert_eq!(kind_of(&send(&insecure_sender(), webhook).await), None);

    let requests = receiver.requests();
    let (_, arrived) = requests[0].split_once("\r\n\r\n").unwrap();
    assert!(arrived == body, "{} bytes arrived", arrived.len());
}

#[tokio::test]
async fn unusual_paths_are_requested_as_the_url_has_them() {
    for path in ["//double/", "/a|b^c", "/%F0%9F%A6%80/[x]", "/?q={a}|b"] {
        let receiver = Receiver::start(Script::ok()).await;
        let url = format!("http://{}{path}", receiver.address);

        assert_eq!(
            kind_of(&send(&insecure_sender(), webhook_to(url)).await),
            None,
            "{path}"
        );

        let requests = receiver.requests();
        assert!(
            requests[0].starts_with(&format!("POST {path} HTTP/1.1\r\n")),
            "{}",
            requests[0]
        );
    }
}

#[tokio::test]
async fn an_attempt_that_is_dropped_closes_its_connection() {
    let mut receiver = Receiver::start(Script::stall("")).await;
    let webhook = webhook_to(receiver.url());
    let attempt = tokio::spawn(async move { insecure_sender().send(webhook).await });
    receiver
        .wait_for(|event| matches!(event, Event::Requested(_)))
        .await;

    attempt.abort();

    assert_eq!(
        receiver.wait_for(|event| *event == Event::Closed).await,
        Event::Closed
    );
}
