//! Templates of automatic campaigns, as the port's users see them: one module for each thing that is promised.

#![expect(clippy::expect_used, reason = "test code")]

mod bounds;
mod fragments;
mod guide;
mod language;
mod parking;

use bidloop_domain::port::ProposalWriter as _;
use bidloop_templates::JinjaProposalWriter;
use serde_json::{Value, json};

fn lead() -> Value {
    json!({
        "id": "ld_1",
        "title": "Rust <service> & more",
        "description": "Build a service in Rust.\nAxum, tokio.",
        "skills": [{"name": "Rust"}, {"name": "tokio"}, {"name": "PostgreSQL"}],
        "questions": [],
        "region": null,
        "isFeatured": true,
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 45.5}, "hours": null},
        "clientInfo": {"totalSpent": 12000, "rating": null},
        "attachments": null,
    })
}

fn render(template: &str) -> Result<String, String> {
    JinjaProposalWriter::new()
        .render(template, &lead())
        .map_err(|error| error.to_string())
}

fn rendered(template: &str) -> String {
    render(template).unwrap_or_else(|error| panic!("{template}: {error}"))
}

fn fault(template: &str) -> String {
    render(template).expect_err(template)
}
