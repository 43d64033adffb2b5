//! Webhook deliveries: marked before they are sent, ended once (decision C5).

use std::collections::{BTreeMap, HashMap};

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, DeliveryId, DeliveryState, EndpointId, LeadWithJob, OrganizationId, Timestamp,
};
use bidloop_domain::port::{
    ClaimedDelivery, DeliveryFacts, DeliveryOutcome, DeliveryStore, LeaseOwner, PendingDelivery, StoreError,
};
use diesel::dsl::{not, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;

use super::activities::insert_activity;
use super::{Conn, Store};
use crate::columns::FreeText;
use crate::failure::Failure;
use crate::rows::{DeliveryRow, LeadRow, PendingDeliveryRow, TargetRow};
use crate::schema::{campaigns, deliveries, jobs, leads, webhook_endpoints};

/// How many deliveries a crash left behind are failed in one transaction.
const SWEPT_AT_ONCE: i64 = 200;

#[async_trait]
impl DeliveryStore for Store {
    async fn pending(
        &self,
        busy: &[(OrganizationId, EndpointId)],
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let busy = busy.to_vec();
        self.read(async move |conn: &mut Conn| pending(conn, busy, per_endpoint, limit).await)
            .await
    }

    async fn claim(
        &self,
        deliveries: &[PendingDelivery],
        owner: &LeaseOwner,
        now: Timestamp,
        deadline: Timestamp,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let (deliveries, owner) = (deliveries.to_vec(), owner.clone());
        self.write(async move |conn: &mut Conn| claim(conn, &deliveries, &owner, now, deadline).await)
            .await
    }

    async fn finish(
        &self,
        organization: &OrganizationId,
        delivery: DeliveryId,
        outcome: &DeliveryOutcome,
        owner: &LeaseOwner,
        activity: &Activity,
    ) -> Result<bool, StoreError> {
        let key = (organization.to_string(), delivery.to_string());
        let (outcome, owner, activity) = (outcome.clone(), owner.clone(), activity.clone());
        self.write(async move |conn: &mut Conn| finish(conn, &key, &outcome, &owner, &activity).await)
            .await
    }

    async fn interrupt_overdue(&self, now: Timestamp) -> Result<u64, StoreError> {
        let overdue = self
            .read(async move |conn: &mut Conn| overdue_count(conn, now).await)
            .await?;
        let mut interrupted = 0;
        // In short transactions, and without one where there is nothing to do.
        while interrupted < overdue {
            let swept = self
                .write(async move |conn: &mut Conn| sweep(conn, now).await)
                .await?;
            if swept == 0 {
                break;
            }
            interrupted += swept;
        }
        Ok(interrupted)
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| {
            let count: i64 = deliveries::table
                .filter(sql::<Bool>("deliveries.state = 'pending'"))
                .count()
                .get_result(conn)
                .await?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
        .await
    }
}

/// The oldest first. An endpoint that has its share is left out of the next look, so that a long queue before one
/// endpoint hides no other.
async fn pending(
    conn: &mut Conn,
    mut full: Vec<(OrganizationId, EndpointId)>,
    per_endpoint: u32,
    limit: u32,
) -> Result<Vec<PendingDelivery>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut chosen: Vec<PendingDelivery> = Vec::new();
    let mut shares: HashMap<(OrganizationId, EndpointId), u32> = HashMap::new();
    while chosen.len() < limit {
        let mut query = deliveries::table
            .filter(sql::<Bool>("deliveries.state = 'pending'"))
            .select(PendingDeliveryRow::as_select())
            .order((
                deliveries::created_at,
                deliveries::organization_id,
                deliveries::id,
            ))
            .limit(i64::try_from(limit).unwrap_or(i64::MAX))
            .into_boxed();
        for (organization, endpoint) in &full {
            let this_one = deliveries::organization_id
                .eq(organization.as_str().to_owned())
                .and(deliveries::endpoint_id.eq(endpoint.as_str().to_owned()));
            query = query.filter(not(this_one));
        }
        let rows: Vec<PendingDeliveryRow> = query.load(conn).await?;
        let complete = rows.len() < limit;
        let known = full.len();
        for row in rows {
            let delivery = row.into_pending()?;
            let endpoint = (delivery.organization_id.clone(), delivery.endpoint_id.clone());
            let share = shares.entry(endpoint.clone()).or_default();
            // Seen before, in a look that another endpoint filled.
            if chosen.iter().any(|earlier| earlier.id == delivery.id) {
                continue;
            }
            if *share < per_endpoint && chosen.len() < limit {
                *share += 1;
                chosen.push(delivery);
            }
            if *share >= per_endpoint && !full.contains(&endpoint) {
                full.push(endpoint);
            }
        }
        if complete || full.len() == known {
            break;
        }
    }
    Ok(chosen)
}

async fn claim(
    conn: &mut Conn,
    asked: &[PendingDelivery],
    owner: &LeaseOwner,
    now: Timestamp,
    deadline: Timestamp,
) -> Result<Vec<ClaimedDelivery>, Failure> {
    let mut by_organization: BTreeMap<&OrganizationId, Vec<String>> = BTreeMap::new();
    for delivery in asked {
        by_organization
            .entry(&delivery.organization_id)
            .or_default()
            .push(delivery.id.to_string());
    }
    let mut claimed = Vec::with_capacity(asked.len());
    for (organization, ids) in by_organization {
        let waiting = deliveries::table
            .filter(deliveries::organization_id.eq(organization.as_str()))
            .filter(deliveries::id.eq_any(&ids))
            .filter(deliveries::state.eq(DeliveryState::Pending.as_str()))
            .order(deliveries::id)
            .select(DeliveryRow::as_select());
        let waiting: Vec<DeliveryRow> = for_update!(waiting).load(conn).await?;
        let surroundings = Surroundings::load(conn, organization, &waiting).await?;
        let mut sending: Vec<&str> = Vec::with_capacity(waiting.len());
        for row in &waiting {
            let target = surroundings.targets.get(&row.endpoint_id);
            if let Some(target) = target.filter(|target| target.active) {
                claimed.push(surroundings.claimed(row, target, now)?);
                sending.push(&row.id);
            } else {
                let url = surroundings.url(row);
                fail(conn, row, &DeliveryOutcome::EndpointRemoved, url, now).await?;
            }
        }
        diesel::update(deliveries::table)
            .filter(deliveries::organization_id.eq(organization.as_str()))
            .filter(deliveries::id.eq_any(sending))
            .set((
                deliveries::state.eq(DeliveryState::Sending.as_str()),
                deliveries::owner.eq(owner.as_str()),
                deliveries::owner_until.eq(deadline.as_millis()),
            ))
            .execute(conn)
            .await?;
    }
    claimed.sort_by_key(|delivery: &ClaimedDelivery| {
        asked
            .iter()
            .position(|one| one.id == delivery.id && one.organization_id == delivery.organization_id)
    });
    Ok(claimed)
}

/// What deliveries of one organization refer to.
struct Surroundings {
    targets: HashMap<String, TargetRow>,
    campaign_names: HashMap<String, String>,
    leads: HashMap<String, (LeadRow, String)>,
}

impl Surroundings {
    async fn load(
        conn: &mut Conn,
        organization: &OrganizationId,
        rows: &[DeliveryRow],
    ) -> Result<Self, Failure> {
        let endpoint_ids: Vec<&str> = rows.iter().map(|row| row.endpoint_id.as_str()).collect();
        let targets: Vec<TargetRow> = webhook_endpoints::table
            .filter(webhook_endpoints::organization_id.eq(organization.as_str()))
            .filter(webhook_endpoints::id.eq_any(endpoint_ids))
            .select(TargetRow::as_select())
            .load(conn)
            .await?;
        let campaign_ids: Vec<&str> = rows.iter().map(|row| row.campaign_id.as_str()).collect();
        let names: Vec<(String, FreeText)> = campaigns::table
            .filter(campaigns::organization_id.eq(organization.as_str()))
            .filter(campaigns::id.eq_any(campaign_ids))
            .select((campaigns::id, campaigns::name))
            .load(conn)
            .await?;
        // Only a job.new is written from its lead.
        let lead_ids: Vec<&str> = rows
            .iter()
            .filter(|row| row.data.is_none())
            .map(|row| row.lead_id.as_str())
            .collect();
        let found: Vec<(LeadRow, String)> = leads::table
            .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
            .filter(leads::organization_id.eq(organization.as_str()))
            .filter(leads::id.eq_any(lead_ids))
            .select((LeadRow::as_select(), jobs::json))
            .load(conn)
            .await?;
        Ok(Self {
            targets: targets
                .into_iter()
                .map(|target| (target.id.clone(), target))
                .collect(),
            campaign_names: names.into_iter().map(|(id, name)| (id, name.0)).collect(),
            leads: found
                .into_iter()
                .map(|(lead, json)| (lead.id.clone(), (lead, json)))
                .collect(),
        })
    }

    fn url(&self, row: &DeliveryRow) -> &str {
        self.targets
            .get(&row.endpoint_id)
            .map_or("", |target| &target.url.0)
    }

    fn claimed(
        &self,
        row: &DeliveryRow,
        target: &TargetRow,
        now: Timestamp,
    ) -> Result<ClaimedDelivery, Failure> {
        let lead = match self.leads.get(&row.lead_id) {
            Some((lead, json)) => Some(LeadWithJob {
                lead: lead.clone().into_lead()?,
                job_json: json.clone(),
            }),
            None => None,
        };
        Ok(ClaimedDelivery {
            organization_id: row.organization()?,
            id: row.delivery()?,
            campaign_id: row.campaign()?,
            lead_id: row.lead(),
            campaign_name: self.campaign_names.get(&row.campaign_id).cloned(),
            target: target.target(now)?,
            payload: row.payload()?,
            created_at: row.created_at(),
            lead,
        })
    }
}

async fn finish(
    conn: &mut Conn,
    (organization, id): &(String, String),
    outcome: &DeliveryOutcome,
    owner: &LeaseOwner,
    activity: &Activity,
) -> Result<bool, Failure> {
    let state = if outcome.is_delivered() {
        DeliveryState::Delivered
    } else {
        DeliveryState::Failed
    };
    let ended = diesel::update(deliveries::table.find((organization, id)))
        .filter(deliveries::state.eq(DeliveryState::Sending.as_str()))
        .filter(deliveries::owner.eq(owner.as_str()))
        .set((
            deliveries::state.eq(state.as_str()),
            deliveries::reason.eq(outcome.reason()),
            deliveries::ended_at.eq(activity.at.as_millis()),
        ))
        .execute(conn)
        .await?;
    if ended == 0 {
        return Ok(false);
    }
    insert_activity(conn, activity).await?;
    Ok(true)
}

/// Ends a delivery that was not sent or not answered, with its Activity.
async fn fail(
    conn: &mut Conn,
    row: &DeliveryRow,
    outcome: &DeliveryOutcome,
    url: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    let facts = DeliveryFacts {
        organization_id: &row.organization()?,
        campaign_id: &row.campaign()?,
        lead_id: &row.lead(),
        id: row.delivery()?,
        event: row.event()?,
        dry_run: row.payload().is_ok_and(|payload| payload.is_dry_run()),
        endpoint_id: &row.endpoint()?,
        url,
    };
    let activity = facts.activity(outcome, now);
    diesel::update(deliveries::table.find((row.organization_id.as_str(), row.id.as_str())))
        .set((
            deliveries::state.eq(DeliveryState::Failed.as_str()),
            deliveries::reason.eq(outcome.reason()),
            deliveries::ended_at.eq(now.as_millis()),
        ))
        .execute(conn)
        .await?;
    insert_activity(conn, &activity).await
}

async fn overdue_count(conn: &mut Conn, now: Timestamp) -> Result<u64, Failure> {
    let count: i64 = deliveries::table
        .filter(sql::<Bool>("deliveries.state = 'sending'"))
        .filter(deliveries::owner_until.lt(now.as_millis()))
        .count()
        .get_result(conn)
        .await?;
    Ok(u64::try_from(count).unwrap_or(0))
}

/// Fails some of what is marked as sending beyond its deadline.
async fn sweep(conn: &mut Conn, now: Timestamp) -> Result<u64, Failure> {
    let overdue = deliveries::table
        .filter(sql::<Bool>("deliveries.state = 'sending'"))
        .filter(deliveries::owner_until.lt(now.as_millis()))
        .order((deliveries::organization_id, deliveries::id))
        .limit(SWEPT_AT_ONCE)
        .select(DeliveryRow::as_select());
    let overdue: Vec<DeliveryRow> = for_update!(overdue).load(conn).await?;
    for row in &overdue {
        let url: Option<FreeText> = webhook_endpoints::table
            .find((row.organization_id.as_str(), row.endpoint_id.as_str()))
            .select(webhook_endpoints::url)
            .first(conn)
            .await
            .optional()?;
        let url = url.as_ref().map_or("", |url| &url.0);
        fail(conn, row, &DeliveryOutcome::Interrupted, url, now).await?;
    }
    Ok(overdue.len() as u64)
}
