//! The `Retry-After` header: seconds, or a date.

use std::time::{Duration, UNIX_EPOCH};

use bidloop_domain::model::Timestamp;
use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// The longest wait that is accepted, so that one wrong answer cannot stop all calls for ever.
const LONGEST: Duration = Duration::from_secs(24 * 60 * 60);

/// The time that the answer asks to wait; `None` without a valid header.
///
/// A date is compared with the `Date` of the answer, so that the two clocks may differ, and with `now` without one.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a number that is too large does not parse.
        Duration::from_secs(value.parse().unwrap_or(u64::MAX))
    } else {
        let until = httpdate::parse_http_date(value).ok()?;
        let answered_at = headers
            .get(DATE)
            .and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok())
            .unwrap_or_else(|| UNIX_EPOCH + now.since(Timestamp::from_millis(0)));
        until.duration_since(answered_at).unwrap_or_default()
    };
    Some(wait.min(LONGEST))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    /// 1994-11-06 08:49:07 GMT
    const NOW: Timestamp = Timestamp::from_seconds(784_111_747);

    fn wait(retry_after_value: &str, date: Option<&'static str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_str(retry_after_value).unwrap());
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        retry_after(&headers, NOW).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_taken_as_they_are_up_to_a_day() {
        assert_eq!(wait("0", None), Some(0));
        assert_eq!(wait(" 120 ", None), Some(120));
        assert_eq!(wait("86401", None), Some(86_400));
        assert_eq!(wait("99999999999999999999999999", None), Some(86_400));
    }

    #[test]
    fn a_date_in_any_of_the_three_forms_counts_from_now() {
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT", None), Some(30));
        assert_eq!(wait("Sunday, 06-Nov-94 08:49:37 GMT", None), Some(30));
        assert_eq!(wait("Sun Nov  6 08:49:37 1994", None), Some(30));
        assert_eq!(
            wait("Sun, 06 Nov 1994 08:49:00 GMT", None),
            Some(0),
            "it has passed"
        );
    }

    #[test]
    fn a_date_is_measured_by_the_answerers_own_clock_where_it_tells_it() {
        let date = Some("Sun, 06 Nov 1994 08:49:27 GMT");
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT", date), Some(10));
        assert_eq!(wait("Sun, 06 Nov 1994 08:49:37 GMT", Some("yesterday")), Some(30));
    }

    #[test]
    fn any_other_value_is_ignored() {
        for value in ["", "-5", "1.5", "soon", "2026-11-20T10:00:00Z"] {
            assert_eq!(wait(value, None), None, "{value}");
        }
        assert_eq!(retry_after(&HeaderMap::new(), NOW), None);
    }
}
