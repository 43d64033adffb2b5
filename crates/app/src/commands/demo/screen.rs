//! What the demo prints goes through here: lines to standard output, their colours and their widths. Owns no
//! wording.

use std::fmt::Write as _;
use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::commands::{Outcome, output};

/// How a piece of text stands out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
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

/// What the reader's side can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Look {
    /// Whether colours are understood and wanted.
    pub(super) colour: bool,
    /// The terminal's width; `None`: not a terminal, lines may be as long as they are.
    pub(super) columns: Option<usize>,
}

impl Look {
    /// The text in a style, if styles are wanted.
    pub(super) fn paint(self, style: Style, text: &str) -> String {
        if self.colour && style != Style::Plain {
            format!("\u{1b}[{}m{text}\u{1b}[0m", style.code())
        } else {
            text.to_owned()
        }
    }
}

/// Standard output. Locked for each line; a reader that has gone ends the demo.
#[derive(Debug)]
pub(super) struct Screen {
    terminal: bool,
    colour: bool,
}

impl Screen {
    pub(super) fn of_standard_output() -> Self {
        let terminal = std::io::stdout().is_terminal();
        // Conventions of terminals (no-color.org), not settings of the program.
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self {
            terminal,
            colour: terminal && !refused,
        }
    }

    /// The reader's side as it now is: a terminal may change its width.
    pub(super) fn look(&self) -> Look {
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

    /// Writes text and ends the line.
    #[expect(clippy::unused_self, reason = "the screen is what one writes on")]
    pub(super) fn show(&self, text: &str) -> Outcome {
        output::line(text)
    }
}

/// Text of others as one harmless piece: what moves the cursor, starts an escape sequence or turns the writing
/// direction becomes a space, and spaces are not repeated.
pub(super) fn one_line(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let harmless = |c: char| {
        if c.is_control() || turns(c) || c.is_whitespace() {
            ' '
        } else {
            c
        }
    };
    let text: String = text.chars().map(harmless).collect();
    text.split(' ')
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// The text cut to so many columns, an ellipsis telling that it was.
pub(super) fn cut(text: &str, columns: usize) -> String {
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

/// The text filled up with spaces to so many columns.
pub(super) fn pad(text: &str, columns: usize) -> String {
    let mut padded = text.to_owned();
    let missing = columns.saturating_sub(text.width());
    // Writing to a string cannot fail.
    let _written = write!(padded, "{:missing$}", "");
    padded
}

/// The text cut and filled up to exactly so many columns.
pub(super) fn cell(text: &str, columns: usize) -> String {
    pad(&cut(text, columns), columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_as_wide_as_asked_whatever_the_script() {
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
    fn text_of_others_cannot_move_the_cursor() {
        assert_eq!(
            one_line(" a\u{1b}[2J\r\nb\t c\u{202e}d\u{9b}31m "),
            "a [2J b c d 31m"
        );
    }

    #[test]
    fn colours_are_left_out_where_they_are_not_wanted() {
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
