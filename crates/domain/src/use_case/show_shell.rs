//! Show shell: what stands on every page of the console. Tests: `tests/use_case/show_overview.rs`.

use std::sync::Arc;
use std::time::Duration;

use crate::bidding::BillingPeriod;
use crate::model::{Member, Subscription, Timestamp};
use crate::port::{CampaignSign, Clock, OverviewStore, ShellFacts, StoreError};

/// A feed that was not read for so long is not being read. Each process notes its reading every 15 s.
const READ_WITHIN: Duration = Duration::from_secs(60);

/// What stands on every page.
#[derive(Debug, Clone, PartialEq)]
pub struct Shell {
    /// By name, with mode and state.
    pub campaigns: Vec<CampaignSign>,
    /// The subscription as it is now: the console says so on every page if it is not active (decision E4).
    pub subscription: Subscription,
    /// The billing period in force.
    pub period: BillingPeriod,
    /// Proposals counted in it; the subscription has the limit.
    pub used: u64,
    /// Whether the marketplace is read.
    pub marketplace: MarketplaceReading,
    /// The moment of all this.
    pub now: Timestamp,
}

/// Whether the marketplace's feed is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarketplaceReading {
    /// The installation has no marketplace, or never reached it.
    Never,
    /// It is; the last time that is known was this.
    Current(Timestamp),
    /// It has not been since then.
    Stale(Timestamp),
}

impl MarketplaceReading {
    /// As of `now`.
    pub(super) fn of(read_at: Option<Timestamp>, now: Timestamp) -> Self {
        match read_at {
            None => Self::Never,
            Some(at) if now.since(at) <= READ_WITHIN => Self::Current(at),
            Some(at) => Self::Stale(at),
        }
    }
}

/// Shows what stands on every page.
#[derive(Debug)]
pub struct ShowShell {
    /// A few indexed reads.
    pub store: Arc<dyn OverviewStore>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

impl ShowShell {
    /// `None` if the organization was removed.
    pub async fn execute(&self, member: &Member) -> Result<Option<Shell>, StoreError> {
        let now = self.clock.now();
        let facts = self.store.shell(member.organization_id(), now).await?;
        Ok(facts.map(|facts| shell(facts, now)))
    }
}

fn shell(facts: ShellFacts, now: Timestamp) -> Shell {
    Shell {
        campaigns: facts.campaigns,
        subscription: facts.subscription,
        period: facts.period,
        used: facts.used,
        marketplace: MarketplaceReading::of(facts.feed_read_at, now),
        now,
    }
}
