//! Bids and rejections (decision B2).

use std::collections::HashMap;

use bidloop_domain::model::{ActivityKind, Authorization, BidId, Lead, LeadStatus, Measure, NewBid};
use bidloop_domain::port::{AcceptBid, RejectLead, StoreError};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{
    World, activity, at, bid, campaign, fresh_uuid, how_many, organization,
};
use futures::future::join_all;
use tokio_postgres::Row;

use super::{Bed, Commands, Cut, cut_tests, in_two_groups, job_name, lead, of_whole_groups};

cut_tests! {
    Decisions, 120,
    decisions_cut_off_from_the_server_are_stored_whole_and_once: Server, Refused;
    decisions_whose_answers_are_cut_off_are_stored_whole_and_once: Store, Refused;
    decisions_whose_answers_break_off_are_stored_once: Store, Served;
}

/// How many organizations' leads are decided on, and their quotas. One unit of each is used before.
const LIMITS: [u32; 2] = [4, 3];

/// The organization of each decision, and what is wanted. More bids than units.
const WANTED: [(usize, ActivityKind); 11] = [
    (0, ActivityKind::Bid),
    (1, ActivityKind::Rejection),
    (0, ActivityKind::Rejection),
    (1, ActivityKind::Bid),
    (0, ActivityKind::Bid),
    (0, ActivityKind::Bid),
    (1, ActivityKind::Bid),
    (0, ActivityKind::Bid),
    (0, ActivityKind::Rejection),
    (1, ActivityKind::Bid),
    (0, ActivityKind::Bid),
];

/// The decisions of the first group.
const FIRST: usize = 4;

/// How many organizations are provisioned at once.
const PAIRS: usize = 16;

const LEADS: &str = "
    SELECT leads.id, leads.status, matches.lead_status, leads.bid_id,
        (SELECT string_agg(bids.id || ' ' || bids.status, ', ') FROM bids
            WHERE bids.organization_id = leads.organization_id AND bids.lead_id = leads.id),
        (SELECT string_agg(activities.kind || ' ' || activities.outcome, ', ') FROM activities
            WHERE activities.organization_id = leads.organization_id AND activities.lead_id = leads.id)
    FROM leads JOIN matches ON matches.organization_id = leads.organization_id
        AND matches.campaign_id = leads.campaign_id AND matches.job_id = leads.job_id
    WHERE leads.organization_id IN ($1, $2)";

struct Decisions {
    worlds: Vec<World>,
    asked: Vec<Asked>,
}

#[derive(Clone)]
struct Asked {
    lead: Lead,
    /// `None`: the lead is rejected.
    bid: Option<NewBid>,
}

#[derive(Debug)]
enum Decided {
    Bid(AcceptBid),
    Rejection(RejectLead),
}

/// What is stored of a lead: its status, that of its match, the bid that it names, its bids and its entries of the Activity record.
#[derive(Debug, PartialEq)]
struct LeadRow {
    status: String,
    shown: String,
    bid: Option<String>,
    bids: Option<String>,
    entries: Option<String>,
}

impl Asked {
    fn kind(&self) -> ActivityKind {
        match self.bid {
            Some(_) => ActivityKind::Bid,
            None => ActivityKind::Rejection,
        }
    }

    /// The lead's status once this is done.
    fn status(&self) -> LeadStatus {
        match self.bid {
            Some(_) => LeadStatus::Queued,
            None => LeadStatus::Rejected,
        }
    }

    /// The row of a lead on which this was done.
    fn done(&self, bid: Option<String>) -> LeadRow {
        let status = self.status().as_str();
        LeadRow {
            status: status.to_owned(),
            shown: status.to_owned(),
            bids: bid.as_ref().map(|bid| format!("{bid} {status}")),
            bid,
            entries: Some(format!("{} accepted", self.kind().as_str())),
        }
    }

    async fn decide(&self, stores: &Stores) -> Result<Decided, StoreError> {
        let mut entry = activity(&self.lead.organization_id, self.kind(), "accepted", at(10));
        entry.campaign_id = Some(self.lead.campaign_id.clone());
        entry.lead_id = Some(self.lead.id.clone());
        let (leads, authorization) = (&stores.leads, Authorization::Subscription);
        let Some(bid) = &self.bid else {
            let rejected = leads.reject(&authorization, &self.lead, Some("Too far away."), &entry);
            return rejected.await.map(Decided::Rejection);
        };
        let accepted = leads.accept_bid(&authorization, bid, &entry).await;
        accepted.map(Decided::Bid)
    }

    /// As a caller repeats it that forgot the bid's id.
    fn anew(mut self) -> Self {
        if let Some(bid) = &mut self.bid {
            bid.id = BidId(fresh_uuid());
        }
        self
    }
}

impl Decisions {
    async fn rows(&self, bed: &Bed) -> HashMap<String, LeadRow> {
        let organizations = [0, 1].map(|of| self.worlds[of].organization.as_str());
        let rows = bed
            .client
            .query(LEADS, &[&organizations[0], &organizations[1]])
            .await;
        let lead = |row: &Row| LeadRow {
            status: row.get(1),
            shown: row.get(2),
            bid: row.get(3),
            bids: row.get(4),
            entries: row.get(5),
        };
        rows.unwrap().iter().map(|row| (row.get(0), lead(row))).collect()
    }
}

impl Commands for Decisions {
    type Answer = Decided;

    async fn fresh(bed: &Bed, batch: usize) -> Vec<Self> {
        let of = |number: usize| {
            let builder = organization(&format!("org-{batch}-{number}"));
            builder.limit(LIMITS[number % 2]).campaign(campaign("camp"))
        };
        let organizations = (0..2 * PAIRS).map(of).collect();
        // The last lead is bid on before: a period's first bid goes alone.
        let jobs = WANTED.len() + 1;
        let worlds = bed.provision(batch, organizations, jobs).await;
        let like = worlds[0].listed_lead(0).await;
        let lead_of = |world: &World, number| lead(&like, world, &job_name(batch, number));
        join_all(worlds.iter().map(async |world| {
            let bid_on = lead_of(world, WANTED.len());
            world.bid(&bid_on, at(5)).await
        }))
        .await;
        let decisions = |worlds: &[World]| {
            let asked = WANTED.iter().enumerate().map(|(number, (of, kind))| {
                let lead = lead_of(&worlds[*of], number);
                let bid = (*kind == ActivityKind::Bid).then(|| bid(&lead, at(10)));
                Asked { lead, bid }
            });
            Self {
                worlds: worlds.to_vec(),
                asked: asked.collect(),
            }
        };
        worlds.chunks(2).map(decisions).collect()
    }

    async fn give(&self, stores: &Stores) -> Vec<Result<Decided, StoreError>> {
        let decisions = self.asked.iter().map(|asked| asked.decide(stores));
        in_two_groups(decisions.collect(), FIRST).await
    }

    async fn stored(&self, bed: &Bed, cut: Cut) -> Vec<bool> {
        let rows = self.rows(bed).await;
        let untouched = LeadRow {
            status: LeadStatus::New.as_str().to_owned(),
            shown: LeadStatus::New.as_str().to_owned(),
            bid: None,
            bids: None,
            entries: None,
        };
        let is_stored = |asked: &Asked| {
            let row = &rows[asked.lead.id.as_str()];
            let is_stored = *row != untouched;
            let done = asked.done(row.bid.clone());
            assert!(!is_stored || *row == done, "{cut:?}: {row:?} is stored");
            assert_eq!(row.bid.is_some(), is_stored && asked.bid.is_some(), "{cut:?}");
            is_stored
        };
        let stored: Vec<bool> = self.asked.iter().map(is_stored).collect();
        for (world, limit) in self.worlds.iter().zip(LIMITS) {
            let queued = self.asked.iter().zip(&stored).filter(|(asked, stored)| {
                **stored && asked.bid.is_some() && asked.lead.organization_id == world.organization
            });
            let queued = queued.count() + 1;
            assert!(queued <= limit as usize, "{cut:?}: {queued} bids of {limit}");
            let numbers = bed.used_and_counted(&world.organization, Measure::Bid).await;
            assert_eq!(numbers, [queued; 2], "{cut:?}: used, counted");
        }
        stored
    }

    fn may_be_stored(&self) -> Vec<Vec<bool>> {
        of_whole_groups(|groups| {
            let mut left = LIMITS.map(|limit| limit - 1);
            let stored = WANTED.iter().enumerate().map(|(number, (of, kind))| {
                let is_carried_out = groups[usize::from(number >= FIRST)];
                if !is_carried_out || *kind == ActivityKind::Rejection {
                    return is_carried_out;
                }
                let is_accepted = left[*of] > 0;
                left[*of] -= u32::from(is_accepted);
                is_accepted
            });
            stored.collect()
        })
    }

    fn says_stored(answer: &Decided, cut: Cut) -> bool {
        match answer {
            Decided::Bid(AcceptBid::Accepted) | Decided::Rejection(RejectLead::Rejected) => true,
            Decided::Bid(AcceptBid::QuotaUsedUp(usage)) => {
                assert_eq!(Some(usage.used), usage.limit, "{cut:?}");
                false
            }
            other => panic!("{cut:?}: nobody else decides on the lead, but {other:?}"),
        }
    }

    async fn repeat(&self, bed: &Bed, stored: &[bool], cut: Cut) {
        let asked = self.asked.iter().cloned();
        let asked: Vec<Asked> = if cut.at.is_multiple_of(2) {
            asked.map(Asked::anew).collect()
        } else {
            asked.collect()
        };
        let before = self.rows(bed).await;
        let answers = join_all(asked.iter().map(|asked| asked.decide(&bed.stores))).await;
        for ((asked, stored), answer) in asked.iter().zip(stored).zip(answers) {
            let answer = answer.unwrap();
            let is_known = match &answer {
                Decided::Bid(AcceptBid::LeadNotNew(status))
                | Decided::Rejection(RejectLead::LeadNotNew(status)) => *status == asked.status(),
                _ => false,
            };
            assert_eq!(is_known, *stored, "{cut:?}: repeated, it is answered {answer:?}");
        }
        let ended = self.stored(bed, cut).await;
        let after = self.rows(bed).await;
        let bids: Vec<usize> = self
            .asked
            .iter()
            .zip(stored)
            .zip(&ended)
            .filter_map(|((asked, stored), ended)| {
                let lead = asked.lead.id.as_str();
                assert!(
                    !stored || before[lead] == after[lead],
                    "{cut:?}: {:?} was changed",
                    before[lead]
                );
                assert!(*ended || asked.bid.is_some(), "{cut:?}: {lead} is not rejected");
                let of = usize::from(asked.lead.organization_id == self.worlds[1].organization);
                (*ended && asked.bid.is_some()).then_some(of)
            })
            .collect();
        let bids = [0, 1].map(|of| how_many(&bids, &of) + 1);
        assert_eq!(
            bids,
            LIMITS.map(|limit| limit as usize),
            "{cut:?}: the quota is used"
        );
    }
}
