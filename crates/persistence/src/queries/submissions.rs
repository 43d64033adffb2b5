//! The queue of accepted bids: claimed under a lease, one bid of an account at a time, and ended once (decision B4).
//!
//! | file | owns |
//! |---|---|
//! | [`due`] | which bids may be claimed next |
//! | [`ends`] | recording their ends |
//! | [`unsettled`] | bids for operators |

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bidloop_domain::model::{
    AccountId, Authorization, BidId, JobPost, Lead, LeadStatus, MarketplaceToken, OrganizationId, Proposal,
    QueuedBid, Secret, Timestamp,
};
use bidloop_domain::port::{
    AccountReading, ClaimUnanswered, ClaimedBid, FinishBid, FinishBy, LeaseOwner, StoreError,
    SubmissionStore, WaitingBid, WaitingBidsQuery,
};
use diesel::dsl::{auto_type, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::Bool;

use self::due::{Accounts, DueBid, due};
use self::ends::{BidEnds, EndCommand};
use super::prelude::*;
use crate::grouping::Grouped as _;
use crate::records::unreadable_token;
use crate::sealing::{Place, Sealer};

pub(super) mod due;
pub(super) mod ends;
mod unsettled;

/// The tables' names in the quarantine.
const BIDS: &str = "bids";
const ACCOUNTS: &str = "bidder_accounts";
/// How long a claim looks on for bids after it found only some that cannot be claimed. Those that came meanwhile are due for
/// the next one.
const LONGEST_CLAIM: Duration = Duration::from_secs(1);

/// Changes a bid as long as the claim on it holds. Yields whether it does.
macro_rules! change_claimed {
    ($conn:expr, $claim:expr, $changes:expr) => {
        diesel::update(claimed_bid($claim))
            .set($changes)
            .execute($conn)
            .await?
            == 1
    };
}

#[async_trait]
impl SubmissionStore for Store {
    async fn claim(
        &self,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
        limit: u32,
    ) -> Result<Vec<ClaimedBid>, StoreError> {
        let unreadable = self.quarantine.ids(ACCOUNTS);
        let unreadable = unreadable.iter().filter_map(|key| key.split_once('/'));
        let mut taken: Accounts = unreadable
            .map(|(organization, account)| (organization.to_owned(), account.to_owned()))
            .collect();
        let began = Instant::now();
        loop {
            let (looking, from) = (self.quarantine.clone(), Arc::clone(&self.bids_due_from));
            let known = taken.clone();
            let chosen = self
                .read(async move |conn: &mut Conn| due(conn, &looking, &from, known, now, limit).await)
                .await?;
            if chosen.is_empty() {
                return Ok(Vec::new());
            }
            let (owner, quarantine, sealer) = (owner.clone(), self.quarantine.clone(), self.sealer.clone());
            let found = chosen.clone();
            let claimed = self
                .write(async move |conn: &mut Conn| {
                    claim(conn, &quarantine, &sealer, &found, &owner, now, lease_until).await
                })
                .await?;
            if !claimed.is_empty() || began.elapsed() > LONGEST_CLAIM {
                return Ok(claimed);
            }
            // Bids that turned out to be unreadable hide none that is due, nor do accounts that turned out to be taken or
            // unreadable.
            let quarantine = &self.quarantine;
            let of_no_more = chosen.into_iter().filter(|(organization, account, bid)| {
                !quarantine.holds(BIDS, organization, bid)
                    || quarantine.holds(ACCOUNTS, organization, account)
            });
            taken.extend(of_no_more.map(|(organization, account, _)| (organization, account)));
        }
    }

    async fn renew(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        lease_until: Timestamp,
    ) -> Result<bool, StoreError> {
        let claim = Claim::new(organization, bid, owner);
        self.write(async move |conn: &mut Conn| {
            let renewed = bids::lease_until.eq(lease_until.as_millis());
            Ok(change_claimed!(conn, &claim, renewed))
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
        let (claim, proposal) = (Claim::new(organization, bid, owner), Col(proposal.clone()));
        self.write(async move |conn: &mut Conn| {
            let begun = (bids::proposal.eq(&proposal), bids::answer_outstanding.eq(true));
            Ok(change_claimed!(conn, &claim, begun))
        })
        .await
    }

    async fn postpone(
        &self,
        organization: &OrganizationId,
        bid: BidId,
        owner: &LeaseOwner,
        next_attempt: Timestamp,
        answer_outstanding: Option<bool>,
    ) -> Result<bool, StoreError> {
        let claim = Claim::new(organization, bid, owner);
        self.write(async move |conn: &mut Conn| {
            let postponed = (
                bids::next_attempt_at.eq(next_attempt.as_millis()),
                answer_outstanding.map(|is| bids::answer_outstanding.eq(is)),
                bids::attempts.eq(bids::attempts + 1),
                no_lease(),
            );
            Ok(change_claimed!(conn, &claim, postponed))
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
        let claim = Claim::new(organization, bid, owner);
        let (refused_token, sealer) = (refused_token.clone(), self.sealer.clone());
        self.write(async move |conn: &mut Conn| {
            let Some(account) = claim.account(conn).await? else {
                return Ok(false);
            };
            lock_account(conn, &sealer, &claim.organization, &account).await?;
            if !change_claimed!(conn, &claim, no_lease()) {
                return Ok(false);
            }
            disconnect(conn, &sealer, &claim.organization, &account, &refused_token).await?;
            Ok(true)
        })
        .await
    }

    async fn finish(&self, finish: &FinishBid, owner: &LeaseOwner) -> Result<bool, StoreError> {
        let ended = self.end_with_others(EndCommand::new(None, finish, owner)).await?;
        Ok(ended == FinishBy::Ended)
    }

    async fn finish_by(
        &self,
        authorization: &Authorization,
        finish: &FinishBid,
        owner: &LeaseOwner,
    ) -> Result<FinishBy, StoreError> {
        let end = EndCommand::new(Some(authorization), finish, owner);
        BidEnds(self.clone()).alone(end).await
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

    async fn claim_unanswered(
        &self,
        bid: BidId,
        owner: &LeaseOwner,
        now: Timestamp,
        lease_until: Timestamp,
    ) -> Result<ClaimUnanswered, StoreError> {
        let (owner, quarantine) = (owner.clone(), self.quarantine.clone());
        self.write(async move |conn: &mut Conn| {
            unsettled::claim_unanswered(conn, &quarantine, bid, &owner, now, lease_until).await
        })
        .await
    }

    async fn waiting(&self, query: &WaitingBidsQuery) -> Result<Vec<WaitingBid>, StoreError> {
        let (query, quarantine) = (query.clone(), self.quarantine.clone());
        self.read(async move |conn: &mut Conn| unsettled::waiting(conn, &quarantine, &query).await)
            .await
    }

    async fn queued_count(&self) -> Result<u64, StoreError> {
        self.read(async move |conn: &mut Conn| count!(conn, bids::table.filter(is_queued())))
            .await
    }
}

/// In the words of the partial indexes on queued bids.
fn is_queued() -> SqlLiteral<Bool> {
    sql("bids.status = 'queued'")
}

/// In the words of the partial index on bids that are being worked on.
fn is_leased() -> SqlLiteral<Bool> {
    sql("bids.status = 'queued' AND bids.lease_until IS NOT NULL")
}

#[auto_type]
fn no_lease() -> _ {
    let nobody: Option<&'static str> = None;
    let never: Option<i64> = None;
    (bids::lease_owner.eq(nobody), bids::lease_until.eq(never))
}

/// Whether a bid is past its deadline, without an answer outstanding: it is to be ended without another attempt.
#[auto_type]
fn is_given_up(now: i64) -> _ {
    bids::deadline.le(now).and(bids::answer_outstanding.eq(false))
}

/// Whether a bid is to be looked at again, if its account can be used or it is given up.
#[auto_type]
fn is_due(now: i64) -> _ {
    let given_up: is_given_up = is_given_up(now);
    bids::next_attempt_at.le(now).or(given_up)
}

/// A process's claim on a bid.
#[derive(Debug, Clone)]
struct Claim {
    organization: String,
    bid: String,
    owner: String,
}

impl Claim {
    fn new(organization: &OrganizationId, bid: BidId, owner: &LeaseOwner) -> Self {
        Self {
            organization: organization.to_string(),
            bid: bid.to_string(),
            owner: owner.to_string(),
        }
    }

    /// The bid's account, if the claim holds.
    async fn account(&self, conn: &mut Conn) -> Result<Option<String>, Failure> {
        let account = claimed_bid(self).select(bids::account_id);
        Ok(account.first(conn).await.optional()?)
    }
}

/// The bid, as long as the claim holds.
#[auto_type]
fn claimed_bid<'q>(claim: &'q Claim) -> _ {
    let key: (&'q str, &'q str) = (&claim.organization, &claim.bid);
    let is_queued: SqlLiteral<Bool> = is_queued();
    let owner: &'q str = &claim.owner;
    bids::table
        .find(key)
        .filter(is_queued)
        .filter(bids::lease_owner.eq(owner))
}

async fn claim(
    conn: &mut Conn,
    quarantine: &Quarantine,
    sealer: &Sealer,
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
        // Another claim of a bid of this account waits here.
        let stored = lock_account(conn, sealer, organization, account).await?;
        let leased = bids::table
            .filter(bids::organization_id.eq(organization))
            .filter(bids::account_id.eq(account))
            .filter(is_leased())
            .filter(bids::lease_until.gt(now.as_millis()));
        if exists!(conn, leased) {
            continue;
        }
        let set_aside = |why: &str| {
            quarantine.set_aside(&UnreadableRow::of_organization(BIDS, organization, bid, why));
        };
        let (token, connected) = match stored {
            Some((Ok(token), connected)) => (Some(token), connected),
            Some((Err(why), _)) => {
                quarantine.set_aside(&unreadable_token(organization, account, &why));
                set_aside("its account cannot be read");
                continue;
            }
            None => (None, false),
        };
        let leased = diesel::update(bids::table.find((organization, bid)))
            .filter(is_queued())
            .filter(is_due(now.as_millis()))
            .filter(connected.into_sql::<Bool>().or(is_given_up(now.as_millis())))
            .set((
                bids::lease_owner.eq(owner.as_str()),
                bids::lease_until.eq(lease_until.as_millis()),
            ))
            .execute(conn)
            .await?;
        if leased == 1 {
            match load_claimed(conn, quarantine, organization, bid, owner, token).await? {
                Ok(bid) => claimed.push(bid),
                Err(why) => {
                    // It is not sent, since its outcome could not be recorded.
                    diesel::update(bids::table.find((organization, bid)))
                        .set(no_lease())
                        .execute(conn)
                        .await?;
                    set_aside(&why);
                }
            }
        }
    }
    claimed.sort_by_key(|claimed: &ClaimedBid| {
        let id = claimed.bid.id.to_string();
        chosen.iter().position(|(_, _, bid)| *bid == id)
    });
    Ok(claimed)
}

/// The bid with what its submission and the recording of its outcome need, or why that cannot be read.
async fn load_claimed(
    conn: &mut Conn,
    quarantine: &Quarantine,
    organization: &str,
    bid: &str,
    owner: &LeaseOwner,
    token: Option<MarketplaceToken>,
) -> Result<Result<ClaimedBid, String>, Failure> {
    type ClaimedRow = (Tried<QueuedBid>, Option<Tried<Lead>>, Option<Attempt<String>>);
    let lead = leads::organization_id
        .eq(bids::organization_id)
        .and(leads::id.eq(bids::lead_id));
    let (queued, lead, job): ClaimedRow = bids::table
        .left_join(leads::table.on(lead))
        .left_join(jobs::table.on(jobs::id.eq(bids::job_id)))
        .filter(bids::organization_id.eq(organization).and(bids::id.eq(bid)))
        .select((
            Tried::<QueuedBid>::as_select(),
            Option::<Tried<Lead>>::as_select(),
            jobs::json.nullable(),
        ))
        .first(conn)
        .await?;
    let queued = match queued.0 {
        Ok(queued) => queued,
        Err(row) => return Ok(Err(row.why)),
    };
    if lead.and_then(|lead| lead.or_aside(quarantine)).is_none() {
        return Ok(Err("its lead cannot be read".to_owned()));
    }
    let job = job.map_or_else(|| Err("it is not stored".to_owned()), |job| job.0);
    let post = match job.and_then(|json| JobPost::parse(&json).map_err(|fault| fault.to_string())) {
        Ok(post) => post,
        Err(why) => {
            quarantine.set_aside(&UnreadableRow::new("jobs", queued.job_id.as_str(), why));
            return Ok(Err("its job cannot be read".to_owned()));
        }
    };
    let queued_at = queued.queued_at.as_millis();
    let accepted_earlier = bids::queued_at
        .lt(queued_at)
        .or(bids::queued_at.eq(queued_at).and(bids::id.lt(bid)));
    let is_submitted = bids::status.eq(LeadStatus::Submitted.as_str());
    let on_the_same_job = bids::table
        .filter(bids::organization_id.eq(organization))
        .filter(bids::account_id.eq(queued.account_id.as_str()))
        .filter(bids::job_id.eq(queued.job_id.as_str()))
        .filter(bids::id.ne(bid))
        .filter(sql::<Bool>("bids.status IN ('queued', 'submitted')"))
        .filter(is_submitted.or(accepted_earlier));
    let job_taken = exists!(conn, on_the_same_job);
    Ok(Ok(ClaimedBid {
        bid: queued,
        owner: owner.clone(),
        token,
        job_taken,
        post,
    }))
}

/// The account's token, or why it cannot be read, and whether it is connected, which no other transaction changes until
/// this one ends.
async fn lock_account(
    conn: &mut Conn,
    sealer: &Sealer,
    organization: &str,
    account: &str,
) -> Result<Option<(Result<MarketplaceToken, String>, bool)>, Failure> {
    let row = bidder_accounts::table
        .find((organization, account))
        .select((bidder_accounts::token, bidder_accounts::connected));
    let row: Option<(Attempt<Col<Secret<String>>>, bool)> = for_update!(row).first(conn).await.optional()?;
    let place = Place::token(organization, account);
    Ok(row.map(|(Attempt(stored), connected)| {
        let token = stored.and_then(|Col(stored)| sealer.open_token(place, &stored));
        (token, connected)
    }))
}

/// Disconnects the account, unless it has another token than the refused one by now.
async fn disconnect(
    conn: &mut Conn,
    sealer: &Sealer,
    organization: &str,
    account: &str,
    refused_token: &MarketplaceToken,
) -> Result<(), Failure> {
    // Two seals of one token differ, so the database cannot compare them.
    let stored = lock_account(conn, sealer, organization, account).await?;
    if stored.is_none_or(|(token, _)| token.as_ref() != Ok(refused_token)) {
        return Ok(());
    }
    diesel::update(bidder_accounts::table.find((organization, account)))
        .set(bidder_accounts::connected.eq(false))
        .execute(conn)
        .await?;
    Ok(())
}
