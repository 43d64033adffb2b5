//! Times as people read them.

use bidloop_domain::model::Timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// The moment in RFC 3339, in UTC.
pub(super) fn moment(at: Timestamp) -> String {
    let nanos = i128::from(at.as_millis()) * 1_000_000;
    let formatted = OffsetDateTime::from_unix_timestamp_nanos(nanos)
        .ok()
        .and_then(|at| at.format(&Rfc3339).ok());
    formatted.unwrap_or_else(|| at.as_millis().to_string())
}
