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

/// When a key or a token was last used, and when it ends or ended.
pub(super) fn use_and_end(
    used: Option<Timestamp>,
    revoked: Option<Timestamp>,
    expires: Option<Timestamp>,
) -> String {
    let used = used.map_or_else(|| "never used".to_owned(), |at| format!("used {}", moment(at)));
    let end = match (revoked, expires) {
        (Some(at), _) => format!("revoked {}", moment(at)),
        (None, Some(at)) => format!("expires {}", moment(at)),
        (None, None) => "no expiry".to_owned(),
    };
    format!("{used}  {end}")
}
