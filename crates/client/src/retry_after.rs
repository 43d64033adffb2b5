//! The `Retry-After` header: seconds, or a date.

use std::time::{Duration, SystemTime};

use http::HeaderMap;
use http::header::{DATE, RETRY_AFTER};

/// The time that the answer asks to wait; `None` without a valid header. A date counts from the answer's own `Date`, so that
/// the two clocks may differ.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // Only a number that is too large does not parse.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let until = httpdate::parse_http_date(value).ok()?;
    let answered_at: SystemTime = httpdate::parse_http_date(headers.get(DATE)?.to_str().ok()?).ok()?;
    Some(until.duration_since(answered_at).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn seconds(value: &'static str, date: Option<&'static str>) -> Option<u64> {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static(value));
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        retry_after(&headers).map(|wait| wait.as_secs())
    }

    #[test]
    fn seconds_are_taken_as_they_are() {
        assert_eq!(seconds("0", None), Some(0));
        assert_eq!(seconds(" 120 ", None), Some(120));
        assert_eq!(seconds("99999999999999999999999", None), Some(u64::MAX));
    }

    #[test]
    fn a_date_counts_from_the_answers_own_date() {
        let date = Some("Sun, 06 Nov 1994 08:49:27 GMT");
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT", date), Some(10));
        assert_eq!(
            seconds("Sun, 06 Nov 1994 08:49:07 GMT", date),
            Some(0),
            "it has passed"
        );
        assert_eq!(seconds("Sun, 06 Nov 1994 08:49:37 GMT", None), None);
    }

    #[test]
    fn any_other_value_is_ignored() {
        for value in ["", "-5", "1.5", "soon"] {
            assert_eq!(
                seconds(value, Some("Sun, 06 Nov 1994 08:49:27 GMT")),
                None,
                "{value}"
            );
        }
        assert_eq!(retry_after(&HeaderMap::new()), None);
    }
}
