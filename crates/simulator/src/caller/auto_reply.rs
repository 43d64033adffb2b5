//! Answers each `job.new` with a bid. Owns the calls to `bidUrl` and what is told of them; the words of a bid
//! are `bid`'s.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http_body_util::{BodyExt, Full, Limited};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::bid::bid_on;
use super::delivery::Delivery;
use super::receiver::Event;
use crate::simulator::stopped;

/// Bids under way at the same time; more deliveries wait their turn.
const SIDE_BY_SIDE: usize = 16;
/// One bid, from connect to the answer's end.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How long bids under way may take once the receiver stops.
const GRACE: Duration = Duration::from_secs(2);
/// An answer is an acknowledgement or an error, both short.
const MAX_ANSWER: usize = 1_048_576;

/// What came of answering one `job.new`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The lead that was bid on.
    pub lead_id: String,
    /// The address called.
    pub bid_url: String,
    /// The answer's status; `None` if there was none.
    pub status: Option<u16>,
    /// The answer's `message`, or what was in the way of an answer; empty for an acknowledgement.
    pub message: String,
    /// From connect to the answer's end.
    pub took: Duration,
}

impl Reply {
    /// Whether the bid was taken.
    pub fn accepted(&self) -> bool {
        self.status == Some(200)
    }
}

type Caller = Client<HttpConnector, Full<Bytes>>;

/// Replies to what comes in until the receiver stops.
pub(super) async fn run(
    api_key: String,
    mut to_reply: mpsc::UnboundedReceiver<Arc<Delivery>>,
    tell: Arc<dyn Fn(Event) + Send + Sync>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Caller = Client::builder(TokioExecutor::new()).build(connector);
    let api_key: Arc<str> = api_key.into();
    let mut under_way = JoinSet::new();
    loop {
        tokio::select! {
            delivery = to_reply.recv(), if under_way.len() < SIDE_BY_SIDE => {
                let Some(delivery) = delivery else { break };
                let (client, api_key, tell) = (client.clone(), Arc::clone(&api_key), Arc::clone(&tell));
                under_way.spawn(async move { tell(Event::Replied(reply(&client, &api_key, &delivery).await)) });
            }
            Some(_) = under_way.join_next(), if !under_way.is_empty() => {}
            () = stopped(&mut stop) => break,
        }
    }
    let ended = tokio::time::timeout(GRACE, async { while under_way.join_next().await.is_some() {} }).await;
    if ended.is_err() {
        under_way.shutdown().await;
    }
}

async fn reply(client: &Caller, api_key: &str, delivery: &Delivery) -> Reply {
    let data = delivery.data();
    let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    let bid_url = text("bidUrl");
    let started = Instant::now();
    let called = tokio::time::timeout(TIMEOUT, call(client, api_key, &bid_url, &bid_on(&data["lead"]))).await;
    let (status, message) = match called {
        Ok(Ok((status, message))) => (Some(status), message),
        Ok(Err(fault)) => (None, fault),
        Err(_) => (None, format!("no answer within {} s", TIMEOUT.as_secs())),
    };
    Reply {
        lead_id: text("leadId"),
        bid_url,
        status,
        message,
        took: started.elapsed(),
    }
}

async fn call(client: &Caller, api_key: &str, bid_url: &str, bid: &Value) -> Result<(u16, String), String> {
    let request = Request::post(bid_url)
        .header(AUTHORIZATION, format!("Bearer {api_key}"))
        .header(CONTENT_TYPE, "application/json")
        .body(Full::from(bid.to_string()))
        .map_err(|error| error.to_string())?;
    let response = client.request(request).await.map_err(|error| told(&error))?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ANSWER)
        .collect()
        .await
        .map_err(|error| format!("the answer breaks off: {error}"))?
        .to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok((status, answer["message"].as_str().unwrap_or_default().to_owned()))
}

/// The error with its innermost cause, where the useful part is.
fn told(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
