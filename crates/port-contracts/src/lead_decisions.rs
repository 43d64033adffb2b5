//! The rule of `LeadStore` for bids and rejections that arrive at the same time (decision B2).

use std::hash::{BuildHasher as _, RandomState};
use std::ops::Range;

use bidloop_domain::bidding::BillingPeriod;
use bidloop_domain::model::{
    Activity, ActivityId, ActivityKind, ApiKeyHash, Authorization, BidId, BidRecord, Lead, LeadStatus,
    Timestamp,
};
use bidloop_domain::port::{AcceptBid, FeedQuery, RejectLead, ShellFacts};
use futures::future::join_all;
use uuid::Uuid;

use crate::Stores;
use crate::fixture::{
    self, World, activities, activity, at, bid, campaign, campaign_id, how_many, job_id, lead_id,
    organization, organization_id, seconds,
};

/// Numbers that look drawn, the same for each seed.
struct Drawn(u64);

impl Drawn {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from((self.0 >> 33) % bound as u64).unwrap_or(0)
    }
}

/// The seed of a run that has always been made.
const KNOWN_SEED: u64 = 11;

/// Two pairs of organizations are asked for the same bids and rejections: one pair for one after the other, the other pair
/// for all at once. A third of them are others in each run.
pub async fn decisions_that_arrive_together_end_as_if_they_came_one_after_the_other(stores: Stores) {
    let decided = decide_both_ways(&stores, KNOWN_SEED, 0..8).await;
    let accepted = how_many(&decided, &Decided::Bid(AcceptBid::Accepted));
    let is_used_up = |decided: &&Decided| matches!(decided, Decided::Bid(AcceptBid::QuotaUsedUp(_)));
    let used_up = decided.iter().filter(is_used_up).count();
    assert!(
        accepted > 30 && used_up > 30,
        "{accepted} accepted, {used_up} too many"
    );
    let new_seed = RandomState::new().hash_one(KNOWN_SEED);
    decide_both_ways(&stores, new_seed, 8..12).await;
}

/// What was decided, in as many rounds, each with organizations of its own.
async fn decide_both_ways(stores: &Stores, seed: u64, rounds: Range<u8>) -> Vec<Decided> {
    let mut drawn = Drawn(seed);
    let mut decided = Vec::new();
    for round in rounds {
        let (apart, together) = twins(stores, round, &mut drawn).await;
        let asked = Asked::some(&mut drawn);
        let mut one_by_one = Vec::new();
        for one in &asked {
            one_by_one.push(apart[one.of].decide(one).await);
        }
        let at_once = join_all(asked.iter().map(|one| together[one.of].decide(one))).await;
        assert_eq!(at_once, one_by_one, "seed {seed}, round {round}: {asked:#?}");
        for (together, apart) in together.iter().zip(&apart) {
            assert_eq!(
                together.left().await,
                apart.left().await,
                "seed {seed}, round {round}: {asked:#?}"
            );
        }
        decided.extend(one_by_one);
    }
    decided
}

/// The campaigns of each organization, and how many leads each has. Those of the last one are without records.
const CAMPAIGNS: [(&str, usize); 3] = [("camp", 14), ("bare", 2), ("quiet", 2)];
/// The leads of them all, and one that is nobody's.
const LEADS: usize = 19;
/// A lead that is rejected before anything is asked, and those that are bid on.
const REJECTED: usize = 0;
const BID_ON: [usize; 2] = [1, 2];
/// The moments of decisions. An organization's billing period ends between the first two, or between the last two.
const MOMENTS: [i64; 3] = [10, 20, 30];
const PERIOD_ENDS: [i64; 2] = [15, 25];

/// A bid or a rejection that is asked for.
#[derive(Debug)]
struct Asked {
    number: u32,
    /// Which organization of the pair.
    of: usize,
    lead: usize,
    authorization: usize,
    is_rejection: bool,
    at: Timestamp,
}

impl Asked {
    /// Most are on a lead of their own, because a second decision on a lead goes alone.
    fn some(drawn: &mut Drawn) -> Vec<Self> {
        let mut leads = [0, 1].map(|_| (0..CAMPAIGNS[0].1).collect::<Vec<_>>());
        let asked = (0..20).map(|number| {
            let of = drawn.below(2);
            let lead = if drawn.below(8) == 0 || leads[of].is_empty() {
                drawn.below(LEADS)
            } else {
                let left = leads[of].len();
                leads[of].swap_remove(drawn.below(left))
            };
            Self {
                number,
                of,
                lead,
                authorization: drawn.below(8),
                is_rejection: drawn.below(4) == 0,
                at: at(MOMENTS[drawn.below(3)]),
            }
        });
        asked.collect()
    }
}

/// Two pairs of organizations that differ in their names alone. All have bid in both billing periods, because a period's
/// first bid goes alone.
async fn twins(stores: &Stores, round: u8, drawn: &mut Drawn) -> (Vec<Twin>, Vec<Twin>) {
    let limits = [0, 1].map(|_| u32::try_from(2 + drawn.below(3)).unwrap());
    let mut worlds = Vec::new();
    for (number, pair) in (4 * round..).zip(["apart", "apart", "together", "together"]) {
        let of = usize::from(number % 2);
        let [camp, bare, quiet] = CAMPAIGNS.map(|(name, _)| campaign(name));
        let builder = organization(&format!("org_{pair}_{number}"))
            .limit(limits[of])
            .period(at(-1000), at(PERIOD_ENDS[of]))
            .campaign(camp)
            .campaign(bare.bids_with(None))
            .campaign(quiet.paused())
            .key("key_ci", number + 1);
        worlds.push((World::with(stores.clone(), builder).await, number + 1));
    }
    let job_of_all = |number: usize| {
        let matching = worlds.iter().flat_map(|(world, _)| {
            let having = CAMPAIGNS.iter().filter(move |(_, count)| number < *count);
            having.map(|(name, _)| (world.organization.as_str(), *name))
        });
        let matching: Vec<_> = matching.collect();
        fixture::job(&job_name(round, number), at(0), &matching)
    };
    let jobs = (0..CAMPAIGNS[0].1).map(job_of_all).collect();
    worlds[0].0.ingest(at(1), jobs).await;
    let mut twins = Vec::new();
    for (world, key) in worlds {
        twins.push(Twin::new(world, round, key).await);
    }
    let together = twins.split_off(2);
    (twins, together)
}

fn job_name(round: u8, number: usize) -> String {
    format!("{round}_{number}")
}

/// What became of a lead: its status, the reason of its rejection, and its bid.
type LeftLead = (LeadStatus, Option<String>, Option<BidRecord>);

/// What decisions left behind: the leads, the Activity record with each entry's lead, what the campaigns' Feeds count, and
/// the periods at all moments with the units used.
type Left = (
    Vec<Option<LeftLead>>,
    Vec<(Activity, Option<usize>)>,
    Vec<[u64; 2]>,
    Vec<(BillingPeriod, u64)>,
);

#[derive(Debug, PartialEq)]
enum Decided {
    Bid(AcceptBid),
    Rejection(RejectLead),
}

struct Twin {
    world: World,
    leads: Vec<Lead>,
    key: ApiKeyHash,
}

impl Twin {
    async fn new(world: World, round: u8, key: u8) -> Self {
        let mut leads = Vec::new();
        for (name, count) in CAMPAIGNS {
            for number in 0..count {
                let (campaign, job) = (campaign_id(name), job_id(&job_name(round, number)));
                let feed = &world.stores.campaign_feed;
                let found = feed.find_match(&world.organization, &campaign, &job).await;
                leads.push(found.unwrap().unwrap().lead.lead);
            }
        }
        leads.push(Lead {
            id: lead_id(world.organization.as_str(), "camp", "nobodys"),
            ..leads[REJECTED].clone()
        });
        let rejected = activity(&world.organization, ActivityKind::Rejection, "accepted", at(2));
        let store = &world.stores.leads;
        store
            .reject(&Authorization::Subscription, &leads[REJECTED], None, &rejected)
            .await
            .unwrap();
        for (lead, moment) in BID_ON.into_iter().zip([MOMENTS[0], MOMENTS[2]]) {
            world.bid(&leads[lead], at(moment)).await;
        }
        let key = fixture::key(world.organization.as_str(), "key_ci", key, at(0)).1;
        Self { world, leads, key }
    }

    async fn decide(&self, asked: &Asked) -> Decided {
        let authorization = match asked.authorization {
            // Of no organization.
            0 => Authorization::ApiKey(fixture::key("org", "key", 99, at(0)).1),
            1..=2 => Authorization::Subscription,
            _ => Authorization::ApiKey(self.key.clone()),
        };
        let kind = if asked.is_rejection {
            ActivityKind::Rejection
        } else {
            ActivityKind::Bid
        };
        let lead = &self.leads[asked.lead];
        let mut entry = activity(&self.world.organization, kind, "accepted", asked.at);
        entry.campaign_id = Some(lead.campaign_id.clone());
        entry.lead_id = Some(lead.id.clone());
        entry.message = format!("Decision {}.", asked.number);
        entry.details.insert("number".to_owned(), asked.number.into());
        let store = &self.world.stores.leads;
        if asked.is_rejection {
            let reason = format!("Too far away for {}.", asked.number);
            let rejected = store.reject(&authorization, lead, Some(&reason), &entry);
            return Decided::Rejection(rejected.await.unwrap());
        }
        let mut bid = bid(lead, asked.at);
        bid.deadline = asked.at.plus(seconds(900 + u64::from(asked.number)));
        let accepted = store.accept_bid(&authorization, &bid, &entry).await;
        Decided::Bid(accepted.unwrap())
    }

    /// Without what must differ between twins: ids of bids, entries and leads, and the organization's.
    async fn left(&self) -> Left {
        let (world, stores) = (&self.world, &self.world.stores);
        let mut leads = Vec::new();
        for lead in &self.leads {
            let campaign = world.campaign(lead.campaign_id.as_str());
            let found = campaign.find(&lead.id).await;
            leads.push(found.map(|found| {
                let lead = found.lead.lead;
                let bid = found.bid.map(|bid| BidRecord {
                    id: BidId(Uuid::nil()),
                    ..bid
                });
                (lead.status, lead.rejection_reason, bid)
            }));
        }
        let entries = activities(stores, &world.organization).await;
        let entries = entries.into_iter().map(|entry| {
            let lead = self
                .leads
                .iter()
                .position(|lead| Some(&lead.id) == entry.lead_id.as_ref());
            let entry = Activity {
                id: ActivityId(Uuid::nil()),
                organization_id: organization_id("org"),
                lead_id: None,
                ..entry
            };
            (entry, lead)
        });
        let mut counted = Vec::new();
        for (name, _) in CAMPAIGNS {
            let query = FeedQuery {
                status: None,
                offset: 0,
                limit: 1,
            };
            let page = stores
                .campaign_feed
                .feed_page(&world.organization, &campaign_id(name), &query)
                .await;
            let counts = page.unwrap().unwrap().counts;
            counted.push([counts.queued, counts.rejected]);
        }
        let mut used = Vec::new();
        for moment in MOMENTS {
            let shell = stores.overview.shell(&world.organization, at(moment)).await;
            let ShellFacts {
                period,
                used: units,
                subscription,
                ..
            } = shell.unwrap().unwrap();
            let bids = leads.iter().flatten().filter_map(|(_, _, bid)| bid.as_ref());
            let of_period = bids.filter(|bid| (period.start..period.end).contains(&bid.queued_at));
            assert_eq!(units, of_period.count() as u64, "every bid uses a unit");
            assert!(units <= u64::from(subscription.proposal_limit.unwrap()));
            used.push((period, units));
        }
        (leads, entries.collect(), counted, used)
    }
}
