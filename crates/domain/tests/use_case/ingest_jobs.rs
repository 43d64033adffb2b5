//! Ingest jobs: decisions D2, D4 and D6.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::SubscriptionStatus;
use bidloop_domain::port::{
    ClaimedDelivery, DeliveryStore as _, FeedCursor, JobStore as _, LeadStore as _, MarketplaceError,
    MarketplaceRefusal, WorkKind,
};
use bidloop_domain::use_case::{DeliverWebhooks, IngestError, IngestJobs, IngestedPage, MAX_IN_FLIGHT};
use bidloop_fakes::{Call, Fault};
use bidloop_port_contracts::fixture::{at, campaign, campaign_id};
use serde_json::{Value, json};

use crate::service::{ACT_WITHIN, HOOK, Service, acme, bare_acme, job, job_with};
use crate::stepping::{Pass, stepping_marketplace};

/// How many deliveries and intents are queued.
async fn queued(service: &Service) -> (u64, u64) {
    let deliveries = service.stores.deliveries.pending_count().await.unwrap();
    (
        deliveries,
        service.stores.automatic_bids.automatic_count().await.unwrap(),
    )
}

/// The jobs that the campaign lists, newest first.
async fn listed(service: &Service, campaign: &str) -> Vec<String> {
    let page = service
        .store
        .page(&Service::organization(), &campaign_id(campaign), 0, 100)
        .await;
    let leads = page.unwrap().unwrap().leads;
    leads.into_iter().map(|lead| lead.job_id.to_string()).collect()
}

#[tokio::test]
async fn reading_goes_on_where_it_stopped_and_no_job_is_matched_twice() {
    let service = Service::new().await;
    for number in 0..1_100 {
        service.publish(&job(&number.to_string()));
    }
    let pages = service.ingest().await;
    let new: Vec<u64> = pages.iter().map(|page| page.counts.new_jobs).collect();
    assert_eq!(new, [500, 500, 100]);
    service.publish(&job("last"));
    let pages = service.ingest().await;
    assert_eq!(
        (pages.len(), pages[0].counts.new_jobs, pages[0].counts.deliveries),
        (1, 1, 1)
    );
    assert_eq!(
        service.store.feed_position().await.unwrap(),
        Some(FeedCursor("1101".to_owned()))
    );
    assert_eq!(queued(&service).await.0, 1_101);
    assert_eq!(
        service.ingest().await[0].counts,
        bidloop_domain::port::PageCounts::default()
    );
}

#[tokio::test]
async fn while_there_is_more_it_is_told_how_far_behind_the_reading_is() {
    let service = Service::new().await;
    for number in 0..501 {
        service.publish(&job(&number.to_string()));
    }
    service.clock.set(at(90));
    let pages = service.ingest().await;
    assert_eq!(pages[0].behind, Some(Duration::from_secs(90)));
    assert_eq!(pages[1].behind, None);
}

#[tokio::test]
async fn a_refused_position_starts_again_at_the_oldest_and_known_jobs_are_recognized() {
    for refusal in [MarketplaceRefusal::Invalid, MarketplaceRefusal::NotFound] {
        let service = Service::new().await;
        service.publish(&job("1"));
        service.ingest().await;
        service.publish(&job("2"));
        service
            .marketplace
            .script(Call::Feed, Fault::refused(refusal.clone()));
        let pages = service.ingest().await;
        assert!(pages[0].position_refused);
        assert_eq!(
            (pages[0].counts.new_jobs, pages[0].counts.deliveries),
            (1, 1),
            "{refusal:?}"
        );
        assert_eq!(listed(&service, "camp").await.len(), 2);
        assert_eq!(queued(&service).await.0, 2, "nothing is sent twice");
        assert!(!service.ingest().await[0].position_refused);
    }
}

#[tokio::test]
async fn a_passing_fault_a_refused_token_and_a_refused_start_leave_the_position_alone() {
    let service = Service::new().await;
    service
        .marketplace
        .script(Call::Feed, Fault::refused(MarketplaceRefusal::Invalid));
    let refused = service.ingest_jobs().next_page().await;
    assert!(matches!(
        refused,
        Err(IngestError::Marketplace(MarketplaceError::Refused { .. }))
    ));
    assert_eq!(
        service.marketplace.calls(Call::Feed),
        1,
        "there is no position to give up"
    );
    service.publish(&job("1"));
    service.ingest().await;
    let position = service.store.feed_position().await.unwrap();
    for fault in [
        Fault::unavailable(),
        Fault::no_answer(),
        Fault::invalid_token(),
        Fault::malformed(),
    ] {
        service.marketplace.script(Call::Feed, fault);
        let calls = service.marketplace.calls(Call::Feed);
        assert!(service.ingest_jobs().next_page().await.is_err());
        assert_eq!(service.marketplace.calls(Call::Feed), calls + 1);
        assert_eq!(service.store.feed_position().await.unwrap(), position);
    }
}

#[tokio::test]
async fn a_malformed_entry_is_passed_over_and_told_and_holds_up_nothing() {
    let service = Service::new().await;
    service.publish(&job("1"));
    service.marketplace.publish_malformed(Some("2"), "title: missing");
    service.publish(&job("3"));
    let pages = service.ingest().await;
    assert_eq!(
        pages[0].malformed,
        [(Some("2".to_owned()), "title: missing".to_owned())]
    );
    assert_eq!(pages[0].counts.new_jobs, 2);
    service.marketplace.publish_malformed(None, "no object");
    let pages = service.ingest().await;
    assert_eq!((pages[0].malformed.len(), pages[0].counts.new_jobs), (1, 0));
    assert!(
        service.ingest().await[0].malformed.is_empty(),
        "the position is beyond it"
    );
}

#[tokio::test]
async fn a_job_matches_campaigns_whatever_their_state_and_only_active_ones_act() {
    let automatic = |id: &str| campaign(id).automatic();
    let service = Service::with(
        acme()
            .campaign(campaign("paused").paused())
            .campaign(automatic("auto"))
            .campaign(automatic("auto_paused").paused())
            .campaign(
                campaign("other")
                    .without_filters()
                    .filter("f", json!({"keywords": "cobol"})),
            )
            .campaign(campaign("none").without_filters()),
    )
    .await;
    service.signal.take();
    service.publish(&job("1"));
    service.ingest().await;
    assert_eq!(
        service.signal.take(),
        [WorkKind::Deliveries, WorkKind::AutomaticBids]
    );
    assert_eq!(queued(&service).await, (1, 1));
    for name in ["camp", "paused", "auto", "auto_paused"] {
        assert_eq!(listed(&service, name).await, ["1"], "{name}");
    }
    for name in ["other", "none"] {
        assert!(listed(&service, name).await.is_empty(), "{name}");
    }
}

#[tokio::test]
async fn a_job_that_several_filters_of_a_campaign_match_is_one_match() {
    let twice = campaign("camp").filter("f2", json!({"keywords": "build"}));
    let service = Service::with(bare_acme().campaign(twice)).await;
    service.publish(&job("1"));
    let pages = service.ingest().await;
    assert_eq!((pages[0].counts.matches, pages[0].counts.deliveries), (1, 1));
}

#[tokio::test]
async fn an_organization_without_an_active_subscription_only_lists() {
    for (status, paused) in [
        (SubscriptionStatus::PastDue, false),
        (SubscriptionStatus::Active, true),
    ] {
        let mut organization = acme().campaign(campaign("auto").automatic()).status(status);
        organization.0.subscription.collection_paused = paused;
        let service = Service::with(organization).await;
        service.publish(&job("1"));
        service.ingest().await;
        assert_eq!(queued(&service).await, (0, 0));
        assert_eq!(listed(&service, "camp").await, ["1"]);
    }
}

#[tokio::test]
async fn a_stale_backlog_is_only_listed() {
    let posted = |before: Duration| json!({"postedAt": at(0).minus(before).as_millis()});
    let service = Service::with(acme().campaign(campaign("auto").automatic())).await;
    service.publish(&job_with("old", posted(ACT_WITHIN + Duration::from_millis(1))));
    service.ingest().await;
    assert_eq!(queued(&service).await, (0, 0));
    assert!(!service.is_a_lead("old").await);
    service.publish(&job_with("just", posted(ACT_WITHIN)));
    service.ingest().await;
    assert_eq!(queued(&service).await, (1, 1));
    assert_eq!(listed(&service, "camp").await, ["just", "old"]);

    let mut any_age = IngestJobs {
        act_within: None,
        ..service.ingest_jobs()
    };
    service.publish(&job_with("ancient", posted(ACT_WITHIN * 1_000)));
    any_age.next_page().await.unwrap();
    assert_eq!(queued(&service).await, (2, 2));
}

#[tokio::test]
async fn a_changed_post_is_matched_again_and_sends_nothing() {
    let service = Service::with(acme().campaign(campaign("auto").automatic())).await;
    service.publish(&job("1"));
    service.publish(&job_with("2", json!({"title": "Cobol service"})));
    service.ingest().await;
    let before = queued(&service).await;
    service.clock.set(at(5));
    service.publish(&job_with("1", json!({"title": "Cobol service"})));
    service.publish(&job("2"));
    service.publish(&job("2"));
    let pages = service.ingest().await;
    assert_eq!((pages[0].counts.new_jobs, pages[0].counts.changed_jobs), (0, 2));
    assert_eq!(
        queued(&service).await,
        before,
        "what has been sent stays, and nothing is sent"
    );
    assert_eq!(listed(&service, "camp").await, ["2"]);
    assert!(service.is_a_lead("1").await, "a lead outlives its match");
}

/// A watcher's reading of one page, stopping at the feed.
fn watcher(service: &Service) -> Pass<IngestedPage> {
    let mut ingest = IngestJobs {
        marketplace: stepping_marketplace(service),
        ..service.ingest_jobs()
    };
    Pass::new(async move { ingest.next_page().await.unwrap() })
}

#[tokio::test]
async fn of_two_watchers_one_records_a_page_and_the_other_reads_on() {
    let service = Service::new().await;
    service.publish(&job("1"));
    let (mut one, mut other) = (watcher(&service), watcher(&service));
    assert!(one.step().is_none() && one.step().is_none());
    assert!(other.step().is_none() && other.step().is_none());
    assert_eq!(one.finish().counts.deliveries, 1);
    let outpaced = other.finish();
    assert_eq!(outpaced.counts, bidloop_domain::port::PageCounts::default());
    assert!(outpaced.has_more, "it reads on at once");
    assert_eq!(queued(&service).await.0, 1);
}

#[tokio::test]
async fn a_crash_while_a_page_is_read_loses_and_repeats_nothing() {
    let service = Service::new().await;
    service.publish(&job("1"));
    for crash in 0..3 {
        let mut crashing = watcher(&service);
        for _ in 0..crash {
            assert!(crashing.step().is_none());
        }
    }
    assert_eq!(service.store.feed_position().await, Ok(None));
    service.ingest().await;
    assert_eq!(queued(&service).await.0, 1);
}

#[tokio::test]
async fn filters_that_changed_since_the_last_page_match_the_next_one() {
    let service = Service::new().await;
    let mut ingest = service.ingest_jobs();
    service.publish(&job("1"));
    ingest.next_page().await.unwrap();
    service.put_filter(json!({"keywords": "cobol"})).await;
    service.publish(&job("2"));
    let page = ingest.next_page().await.unwrap();
    assert_eq!((page.counts.new_jobs, page.counts.matches), (1, 0));
    service.put_filter(json!({"keywords": "rust"})).await;
    service.publish(&job("3"));
    assert_eq!(ingest.next_page().await.unwrap().counts.matches, 1);
}

#[tokio::test]
async fn a_page_that_was_matched_with_older_filters_is_matched_again() {
    let service = Service::new().await;
    service.publish(&job("1"));
    let store = std::sync::Arc::new(between::ChangedMeanwhile::new(
        &service,
        json!({"keywords": "cobol"}),
    ));
    let mut ingest = IngestJobs {
        jobs: store.clone(),
        ..service.ingest_jobs()
    };
    let page = ingest.next_page().await.unwrap();
    assert_eq!(store.recordings(), 2);
    assert_eq!(
        (page.counts.new_jobs, page.counts.matches, page.counts.deliveries),
        (1, 0, 0)
    );
    assert_eq!(service.marketplace.calls(Call::Feed), 1, "it is not read again");
}

/// Reads a page in a process that also sends.
async fn ingest_and_claim(service: &Service, deliver: &Arc<DeliverWebhooks>) -> IngestedPage {
    let mut ingest = IngestJobs {
        sender: Some(Arc::clone(deliver)),
        ..service.ingest_jobs()
    };
    ingest.next_page().await.unwrap()
}

async fn send(deliver: &DeliverWebhooks, claimed: Vec<ClaimedDelivery>) {
    for delivery in claimed {
        let sent = deliver.send(delivery).await;
        assert!(deliver.record(&sent).await.unwrap());
    }
}

#[tokio::test]
async fn what_a_page_queues_is_sent_without_a_claim_of_its_own() {
    let service = Service::new().await;
    let deliver = Arc::new(service.deliver_webhooks(MAX_IN_FLIGHT));
    assert!(deliver.claim().await.unwrap().is_empty());
    service.publish(&job("1"));
    service.publish(&job("2"));
    let page = ingest_and_claim(&service, &deliver).await;
    assert_eq!((page.counts.deliveries, page.claimed.len()), (2, 2));
    assert_eq!(service.store.pending_count().await, Ok(0));
    assert_eq!(service.signal.take(), [], "nothing waits for the worker");
    send(&deliver, page.claimed).await;
    assert_eq!(service.sender.sent_to(HOOK).len(), 2);
    assert!(deliver.claim().await.unwrap().is_empty());
}

#[tokio::test]
async fn a_page_passes_by_no_delivery_that_may_wait() {
    let service = Service::new().await;
    let deliver = Arc::new(service.deliver_webhooks(MAX_IN_FLIGHT));
    service.publish(&job("1"));
    let page = ingest_and_claim(&service, &deliver).await;
    assert!(page.claimed.is_empty(), "it is not known yet what waits");
    assert_eq!(service.signal.take(), [WorkKind::Deliveries]);
    service.publish(&job("2"));
    let page = ingest_and_claim(&service, &deliver).await;
    assert!(page.claimed.is_empty(), "the first waits");
    let claimed = deliver.claim().await.unwrap();
    assert_eq!(claimed.len(), 2);
    send(&deliver, claimed).await;
    service.publish(&job("3"));
    assert_eq!(ingest_and_claim(&service, &deliver).await.claimed.len(), 1);
}

#[tokio::test]
async fn pages_and_claims_share_the_places_of_a_process() {
    let service = Service::new().await;
    // One place an endpoint.
    let deliver = Arc::new(service.deliver_webhooks(16));
    assert!(deliver.claim().await.unwrap().is_empty());
    for id in ["1", "2", "3"] {
        service.publish(&job(id));
    }
    let page = ingest_and_claim(&service, &deliver).await;
    assert_eq!((page.counts.deliveries, page.claimed.len()), (3, 1));
    assert_eq!(service.signal.take(), [WorkKind::Deliveries]);
    assert!(deliver.claim().await.unwrap().is_empty(), "its place is taken");
    service.publish(&job("4"));
    let next = ingest_and_claim(&service, &deliver).await;
    assert!(next.claimed.is_empty(), "others wait for the place");
    let sent = deliver.send(page.claimed[0].clone()).await;
    assert!(sent.makes_room);
    assert_eq!(deliver.claim().await.unwrap().len(), 1);
}

mod between {
    //! A store whose filters change just before the first page is recorded.

    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use async_trait::async_trait;
    use bidloop_domain::model::{FilterId, OrganizationId};
    use bidloop_domain::port::{
        ClaimedDelivery, FeedCursor, FilterChanges, JobStore, MatchedPage, RecordPage, Revision, SendAtOnce,
        StoreError, StoredFilter,
    };
    use bidloop_fakes::MemoryStore;
    use bidloop_port_contracts::Stores;
    use bidloop_port_contracts::fixture::commit;

    use super::{Service, Value};
    use crate::service::changed_filter;

    #[derive(Debug)]
    pub(super) struct ChangedMeanwhile {
        store: Arc<MemoryStore>,
        stores: Stores,
        body: Value,
        recordings: AtomicU32,
    }

    impl ChangedMeanwhile {
        pub(super) fn new(service: &Service, body: Value) -> Self {
            Self {
                store: service.store.clone(),
                stores: service.stores.clone(),
                body,
                recordings: AtomicU32::new(0),
            }
        }

        pub(super) fn recordings(&self) -> u32 {
            self.recordings.load(Ordering::SeqCst)
        }
    }

    #[async_trait]
    impl JobStore for ChangedMeanwhile {
        async fn feed_position(&self) -> Result<Option<FeedCursor>, StoreError> {
            self.store.feed_position().await
        }

        async fn revision(&self) -> Result<Revision, StoreError> {
            self.store.revision().await
        }

        async fn filters(
            &self,
            after: Option<&(OrganizationId, FilterId)>,
            limit: u32,
        ) -> Result<Vec<StoredFilter>, StoreError> {
            self.store.filters(after, limit).await
        }

        async fn filters_since(&self, revision: Revision) -> Result<FilterChanges, StoreError> {
            self.store.filters_since(revision).await
        }

        async fn latest_jobs(&self, limit: u32) -> Result<Vec<String>, StoreError> {
            self.store.latest_jobs(limit).await
        }

        async fn note_feed_read(&self, at: bidloop_domain::model::Timestamp) -> Result<(), StoreError> {
            self.store.note_feed_read(at).await
        }

        fn page_size(&self) -> u32 {
            self.store.page_size()
        }

        async fn record_and_claim(
            &self,
            page: &MatchedPage,
            by: Option<&SendAtOnce>,
        ) -> Result<(RecordPage, Vec<ClaimedDelivery>), StoreError> {
            if self.recordings.fetch_add(1, Ordering::SeqCst) == 0 {
                commit(&self.stores, &[changed_filter(self.body.clone())]).await;
            }
            self.store.record_and_claim(page, by).await
        }
    }
}
