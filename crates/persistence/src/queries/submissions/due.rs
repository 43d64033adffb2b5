//! Which queued bids may be claimed next.
//!
//! A look reads the bids that are due longest. An account's bid that is being worked on is mostly the first of its own, so a look
//! sees which accounts get no more now. Where their bids are in front, a second look reads the first due bid of each other
//! account. So a long queue of one account hides no other, and is not read with each look.

use std::collections::HashSet;
use std::time::Instant;

use bidloop_domain::model::Timestamp;
use diesel::dsl::{not, sql};
use diesel::expression::SqlLiteral;
use diesel::sql_types::{BigInt, Bool};

use super::super::prelude::*;
use super::BIDS;
use crate::low_water::LowWater;

/// How many due bids one look reads for each that may be claimed: several may be of one account.
const LOOKED_AT_PER_CLAIM: u32 = 8;

/// How long after a bid's deadline, in milliseconds, it may be stored that no answer is outstanding, for looks from the mark to
/// find it.
const STORED_WITHIN: i64 = 1_000;

/// The organization, account and id of a bid that may be claimed.
pub(super) type DueBid = (String, String, String);

/// When a bid is attempted next, and when it was queued.
type Age = (i64, i64);

/// The organizations and ids of accounts.
pub(super) type Accounts = HashSet<(String, String)>;

/// In the words of the partial index on queued bids by their next attempts.
fn is_longest_due() -> SqlLiteral<Bool> {
    sql("bids.status = 'queued' AND bids.ended_at IS NULL")
}

/// In the words of the partial index on bids that may be past their deadlines.
fn may_be_given_up() -> SqlLiteral<Bool> {
    sql("bids.status = 'queued' AND NOT bids.answer_outstanding")
}

/// From where on looks search, in the order of the bids' next attempts and of their deadlines.
#[derive(Debug, Default)]
pub(crate) struct DueFrom {
    next_attempt: LowWater,
    deadline: LowWater,
}

/// Due bids, the longest due first, one for each account; behind them those past their deadlines. This is a hint: claiming
/// decides.
///
/// Bids of accounts that are `taken` are passed over, and bids that were set aside. A look is longer by their number, so that
/// they hide no other either.
pub(super) async fn due(
    conn: &mut Conn,
    quarantine: &Quarantine,
    from: &DueFrom,
    taken: Accounts,
    now: Timestamp,
    limit: u32,
) -> Result<Vec<DueBid>, Failure> {
    let held = quarantine.ids(BIDS);
    let rows = i64::from(limit.saturating_mul(LOOKED_AT_PER_CLAIM)).saturating_add(stored(held.len()));
    let mut search = Search {
        from,
        now: now.as_millis(),
        rows,
        limit: limit as usize,
        held: held.iter().cloned().collect(),
        taken,
        chosen: Vec::new(),
    };
    let seen = search.longest_due(conn).await?;
    if let Some(from) = seen.filter(|_| !search.is_enough()) {
        search.first_of_each(conn, from).await?;
    }
    if !search.is_enough() {
        search.given_up(conn).await?;
    }
    Ok(search.chosen)
}

struct Search<'s> {
    from: &'s DueFrom,
    now: i64,
    /// How many rows a look reads.
    rows: i64,
    limit: usize,
    /// The bids that were set aside.
    held: HashSet<String>,
    /// The accounts that get no more.
    taken: Accounts,
    chosen: Vec<DueBid>,
}

impl Search<'_> {
    /// Looks at the bids that are due longest. Returns from where on, if there are more of them.
    async fn longest_due(&mut self, conn: &mut Conn) -> Result<Option<i64>, Failure> {
        let low = &self.from.next_attempt;
        let mut from = low.from();
        loop {
            let began = Instant::now();
            let account = bidder_accounts::organization_id
                .eq(bids::organization_id)
                .and(bidder_accounts::id.eq(bids::account_id));
            let mut found: Vec<(Age, DueBid, Option<i64>, Option<bool>)> = bids::table
                .left_join(bidder_accounts::table.on(account))
                .filter(is_longest_due())
                .filter(bids::next_attempt_at.between(from, self.now))
                // As in the index. With more to order by, PostgreSQL may read all due bids first, to sort them.
                .order(bids::next_attempt_at)
                .limit(self.rows)
                .select((
                    (bids::next_attempt_at, bids::queued_at),
                    (bids::organization_id, bids::account_id, bids::id),
                    bids::lease_until,
                    bidder_accounts::connected.nullable(),
                ))
                .load(conn)
                .await?;
            found.sort_unstable_by(|(age, bid, ..), (other_age, other, ..)| {
                (age, &bid.2).cmp(&(other_age, &other.2))
            });
            // Bids of a disconnected account may wait for days.
            let first = found
                .iter()
                .find(|(_, bid, _, connected)| *connected == Some(true) && !self.is_held(bid));
            low.note(from, began, first.map(|((next_attempt, _), ..)| *next_attempt));
            let are_more = stored(found.len()) >= self.rows;
            for (_, bid, lease_until, connected) in found {
                if lease_until.is_some_and(|until| until > self.now) {
                    self.taken.insert((bid.0, bid.1));
                } else if connected == Some(true) {
                    self.choose(bid);
                }
            }
            if are_more || self.is_enough() || low.suffices(from) {
                return Ok(are_more.then_some(from));
            }
            from = LowWater::START;
        }
    }

    /// Looks at the first due bid of each account that gets more.
    async fn first_of_each(&mut self, conn: &mut Conn, from: i64) -> Result<(), Failure> {
        let first_due = sql::<Bool>(
            "bids.id = (SELECT x.id FROM bids AS x WHERE x.status = 'queued' \
             AND x.organization_id = bidder_accounts.organization_id AND x.account_id = bidder_accounts.id \
             AND x.next_attempt_at BETWEEN ",
        )
        .bind::<BigInt, _>(from)
        .sql(" AND ")
        .bind::<BigInt, _>(self.now)
        .sql(" AND x.organization_id || '/' || x.id");
        let held: Vec<&String> = self.held.iter().collect();
        let first_due =
            none_of!(first_due, &held).sql(" ORDER BY x.next_attempt_at, x.queued_at, x.id LIMIT 1)");
        let found: Vec<DueBid> = bidder_accounts::table
            .inner_join(
                bids::table.on(bids::organization_id
                    .eq(bidder_accounts::organization_id)
                    .and(first_due)),
            )
            .filter(bidder_accounts::connected.eq(true))
            .filter(bids::lease_until.is_null().or(bids::lease_until.le(self.now)))
            .filter(not(pair_of!(
                "bidder_accounts.organization_id, bidder_accounts.id",
                &self.taken
            )))
            .order((bids::next_attempt_at, bids::queued_at, bids::id))
            .limit(stored(self.limit))
            .select((bids::organization_id, bids::account_id, bids::id))
            .load(conn)
            .await?;
        for bid in found {
            self.choose(bid);
        }
        Ok(())
    }

    /// Looks at bids that are past their deadlines. Ending them takes no attempt, so those of one account are soon out of the way
    /// of others.
    async fn given_up(&mut self, conn: &mut Conn) -> Result<(), Failure> {
        let low = &self.from.deadline;
        let mut from = low.from();
        loop {
            let began = Instant::now();
            let found: Vec<(i64, DueBid)> = bids::table
                .filter(may_be_given_up())
                .filter(bids::deadline.between(from, self.now))
                .order(bids::deadline)
                .limit(self.rows)
                .select((
                    bids::deadline,
                    (bids::organization_id, bids::account_id, bids::id),
                ))
                .load(conn)
                .await?;
            let first = found.iter().find(|(_, bid)| !self.is_held(bid));
            // Bids are seldom given up, so the mark follows the time.
            let reached = self.now.saturating_sub(STORED_WITHIN);
            low.note(
                from,
                began,
                Some(first.map_or(reached, |(deadline, _)| *deadline)),
            );
            let are_more = stored(found.len()) >= self.rows;
            for (_, bid) in found {
                self.choose(bid);
            }
            if are_more || self.is_enough() || low.suffices(from) {
                return Ok(());
            }
            from = LowWater::START;
        }
    }

    fn is_enough(&self) -> bool {
        self.chosen.len() >= self.limit
    }

    fn is_held(&self, (organization, _, bid): &DueBid) -> bool {
        !self.held.is_empty() && self.held.contains(&format!("{organization}/{bid}"))
    }

    fn choose(&mut self, bid: DueBid) {
        if self.is_enough() || self.is_held(&bid) {
            return;
        }
        if self.taken.insert((bid.0.clone(), bid.1.clone())) {
            self.chosen.push(bid);
        }
    }
}
