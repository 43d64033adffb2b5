//! The ends of bids: each is recorded once, with everything that it causes (decision B4).
//!
//! On PostgreSQL, ends that arrive at the same time share a transaction. If it fails, each of them is recorded alone. An end
//! that disconnects the account is always recorded alone.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use bidloop_domain::model::{
    Authorization, BidId, CampaignId, Lead, LeadId, LeadStatus, OrganizationId, StatisticsStep, Tally,
    Timestamp,
};
use bidloop_domain::port::{FinishBid, FinishBy, LeaseOwner, StoreError};

use super::super::authorization::authorized;
use super::super::events::queue_events;
use super::super::leads::rows::locked_leads;
use super::super::leads::together::with_others;
use super::super::lists::lead_statuses::show_statuses;
use super::super::lists::match_list::CampaignKey;
use super::super::prelude::*;
use super::super::quota::{Unit, locked_usages, return_units};
use super::super::statistics::count;
use super::{Claim, disconnect, lock_account};
use crate::columns::{Encoded, InColumn};
use crate::grouping::{Grouped, Locks};
use crate::sealing::Sealer;
use crate::sql_types::{EscapedText, JsonText, Nullable};

/// The end of a bid under a claim.
#[derive(Debug)]
pub(crate) struct EndCommand {
    /// The authorization of a person who settles the bid.
    authorization: Option<Authorization>,
    finish: FinishBid,
    claim: Claim,
}

impl EndCommand {
    pub(super) fn new(
        authorization: Option<&Authorization>,
        finish: &FinishBid,
        owner: &LeaseOwner,
    ) -> Arc<Self> {
        Arc::new(Self {
            authorization: authorization.cloned(),
            finish: finish.clone(),
            claim: Claim::new(&finish.organization_id, finish.bid_id, owner),
        })
    }

    /// The bid's key.
    fn bid(&self) -> (&str, &str) {
        (&self.claim.organization, &self.claim.bid)
    }
}

impl Store {
    /// Ends a bid together with those whose ends arrive at the same time.
    pub(super) async fn end_with_others(&self, end: Arc<EndCommand>) -> Result<FinishBy, StoreError> {
        let ends = BidEnds(self.clone());
        let lanes = self.shared_bid_ends();
        with_others(lanes, &ends, end, |end| &end.finish.organization_id).await
    }
}

/// The recording of ends in a store.
#[derive(Clone)]
pub(crate) struct BidEnds(pub(super) Store);

impl BidEnds {
    async fn record(
        &self,
        group: Vec<Arc<EndCommand>>,
        locks: Locks,
    ) -> Result<Option<Vec<FinishBy>>, StoreError> {
        let (quarantine, sealer) = (self.0.quarantine.clone(), self.0.sealer.clone());
        let work = async move |conn: &mut Conn| end_together(conn, &quarantine, &sealer, &group).await;
        self.0.write_by_keys(locks, work).await
    }
}

impl Grouped for BidEnds {
    type Command = EndCommand;
    type Answer = FinishBy;

    async fn together(
        &self,
        group: Vec<Arc<EndCommand>>,
        locks: Locks,
    ) -> Result<Option<Vec<Option<FinishBy>>>, StoreError> {
        // All ends of such a bid, so that they stay in their order.
        let disconnecting = group.iter().filter(|end| end.finish.refused_token.is_some());
        let alone: HashSet<BidId> = disconnecting.map(|end| end.finish.bid_id).collect();
        let is_plain = |end: &&Arc<EndCommand>| !alone.contains(&end.finish.bid_id);
        let plain = group.iter().filter(is_plain).cloned().collect();
        let Some(answers) = self.record(plain, locks).await? else {
            return Ok(None);
        };
        let mut answers = answers.into_iter();
        let answers = group
            .iter()
            .map(|end| if is_plain(&end) { answers.next() } else { None });
        Ok(Some(answers.collect()))
    }

    async fn alone(&self, end: Arc<EndCommand>) -> Result<FinishBy, StoreError> {
        let answers = self.record(vec![end], Locks::Patiently).await?;
        Ok(answers.map_or(FinishBy::NotHeld, |answers| answers[0]))
    }
}

/// A queued bid, with what its end needs.
#[derive(Queryable, Selectable)]
#[diesel(table_name = bids)]
struct HeldBid {
    organization_id: String,
    id: String,
    lease_owner: Option<String>,
    lead_id: Col<LeadId>,
    account_id: String,
    queued_at: i64,
    period_start: i64,
}

/// The end of a bid whose claim holds.
struct End<'c> {
    /// Its place in the group.
    place: usize,
    command: &'c EndCommand,
    bid: &'c HeldBid,
    posted_at: Option<Timestamp>,
    lead: Lead,
    /// The bid's attempts, this one included.
    attempts: i64,
}

impl End<'_> {
    fn finish(&self) -> &FinishBid {
        &self.command.finish
    }

    fn campaign(&self) -> CampaignKey {
        (self.lead.organization_id.clone(), self.lead.campaign_id.clone())
    }

    fn status(&self) -> LeadStatus {
        self.finish().outcome.status()
    }

    fn reason(&self) -> Result<Option<Encoded>, serde_json::Error> {
        let reason = self.finish().outcome.reason();
        reason.map(InColumn::<JsonText>::written).transpose()
    }

    fn proposal_id(&self) -> Result<Option<Encoded>, serde_json::Error> {
        let proposal_id = self.finish().outcome.proposal_id().map(str::to_owned);
        InColumn::<Nullable<EscapedText>>::written(&proposal_id)
    }
}

/// Ends those bids whose claims hold. Locks are taken in the order in which all transactions take them.
async fn end_together(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
    group: &[Arc<EndCommand>],
) -> Result<Vec<FinishBy>, Failure> {
    let mut answers = vec![FinishBy::NotHeld; group.len()];
    let queued = queued_bids(conn, group).await?;
    let queued: HashMap<(&str, &str), &(HeldBid, Option<i64>)> = queued
        .iter()
        .map(|found| ((&*found.0.organization_id, &*found.0.id), found))
        .collect();
    // If a bid is ended twice under its claim, the first end counts.
    let mut held = BTreeMap::new();
    for (place, command) in group.iter().enumerate() {
        if let Some(found) = queued.get(&command.bid())
            && found.0.lease_owner.as_deref() == Some(&*command.claim.owner)
        {
            held.entry(command.bid()).or_insert((place, &**command, *found));
        }
    }
    if held.is_empty() {
        return Ok(answers);
    }
    let leads: BTreeSet<&str> = held
        .values()
        .map(|(.., (bid, _))| bid.lead_id.0.as_str())
        .collect();
    let mut leads = locked_leads(conn, leads).await?;
    let mut ends = Vec::with_capacity(held.len());
    for (place, command, (bid, posted_at)) in held.into_values() {
        let lead = leads.remove(&bid.lead_id.0);
        let Some(lead) = lead.filter(|lead| lead.organization_id.as_str() == bid.organization_id) else {
            return Err(Failure::corrupt(format!("bid {} has no lead", bid.id)));
        };
        if let Some(authorization) = &command.authorization {
            let FinishBid {
                organization_id, at, ..
            } = &command.finish;
            if let Err(why) = authorized(conn, authorization, organization_id, *at).await? {
                answers[place] = FinishBy::NotAuthorized(why);
                continue;
            }
        }
        ends.push(End {
            place,
            command,
            bid,
            posted_at: posted_at.map(Timestamp::from_millis),
            lead,
            attempts: 0,
        });
    }
    let usages = locked_usages(conn, &units(&ends)).await?;
    for End { command, bid, .. } in &ends {
        if command.finish.refused_token.is_some() {
            lock_account(conn, sealer, &bid.organization_id, &bid.account_id).await?;
        }
    }
    let campaigns = lock_claimed(conn, &mut ends).await?;

    for End { command, bid, .. } in &ends {
        if let Some(refused_token) = &command.finish.refused_token {
            disconnect(conn, sealer, &bid.organization_id, &bid.account_id, refused_token).await?;
        }
    }
    let events: Vec<_> = ends
        .iter()
        .map(|end| (&end.finish().event, end.finish().at))
        .collect();
    queue_events(conn, quarantine, &events).await?;
    return_units(conn, usages, &units(&ends)).await?;
    store(conn, &ends).await?;
    let shown = ends.iter().filter_map(|end| {
        let (served, last) = campaigns.get(&end.campaign())?;
        Some((&end.lead, end.status(), *served..=*last))
    });
    show_statuses(conn, shown).await?;
    count_ends(conn, &ends).await?;
    for end in &ends {
        answers[end.place] = FinishBy::Ended;
    }
    Ok(answers)
}

/// The group's bids that are queued, with the times at which their jobs were posted.
async fn queued_bids(
    conn: &mut Conn,
    group: &[Arc<EndCommand>],
) -> Result<Vec<(HeldBid, Option<i64>)>, Failure> {
    let queued = bids::table
        .left_join(jobs::table.on(jobs::id.eq(bids::job_id)))
        .filter(pair_of!(
            "bids.organization_id, bids.id",
            group.iter().map(|command| command.bid())
        ))
        // A parameter: a literal could have a partial index on queued bids read whole.
        .filter(bids::status.eq(LeadStatus::Queued.as_str()))
        .select((HeldBid::as_select(), jobs::posted_at.nullable()));
    Ok(queued.load(conn).await?)
}

/// The units that the bids took and that are returned.
fn units<'e>(ends: &'e [End<'_>]) -> Vec<Unit<'e>> {
    let returned = ends.iter().filter(|end| end.status() != LeadStatus::Submitted);
    let unit = |End { bid, .. }: &End<'e>| Unit {
        organization: &bid.organization_id,
        queued_at: bid.queued_at,
        period_start: bid.period_start,
    };
    returned.map(unit).collect()
}

/// Locks the bids and the campaigns, and removes the ends of bids whose claims no longer hold. Returns each campaign's served
/// generation and its last one.
async fn lock_claimed(
    conn: &mut Conn,
    ends: &mut Vec<End<'_>>,
) -> Result<HashMap<CampaignKey, (i64, i64)>, Failure> {
    type ClaimedRow = (String, String, Option<String>, i64);
    type CampaignRow = (Col<OrganizationId>, Col<CampaignId>, i64, i64);
    let claimed = bids::table
        .filter(pair_of!(
            "bids.organization_id, bids.id",
            ends.iter().map(|end| end.command.bid())
        ))
        .filter(bids::status.eq(LeadStatus::Queued.as_str()))
        .order((bids::organization_id, bids::id))
        .select((bids::organization_id, bids::id, bids::lease_owner, bids::attempts));
    let campaigns: BTreeSet<(&str, &str)> = ends
        .iter()
        .map(|End { lead, .. }| (lead.organization_id.as_str(), lead.campaign_id.as_str()))
        .collect();
    let campaigns = campaigns::table
        .filter(pair_of!("campaigns.organization_id, campaigns.id", campaigns))
        .order((campaigns::organization_id, campaigns::id))
        .select((
            campaigns::organization_id,
            campaigns::id,
            campaigns::generation,
            campaigns::last_generation,
        ));
    let (claimed, campaigns): (Vec<ClaimedRow>, Vec<CampaignRow>) =
        load_together!(conn, for_update!(claimed), for_share!(campaigns))?;
    let claimed: HashMap<(&str, &str, Option<&str>), i64> = claimed
        .iter()
        .map(|(organization, bid, owner, attempts)| ((&**organization, &**bid, owner.as_deref()), *attempts))
        .collect();
    ends.retain_mut(|end| {
        let Claim {
            organization,
            bid,
            owner,
        } = &end.command.claim;
        let before = claimed.get(&(organization, bid, Some(owner)));
        end.attempts = before.map_or(0, |before| before + 1);
        before.is_some()
    });
    let campaigns = campaigns.into_iter();
    Ok(campaigns
        .map(|(organization, id, served, last)| ((organization.0, id.0), (served, last)))
        .collect())
}

async fn store(conn: &mut Conn, ends: &[End<'_>]) -> Result<(), Failure> {
    Batch::of("bids", ends)
        .with(bids::organization_id, |end| end.bid.organization_id.as_str())
        .with(bids::id, |end| end.bid.id.as_str())
        .with(bids::status, |end| end.status().as_str())
        .with(bids::answer_outstanding, |_| false)
        .with(bids::attempts, |end| end.attempts)
        .with(bids::lease_owner, |_| None::<&str>)
        .with(bids::lease_until, |_| None::<i64>)
        .try_with(bids::reason, End::reason)?
        .try_with(bids::proposal_id, End::proposal_id)?
        .with(bids::submitted_at, |end| {
            end.finish().outcome.submitted_at().map(Timestamp::as_millis)
        })
        .try_with(bids::terms, |end| {
            let terms = end.finish().outcome.terms();
            InColumn::<Nullable<JsonText>>::written(&terms)
        })?
        .with(bids::boost_connects, |end| {
            end.finish().outcome.boost_connects().as_i64()
        })
        .with(bids::connects_spent, |end| {
            end.finish().outcome.connects_spent().as_i64()
        })
        .with(bids::ended_at, |end| Some(end.finish().at.as_millis()))
        .run_at_commit(conn, Write::Update(2))
        .await?;
    Batch::of("leads", ends)
        .with(leads::organization_id, |end| end.lead.organization_id.as_str())
        .with(leads::id, |end| end.lead.id.as_str())
        .with(leads::status, |end| end.status().as_str())
        .try_with(leads::reason, End::reason)?
        .try_with(leads::proposal_id, |end| match end.proposal_id()? {
            None => InColumn::<Nullable<EscapedText>>::written(&end.lead.proposal_id),
            proposal_id => Ok(proposal_id),
        })?
        .run_at_commit(conn, Write::Update(2))
        .await?;
    Batch::of("activities", ends)
        .with_record(|end| &end.finish().activity)?
        .run_at_commit(conn, Write::InsertNew)
        .await
}

async fn count_ends(conn: &mut Conn, ends: &[End<'_>]) -> Result<(), Failure> {
    let mut tallies: BTreeMap<Timestamp, Tally> = BTreeMap::new();
    for End {
        lead,
        bid,
        posted_at,
        command,
        ..
    } in ends
    {
        let FinishBid { outcome, at, .. } = &command.finish;
        let place = (&lead.organization_id, &lead.campaign_id, &*bid.account_id);
        let tally = tallies.entry(StatisticsStep::Hour.start(*at)).or_default();
        tally.bid_ended(place, outcome, *at, *posted_at);
    }
    for (hour, tally) in tallies {
        count(conn, &tally, hour).await?;
    }
    Ok(())
}
