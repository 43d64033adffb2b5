//! What the query string asks for, and the addresses that ask for it.

use bidloop_domain::model::{
    ActivityId, ActivityPlace, ActivitySearch, ActorKind, CampaignId, LeadId, OrganizationId, Timestamp,
};
use serde::Deserialize;
use uuid::Uuid;

const HOUR_MILLIS: i64 = 3_600_000;

/// What the query string asks for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ActivityQuery {
    pub(super) kind: String,
    pub(super) outcome: String,
    pub(super) campaign: String,
    /// The kind of an actor, a colon, and its id.
    pub(super) by: String,
    pub(super) period: String,
    pub(super) lead: String,
    /// The place below which the page begins: milliseconds, a dot, the entry.
    pub(super) below: String,
    /// The place of the newest entry that a page shows.
    pub(super) than: String,
    /// The entry that is shown opened.
    pub(super) open: String,
}

/// A period to choose: its word in the address, its words on the page, its hours.
pub(super) const PERIODS: [(&str, &str, Option<i64>); 4] = [
    ("", "All time", None),
    ("24h", "Last 24 hours", Some(24)),
    ("7d", "Last 7 days", Some(7 * 24)),
    ("30d", "Last 30 days", Some(30 * 24)),
];

impl ActivityQuery {
    /// The search. What cannot be read is not looked for, so that an old bookmark still shows something; a lead that is no
    /// id finds nothing.
    pub(super) fn search(
        &self,
        organization: &OrganizationId,
        campaign: Option<&CampaignId>,
        now: Timestamp,
    ) -> ActivitySearch {
        let hours = PERIODS.iter().find(|(word, ..)| *word == self.period);
        let from = hours.and_then(|(_, _, hours)| *hours);
        ActivitySearch {
            campaign_id: campaign
                .cloned()
                .or_else(|| CampaignId::parse(&self.campaign).ok()),
            lead_id: self.lead(),
            kind: self.kind.parse().ok(),
            outcome: self.outcome.parse().ok(),
            actor: actor(&self.by),
            from: from.map(|hours| Timestamp::from_millis(now.as_millis() - hours * HOUR_MILLIS)),
            ..ActivitySearch::of(organization.clone())
        }
    }

    pub(super) fn lead(&self) -> Option<LeadId> {
        LeadId::parse(self.lead.trim()).ok()
    }

    /// Whether the lead that is searched for is no id.
    pub(super) fn has_odd_lead(&self) -> bool {
        !self.lead.trim().is_empty() && self.lead().is_none()
    }

    pub(super) fn is_filtered(&self) -> bool {
        [
            &self.kind,
            &self.outcome,
            &self.campaign,
            &self.by,
            &self.period,
            &self.lead,
        ]
        .into_iter()
        .any(|field| !field.is_empty())
    }

    /// The filter as a query string, with more fields.
    pub(super) fn with(&self, more: &[(&str, &str)]) -> String {
        let filter = [
            ("kind", &self.kind),
            ("outcome", &self.outcome),
            ("campaign", &self.campaign),
            ("by", &self.by),
            ("period", &self.period),
            ("lead", &self.lead),
        ];
        let mut pairs = form_urlencoded::Serializer::new(String::new());
        pairs.extend_pairs(filter.into_iter().filter(|(_, value)| !value.is_empty()));
        pairs.extend_pairs(more);
        format!("?{}", pairs.finish())
    }
}

/// The actor of `user:ops@acme.test`.
fn actor(text: &str) -> Option<(ActorKind, Option<String>)> {
    let (kind, id) = text.split_once(':').unwrap_or((text, ""));
    Some((
        kind.parse().ok()?,
        Some(id.to_owned()).filter(|id| !id.is_empty()),
    ))
}

pub(super) fn written_place(place: ActivityPlace) -> String {
    format!("{}.{}", place.at.as_millis(), place.id)
}

/// The place before everything that is recorded from a moment on.
pub(super) const fn place_at(at: Timestamp) -> ActivityPlace {
    ActivityPlace {
        at,
        id: ActivityId(Uuid::nil()),
    }
}

pub(super) fn place(text: &str) -> Option<ActivityPlace> {
    let (millis, id) = text.split_once('.')?;
    Some(ActivityPlace {
        at: Timestamp::from_millis(millis.parse().ok()?),
        id: ActivityId(id.parse().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_read_as_it_is_written() {
        let entry = ActivityPlace {
            at: Timestamp::from_millis(1_795_334_400_123),
            id: ActivityId("00000000-0000-7000-8000-000000000001".parse().unwrap()),
        };
        assert_eq!(place(&written_place(entry)), Some(entry));
        let now = place_at(entry.at);
        assert!(now < entry && place(&written_place(now)) == Some(now));
        for odd in ["", "1", "x.y", "1.", ".1"] {
            assert_eq!(place(odd), None, "{odd}");
        }
    }

    #[test]
    fn an_actor_is_a_kind_with_an_id_or_alone() {
        assert_eq!(
            actor("user:ops@acme.test"),
            Some((ActorKind::User, Some("ops@acme.test".to_owned())))
        );
        assert_eq!(actor("service"), Some((ActorKind::Service, None)));
        assert_eq!(actor("nobody:1"), None);
    }
}
