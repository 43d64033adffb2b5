//! A receiver with actix-web: verifies each delivery, answers 200 at once, and bids on jobs without screening questions.
//!
//! ```console
//! $ API_KEY=lk_… WEBHOOK_SECRET=whsec_… cargo run -p bidloop-client --example receive_actix
//! ```

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "an example prints, and reads its own settings"
)]

use std::error::Error;

use actix_web::web::{Bytes, Data, PayloadConfig, post};
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, rt};
use bidloop_client::{
    ApiKey, Bid, BidOutcome, Client, Event, JobNew, SignatureHeaders, VerifyError, WebhookVerifier,
};

struct Receiver {
    verifier: WebhookVerifier,
    client: Client,
}

async fn receive(receiver: Data<Receiver>, request: HttpRequest, body: Bytes) -> HttpResponse {
    let headers = SignatureHeaders::find(|name| request.headers().get(name)?.to_str().ok());
    let verified = headers
        .map_err(VerifyError::from)
        .and_then(|headers| receiver.verifier.verify(headers, &body));
    match verified {
        Ok(delivery) => {
            if let Event::JobNew(job) = delivery.event {
                rt::spawn(async move { decide(&receiver.client, &job).await });
            }
            HttpResponse::Ok().finish()
        }
        Err(VerifyError::Refused(refused)) => HttpResponse::Unauthorized().body(refused.to_string()),
        Err(error) => HttpResponse::BadRequest().body(error.to_string()),
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

#[actix_web::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let setting = |name: &str| std::env::var(name).map_err(|error| format!("{name}: {error}"));
    let base_url = setting("BASE_URL").unwrap_or_else(|_| "http://127.0.0.1:8080".to_owned());
    let receiver = Data::new(Receiver {
        verifier: WebhookVerifier::new([setting("WEBHOOK_SECRET")?])?,
        client: Client::new(&base_url, ApiKey::parse(&setting("API_KEY")?)?)?,
    });
    let app = move || {
        App::new()
            .app_data(receiver.clone())
            .app_data(PayloadConfig::new(16 * 1_048_576))
            .route("/", post().to(receive))
    };
    HttpServer::new(app).bind("127.0.0.1:9000")?.run().await?;
    Ok(())
}
