//! Queued bids for operators: listed, and claimed to be settled (decision B4).

use bidloop_domain::model::{BidId, Timestamp};
use bidloop_domain::port::{AccountState, ClaimUnanswered, LeaseOwner, WaitingBid, WaitingBidsQuery};

use super::super::prelude::*;
use super::{is_queued, load_claimed};

/// Claims the bid as a submitter would: with its account locked, so that it is claimed by one of them.
pub(super) async fn claim_unanswered(
    conn: &mut Conn,
    quarantine: &Quarantine,
    bid: BidId,
    owner: &LeaseOwner,
    now: Timestamp,
    lease_until: Timestamp,
) -> Result<ClaimUnanswered, Failure> {
    let bid = bid.to_string();
    // No index has the id alone. Queued bids have one of their own, and are few.
    let found: Option<(String, String)> = bids::table
        .filter(is_queued())
        .filter(bids::id.eq(bid.as_str()))
        .filter(bids::answer_outstanding.eq(true))
        .select((bids::organization_id, bids::account_id))
        .first(conn)
        .await
        .optional()?;
    let Some((organization, account)) = found else {
        return Ok(ClaimUnanswered::Unknown);
    };
    let account = bidder_accounts::table
        .find((organization.as_str(), account.as_str()))
        .select(bidder_accounts::connected);
    let _locked: Option<bool> = for_update!(account).first(conn).await.optional()?;
    let unanswered = || {
        bids::table
            .find((organization.as_str(), bid.as_str()))
            .filter(is_queued())
            .filter(bids::answer_outstanding.eq(true))
    };
    let free = bids::lease_until
        .is_null()
        .or(bids::lease_until.assume_not_null().le(now.as_millis()));
    let leased = diesel::update(unanswered().filter(free))
        .set((
            bids::lease_owner.eq(owner.as_str()),
            bids::lease_until.eq(lease_until.as_millis()),
        ))
        .execute(conn)
        .await?;
    if leased == 1 {
        // What cannot be read cannot be ended either. The error gives the claim up.
        return match load_claimed(conn, quarantine, &organization, &bid, owner, None).await? {
            Ok(claimed) => Ok(ClaimUnanswered::Claimed(Box::new(claimed))),
            Err(why) => Err(Failure::corrupt(format!("bid {bid}: {why}"))),
        };
    }
    Ok(if exists!(conn, unanswered()) {
        ClaimUnanswered::BeingSent
    } else {
        ClaimUnanswered::Unknown
    })
}

/// What is known of a bid's account: nothing of a removed one.
type Connected = Attempt<Option<bool>>;

/// Bids that cannot be read are set aside, and take no places of others.
pub(super) async fn waiting(
    conn: &mut Conn,
    quarantine: &Quarantine,
    query: &WaitingBidsQuery,
) -> Result<Vec<WaitingBid>, Failure> {
    let limit = usize::try_from(query.limit).unwrap_or(usize::MAX);
    let (mut waiting, mut looked_at) = (Vec::new(), 0);
    loop {
        let rows = some_waiting(conn, query, looked_at).await?;
        looked_at += stored(rows.len());
        let is_last = rows.len() < limit;
        for (bid, Attempt(connected)) in rows {
            let Some(mut bid) = bid.or_aside(quarantine) else {
                continue;
            };
            bid.account = match connected {
                Ok(None) => AccountState::Removed,
                Ok(Some(true)) => AccountState::Connected,
                Ok(Some(false)) | Err(_) => AccountState::Disconnected,
            };
            waiting.push(bid);
        }
        if is_last || waiting.len() >= limit {
            waiting.truncate(limit);
            return Ok(waiting);
        }
    }
}

async fn some_waiting(
    conn: &mut Conn,
    query: &WaitingBidsQuery,
    offset: i64,
) -> Result<Vec<(Tried<WaitingBid>, Connected)>, Failure> {
    let account = bidder_accounts::organization_id
        .eq(bids::organization_id)
        .and(bidder_accounts::id.eq(bids::account_id));
    let mut listed = bids::table
        .left_join(bidder_accounts::table.on(account))
        .filter(is_queued())
        .order((bids::queued_at, bids::id))
        .limit(i64::from(query.limit))
        .offset(offset)
        .select((
            Tried::<WaitingBid>::as_select(),
            bidder_accounts::connected.nullable(),
        ))
        .into_boxed();
    if let Some(organization) = &query.organization_id {
        listed = listed.filter(bids::organization_id.eq(organization.as_str()));
    }
    if let Some(now) = query.unsettled_at {
        let is_overdue = bids::deadline.le(now.as_millis());
        let has_no_account = bidder_accounts::id.nullable().is_null();
        listed = listed
            .filter(bids::answer_outstanding.eq(true))
            .filter(has_no_account.or(is_overdue));
    }
    Ok(listed.load(conn).await?)
}
