//! The contracts of the domain's ports, as test suites that run against any implementation.
//!
//! An implementation says how to make itself, fresh, for one test; a macro stamps out one test a rule. So the
//! fakes, SQLite and PostgreSQL run the same tests under the same names:
//!
//! ```
//! use std::sync::Arc;
//!
//! use async_trait::async_trait;
//! use bidloop_port_contracts::{StoreBed, Stores};
//!
//! struct MyBed(Stores);
//!
//! #[async_trait]
//! impl StoreBed for MyBed {
//!     fn stores(&self) -> Stores {
//!         self.0.clone()
//!     }
//! }
//!
//! async fn my_bed() -> MyBed {
//!     MyBed(open_empty_database().await)
//! }
//!
//! // The path is from the crate's root, since the tests are in modules of their own, one a port:
//! // `cargo test leads::` runs the rules of `LeadStore`.
//! bidloop_port_contracts::store_contracts!(crate::my_bed);
//! # async fn open_empty_database() -> Stores {
//! #     unreachable!("an example; no test runs it")
//! # }
//! # fn main() {}
//! ```
//!
//! The stamped tests are `#[tokio::test]`s of the multi-thread flavour, so the caller needs tokio among its
//! dev-dependencies. The rules reach the implementation through its ports alone: what a rule needs to be there,
//! the builders of [`fixture`] provision as an operator would.
//!
//! Each file holds the rules of one port, and `index` lists them all. The tests set the time; nothing waits for a clock.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::missing_panics_doc,
    reason = "this is test code, and its panics are the findings"
)]
#![expect(
    clippy::assigning_clones,
    reason = "records are changed a field at a time, for reading"
)]

pub mod fixture;

mod acted_on;
mod activities;
mod activity_search;
mod api_keys;
mod authorization;
mod automatic_bids;
mod billing;
mod blobs;
mod campaign_feed;
mod campaign_feed_leads;
mod campaign_feed_looks;
mod changed_jobs;
mod changes_by_people;
mod deliveries;
mod delivery_records;
mod endpoint_tries;
mod erasure;
mod feed_lease;
mod filter_changes;
mod first_run;
mod foreign_ids;
mod index;
mod ingest_actions;
mod installation;
mod jobs;
mod lead_attachments;
mod lead_bids;
mod lead_decisions;
mod leads;
mod matches;
mod overview;
mod people;
mod people_changes;
mod provisioning;
mod provisioning_removal;
mod quota;
mod retention;
mod retention_lists;
mod sent_at_once;
mod sessions;
mod sign_in_tries;
mod statistics;
mod submission_ends;
mod submission_leases;
mod submissions;
mod traces;
mod unanswered_bids;
mod webhook_senders;

pub use index::rules;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::port::{
    ActivityStore, ApiKeyStore, AutomaticBidStore, BillingStore, BlobStore, CampaignFeedStore,
    DeliveryRecords, DeliveryStore, ErasureStore, FeedLeaseStore, FirstRunStore, JobStore, LeadStore,
    MatchStore, OverviewStore, PeopleStore, ProvisioningStore, RetentionStore, SessionStore, SignInTryStore,
    StatisticsStore, SubmissionStore, WebhookSender,
};

/// The store ports of one implementation, over one state.
#[derive(Debug, Clone)]
pub struct Stores {
    /// What the payment provider reported.
    pub billing: Arc<dyn BillingStore>,
    /// Finds, creates and revokes keys.
    pub api_keys: Arc<dyn ApiKeyStore>,
    /// Leads and their bids.
    pub leads: Arc<dyn LeadStore>,
    /// The console's Feed.
    pub campaign_feed: Arc<dyn CampaignFeedStore>,
    /// The feed's side.
    pub jobs: Arc<dyn JobStore>,
    /// Backfills.
    pub matches: Arc<dyn MatchStore>,
    /// What endpoints were sent.
    pub delivery_records: Arc<dyn DeliveryRecords>,
    /// Webhook deliveries.
    pub deliveries: Arc<dyn DeliveryStore>,
    /// Queued bids.
    pub submissions: Arc<dyn SubmissionStore>,
    /// Intents to bid by template.
    pub automatic_bids: Arc<dyn AutomaticBidStore>,
    /// The Activity record.
    pub activities: Arc<dyn ActivityStore>,
    /// What operators provision.
    pub provisioning: Arc<dyn ProvisioningStore>,
    /// What is old.
    pub retention: Arc<dyn RetentionStore>,
    /// What removed organizations had.
    pub erasure: Arc<dyn ErasureStore>,
    /// Who reads the feed.
    pub feed_lease: Arc<dyn FeedLeaseStore>,
    /// People and their memberships.
    pub people: Arc<dyn PeopleStore>,
    /// Sessions of the console.
    pub sessions: Arc<dyn SessionStore>,
    /// Tries to sign in.
    pub sign_in_tries: Arc<dyn SignInTryStore>,
    /// The first start.
    pub first_run: Arc<dyn FirstRunStore>,
    /// What was counted.
    pub statistics: Arc<dyn StatisticsStore>,
    /// What pages of an organization show.
    pub overview: Arc<dyn OverviewStore>,
}

impl Stores {
    /// Of one type that implements them all.
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: ApiKeyStore
            + BillingStore
            + LeadStore
            + JobStore
            + MatchStore
            + CampaignFeedStore
            + DeliveryRecords
            + DeliveryStore
            + SubmissionStore
            + AutomaticBidStore
            + ActivityStore
            + ProvisioningStore
            + RetentionStore
            + ErasureStore
            + FeedLeaseStore
            + PeopleStore
            + SessionStore
            + SignInTryStore
            + FirstRunStore
            + StatisticsStore
            + OverviewStore
            + 'static,
    {
        Self {
            billing: store.clone(),
            api_keys: store.clone(),
            leads: store.clone(),
            campaign_feed: store.clone(),
            jobs: store.clone(),
            matches: store.clone(),
            delivery_records: store.clone(),
            deliveries: store.clone(),
            submissions: store.clone(),
            automatic_bids: store.clone(),
            activities: store.clone(),
            provisioning: store.clone(),
            retention: store.clone(),
            erasure: store.clone(),
            feed_lease: store.clone(),
            people: store.clone(),
            sessions: store.clone(),
            sign_in_tries: store.clone(),
            first_run: store.clone(),
            statistics: store.clone(),
            overview: store.clone(),
        }
    }
}

/// An implementation of the store ports, empty, for one test.
#[async_trait]
pub trait StoreBed: Send + Sync + Sized + 'static {
    /// The ports.
    fn stores(&self) -> Stores;

    /// Clears away what the test used, after a rule that held.
    async fn close(self) {}
}

/// An implementation of [`BlobStore`], empty, for one test.
#[async_trait]
pub trait BlobBed: Send + Sync + Sized + 'static {
    /// The port.
    fn blobs(&self) -> Arc<dyn BlobStore>;

    /// Clears away what the test used, after a rule that held.
    async fn close(self) {}
}

/// An implementation of [`WebhookSender`] with receivers that it can reach.
#[async_trait]
pub trait WebhookSenderBed: Send + Sync + Sized + 'static {
    /// Itself: the rules need the receivers too.
    fn bed(&self) -> &Self {
        self
    }

    /// The port.
    fn sender(&self) -> Arc<dyn WebhookSender>;

    /// A receiver that answers every request with this status and body; its URL.
    async fn receiver(&self, status: u16, body: &str) -> String;

    /// A URL at which no connection comes about.
    async fn unreachable(&self) -> String;

    /// The bodies that the receiver at `url` got so far.
    async fn received(&self, url: &str) -> Vec<bytes::Bytes>;

    /// Clears away what the test used, after a rule that held.
    async fn close(self) {}
}

/// Runs a rule, which fails if it has not come to its end after a minute: two tasks may be waiting for each other.
#[doc(hidden)]
pub async fn within_a_minute(rule: impl Future<Output = ()>) {
    tokio::time::timeout(Duration::from_secs(60), rule)
        .await
        .expect("the rule came to its end");
}

/// One test a rule: `$subject` of a bed that `$bed` makes is what the rules of `$module` take.
#[doc(hidden)]
#[macro_export]
macro_rules! stamp {
    ($bed:path, $trait:ident::$subject:ident, $module:ident, [$($rule:ident),* $(,)?]) => {
        mod $module {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $rule() {
                    let bed = $bed().await;
                    $crate::within_a_minute($crate::rules::$module::$rule($crate::$trait::$subject(&bed))).await;
                    $crate::$trait::close(bed).await;
                }
            )*
        }
    };
}
