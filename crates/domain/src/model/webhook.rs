//! Webhook endpoints, events and envelopes.

use bytes::Bytes;
use serde::Deserialize;

use super::words::words;
use super::{
    CampaignId, DeliveryId, EndpointId, EventId, LeadId, OrganizationId, Timestamp, TraceParent,
    WebhookSecret,
};

/// The payload version in every envelope (decision C2).
pub const PAYLOAD_VERSION: &str = "2026-09-10";

words! {
    /// The kinds of events (specification, Events).
    pub enum EventKind {
        /// A job matched an active External campaign.
        #[serde(rename = "job.new")]
        #[strum(serialize = "job.new")]
        JobNew,
        /// A bid ended, or was simulated.
        BidComplete,
    }
}

/// A configured receiver of events.
#[derive(Debug, Clone, PartialEq)]
pub struct WebhookEndpoint {
    /// Unique within the organization.
    pub id: EndpointId,
    /// The campaign whose events it receives; `None` for all campaigns of the organization.
    pub campaign_id: Option<CampaignId>,
    /// The address that deliveries are sent to.
    pub url: String,
    /// The events that it subscribes to.
    pub events: Vec<EventKind>,
    /// Whether it receives deliveries.
    pub active: bool,
    /// When it was created. Of two endpoints with the same URL, the older one is used (decision C7).
    pub created_at: Timestamp,
}

/// The endpoints that receive an event (decision C7): the active ones of the campaign and of the organization that
/// subscribe to it, one for each distinct URL. If two have the same URL, the campaign's is used, then the older one,
/// then the one with the smaller id.
///
/// `endpoints` are all of the organization's. The order of the result is not specified.
pub fn receivers<'a>(
    endpoints: &'a [WebhookEndpoint],
    campaign: &CampaignId,
    event: EventKind,
) -> Vec<&'a WebhookEndpoint> {
    let mut candidates: Vec<&WebhookEndpoint> = endpoints
        .iter()
        .filter(|endpoint| endpoint.active && endpoint.events.contains(&event))
        .filter(|endpoint| {
            endpoint
                .campaign_id
                .as_ref()
                .is_none_or(|scope| scope == campaign)
        })
        .collect();
    candidates.sort_by_key(|e| (e.url.clone(), e.campaign_id.is_none(), e.created_at, e.id.clone()));
    candidates.dedup_by(|later, earlier| later.url == earlier.url);
    candidates
}

/// An event. A store command records its deliveries in the transaction that causes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Unique to the occurrence; the deliveries' ids derive from it.
    pub id: EventId,
    /// The organization concerned.
    pub organization_id: OrganizationId,
    /// The campaign concerned.
    pub campaign_id: CampaignId,
    /// The lead concerned.
    pub lead_id: LeadId,
    /// What happened.
    pub payload: EventPayload,
    /// The trace that it belongs to.
    pub trace_parent: Option<TraceParent>,
}

/// The content of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventPayload {
    /// The lead became due. `data` is written at the moment of sending, from the lead and its job.
    JobNew,
    /// A bid ended, or was simulated.
    BidComplete {
        /// Whether the event reports a dry run (decision C1).
        dry_run: bool,
        /// `data`: a JSON object.
        data: String,
    },
}

impl EventPayload {
    /// A `bid_complete` from its stored `data`.
    pub fn stored_bid_complete(data: String) -> Option<Self> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Data {
            dry_run: bool,
        }
        let Data { dry_run } = serde_json::from_str(&data).ok()?;
        Some(Self::BidComplete { dry_run, data })
    }

    /// The event's kind.
    pub const fn kind(&self) -> EventKind {
        match self {
            Self::JobNew => EventKind::JobNew,
            Self::BidComplete { .. } => EventKind::BidComplete,
        }
    }

    /// Whether it reports a dry run.
    pub const fn is_dry_run(&self) -> bool {
        matches!(self, Self::BidComplete { dry_run: true, .. })
    }
}

words! {
    /// A delivery's state (decision C5).
    pub enum DeliveryState {
        /// Not yet tried.
        Pending,
        /// Marked just before its connection is opened. It is never tried again.
        Sending,
        /// Answered 200.
        Delivered,
        /// Not answered 200, or interrupted.
        Failed,
    }
}

/// An endpoint with its secrets, as the sender needs it.
#[derive(Debug, Clone)]
pub struct DeliveryTarget {
    /// The endpoint's id.
    pub endpoint_id: EndpointId,
    /// The address that deliveries are sent to.
    pub url: String,
    /// The secrets that sign: the current one and, during a rotation, the previous one (decision C3).
    pub secrets: Vec<WebhookSecret>,
}

/// Writes the envelope of an event (specification, Events; decision C2).
///
/// `write_data` writes a JSON object of some `data_bytes`, more or less; it is sent as it is written.
///
/// ```
/// use bidloop_domain::model::{DeliveryId, EventKind, Timestamp, envelope};
///
/// let delivery = DeliveryId(uuid::Uuid::nil());
/// let at = Timestamp::from_seconds(1_790_000_000);
/// let data = br#"{"leadId":"ld_1"}"#;
/// let body = envelope(delivery, EventKind::JobNew, at, data.len(), |body| body.extend_from_slice(data));
/// let json: serde_json::Value = serde_json::from_slice(&body)?;
/// assert_eq!(json["event"], "job.new");
/// assert_eq!(json["createdAt"], 1_790_000_000);
/// assert_eq!(json["data"]["leadId"], "ld_1");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn envelope(
    id: DeliveryId,
    event: EventKind,
    created_at: Timestamp,
    data_bytes: usize,
    write_data: impl FnOnce(&mut Vec<u8>),
) -> Bytes {
    let created_at = created_at.as_seconds();
    let head = format!(
        r#"{{"id":"{id}","event":"{event}","version":"{PAYLOAD_VERSION}","createdAt":{created_at},"data":"#
    );
    let mut body = Vec::with_capacity(head.len() + data_bytes + 1);
    body.extend_from_slice(head.as_bytes());
    write_data(&mut body);
    body.push(b'}');
    body.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoint(id: &str, scope: Option<&str>, url: &str, created_at: i64) -> WebhookEndpoint {
        WebhookEndpoint {
            id: EndpointId::parse(id).unwrap(),
            campaign_id: scope.map(|c| CampaignId::parse(c).unwrap()),
            url: url.to_owned(),
            events: vec![EventKind::JobNew],
            active: true,
            created_at: Timestamp::from_millis(created_at),
        }
    }

    #[test]
    fn of_two_endpoints_with_one_url_the_campaigns_is_used_then_the_older() {
        let campaign = CampaignId::parse("camp").unwrap();
        let all = [
            endpoint("org_old", None, "https://a", 1),
            endpoint("camp_new", Some("camp"), "https://a", 9),
            endpoint("org_b_new", None, "https://b", 5),
            endpoint("org_b_old", None, "https://b", 4),
            endpoint("other", Some("elsewhere"), "https://c", 1),
        ];
        let mut ids: Vec<&str> = receivers(&all, &campaign, EventKind::JobNew)
            .iter()
            .map(|e| e.id.as_str())
            .collect();
        ids.sort_unstable();
        assert_eq!(ids, ["camp_new", "org_b_old"]);
    }

    #[test]
    fn inactive_and_unsubscribed_endpoints_get_nothing() {
        let campaign = CampaignId::parse("camp").unwrap();
        let mut inactive = endpoint("a", None, "https://a", 1);
        inactive.active = false;
        let subscribed_to_another = endpoint("b", None, "https://b", 1);
        assert!(receivers(&[inactive], &campaign, EventKind::JobNew).is_empty());
        assert!(receivers(&[subscribed_to_another], &campaign, EventKind::BidComplete).is_empty());
    }
}
