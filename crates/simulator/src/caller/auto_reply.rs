//! Answers each `job.new` with a bid: calls its `bidUrl` and reports the result. `bid` writes the text of a bid.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_client::{ApiKey, BidOutcome, Client, RetryPolicy};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::bid::bid_on;
use super::delivery::Delivery;
use crate::tasks::{finish, stopped};

/// The number of bids in flight; further deliveries wait.
const MAX_IN_FLIGHT: usize = 16;
/// The time limit of one bid, from the connect to the end of the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

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

/// Replies to deliveries until the receiver stops.
pub(super) async fn run(
    api_key: ApiKey,
    mut to_reply: mpsc::UnboundedReceiver<Arc<Delivery>>,
    report: impl Fn(Reply) + Clone + Send + Sync + 'static,
    mut stop: watch::Receiver<bool>,
) {
    let mut service: Option<(String, Client)> = None;
    let mut in_flight = JoinSet::new();
    loop {
        tokio::select! {
            delivery = to_reply.recv(), if in_flight.len() < MAX_IN_FLIGHT => {
                let Some(delivery) = delivery else { break };
                let client = client_of(&mut service, &delivery, &api_key);
                let report = report.clone();
                in_flight.spawn(async move { report(reply(client, &delivery).await) });
            }
            Some(_) = in_flight.join_next(), if !in_flight.is_empty() => {}
            () = stopped(&mut stop) => break,
        }
    }
    finish(in_flight).await;
}

/// The client of the service that made the delivery's addresses.
fn client_of(
    service: &mut Option<(String, Client)>,
    delivery: &Delivery,
    api_key: &ApiKey,
) -> Result<Client, String> {
    let bid_url = delivery.data()["bidUrl"].as_str().unwrap_or_default();
    let base_url = bid_url
        .split_once("/v1/")
        .map_or(bid_url, |(base_url, _)| base_url);
    match service {
        Some((known, client)) if known == base_url => Ok(client.clone()),
        _ => {
            // Each bid is sent once, so that what is reported is what the service answered.
            let client = Client::builder(base_url, api_key.clone())
                .timeout(TIMEOUT)
                .retry(RetryPolicy::never())
                .build()
                .map_err(|error| error.to_string())?;
            *service = Some((base_url.to_owned(), client.clone()));
            Ok(client)
        }
    }
}

async fn reply(client: Result<Client, String>, delivery: &Delivery) -> Reply {
    let data = delivery.data();
    let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
    let bid_url = text("bidUrl");
    let started = Instant::now();
    let (status, message) = match client {
        Ok(client) => match client.bid_at(&bid_url, &bid_on(&data["lead"])).await {
            Ok(BidOutcome::Accepted(_) | BidOutcome::AlreadyBid { .. }) => (Some(200), String::new()),
            Err(error) => {
                let refusal = error.refusal().map(|refusal| refusal.message().to_owned());
                (error.status(), refusal.unwrap_or_else(|| error.to_string()))
            }
        },
        Err(fault) => (None, fault),
    };
    Reply {
        lead_id: text("leadId"),
        bid_url,
        status,
        message,
        took: started.elapsed(),
    }
}
