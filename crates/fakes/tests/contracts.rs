//! The fakes keep the contracts that the real adapters keep.
#![expect(clippy::unwrap_used, reason = "this is test code")]
#![expect(clippy::unused_async, reason = "the contracts make their beds asynchronously")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bidloop_domain::port::{
    BlobStore, OutgoingWebhook, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookSender,
};
use bidloop_fakes::{FakeWebhookSender, MemoryBlobStore, MemoryStore};
use bidloop_port_contracts::{BlobBed, StoreBed, Stores, WebhookSenderBed};
use bytes::Bytes;

struct MemoryStoreBed(Arc<MemoryStore>);

impl StoreBed for MemoryStoreBed {
    fn stores(&self) -> Stores {
        Stores::of(&self.0)
    }
}

async fn memory_store() -> MemoryStoreBed {
    MemoryStoreBed(Arc::new(MemoryStore::new()))
}

struct MemoryBlobBed(MemoryBlobStore);

impl BlobBed for MemoryBlobBed {
    fn blobs(&self) -> Arc<dyn BlobStore> {
        Arc::new(self.0.clone())
    }
}

async fn memory_blobs() -> MemoryBlobBed {
    MemoryBlobBed(MemoryBlobStore::new())
}

/// Answers each URL as its receiver was set up, through the scripting that tests of use cases use.
#[derive(Debug, Default)]
struct Answering {
    sender: FakeWebhookSender,
    receivers: Mutex<HashMap<String, Answer>>,
}

#[derive(Debug, Clone)]
enum Answer {
    Status(u16, String),
    Unreachable,
}

#[async_trait]
impl WebhookSender for Answering {
    async fn send(&self, webhook: OutgoingWebhook) -> WebhookAttempt {
        let answer = self.receivers.lock().unwrap().get(&webhook.url).cloned();
        match answer {
            Some(Answer::Status(status, body)) => self.sender.answer_status(&webhook.url, status, &body),
            Some(Answer::Unreachable) => self.sender.fail(&webhook.url, WebhookFailureKind::ConnectFailed),
            None => {}
        }
        self.sender.send(webhook).await
    }

    fn check_target(&self, url: &str) -> Result<(), WebhookFailure> {
        self.sender.check_target(url)
    }
}

#[derive(Default)]
struct FakeSenderBed {
    sender: Arc<Answering>,
    receivers: AtomicU32,
}

impl FakeSenderBed {
    fn new_url(&self, answer: Answer) -> String {
        let url = format!(
            "https://hooks.test/{}",
            self.receivers.fetch_add(1, Ordering::Relaxed)
        );
        self.sender.receivers.lock().unwrap().insert(url.clone(), answer);
        url
    }
}

#[async_trait]
impl WebhookSenderBed for FakeSenderBed {
    fn sender(&self) -> Arc<dyn WebhookSender> {
        self.sender.clone()
    }

    async fn receiver(&self, status: u16, body: &str) -> String {
        self.new_url(Answer::Status(status, body.to_owned()))
    }

    async fn unreachable(&self) -> String {
        self.new_url(Answer::Unreachable)
    }

    async fn received(&self, url: &str) -> Vec<Bytes> {
        self.sender
            .sender
            .sent_to(url)
            .into_iter()
            .map(|webhook| webhook.body)
            .collect()
    }
}

async fn fake_sender() -> FakeSenderBed {
    FakeSenderBed::default()
}

bidloop_port_contracts::store_contracts!(crate::memory_store);
bidloop_port_contracts::blob_store_contracts!(crate::memory_blobs);
bidloop_port_contracts::webhook_sender_contracts!(crate::fake_sender);
