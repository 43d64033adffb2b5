//! Show billing: what the subscription allows and what is used (decisions B3, D6 and E4). Tests:
//! `tests/use_case/show_settings.rs`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::bidding::BillingPeriod;
use crate::model::{AccountId, Connects, Measure, Member, StatisticsStep, Subscription, Timestamp};
use crate::port::{Clock, CountsQuery, OverviewStore, StatisticsStore, StoreError};

/// A forecast is made from so much of the period on.
const FORECAST_FROM_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// The connects of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountConnects {
    /// The account.
    pub id: AccountId,
    /// Its name; `None` if it was removed.
    pub name: Option<String>,
    /// What the period's submitted bids took, boosts included.
    pub connects: Connects,
}

/// An organization's subscription and its use.
#[derive(Debug, Clone, PartialEq)]
pub struct Billing {
    /// As billing reported it.
    pub subscription: Subscription,
    /// The period in force.
    pub period: BillingPeriod,
    /// Proposals counted in it (decision B3).
    pub used: u64,
    /// When the limit is reached if it goes on like this, if that is before the period's end.
    pub reached_at: Option<Timestamp>,
    /// Proposals a day so far, rounded; `None` in the first day.
    pub a_day: Option<u64>,
    /// Connects spent in the period, to the hour; accounts by name.
    pub connects: Vec<AccountConnects>,
    /// The counted periods before, newest first, with the proposals counted in each.
    pub past_periods: Vec<(BillingPeriod, u64)>,
    /// The moment of all this.
    pub now: Timestamp,
}

impl Billing {
    /// Connects of all accounts.
    pub fn connects_together(&self) -> Connects {
        let sum = self.connects.iter().map(|account| account.connects.get());
        Connects::new(sum.fold(0, u64::saturating_add))
    }

    /// Proposals left in the period; `None` without a limit.
    pub fn left(&self) -> Option<u64> {
        let limit = self.subscription.proposal_limit.map(u64::from);
        limit.map(|limit| limit.saturating_sub(self.used))
    }
}

/// Shows the subscription and its use.
#[derive(Debug)]
pub struct ShowBilling {
    /// Subscription and periods.
    pub store: Arc<dyn OverviewStore>,
    /// Connects spent.
    pub statistics: Arc<dyn StatisticsStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ShowBilling {
    /// `None` if the organization was removed.
    pub async fn execute(&self, member: &Member) -> Result<Option<Billing>, StoreError> {
        let now = self.clock.now();
        let Some(facts) = self.store.facts(member.organization_id(), now).await? else {
            return Ok(None);
        };
        let (subscription, period, used) = (facts.shell.subscription, facts.shell.period, facts.shell.used);
        let step = StatisticsStep::Hour;
        let query = CountsQuery {
            organization_id: Some(member.organization_id().clone()),
            step,
            from: step.start(period.start),
            until: period.end.min(step.shifted(step.start(now), 1)),
            measures: vec![Measure::ConnectsSpent],
            by_time: None,
            by_campaign: false,
        };
        let mut spent: BTreeMap<String, u64> = BTreeMap::new();
        for sum in self.statistics.sums(&query).await? {
            *spent.entry(sum.subject).or_default() += sum.count;
        }
        let named = |id: &AccountId| {
            let known = facts.accounts.iter().find(|account| account.id == *id);
            known.map(|account| account.name.clone())
        };
        let mut connects: Vec<AccountConnects> = spent
            .into_iter()
            .filter_map(|(id, connects)| {
                let id = AccountId::parse(&id).ok()?;
                Some(AccountConnects {
                    name: named(&id),
                    connects: Connects::new(connects),
                    id,
                })
            })
            .collect();
        connects.sort_by(|one, other| one.name.cmp(&other.name));
        let pace = Pace::of(period, used, now);
        Ok(Some(Billing {
            a_day: pace.as_ref().map(Pace::a_day),
            reached_at: pace
                .zip(subscription.proposal_limit)
                .and_then(|(pace, limit)| pace.reaches(u64::from(limit), period)),
            past_periods: facts.past_periods,
            subscription,
            period,
            used,
            connects,
            now,
        }))
    }
}

/// How fast proposals were used in the period.
struct Pace {
    start: i64,
    elapsed: i64,
    used: u64,
}

impl Pace {
    fn of(period: BillingPeriod, used: u64, now: Timestamp) -> Option<Self> {
        let elapsed = now.as_millis().saturating_sub(period.start.as_millis());
        (elapsed >= FORECAST_FROM_MILLIS).then_some(Self {
            start: period.start.as_millis(),
            elapsed,
            used,
        })
    }

    fn a_day(&self) -> u64 {
        let (elapsed, day) = (i128::from(self.elapsed), i128::from(FORECAST_FROM_MILLIS));
        let rounded = (i128::from(self.used) * day + elapsed / 2) / elapsed;
        u64::try_from(rounded).unwrap_or(u64::MAX)
    }

    fn reaches(&self, limit: u64, period: BillingPeriod) -> Option<Timestamp> {
        if self.used == 0 || self.used >= limit {
            return None;
        }
        let after = i128::from(self.elapsed) * i128::from(limit) / i128::from(self.used);
        let at = i64::try_from(i128::from(self.start) + after).ok()?;
        let at = Timestamp::from_millis(at);
        (at < period.end).then_some(at)
    }
}
