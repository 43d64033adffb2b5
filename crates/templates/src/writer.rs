//! The port's implementation, and how what is wrong with a template is said.

use std::error::Error as _;

use bidloop_domain::port::{ProposalWriter, TemplateError};
use minijinja::machinery::{eval, make_string_output};
use minijinja::value::{Serde, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind};

use crate::compile::compile;
use crate::language::Language;

/// Writes letters and answers from Jinja templates.
///
/// A name that the lead does not have is an error wherever it stands, unless `is defined` or `default` asks first. A
/// missing member of an object counts as false in an `if` and is an error where it would be printed. Null prints as
/// nothing. One line end at the template's end is dropped, as in Jinja. Nothing is escaped, no file can be read, and
/// every rendering ends, soon and with a bounded result, or is an error.
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
    language: Language,
}

impl JinjaProposalWriter {
    /// A writer; it keeps nothing between two renderings.
    pub fn new() -> Self {
        Self {
            language: Language::new(),
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
        compile(template, &self.language).map(drop).map_err(TemplateError)
    }

    fn render(&self, template: &str, lead: &serde_json::Value) -> Result<String, TemplateError> {
        let compiled = compile(template, &self.language).map_err(TemplateError)?;
        for (name, line) in compiled.needed {
            if lead.get(name).is_none() {
                return Err(TemplateError(at_line(
                    line,
                    &format!("the lead has no field `{name}`"),
                )));
            }
        }
        let environment: Environment<'_> = self.language.environment.clone();
        let no_blocks = std::collections::BTreeMap::new();
        let mut letter = String::new();
        eval(
            &environment,
            &compiled.instructions,
            Value::from(Serde(lead)),
            &no_blocks,
            &mut make_string_output(&mut letter),
            AutoEscape::None,
        )
        .map_err(|error| TemplateError(described(&error)))?;
        Ok(letter)
    }
}

/// What is wrong, with its line in front.
pub(crate) fn at_line(line: Option<usize>, problem: &str) -> String {
    match line {
        Some(line) => format!("line {line}: {problem}"),
        None => problem.to_owned(),
    }
}

/// An error of the engine in one line.
pub(crate) fn described(error: &Error) -> String {
    let problem = match (error.kind(), error.detail()) {
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
    at_line(error.line(), &format!("{problem}{cause}"))
}
