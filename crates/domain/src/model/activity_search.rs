//! Searching an organization's Activity record.

use super::{
    Activity, ActivityId, ActivityKind, ActivityOutcome, ActorKind, CampaignId, LeadId, OrganizationId,
    Timestamp,
};

/// Which entries of an organization's record. All that is set must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActivitySearch {
    /// The organization.
    pub organization_id: OrganizationId,
    /// Only this campaign's entries.
    pub campaign_id: Option<CampaignId>,
    /// Only this lead's entries.
    pub lead_id: Option<LeadId>,
    /// Only entries of this kind.
    pub kind: Option<ActivityKind>,
    /// Only entries that ended so.
    pub outcome: Option<ActivityOutcome>,
    /// Only what this key, person, command or the service did.
    pub actor: Option<(ActorKind, Option<String>)>,
    /// Only entries at or after this moment.
    pub from: Option<Timestamp>,
    /// Only entries before this moment.
    pub to: Option<Timestamp>,
}

/// An entry's place in the record, which is in the order of time, then of ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ActivityPlace {
    /// When it happened.
    pub at: Timestamp,
    /// The entry.
    pub id: ActivityId,
}

impl ActivityPlace {
    /// The entry's place.
    pub const fn of(entry: &Activity) -> Self {
        Self {
            at: entry.at,
            id: entry.id,
        }
    }
}

/// A part of what a search finds.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundActivities {
    /// Newest first.
    pub entries: Vec<Activity>,
    /// The place below which the search goes on; `None` at the end. It may be set although fewer entries than asked for
    /// were found: one step looks at a bounded number of entries.
    pub below: Option<ActivityPlace>,
}

impl ActivitySearch {
    /// All entries of an organization.
    pub const fn of(organization_id: OrganizationId) -> Self {
        Self {
            organization_id,
            campaign_id: None,
            lead_id: None,
            kind: None,
            outcome: None,
            actor: None,
            from: None,
            to: None,
        }
    }

    /// Whether the search finds the entry.
    pub fn finds(&self, entry: &Activity) -> bool {
        let actor =
            |(kind, id): &(ActorKind, Option<String>)| *kind == entry.actor.kind && *id == entry.actor.id;
        entry.organization_id == self.organization_id
            && (self.campaign_id.is_none() || self.campaign_id == entry.campaign_id)
            && (self.lead_id.is_none() || self.lead_id == entry.lead_id)
            && self.kind.is_none_or(|kind| kind == entry.kind)
            && self.outcome.is_none_or(|outcome| outcome == entry.outcome)
            && self.actor.as_ref().is_none_or(actor)
            && self.from.is_none_or(|from| from <= entry.at)
            && self.to.is_none_or(|to| entry.at < to)
    }
}
