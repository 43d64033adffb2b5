//! Entries of the Activity record.

use bidloop_domain::model::{Activity, ActivityId, Actor, CampaignId, LeadId, OrganizationId, Timestamp};
use diesel::prelude::*;
use serde_json::{Map, Value};

use crate::columns::{FreeText, Json, number, read, stored, uuid, word};
use crate::failure::Failure;
use crate::schema::activities;

/// A row of `activities`.
#[derive(Debug, Clone, Insertable, Queryable, Selectable)]
#[diesel(table_name = activities)]
pub(crate) struct ActivityRow {
    organization_id: String,
    id: String,
    at: i64,
    campaign_id: Option<String>,
    lead_id: Option<String>,
    kind: String,
    actor_kind: String,
    actor_id: Option<FreeText>,
    actor_name: Option<FreeText>,
    outcome: String,
    http_status: Option<i64>,
    dry_run: bool,
    message: FreeText,
    details: Json<Map<String, Value>>,
}

impl From<&Activity> for ActivityRow {
    fn from(activity: &Activity) -> Self {
        Self {
            organization_id: activity.organization_id.to_string(),
            id: activity.id.to_string(),
            at: activity.at.as_millis(),
            campaign_id: activity.campaign_id.as_ref().map(ToString::to_string),
            lead_id: activity.lead_id.as_ref().map(ToString::to_string),
            kind: activity.kind.as_str().to_owned(),
            actor_kind: activity.actor.kind.as_str().to_owned(),
            actor_id: activity.actor.id.as_deref().map(FreeText::from),
            actor_name: activity.actor.name.as_deref().map(FreeText::from),
            outcome: activity.outcome.to_string(),
            http_status: activity.http_status.map(stored),
            dry_run: activity.dry_run,
            message: FreeText::from(activity.message.as_str()),
            details: Json(activity.details.clone()),
        }
    }
}

impl ActivityRow {
    pub(crate) fn into_activity(self) -> Result<Activity, Failure> {
        let organization_id = &self.organization_id;
        Ok(Activity {
            id: ActivityId(uuid("activities.id", &self.id)?),
            at: Timestamp::from_millis(self.at),
            organization_id: read(
                "activities.organization_id",
                organization_id,
                OrganizationId::parse(organization_id),
            )?,
            campaign_id: match &self.campaign_id {
                Some(id) => Some(read("activities.campaign_id", id, CampaignId::parse(id))?),
                None => None,
            },
            lead_id: self.lead_id.as_deref().map(LeadId::from_caller),
            kind: word("activities.kind", &self.kind)?,
            actor: Actor {
                kind: word("activities.actor_kind", &self.actor_kind)?,
                id: self.actor_id.map(|id| id.0),
                name: self.actor_name.map(|name| name.0),
            },
            outcome: word("activities.outcome", &self.outcome)?,
            http_status: match self.http_status {
                Some(status) => Some(number("activities.http_status", status)?),
                None => None,
            },
            dry_run: self.dry_run,
            message: self.message.0,
            details: self.details.0,
        })
    }
}
