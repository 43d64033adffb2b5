//! Which queued bids may be claimed next.
//!
//! A look reads the bids that are due longest. Where those of accounts that get no more now are in front, a second look
//! reads the first due bid of each other account. So a long queue of one account hides no other, and is not read with each
//! look.

use std::collections::HashSet;

use bidloop_domain::model::Timestamp;
use diesel::dsl::{not, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::{BigInt, Bool};

use super::super::prelude::*;
use super::{BIDS, is_queued};

/// How many due bids one look reads for each that may be claimed: several may be of one account.
const LOOKED_AT_PER_CLAIM: u32 = 8;

/// The organization, account and id of a bid that may be claimed.
pub(super) type DueBid = (String, String, String);

/// In the words of the partial index on bids that are being worked on.
pub(super) fn is_leased() -> SqlLiteral<Bool> {
    sql("bids.status = 'queued' AND bids.lease_until IS NOT NULL")
}

/// In the words of the partial index on bids that may be past their deadlines.
fn may_be_given_up() -> SqlLiteral<Bool> {
    sql("bids.status = 'queued' AND NOT bids.answer_outstanding")
}

/// Due bids, the longest due first, one for each account; behind them those past their deadlines. This is a hint: claiming
/// decides.
///
/// Bids that were set aside are passed over. A look is longer by their number, so that they hide no other either.
pub(super) async fn due(
    conn: &mut Conn,
    quarantine: &Quarantine,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<DueBid>, Failure> {
    let held = quarantine.ids(BIDS);
    let look = i64::from(limit.saturating_mul(LOOKED_AT_PER_CLAIM)).saturating_add(stored(held.len()));
    let leased: Vec<(String, String)> = bids::table
        .filter(is_leased())
        .filter(bids::lease_until.gt(now.as_millis()))
        .select((bids::organization_id, bids::account_id))
        .load(conn)
        .await?;
    let mut found = Found {
        limit: limit as usize,
        held: held.iter().cloned().collect(),
        taken: leased.into_iter().collect(),
        chosen: Vec::new(),
    };
    let account = bidder_accounts::organization_id
        .eq(bids::organization_id)
        .and(bidder_accounts::id.eq(bids::account_id));
    let longest_due: Vec<(DueBid, Option<bool>)> = bids::table
        .left_join(bidder_accounts::table.on(account))
        .filter(is_queued())
        .filter(bids::next_attempt_at.le(now.as_millis()))
        .order((bids::next_attempt_at, bids::queued_at, bids::id))
        .limit(look)
        .select((
            (bids::organization_id, bids::account_id, bids::id),
            bidder_accounts::connected.nullable(),
        ))
        .load(conn)
        .await?;
    let is_complete = stored(longest_due.len()) < look;
    let usable = longest_due
        .into_iter()
        .filter(|(_, connected)| *connected == Some(true));
    found.choose(usable.map(|(bid, _)| bid));
    if !is_complete && !found.is_enough() {
        let first_due = sql::<Bool>(
            "bids.id = (SELECT x.id FROM bids AS x WHERE x.status = 'queued' \
             AND x.organization_id = bidder_accounts.organization_id AND x.account_id = bidder_accounts.id \
             AND x.next_attempt_at <= ",
        )
        .bind::<BigInt, _>(now.as_millis())
        .sql(" AND x.organization_id || '/' || x.id");
        let first_due =
            none_of!(first_due, &held).sql(" ORDER BY x.next_attempt_at, x.queued_at, x.id LIMIT 1)");
        let of_each: Vec<DueBid> = bidder_accounts::table
            .inner_join(
                bids::table.on(bids::organization_id
                    .eq(bidder_accounts::organization_id)
                    .and(first_due)),
            )
            .filter(bidder_accounts::connected.eq(true))
            .filter(not(pair_of!(
                "bidder_accounts.organization_id, bidder_accounts.id",
                &found.taken
            )))
            .order((bids::next_attempt_at, bids::queued_at, bids::id))
            .limit(i64::from(limit))
            .select((bids::organization_id, bids::account_id, bids::id))
            .load(conn)
            .await?;
        found.choose(of_each.into_iter());
    }
    if !found.is_enough() {
        // Ending them takes no attempt, so those of one account are soon out of the way of others.
        let given_up: Vec<DueBid> = bids::table
            .filter(may_be_given_up())
            .filter(bids::deadline.le(now.as_millis()))
            .order(bids::deadline)
            .limit(look)
            .select((bids::organization_id, bids::account_id, bids::id))
            .load(conn)
            .await?;
        found.choose(given_up.into_iter());
    }
    Ok(found.chosen)
}

/// What was found so far.
struct Found {
    limit: usize,
    /// The bids that were set aside.
    held: HashSet<String>,
    /// The accounts that have a bid.
    taken: HashSet<(String, String)>,
    chosen: Vec<DueBid>,
}

impl Found {
    fn is_enough(&self) -> bool {
        self.chosen.len() >= self.limit
    }

    fn choose(&mut self, bids: impl Iterator<Item = DueBid>) {
        for (organization, account, bid) in bids {
            if self.is_enough() {
                return;
            }
            if !self.held.is_empty() && self.held.contains(&format!("{organization}/{bid}")) {
                continue;
            }
            if self.taken.insert((organization.clone(), account.clone())) {
                self.chosen.push((organization, account, bid));
            }
        }
    }
}
