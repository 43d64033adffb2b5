//! The sender keeps the contract of `WebhookSender`, over real connections.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bidloop_domain::port::WebhookSender;
use bidloop_port_contracts::WebhookSenderBed;
use bytes::Bytes;
use tokio::net::TcpListener;

use crate::insecure_sender;
use crate::receiver::{Receiver, Script};

#[derive(Default)]
struct Bed {
    receivers: Mutex<Vec<Receiver>>,
}

#[async_trait]
impl WebhookSenderBed for Bed {
    fn sender(&self) -> Arc<dyn WebhookSender> {
        Arc::new(insecure_sender())
    }

    async fn receiver(&self, status: u16, body: &str) -> String {
        let length = body.len();
        let answer = format!("HTTP/1.1 {status} Scripted\r\ncontent-length: {length}\r\n\r\n{body}");
        let receiver = Receiver::start(Script::answer(&answer)).await;
        let url = receiver.url();
        self.receivers.lock().unwrap().push(receiver);
        url
    }

    async fn unreachable(&self) -> String {
        // A port that was just closed refuses connections.
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        format!("http://{}/hook", listener.local_addr().unwrap())
    }

    async fn received(&self, url: &str) -> Vec<Bytes> {
        let receivers = self.receivers.lock().unwrap();
        let requests = receivers
            .iter()
            .filter(|receiver| receiver.url() == url)
            .flat_map(Receiver::requests);
        requests
            .map(|request| Bytes::from(request.split_once("\r\n\r\n").unwrap().1.to_owned()))
            .collect()
    }
}

#[expect(clippy::unused_async, reason = "the contract makes its beds asynchronously")]
async fn bed() -> Bed {
    Bed::default()
}

bidloop_port_contracts::webhook_sender_contracts!(crate::contract::bed);
