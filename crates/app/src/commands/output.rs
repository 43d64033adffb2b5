//! Writing results to standard output and failures to standard error.

use std::io::{self, ErrorKind, Write};

use bidloop_domain::model::sanitize_for_log;
use serde::Serialize;

use super::{Failure, Outcome};

/// Writes a line of a result.
pub(super) fn line(text: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    let written = writeln!(out, "{text}").and_then(|()| out.flush());
    written.map_err(|error| unwritten(&error))
}

/// A number of things: `1 filter`, `2 filters`.
pub(super) fn counted(count: u64, one: &str, many: &str) -> String {
    let things = if count == 1 { one } else { many };
    format!("{count} {things}")
}

/// Writes a line of a result that quotes what others wrote, without control characters.
pub(super) fn quoting_line(text: &str) -> Outcome {
    line(&sanitize_for_log(text, usize::MAX))
}

/// A reader that has seen enough, such as `head`, ends a command quietly. Any other loss of a result is a failure.
fn unwritten(error: &io::Error) -> Failure {
    if error.kind() == ErrorKind::BrokenPipe {
        Failure::OutputClosed
    } else {
        Failure::failed(format!("standard output cannot be written: {error}"))
    }
}

/// Writes a whole text as it is.
pub(super) fn bytes(text: &[u8]) -> Outcome {
    let mut out = std::io::stdout().lock();
    let written = out.write_all(text).and_then(|()| out.flush());
    written.map_err(|error| unwritten(&error))
}

/// Writes a result as JSON.
pub(super) fn json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::failed(format!("the result cannot be written as JSON: {error}")))?;
    line(&text)
}

/// Writes a result as one line of JSON.
pub(super) fn json_line(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string(value)
        .map_err(|error| Failure::failed(format!("the result cannot be written as JSON: {error}")))?;
    line(&text)
}

/// Writes each error on one line, without the control characters of files and values that it quotes. If standard error
/// is closed too, only the exit status remains.
pub(super) fn errors(lines: &[String]) {
    let mut err = std::io::stderr().lock();
    for line in lines {
        if writeln!(err, "{}", sanitize_for_log(line, usize::MAX)).is_err() {
            return;
        }
    }
}
