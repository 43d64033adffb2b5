//! New jobs as matches, and what campaigns do with them: leads, deliveries of `job.new`, intents to bid by template
//! (decisions D2 and D6).

use std::collections::{BTreeSet, HashMap};

use bidloop_domain::model::{
    CampaignAction, EventId, EventKind, EventPayload, LeadId, NewEvent, Timestamp, receivers,
};
use bidloop_domain::port::{MatchedPage, PageCounts};

use super::super::events::endpoints_of_each;
use super::super::{Conn, insert_automatic_bids, insert_deliveries, insert_matches, insert_new_leads};
use super::arrivals::Arrival;
use super::campaign_lists::CampaignLists;
use super::match_list::CampaignKey;
use crate::failure::Failure;
use crate::rows::{LeadRow, NewAutomaticBidRow, NewDeliveryRow};

/// What campaigns are to do.
#[derive(Default)]
struct Actions<'p> {
    leads: Vec<LeadRow>,
    pushes: Vec<(&'p CampaignKey, LeadId)>,
    intents: Vec<NewAutomaticBidRow>,
}

/// Appends the jobs to the lists of the campaigns that they match, in the order of their posting times and then the
/// feed's, and queues what the campaigns do. Campaigns that are not among `lists` are passed over.
pub(super) async fn match_new_jobs(
    conn: &mut Conn,
    lists: &mut CampaignLists,
    new: &[Arrival<'_>],
    page: &MatchedPage,
    counts: &mut PageCounts,
) -> Result<(), Failure> {
    let mut in_order: Vec<&Arrival<'_>> = new.iter().collect();
    in_order.sort_by_key(|arrival| (arrival.job.posted_at, arrival.seq));
    let mut rows = Vec::new();
    let mut actions = Actions::default();
    for arrival in in_order {
        let age = page.at.since(arrival.job.posted_at);
        let fresh = page.act_within.is_none_or(|bound| age <= bound);
        for key in arrival.campaigns() {
            let Some(campaign) = lists.change(key) else {
                continue;
            };
            let row = campaign.append(key, arrival.id(), page.at);
            actions.add(campaign.action(fresh), key, arrival, row.created_at, page.at);
            rows.push(row);
        }
    }
    insert_matches(conn, &rows).await?;
    counts.matches += rows.len() as u64;
    insert_new_leads(conn, &actions.leads).await?;
    counts.deliveries += queue_job_new(conn, &actions.pushes, page.at).await?;
    let queued = insert_automatic_bids(conn, &actions.intents).await?;
    counts.automatic_bids += queued as u64;
    Ok(())
}

impl<'p> Actions<'p> {
    fn add(
        &mut self,
        action: CampaignAction,
        campaign: &'p CampaignKey,
        arrival: &Arrival<'p>,
        created_at: i64,
        at: Timestamp,
    ) {
        let (organization_id, campaign_id) = campaign;
        let lead = || LeadId::derive(organization_id, campaign_id, &arrival.job.id);
        match action {
            CampaignAction::ListOnly => return,
            CampaignAction::PushJobNew => self.pushes.push((campaign, lead())),
            CampaignAction::BidByTemplate => {
                let intent = NewAutomaticBidRow::new(organization_id, campaign_id, &lead(), at);
                self.intents.push(intent);
            }
        }
        let created_at = Timestamp::from_millis(created_at);
        self.leads.push(LeadRow::new(
            organization_id,
            campaign_id,
            &arrival.job.id,
            created_at,
        ));
    }
}

/// Queues each lead's `job.new` for whoever subscribes to it, and returns how many deliveries those are.
async fn queue_job_new(
    conn: &mut Conn,
    pushes: &[(&CampaignKey, LeadId)],
    at: Timestamp,
) -> Result<u64, Failure> {
    let organizations: BTreeSet<&str> = pushes.iter().map(|(campaign, _)| campaign.0.as_str()).collect();
    let organizations: Vec<&str> = organizations.into_iter().collect();
    let endpoints = endpoints_of_each(conn, &organizations).await?;
    let mut receivers_of: HashMap<&CampaignKey, Vec<_>> = HashMap::new();
    let mut rows = Vec::new();
    for (campaign, lead) in pushes {
        let (organization_id, campaign_id) = campaign;
        let event = NewEvent {
            id: EventId::job_new(lead),
            organization_id: organization_id.clone(),
            campaign_id: campaign_id.clone(),
            lead_id: lead.clone(),
            payload: EventPayload::JobNew,
        };
        let endpoints = receivers_of.entry(campaign).or_insert_with(|| {
            let known = endpoints
                .get(organization_id.as_str())
                .map_or(&[][..], Vec::as_slice);
            receivers(known, campaign_id, EventKind::JobNew)
        });
        rows.extend(
            endpoints
                .iter()
                .map(|endpoint| NewDeliveryRow::new(&event, &endpoint.id, at)),
        );
    }
    let queued = insert_deliveries(conn, &rows).await?;
    Ok(queued as u64)
}
