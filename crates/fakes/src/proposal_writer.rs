//! Letters without a template engine.

use bidloop_domain::port::{ProposalWriter, TemplateError};
use serde_json::Value;

/// Knows `{{ name }}` and nothing else of the Jinja syntax.
///
/// ```
/// use bidloop_domain::port::ProposalWriter;
/// use bidloop_fakes::PlaceholderProposalWriter;
/// use serde_json::json;
///
/// let lead = json!({"title": "Rust service", "category": null});
/// let write = |template| PlaceholderProposalWriter.render(template, &lead);
/// assert_eq!(write("About {{ title }}{{ category }}.").unwrap(), "About Rust service.");
/// assert!(write("{{ budget }}").is_err());
/// assert!(PlaceholderProposalWriter.check("{{ title").is_err());
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct PlaceholderProposalWriter;

impl ProposalWriter for PlaceholderProposalWriter {
    fn check(&self, template: &str) -> Result<(), TemplateError> {
        pieces(template).map(drop)
    }

    fn render(&self, template: &str, lead: &Value) -> Result<String, TemplateError> {
        let mut letter = String::new();
        for piece in pieces(template)? {
            match piece {
                Piece::Text(text) => letter.push_str(text),
                Piece::Name(name) => match lead.get(name) {
                    None => return Err(TemplateError(format!("the lead has no {name}"))),
                    Some(Value::Null) => {}
                    Some(Value::String(text)) => letter.push_str(text),
                    Some(other) => letter.push_str(&other.to_string()),
                },
            }
        }
        Ok(letter)
    }
}

enum Piece<'a> {
    Text(&'a str),
    Name(&'a str),
}

fn pieces(template: &str) -> Result<Vec<Piece<'_>>, TemplateError> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((text, after)) = rest.split_once("{{") {
        let (name, after) = after
            .split_once("}}")
            .ok_or_else(|| TemplateError("a {{ is without its }}".to_owned()))?;
        pieces.push(Piece::Text(text));
        pieces.push(Piece::Name(name.trim()));
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}
