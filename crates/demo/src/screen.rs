//! Writes lines to standard output, with colours and column widths. Owns no wording.

use std::io::{IsTerminal, Write as _};

use bidloop_domain::model::sanitize_for_log;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::DemoError;

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    Plain,
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

impl Style {
    const fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Dim => "2",
            Self::Bold => "1",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Blue => "34",
            Self::Cyan => "36",
        }
    }
}

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Look {
    /// Whether to use colours.
    pub(crate) colour: bool,
    /// The terminal's width; `None` if standard output is not a terminal: lines are not cut.
    pub(crate) columns: Option<usize>,
}

impl Look {
    /// Returns the text in a style if colours are on.
    pub(crate) fn paint(self, style: Style, text: &str) -> String {
        if self.colour && style != Style::Plain {
            format!("\u{1b}[{}m{text}\u{1b}[0m", style.code())
        } else {
            text.to_owned()
        }
    }
}

/// Standard output.
#[derive(Debug)]
pub(crate) struct Screen {
    terminal: bool,
    colour: bool,
}

impl Screen {
    pub(crate) fn of_standard_output(colour: Option<bool>) -> Self {
        let terminal = std::io::stdout().is_terminal();
        // Conventions of terminals (no-color.org), not settings of the program.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            terminal,
            colour: colour.unwrap_or(terminal && !refused),
        }
    }

    /// Reads the terminal's width anew: it may change.
    pub(crate) fn look(&self) -> Look {
        let columns = if self.terminal {
            terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
        } else {
            None
        };
        Look {
            colour: self.colour,
            columns,
        }
    }

    /// Writes a line.
    #[expect(clippy::unused_self, reason = "reads as writing to the screen")]
    pub(crate) fn show(&self, text: &str) -> Result<(), DemoError> {
        let mut out = std::io::stdout().lock();
        let written = writeln!(out, "{text}").and_then(|()| out.flush());
        written.map_err(|_| DemoError::OutputClosed)
    }
}

/// Text of others on one line that cannot control the terminal.
pub(crate) fn one_line(text: &str) -> String {
    sanitize_for_log(text.trim(), usize::MAX)
}

/// Cuts the text to `columns` columns, with an ellipsis if it was longer.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        kept.push(c);
    }
    kept.truncate(kept.trim_end().len());
    kept.push('…');
    kept
}

/// Fills the text up with spaces to `columns` columns.
pub(crate) fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(text.width());
    format!("{text}{:missing$}", "")
}

/// Cuts and fills the text to exactly `columns` columns.
pub(crate) fn cell(text: &str, columns: usize) -> String {
    pad(&cut(text, columns), columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_the_requested_width_in_every_script() {
        for text in [
            "",
            "short",
            "a rather long title of a job post",
            "📸 写真の編集と動画制作をお願いします",
            "e\u{301}te\u{301} a\u{300} Paris",
        ] {
            assert_eq!(cell(text, 14).width(), 14, "{text}");
        }
        assert_eq!(cut("a rather long title", 9), "a rather…");
        assert_eq!(cut("exactly it", 10), "exactly it");
    }

    #[test]
    fn text_is_plain_without_colours() {
        let with = Look {
            colour: true,
            columns: None,
        };
        let without = Look {
            colour: false,
            columns: None,
        };
        assert_eq!(with.paint(Style::Green, "ok"), "\u{1b}[32mok\u{1b}[0m");
        assert_eq!(with.paint(Style::Plain, "ok"), "ok");
        assert_eq!(without.paint(Style::Green, "ok"), "ok");
    }
}
