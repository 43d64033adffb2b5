//! What was counted, without a look at the record.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{CampaignId, Measure, OrganizationId, StatisticsStep, TimeBucket, Timestamp};

/// Which counts are added up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CountsQuery {
    /// Of this organization; `None`: of the installation.
    pub organization_id: Option<OrganizationId>,
    /// In steps of this length.
    pub step: StatisticsStep,
    /// From the step that begins here.
    pub from: Timestamp,
    /// To the last step that begins before this moment.
    pub until: Timestamp,
    /// These measures.
    pub measures: Vec<Measure>,
    /// Of how many steps each group of its own consists, from midnight on in UTC; `None`: all are added up.
    pub by_time: Option<u8>,
    /// Whether campaigns stay apart.
    pub by_campaign: bool,
}

/// A sum. Subjects and buckets always stay apart.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct CountedSum {
    /// The group's beginning; `None` if all steps were added up.
    pub at: Option<Timestamp>,
    /// The campaign; `None` if campaigns were added up, and for counts of no campaign.
    pub campaign_id: Option<CampaignId>,
    /// What was counted.
    pub measure: Measure,
    /// The measure's subject; else empty.
    pub subject: String,
    /// The bucket of a measure of times; else the first.
    pub bucket: TimeBucket,
    /// How many.
    pub count: u64,
}

/// The statistics that commands of the other stores keep, each in its own transaction. What they count is exact.
///
/// - [`JobStore::record_page`](super::JobStore::record_page): jobs seen, matches.
/// - [`DeliveryStore`](super::DeliveryStore): ends of deliveries. A lead counts as delivered once.
/// - [`AutomaticBidStore::complete`](super::AutomaticBidStore::complete): leads handed over.
/// - [`LeadStore::accept_bid`](super::LeadStore::accept_bid): real bids.
/// - [`SubmissionStore::finish`](super::SubmissionStore::finish): ends of bids.
#[async_trait]
pub trait StatisticsStore: Send + Sync + std::fmt::Debug {
    /// The sums, in any order.
    async fn sums(&self, query: &CountsQuery) -> Result<Vec<CountedSum>, StoreError>;

    /// Puts together what was counted since it was last called, so that each thing is counted once. The less often, the fewer
    /// counts there are to [add up](Self::add_up). It changes no sum. Returns whether there may be more to gather.
    async fn gather(&self) -> Result<bool, StoreError>;

    /// Adds up some of what was gathered, so that sums stay cheap to read. It changes none of them. Returns whether there may be
    /// more to add up.
    async fn add_up(&self) -> Result<bool, StoreError>;

    /// Gathers and adds up all there is.
    async fn add_all_up(&self) -> Result<(), StoreError> {
        while self.gather().await? {}
        while self.add_up().await? {}
        Ok(())
    }
}
