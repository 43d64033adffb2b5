//! The receiver over real connections.

use std::future::Future;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bidloop_client::SignatureRefused;
use bidloop_domain::model::{WebhookSecret, webhook_signature};
use http_body_util::{BodyExt, Full};
use hyper::Request;
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use super::*;
use crate::clock::now_ms;

fn run<F: Future<Output = ()>>(test: F) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_secs(20), test).await.unwrap() });
}

fn secret() -> WebhookSecret {
    WebhookSecret::generate([7; 32])
}

fn key() -> String {
    format!("lk_{}", "1".repeat(64))
}

fn signed_options() -> ReceiverOptions {
    ReceiverOptions {
        secrets: vec![secret()],
        ..ReceiverOptions::default()
    }
}

fn job_new(bid_url: &str) -> Value {
    json!({
        "id": "d1", "event": "job.new", "version": "2026-09-10", "createdAt": 1,
        "data": {"leadId": "ld_1", "bidUrl": bid_url, "lead": {"title": "A ledger", "questions": ["Why?"]}},
    })
}

/// Posts a body and returns the status and text of the answer.
async fn post(receiver: &Receiver, method: &str, headers: &[(&str, String)], body: String) -> (u16, String) {
    let stream = TcpStream::connect(receiver.address()).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    let mut request = Request::builder()
        .method(method)
        .uri("/hooks")
        .header("host", "receiver.test");
    for (name, value) in headers {
        request = request.header(*name, value);
    }
    let response = sender
        .send_request(request.body(Full::<bytes::Bytes>::from(body)).unwrap())
        .await
        .unwrap();
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

/// Posts a signed delivery; `signed_body` is what the signature covers.
async fn deliver(receiver: &Receiver, body: &Value, signed_body: &Value, at_seconds: i64) -> u16 {
    let signature =
        webhook_signature::sign(&[secret()], "d1", at_seconds, signed_body.to_string().as_bytes());
    let headers = [
        ("webhook-id", "d1".to_owned()),
        ("webhook-timestamp", at_seconds.to_string()),
        ("webhook-signature", signature),
    ];
    post(receiver, "POST", &headers, body.to_string()).await.0
}

#[test]
fn a_signed_delivery_is_answered_200_and_reported_before_the_answer() {
    run(async {
        let events = Arc::new(Mutex::new(Vec::new()));
        let reported = Arc::clone(&events);
        let receiver = Receiver::start("127.0.0.1:0", signed_options(), move |event| {
            reported.lock().unwrap().push(event);
        })
        .await
        .unwrap();
        let body = job_new("http://127.0.0.1:1/bid");
        assert_eq!(deliver(&receiver, &body, &body, now_ms() / 1000).await, 200);

        let events = events.lock().unwrap();
        let [Event::Delivered(delivery)] = events.as_slice() else {
            panic!("{events:?}")
        };
        assert_eq!((delivery.event(), delivery.path()), ("job.new", "/hooks"));
        assert_eq!(delivery.signature(), Signature::Valid);
        assert_eq!(delivery.header("webhook-id"), Some("d1"));
        assert_eq!(delivery.data()["leadId"], "ld_1");
        assert_eq!(delivery.body(), body.to_string().as_bytes());
    });
}

#[test]
fn forged_old_and_unsigned_deliveries_are_answered_401_and_kept() {
    run(async {
        let receiver = Receiver::start("127.0.0.1:0", signed_options(), |_| {})
            .await
            .unwrap();
        let (sent, signed) = (job_new("http://a"), job_new("http://b"));
        let now = now_ms() / 1000;
        assert_eq!(deliver(&receiver, &sent, &signed, now).await, 401);
        assert_eq!(deliver(&receiver, &sent, &sent, now - 3_600).await, 401);
        assert_eq!(post(&receiver, "POST", &[], sent.to_string()).await.0, 401);
        let judged: Vec<Signature> = receiver
            .deliveries()
            .iter()
            .map(|delivery| delivery.signature())
            .collect();
        assert_eq!(
            judged,
            [
                Signature::Refused(SignatureRefused::Mismatch),
                Signature::Refused(SignatureRefused::TooOld),
                Signature::Refused(SignatureRefused::Missing("webhook-id")),
            ]
        );
    });
}

#[test]
fn scripted_answers_come_in_their_order_and_then_200_again() {
    run(async {
        let receiver = Receiver::start("127.0.0.1:0", ReceiverOptions::default(), |_| {})
            .await
            .unwrap();
        receiver.answer_next(Answer::status(204));
        receiver.answer_next(
            Answer::status(503)
                .with_body("later")
                .after(Duration::from_millis(10)),
        );
        let mut answers = Vec::new();
        for _ in 0..3 {
            answers.push(post(&receiver, "POST", &[], "no JSON".to_owned()).await);
        }
        assert_eq!(
            answers,
            [
                (204, String::new()),
                (503, "later".to_owned()),
                (200, String::new())
            ]
        );
        assert_eq!(receiver.deliveries()[0].json(), &Value::Null);
        assert_eq!(post(&receiver, "GET", &[], String::new()).await.0, 405);
        assert_eq!(receiver.wait_for(3).await.len(), 3);
    });
}

#[test]
fn only_the_newest_deliveries_are_kept() {
    run(async {
        let options = ReceiverOptions {
            keep: Some(2),
            ..ReceiverOptions::default()
        };
        let receiver = Receiver::start("127.0.0.1:0", options, |_| {}).await.unwrap();
        for number in 1..=3 {
            post(&receiver, "POST", &[], number.to_string()).await;
        }
        let kept: Vec<Value> = receiver
            .wait_for(3)
            .await
            .iter()
            .map(|delivery| delivery.json().clone())
            .collect();
        assert_eq!(kept, [json!(2), json!(3)]);
    });
}

#[test]
fn auto_reply_bids_through_the_bid_url_with_the_key_and_reports_the_answer() {
    run(async {
        let api = Receiver::start("127.0.0.1:0", ReceiverOptions::default(), |_| {})
            .await
            .unwrap();
        let (sender, mut replies) = mpsc::unbounded_channel();
        let options = ReceiverOptions {
            auto_reply: Some(key()),
            ..signed_options()
        };
        let receiver = Receiver::start("127.0.0.1:0", options, move |event| {
            if let Event::Replied(reply) = event {
                sender.send(reply).unwrap();
            }
        })
        .await
        .unwrap();
        api.answer_next(
            Answer::status(200)
                .with_body(r#"{"success":true,"leadId":"ld_1","campaignId":"c","organizationId":"o"}"#),
        );
        api.answer_next(Answer::status(409).with_body(r#"{"message":"already queued"}"#));
        let body = job_new(&api.url("/v1/campaigns/c/leads/ld_1/bid"));
        for _ in 0..2 {
            assert_eq!(deliver(&receiver, &body, &body, now_ms() / 1000).await, 200);
        }

        let first = replies.recv().await.unwrap();
        let second = replies.recv().await.unwrap();
        let mut answers = [
            (first.status, first.message.as_str()),
            (second.status, second.message.as_str()),
        ];
        answers.sort_unstable();
        assert_eq!(answers, [(Some(200), ""), (Some(409), "already queued")]);
        assert_eq!(first.lead_id, "ld_1");
        let bid = &api.deliveries()[0];
        assert_eq!(bid.path(), "/v1/campaigns/c/leads/ld_1/bid");
        assert_eq!(
            bid.header("authorization"),
            Some(format!("Bearer {}", key()).as_str())
        );
        assert_eq!(bid.header("content-type"), Some("application/json"));
        assert_eq!(
            bid.json(),
            &serde_json::to_value(bid_on(&body["data"]["lead"])).unwrap()
        );
    });
}

#[test]
fn an_api_that_cannot_be_reached_is_reported_without_a_status() {
    run(async {
        let closed = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let (sender, mut replies) = mpsc::unbounded_channel();
        let options = ReceiverOptions {
            auto_reply: Some(key()),
            ..signed_options()
        };
        let receiver = Receiver::start("127.0.0.1:0", options, move |event| {
            if let Event::Replied(reply) = event {
                sender.send(reply).unwrap();
            }
        })
        .await
        .unwrap();
        let body = job_new(&format!("http://{closed}/v1/campaigns/c/leads/ld_1/bid"));
        deliver(&receiver, &body, &body, now_ms() / 1000).await;
        let reply = replies.recv().await.unwrap();
        assert_eq!(reply.status, None);
        assert!(!reply.accepted() && !reply.message.is_empty(), "{reply:?}");
    });
}

#[test]
fn the_key_is_never_sent_where_an_unsigned_delivery_points() {
    run(async {
        let api = Receiver::start("127.0.0.1:0", ReceiverOptions::default(), |_| {})
            .await
            .unwrap();
        let options = ReceiverOptions {
            auto_reply: Some(key()),
            ..signed_options()
        };
        let receiver = Receiver::start("127.0.0.1:0", options, |_| {}).await.unwrap();
        let stranger = job_new(&api.url("/v1/stranger"));
        receiver.answer_next(Answer::status(200));
        assert_eq!(post(&receiver, "POST", &[], stranger.to_string()).await.0, 200);
        // Replies begin in the order of deliveries, and stopping waits for those under way: had the stranger's been
        // replied to, its address would have been called by then.
        let body = job_new(&api.url("/v1/true"));
        deliver(&receiver, &body, &body, now_ms() / 1000).await;
        api.wait_for(1).await;
        receiver.shutdown().await;
        let called: Vec<String> = api
            .deliveries()
            .iter()
            .map(|delivery| delivery.path().to_owned())
            .collect();
        assert_eq!(called, ["/v1/true"]);
    });
}

#[test]
fn after_it_stops_replying_deliveries_are_still_received() {
    run(async {
        let api = Receiver::start("127.0.0.1:0", ReceiverOptions::default(), |_| {})
            .await
            .unwrap();
        let options = ReceiverOptions {
            auto_reply: Some(key()),
            ..signed_options()
        };
        let mut receiver = Receiver::start("127.0.0.1:0", options, |_| {}).await.unwrap();
        let body = job_new(&api.url("/v1/bid"));
        assert_eq!(deliver(&receiver, &body, &body, now_ms() / 1000).await, 200);
        api.wait_for(1).await;
        receiver.stop_replying().await;
        assert_eq!(deliver(&receiver, &body, &body, now_ms() / 1000).await, 200);
        assert_eq!(receiver.wait_for(2).await.len(), 2);
        receiver.shutdown().await;
        assert_eq!(api.deliveries().len(), 1);
    });
}
