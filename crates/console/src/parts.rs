//! Small parts of pages that take data: icons, statuses, times and amounts. Their text is escaped or made of safe
//! characters, so templates write them as they are.

use std::borrow::Cow;
use std::fmt;

use askama::filters::HtmlSafe;
use bidloop_domain::model::{LeadStatus, Timestamp};

use crate::assets;
use crate::visit::CSRF;
use crate::words::{self, Given};

/// An icon of `assets/icons.svg`, hidden from screen readers.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Icon(&'static str);

pub(crate) const fn icon(name: &'static str) -> Icon {
    Icon(name)
}

impl fmt::Display for Icon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sprite, name) = (assets::path("icons.svg"), self.0);
        write!(
            f,
            r#"<svg class="i" aria-hidden="true"><use href="{sprite}#{name}"/></svg>"#
        )
    }
}

impl HtmlSafe for Icon {}

/// The hidden field with which a form of a page shows that it is the session's.
#[derive(Debug)]
pub(crate) struct CsrfField<'t>(&'t str);

/// `token` has hexadecimal digits only.
pub(crate) fn csrf(token: &str) -> CsrfField<'_> {
    CsrfField(token)
}

impl fmt::Display for CsrfField<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, r#"<input type="hidden" name="{CSRF}" value="{}">"#, self.0)
    }
}

impl HtmlSafe for CsrfField<'_> {}

/// A status: a word with its icon and colour.
#[derive(Debug, Clone)]
pub(crate) struct Pill {
    class: &'static str,
    icon: &'static str,
    word: Cow<'static, str>,
}

/// `word` has no character that HTML reads otherwise.
pub(crate) fn pill(class: &'static str, icon: &'static str, word: impl Into<Cow<'static, str>>) -> Pill {
    Pill {
        class,
        icon,
        word: word.into(),
    }
}

/// The pill of a lead's status.
pub(crate) fn status(status: impl Given<LeadStatus>) -> Pill {
    match status.value() {
        LeadStatus::New => pill("new", "new", "New"),
        LeadStatus::Queued => pill("queued", "queued", "Queued"),
        LeadStatus::Submitted => pill("submitted", "check", "Submitted"),
        LeadStatus::Skipped => pill("skipped", "skip", "Skipped"),
        LeadStatus::Failed => pill("failed", "x", "Failed"),
        LeadStatus::Rejected => pill("rejected", "slash", "Rejected"),
    }
}

impl fmt::Display for Pill {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, word) = (self.class, &self.word);
        write!(
            f,
            r#"<span class="pill {class}">{}{word}</span>"#,
            icon(self.icon)
        )
    }
}

impl HtmlSafe for Pill {}

/// Whether each of the last deliveries was taken, as bars; the newest is at the right.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spark<'l>(&'l [bool]);

/// `newest_first` has at most 20.
pub(crate) fn spark(newest_first: &[bool]) -> Spark<'_> {
    Spark(newest_first)
}

impl fmt::Display for Spark<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = self.0.iter().filter(|good| !**good).count();
        write!(
            f,
            r#"<svg class="spark" viewBox="0 0 84 22" preserveAspectRatio="none" role="img" aria-label="{failed} of the last {} failed">"#,
            self.0.len()
        )?;
        for (place, good) in self.0.iter().take(20).enumerate() {
            let x = 80 - 4 * place;
            let (class, y, height) = if *good { ("bar", 8, 14) } else { ("bar bad", 2, 20) };
            write!(
                f,
                r#"<rect class="{class}" x="{x}" y="{y}" width="3" height="{height}"/>"#
            )?;
        }
        f.write_str("</svg>")
    }
}

impl HtmlSafe for Spark<'_> {}

/// A moment: "12 s ago" for a week, then the date. The exact time in UTC is its title.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    at: Timestamp,
    now: Timestamp,
}

pub(crate) fn moment(at: impl Given<Timestamp>, now: impl Given<Timestamp>) -> Moment {
    Moment {
        at: at.value(),
        now: now.value(),
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exact = words::utc(self.at);
        let shown = words::ago(self.at, self.now);
        let machine = words::rfc3339(self.at);
        write!(f, r#"<time datetime="{machine}" title="{exact}">{shown}</time>"#)
    }
}

impl HtmlSafe for Moment {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_shows_its_age_and_its_exact_time() {
        let at = Timestamp::from_millis(1_795_334_400_000);
        let now = Timestamp::from_millis(1_795_334_412_345);
        assert_eq!(
            moment(at, now).to_string(),
            r#"<time datetime="2026-11-22T08:00:00Z" title="2026-11-22 08:00:00 UTC">12 s ago</time>"#
        );
    }

    #[test]
    fn a_status_has_an_icon_and_a_word() {
        let pill = status(LeadStatus::Skipped).to_string();
        assert!(pill.contains("#skip\""), "{pill}");
        assert!(pill.ends_with("Skipped</span>"), "{pill}");
    }
}
