//! Webhooks that go nowhere.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{
    OutgoingWebhook, WebhookAttempt, WebhookFailure, WebhookFailureKind, WebhookSender,
};
use futures::channel::oneshot;

use crate::locked;

/// Remembers what is sent, and answers 200 unless another answer was scripted for the URL.
///
/// ```
/// use bidloop_domain::port::{OutgoingWebhook, WebhookFailureKind, WebhookSender};
/// use bidloop_fakes::FakeWebhookSender;
///
/// # futures::executor::block_on(async {
/// let sender = FakeWebhookSender::new();
/// let url = "https://hooks.test/jobs";
/// sender.answer_status(url, 503, "busy");
///
/// let webhook = OutgoingWebhook { url: url.to_owned(), headers: Vec::new(), body: "{}".into() };
/// let attempt = sender.send(webhook.clone()).await;
/// assert_eq!(attempt.failure.unwrap().kind, WebhookFailureKind::UnexpectedStatus);
/// assert_eq!(attempt.response_body, "busy");
/// assert_eq!(sender.send(webhook).await.failure, None);
/// assert_eq!(sender.sent_to(url).len(), 2);
/// # });
/// ```
#[derive(Debug, Default)]
pub struct FakeWebhookSender(Mutex<Exchange>);

#[derive(Debug, Default)]
struct Exchange {
    sent: Vec<OutgoingWebhook>,
    scripted: HashMap<String, VecDeque<Scripted>>,
}

#[derive(Debug)]
struct Scripted {
    attempt: WebhookAttempt,
    held: Option<oneshot::Receiver<()>>,
}

/// An answer that has not come yet. Dropping it, or [`release`](Self::release), lets it come.
#[derive(Debug)]
#[must_use = "dropping it lets the answer come"]
pub struct HeldAnswer(oneshot::Sender<()>);

impl HeldAnswer {
    /// Lets the answer come.
    pub fn release(self) {
        drop(self.0);
    }
}

impl FakeWebhookSender {
    /// A sender to which every receiver answers 200.
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything sent so far, in order.
    pub fn sent(&self) -> Vec<OutgoingWebhook> {
        locked(&self.0).sent.clone()
    }

    /// What was sent to `url` so far, in order.
    pub fn sent_to(&self, url: &str) -> Vec<OutgoingWebhook> {
        let exchange = locked(&self.0);
        exchange
            .sent
            .iter()
            .filter(|webhook| webhook.url == url)
            .cloned()
            .collect()
    }

    /// The next answer of `url` after those scripted before.
    pub fn answer(&self, url: &str, attempt: WebhookAttempt) {
        self.push(url, Scripted { attempt, held: None });
    }

    /// As [`answer`](Self::answer), with a status and a body.
    pub fn answer_status(&self, url: &str, status: u16, body: &str) {
        self.answer(url, answered(status, body));
    }

    /// As [`answer`](Self::answer), with a failure before any status.
    pub fn fail(&self, url: &str, kind: WebhookFailureKind) {
        let failure = WebhookFailure {
            kind,
            message: format!("scripted: {}", kind.as_str()),
        };
        let attempt = WebhookAttempt {
            failure: Some(failure),
            response_status: None,
            duration: Duration::from_millis(20),
            response_body: String::new(),
        };
        self.answer(url, attempt);
    }

    /// Scripts a 200 that does not come before the test lets it: a slow receiver.
    pub fn hold(&self, url: &str) -> HeldAnswer {
        let (release, held) = oneshot::channel();
        self.push(
            url,
            Scripted {
                attempt: answered(200, ""),
                held: Some(held),
            },
        );
        HeldAnswer(release)
    }

    fn push(&self, url: &str, scripted: Scripted) {
        locked(&self.0)
            .scripted
            .entry(url.to_owned())
            .or_default()
            .push_back(scripted);
    }
}

#[async_trait]
impl WebhookSender for FakeWebhookSender {
    async fn send(&self, webhook: OutgoingWebhook) -> WebhookAttempt {
        if let Err(failure) = self.check_target(&webhook.url) {
            return WebhookAttempt {
                failure: Some(failure),
                response_status: None,
                duration: Duration::ZERO,
                response_body: String::new(),
            };
        }
        let scripted = {
            let mut exchange = locked(&self.0);
            let scripted = exchange
                .scripted
                .get_mut(&webhook.url)
                .and_then(VecDeque::pop_front);
            exchange.sent.push(webhook);
            scripted
        };
        let Some(Scripted { attempt, held }) = scripted else {
            return answered(200, "");
        };
        if let Some(held) = held {
            // A dropped `HeldAnswer` lets the answer come too, so either way of waking is right.
            let _ = held.await;
        }
        attempt
    }

    fn check_target(&self, url: &str) -> Result<(), WebhookFailure> {
        let host = url
            .strip_prefix("https://")
            .or_else(|| url.strip_prefix("http://"));
        match host {
            Some(host) if !host.is_empty() && !host.starts_with('/') => Ok(()),
            _ => Err(WebhookFailure {
                kind: WebhookFailureKind::InvalidTarget,
                message: format!("{url} is no http or https address"),
            }),
        }
    }
}

fn answered(status: u16, body: &str) -> WebhookAttempt {
    let failure = (status != 200).then(|| WebhookFailure {
        kind: WebhookFailureKind::UnexpectedStatus,
        message: format!("the receiver answered {status}, not 200"),
    });
    WebhookAttempt {
        failure,
        response_status: Some(status),
        duration: Duration::from_millis(20),
        response_body: String::from_utf8_lossy(&body.as_bytes()[..body.len().min(2048)]).into_owned(),
    }
}
