//! The billing period in force and the proposals used in it (decision B3, `docs/rules.md#b3`).
//!
//! Owns the arithmetic of periods. Does not own the counting, which is one statement of the store, so that concurrent
//! requests cannot exceed the limit (decision B2).

use serde::{Deserialize, Serialize};

use crate::model::{Renewal, Subscription, Timestamp};

/// A billing period: from its start up to, not including, its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct BillingPeriod {
    /// The period's first moment.
    pub start: Timestamp,
    /// The first moment of the next period.
    pub end: Timestamp,
}

/// The subscription's period in force at `now`.
///
/// When the period that billing reported ends, the next one starts at that moment and has the same length, or it is the
/// calendar month, as the subscription has it. The reported period is also in force before its start. A reported period
/// that does not end after its start stays in force, so that its count is kept.
///
/// ```
/// use bidloop_domain::bidding::{BillingPeriod, current_period};
/// use bidloop_domain::model::{Renewal, Subscription, Timestamp};
///
/// let at = Timestamp::from_seconds;
/// let reported = Subscription {
///     period_start: at(1_000),
///     period_end: at(1_100),
///     renewal: Renewal::SameLength,
///     ..Subscription::unbilled(at(1_000))
/// };
/// let period = |start, end| BillingPeriod { start: at(start), end: at(end) };
/// assert_eq!(current_period(&reported, at(1_099)), period(1_000, 1_100));
/// assert_eq!(current_period(&reported, at(1_100)), period(1_100, 1_200));
/// assert_eq!(current_period(&reported, at(1_350)), period(1_300, 1_400));
///
/// let monthly = Subscription { renewal: Renewal::CalendarMonth, ..reported };
/// assert_eq!(current_period(&monthly, at(1_100)), period(0, 31 * 24 * 60 * 60));
/// ```
pub fn current_period(subscription: &Subscription, now: Timestamp) -> BillingPeriod {
    let reported = BillingPeriod {
        start: subscription.period_start,
        end: subscription.period_end,
    };
    if now < reported.end {
        return reported;
    }
    match subscription.renewal {
        Renewal::SameLength => period_of_same_length(reported, now),
        Renewal::CalendarMonth => {
            let (start, end) = now.calendar_month();
            BillingPeriod { start, end }
        }
    }
}

/// The period of `now`, which is not before the reported one's end.
fn period_of_same_length(reported: BillingPeriod, now: Timestamp) -> BillingPeriod {
    let (start, end) = (
        i128::from(reported.start.as_millis()),
        i128::from(reported.end.as_millis()),
    );
    let length = end - start;
    if length <= 0 {
        return reported;
    }
    let whole_periods = (i128::from(now.as_millis()) - end) / length;
    let start = end + whole_periods * length;
    BillingPeriod {
        start: saturating(start),
        end: saturating(start + length),
    }
}

fn saturating(millis: i128) -> Timestamp {
    let limit = if millis < 0 { i64::MIN } else { i64::MAX };
    Timestamp::from_millis(i64::try_from(millis).unwrap_or(limit))
}

/// How much of a period's quota is used, as a `QuotaError` reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuotaUsage {
    /// Real bids queued in the period, without those that ended as skipped or failed.
    pub used: u64,
    /// The plan's limit; `None`: any number.
    pub limit: Option<u64>,
    /// When the period ends.
    pub period_end: Timestamp,
}

impl QuotaUsage {
    /// What is used of the subscription's limit in `period`.
    pub fn of(subscription: &Subscription, period: BillingPeriod, used: u64) -> Self {
        Self {
            used,
            limit: subscription.proposal_limit.map(u64::from),
            period_end: period.end,
        }
    }

    /// Whether no further bid is accepted in the period.
    pub fn is_used_up(&self) -> bool {
        self.limit.is_some_and(|limit| self.used >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn period(start: i64, end: i64) -> BillingPeriod {
        BillingPeriod {
            start: Timestamp::from_millis(start),
            end: Timestamp::from_millis(end),
        }
    }

    /// The period in force when this one was reported.
    fn in_force(reported: BillingPeriod, now: Timestamp) -> BillingPeriod {
        let subscription = Subscription {
            period_start: reported.start,
            period_end: reported.end,
            renewal: Renewal::SameLength,
            ..Subscription::unbilled(now)
        };
        current_period(&subscription, now)
    }

    #[test]
    fn the_next_period_starts_when_the_last_one_ends() {
        let reported = period(0, 100);
        for (now, start) in [
            (-5, 0),
            (0, 0),
            (99, 0),
            (100, 100),
            (199, 100),
            (200, 200),
            (1_000_050, 1_000_000),
        ] {
            assert_eq!(
                in_force(reported, Timestamp::from_millis(now)),
                period(start, start + 100),
                "{now}"
            );
        }
    }

    #[test]
    fn a_period_without_length_stays_in_force() {
        for faulty in [period(100, 100), period(100, 0), period(i64::MAX, i64::MIN)] {
            assert_eq!(in_force(faulty, Timestamp::from_millis(5_000)), faulty);
        }
    }

    #[test]
    fn periods_at_the_ends_of_time_do_not_overflow() {
        let longest = period(i64::MIN, i64::MAX);
        assert_eq!(
            in_force(longest, Timestamp::from_millis(i64::MAX)),
            period(i64::MAX, i64::MAX)
        );
        let shortest = period(i64::MIN, i64::MIN + 1);
        assert_eq!(
            in_force(shortest, Timestamp::from_millis(i64::MAX)).start,
            Timestamp::from_millis(i64::MAX)
        );
    }

    #[test]
    fn a_limit_of_zero_is_used_up() {
        let usage = |used, limit: u64| QuotaUsage {
            used,
            limit: Some(limit),
            period_end: Timestamp::default(),
        };
        assert!(usage(0, 0).is_used_up());
        assert!(!usage(49, 50).is_used_up());
        assert!(usage(50, 50).is_used_up());
        assert!(usage(51, 50).is_used_up(), "after the limit was lowered");
    }

    #[test]
    fn without_a_limit_no_number_uses_it_up() {
        let unlimited = QuotaUsage {
            used: u64::MAX,
            limit: None,
            period_end: Timestamp::default(),
        };
        assert!(!unlimited.is_used_up());
    }

    #[test]
    fn calendar_months_follow_a_period_whatever_its_length() {
        let second = |text: &str| {
            let format = &time::format_description::well_known::Rfc3339;
            Timestamp::from_seconds(
                time::OffsetDateTime::parse(text, format)
                    .unwrap()
                    .unix_timestamp(),
            )
        };
        let unbilled = Subscription::unbilled(second("2027-01-31T12:00:00Z"));
        for (now, start, end) in [
            (
                "2027-01-31T23:59:59Z",
                "2027-01-01T00:00:00Z",
                "2027-02-01T00:00:00Z",
            ),
            (
                "2027-02-01T00:00:00Z",
                "2027-02-01T00:00:00Z",
                "2027-03-01T00:00:00Z",
            ),
            (
                "2028-02-29T12:00:00Z",
                "2028-02-01T00:00:00Z",
                "2028-03-01T00:00:00Z",
            ),
            (
                "2028-12-31T23:59:59Z",
                "2028-12-01T00:00:00Z",
                "2029-01-01T00:00:00Z",
            ),
        ] {
            let expected = BillingPeriod {
                start: second(start),
                end: second(end),
            };
            assert_eq!(current_period(&unbilled, second(now)), expected, "{now}");
        }
    }

    proptest! {
        #[test]
        fn the_period_in_force_contains_now_and_keeps_its_length_and_phase(
            start in -1_000_000_i64..1_000_000, length in 1_i64..10_000, later in 0_i64..10_000_000,
        ) {
            let now = Timestamp::from_millis(start + later);
            let found = in_force(period(start, start + length), now);
            prop_assert!(found.start <= now && now < found.end);
            prop_assert_eq!(found.end.as_millis() - found.start.as_millis(), length);
            prop_assert_eq!((found.start.as_millis() - start) % length, 0);
        }
    }
}
