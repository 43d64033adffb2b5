//! Writing cover letters and answers from templates.

use serde_json::Value;

/// Why a template cannot serve.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TemplateError(pub String);

/// Renders templates in Jinja syntax (decision D3).
pub trait ProposalWriter: Send + Sync + std::fmt::Debug {
    /// Checks the syntax; the message says what is wrong and in which line.
    fn check(&self, template: &str) -> Result<(), TemplateError>;

    /// Renders over `lead`, the Lead object's fields. A name that the lead does not have is an error, so that no
    /// letter goes out with a hole in it; a null field renders as nothing.
    fn render(&self, template: &str, lead: &Value) -> Result<String, TemplateError>;
}
