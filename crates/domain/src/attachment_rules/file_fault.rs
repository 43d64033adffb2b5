//! Why a file is refused, in words for its sender. The HTTP adapter chooses the status code.

use super::{ContentType, MAX_FILE_BYTES, MAX_FILES};
use crate::model::sanitize_for_log;

/// Why a file, and with it its whole batch, is refused (specification, "POST …/attachments"; decision A9).
///
/// The message names the file and says what to do.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileFault {
    /// The request carries no file.
    #[error("no file was sent: send 1 to {MAX_FILES} parts named \"files\"")]
    NoFile,
    /// More files than a request or a lead may have.
    #[error("\"{}\" is one file too many: at most {MAX_FILES} are attached, and {held} are already or come before it in the request", shown(.name))]
    TooManyFiles {
        /// The first file beyond the limit.
        name: String,
        /// Files that the lead and the request had before it.
        held: usize,
    },
    /// Another file of the lead or of the request has this name.
    #[error("\"{}\" is already attached: names are compared without regard to case; rename the file", shown(.name))]
    DuplicateName {
        /// The name that occurs twice.
        name: String,
    },
    /// The name is missing or cannot be stored.
    #[error("the file name \"{}\" {reason}; rename the file", shown(.name))]
    BadName {
        /// The name as sent.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The extension is none of the accepted ones.
    #[error("\"{}\" has no accepted extension: use one of {}", shown(.name), ContentType::all_extensions())]
    UnsupportedExtension {
        /// The file's name.
        name: String,
    },
    /// The declared type is none of the accepted ones.
    #[error("\"{}\" is declared as \"{}\", which is not accepted: use one of {}",
        shown(.name), shown(.declared), ContentType::all_names())]
    UnsupportedType {
        /// The file's name.
        name: String,
        /// The type as declared.
        declared: String,
    },
    /// The extension does not go with the declared type.
    #[error("\"{}\" is declared as {declared}, which goes with the extension {}: correct the type or the name",
        shown(.name), declared.extensions_in_words())]
    ExtensionMismatch {
        /// The file's name.
        name: String,
        /// The type as declared.
        declared: ContentType,
    },
    /// The content is something else than the declared type.
    #[error("\"{}\" is declared as {declared}, but its content is {found}: type, name and content must agree",
        shown(.name))]
    ContentMismatch {
        /// The file's name.
        name: String,
        /// The type as declared.
        declared: ContentType,
        /// What the content is instead.
        found: &'static str,
    },
    /// The file is a script or a page, or holds a program or macros.
    #[error("\"{}\" holds {what}: programs, scripts and macros are not accepted", shown(.name))]
    Executable {
        /// The file's name.
        name: String,
        /// What was found, with an article.
        what: String,
    },
    /// The file has no content.
    #[error("\"{}\" is empty: send a file with content", shown(.name))]
    Empty {
        /// The file's name.
        name: String,
    },
    /// The file is above [`MAX_FILE_BYTES`].
    #[error("\"{}\" is larger than 25 MB ({MAX_FILE_BYTES} bytes): send a smaller file", shown(.name))]
    TooLarge {
        /// The file's name.
        name: String,
    },
}

impl FileFault {
    /// Whether the fault is the file's size; the one fault that has a status code of its own (decision A9).
    pub fn is_too_large(&self) -> bool {
        matches!(self, Self::TooLarge { .. })
    }
}

/// A name for a message: shortened, and without control characters.
pub(crate) fn shown(name: &str) -> String {
    sanitize_for_log(name, 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_file_above_the_limit_is_too_large() {
        let name = || "a.pdf".to_owned();
        assert!(FileFault::TooLarge { name: name() }.is_too_large());
        assert!(!FileFault::Empty { name: name() }.is_too_large());
        assert!(!FileFault::NoFile.is_too_large());
    }

    #[test]
    fn a_message_names_the_file_and_says_what_to_do() {
        let fault = FileFault::ExtensionMismatch {
            name: "photo.pdf".to_owned(),
            declared: ContentType::Jpeg,
        };
        assert_eq!(
            fault.to_string(),
            "\"photo.pdf\" is declared as image/jpeg, which goes with the extension .jpg or .jpeg: \
             correct the type or the name"
        );
    }

    #[test]
    fn a_name_in_a_message_is_bounded_and_free_of_control_characters() {
        let message = FileFault::Empty {
            name: format!("a\u{1b}[2J\u{202e}{}.pdf", "x".repeat(500)),
        }
        .to_string();
        assert!(message.contains("\\u{1b}[2J\\u{202e}xxx"), "{message}");
        assert!(message.chars().count() < 250, "{message}");
    }
}
