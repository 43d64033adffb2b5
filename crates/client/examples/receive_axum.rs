//! A receiver with axum: verifies each delivery, answers 200 at once, and bids on jobs without screening questions.
//!
//! ```console
//! $ API_KEY=lk_… WEBHOOK_SECRET=whsec_… cargo run -p bidloop-client --example receive_axum
//! ```

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints, and reads its own settings"
)]

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use bidloop_client::{ApiKey, Bid, BidOutcome, Client, Event, JobNew, VerifyError, WebhookVerifier};

struct Receiver {
    verifier: WebhookVerifier,
    client: Client,
}

async fn receive(State(receiver): State<Arc<Receiver>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    match receiver.verifier.verify(&headers, &body) {
        Ok(delivery) => {
            if let Event::JobNew(job) = delivery.event {
                tokio::spawn(async move { decide(&receiver.client, &job).await });
            }
            StatusCode::OK
        }
        Err(VerifyError::Refused(_)) => StatusCode::UNAUTHORIZED,
        Err(_) => StatusCode::BAD_REQUEST,
    }
}

/// Bids, or returns: a lead without an answer causes no bid.
async fn decide(client: &Client, job: &JobNew) {
    let title = &job.lead.title;
    if !job.lead.questions.is_empty() {
        return println!("left alone: {title}");
    }
    let bid = Bid::new(format!("Hello, I can start on “{title}” on Monday."));
    match client.bid(job, &bid).await {
        Ok(BidOutcome::Accepted(_)) => println!("bid queued: {title}"),
        Ok(BidOutcome::AlreadyBid { status }) => println!("{status}: {title}"),
        Err(error) => println!("{error}: {title}"),
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
    let base_url = setting("BASE_URL").unwrap_or_else(|_| "http://127.0.0.1:8080".to_owned());
    let receiver = Receiver {
        verifier: WebhookVerifier::new([setting("WEBHOOK_SECRET")?])?,
        client: Client::new(&base_url, ApiKey::parse(&setting("API_KEY")?)?)?,
    };
    let app = Router::new()
        .route("/", post(receive))
        .layer(DefaultBodyLimit::max(16 * 1_048_576))
        .with_state(Arc::new(receiver));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:9000").await?;
    axum::serve(listener, app).await?;
    Ok(())
}
