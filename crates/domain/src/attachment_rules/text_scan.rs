//! Whether a file is text, and whether the text is a script or a page.
//!
//! A text is refused only for its beginning (decision A9). Its other words do not matter: people write "Start 50% now,
//! 50% later".

/// The beginnings of scripts and pages, in lower case.
const BEGINNINGS: [(&str, &str); 9] = [
    ("#!", "a script"),
    ("<?php", "a PHP script"),
    ("@echo off", "a batch script"),
    ("<job", "a script"),
    ("<package", "a script"),
    ("<script", "a script"),
    ("<!doctype html", "an HTML page"),
    ("<html", "an HTML page"),
    ("<svg", "an SVG image, which may hold scripts"),
];

/// How many bytes of the start are kept: the longest of [`BEGINNINGS`] and one more.
const START: usize = 16;

const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Examines a text that arrives in pieces.
#[derive(Debug, Default)]
pub(super) struct TextScan {
    /// The first bytes after byte order mark and white space, at most [`START`].
    start: Vec<u8>,
    /// The start of a character that is not complete yet.
    pub(super) open: Vec<u8>,
    is_broken: bool,
}

impl TextScan {
    pub(super) fn push(&mut self, piece: &[u8]) {
        self.keep_start(piece);
        self.is_broken |= piece.contains(&0);
        if self.is_broken {
            return;
        }
        self.open.extend_from_slice(piece);
        match std::str::from_utf8(&self.open) {
            Ok(_) => self.open.clear(),
            Err(error) => {
                self.is_broken = error.error_len().is_some();
                self.open.drain(..error.valid_up_to());
            }
        }
    }

    fn keep_start(&mut self, mut piece: &[u8]) {
        if self.start.is_empty() {
            let is_passed_over = |byte: &u8| byte.is_ascii_whitespace() || BYTE_ORDER_MARK.contains(byte);
            piece = &piece[piece.iter().take_while(|byte| is_passed_over(byte)).count()..];
        }
        let room = START - self.start.len();
        self.start.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    /// Whether the file is UTF-8 without NUL.
    pub(super) fn is_text(&self) -> bool {
        !self.is_broken && self.open.is_empty()
    }

    /// The first bytes after byte order mark and white space.
    pub(super) fn start(&self) -> &[u8] {
        &self.start
    }

    /// The script or page that the text is, with an article.
    pub(super) fn script(&self) -> Option<&'static str> {
        let start = self.start.to_ascii_lowercase();
        let begins_with = |beginning: &str| {
            // `<job>` begins a script, `<jobs>` does not.
            let ends_word =
                |rest: &[u8]| beginning == "#!" || !rest.first().is_some_and(u8::is_ascii_alphanumeric);
            start.strip_prefix(beginning.as_bytes()).is_some_and(ends_word)
        };
        BEGINNINGS
            .into_iter()
            .find_map(|(beginning, what)| begins_with(beginning).then_some(what))
    }
}
