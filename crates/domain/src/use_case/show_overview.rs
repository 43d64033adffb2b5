//! Show overview: is it healthy, does it pay? Tests: `tests/use_case/show_overview.rs`.
//!
//! Computed from the statistics that commands keep: nothing scans the record.

mod figures;
mod period;

use std::sync::Arc;
use std::time::Duration;

pub use self::period::OverviewPeriod;
use self::period::Span;
use super::show_shell::MarketplaceReading;
use crate::model::{
    AccountId, CampaignId, Connects, EndpointId, Measure, Member, OrganizationId, ReasonCode,
    SubscriptionStatus, Timestamp, WebhookEndpoint,
};
use crate::port::{
    CampaignSign, Clock, CountedSum, CountsQuery, OrganizationFacts, OverviewStore, StatisticsStore,
    StoreError,
};

/// What is told by campaign.
const OF_CAMPAIGNS: [Measure; 8] = [
    Measure::Matched,
    Measure::MatchedPaused,
    Measure::Delivered,
    Measure::HandedOver,
    Measure::Bid,
    Measure::Ended,
    Measure::ConnectsSpent,
    Measure::BoostConnects,
];
/// The times of the loop.
const TIMES: [Measure; 3] = [Measure::DeliveryTime, Measure::BidTime, Measure::SubmissionTime];
/// What is told by endpoint.
const OF_ENDPOINTS: [Measure; 3] = [
    Measure::EndpointFailed,
    Measure::EndpointTime,
    Measure::EndpointUntimed,
];

/// What a period brought in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Real bids accepted.
    pub bids: u64,
    /// Proposals submitted.
    pub submitted: u64,
    /// Connects spent, those of boosts included.
    pub connects: Connects,
    /// Connects spent on boosts.
    pub boost_connects: Connects,
    /// Posting to submission.
    pub submission: Times,
}

/// How long something took.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    /// Half took no longer.
    pub p50: Option<Duration>,
    /// 95 of 100 took no longer.
    pub p95: Option<Duration>,
    /// The longest.
    pub slowest: Option<Duration>,
}

/// From job to proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Funnel {
    /// New jobs of the feed, of the whole installation.
    pub jobs_seen: u64,
    /// Matches of the organization's campaigns: a job may match several.
    pub matched: u64,
    /// Those that came while their campaign was paused, or the subscription not active: listed only.
    pub matched_paused: u64,
    /// Leads delivered, or handed to a template (decision E9).
    pub delivered: u64,
    /// Real bids accepted.
    pub bids: u64,
    /// Proposals submitted.
    pub submitted: u64,
}

/// How bids ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ending {
    /// Why without a proposal; `None`: submitted.
    pub reason: Option<ReasonCode>,
    /// How many.
    pub count: u64,
}

/// The times of a part of the period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimesAt {
    /// The part's beginning.
    pub at: Timestamp,
    /// Posting to delivery.
    pub delivery: Times,
    /// Posting to bid.
    pub bid: Times,
    /// Posting to submission.
    pub submission: Times,
}

/// A campaign's share.
#[derive(Debug, Clone, PartialEq)]
pub struct CampaignFigures {
    /// Id, name, mode and state.
    pub sign: CampaignSign,
    /// Matches in each part of the period, oldest first: hours of a day, else days.
    pub matches: Vec<u64>,
    /// Proposals submitted.
    pub submitted: u64,
    /// Connects spent.
    pub connects: Connects,
}

/// An endpoint's share.
#[derive(Debug, Clone, PartialEq)]
pub struct EndpointFigures {
    /// The endpoint.
    pub endpoint: WebhookEndpoint,
    /// Deliveries sent to it.
    pub sent: u64,
    /// Those that failed.
    pub failed: u64,
    /// 95 of 100 answers took no longer.
    pub p95: Option<Duration>,
}

/// Something that people should look at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// Most of an active endpoint's last deliveries failed.
    EndpointFailing {
        /// The endpoint.
        endpoint: EndpointId,
        /// The campaign that it belongs to; `None` for the organization's.
        campaign: Option<CampaignId>,
        /// Its address.
        url: String,
        /// How many failed.
        failed: usize,
        /// Of how many.
        of: usize,
    },
    /// The marketplace refuses an account's token.
    AccountDisconnected {
        /// The account.
        account: AccountId,
        /// Its name.
        name: String,
        /// Bids that wait for a new token.
        queued: u64,
    },
    /// The subscription is not active (decision E4).
    SubscriptionLapsed {
        /// Its status.
        status: SubscriptionStatus,
        /// Whether its collection is paused.
        collection_paused: bool,
    },
    /// The marketplace has not been read since then.
    MarketplaceNotRead {
        /// The last time.
        since: Timestamp,
    },
}

/// The Overview page.
#[derive(Debug, Clone, PartialEq)]
pub struct Overview {
    /// The period.
    pub period: OverviewPeriod,
    /// Its beginning.
    pub from: Timestamp,
    /// The moment of all this.
    pub now: Timestamp,
    /// What it brought in.
    pub totals: Totals,
    /// What the period before it brought in.
    pub before: Totals,
    /// From job to proposal.
    pub funnel: Funnel,
    /// How bids ended: submitted first, then skipped, then failed, each the most frequent first.
    pub endings: Vec<Ending>,
    /// Bids that are queued now.
    pub queued: u64,
    /// Posting to delivery, over the whole period.
    pub delivery: Times,
    /// Posting to bid, over the whole period.
    pub bid: Times,
    /// Over time, at most 60 parts, oldest first, those without any left out.
    pub series: Vec<TimesAt>,
    /// By name.
    pub campaigns: Vec<CampaignFigures>,
    /// The organization's first.
    pub endpoints: Vec<EndpointFigures>,
    /// The gravest first.
    pub troubles: Vec<Trouble>,
}

/// Shows the Overview.
#[derive(Debug)]
pub struct ShowOverview {
    /// Campaigns, endpoints and accounts.
    pub store: Arc<dyn OverviewStore>,
    /// What was counted.
    pub statistics: Arc<dyn StatisticsStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// What was counted in the period, as it was read.
struct Counts {
    campaigns: Vec<CountedSum>,
    before: Vec<CountedSum>,
    jobs: Vec<CountedSum>,
    times: Vec<CountedSum>,
    matches: Vec<CountedSum>,
    endpoints: Vec<CountedSum>,
}

impl ShowOverview {
    /// `None` if the organization was removed.
    pub async fn execute(
        &self,
        member: &Member,
        period: OverviewPeriod,
    ) -> Result<Option<Overview>, StoreError> {
        let now = self.clock.now();
        let organization = member.organization_id();
        let Some(facts) = self.store.facts(organization, now).await? else {
            return Ok(None);
        };
        let span = period.span(now);
        let counts = self.counts(organization, span).await?;
        Ok(Some(figures::overview(period, span, &facts, &counts, now)))
    }

    async fn counts(&self, organization: &OrganizationId, span: Span) -> Result<Counts, StoreError> {
        let of = Some(organization);
        let mut of_before = vec![Measure::Bid, Measure::Ended, Measure::ConnectsSpent];
        of_before.extend([Measure::BoostConnects, Measure::SubmissionTime]);
        let before = CountsQuery {
            from: span.before,
            until: span.from,
            ..query(of, span, &of_before)
        };
        let campaigns = CountsQuery {
            by_campaign: true,
            ..query(of, span, &OF_CAMPAIGNS)
        };
        let matches = CountsQuery {
            by_campaign: true,
            by_time: Some(1),
            ..query(of, span, &[Measure::Matched])
        };
        let times = CountsQuery {
            step: span.times.0,
            by_time: Some(span.times.1),
            ..query(of, span, &TIMES)
        };
        let jobs = query(None, span, &[Measure::JobsSeen]);
        let endpoints = query(of, span, &OF_ENDPOINTS);
        let sums = |query| self.statistics.sums(query);
        // Thousands of counts are added up for the longest period: at the same time.
        let (campaigns, before, jobs, times, matches, endpoints) = futures::try_join!(
            sums(&campaigns),
            sums(&before),
            sums(&jobs),
            sums(&times),
            sums(&matches),
            sums(&endpoints),
        )?;
        Ok(Counts {
            campaigns,
            before,
            jobs,
            times,
            matches,
            endpoints,
        })
    }
}

fn query(organization: Option<&OrganizationId>, span: Span, measures: &[Measure]) -> CountsQuery {
    CountsQuery {
        organization_id: organization.cloned(),
        step: span.step,
        from: span.from,
        until: span.until,
        measures: measures.to_vec(),
        by_time: None,
        by_campaign: false,
    }
}

/// What should be looked at, the gravest first.
fn troubles(facts: &OrganizationFacts, now: Timestamp) -> Vec<Trouble> {
    let mut troubles = Vec::new();
    let subscription = &facts.shell.subscription;
    if !subscription.is_active() {
        troubles.push(Trouble::SubscriptionLapsed {
            status: subscription.status,
            collection_paused: subscription.collection_paused,
        });
    }
    if let MarketplaceReading::Stale(since) = MarketplaceReading::of(facts.shell.feed_read_at, now) {
        troubles.push(Trouble::MarketplaceNotRead { since });
    }
    let disconnected = facts.accounts.iter().filter(|account| !account.connected);
    troubles.extend(disconnected.map(|account| Trouble::AccountDisconnected {
        account: account.id.clone(),
        name: account.name.clone(),
        queued: account.queued,
    }));
    for known in facts.endpoints.iter().filter(|known| known.endpoint.active) {
        let failed = known.last.iter().filter(|delivered| !**delivered).count();
        if failed * 2 > known.last.len() {
            troubles.push(Trouble::EndpointFailing {
                endpoint: known.endpoint.id.clone(),
                campaign: known.endpoint.campaign_id.clone(),
                url: known.endpoint.url.clone(),
                failed,
                of: known.last.len(),
            });
        }
    }
    troubles
}
