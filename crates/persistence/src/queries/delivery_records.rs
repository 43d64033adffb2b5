//! An endpoint's last deliveries, as people look at them.

use std::collections::HashMap;

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, ActivityId, CampaignId, DeliveryState, EndpointId, Lead, LeadId, LeadWithJob, OrganizationId,
    Timestamp, WebhookEndpoint,
};
use bidloop_domain::port::{DeliveryRecords, RecordedDelivery, StoreError};

use super::deliveries::payload;
use super::prelude::*;
use crate::records::Delivery;

/// A delivery with its state and its end.
type DeliveryRow = (Tried<Delivery>, Attempt<Col<DeliveryState>>, Option<i64>);

/// A campaign's id and name.
type CampaignName = (Attempt<Col<CampaignId>>, Attempt<Col<String>>);

#[async_trait]
impl DeliveryRecords for Store {
    async fn endpoint(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
    ) -> Result<Option<WebhookEndpoint>, StoreError> {
        let (organization, endpoint) = (organization.clone(), endpoint.clone());
        let quarantine = self.quarantine.clone();
        self.read(async move |conn: &mut Conn| {
            let known = webhook_endpoints::table.find((organization.as_str(), endpoint.as_str()));
            Ok(load_records!(conn, &quarantine, WebhookEndpoint, known).pop())
        })
        .await
    }

    async fn of_endpoint(
        &self,
        organization: &OrganizationId,
        endpoint: &EndpointId,
        limit: u32,
    ) -> Result<Vec<RecordedDelivery>, StoreError> {
        let (organization, endpoint) = (organization.clone(), endpoint.clone());
        let quarantine = self.quarantine.clone();
        self.snapshot(async move |conn: &mut Conn| {
            of_endpoint(conn, &quarantine, &organization, &endpoint, i64::from(limit)).await
        })
        .await
    }
}

async fn of_endpoint(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &OrganizationId,
    endpoint: &EndpointId,
    limit: i64,
) -> Result<Vec<RecordedDelivery>, Failure> {
    let rows: Vec<DeliveryRow> = deliveries::table
        .filter(deliveries::organization_id.eq(organization.as_str()))
        .filter(deliveries::endpoint_id.eq(endpoint.as_str()))
        .order((deliveries::created_at.desc(), deliveries::id.desc()))
        .limit(limit)
        .select((
            Tried::<Delivery>::as_select(),
            deliveries::state,
            deliveries::ended_at,
        ))
        .load(conn)
        .await?;
    let mut found = Vec::with_capacity(rows.len());
    for (delivery, state, ended_at) in rows {
        if let (Some(delivery), Ok(Col(state))) = (delivery.or_aside(quarantine), state.0) {
            found.push((delivery, state, ended_at));
        }
    }
    let lead_ids: Vec<&str> = found
        .iter()
        .map(|(delivery, ..)| delivery.lead_id.as_str())
        .collect();
    let leads: Vec<(Tried<Lead>, Attempt<String>)> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .filter(one_of!(leads::id, lead_ids))
        .select((Tried::<Lead>::as_select(), jobs::json))
        .load(conn)
        .await?;
    let leads: HashMap<LeadId, LeadWithJob> = leads
        .into_iter()
        .filter_map(|(lead, job_json)| {
            let (lead, job_json) = (lead.or_aside(quarantine)?, job_json.0.ok()?);
            Some((lead.id.clone(), LeadWithJob { lead, job_json }))
        })
        .collect();
    let campaign_ids: Vec<&str> = found
        .iter()
        .map(|(delivery, ..)| delivery.campaign_id.as_str())
        .collect();
    let names: Vec<CampaignName> = campaigns::table
        .filter(campaigns::organization_id.eq(organization.as_str()))
        .filter(one_of!(campaigns::id, campaign_ids))
        .select((campaigns::id, campaigns::name))
        .load(conn)
        .await?;
    let names: HashMap<CampaignId, String> = names
        .into_iter()
        .filter_map(|(id, name)| Some((id.0.ok()?.0, name.0.ok()?.0)))
        .collect();
    let ends: Vec<String> = found
        .iter()
        .map(|(delivery, ..)| ActivityId::of_delivery(delivery.id).to_string())
        .collect();
    let of_organization = activities::table.filter(activities::organization_id.eq(organization.as_str()));
    let ends = of_organization.filter(one_of!(activities::id, ends));
    let ends = load_records!(conn, quarantine, Activity, ends);
    let mut ends: HashMap<ActivityId, Activity> = ends.into_iter().map(|end| (end.id, end)).collect();
    Ok(found
        .into_iter()
        .filter_map(|(delivery, state, ended_at)| {
            Some(RecordedDelivery {
                payload: payload(&delivery)?,
                is_test: delivery.is_test,
                id: delivery.id,
                campaign_name: names.get(&delivery.campaign_id).cloned(),
                campaign_id: delivery.campaign_id,
                lead: leads.get(&delivery.lead_id).cloned(),
                lead_id: delivery.lead_id,
                state,
                created_at: delivery.created_at,
                ended_at: ended_at.map(Timestamp::from_millis),
                end: ends.remove(&ActivityId::of_delivery(delivery.id)),
            })
        })
        .collect())
}
