//! The queue of accepted bids: claimed under a lease, one at a time an account, ended once (decision B4).

use std::collections::BTreeMap;

use async_trait::async_trait;
use bidloop_domain::model::{
    AccountId, BidId, LeadStatus, MarketplaceToken, OrganizationId, Proposal, Timestamp,
};
use bidloop_domain::port::{AccountReading, ClaimedBid, FinishBid, LeaseOwner, StoreError, SubmissionStore};
use diesel::dsl::{exists, not, sql};
use diesel::prelude::*;
use diesel::sql_types::Bool;
use diesel_async::RunQueryDsl;

use super::activities::insert_activity;
use super::events::queue_event;
use super::leads::lock::locked_lead_row;
use super::quota::give_back_unit;
use super::{Conn, Store};
use crate::columns::{FreeText, Json};
use crate::failure::Failure;
use crate::rows::QueuedBidRow;
use crate::schema::{bidder_accounts, bids, jobs, leads};

/// Due bids looked at in one go for each that may be claimed: several may be of one account.
const LOOKED_AT_PER_CLAIM: u32 = 8;

#[async_trait]
impl SubmissionStore for Store {
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedBid>, StoreError> {
        let chosen = self
            .read(async move |conn: &mut Conn| due(conn, now, limit).await)
            .await?;
        if chosen.is_empty() {
            return Ok(Vec::new());
        }
        let owner = owner.clone();
        self.write(async move |conn: &mut Conn| claim(conn, &chosen, &owner, now, lease_until).await)
            .await
    }

    async fn renew(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let held = Held::new(organization, bid, owner);
        self.write(async move |conn: &mut Conn| {
            let renewed = diesel::update(bids::table.find(held.key()))
                .filter(sql::<Bool>("bids.status = 'queued'"))
                .filter(bids::lease_owner.eq(&held.owner))
                .set(bids::lease_until.eq(lease_until.as_millis()))
                .execute(conn)
                .await?;
            Ok(renewed == 1)
        })
        .await
    }

    async fn begin_attempt(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        proposal: &Proposal,
    ) -> Result<bool, StoreError> {
        let (held, proposal) = (Held::new(organization, bid, owner), Json(proposal.clone()));
        self.write(async move |conn: &mut Conn| {
            let begun = diesel::update(bids::table.find(held.key()))
                .filter(sql::<Bool>("bids.status = 'queued'"))
                .filter(bids::lease_owner.eq(&held.owner))
                .set((bids::proposal.eq(&proposal), bids::answer_outstanding.eq(true)))
                .execute(conn)
                .await?;
            Ok(begun == 1)
        })
        .await
    }

    async fn postpone(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        next_attempt: Timestamp,
        answer_outstanding: bool,
    ) -> Result<bool, StoreError> {
        let held = Held::new(organization, bid, owner);
        self.write(async move |conn: &mut Conn| {
            let postponed = diesel::update(bids::table.find(held.key()))
                .filter(sql::<Bool>("bids.status = 'queued'"))
                .filter(bids::lease_owner.eq(&held.owner))
                .set((
                    bids::next_attempt_at.eq(next_attempt.as_millis()),
                    bids::answer_outstanding.eq(answer_outstanding),
                    bids::attempts.eq(bids::attempts + 1),
                    bids::lease_owner.eq(None::<String>),
                    bids::lease_until.eq(None::<i64>),
                ))
                .execute(conn)
                .await?;
            Ok(postponed == 1)
        })
        .await
    }

    async fn disconnect_account(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        refused_token: &MarketplaceToken,
    ) -> Result<bool, StoreError> {
        let held = Held::new(organization, bid, owner);
        let refused_token = refused_token.clone();
        self.write(async move |conn: &mut Conn| {
            let Some(account) = held.account(conn).await? else {
                return Ok(false);
            };
            lock_account_row(conn, &held.organization, &account).await?;
            let given_up = diesel::update(bids::table.find(held.key()))
                .filter(sql::<Bool>("bids.status = 'queued'"))
                .filter(bids::lease_owner.eq(&held.owner))
                .set((
                    bids::lease_owner.eq(None::<String>),
                    bids::lease_until.eq(None::<i64>),
                ))
                .execute(conn)
                .await?;
            if given_up == 0 {
                return Ok(false);
            }
            disconnect(conn, &held.organization, &account, &refused_token).await?;
            Ok(true)
        })
        .await
    }

    async fn finish(&self, finish: &FinishBid, owner: &LeaseOwner) -> Result<bool, StoreError> {
        let held = Held::new(&finish.organization_id, finish.bid_id, owner);
        let finish = finish.clone();
        self.write(async move |conn: &mut Conn| end(conn, &finish, &held).await)
            .await
    }

    async fn record_account(
        &self,
        organization: &OrganizationId,
        account: &AccountId,
        reading: &AccountReading,
    ) -> Result<(), StoreError> {
        let (organization, account, reading) = (organization.clone(), account.clone(), reading.clone());
        self.write(async move |conn: &mut Conn| {
            let earlier = bidder_accounts::read_at
                .is_null()
                .or(bidder_accounts::read_at.le(reading.at.as_millis()));
            diesel::update(bidder_accounts::table.find((organization.as_str(), account.as_str())))
                .filter(earlier)
                .set((
                    bidder_accounts::profile_hourly_rate.eq(reading.profile_hourly_rate),
                    bidder_accounts::connects_balance.eq(reading.connects_balance.as_i64()),
                    bidder_accounts::read_at.eq(reading.at.as_millis()),
                ))
                .execute(conn)
                .await?;
            Ok(())
        })
        .await
    }

    async fn queued_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| {
            let count: i64 = bids::table
                .filter(sql::<Bool>("bids.status = 'queued'"))
                .count()
                .get_result(conn)
                .await?;
            Ok(u64::try_from(count).unwrap_or(0))
        })
        .await
    }
}

/// A bid that a process says it holds.
#[derive(Debug, Clone)]
struct Held {
    organization: String,
    bid: String,
    owner: String,
}

impl Held {
    fn new(organization: &OrganizationId, bid: BidId, owner: &LeaseOwner) -> Self {
        Self {
            organization: organization.to_string(),
            bid: bid.to_string(),
            owner: owner.to_string(),
        }
    }

    fn key(&self) -> (&str, &str) {
        (&self.organization, &self.bid)
    }

    /// The bid's account, if the bid is held.
    async fn account(&self, conn: &mut Conn) -> Result<Option<String>, Failure> {
        let account = bids::table
            .find(self.key())
            .filter(sql::<Bool>("bids.status = 'queued'"))
            .filter(bids::lease_owner.eq(&self.owner))
            .select(bids::account_id)
            .first(conn)
            .await
            .optional()?;
        Ok(account)
    }
}

/// A bid that may be claimed: organization, account, bid.
type DueBid = (String, String, String);

/// Due bids, the longest due first, one an account. An account that has its one is left out of the next look, so
/// that a long queue of one account hides no other. A hint: claiming decides.
async fn due(conn: &mut Conn, now: Timestamp, limit: u32) -> Result<Vec<DueBid>, Failure> {
    let look = i64::from(limit.saturating_mul(LOOKED_AT_PER_CLAIM));
    let mut taken: Vec<(String, String)> = bids::table
        .filter(sql::<Bool>("bids.status = 'queued'"))
        .filter(bids::lease_until.gt(now.as_millis()))
        .select((bids::organization_id, bids::account_id))
        .distinct()
        .load(conn)
        .await?;
    let mut chosen = Vec::new();
    while chosen.len() < limit as usize {
        let usable = bidder_accounts::connected.assume_not_null().eq(true);
        let given_up = bids::deadline
            .le(now.as_millis())
            .and(bids::answer_outstanding.eq(false));
        let mut query = bids::table
            .left_join(
                bidder_accounts::table.on(bidder_accounts::organization_id
                    .eq(bids::organization_id)
                    .and(bidder_accounts::id.eq(bids::account_id))),
            )
            .filter(sql::<Bool>("bids.status = 'queued'"))
            .filter(bids::next_attempt_at.le(now.as_millis()).or(given_up))
            .filter(usable.or(given_up))
            .order((bids::next_attempt_at, bids::queued_at, bids::id))
            .limit(look)
            .select((bids::organization_id, bids::account_id, bids::id))
            .into_boxed();
        for (organization, account) in &taken {
            let this_one = bids::organization_id
                .eq(organization.clone())
                .and(bids::account_id.eq(account.clone()));
            query = query.filter(not(this_one));
        }
        let rows: Vec<DueBid> = query.load(conn).await?;
        let complete = i64::try_from(rows.len()).unwrap_or(i64::MAX) < look;
        for (organization, account, bid) in rows {
            let key = (organization, account);
            if !taken.contains(&key) && chosen.len() < limit as usize {
                chosen.push((key.0.clone(), key.1.clone(), bid));
                taken.push(key);
            }
        }
        if complete {
            break;
        }
    }
    Ok(chosen)
}

async fn claim(
    conn: &mut Conn,
    chosen: &[DueBid],
    owner: &LeaseOwner,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<Vec<ClaimedBid>, Failure> {
    let in_lock_order: BTreeMap<(&str, &str), &str> = chosen
        .iter()
        .map(|(organization, account, bid)| ((&**organization, &**account), &**bid))
        .collect();
    let mut claimed = Vec::with_capacity(chosen.len());
    for ((organization, account), bid) in in_lock_order {
        // Whoever else would claim a bid of this account waits here.
        let stored = lock_account_row(conn, organization, account).await?;
        let account_is_busy: bool = diesel::select(exists(
            bids::table
                .filter(bids::organization_id.eq(organization))
                .filter(bids::account_id.eq(account))
                .filter(sql::<Bool>("bids.status = 'queued'"))
                .filter(bids::lease_until.gt(now.as_millis())),
        ))
        .get_result(conn)
        .await?;
        if account_is_busy {
            continue;
        }
        let given_up = bids::deadline
            .le(now.as_millis())
            .and(bids::answer_outstanding.eq(false));
        let connected = stored.as_ref().is_some_and(|(_, connected)| *connected);
        let leased = diesel::update(bids::table.find((organization, bid)))
            .filter(sql::<Bool>("bids.status = 'queued'"))
            .filter(bids::next_attempt_at.le(now.as_millis()).or(given_up))
            .filter(connected.into_sql::<Bool>().or(given_up))
            .set((
                bids::lease_owner.eq(owner.as_str()),
                bids::lease_until.eq(lease_until.as_millis()),
            ))
            .execute(conn)
            .await?;
        if leased == 1 {
            claimed.push(load_claimed(conn, organization, bid, owner, stored).await?);
        }
    }
    claimed.sort_by_key(|claimed: &ClaimedBid| {
        chosen
            .iter()
            .position(|(_, _, bid)| *bid == claimed.bid.id.to_string())
    });
    Ok(claimed)
}

async fn load_claimed(
    conn: &mut Conn,
    organization: &str,
    bid: &str,
    owner: &LeaseOwner,
    account: Option<(FreeText, bool)>,
) -> Result<ClaimedBid, Failure> {
    let (row, job_json): (QueuedBidRow, String) = bids::table
        .inner_join(jobs::table.on(jobs::id.eq(bids::job_id)))
        .filter(bids::organization_id.eq(organization).and(bids::id.eq(bid)))
        .select((QueuedBidRow::as_select(), jobs::json))
        .first(conn)
        .await?;
    let accepted_earlier = bids::queued_at
        .lt(row.queued_at)
        .or(bids::queued_at.eq(row.queued_at).and(bids::id.lt(&row.id)));
    let job_taken: bool = diesel::select(exists(
        bids::table
            .filter(bids::organization_id.eq(organization))
            .filter(bids::account_id.eq(&row.account_id))
            .filter(bids::job_id.eq(&row.job_id))
            .filter(bids::id.ne(&row.id))
            .filter(sql::<Bool>("bids.status IN ('queued', 'submitted')"))
            .filter(
                bids::status
                    .eq(LeadStatus::Submitted.as_str())
                    .or(accepted_earlier),
            ),
    ))
    .get_result(conn)
    .await?;
    Ok(ClaimedBid {
        bid: row.into_bid()?,
        owner: owner.clone(),
        token: account.map(|(token, _)| MarketplaceToken::unchecked(token.0)),
        job_taken,
        job_json,
    })
}

async fn end(conn: &mut Conn, finish: &FinishBid, held: &Held) -> Result<bool, Failure> {
    let organization = &finish.organization_id;
    let bid: Option<(String, String, i64, i64)> = bids::table
        .find(held.key())
        .filter(sql::<Bool>("bids.status = 'queued'"))
        .filter(bids::lease_owner.eq(&held.owner))
        .select((
            bids::lead_id,
            bids::account_id,
            bids::queued_at,
            bids::period_start,
        ))
        .first(conn)
        .await
        .optional()?;
    let Some((lead, account, queued_at, period_start)) = bid else {
        return Ok(false);
    };
    let lead = bidloop_domain::model::LeadId::from_caller(&lead);
    let Some(lead) = locked_lead_row(conn, organization, &lead).await? else {
        return Err(Failure::Corrupt(format!("bid {} has no lead", held.bid)));
    };
    // Nobody else ends a bid whose lead is locked; the lease may have gone before that.
    if held.account(conn).await?.is_none() {
        return Ok(false);
    }
    let outcome = &finish.outcome;
    let status = outcome.status();
    let reason = outcome.reason().cloned().map(Json);
    let proposal_id = outcome.proposal_id().map(FreeText::from);
    if status != LeadStatus::Submitted {
        let (queued_at, period_start) = (
            Timestamp::from_millis(queued_at),
            Timestamp::from_millis(period_start),
        );
        give_back_unit(conn, organization, queued_at, period_start).await?;
    }
    if let Some(refused_token) = &finish.refused_token {
        disconnect(conn, organization.as_str(), &account, refused_token).await?;
    }
    let ended = diesel::update(bids::table.find(held.key()))
        .filter(sql::<Bool>("bids.status = 'queued'"))
        .filter(bids::lease_owner.eq(&held.owner))
        .set((
            bids::status.eq(status.as_str()),
            bids::answer_outstanding.eq(false),
            bids::attempts.eq(bids::attempts + 1),
            bids::lease_owner.eq(None::<String>),
            bids::lease_until.eq(None::<i64>),
            bids::reason.eq(&reason),
            bids::proposal_id.eq(&proposal_id),
            bids::submitted_at.eq(outcome.submitted_at().map(Timestamp::as_millis)),
            bids::terms.eq(outcome.terms().map(Json)),
            bids::boost_connects.eq(outcome.boost_connects().as_i64()),
            bids::connects_spent.eq(outcome.connects_spent().as_i64()),
            bids::ended_at.eq(finish.at.as_millis()),
        ))
        .execute(conn)
        .await?;
    if ended == 0 {
        // Taken over between the look and the update: roll back what was given back, and start over.
        return Err(Failure::Unavailable(
            "the bid was taken over meanwhile".to_owned(),
        ));
    }
    diesel::update(leads::table.find((lead.organization_id.as_str(), lead.id.as_str())))
        .set((
            leads::status.eq(status.as_str()),
            leads::reason.eq(reason),
            leads::proposal_id.eq(proposal_id.or(lead.proposal_id)),
        ))
        .execute(conn)
        .await?;
    insert_activity(conn, &finish.activity).await?;
    queue_event(conn, &finish.event, finish.at).await?;
    Ok(true)
}

/// The account's token and whether it is connected, which nobody else changes until the transaction ends.
async fn lock_account_row(
    conn: &mut Conn,
    organization: &str,
    account: &str,
) -> Result<Option<(FreeText, bool)>, Failure> {
    let row = bidder_accounts::table
        .find((organization, account))
        .select((bidder_accounts::token, bidder_accounts::connected));
    Ok(for_update!(row).first(conn).await.optional()?)
}

/// Disconnects the account, unless it has another token than the refused one by now.
async fn disconnect(
    conn: &mut Conn,
    organization: &str,
    account: &str,
    refused_token: &MarketplaceToken,
) -> Result<(), Failure> {
    diesel::update(bidder_accounts::table.find((organization, account)))
        .filter(bidder_accounts::token.eq(FreeText::from(refused_token.expose())))
        .set(bidder_accounts::connected.eq(false))
        .execute(conn)
        .await?;
    Ok(())
}
