//! HTML and its kin, told from prose that mentions a tag.

/// Tags that open a page, not ones that decorate a line of text.
const PAGE_TAGS: [&str; 21] = [
    "html",
    "head",
    "body",
    "script",
    "iframe",
    "frameset",
    "style",
    "title",
    "meta",
    "link",
    "base",
    "svg",
    "object",
    "embed",
    "applet",
    "form",
    "table",
    "div",
    "hta:application",
    "job",
    "package",
];

/// Cuts a byte order mark and white space from the front.
pub(super) fn without_leading_space(bytes: &[u8]) -> &[u8] {
    let bytes = bytes.trim_ascii_start();
    bytes
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(bytes)
        .trim_ascii_start()
}

/// What markup a binary file carries near its start, where a browser that guesses types would look.
pub(super) fn in_binary(head: &[u8]) -> Option<&'static str> {
    const MARKS: [&[u8]; 4] = [b"<html", b"<script", b"<!doctype html", b"<?php"];
    let carries = |mark: &[u8]| {
        head.windows(mark.len())
            .any(|window| window.eq_ignore_ascii_case(mark))
    };
    MARKS
        .into_iter()
        .any(carries)
        .then_some("an HTML document or script hidden in another format")
}

/// What markup or embedded script a text is, if it is any. `text` starts with its first character that is no
/// white space.
pub(super) fn in_text(text: &str) -> Option<&'static str> {
    const HTML: &str = "an HTML document";
    let lower = text.to_ascii_lowercase();
    let start = without_leading_comments(&lower);
    if start.starts_with("<!doctype html") || opens_page_tag(start) {
        return Some(HTML);
    }
    if start.starts_with("<?php") || start.starts_with("<?=") || start.starts_with("<%") {
        return Some("a script");
    }
    let mut closes_script = lower.contains("</script");
    closes_script |= lower.contains("</html") || lower.contains("</body");
    lower
        .lines()
        .map(str::trim_start)
        .any(|line| {
            line.starts_with("<!doctype html")
                || (closes_script
                    && (opens_tag(line, "script") || opens_tag(line, "html") || opens_tag(line, "body")))
                || has_event_handler(line)
        })
        .then_some(HTML)
}

/// Cuts an XML declaration, comments and white space from the front.
fn without_leading_comments(mut text: &str) -> &str {
    loop {
        let end = if text.starts_with("<!--") {
            text.find("-->").map(|at| at + 3)
        } else if text.starts_with("<?xml") {
            text.find("?>").map(|at| at + 2)
        } else {
            return text;
        };
        match end {
            Some(end) => text = text[end..].trim_start(),
            None => return text,
        }
    }
}

fn opens_page_tag(line: &str) -> bool {
    PAGE_TAGS.iter().any(|tag| opens_tag(line, tag))
}

fn opens_tag(line: &str, tag: &str) -> bool {
    let rest = line.strip_prefix('<').and_then(|rest| rest.strip_prefix(tag));
    rest.is_some_and(|rest| rest.starts_with(['>', ' ', '\t', '\r', '\n', '/']))
}

/// Whether a line opens with a tag that carries an event handler, such as `<img src=x onerror=…>`.
fn has_event_handler(line: &str) -> bool {
    let Some(tag) = line
        .strip_prefix('<')
        .filter(|rest| rest.starts_with(|c: char| c.is_ascii_alphabetic()))
    else {
        return false;
    };
    let tag = tag.split('>').next().unwrap_or_default();
    tag.split_ascii_whitespace().skip(1).any(|attribute| {
        attribute.split_once('=').is_some_and(|(name, _)| {
            name.len() > 4 && name.starts_with("on") && name.bytes().all(|b| b.is_ascii_lowercase())
        })
    })
}
