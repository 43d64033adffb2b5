//! What pages say of events that a person sent at once (decision E6).

use std::time::Duration;

use bidloop_domain::model::{ActivityId, DeliveryId, Timestamp};
use bidloop_domain::use_case::TryEndpointsError;
use uuid::Uuid;

use crate::page::PageError;
use crate::words;

/// How a try ended, above the content.
#[derive(Debug, Clone)]
pub(crate) struct Told {
    pub(crate) is_good: bool,
    /// "Triggered.", "Test delivered."
    pub(crate) what: &'static str,
    /// The receiver.
    pub(crate) receiver: String,
    /// What it did, as the rest of a sentence that begins with the receiver.
    pub(crate) said: String,
}

impl Told {
    pub(crate) const fn icon(&self) -> &'static str {
        if self.is_good { "check" } else { "x" }
    }
}

/// "answered 200 in 41 ms.", "did not take it: …"
pub(crate) fn said(status: Option<u16>, took: Option<Duration>, fault: Option<&str>) -> String {
    let took = took
        .map(|took| format!(" in {}", words::took(took)))
        .unwrap_or_default();
    match (status, fault) {
        (Some(status), None) => format!("answered {status}{took}."),
        (Some(status), Some(_)) => {
            format!("answered {status}{took}. Anything but 200 is a failure; it is not repeated.")
        }
        (None, Some(fault)) => format!("did not answer: {}. It is not repeated.", reason(fault)),
        (None, None) => format!("took it{took}."),
    }
}

/// A code of a failure in words, as the end of "did not answer: …".
pub(crate) fn reason(code: &str) -> &str {
    match code {
        "invalid_target" => "its address cannot be used",
        "forbidden_target" => "its address is not public",
        "connect_failed" => "no connection",
        "tls_failed" => "TLS failed",
        "timeout" => "no answer in 10 s",
        "protocol_error" => "the connection broke",
        "interrupted" => "the service stopped meanwhile",
        "endpoint_removed" => "the endpoint was paused or removed",
        "corrupt_payload" => "the event could not be written",
        other => other,
    }
}

/// The deliveries that a page's query names, by their entries in the record.
pub(crate) fn named(query: &str) -> impl Iterator<Item = DeliveryId> + '_ {
    let pairs = form_urlencoded::parse(query.as_bytes());
    pairs
        .filter(|(name, _)| name == "tried")
        .filter_map(|(_, id)| Uuid::parse_str(&id).ok())
        .map(DeliveryId)
}

/// As [`named`], as entries of the record.
pub(crate) fn named_entries(query: &str) -> Vec<ActivityId> {
    named(query).map(ActivityId::of_delivery).collect()
}

/// The query that names them.
pub(crate) fn query(tried: impl IntoIterator<Item = DeliveryId>) -> String {
    let mut pairs = form_urlencoded::Serializer::new(String::new());
    for id in tried {
        pairs.append_pair("tried", &id.to_string());
    }
    pairs.finish()
}

/// Why nothing was sent.
pub(crate) fn page_error(error: TryEndpointsError, now: Timestamp) -> PageError {
    PageError::Refused(match error {
        TryEndpointsError::NotAuthorized(why) => return why.into(),
        TryEndpointsError::LeadUnknown | TryEndpointsError::EndpointUnknown => return PageError::NotFound,
        TryEndpointsError::Store(error) => return error.into(),
        TryEndpointsError::LeadNotNew(status) => {
            format!("The lead is {status}. Only a new lead can be triggered. Nothing was sent.")
        }
        TryEndpointsError::NotSubscribed(event) => {
            format!("The endpoint is not subscribed to {event}. Nothing was sent.")
        }
        TryEndpointsError::NoReceiver => {
            "No active endpoint of the campaign or the organization is subscribed to job.new. Nothing was sent."
                .to_owned()
        }
        TryEndpointsError::TooManyReceivers => {
            "More than 100 endpoints would receive the event. Nothing was sent.".to_owned()
        }
        TryEndpointsError::TooManyTries { endpoint, again_at } => {
            let wait = words::ago(again_at, now);
            format!(
                "The endpoint {endpoint} was tried 10 times within a minute. Nothing was sent; try again {wait}."
            )
        }
        TryEndpointsError::NoLead { .. } => "There is no lead to test with yet. Nothing was sent.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_names_the_deliveries_that_were_tried() {
        let ids = [DeliveryId(Uuid::from_u128(1)), DeliveryId(Uuid::from_u128(2))];
        let query = format!("job=a%26b&{}&tried=x", query(ids));
        assert_eq!(named(&query).collect::<Vec<_>>(), ids);
    }

    #[test]
    fn a_try_says_what_the_receiver_answered() {
        let took = Some(Duration::from_millis(41));
        assert_eq!(said(Some(200), took, None), "answered 200 in 41 ms.");
        let refused = said(Some(503), took, Some("503"));
        assert!(
            refused.starts_with("answered 503 in 41 ms. Anything but 200"),
            "{refused}"
        );
        let silent = said(None, took, Some("no answer in 10 s"));
        assert_eq!(silent, "did not answer: no answer in 10 s. It is not repeated.");
    }
}
