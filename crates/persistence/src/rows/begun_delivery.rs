//! Webhook deliveries on their way out, and the endpoints they go to.

use bidloop_domain::model::{
    CampaignId, DeliveryId, DeliveryTarget, EndpointId, EventKind, EventPayload, LeadId, OrganizationId,
    Timestamp, WebhookSecret,
};
use bidloop_domain::port::PendingDelivery;
use diesel::prelude::*;

use crate::columns::{FreeText, read, uuid, word};
use crate::failure::Failure;
use crate::schema::{deliveries, webhook_endpoints};

/// What identifies a delivery and its receiver.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct PendingDeliveryRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    pub(crate) endpoint_id: String,
}

impl PendingDeliveryRow {
    pub(crate) fn into_pending(self) -> Result<PendingDelivery, Failure> {
        Ok(PendingDelivery {
            organization_id: organization(&self.organization_id)?,
            id: DeliveryId(uuid("deliveries.id", &self.id)?),
            endpoint_id: endpoint(&self.endpoint_id)?,
        })
    }
}

/// A delivery with all that sending or ending it needs.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = deliveries)]
pub(crate) struct DeliveryRow {
    pub(crate) organization_id: String,
    pub(crate) id: String,
    pub(crate) endpoint_id: String,
    pub(crate) campaign_id: String,
    pub(crate) lead_id: String,
    pub(crate) event: String,
    pub(crate) data: Option<String>,
    pub(crate) created_at: i64,
}

impl DeliveryRow {
    pub(crate) fn organization(&self) -> Result<OrganizationId, Failure> {
        organization(&self.organization_id)
    }

    pub(crate) fn delivery(&self) -> Result<DeliveryId, Failure> {
        Ok(DeliveryId(uuid("deliveries.id", &self.id)?))
    }

    pub(crate) fn endpoint(&self) -> Result<EndpointId, Failure> {
        endpoint(&self.endpoint_id)
    }

    pub(crate) fn campaign(&self) -> Result<CampaignId, Failure> {
        read(
            "deliveries.campaign_id",
            &self.campaign_id,
            CampaignId::parse(&self.campaign_id),
        )
    }

    pub(crate) fn lead(&self) -> LeadId {
        LeadId::from_caller(&self.lead_id)
    }

    pub(crate) fn event(&self) -> Result<EventKind, Failure> {
        word("deliveries.event", &self.event)
    }

    pub(crate) fn payload(&self) -> Result<EventPayload, Failure> {
        Ok(match (self.event()?, &self.data) {
            (EventKind::JobNew, _) => EventPayload::JobNew,
            (EventKind::BidComplete, Some(data)) => EventPayload::stored_bid_complete(data.clone()),
            (EventKind::BidComplete, None) => {
                return Err(Failure::Corrupt(format!("delivery {} has no data", self.id)));
            }
        })
    }

    pub(crate) fn created_at(&self) -> Timestamp {
        Timestamp::from_millis(self.created_at)
    }
}

/// An endpoint as the sender needs it.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = webhook_endpoints)]
pub(crate) struct TargetRow {
    pub(crate) id: String,
    pub(crate) url: FreeText,
    pub(crate) active: bool,
    secret: String,
    previous_secret: Option<String>,
    previous_secret_until: Option<i64>,
}

impl TargetRow {
    /// With the secrets that sign at `now`: during a rotation both (decision C3).
    pub(crate) fn target(&self, now: Timestamp) -> Result<DeliveryTarget, Failure> {
        let secret = |text: &str| {
            WebhookSecret::parse(text)
                .map_err(|_| Failure::Corrupt(format!("the secret of webhook endpoint {}", self.id)))
        };
        let mut secrets = vec![secret(&self.secret)?];
        if let (Some(previous), Some(until)) = (&self.previous_secret, self.previous_secret_until)
            && now.as_millis() < until
        {
            secrets.push(secret(previous)?);
        }
        Ok(DeliveryTarget {
            endpoint_id: endpoint(&self.id)?,
            url: self.url.0.clone(),
            secrets,
        })
    }
}

fn organization(id: &str) -> Result<OrganizationId, Failure> {
    read("organization_id", id, OrganizationId::parse(id))
}

fn endpoint(id: &str) -> Result<EndpointId, Failure> {
    read("endpoint_id", id, EndpointId::parse(id))
}
