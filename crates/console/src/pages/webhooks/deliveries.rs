//! The last deliveries of one endpoint, of which one can be opened.

use std::time::Duration;

use bidloop_domain::model::{CampaignId, DeliveryId, DeliveryState, Timestamp};
use bidloop_domain::use_case::ShownDelivery;
use serde_json::Value;

use crate::tries::{self, Told};
use crate::words;

/// The most characters of a body that a page shows.
const SHOWN_CHARS: usize = 8_000;

/// A row.
pub(crate) struct Row {
    pub(crate) at: Timestamp,
    pub(crate) event: &'static str,
    pub(crate) is_test: bool,
    /// The lead's page, and the job's title.
    pub(crate) href: String,
    pub(crate) title: String,
    /// Whether it was taken; `None` while it is not known.
    pub(crate) is_good: Option<bool>,
    pub(crate) answer: String,
    pub(crate) took: String,
    /// The address of the page with this row opened, or closed.
    pub(crate) toggle: String,
    pub(crate) opened: Option<Opened>,
}

/// What an opened row shows.
pub(crate) struct Opened {
    pub(crate) url: String,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The body, for reading; `None` if it cannot be written any more.
    pub(crate) body: Option<String>,
    /// Whether the body is written from the lead as it is now.
    pub(crate) is_rewritten: bool,
    /// What the receiver said, as a sentence.
    pub(crate) said: String,
    pub(crate) answer: String,
}

/// The facts of a delivery's end.
struct End {
    status: Option<u16>,
    took: Option<Duration>,
    reason: Option<String>,
    url: String,
    body: String,
}

impl End {
    fn of(delivery: &ShownDelivery) -> Option<Self> {
        let details = &delivery.end.as_ref()?.details;
        let text = |name: &str| details.get(name).and_then(Value::as_str).map(str::to_owned);
        let number = |name: &str| details.get(name).and_then(Value::as_u64);
        Some(Self {
            status: number("responseStatus").and_then(|status| status.try_into().ok()),
            took: number("durationMs").map(Duration::from_millis),
            reason: text("reason"),
            url: text("url").unwrap_or_default(),
            body: text("responseBody").unwrap_or_default(),
        })
    }

    fn said(&self) -> String {
        tries::said(self.status, self.took, self.reason.as_deref())
    }
}

/// What the test ended with that the address names.
pub(crate) fn told(deliveries: &[ShownDelivery], tried: DeliveryId) -> Option<Told> {
    let delivery = deliveries.iter().find(|known| known.id == tried)?;
    let end = End::of(delivery)?;
    let is_good = delivery.state == DeliveryState::Delivered;
    let built_from = delivery
        .title
        .as_ref()
        .map(|title| format!(" Built from “{title}”."));
    Some(Told {
        is_good,
        what: if is_good {
            "Test delivered."
        } else {
            "Test not delivered."
        },
        said: format!("{}{}", end.said(), built_from.unwrap_or_default()),
        receiver: end.url,
    })
}

/// The rows. `path` is the page's, with the endpoint; a campaign's page shows its own deliveries only.
pub(crate) fn rows(
    deliveries: Vec<ShownDelivery>,
    only: Option<&CampaignId>,
    open: Option<DeliveryId>,
    path: &str,
) -> Vec<Row> {
    deliveries
        .into_iter()
        .filter(|delivery| only.is_none_or(|campaign| delivery.campaign_id == *campaign))
        .map(|delivery| row(delivery, open, path))
        .collect()
}

fn row(delivery: ShownDelivery, open: Option<DeliveryId>, path: &str) -> Row {
    let end = End::of(&delivery);
    let is_open = open == Some(delivery.id);
    let is_good = match delivery.state {
        DeliveryState::Delivered => Some(true),
        DeliveryState::Failed => Some(false),
        DeliveryState::Pending | DeliveryState::Sending => None,
    };
    let answer = match (&end, delivery.state) {
        (_, DeliveryState::Pending) => "waiting".to_owned(),
        (_, DeliveryState::Sending) => "being sent".to_owned(),
        (
            Some(End {
                status: Some(status), ..
            }),
            _,
        ) => status.to_string(),
        (
            Some(End {
                reason: Some(code), ..
            }),
            _,
        ) => tries::reason(code).to_owned(),
        // Its entry was pruned.
        (_, DeliveryState::Delivered) => "200".to_owned(),
        (_, DeliveryState::Failed) => "failed".to_owned(),
    };
    let took = end.as_ref().and_then(|end| end.took);
    Row {
        at: delivery.created_at,
        event: delivery.event.as_str(),
        is_test: delivery.is_test,
        href: format!("/campaigns/{}/leads/{}", delivery.campaign_id, delivery.lead_id),
        title: delivery
            .title
            .clone()
            .unwrap_or_else(|| delivery.lead_id.to_string()),
        is_good,
        answer,
        took: took.map(words::took).unwrap_or_default(),
        toggle: if is_open {
            path.to_owned()
        } else {
            format!("{path}&open={}", delivery.id)
        },
        opened: is_open.then(|| opened(delivery, end)),
    }
}

fn opened(delivery: ShownDelivery, end: Option<End>) -> Opened {
    let body = delivery.body.map(|body| {
        let value: Result<Value, _> = serde_json::from_str(&body);
        let pretty = value.and_then(|value| serde_json::to_string_pretty(&value));
        shortened(&pretty.unwrap_or(body))
    });
    Opened {
        is_rewritten: delivery.event == bidloop_domain::model::EventKind::JobNew,
        headers: delivery.headers,
        body,
        said: end.as_ref().map(End::said).unwrap_or_default(),
        answer: end.as_ref().map(|end| end.body.clone()).unwrap_or_default(),
        url: end.map(|end| end.url).unwrap_or_default(),
    }
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
