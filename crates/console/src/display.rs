//! How pages look and act in one browser: its colours and its keys. They are kept in a cookie, since they suit a device
//! rather than a person.

use std::fmt;

use actix_web::HttpRequest;
use actix_web::cookie::Cookie;
use actix_web::cookie::time::Duration;

use crate::cookie;
use crate::guard::ConsoleAddress;

const COOKIE: &str = "bidloop-display";
/// Browsers keep no cookie longer.
const LIFETIME: Duration = Duration::days(400);
const NO_KEYS: &str = "no-keys";

/// The colours of pages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Theme {
    /// As the browser has them.
    #[default]
    System,
    Light,
    Dark,
}

impl Theme {
    /// The themes with their words.
    pub(crate) const ALL: [(Self, &'static str); 3] = [
        (Self::System, "As the system"),
        (Self::Light, "Light"),
        (Self::Dark, "Dark"),
    ];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    /// The theme of this name; the system's for any other.
    pub(crate) fn named(name: &str) -> Self {
        let named = Self::ALL.into_iter().find(|(theme, _)| theme.as_str() == name);
        named.map(|(theme, _)| theme).unwrap_or_default()
    }

    /// The theme's name, unless the browser chooses.
    pub(crate) fn forced(self) -> Option<&'static str> {
        (self != Self::System).then(|| self.as_str())
    }
}

/// What a browser has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Display {
    pub(crate) theme: Theme,
    /// Whether single keys act.
    pub(crate) has_keys: bool,
}

impl Display {
    /// The browser's choice. A cookie that cannot be read is none.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        let cookie = request.cookie(COOKIE);
        Self::parse(cookie.as_ref().map_or("", Cookie::value))
    }

    fn parse(value: &str) -> Self {
        let (theme, keys) = value.split_once('.').unwrap_or((value, ""));
        Self {
            theme: Theme::named(theme),
            has_keys: keys != NO_KEYS,
        }
    }

    /// The cookie that keeps the choice.
    pub(crate) fn cookie(self, address: &ConsoleAddress) -> Cookie<'static> {
        let mut cookie = cookie::of(address, COOKIE, self.to_string());
        cookie.set_max_age(LIFETIME);
        cookie
    }
}

impl fmt::Display for Display {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keys = if self.has_keys { "keys" } else { NO_KEYS };
        write!(f, "{}.{keys}", self.theme.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_is_read_as_it_was_kept() {
        for (theme, _) in Theme::ALL {
            for has_keys in [true, false] {
                let display = Display { theme, has_keys };
                assert_eq!(Display::parse(&display.to_string()), display);
            }
        }
    }

    #[test]
    fn without_a_readable_choice_the_system_decides_and_keys_act() {
        for value in ["", "blue", ".", "\" onload=x", "system.keys.more"] {
            let display = Display::parse(value);
            assert_eq!(
                (display.theme, display.has_keys),
                (Theme::System, true),
                "{value}"
            );
        }
    }
}
