//! How the console words times, durations, amounts and counts, and what several pages say.

use std::time::Duration;

use bidloop_domain::matching::Verdict;
use bidloop_domain::model::{
    ActivityKind, ActivityOutcome, CampaignMode, LeadStatus, MemberRole, ReasonCode, Timestamp, TokenScope,
};
use bidloop_domain::port::AccountReading;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;
use time::{Date, OffsetDateTime};

const NOT_KNOWN: &str = "not known";

/// A value as templates pass it: some by value, some by reference.
pub(crate) trait Given<T> {
    /// The value.
    fn value(self) -> T;
}

macro_rules! given {
    ($($type:ty),*) => {$(
        impl Given<$type> for $type {
            fn value(self) -> $type {
                self
            }
        }

        impl Given<$type> for &$type {
            fn value(self) -> $type {
                *self
            }
        }

        impl Given<$type> for &&$type {
            fn value(self) -> $type {
                **self
            }
        }
    )*};
}

given!(u64, Timestamp, LeadStatus, Verdict);

const UTC: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day] [hour]:[minute]:[second] UTC");
const RFC3339: &[BorrowedFormatItem<'_>] =
    format_description!("[year]-[month]-[day]T[hour]:[minute]:[second]Z");
const DAY: &[BorrowedFormatItem<'_>] = format_description!("[day padding:none] [month repr:short] [year]");
const CLOCK: &[BorrowedFormatItem<'_>] = format_description!("[hour]:[minute]:[second]");

const SECOND: i64 = 1_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY_MILLIS: i64 = 24 * HOUR;

fn written(at: Timestamp, format: &[BorrowedFormatItem<'_>]) -> String {
    OffsetDateTime::from_unix_timestamp(at.as_millis().div_euclid(SECOND))
        .ok()
        .and_then(|moment| moment.format(format).ok())
        .unwrap_or_default()
}

/// "2026-11-22 06:32:32 UTC".
pub(crate) fn utc(at: Timestamp) -> String {
    written(at, UTC)
}

/// "2026-11-22T06:32:32Z".
pub(crate) fn rfc3339(at: Timestamp) -> String {
    written(at, RFC3339)
}

/// "22 Nov 2026".
pub(crate) fn date(at: Timestamp) -> String {
    written(at, DAY)
}

/// "06:32:32".
pub(crate) fn clock(at: impl Given<Timestamp>) -> String {
    written(at.value(), CLOCK)
}

/// "2026-11-22".
pub(crate) fn iso_day(at: Timestamp) -> String {
    written(at, format_description!("[year]-[month]-[day]"))
}

/// "06:00".
pub(crate) fn hour(at: Timestamp) -> String {
    written(at, format_description!("[hour]:[minute]"))
}

/// "22 Nov".
pub(crate) fn day(at: Timestamp) -> String {
    written(at, format_description!("[day padding:none] [month repr:short]"))
}

/// The expiry that a form gives as "2026-11-22": the end of that day, in UTC; `None` where it is empty.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read_expiry(text: &str) -> Result<Option<Timestamp>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    let day = Date::parse(text, format_description!("[year]-[month]-[day]"));
    let end = day.ok().and_then(Date::next_day).ok_or("Choose a day.")?;
    let end = end.midnight().assume_utc().unix_timestamp();
    Ok(Some(Timestamp::from_seconds(end)))
}

/// "It was used 3 min ago. ", or nothing.
pub(crate) fn was_used(at: Option<Timestamp>, now: Timestamp) -> String {
    at.map(|at| format!("It was used {}. ", ago(at, now)))
        .unwrap_or_default()
}

/// "12 s ago" within a week, "in 3 min" for the future, else the date.
pub(crate) fn ago(at: Timestamp, now: Timestamp) -> String {
    let age = now.as_millis() - at.as_millis();
    let length = age.abs();
    if length >= 7 * DAY_MILLIS {
        return date(at);
    }
    let amount = match length {
        0..MINUTE => format!("{} s", length / SECOND),
        MINUTE..HOUR => format!("{} min", length / MINUTE),
        HOUR..DAY_MILLIS => format!("{} h", length / HOUR),
        _ => match length / DAY_MILLIS {
            1 => "1 day".to_owned(),
            days => format!("{days} days"),
        },
    };
    if age <= -SECOND {
        format!("in {amount}")
    } else {
        format!("{amount} ago")
    }
}

/// "41 ms", "1.94 s", "12.3 s", "3 min", "5 h".
pub(crate) fn duration(millis: i64) -> String {
    match millis {
        ..SECOND => format!("{millis} ms"),
        SECOND..10_000 => format!("{}.{:02} s", millis / SECOND, millis % SECOND / 10),
        10_000..MINUTE => format!("{}.{} s", millis / SECOND, millis % SECOND / 100),
        MINUTE..HOUR => format!("{} min", millis / MINUTE),
        HOUR..DAY_MILLIS => format!("{} h", millis / HOUR),
        _ => format!("{} days", millis / DAY_MILLIS),
    }
}

/// The same of a length of time.
pub(crate) fn took(time: Duration) -> String {
    duration(i64::try_from(time.as_millis()).unwrap_or(i64::MAX))
}

/// "1,234".
pub(crate) fn count(number: impl Given<u64>) -> String {
    let digits = number.value().to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// "$1,234.50" of an amount in cents.
pub(crate) fn dollars(cents: i64) -> String {
    let sign = if cents < 0 { "-" } else { "" };
    let cents = cents.unsigned_abs();
    format!("{sign}${}.{:02}", count(cents / 100), cents % 100)
}

/// The connects of an account: "60 connects", or that they are not known.
pub(crate) fn balance(reading: Option<&AccountReading>) -> String {
    reading.map_or_else(
        || NOT_KNOWN.to_owned(),
        |reading| counted(reading.connects_balance.get(), "connect", "connects"),
    )
}

/// The hourly rate of an account's profile: "$45/h", or that it is not known.
pub(crate) fn profile_rate(reading: Option<&AccountReading>) -> String {
    let rate = reading.and_then(|reading| reading.profile_hourly_rate);
    rate.map_or_else(|| NOT_KNOWN.to_owned(), |rate| format!("{}/h", usd(rate)))
}

/// "$30", "$1,500", "$41.76": an amount that the marketplace states. A negative one counts as zero.
pub(crate) fn usd(dollars: f64) -> String {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a saturated amount is shown as such"
    )]
    let cents = (dollars.max(0.0) * 100.0).round() as u64;
    match cents % 100 {
        0 => format!("${}", count(cents / 100)),
        rest => format!("${}.{rest:02}", count(cents / 100)),
    }
}

/// A file's size: `640 bytes`, `12 kB`, `1.8 MB`. A megabyte has 1,048,576 bytes, as in the limits (decision A9).
pub(crate) fn size(bytes: impl Given<u64>) -> String {
    let bytes = bytes.value();
    match bytes {
        0..1024 => counted(bytes, "byte", "bytes"),
        1024..1_048_576 => format!("{} kB", bytes / 1024),
        _ => {
            let tenths = (bytes * 10 + 524_288) / 1_048_576;
            format!("{}.{} MB", tenths / 10, tenths % 10)
        }
    }
}

/// What a change did, by the word in the page's address. Unknown words say nothing.
pub(crate) fn done(word: &str) -> Option<&'static str> {
    Some(match word {
        "started" => "Campaign started. It acts on jobs that arrive from now on.",
        "paused" => "Campaign paused. Jobs are still matched and listed.",
        "paused_by_mode" => {
            "Saved. Switching to External paused the campaign: check its endpoint, then start it."
        }
        "saved" => "Saved.",
        "attached" => "Files attached.",
        "file_removed" => "File removed. Queued bids send it all the same.",
        "deleted" => "Deleted.",
        "queued" => "Bid queued.",
        "dry_run" => "Dry run done: a simulated bid_complete is on its way.",
        "endpoint_paused" => "Webhook paused. It gets nothing until it is resumed.",
        "endpoint_resumed" => "Webhook resumed.",
        "webhook_removed" => "Webhook removed.",
        "connected" => "Account connected: the marketplace accepts its token.",
        "account_removed" => "Account removed.",
        "revoked" => "Key revoked.",
        "reopened" => "Lead reopened.",
        "settled" => "Bid settled.",
        "rejected" => "Lead rejected.",
        "role" => "Role changed. The user's sessions here have ended.",
        "removed" => "User removed.",
        "withdrawn" => "Link withdrawn.",
        "token_revoked" => "Token revoked.",
        "password" => "Password changed. Other sessions are signed out.",
        _ => return None,
    })
}

/// An error's words as a sentence: a capital, and a full stop.
pub(crate) fn sentence(words: &str) -> String {
    format!("{}.", capital(words))
}

/// A name in quotes within a sentence, whatever the direction of its script.
pub(crate) fn quoted(name: &str) -> String {
    format!("“\u{2068}{name}\u{2069}”")
}

/// Words that begin with a capital.
pub(crate) fn capital(words: &str) -> String {
    let mut rest = words.chars();
    let first: String = rest.next().into_iter().flat_map(char::to_uppercase).collect();
    first + rest.as_str()
}

/// What a personal token of this scope may be used for.
pub(crate) const fn scope(scope: TokenScope) -> &'static str {
    match scope {
        TokenScope::Read => "Read",
        TokenScope::Bid => "Read and bid",
        TokenScope::Manage => "Read, bid and manage keys",
    }
}

/// "Owner", "Member".
pub(crate) const fn role(role: MemberRole) -> &'static str {
    match role {
        MemberRole::Owner => "Owner",
        MemberRole::Member => "Member",
    }
}

/// Why a bid ended without a proposal.
pub(crate) const fn ending(reason: ReasonCode) -> &'static str {
    match reason {
        ReasonCode::JobWarning => "Skipped: the marketplace warns",
        ReasonCode::AlreadyHired => "Skipped: the client already hired someone",
        ReasonCode::InsufficientConnects => "Skipped: not enough connects for the job",
        ReasonCode::InsufficientBoostConnects => "Skipped: not enough connects for the boost",
        ReasonCode::AmountUnknown => "Skipped: the amount is unknown",
        ReasonCode::RateUnknown => "Skipped: the rate is unknown",
        ReasonCode::JobClosed => "Failed: the job takes no proposals any more",
        ReasonCode::JobNotFound => "Failed: the marketplace does not know the job",
        ReasonCode::NotEligible => "Failed: the bidder does not meet the job’s requirements",
        ReasonCode::AlreadyApplied => "Failed: the account already has a proposal on the job",
        ReasonCode::InvalidToken => "Failed: the marketplace refuses the account’s token",
        ReasonCode::Invalid => "Failed: the marketplace refuses the proposal as malformed",
        ReasonCode::DeadlineExceeded => "Failed: the deadline passed",
    }
}

/// The subject of a record.
pub(crate) const fn kind(kind: ActivityKind) -> &'static str {
    match kind {
        ActivityKind::Bid => "Bid",
        ActivityKind::Rejection => "Rejection",
        ActivityKind::Upload => "Upload",
        ActivityKind::Delivery => "Delivery",
        ActivityKind::Submission => "Submission",
        ActivityKind::Change => "Change",
    }
}

/// How a record ended.
pub(crate) const fn outcome(outcome: ActivityOutcome) -> &'static str {
    match outcome {
        ActivityOutcome::Accepted => "Accepted",
        ActivityOutcome::Refused => "Refused",
        ActivityOutcome::Delivered => "Delivered",
        ActivityOutcome::New => "Reopened",
        ActivityOutcome::Submitted => "Submitted",
        ActivityOutcome::Skipped => "Skipped",
        ActivityOutcome::Failed => "Failed",
    }
}

/// Who decides on a campaign's leads.
pub(crate) const fn mode(mode: CampaignMode) -> &'static str {
    match mode {
        CampaignMode::External => "External",
        CampaignMode::Automatic => "Automatic",
    }
}

/// "US only": who may apply. A word that the marketplace adds later is shown as it is.
pub(crate) fn region(region: &str) -> &str {
    match region {
        "USOnly" => "US only",
        "UKOnly" => "UK only",
        other => other,
    }
}

/// The name of a filter's condition, by its path in the filter.
pub(crate) fn condition(path: &str) -> String {
    let known = match path {
        "hourlyRate" => "Hourly rate",
        "fixedPrice" => "Fixed price",
        "client.minRating" => "Client rating",
        "client.minReviews" => "Client’s reviews",
        "client.minTotalSpent" | "client.maxTotalSpent" => "Client’s spending",
        "client.minHires" | "client.maxHires" => "Client’s hires",
        "client.minHireRate" => "Hire rate",
        "client.minJobsPosted" => "Jobs posted",
        "client.minAvgHourlyRatePaid" | "client.maxAvgHourlyRatePaid" => "Average rate paid",
        "client.minMemberDays" => "Days as a member",
        "vendor.talentTypes" => "Talent",
        "vendor.englishLevels" => "English",
        "vendor.maxJobSuccessScore" => "Job success score",
        "vendor.maxMinimumEarnings" => "Earnings asked for",
        "maxQuestions" => "Questions",
        "maxOpenJobs" => "Other open jobs",
        _ => "",
    };
    if known.is_empty() {
        spelled(path)
    } else {
        known.to_owned()
    }
}

/// "Payment verified" of `client.paymentVerified`: the last names of a path as words.
pub(crate) fn spelled(path: &str) -> String {
    let path = path.trim_start_matches("client.").trim_start_matches("vendor.");
    let mut words = String::with_capacity(path.len() + 4);
    for letter in path.chars() {
        match letter {
            '.' => words.push_str(", "),
            letter if words.is_empty() => words.extend(letter.to_uppercase()),
            letter if letter.is_uppercase() => {
                words.push(' ');
                words.extend(letter.to_lowercase());
            }
            letter => words.push(letter),
        }
    }
    words
}

/// "1 filter", "3 filters".
pub(crate) fn counted(number: impl Given<u64>, one: &str, many: &str) -> String {
    let number = number.value();
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_has_the_unit_that_suits_it() {
        assert_eq!(size(1_u64), "1 byte");
        assert_eq!(size(1_023_u64), "1,023 bytes");
        assert_eq!(size(2_048_u64), "2 kB");
        assert_eq!(size(1_887_437_u64), "1.8 MB");
        assert_eq!(size(25 * 1_048_576_u64), "25.0 MB");
    }

    #[test]
    fn durations_have_three_digits_or_a_larger_unit() {
        let durations = [0, 41, 999, 1_000, 1_940, 9_999, 12_345, 180_000, 7_200_000];
        let worded: Vec<String> = durations.into_iter().map(duration).collect();
        assert_eq!(
            worded,
            [
                "0 ms", "41 ms", "999 ms", "1.00 s", "1.94 s", "9.99 s", "12.3 s", "3 min", "2 h"
            ]
        );
    }

    #[test]
    fn an_age_turns_into_a_date_after_a_week() {
        let at = |millis| Timestamp::from_millis(1_795_334_400_000 + millis);
        let now = at(0);
        let ages = [
            0,
            -59_999,
            -60_000,
            -DAY_MILLIS,
            -2 * DAY_MILLIS,
            -7 * DAY_MILLIS,
            90_000,
        ];
        let worded: Vec<String> = ages.into_iter().map(|age| ago(at(age), now)).collect();
        assert_eq!(
            worded,
            [
                "0 s ago",
                "59 s ago",
                "1 min ago",
                "1 day ago",
                "2 days ago",
                "15 Nov 2026",
                "in 1 min"
            ]
        );
    }

    #[test]
    fn every_condition_of_a_filter_has_a_name() {
        assert_eq!(condition("client.minTotalSpent"), "Client’s spending");
        assert_eq!(condition("client.paymentVerified"), "Payment verified");
        assert_eq!(condition("client.countries.exclude"), "Countries, exclude");
        assert_eq!(condition("keywords"), "Keywords");
    }

    #[test]
    fn amounts_are_grouped_by_thousands() {
        assert_eq!(dollars(123_456_789), "$1,234,567.89");
        assert_eq!(dollars(-5), "-$0.05");
        assert_eq!([count(0), count(999), count(1_000)], ["0", "999", "1,000"]);
    }
}
