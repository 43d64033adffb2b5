//! Ends of bids (decision B4).

use std::collections::HashMap;

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{
    ActivityId, ActivityKind, Authorization, BidOutcome, EventKind, LeadStatus, Measure, NewBid, QueuedBid,
};
use bidloop_domain::port::{AcceptBid, FinishBid, LeaseOwner, StoreError};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{
    World, activity, already_applied, at, bid, campaign, finish, fresh_uuid, organization, refused_bid,
    submitted, token, webhook,
};
use futures::future::join_all;
use tokio_postgres::Row;

use super::{Bed, Commands, Cut, cut_tests, in_two_groups, job_name, lead, of_whole_groups};

cut_tests! {
    BidEnds, 180,
    ends_of_bids_cut_off_from_the_server_are_recorded_whole_and_once: Server, Refused;
    ends_of_bids_whose_answers_are_cut_off_are_recorded_whole_and_once: Store, Refused;
}

/// How many bids are ended.
const ENDS: usize = 6;

/// The ends of the first group.
const FIRST: usize = 2;

/// The end that disconnects the account. It is recorded alone.
const DISCONNECTING: usize = ENDS - 1;

/// How many organizations are provisioned at once.
const AT_ONCE: usize = 16;

const BIDS: &str = "
    SELECT bids.lead_id, bids.status, leads.status, bids.lease_owner IS NULL, bids.ended_at IS NOT NULL,
        (SELECT count(*) FROM activities WHERE activities.organization_id = bids.organization_id
            AND activities.lead_id = bids.lead_id AND activities.kind = $2),
        (SELECT count(*) FROM deliveries WHERE deliveries.organization_id = bids.organization_id
            AND deliveries.lead_id = bids.lead_id AND deliveries.event = $3)
    FROM bids JOIN leads ON leads.organization_id = bids.organization_id AND leads.id = bids.lead_id
    WHERE bids.organization_id = $1";

struct BidEnds {
    world: World,
    ends: Vec<FinishBid>,
}

/// What is stored of a bid: its status and its lead's, whether it is free of a lease and has a time of its end, and how many
/// entries of the Activity record and deliveries its end has.
type BidRow = (String, String, bool, bool, i64, i64);

fn owner() -> LeaseOwner {
    LeaseOwner::new("me")
}

fn outcome(number: usize) -> BidOutcome {
    match number {
        0 | 2 => submitted(&format!("p_{number}"), at(20)),
        1 => refused_bid(ReasonCode::JobWarning),
        3 => refused_bid(ReasonCode::DeadlineExceeded),
        4 => already_applied("p_earlier"),
        _ => refused_bid(ReasonCode::InvalidToken),
    }
}

impl BidEnds {
    /// The ends of bids that are claimed as `like` is.
    fn of(world: World, bids: &[NewBid], like: &QueuedBid) -> Self {
        let ends = bids.iter().enumerate().map(|(number, bid)| {
            let claimed = QueuedBid {
                id: bid.id,
                organization_id: bid.organization_id.clone(),
                lead_id: bid.lead_id.clone(),
                job_id: bid.job_id.clone(),
                ..like.clone()
            };
            let mut end = finish(&claimed, outcome(number), at(20));
            end.refused_token = (number == DISCONNECTING).then(|| token("token_acct_1"));
            end
        });
        Self {
            ends: ends.collect(),
            world,
        }
    }
}

async fn accept(stores: &Stores, bid: &NewBid) {
    let entry = activity(&bid.organization_id, ActivityKind::Bid, "accepted", bid.queued_at);
    let accepted = stores
        .leads
        .accept_bid(&Authorization::Subscription, bid, &entry)
        .await;
    assert_eq!(accepted, Ok(AcceptBid::Accepted));
}

impl Commands for BidEnds {
    type Answer = bool;

    async fn fresh(bed: &Bed, batch: usize) -> Vec<Self> {
        let of = |number: usize| {
            let builder = organization(&format!("org-{batch}-{number}")).campaign(campaign("camp"));
            builder.webhook(webhook("wh", None, World::URL, &[EventKind::BidComplete]))
        };
        let organizations = (0..AT_ONCE).map(of).collect();
        let worlds = bed.provision(batch, organizations, ENDS).await;
        let like = worlds[0].listed_lead(0).await;
        let bids_of = |world: &World| {
            let lead = |number| lead(&like, world, &job_name(batch, number));
            (0..ENDS).map(|number| bid(&lead(number), at(10))).collect()
        };
        let bids: Vec<Vec<NewBid>> = worlds.iter().map(bids_of).collect();
        // A period's first bid goes alone.
        join_all(bids.iter().map(|bids| accept(&bed.stores, &bids[0]))).await;
        let others = bids.iter().flat_map(|bids| &bids[1..]);
        join_all(others.map(|bid| accept(&bed.stores, bid))).await;
        let submissions = &bed.stores.submissions;
        let claimed = submissions.claim(&owner(), at(15), at(615), 1000).await.unwrap();
        assert_eq!(claimed.len(), AT_ONCE);
        // One bid of an account is claimed at a time.
        bed.client
            .batch_execute(
                "UPDATE bids SET lease_owner = claimed.lease_owner, lease_until = claimed.lease_until \
                 FROM bids AS claimed WHERE claimed.organization_id = bids.organization_id \
                 AND claimed.status = 'queued' AND claimed.lease_owner IS NOT NULL AND bids.status = 'queued'",
            )
            .await
            .unwrap();
        let ends = |(world, bids): (World, Vec<NewBid>)| Self::of(world, &bids, &claimed[0].bid);
        worlds.into_iter().zip(bids).map(ends).collect()
    }

    async fn give(&self, stores: &Stores) -> Vec<Result<bool, StoreError>> {
        let ends = self
            .ends
            .iter()
            .map(async |end| stores.submissions.finish(end, &owner()).await);
        in_two_groups(ends.collect(), FIRST).await
    }

    async fn stored(&self, bed: &Bed, cut: Cut) -> Vec<bool> {
        let organization = &self.world.organization;
        let of = [
            organization.as_str(),
            ActivityKind::Submission.as_str(),
            EventKind::BidComplete.as_str(),
        ];
        let rows = bed.client.query(BIDS, &[&of[0], &of[1], &of[2]]).await;
        let bid = |row: &Row| {
            (
                row.get(1),
                row.get(2),
                row.get(3),
                row.get(4),
                row.get(5),
                row.get(6),
            )
        };
        let bids: HashMap<String, BidRow> = rows.unwrap().iter().map(|row| (row.get(0), bid(row))).collect();
        let queued = LeadStatus::Queued.as_str().to_owned();
        let claimed: BidRow = (queued.clone(), queued, false, false, 0, 0);
        let is_stored = |end: &FinishBid| {
            let bid = &bids[end.event.lead_id.as_str()];
            let status = end.outcome.status().as_str().to_owned();
            let ended: BidRow = (status.clone(), status, true, true, 1, 1);
            assert!(*bid == claimed || *bid == ended, "{cut:?}: {bid:?} is stored");
            *bid == ended
        };
        let stored: Vec<bool> = self.ends.iter().map(is_stored).collect();
        let ended = || self.ends.iter().zip(&stored).filter(|(_, stored)| **stored);
        let is_returned = |end: &FinishBid| end.outcome.status() != LeadStatus::Submitted;
        let returned = ended().filter(|(end, _)| is_returned(end)).count();
        let numbers = bed.used_and_counted(organization, Measure::Ended).await;
        assert_eq!(
            numbers,
            [ENDS - returned, ended().count()],
            "{cut:?}: used, counted"
        );
        stored
    }

    fn may_be_stored(&self) -> Vec<Vec<bool>> {
        let mut may_be = of_whole_groups(|groups| {
            let stored = (0..ENDS).map(|number| groups[usize::from(number >= FIRST)]);
            stored.collect()
        });
        // The last end is no part of its group.
        for stored in may_be.clone() {
            let (last, others) = stored.split_last().unwrap();
            may_be.push([others, &[!last]].concat());
        }
        may_be
    }

    fn says_stored(is_ended: &bool, cut: Cut) -> bool {
        assert!(
            is_ended,
            "{cut:?}: a bid was ended although it was claimed and nobody else ends it"
        );
        true
    }

    async fn repeat(&self, bed: &Bed, stored: &[bool], cut: Cut) {
        let repeated = self.ends.iter().cloned().map(|mut end| {
            if cut.at.is_multiple_of(2) {
                end.activity.id = ActivityId(fresh_uuid());
            }
            end
        });
        let repeated: Vec<FinishBid> = repeated.collect();
        let owner = owner();
        let submissions = &bed.stores.submissions;
        let answers = join_all(repeated.iter().map(|end| submissions.finish(end, &owner))).await;
        for (answer, stored) in answers.into_iter().zip(stored) {
            assert_eq!(answer, Ok(!stored), "{cut:?}: a repeated end");
        }
        assert_eq!(self.stored(bed, cut).await, [true; ENDS], "{cut:?}");
    }
}
