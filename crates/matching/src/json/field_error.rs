//! One fault in a document: its path and what is allowed there (decision A2, `docs/rules.md#a2`).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::one_line::sanitize_for_log;
use super::path::{MAX_NAME_CHARS, shortened_name};

/// One fault in a request or a file: a wrong type, an unknown or missing field, or a value out of bounds.
///
/// ```
/// use bidloop_matching::json::FieldError;
///
/// let fault = FieldError::new(&["biddingConfig"], "must be an object").at("minBoost");
/// assert_eq!(fault.path, ["biddingConfig", "minBoost"]);
/// assert_eq!(fault.to_string(), "biddingConfig.minBoost: must be an object");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldError {
    /// The names and indexes (as decimal digits) from the document to the value or missing field. Empty for the document.
    /// Long names are [shortened](shortened_name).
    pub path: Vec<String>,
    /// What is wrong, as a phrase that follows the path.
    pub message: String,
}

impl FieldError {
    /// Makes a fault at `path`.
    pub fn new<S: AsRef<str>>(path: &[S], message: impl Into<String>) -> Self {
        Self {
            path: path.iter().map(|part| shortened_name(part.as_ref())).collect(),
            message: message.into(),
        }
    }

    /// Adds `name` to the end of the path.
    #[must_use]
    pub fn at(mut self, name: impl AsRef<str>) -> Self {
        self.path.push(shortened_name(name.as_ref()));
        self
    }

    /// Puts `prefix` before the path.
    #[must_use]
    pub fn under<S: AsRef<str>>(mut self, prefix: &[S]) -> Self {
        self.path
            .splice(0..0, prefix.iter().map(|part| shortened_name(part.as_ref())));
        self
    }
}

impl fmt::Display for FieldError {
    /// Writes `organizations[0].biddingConfig.minBoost: must be …`, or the message alone for the whole document. It is
    /// one line: names and values in it are sanitized.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, part) in self.path.iter().enumerate() {
            let is_index = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let part = sanitize_for_log(part, MAX_NAME_CHARS);
            match (is_index, position) {
                (true, 1..) => write!(f, "[{part}]")?,
                (_, 0) => f.write_str(&part)?,
                (false, _) => write!(f, ".{part}")?,
            }
        }
        if !self.path.is_empty() {
            f.write_str(": ")?;
        }
        f.write_str(&sanitize_for_log(&self.message, usize::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_prints_its_path_as_files_are_read() {
        let fault = FieldError::new(
            &["organizations", "0", "filters", "12", "keywords"],
            "must be a string",
        );
        assert_eq!(
            fault.to_string(),
            "organizations[0].filters[12].keywords: must be a string"
        );
        assert_eq!(
            FieldError::new::<&str>(&[], "malformed JSON").to_string(),
            "malformed JSON"
        );
    }

    #[test]
    fn what_a_fault_repeats_cannot_break_its_line_or_flood_it() {
        let name = format!("a\n{}", "x".repeat(500));
        let line = FieldError::new(&[name.as_str(), "b\u{1b}"], "is `\u{7}`,\nno good").to_string();
        assert!(line.starts_with("a xxx"), "{line}");
        assert!(line.ends_with("x….b\\u{1b}: is `\\u{7}`, no good"), "{line}");
        assert!(line.chars().count() < 130, "{line}");
    }

    #[test]
    fn a_fault_keeps_the_start_of_a_name_of_any_length() {
        let name = "n".repeat(3_000_000);
        for fault in [
            FieldError::new(&[&name], "no"),
            FieldError::new(&["a"], "no").at(&name),
            FieldError::new(&["a"], "no").under(&[&name]),
        ] {
            let longest = fault.path.iter().map(|name| name.chars().count()).max();
            assert_eq!(longest, Some(MAX_NAME_CHARS));
        }
    }

    #[test]
    fn a_fault_can_be_seen_from_further_up() {
        let fault = FieldError::new(&["minBoost"], "must be an integer").under(&["biddingConfig"]);
        assert_eq!(fault.path, ["biddingConfig", "minBoost"]);
    }
}
