//! Answers each `job.new` with a bid: calls its `bidUrl` and reports the result. `bid` writes the text of a bid.

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
use crate::tasks::{finish, stopped};

/// The number of bids in flight; further deliveries wait.
const MAX_IN_FLIGHT: usize = 16;
/// The time limit of one bid, from the connect to the end of the answer.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The largest answer. Acknowledgements and errors are far shorter.
const MAX_ANSWER: usize = 1_048_576;

/// The result of answering one `job.new`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The lead that was bid on.
    pub lead_id: String,
    /// The address called.
    pub bid_url: String,
    /// The answer's status; `None` if there was none.
    pub status: Option<u16>,
    /// The answer's `message`, or why there is no answer; empty for an acknowledgement.
    pub message: String,
    /// From connect to the answer's end.
    pub took: Duration,
}

impl Reply {
    /// Whether the bid was accepted.
    pub fn accepted(&self) -> bool {
        self.status == Some(200)
    }
}

type Caller = Client<HttpConnector, Full<Bytes>>;

/// Replies to deliveries until the receiver stops.
pub(super) async fn run(
    api_key: String,
    mut to_reply: mpsc::UnboundedReceiver<Arc<Delivery>>,
    report: impl Fn(Reply) + Clone + Send + Sync + 'static,
    mut stop: watch::Receiver<bool>,
) {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Caller = Client::builder(TokioExecutor::new()).build(connector);
    let api_key: Arc<str> = api_key.into();
    let mut in_flight = JoinSet::new();
    loop {
        tokio::select! {
            delivery = to_reply.recv(), if in_flight.len() < MAX_IN_FLIGHT => {
                let Some(delivery) = delivery else { break };
                let (client, api_key, report) = (client.clone(), Arc::clone(&api_key), report.clone());
                in_flight.spawn(async move { report(reply(&client, &api_key, &delivery).await) });
            }
            Some(_) = in_flight.join_next(), if !in_flight.is_empty() => {}
            () = stopped(&mut stop) => break,
        }
    }
    finish(in_flight).await;
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
    let response = client.request(request).await.map_err(|error| innermost(&error))?;
    let status = response.status().as_u16();
    let body = Limited::new(response.into_body(), MAX_ANSWER)
        .collect()
        .await
        .map_err(|error| format!("the answer breaks off: {error}"))?
        .to_bytes();
    let answer: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok((status, answer["message"].as_str().unwrap_or_default().to_owned()))
}

/// The message of the error's innermost cause, which has the useful part.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(source) = cause.source() {
        cause = source;
    }
    cause.to_string()
}
