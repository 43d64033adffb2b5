//! The rule of `SubmissionStore` for ends of bids that arrive at the same time (decision B4).

use bidloop_domain::bidding::ReasonCode;
use bidloop_domain::model::{BidOutcome, Lead, Timestamp};
use bidloop_domain::port::{ClaimedBid, FeedQuery, LeaseOwner};
use futures::future::join_all;

use crate::Stores;
use crate::fixture::{
    World, activities, already_applied, at, campaign, clock_at, finish, lead_id, organization, refused_bid,
    seconds, submitted, token,
};
use crate::statistics::counted;

/// Two organizations of one shape, whose bids get the same ends: one after the other, and all at once.
pub async fn ends_that_arrive_at_the_same_time_end_as_if_they_came_one_after_the_other(stores: Stores) {
    for round in 0..2 {
        let mut twins = Vec::new();
        for name in ["apart", "together"] {
            twins.push(Twin::new(&stores, &format!("org_{name}_{round}")).await);
        }
        // The second claim takes all bids over.
        twins[0].world.claim("early", at(5)).await;
        let claimed = twins[0].world.claim("late", at(606)).await;
        assert_eq!(claimed.len(), 2 * BIDS);
        let ends: Vec<_> = (0..14).map(|number| AskedEnd::of(round, number)).collect();
        let mut apart = Vec::new();
        for end in &ends {
            apart.push(twins[0].end(&claimed, end).await);
        }
        let together = join_all(ends.iter().map(|end| twins[1].end(&claimed, end))).await;
        assert_eq!(together, apart, "round {round}: {ends:?}");
        assert_eq!(
            twins[1].left().await,
            twins[0].left().await,
            "round {round}: {ends:?}"
        );
    }
}

/// The bids of a twin, each of another account.
const BIDS: usize = 8;

/// An end as it is asked for. Some bids are ended twice, some never.
#[derive(Debug)]
struct AskedEnd {
    bid: usize,
    owner: &'static str,
    kind: usize,
    at: Timestamp,
}

impl AskedEnd {
    fn of(round: usize, number: usize) -> Self {
        let hour = i64::try_from(number % 3).unwrap();
        Self {
            bid: (7 * number + 3 * round) % BIDS,
            owner: if (number + round).is_multiple_of(5) {
                "early"
            } else {
                "late"
            },
            kind: (5 * number + round) % 7,
            at: at(700 + 3600 * hour),
        }
    }

    fn outcome(&self) -> BidOutcome {
        match self.kind {
            0 | 1 => submitted(&format!("p_{}", self.kind), self.at),
            2 => refused_bid(ReasonCode::JobWarning),
            3 => refused_bid(ReasonCode::DeadlineExceeded),
            4 => already_applied("p_earlier"),
            _ => refused_bid(ReasonCode::InvalidToken),
        }
    }
}

struct Twin {
    world: World,
    leads: Vec<Lead>,
}

impl Twin {
    /// Each bid has a campaign of its own, and every other one is of the second billing period.
    async fn new(stores: &Stores, name: &str) -> Self {
        let mut builder = organization(name).period(at(0), at(3));
        for number in 0..BIDS {
            let account = format!("acct_of_{number}");
            let its_own = campaign(&format!("camp_{number}")).bids_with(Some(&account));
            builder = builder.account(&account).campaign(its_own);
        }
        let world = World::with(stores.clone(), builder).await;
        let of_campaigns = (0..BIDS).map(|number| world.campaign(&format!("camp_{number}")));
        let of_campaigns: Vec<World> = of_campaigns.collect();
        let ids: Vec<String> = (0..BIDS).map(|number| format!("{name}_{number}")).collect();
        let jobs = of_campaigns.iter().zip(&ids);
        let jobs = jobs.map(|(of_campaign, id)| of_campaign.job(id, at(0))).collect();
        world.ingest(at(0), jobs).await;
        let mut leads = Vec::new();
        for (number, of_campaign) in of_campaigns.iter().enumerate() {
            let lead = lead_id(name, of_campaign.campaign.as_str(), &ids[number]);
            let lead = of_campaign.find(&lead).await.unwrap().lead.lead;
            let second = if number.is_multiple_of(2) { 1 } else { 4 };
            of_campaign.bid(&lead, at(second)).await;
            leads.push(lead);
        }
        Self { world, leads }
    }

    async fn end(&self, claimed: &[ClaimedBid], asked: &AskedEnd) -> bool {
        let lead = &self.leads[asked.bid];
        let of_lead = claimed.iter().find(|claimed| claimed.bid.lead_id == lead.id);
        let mut end = finish(&of_lead.unwrap().bid, asked.outcome(), asked.at);
        end.refused_token = match asked.kind {
            5 => Some(token(&format!("token_acct_of_{}", asked.bid))),
            6 => Some(token("an earlier one")),
            _ => None,
        };
        let submissions = &self.world.stores.submissions;
        let ended = submissions.finish(&end, &LeaseOwner::new(asked.owner)).await;
        ended.unwrap()
    }

    /// What the ends left behind, in words: leads, bids, accounts, matches, the quota, entries, deliveries, and what is
    /// counted.
    async fn left(&self) -> Vec<String> {
        let (world, stores) = (&self.world, &self.world.stores);
        let mut left = Vec::new();
        for lead in &self.leads {
            let of_campaign = World {
                campaign: lead.campaign_id.clone(),
                ..world.clone()
            };
            let context = of_campaign.context(lead).await;
            let (lead, bid) = (context.lead.lead, context.bid.unwrap());
            left.push(format!("{:?}", (lead.status, lead.reason, lead.proposal_id)));
            left.push(format!("{:?}", (bid.status, bid.reason, bid.proposal_id)));
            let outstanding = bid.answer_outstanding;
            left.push(format!("{:?}", (bid.attempts, outstanding, bid.submitted_at)));
            let account = context.campaign.unwrap().account.unwrap();
            left.push(format!("{:?}", (account.connected, bid.connects_spent)));
            let query = FeedQuery {
                status: None,
                offset: 0,
                limit: 1,
            };
            let feed = &stores.campaign_feed;
            let page = feed
                .feed_page(&world.organization, &of_campaign.campaign, &query)
                .await;
            let page = page.unwrap().unwrap();
            left.push(format!("{:?} {:?}", page.counts, page.entries[0].bid.is_some()));
        }
        for now in [at(1), at(4)] {
            let shell = stores.overview.shell(&world.organization, now).await;
            left.push(format!("{} bids count", shell.unwrap().unwrap().used));
        }
        let entries = activities(stores, &world.organization).await;
        let mut entries: Vec<_> = entries
            .iter()
            .map(|entry| format!("{:?}", (entry.at, &entry.campaign_id, entry.kind, &entry.outcome)))
            .collect();
        entries.sort();
        left.extend(entries);
        let mut pending = world.pending().await;
        pending.retain(|delivery| delivery.organization_id == world.organization);
        let sent = stores
            .deliveries
            .claim(&pending, &LeaseOwner::new("me"), &clock_at(at(100)), seconds(14))
            .await;
        let mut sent: Vec<_> = sent
            .unwrap()
            .iter()
            .map(|sent| format!("{:?}", (sent.payload.kind(), sent.created_at, &sent.campaign_id)))
            .collect();
        sent.sort();
        left.extend(sent);
        left.extend(counted(world).await.iter().map(|sum| format!("{sum:?}")));
        left
    }
}
