//! Points in time.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

/// A point in time, in UNIX milliseconds.
///
/// ```
/// use bidloop_domain::model::Timestamp;
/// use std::time::Duration;
///
/// let posted = Timestamp::from_millis(1_790_000_000_500);
/// assert_eq!(posted.as_seconds(), 1_790_000_000);
/// assert_eq!(posted.plus(Duration::from_secs(1)).as_millis(), 1_790_000_001_500);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From UNIX milliseconds.
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// From UNIX seconds; saturates at the ends of the representable range.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self(seconds.saturating_mul(1000))
    }

    /// UNIX milliseconds.
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// Whole UNIX seconds, rounded down.
    pub const fn as_seconds(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// The moment `duration` later; saturates.
    #[must_use]
    pub fn plus(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(millis(duration)))
    }

    /// The moment `duration` earlier; saturates.
    #[must_use]
    pub fn minus(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(millis(duration)))
    }

    /// The first moments of its calendar month and of the next one, in UTC.
    ///
    /// ```
    /// use bidloop_domain::model::Timestamp;
    ///
    /// let leap_day = Timestamp::from_seconds(1_709_208_000); // 29 February 2024, noon
    /// let (start, end) = leap_day.calendar_month();
    /// assert_eq!((start.as_seconds(), end.as_seconds()), (1_706_745_600, 1_709_251_200));
    /// ```
    pub fn calendar_month(self) -> (Self, Self) {
        const DAY: u64 = 24 * 60 * 60;
        let date = OffsetDateTime::from_unix_timestamp(self.as_seconds())
            .unwrap_or(OffsetDateTime::UNIX_EPOCH)
            .date();
        let first = date.replace_day(1).unwrap_or(date);
        let start = Self::from_seconds(first.midnight().assume_utc().unix_timestamp());
        let days = u64::from(date.month().length(date.year()));
        (start, start.plus(Duration::from_secs(days * DAY)))
    }

    /// The time since `earlier`; zero if this moment is not later.
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
