//! The implementation of the port, and its error messages.

use std::error::Error as _;

use bidloop_domain::port::{ProposalWriter, TemplateError};
use minijinja::value::{Serde, Value};
use minijinja::{Environment, Error, ErrorKind};

use crate::grammar::{at_line, translate};
use crate::language::environment;
use crate::limits::MAX_LETTER_BYTES;

/// Writes letters and answers from Jinja templates.
///
/// A name that the lead does not have is an error anywhere, unless the template checks it with `is defined` or `default`.
/// A missing member of an object counts as false in an `if` and is an error where it would be printed. Null prints as
/// nothing. One line end at the template's end is dropped, as in Jinja. Nothing is escaped, and no file can be read. The
/// time and the result of a rendering are bounded.
///
/// ```
/// use bidloop_domain::port::ProposalWriter;
/// use bidloop_templates::JinjaProposalWriter;
/// use serde_json::json;
///
/// let writer = JinjaProposalWriter::new();
/// let lead = json!({"title": "Rust service", "region": null, "clientInfo": {}});
/// assert_eq!(
///     writer.render("About {{ title }}{% if clientInfo.country %} in {{ clientInfo.country }}{% endif %}.", &lead)?,
///     "About Rust service."
/// );
/// let error = writer.render("About\n{{ titel }}", &lead).unwrap_err();
/// assert_eq!(error.to_string(), "line 2: the lead has no field `titel`");
/// # Ok::<(), bidloop_domain::port::TemplateError>(())
/// ```
#[derive(Debug)]
pub struct JinjaProposalWriter {
    environment: Environment<'static>,
}

impl JinjaProposalWriter {
    /// Creates a writer. It keeps no state between renderings.
    pub fn new() -> Self {
        Self {
            environment: environment(),
        }
    }
}

impl Default for JinjaProposalWriter {
    fn default() -> Self {
        Self::new()
    }
}

impl ProposalWriter for JinjaProposalWriter {
    fn check(&self, template: &str) -> Result<(), TemplateError> {
        let translation = translate(template).map_err(TemplateError)?;
        self.environment
            .clone()
            .template_from_str(&translation.text)
            .map(drop)
            .map_err(described)
    }

    fn render(&self, template: &str, lead: &serde_json::Value) -> Result<String, TemplateError> {
        let translation = translate(template).map_err(TemplateError)?;
        if let Some((name, line)) = translation
            .names
            .iter()
            .find(|(name, _)| lead.get(name).is_none())
        {
            let problem = format!("the lead has no field `{name}`");
            return Err(TemplateError(at_line(*line, &problem)));
        }
        let mut letter = vec![0; MAX_LETTER_BYTES];
        let mut space = letter.as_mut_slice();
        self.environment
            .clone()
            .template_from_str(&translation.text)
            .and_then(|compiled| {
                compiled
                    .render_captured_to(Value::from(Serde(lead)), &mut space)
                    .map(drop)
            })
            .map_err(described)?;
        let written = MAX_LETTER_BYTES - space.len();
        letter.truncate(written);
        String::from_utf8(letter).map_err(|error| TemplateError(error.to_string()))
    }
}

/// The engine's error on one line.
#[expect(clippy::needless_pass_by_value, reason = "as `map_err` calls it")]
fn described(error: Error) -> TemplateError {
    let problem = match (error.kind(), error.detail()) {
        (ErrorKind::WriteFailure, _) => {
            return TemplateError(format!("the result is larger than {MAX_LETTER_BYTES} bytes"));
        }
        (ErrorKind::OutOfFuel, _) => "rendering takes too long".to_owned(),
        (ErrorKind::UndefinedError, None) => "the value is missing".to_owned(),
        (ErrorKind::UndefinedError, Some(what)) => format!("the value is missing: {what}"),
        (ErrorKind::InvalidOperation, Some(what)) => what.to_owned(),
        (kind, Some(what)) => format!("{kind}: {what}"),
        (kind, None) => kind.to_string(),
    };
    let cause = error
        .source()
        .map(|cause| format!(" ({cause})"))
        .unwrap_or_default();
    let problem = format!("{problem}{cause}");
    TemplateError(
        error
            .line()
            .map_or(problem.clone(), |line| at_line(line, &problem)),
    )
}
