//! Scripts told from prose by what their first lines look like.
//!
//! The rules lean towards prose: a cover note that mentions a function, quotes a command or holds a short sample
//! is none. A text is a script if its first line of code is unmistakable, if its first two lines are both code of
//! one language, or if nearly all of its lines are.

use super::markup;
use super::script_language::{Likeness, batch, javascript, powershell, vbscript};

/// How many lines are looked at.
const MAX_LINES: usize = 200;

/// What script a text is, if it is any. `text` starts with its first character that is no white space.
pub(super) fn in_text(text: &str) -> Option<&'static str> {
    if text
        .strip_prefix("#!")
        .is_some_and(|rest| rest.trim_start_matches([' ', '\t']).starts_with('/'))
    {
        return Some("a script (shebang)");
    }
    if text.starts_with("#@~^") {
        return Some("an encoded script");
    }
    if let Some(what) = markup::in_text(text).or_else(|| system_setting(text)) {
        return Some(what);
    }
    let lines = code_lines(text);
    if is_written_in(&lines, batch) {
        Some("a batch script")
    } else if is_written_in(&lines, javascript) {
        Some("a JavaScript")
    } else if is_written_in(&lines, powershell) {
        Some("a PowerShell script")
    } else if is_written_in(&lines, vbscript) {
        Some("a VBScript")
    } else {
        None
    }
}

/// What script an image is at the same time. Its mark reads as a name; `after_mark` is where it ends, and a script
/// goes on with an assignment, or with a comment that hides the image's own bytes.
pub(super) fn in_image(head: &[u8], after_mark: usize, is_text: bool) -> Option<&'static str> {
    let rest = head.get(after_mark..).unwrap_or_default();
    let goes_on = rest.starts_with(b"/*") || (is_text && rest.trim_ascii_start().starts_with(b"="));
    goes_on
        .then_some("a JavaScript")
        .or_else(|| markup::in_binary(head))
}

fn is_written_in(lines: &[&str], likeness: fn(&str) -> Likeness) -> bool {
    const FEWEST: usize = 4;
    match lines {
        [] => return false,
        [first] => return likeness(first) == Likeness::Sure,
        [first, second, ..] => match (likeness(first), likeness(second)) {
            (Likeness::Sure, _) | (Likeness::Likely, Likeness::Likely | Likeness::Sure) => return true,
            _ => {}
        },
    }
    let code = lines.iter().filter(|line| likeness(line) != Likeness::No).count();
    lines.len() >= FEWEST && code * 4 >= lines.len() * 3
}

/// The lines that are neither empty nor comments of any of the languages.
fn code_lines(text: &str) -> Vec<&str> {
    const BLOCKS: [(&str, &str); 2] = [("/*", "*/"), ("<#", "#>")];
    let mut lines = Vec::new();
    let mut block_end: Option<&str> = None;
    for line in text.lines().map(str::trim) {
        let mut line = line;
        if let Some(end) = block_end {
            let Some(at) = line.find(end) else { continue };
            line = line[at + end.len()..].trim();
            block_end = None;
        }
        if let Some((begin, end)) = BLOCKS.into_iter().find(|(begin, _)| line.starts_with(begin)) {
            let Some((_, after)) = line[begin.len()..].split_once(end) else {
                block_end = Some(end);
                continue;
            };
            line = after.trim();
        }
        if !(line.is_empty() || is_line_comment(line)) {
            lines.push(line);
            if lines.len() == MAX_LINES {
                break;
            }
        }
    }
    lines
}

fn is_line_comment(line: &str) -> bool {
    let lower = line.to_ascii_lowercase();
    let is_remark =
        |word: &str| lower == word || lower.strip_prefix(word).is_some_and(|rest| rest.starts_with(' '));
    let is_directive = lower.starts_with("'use strict'") || lower.starts_with("#requires ");
    let is_comment = line.starts_with("//") || line.starts_with("::") || line.starts_with(['#', '\'']);
    (is_comment && !is_directive) || is_remark("rem")
}

/// Texts that the system acts on when they are opened.
fn system_setting(text: &str) -> Option<&'static str> {
    const FIRST_LINES: [&str; 5] = [
        "windows registry editor version 5.00",
        "regedit4",
        "[desktop entry]",
        "[internetshortcut]",
        "[autorun]",
    ];
    let first = text.lines().next()?.trim().to_ascii_lowercase();
    FIRST_LINES
        .contains(&first.as_str())
        .then_some("a shortcut or system setting")
}

#[cfg(test)]
#[path = "script_tests.rs"]
mod tests;
