//! Writing cover letters and answers from templates.

use serde_json::Value;

/// Why a template cannot be parsed or rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub String);

/// Renders templates in Jinja syntax (decision D3).
pub trait ProposalWriter: Send + Sync + std::fmt::Debug {
    /// Checks the syntax; the message says what is wrong and in which line.
    fn check(&self, template: &str) -> Result<(), TemplateError>;

    /// Renders a template with the fields of `lead`, a Lead object. An unknown name is an error, so that no letter is sent
    /// with a gap. A null field renders as nothing.
    fn render(&self, template: &str, lead: &Value) -> Result<String, TemplateError>;
}
