//! Accepting bids that arrive at the same time in one transaction (decision B2).
//!
//! The outcome is that of accepting them one after the other, as they arrived. A bid that is not plain goes alone, after
//! the group, and so do the later ones of its organization: on a lead that has no record, on one that an earlier bid of
//! the group is for, or in a period whose bids are not counted yet. If the group fails, each of its bids goes alone.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use bidloop_domain::bidding::QuotaUsage;
use bidloop_domain::model::{
    AccountId, AccountSummary, Activity, ApiKeyHash, ApiKeyRecord, Authorization, CampaignId, Lead,
    LeadAttachment, LeadId, LeadStatus, NewBid, OrganizationId, ProposalFile, StatisticsStep, Subscription,
    Tally, Timestamp, Unauthorized,
};
use bidloop_domain::port::{AcceptBid, StoreError};

use super::super::lists::match_list::CampaignKey;
use super::super::prelude::*;
use super::super::quota::period_at;
use super::super::statistics::add_up;
use super::accept_bid::accept_bid;
use crate::columns::{Encoded, InColumn as _};

/// A bid that is to be accepted. Those that people send with a session go alone.
#[derive(Debug)]
pub(crate) struct BidCommand {
    pub(crate) authorization: Authorization,
    pub(crate) bid: NewBid,
    pub(crate) activity: Activity,
}

impl BidCommand {
    fn key(&self) -> Option<&str> {
        match &self.authorization {
            Authorization::ApiKey(hash) => Some(hash.as_str()),
            _ => None,
        }
    }
}

/// Accepts bids, and answers in their order.
pub(crate) async fn accept_group(
    store: &Store,
    group: Vec<Arc<BidCommand>>,
) -> Vec<Result<AcceptBid, StoreError>> {
    let mut answers: Vec<Option<Result<AcceptBid, StoreError>>> = vec![None; group.len()];
    if group.len() > 1 {
        let commands = group.clone();
        let together = store.write(async move |conn: &mut Conn| accept_together(conn, &commands).await);
        match together.await {
            Ok(decided) => answers = decided.into_iter().map(|answer| answer.map(Ok)).collect(),
            // Whether the group was committed may be unknown.
            Err(error @ StoreError::Unavailable(_)) => answers.fill(Some(Err(error))),
            Err(error) => tracing::debug!(%error, "bids are accepted one by one"),
        }
    }
    let mut all = Vec::with_capacity(group.len());
    for (command, answer) in group.into_iter().zip(answers) {
        all.push(match answer {
            Some(answer) => answer,
            None => accept_alone(store, command).await,
        });
    }
    all
}

async fn accept_alone(store: &Store, command: Arc<BidCommand>) -> Result<AcceptBid, StoreError> {
    store
        .write(async move |conn: &mut Conn| {
            let BidCommand {
                authorization,
                bid,
                activity,
            } = &*command;
            accept_bid(conn, authorization, bid, activity).await
        })
        .await
}

/// What becomes of each bid; `None`: it goes alone.
async fn accept_together(
    conn: &mut Conn,
    group: &[Arc<BidCommand>],
) -> Result<Vec<Option<AcceptBid>>, Failure> {
    let found = found(conn, group).await?;
    let mut judged = Judged {
        found,
        alone: BTreeSet::new(),
        accepted: Vec::new(),
    };
    let answers = group.iter().map(|command| judged.judge(command)).collect();
    judged.store(conn).await?;
    Ok(answers)
}

/// What the store has for a group. Leads, organizations, keys, quotas and campaigns are locked, in this order.
struct Found {
    leads: HashMap<LeadId, Lead>,
    subscriptions: HashMap<OrganizationId, Subscription>,
    keys: HashMap<ApiKeyHash, ApiKeyRecord>,
    quotas: HashMap<(OrganizationId, i64), Quota>,
    campaigns: HashMap<CampaignKey, FoundCampaign>,
    accounts: HashMap<CampaignKey, AccountSummary>,
    uploads: HashMap<LeadId, Vec<ProposalFile>>,
    posted: HashMap<LeadId, Timestamp>,
}

/// The bids that count in a period.
struct Quota {
    period_end: i64,
    used: u64,
    is_changed: bool,
}

struct FoundCampaign {
    served: i64,
    last: i64,
    files: Vec<ProposalFile>,
}

async fn found(conn: &mut Conn, group: &[Arc<BidCommand>]) -> Result<Found, Failure> {
    type SubscriptionRow = (Col<OrganizationId>, Row<Subscription>);
    type KeyRow = (Col<ApiKeyHash>, Row<ApiKeyRecord>);
    type QuotaRow = (Col<OrganizationId>, i64, i64, Col<u64>);
    type CampaignRow = (
        Col<OrganizationId>,
        Col<CampaignId>,
        i64,
        i64,
        Col<Vec<ProposalFile>>,
    );
    type AccountRow = (Col<OrganizationId>, Col<CampaignId>, Row<AccountSummary>);

    let bids = || group.iter().map(|command| &command.bid);
    let lead_ids: Vec<&str> = bids().map(|bid| bid.lead_id.as_str()).collect();
    let organizations: BTreeSet<&str> = bids().map(|bid| bid.organization_id.as_str()).collect();
    let campaign_ids: BTreeSet<&str> = bids().map(|bid| bid.campaign_id.as_str()).collect();
    let hashes: BTreeSet<&str> = group.iter().filter_map(|command| command.key()).collect();
    let first = bids().map(|bid| bid.queued_at).min().unwrap_or_default();
    let last = bids().map(|bid| bid.queued_at).max().unwrap_or_default();

    // Found by their ids alone: see `pages`.
    let leads = leads::table
        .filter(one_of!(leads::id, &lead_ids))
        .order((leads::organization_id, leads::id))
        .select(Row::<Lead>::as_select());
    let leads: Vec<Row<Lead>> = for_update!(leads).load(conn).await?;
    let subscriptions = organizations::table
        .filter(one_of!(organizations::id, &organizations))
        .order(organizations::id)
        .select((organizations::id, Row::<Subscription>::as_select()));
    let subscriptions: Vec<SubscriptionRow> = for_key_share!(subscriptions).load(conn).await?;
    let keys = api_keys::table
        .filter(one_of!(api_keys::key_hash, hashes))
        .filter(api_keys::revoked_at.is_null())
        .order((api_keys::organization_id, api_keys::id))
        .select((api_keys::key_hash, Row::<ApiKeyRecord>::as_select()));
    let keys: Vec<KeyRow> = for_key_share!(keys).load(conn).await?;
    let quotas = quota_usage::table
        .filter(one_of!(quota_usage::organization_id, &organizations))
        .filter(quota_usage::period_start.le(last.as_millis()))
        .filter(quota_usage::period_end.gt(first.as_millis()))
        .order((quota_usage::organization_id, quota_usage::period_start))
        .select((
            quota_usage::organization_id,
            quota_usage::period_start,
            quota_usage::period_end,
            quota_usage::used,
        ));
    let quotas: Vec<QuotaRow> = for_update!(quotas).load(conn).await?;
    // No match of them comes or goes until the transaction ends.
    let campaigns = campaigns::table
        .filter(one_of!(campaigns::organization_id, &organizations))
        .filter(one_of!(campaigns::id, &campaign_ids))
        .order((campaigns::organization_id, campaigns::id))
        .select((
            campaigns::organization_id,
            campaigns::id,
            campaigns::generation,
            campaigns::last_generation,
            campaigns::attachments,
        ));
    let campaigns: Vec<CampaignRow> = for_share!(campaigns).load(conn).await?;
    let account = bidder_accounts::organization_id
        .eq(campaigns::organization_id)
        .and(bidder_accounts::id.nullable().eq(campaigns::account_id));
    let accounts: Vec<AccountRow> = campaigns::table
        .inner_join(bidder_accounts::table.on(account))
        .filter(one_of!(campaigns::organization_id, &organizations))
        .filter(one_of!(campaigns::id, &campaign_ids))
        .select((
            campaigns::organization_id,
            campaigns::id,
            Row::<AccountSummary>::as_select(),
        ))
        .load(conn)
        .await?;
    let files: Vec<(Col<LeadId>, Col<LeadAttachment>)> = lead_attachments::table
        .filter(one_of!(lead_attachments::organization_id, &organizations))
        .filter(one_of!(lead_attachments::lead_id, &lead_ids))
        .order((lead_attachments::lead_id, lead_attachments::position))
        .select((lead_attachments::lead_id, lead_attachments::attachment))
        .load(conn)
        .await?;
    let posted: Vec<(Col<LeadId>, i64)> = leads::table
        .inner_join(jobs::table.on(jobs::id.eq(leads::job_id)))
        .filter(one_of!(leads::id, &lead_ids))
        .select((leads::id, jobs::posted_at))
        .load(conn)
        .await?;

    let mut uploads: HashMap<LeadId, Vec<ProposalFile>> = HashMap::new();
    for (Col(lead), Col(file)) in files {
        uploads.entry(lead).or_default().push(file.into());
    }
    Ok(Found {
        leads: leads
            .into_iter()
            .map(|Row(lead)| (lead.id.clone(), lead))
            .collect(),
        subscriptions: subscriptions
            .into_iter()
            .map(|(organization, Row(subscription))| (organization.0, subscription))
            .collect(),
        keys: keys.into_iter().map(|(hash, Row(key))| (hash.0, key)).collect(),
        quotas: quotas
            .into_iter()
            .map(|(organization, start, period_end, used)| {
                let quota = Quota {
                    period_end,
                    used: used.0,
                    is_changed: false,
                };
                ((organization.0, start), quota)
            })
            .collect(),
        campaigns: campaigns
            .into_iter()
            .map(|(organization, campaign, served, last, files)| {
                let files = files.0;
                (
                    (organization.0, campaign.0),
                    FoundCampaign { served, last, files },
                )
            })
            .collect(),
        accounts: accounts
            .into_iter()
            .map(|(organization, campaign, account)| ((organization.0, campaign.0), account.0))
            .collect(),
        uploads,
        posted: posted
            .into_iter()
            .map(|(lead, at)| (lead.0, Timestamp::from_millis(at)))
            .collect(),
    })
}

/// A group's bids as they are judged one after the other.
struct Judged<'g> {
    found: Found,
    /// The organizations whose further bids go alone.
    alone: BTreeSet<&'g OrganizationId>,
    accepted: Vec<Accepted<'g>>,
}

struct Accepted<'g> {
    command: &'g BidCommand,
    account: AccountId,
    files: Encoded,
    period_start: i64,
}

impl<'g> Judged<'g> {
    /// In the order of [`accept_bid`]. `None`: the bid goes alone.
    fn judge(&mut self, command: &'g BidCommand) -> Option<AcceptBid> {
        let bid = &command.bid;
        let judged = if self.alone.contains(&bid.organization_id) {
            None
        } else {
            self.judged(command)
        };
        if judged.is_none() {
            self.alone.insert(&bid.organization_id);
        }
        judged
    }

    fn judged(&mut self, command: &'g BidCommand) -> Option<AcceptBid> {
        let (bid, found) = (&command.bid, &mut self.found);
        let of_organization = |lead: &&mut Lead| lead.organization_id == bid.organization_id;
        let lead = found.leads.get_mut(&bid.lead_id).filter(of_organization)?;
        if lead.status == LeadStatus::Queued
            && self
                .accepted
                .iter()
                .any(|accepted| accepted.command.bid.lead_id == bid.lead_id)
        {
            return None;
        }
        let is_known = match &command.authorization {
            Authorization::ApiKey(hash) => found.keys.get(hash).is_some_and(|key| {
                key.organization_id == bid.organization_id && key.works_at(command.activity.at)
            }),
            Authorization::Subscription => true,
            Authorization::Session(_) => return None,
        };
        let subscription = found.subscriptions.get(&bid.organization_id);
        let Some(subscription) = subscription.filter(|_| is_known) else {
            return Some(AcceptBid::NotAuthorized(Unauthorized::Ended));
        };
        if !subscription.is_active() {
            return Some(AcceptBid::NotAuthorized(Unauthorized::SubscriptionLapsed));
        }
        let campaign_key = (bid.organization_id.clone(), bid.campaign_id.clone());
        let campaign = found.campaigns.get(&campaign_key);
        let Some(campaign) = campaign.filter(|_| lead.campaign_id == bid.campaign_id) else {
            return Some(AcceptBid::LeadUnknown);
        };
        if !lead.status.is_open() {
            return Some(AcceptBid::LeadNotNew(lead.status));
        }
        let account = found.accounts.get(&campaign_key);
        let Some(account) = account.filter(|account| account.connected) else {
            return Some(AcceptBid::NoConnectedAccount);
        };
        let period = period_at(subscription, bid.queued_at);
        let quota_key = (bid.organization_id.clone(), period.start.as_millis());
        let quota = found.quotas.get_mut(&quota_key);
        let quota = quota.filter(|quota| quota.period_end == period.end.as_millis())?;
        let usage = QuotaUsage {
            used: quota.used,
            limit: u64::from(subscription.proposal_limit),
            period_end: period.end,
        };
        if usage.is_used_up() {
            return Some(AcceptBid::QuotaUsedUp(usage));
        }
        let files = found.uploads.get(&bid.lead_id).unwrap_or(&campaign.files);
        // What cannot be written is reported by the single command.
        let files = files.written().ok()?;
        quota.used += 1;
        quota.is_changed = true;
        lead.status = LeadStatus::Queued;
        self.accepted.push(Accepted {
            command,
            account: account.id.clone(),
            files,
            period_start: period.start.as_millis(),
        });
        Some(AcceptBid::Accepted)
    }

    async fn store(self, conn: &mut Conn) -> Result<(), Failure> {
        let accepted = &self.accepted;
        if accepted.is_empty() {
            return Ok(());
        }
        let quotas: Vec<_> = self
            .found
            .quotas
            .iter()
            .filter(|(_, quota)| quota.is_changed)
            .collect();
        Batch::of("quota_usage", &quotas)
            .with(quota_usage::organization_id, |((organization, _), _)| {
                organization.as_str()
            })
            .with(quota_usage::period_start, |((_, start), _)| *start)
            .with(quota_usage::used, |(_, quota)| stored(quota.used))
            .run(conn, Write::Update(2))
            .await?;
        Batch::of("bids", accepted)
            .with_record(|accepted| &accepted.command.bid)?
            .with(bids::account_id, |accepted| accepted.account.as_str())
            .with(bids::attachments, |accepted| accepted.files.clone())
            .with(bids::period_start, |accepted| accepted.period_start)
            .with(bids::status, |_| LeadStatus::Queued.as_str())
            // Due at once.
            .with(bids::next_attempt_at, |accepted| {
                accepted.command.bid.queued_at.as_millis()
            })
            .with(bids::attempts, |_| 0_i64)
            .with(bids::answer_outstanding, |_| false)
            .with(bids::boost_connects, |_| 0_i64)
            .with(bids::connects_spent, |_| 0_i64)
            .run(conn, Write::Insert)
            .await?;
        Batch::of("leads", accepted)
            .with(leads::organization_id, |accepted| {
                accepted.command.bid.organization_id.as_str()
            })
            .with(leads::id, |accepted| accepted.command.bid.lead_id.as_str())
            .with(leads::status, |_| LeadStatus::Queued.as_str())
            .with(leads::bid_id, |accepted| accepted.command.bid.id.to_string())
            .run(conn, Write::Update(2))
            .await?;
        Batch::of("activities", accepted)
            .with_record(|accepted| &accepted.command.activity)?
            .run(conn, Write::InsertNew)
            .await?;
        self.show_statuses(conn).await?;
        let mut tallies: BTreeMap<Timestamp, Tally> = BTreeMap::new();
        for accepted in accepted {
            let bid = &accepted.command.bid;
            let posted_at = self.found.posted.get(&bid.lead_id).copied();
            let tally = tallies
                .entry(StatisticsStep::Hour.start(bid.queued_at))
                .or_default();
            tally.bid(&bid.organization_id, &bid.campaign_id, bid.queued_at, posted_at);
        }
        for (hour, tally) in tallies {
            add_up(conn, &tally, hour, None).await?;
        }
        Ok(())
    }

    /// Gives the leads' matches their status, in the served list and in one that is being written.
    async fn show_statuses(&self, conn: &mut Conn) -> Result<(), Failure> {
        let mut shown = Vec::new();
        for accepted in &self.accepted {
            let bid = &accepted.command.bid;
            let campaign = (bid.organization_id.clone(), bid.campaign_id.clone());
            if let Some(campaign) = self.found.campaigns.get(&campaign) {
                shown.extend((campaign.served..=campaign.last).map(|generation| (bid, generation)));
            }
        }
        Batch::of("matches", &shown)
            .with(matches::organization_id, |(bid, _)| bid.organization_id.as_str())
            .with(matches::campaign_id, |(bid, _)| bid.campaign_id.as_str())
            .with(matches::generation, |(_, generation)| *generation)
            .with(matches::job_id, |(bid, _)| bid.job_id.as_str())
            .with(matches::lead_status, |_| LeadStatus::Queued.as_str())
            .run(conn, Write::Update(4))
            .await?;
        Ok(())
    }
}
