//! Templates of cover letters.

use std::sync::LazyLock;
use std::time::Duration;

use bidloop_domain::port::ProposalWriter;
use bidloop_templates::{JinjaProposalWriter, MAX_LETTER_BYTES};
use serde_json::{Value, json};

use crate::case::Case;
use crate::cost::bounded_by;

static WRITER: LazyLock<JinjaProposalWriter> = LazyLock::new(JinjaProposalWriter::new);

static LEAD: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "id": "lead", "title": "Rust service", "description": "Axum and tokio.\n".repeat(40),
        "skills": [{"name": "Rust"}, {"name": "SQL"}], "questions": ["Why you?", "When?"],
        "category": null, "isFeatured": true,
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 30, "max": 50.5}},
        "clientInfo": {"country": "Portugal", "rating": 4.9},
    })
});

/// The work that one rendering may do, whatever its template (`docs/templates.md`), and the memory that 64 KB of template
/// take as the engine's tree.
const RENDERING: (Duration, usize) = (Duration::from_secs(2), 8 * 1_048_576);

/// Checks and renders the input as a template. A rendering ends within its bounds.
pub fn templates(data: &[u8]) {
    let Some((_, source)) = Case::text(data) else {
        return;
    };
    let checked = bounded_by(source.len(), RENDERING, || WRITER.check(&source));
    let rendered = bounded_by(source.len() + MAX_LETTER_BYTES, RENDERING, || {
        WRITER.render(&source, &LEAD)
    });
    match (checked, rendered) {
        (Ok(()), Ok(letter)) => assert!(letter.len() <= MAX_LETTER_BYTES),
        (Ok(()), Err(error)) => assert!(error.to_string().len() < 4096, "{error}"),
        (Err(error), rendered) => {
            assert!(error.to_string().len() < 4096, "{error}");
            assert!(rendered.is_err(), "a refused template was rendered");
        }
    }
}
