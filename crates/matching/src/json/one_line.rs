//! Makes text of unknown origin safe for log lines and terminals.

/// Returns `text` as one line, cut after `max_chars` characters. Line breaks become spaces. Control characters and
/// characters that change the writing direction become escapes.
///
/// ```
/// use bidloop_matching::json::sanitize_for_log;
///
/// assert_eq!(sanitize_for_log("two\nlines, \u{1b}[31mred", 80), r"two lines, \u{1b}[31mred");
/// ```
pub fn sanitize_for_log(text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(text.len().min(256));
    for (count, c) in text.chars().enumerate() {
        match c {
            _ if count == max_chars => {
                line.push('…');
                break;
            }
            '\n' | '\t' | '\u{2028}' | '\u{2029}' => line.push(' '),
            '\r' => {}
            _ if c.is_control() || changes_direction(c) => line.extend(c.escape_unicode()),
            _ => line.push(c),
        }
    }
    line
}

const fn changes_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_breaks_the_line_or_steers_the_terminal() {
        for (text, line) in [
            ("a\r\nb\tc\u{2028}d", "a b c d"),
            ("\u{1b}[2J\u{9b}31m\u{0}", r"\u{1b}[2J\u{9b}31m\u{0}"),
            ("a\u{202e}b", r"a\u{202e}b"),
            ("日本語 é \"quoted\"", "日本語 é \"quoted\""),
        ] {
            assert_eq!(sanitize_for_log(text, usize::MAX), line);
        }
        assert_eq!(sanitize_for_log("abcdef", 3), "abc…");
        assert_eq!(sanitize_for_log("abc", 3), "abc");
    }
}
