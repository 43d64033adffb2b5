//! Queueing an event's deliveries, in the transaction of the command that causes it.

use std::collections::HashMap;

use bidloop_domain::model::{NewEvent, OrganizationId, Timestamp, WebhookEndpoint, receivers};
use diesel::prelude::*;
use diesel_async::RunQueryDsl;

use super::{Conn, insert_deliveries};
use crate::failure::Failure;
use crate::rows::{EndpointRow, NewDeliveryRow};
use crate::schema::webhook_endpoints;

/// Organizations named in one statement.
const ORGANIZATIONS_AT_ONCE: usize = 500;

/// All endpoints of an organization, of both scopes.
pub(super) async fn endpoints_of(
    conn: &mut Conn,
    organization: &OrganizationId,
) -> Result<Vec<WebhookEndpoint>, Failure> {
    let rows: Vec<EndpointRow> = webhook_endpoints::table
        .filter(webhook_endpoints::organization_id.eq(organization.as_str()))
        .select(EndpointRow::as_select())
        .load(conn)
        .await?;
    rows.into_iter().map(EndpointRow::into_endpoint).collect()
}

/// All endpoints of each of some organizations, of both scopes.
pub(super) async fn endpoints_of_each(
    conn: &mut Conn,
    organizations: &[&str],
) -> Result<HashMap<String, Vec<WebhookEndpoint>>, Failure> {
    let mut endpoints: HashMap<String, Vec<WebhookEndpoint>> = HashMap::new();
    for chunk in organizations.chunks(ORGANIZATIONS_AT_ONCE) {
        let rows: Vec<(String, EndpointRow)> = webhook_endpoints::table
            .filter(webhook_endpoints::organization_id.eq_any(chunk.iter().copied()))
            .select((webhook_endpoints::organization_id, EndpointRow::as_select()))
            .load(conn)
            .await?;
        for (organization, row) in rows {
            endpoints
                .entry(organization)
                .or_default()
                .push(row.into_endpoint()?);
        }
    }
    Ok(endpoints)
}

/// Queues one delivery to each receiver of the event (decision C7) and returns how many are new. An event that was
/// queued before is not queued again: its deliveries' ids are the same.
pub(super) async fn queue_event(conn: &mut Conn, event: &NewEvent, at: Timestamp) -> Result<u64, Failure> {
    let endpoints = endpoints_of(conn, &event.organization_id).await?;
    let rows: Vec<NewDeliveryRow> = receivers(&endpoints, &event.campaign_id, event.payload.kind())
        .into_iter()
        .map(|endpoint| NewDeliveryRow::new(event, &endpoint.id, at))
        .collect();
    let queued = insert_deliveries(conn, &rows).await?;
    Ok(queued as u64)
}
