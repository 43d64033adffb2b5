//! New jobs as matches, and what campaigns do with them: leads, deliveries of `job.new`, intents to bid by template
//! (decisions D2 and D6).

use bidloop_domain::model::{CampaignAction, EventId, EventPayload, Lead, NewEvent, Tally};
use bidloop_domain::port::{
    AutomaticBidIntent, ClaimedDelivery, MatchedJob, MatchedPage, PageCounts, SendAtOnce,
};

use super::super::automatic_bids::queue_automatic_bids;
use super::super::events::{queue_and_claim, queue_events};
use super::super::leads::rows::{insert_new_leads, new_lead};
use super::super::prelude::*;
use super::arrivals::Arrival;
use super::campaign_lists::CampaignLists;
use super::match_list::insert_matches;
use crate::sealing::Sealer;

/// The new jobs of a page.
pub(super) struct NewJobs<'p> {
    pub(super) jobs: &'p [Arrival<'p>],
    pub(super) page: &'p MatchedPage,
    /// Jobs that were posted by then may have been known before and pruned.
    pub(super) pruned_before: Option<i64>,
    /// Who sends their deliveries at once, if anyone does.
    pub(super) sender: Option<(&'p Sealer, &'p SendAtOnce)>,
}

impl NewJobs<'_> {
    /// Whether campaigns act on the job.
    fn is_fresh(&self, job: &MatchedJob) -> bool {
        let age = self.page.at.since(job.posted_at);
        let is_known_to_be_new = self.pruned_before < Some(job.posted_at.as_millis());
        is_known_to_be_new && self.page.act_within.is_none_or(|bound| age <= bound)
    }
}

/// Appends the jobs to the lists of the campaigns that they match, in the order of their posting times and then the
/// feed's, and queues what the campaigns do. Campaigns without a list are passed over. Returns the deliveries that are to be
/// sent at once.
pub(super) async fn match_new_jobs(
    conn: &mut Conn,
    quarantine: &Quarantine,
    lists: &mut CampaignLists,
    new: &NewJobs<'_>,
    counts: &mut PageCounts,
    tally: &mut Tally,
) -> Result<Vec<ClaimedDelivery>, Failure> {
    let page = new.page;
    let mut in_order: Vec<&Arrival<'_>> = new.jobs.iter().collect();
    in_order.sort_by_key(|arrival| (arrival.job.posted_at, arrival.seq));
    let (mut matches, mut leads) = (Vec::new(), Vec::new());
    let (mut events, mut intents) = (Vec::new(), Vec::new());
    for arrival in in_order {
        let fresh = new.is_fresh(arrival.job);
        for key in arrival.campaigns() {
            let Some(campaign) = lists.change(key) else {
                continue;
            };
            tally.matched(&key.0, &key.1, campaign.is_at_rest());
            let action = campaign.action(fresh);
            let new_match = campaign.append(key, arrival.id(), page.at);
            let lead = || new_lead(key, &arrival.job.id, new_match.created_at);
            match action {
                CampaignAction::ListOnly => {}
                CampaignAction::PushJobNew => {
                    leads.push(lead());
                    events.extend(leads.last().map(job_new));
                }
                CampaignAction::BidByTemplate => {
                    leads.push(lead());
                    intents.extend(leads.last().map(intent));
                }
            }
            matches.push(new_match);
        }
    }
    insert_matches(conn, &matches).await?;
    insert_new_leads(conn, &leads).await?;
    counts.matches += matches.len() as u64;
    let events: Vec<_> = events.iter().map(|event| (event, page.at)).collect();
    let (queued, claimed) = match new.sender {
        Some((sealer, by)) => queue_and_claim(conn, quarantine, sealer, &events, by).await?,
        None => (queue_events(conn, quarantine, &events).await?, Vec::new()),
    };
    counts.deliveries += queued;
    counts.automatic_bids += queue_automatic_bids(conn, &intents, page.at).await?;
    Ok(claimed)
}

fn job_new(lead: &Lead) -> NewEvent {
    NewEvent {
        id: EventId::job_new(&lead.id),
        organization_id: lead.organization_id.clone(),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
        payload: EventPayload::JobNew,
        trace_parent: None,
    }
}

fn intent(lead: &Lead) -> AutomaticBidIntent {
    AutomaticBidIntent {
        organization_id: lead.organization_id.clone(),
        campaign_id: lead.campaign_id.clone(),
        lead_id: lead.id.clone(),
    }
}
