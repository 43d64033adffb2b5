//! The client against a scripted server, which does what a service and a network in trouble might.

#![expect(clippy::unwrap_used, reason = "test code")]

mod errors;
mod paging;
mod repeating;
mod server;
mod tls;
mod uploads;
mod verification;

use std::time::Duration;

use bidloop_client::{ApiKey, Bid, Client, ClientBuilder, RetryPolicy};
use serde_json::{Value, json};

use server::Server;

/// Long enough for anything on the loopback interface, short enough to end a test that hangs.
const SOON: Duration = Duration::from_secs(30);

fn key() -> ApiKey {
    ApiKey::parse(&format!("lk_{}", "0a".repeat(32))).unwrap()
}

/// A client that hardly pauses between attempts.
fn builder(server: &Server) -> ClientBuilder {
    Client::builder(&server.base_url(), key()).retry(RetryPolicy {
        first_pause: Duration::from_millis(1),
        longest_pause: Duration::from_millis(2),
        ..RetryPolicy::default()
    })
}

fn client(server: &Server) -> Client {
    builder(server).build().unwrap()
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async { tokio::time::timeout(SOON, test).await.unwrap() })
}

fn bid() -> Bid {
    Bid::new("Hello")
}

/// The lead that most tests act on.
const LEAD: (&str, &str) = ("camp", "ld_1");

fn acknowledgement() -> Value {
    json!({"success": true, "leadId": "ld_1", "campaignId": "camp", "organizationId": "org", "later": 1})
}

fn standard(status: u16, message: &str) -> Value {
    json!({"statusCode": status, "error": "…", "message": message})
}

fn lead(id: &str) -> Value {
    json!({"id": id, "title": id, "jobUrl": "http://m/1", "campaignId": "camp", "organizationId": "org", "status": "new"})
}
