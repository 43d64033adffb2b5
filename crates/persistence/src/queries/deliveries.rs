//! Webhook deliveries: marked before they are sent, ended once (decision C5).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::{
    Activity, Authorization, CampaignId, DeliveryId, DeliveryState, DeliveryTarget, EndpointId, EventKind,
    EventPayload, Lead, LeadId, LeadWithJob, OrganizationId, Tally, Timestamp, readable_job,
};
use bidloop_domain::port::{
    BeginTry, ClaimedDelivery, Clock, DeliveryFacts, DeliveryOutcome, DeliveryStore, LeaseOwner, NewTry,
    PendingDelivery, StoreError, TriedReceivers,
};
use diesel::dsl::{auto_type, not, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::Bool;

use super::activities::insert_activity;
use super::delivery_tries::{Try, begin_try};
use super::prelude::*;
use super::statistics::{add_up, note_delivered, posted_at};
use crate::records::{Delivery, Endpoint};
use crate::sealing::Sealer;

/// The tables' names in the quarantine.
const DELIVERIES: &str = "deliveries";
const ENDPOINTS: &str = "webhook_endpoints";

/// How many interrupted deliveries one transaction ends.
const SWEPT_AT_ONCE: i64 = 200;

#[async_trait]
impl DeliveryStore for Store {
    async fn pending(
        &self,
        busy: &[(OrganizationId, EndpointId)],
        per_endpoint: u32,
        limit: u32,
    ) -> Result<Vec<PendingDelivery>, StoreError> {
        let (busy, quarantine) = (busy.to_vec(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| pending(conn, &quarantine, busy, per_endpoint, limit).await)
            .await
    }

    async fn claim(
        &self,
        deliveries: &[PendingDelivery],
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<Vec<ClaimedDelivery>, StoreError> {
        let (deliveries, owner, clock) = (deliveries.to_vec(), owner.clone(), clock.clone());
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        self.write(async move |conn: &mut Conn| {
            claim(conn, &quarantine, &sealer, &deliveries, &owner, &*clock, lasts).await
        })
        .await
    }

    async fn begin_try(
        &self,
        authorization: &Authorization,
        wanted: NewTry<'_>,
        owner: &LeaseOwner,
        clock: &Arc<dyn Clock>,
        lasts: Duration,
    ) -> Result<BeginTry, StoreError> {
        let begun = Try {
            authorization: authorization.clone(),
            event: wanted.event.clone(),
            job: wanted.job.clone(),
            only: match wanted.to {
                TriedReceivers::All => None,
                TriedReceivers::One(endpoint) => Some(endpoint.clone()),
            },
            by: wanted.by.clone(),
            owner: owner.clone(),
            lasts,
        };
        let clock = clock.clone();
        let (quarantine, sealer) = (self.quarantine.clone(), self.sealer.clone());
        self.write(async move |conn: &mut Conn| begin_try(conn, &quarantine, &sealer, &begun, &*clock).await)
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
        let (organization, delivery) = (organization.to_string(), delivery.to_string());
        let (outcome, owner, activity) = (outcome.clone(), owner.clone(), activity.clone());
        self.write(async move |conn: &mut Conn| {
            let key = (organization.as_str(), delivery.as_str());
            let ended: Option<Tried<Delivery>> = diesel::update(deliveries::table.find(key))
                .filter(deliveries::state.eq(DeliveryState::Sending.as_str()))
                .filter(deliveries::owner.eq(owner.as_str()))
                .set(ended(&outcome, activity.at))
                .returning(Tried::<Delivery>::as_returning())
                .get_result(conn)
                .await
                .optional()?;
            let Some(Tried(delivery)) = ended else {
                return Ok(false);
            };
            insert_activity(conn, &activity).await?;
            // One that cannot be read has an end, too.
            if let Ok(delivery) = delivery {
                count_end(conn, &delivery, &outcome, activity.at).await?;
            }
            Ok(true)
        })
        .await
    }

    async fn interrupt_overdue(&self, now: Timestamp) -> Result<u64, StoreError> {
        let overdue: u64 = self
            .read(async move |conn: &mut Conn| count!(conn, overdue(now.as_millis())))
            .await?;
        let mut interrupted = 0;
        // In short transactions, and without one if there is nothing to do.
        while interrupted < overdue {
            let quarantine = self.quarantine.clone();
            let swept = self
                .write(async move |conn: &mut Conn| sweep(conn, &quarantine, now).await)
                .await?;
            if swept == 0 {
                break;
            }
            interrupted += swept;
        }
        Ok(interrupted)
    }

    async fn pending_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| count!(conn, deliveries::table.filter(is_pending())))
            .await
    }
}

/// In the words of the partial index on pending deliveries.
pub(super) fn is_pending() -> SqlLiteral<Bool> {
    sql("deliveries.state = 'pending'")
}

/// In the words of the partial index on deliveries that are being sent.
fn is_sending() -> SqlLiteral<Bool> {
    sql("deliveries.state = 'sending'")
}

/// Deliveries that are marked as being sent beyond their deadline.
#[auto_type]
fn overdue(now: i64) -> _ {
    let is_sending: SqlLiteral<Bool> = is_sending();
    deliveries::table
        .filter(is_sending)
        .filter(deliveries::owner_until.lt(now))
}

/// The most unreadable endpoints that a look leaves out. Deliveries to more of them take places of others.
const ENDPOINTS_LEFT_OUT: usize = 1_000;

/// The oldest first. An endpoint that has its share is left out of the next look, so a long queue of one endpoint hides
/// no other. Nor does what cannot be read: unreadable endpoints are left out, and a look is longer by the number of
/// unreadable deliveries.
async fn pending(
    conn: &mut Conn,
    quarantine: &Quarantine,
    mut full: Vec<(OrganizationId, EndpointId)>,
    per_endpoint: u32,
    limit: u32,
) -> Result<Vec<PendingDelivery>, Failure> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let mut chosen: Vec<PendingDelivery> = Vec::new();
    let mut shares: HashMap<(OrganizationId, EndpointId), u32> = HashMap::new();
    let unreadable = quarantine.ids(ENDPOINTS);
    while chosen.len() < limit {
        let held = quarantine.count(DELIVERIES);
        let looked_at = limit.saturating_add(held);
        let mut left_out: Vec<String> = full
            .iter()
            .map(|(organization, endpoint)| key(organization, endpoint))
            .collect();
        left_out.extend(unreadable.iter().take(ENDPOINTS_LEFT_OUT).cloned());
        let endpoint = deliveries::organization_id
            .concat("/")
            .concat(deliveries::endpoint_id);
        let query = deliveries::table
            .filter(is_pending())
            .filter(not(one_of!(endpoint, &left_out)))
            .select(Tried::<PendingDelivery>::as_select())
            .order((
                deliveries::created_at,
                deliveries::organization_id,
                deliveries::id,
            ))
            .limit(stored(looked_at));
        let rows: Vec<Tried<PendingDelivery>> = query.load(conn).await?;
        let complete = rows.len() < looked_at;
        let known = full.len();
        for row in rows {
            let Some(delivery) = row.or_aside(quarantine) else {
                continue;
            };
            if held > 0 && quarantine.holds(DELIVERIES, &key(&delivery.organization_id, delivery.id)) {
                continue;
            }
            let endpoint = (delivery.organization_id.clone(), delivery.endpoint_id.clone());
            let share = shares.entry(endpoint.clone()).or_default();
            // Seen before, in a look that another endpoint has filled.
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
        if complete || (full.len() == known && quarantine.count(DELIVERIES) == held) {
            break;
        }
    }
    Ok(chosen)
}

/// The name of a row in the quarantine.
fn key(organization: &OrganizationId, id: impl std::fmt::Display) -> String {
    format!("{organization}/{id}")
}

async fn claim(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    asked: &[PendingDelivery],
    owner: &LeaseOwner,
    clock: &dyn Clock,
    lasts: Duration,
) -> Result<Vec<ClaimedDelivery>, Failure> {
    let mut by_organization: BTreeMap<&OrganizationId, Vec<String>> = BTreeMap::new();
    for delivery in asked {
        by_organization
            .entry(&delivery.organization_id)
            .or_default()
            .push(delivery.id.to_string());
    }
    let mut locked = Vec::with_capacity(by_organization.len());
    for (organization, ids) in by_organization {
        let waiting = deliveries::table
            .filter(deliveries::organization_id.eq(organization.as_str()))
            .filter(one_of!(deliveries::id, &ids))
            .filter(deliveries::state.eq(DeliveryState::Pending.as_str()))
            .order(deliveries::id)
            .select(Tried::<Delivery>::as_select());
        let waiting: Vec<Tried<Delivery>> = for_update!(waiting).load(conn).await?;
        let waiting = waiting.into_iter().filter_map(|row| row.or_aside(quarantine));
        let waiting: Vec<Delivery> = waiting.collect();
        let context = Context::load(conn, quarantine, organization, &waiting).await?;
        locked.push((organization, waiting, context));
    }
    // Waiting for the locks may have taken as long as an attempt. The marks begin when sending can.
    let now = clock.now();
    let deadline = now.plus(lasts);
    let mut claimed = Vec::with_capacity(asked.len());
    for (organization, waiting, context) in locked {
        let mut sending = Vec::with_capacity(waiting.len());
        for delivery in &waiting {
            if quarantine.holds(ENDPOINTS, &key(organization, &delivery.endpoint_id)) {
                // It waits until its endpoint can be read.
                continue;
            }
            let endpoint = context.endpoints.get(&delivery.endpoint_id);
            let receives =
                |endpoint: &&Endpoint| endpoint.active && endpoint.events.contains(&delivery.event);
            if let Some(endpoint) = endpoint.filter(receives) {
                match context.claimed(delivery, endpoint, sealer, now) {
                    Ok(one) => {
                        claimed.push(one);
                        sending.push(delivery.id.to_string());
                    }
                    // It is not sent, so it stays pending.
                    Err(row) => quarantine.set_aside(&row),
                }
            } else {
                let url = endpoint.map_or("", |endpoint| &endpoint.url);
                fail(conn, delivery, &DeliveryOutcome::EndpointRemoved, url, now).await?;
            }
        }
        diesel::update(deliveries::table)
            .filter(deliveries::organization_id.eq(organization.as_str()))
            .filter(one_of!(deliveries::id, sending))
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

/// A campaign's id and name.
type CampaignName = (Attempt<Col<CampaignId>>, Attempt<Col<String>>);

/// What deliveries of one organization refer to.
pub(super) struct Context {
    /// Those that can be read.
    pub(super) endpoints: HashMap<EndpointId, Endpoint>,
    campaign_names: HashMap<CampaignId, String>,
    /// Those that can be read.
    leads: HashMap<LeadId, LeadWithJob>,
    unreadable_leads: HashSet<String>,
}

impl Context {
    pub(super) async fn load(
        conn: &mut Conn,
        quarantine: &Quarantine,
        organization: &OrganizationId,
        deliveries: &[Delivery],
    ) -> Result<Self, Failure> {
        let deliveries = || deliveries.iter();
        let endpoint_ids = deliveries().map(|delivery| delivery.endpoint_id.as_str());
        let endpoints = webhook_endpoints::table
            .filter(webhook_endpoints::organization_id.eq(organization.as_str()))
            .filter(one_of!(webhook_endpoints::id, endpoint_ids));
        let endpoints = load_records!(conn, quarantine, Endpoint, endpoints);
        let campaign_ids = deliveries().map(|delivery| delivery.campaign_id.as_str());
        let names: Vec<CampaignName> = campaigns::table
            .filter(campaigns::organization_id.eq(organization.as_str()))
            .filter(one_of!(campaigns::id, campaign_ids))
            .select((campaigns::id, campaigns::name))
            .load(conn)
            .await?;
        // Only the data of a job.new comes from its lead.
        let without_data = deliveries().filter(|delivery| delivery.data.is_none());
        let lead_ids = without_data.map(|delivery| delivery.lead_id.as_str());
        let rows: Vec<(Tried<Lead>, Attempt<String>)> = leads::table
            .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
            .filter(leads::organization_id.eq(organization.as_str()))
            .filter(one_of!(leads::id, lead_ids))
            .select((Tried::<Lead>::as_select(), jobs::json))
            .load(conn)
            .await?;
        let (mut leads, mut unreadable_leads) = (HashMap::new(), HashSet::new());
        for (lead, job_json) in rows {
            match readable_lead(lead, job_json) {
                Ok(lead) => {
                    leads.insert(lead.lead.id.clone(), lead);
                }
                Err((lead, row)) => {
                    quarantine.set_aside(&row);
                    unreadable_leads.insert(lead);
                }
            }
        }
        // The name of a campaign that cannot be read is null, as that of a removed one.
        let name = |(id, name): CampaignName| Some((id.0.ok()?.0, name.0.ok()?.0));
        Ok(Self {
            endpoints: endpoints.into_iter().map(|one| (one.id.clone(), one)).collect(),
            campaign_names: names.into_iter().filter_map(name).collect(),
            leads,
            unreadable_leads,
        })
    }

    /// The delivery with all that is written into it, or the row for which it cannot be written.
    pub(super) fn claimed(
        &self,
        delivery: &Delivery,
        endpoint: &Endpoint,
        sealer: &Sealer,
        now: Timestamp,
    ) -> Result<ClaimedDelivery, UnreadableRow> {
        let unreadable = |why: &str| {
            UnreadableRow::of_organization(DELIVERIES, &delivery.organization_id, delivery.id, why)
        };
        let payload = payload(delivery).ok_or_else(|| unreadable("data cannot be read"))?;
        if self
            .unreadable_leads
            .contains(&key(&delivery.organization_id, &delivery.lead_id))
        {
            return Err(unreadable("its lead, or the lead's job, cannot be read"));
        }
        let organization = delivery.organization_id.as_str();
        let secrets = endpoint.secrets.open(sealer, organization, &endpoint.id)?;
        Ok(ClaimedDelivery {
            organization_id: delivery.organization_id.clone(),
            id: delivery.id,
            campaign_id: delivery.campaign_id.clone(),
            lead_id: delivery.lead_id.clone(),
            campaign_name: self.campaign_names.get(&delivery.campaign_id).cloned(),
            target: DeliveryTarget {
                endpoint_id: endpoint.id.clone(),
                url: endpoint.url.clone(),
                secrets: secrets.at(now),
            },
            payload,
            created_at: delivery.created_at,
            lead: self.leads.get(&delivery.lead_id).cloned(),
            is_test: delivery.is_test,
            sent_by: delivery.sent_by.clone(),
        })
    }
}

/// A lead with its job, or the lead's name in the quarantine and the row that cannot be read.
fn readable_lead(
    lead: Tried<Lead>,
    Attempt(job_json): Attempt<String>,
) -> Result<LeadWithJob, (String, UnreadableRow)> {
    let lead = lead.0.map_err(|row| (row.id.clone(), row))?;
    let of_lead = |row: UnreadableRow| (key(&lead.organization_id, &lead.id), row);
    let unreadable = |why: String| UnreadableRow::new("jobs", lead.job_id.as_str(), why);
    let job_json = job_json.map_err(|why| of_lead(unreadable(why)))?;
    match readable_job(&job_json) {
        Ok(()) => Ok(LeadWithJob { lead, job_json }),
        Err(error) => Err(of_lead(unreadable(error.to_string()))),
    }
}

/// `None` if the delivery lacks data that its event has.
pub(super) fn payload(delivery: &Delivery) -> Option<EventPayload> {
    match (delivery.event, &delivery.data) {
        (EventKind::JobNew, _) => Some(EventPayload::JobNew),
        (EventKind::BidComplete, Some(data)) => EventPayload::stored_bid_complete(data.clone()),
        (EventKind::BidComplete, None) => None,
    }
}

/// What an outcome changes in a delivery.
#[auto_type]
fn ended(outcome: &DeliveryOutcome, at: Timestamp) -> _ {
    let state: &'static str = if outcome.is_delivered() {
        DeliveryState::Delivered.as_str()
    } else {
        DeliveryState::Failed.as_str()
    };
    let reason: Option<&'static str> = outcome.reason();
    let at: i64 = at.as_millis();
    (
        deliveries::state.eq(state),
        deliveries::reason.eq(reason),
        deliveries::ended_at.eq(at),
    )
}

/// Ends a delivery that was not sent, or whose sender is gone, with its Activity.
async fn fail(
    conn: &mut Conn,
    delivery: &Delivery,
    outcome: &DeliveryOutcome,
    url: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    let facts = DeliveryFacts {
        organization_id: &delivery.organization_id,
        campaign_id: &delivery.campaign_id,
        lead_id: &delivery.lead_id,
        id: delivery.id,
        event: delivery.event,
        dry_run: payload(delivery).is_some_and(|payload| payload.is_dry_run()),
        endpoint_id: &delivery.endpoint_id,
        url,
        is_test: delivery.is_test,
        sent_by: delivery.sent_by.as_ref(),
    };
    let key = (delivery.organization_id.as_str(), delivery.id.to_string());
    diesel::update(deliveries::table.find(key))
        .set(ended(outcome, now))
        .execute(conn)
        .await?;
    insert_activity(conn, &facts.activity(outcome, now)).await?;
    count_end(conn, delivery, outcome, now).await
}

/// Counts the end of a delivery. What people try from the console is not counted.
async fn count_end(
    conn: &mut Conn,
    delivery: &Delivery,
    outcome: &DeliveryOutcome,
    at: Timestamp,
) -> Result<(), Failure> {
    if delivery.is_test {
        return Ok(());
    }
    let (organization, campaign) = (&delivery.organization_id, &delivery.campaign_id);
    let mut tally = Tally::default();
    if delivery.event == EventKind::JobNew {
        if !outcome.is_delivered() {
            tally.delivery_failed(organization, campaign);
        } else if note_delivered(conn, organization, &delivery.lead_id, at).await? {
            let posted_at = posted_at(conn, organization, &delivery.lead_id).await?;
            tally.delivered(organization, campaign, at, posted_at);
        }
    }
    if let Some(took) = outcome.was_sent() {
        tally.endpoint_sent(organization, &delivery.endpoint_id, outcome.is_delivered(), took);
    }
    let (_, spread) = delivery.id.0.as_u64_pair();
    add_up(conn, &tally, at, Some(spread)).await
}

/// Ends some of the overdue deliveries as interrupted.
async fn sweep(conn: &mut Conn, quarantine: &Quarantine, now: Timestamp) -> Result<u64, Failure> {
    let overdue = overdue(now.as_millis())
        .order((deliveries::organization_id, deliveries::id))
        .limit(SWEPT_AT_ONCE + stored(quarantine.count(DELIVERIES)))
        .select(Tried::<Delivery>::as_select());
    let overdue: Vec<Tried<Delivery>> = for_update!(overdue).load(conn).await?;
    let overdue: Vec<Delivery> = overdue
        .into_iter()
        .filter_map(|row| row.or_aside(quarantine))
        .collect();
    for delivery in &overdue {
        let url: Option<Attempt<Col<String>>> = webhook_endpoints::table
            .find((delivery.organization_id.as_str(), delivery.endpoint_id.as_str()))
            .select(webhook_endpoints::url)
            .first(conn)
            .await
            .optional()?;
        let url = url.as_ref().and_then(|url| url.0.as_ref().ok());
        let url = url.map_or("", |url| &url.0);
        fail(conn, delivery, &DeliveryOutcome::Interrupted, url, now).await?;
    }
    Ok(overdue.len() as u64)
}
