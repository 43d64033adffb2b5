//! Marking deliveries as being sent, and loading all that is written into them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{
    CampaignId, DeliveryId, DeliveryState, DeliveryTarget, EndpointId, Lead, LeadId, NewLead, OrganizationId,
    PostFields, Timestamp,
};
use bidloop_domain::port::{ClaimedDelivery, Clock, DeliveryOutcome, LeaseOwner, PendingDelivery};

use super::super::prelude::*;
use super::ends::fail;
use super::{DELIVERIES, ENDPOINTS, key, payload};
use crate::records::{Delivery, Endpoint, Secrets};
use crate::sealing::Sealer;

/// Not in the words of the partial index on pending deliveries, which would be read whole.
const WAS_PENDING: &str = "deliveries.state || '' = 'pending'";
/// Waiting for the locks may have taken as long as an attempt. After this much of it the marks begin anew.
const WAITED: Duration = Duration::from_millis(100);

pub(super) async fn claim(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    asked: &[PendingDelivery],
    owner: &LeaseOwner,
    clock: &dyn Clock,
    lasts: Duration,
) -> Result<Vec<ClaimedDelivery>, Failure> {
    let places: HashMap<_, usize> = asked
        .iter()
        .enumerate()
        .map(|(place, delivery)| ((&delivery.organization_id, delivery.id), place))
        .collect();
    // Processes that claim the same deliveries lock them in the same order.
    let mut keys: Vec<(&OrganizationId, DeliveryId)> = places.keys().copied().collect();
    keys.sort_unstable_by_key(|(organization, id)| (organization.as_str(), id.0));
    let asked_at = clock.now();
    let marks = Batch::of("deliveries", &keys)
        .with(deliveries::organization_id, |(organization, _)| {
            organization.as_str()
        })
        .with(deliveries::id, |(_, id)| id.to_string())
        .with(deliveries::state, |_| DeliveryState::Sending.as_str())
        .with(deliveries::owner, |_| Some(owner.as_str()))
        .with(deliveries::owner_until, |_| {
            Some(asked_at.plus(lasts).as_millis())
        });
    let selected = (
        deliveries::organization_id,
        deliveries::id,
        Tried::<Delivery>::as_select(),
    );
    let marked: Vec<(String, String, Tried<Delivery>)> =
        write_returning(conn, marks, Write::UpdateIf(2, WAS_PENDING), selected).await?;
    let mut unsent: HashSet<(String, String)> = HashSet::new();
    let mut waiting = Vec::with_capacity(marked.len());
    for (organization, id, row) in marked {
        match row.or_aside(quarantine) {
            Some(delivery) => waiting.push(delivery),
            None => drop(unsent.insert((organization, id))),
        }
    }
    let context = Context::load(conn, quarantine, sealer, &waiting).await?;
    let now = clock.now();
    let mut claimed = context.settle(conn, quarantine, &waiting, unsent, now).await?;
    if now.since(asked_at) > WAITED {
        last_until(conn, &claimed, now.plus(lasts)).await?;
    }
    claimed.sort_by_key(|delivery| places.get(&(&delivery.organization_id, delivery.id)).copied());
    Ok(claimed)
}

/// Takes the marks from deliveries that are not sent now.
async fn keep_pending(conn: &mut Conn, unsent: HashSet<(String, String)>) -> Result<(), Failure> {
    if unsent.is_empty() {
        return Ok(());
    }
    diesel::update(deliveries::table)
        .filter(pair_of!("deliveries.organization_id, deliveries.id", unsent))
        .set((
            deliveries::state.eq(DeliveryState::Pending.as_str()),
            deliveries::owner.eq(None::<String>),
            deliveries::owner_until.eq(None::<i64>),
        ))
        .execute(conn)
        .await?;
    Ok(())
}

/// Has the marks last until a later moment.
async fn last_until(conn: &mut Conn, claimed: &[ClaimedDelivery], until: Timestamp) -> Result<(), Failure> {
    Batch::of("deliveries", claimed)
        .with(deliveries::organization_id, |delivery| {
            delivery.organization_id.as_str()
        })
        .with(deliveries::id, |delivery| delivery.id.to_string())
        .with(deliveries::owner_until, |_| Some(until.as_millis()))
        .run(conn, Write::Update(2))
        .await?;
    Ok(())
}

/// A campaign's organization, id and name.
type CampaignRow = (
    Attempt<Col<OrganizationId>>,
    Attempt<Col<CampaignId>>,
    Attempt<Col<String>>,
);

/// The rows that deliveries refer to: endpoints, campaigns, leads, and the jobs of those with their JSON.
type Loaded = (
    Vec<(Attempt<Col<OrganizationId>>, Tried<Endpoint>)>,
    Vec<CampaignRow>,
    Vec<Tried<Lead>>,
    Vec<(String, Attempt<String>)>,
);

/// What deliveries refer to.
pub(in super::super) struct Context {
    /// Those that can be read.
    endpoints: HashMap<(OrganizationId, EndpointId), FoundEndpoint>,
    campaign_names: HashMap<(OrganizationId, CampaignId), String>,
    /// Those that can be read.
    leads: HashMap<LeadId, NewLead>,
    unreadable_leads: HashSet<String>,
}

/// An endpoint, with its secrets opened once for all its deliveries.
pub(in super::super) struct FoundEndpoint {
    endpoint: Endpoint,
    secrets: Result<Secrets, UnreadableRow>,
}

impl Context {
    pub(in super::super) async fn load(
        conn: &mut Conn,
        quarantine: &Quarantine,
        sealer: &Sealer,
        deliveries: &[Delivery],
    ) -> Result<Self, Failure> {
        let endpoint_keys: HashSet<(&str, &str)> = deliveries
            .iter()
            .map(|delivery| (delivery.organization_id.as_str(), delivery.endpoint_id.as_str()))
            .collect();
        let of_endpoints = webhook_endpoints::table
            .filter(pair_of!(
                "webhook_endpoints.organization_id, webhook_endpoints.id",
                endpoint_keys
            ))
            .select((webhook_endpoints::organization_id, Tried::<Endpoint>::as_select()));
        let campaign_keys: HashSet<(&str, &str)> = deliveries
            .iter()
            .map(|delivery| (delivery.organization_id.as_str(), delivery.campaign_id.as_str()))
            .collect();
        let names = campaigns::table
            .filter(pair_of!("campaigns.organization_id, campaigns.id", campaign_keys))
            .select((campaigns::organization_id, campaigns::id, campaigns::name));
        // Only the data of a job.new comes from its lead.
        let without_data = deliveries.iter().filter(|delivery| delivery.data.is_none());
        let lead_ids: HashSet<&str> = without_data.map(|delivery| delivery.lead_id.as_str()).collect();
        let of_leads = leads::table.filter(one_of!(leads::id, &lead_ids));
        // Each job once, however many leads it has.
        let posts = jobs::table
            .filter(jobs::id.eq_any(of_leads.clone().select(leads::job_id)))
            .select((jobs::id, jobs::json));
        let of_leads = of_leads.select(Tried::<Lead>::as_select());
        let loaded: Loaded = load_together!(conn, of_endpoints, names, of_leads, posts)?;
        let (endpoint_rows, names, lead_rows, jobs) = loaded;
        let mut endpoints = HashMap::with_capacity(endpoint_rows.len());
        for (organization, endpoint) in endpoint_rows {
            if let (Some(endpoint), Ok(Col(organization))) = (endpoint.or_aside(quarantine), organization.0) {
                let secrets = endpoint.secrets.open(sealer, organization.as_str(), &endpoint.id);
                let key = (organization, endpoint.id.clone());
                endpoints.insert(key, FoundEndpoint { endpoint, secrets });
            }
        }
        let (mut leads, mut unreadable_leads) = (HashMap::new(), HashSet::new());
        let posts: HashMap<String, Result<PostFields, UnreadableRow>> = jobs
            .into_iter()
            .map(|(job, json)| {
                let post = json
                    .0
                    .and_then(|json| PostFields::of(&json).map_err(|fault| fault.to_string()));
                let post = post.map_err(|why| UnreadableRow::new("jobs", &job, why));
                (job, post)
            })
            .collect();
        for lead in lead_rows {
            match with_post(lead, &posts) {
                Ok(Some(new)) => drop(leads.insert(new.lead.id.clone(), new)),
                Ok(None) => (),
                Err((lead, row)) => {
                    quarantine.set_aside(&row);
                    unreadable_leads.insert(lead);
                }
            }
        }
        // The name of a campaign that cannot be read is null, as that of a removed one.
        let name = |(organization, id, name): CampaignRow| {
            Some(((organization.0.ok()?.0, id.0.ok()?.0), name.0.ok()?.0))
        };
        Ok(Self {
            endpoints,
            campaign_names: names.into_iter().filter_map(name).collect(),
            leads,
            unreadable_leads,
        })
    }

    /// The deliveries with all that is written into them, of those that are marked as sending. The others, among them
    /// `unsent`, wait as before, or end if their endpoint gets nothing any more.
    pub(in super::super) async fn settle(
        &self,
        conn: &mut Conn,
        quarantine: &Quarantine,
        marked: &[Delivery],
        mut unsent: HashSet<(String, String)>,
        now: Timestamp,
    ) -> Result<Vec<ClaimedDelivery>, Failure> {
        let mut claimed = Vec::with_capacity(marked.len());
        let mut failed = Vec::new();
        let key_of = |delivery: &Delivery| (delivery.organization_id.to_string(), delivery.id.to_string());
        for delivery in marked {
            if quarantine.holds(ENDPOINTS, &delivery.organization_id, &delivery.endpoint_id) {
                // It waits until its endpoint can be read.
                unsent.insert(key_of(delivery));
                continue;
            }
            let found = self.endpoint(delivery);
            let receives = |found: &&FoundEndpoint| {
                found.endpoint.active && found.endpoint.events.contains(&delivery.event)
            };
            if let Some(found) = found.filter(receives) {
                match self.claimed(delivery, found, now) {
                    Ok(one) => claimed.push(one),
                    Err(row) => {
                        quarantine.set_aside(&row);
                        unsent.insert(key_of(delivery));
                    }
                }
            } else {
                let url = found.map_or_else(String::new, |found| found.endpoint.url.clone());
                failed.push((delivery, url));
            }
        }
        keep_pending(conn, unsent).await?;
        fail(conn, &failed, &DeliveryOutcome::EndpointRemoved, now).await?;
        Ok(claimed)
    }

    /// The delivery's endpoint, if it can be read.
    pub(in super::super) fn endpoint(&self, delivery: &Delivery) -> Option<&FoundEndpoint> {
        let key = (delivery.organization_id.clone(), delivery.endpoint_id.clone());
        self.endpoints.get(&key)
    }

    /// The delivery with all that is written into it, or the row for which it cannot be written.
    pub(in super::super) fn claimed(
        &self,
        delivery: &Delivery,
        found: &FoundEndpoint,
        now: Timestamp,
    ) -> Result<ClaimedDelivery, UnreadableRow> {
        let unreadable = |why: &str| {
            UnreadableRow::of_organization(DELIVERIES, &delivery.organization_id, delivery.id, why)
        };
        let payload = payload(delivery).ok_or_else(|| unreadable("data cannot be read"))?;
        let name = || key(&delivery.organization_id, &delivery.lead_id);
        // Mostly there is none, and then no name is written.
        if !self.unreadable_leads.is_empty() && self.unreadable_leads.contains(&name()) {
            return Err(unreadable("its lead, or the lead's job, cannot be read"));
        }
        let campaign = (delivery.organization_id.clone(), delivery.campaign_id.clone());
        let lead = self.leads.get(&delivery.lead_id);
        let lead = lead.filter(|new| new.lead.organization_id == delivery.organization_id);
        Ok(ClaimedDelivery {
            organization_id: delivery.organization_id.clone(),
            id: delivery.id,
            campaign_name: self.campaign_names.get(&campaign).cloned(),
            campaign_id: campaign.1,
            lead_id: delivery.lead_id.clone(),
            target: DeliveryTarget {
                endpoint_id: found.endpoint.id.clone(),
                url: found.endpoint.url.clone(),
                secrets: found.secrets.clone()?.at(now),
            },
            payload,
            created_at: delivery.created_at,
            lead: lead.cloned(),
            is_test: delivery.is_test,
            sent_by: delivery.sent_by.clone(),
            trace_parent: delivery.trace_parent,
        })
    }
}

/// A lead with its job's post; `None` if the job is not stored. Otherwise the lead's name in the quarantine and the row that
/// cannot be read.
fn with_post(
    lead: Tried<Lead>,
    posts: &HashMap<String, Result<PostFields, UnreadableRow>>,
) -> Result<Option<NewLead>, (String, UnreadableRow)> {
    let lead = lead.0.map_err(|row| (row.id.clone(), row))?;
    match posts.get(lead.job_id.as_str()) {
        None => Ok(None),
        Some(Ok(post)) => Ok(Some(NewLead {
            lead: Arc::new(lead),
            post: post.clone(),
        })),
        Some(Err(row)) => Err((key(&lead.organization_id, &lead.id), row.clone())),
    }
}
