//! [`TextFields`]: the fields of spans and lines as text.

use std::error::Error;
use std::fmt::{self, Debug};

use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput as _};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// The bytes of a usual request's fields.
const USUAL_BYTES: usize = 256;

/// Writes what the default format writes. Each request has a span with six short texts, on which the default format spends
/// more than SQLite on a look-up. Texts that need neither colours nor escapes have a short way here: they are gathered and
/// written at once, since what is written to grows with each piece.
#[derive(Debug)]
pub(super) struct TextFields;

impl<'w> FormatFields<'w> for TextFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'w>, fields: R) -> fmt::Result {
        let mut visitor = TextVisitor {
            writer,
            gathered: String::with_capacity(USUAL_BYTES),
            is_empty: true,
            written: Ok(()),
        };
        fields.record(&mut visitor);
        visitor.write_gathered();
        visitor.written
    }
}

struct TextVisitor<'w> {
    writer: Writer<'w>,
    /// What is written next.
    gathered: String,
    /// Whether there has been no field.
    is_empty: bool,
    written: fmt::Result,
}

impl TextVisitor<'_> {
    fn write_gathered(&mut self) {
        self.written = self.written.and_then(|()| self.writer.write_str(&self.gathered));
        self.gathered.clear();
    }

    fn add_by_default(&mut self, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        self.write_gathered();
        if self.written.is_ok() {
            let mut visitor = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
            record(&mut visitor);
            self.written = visitor.finish();
            self.is_empty = false;
        }
    }
}

impl Visit for TextVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let name = field.name();
        let is_plain = |byte: u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
        if name == "message" || self.writer.has_ansi_escapes() || !value.bytes().all(is_plain) {
            return self.add_by_default(|visitor| visitor.record_str(field, value));
        }
        let before = if self.is_empty { "" } else { " " };
        for part in [before, name, "=\"", value, "\""] {
            self.gathered.push_str(part);
        }
        self.is_empty = false;
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.add_by_default(|visitor| visitor.record_error(field, value));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.add_by_default(|visitor| visitor.record_debug(field, value));
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read as _, Seek as _};
    use std::sync::Arc;

    use tracing::field::Empty;
    use tracing_subscriber::fmt;
    use tracing_subscriber::fmt::format::DefaultFields;

    use super::*;

    /// What is logged in a span with fields of all kinds.
    fn logged<F>(fields: F, has_colours: bool) -> String
    where
        F: for<'w> FormatFields<'w> + Send + Sync + 'static,
    {
        let mut file = tempfile::tempfile().unwrap();
        let subscriber = fmt::Subscriber::builder()
            .with_writer(Arc::new(file.try_clone().unwrap()))
            .with_ansi(has_colours)
            .without_time()
            .fmt_fields(fields)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let span = tracing::info_span!("request", id = "r-1", path = "/a b", lead = Empty, count = 3);
            let _entered = span.enter();
            span.record("lead", "ld_1");
            let cause = io::Error::other(io::Error::other("the cause"));
            tracing::info!(error = &cause as &dyn Error, "message \"quoted\"");
            for text in [
                "",
                "plain",
                "with \"quotes\"",
                "back\\slash",
                "two\nlines",
                "ä",
                "\u{1b}[31m",
            ] {
                tracing::info!(text, r#type = ?text, shown = %text, "written");
                tracing::info!(message = text, text);
                tracing::info!(text);
                let _inner = tracing::info_span!("inner", text).entered();
                tracing::info!(r#type = text);
            }
        });
        let mut lines = String::new();
        file.rewind().unwrap();
        file.read_to_string(&mut lines).unwrap();
        lines
    }

    #[test]
    fn texts_are_written_as_by_default() {
        let plain = logged(TextFields, false);
        assert!(
            plain.contains(r#"request{id="r-1" path="/a b" count=3 lead="ld_1"}"#),
            "{plain}"
        );
        assert_eq!(plain, logged(DefaultFields::new(), false));
        assert_eq!(logged(TextFields, true), logged(DefaultFields::new(), true));
    }
}
