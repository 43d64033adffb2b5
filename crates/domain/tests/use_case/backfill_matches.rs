//! Backfill matches: what a filter change does to the list (decisions A5 and D2).

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bidloop_domain::model::{CampaignId, FilterId, OrganizationId, Timestamp};
use bidloop_domain::port::{
    Backfill, CallingThread, DueBackfills, FilterRecord, LeadStore as _, MatchStore, ProvisioningChange,
    Quarantine, StoreError, StoredJob, StoredSignature, SwitchMatches,
};
use bidloop_domain::use_case::{BackfillMatches, BackfillReport};
use bidloop_port_contracts::fixture::{at, campaign};
use serde_json::json;

use crate::service::{Service, acme, bare_acme, job, job_with, request};

/// The campaign's jobs, newest first, with the second of each one's `createdAt`.
async fn listed(service: &Service) -> Vec<(String, i64)> {
    let page = service
        .store
        .page(&Service::organization(), &Service::campaign(), 0, 1_000)
        .await;
    let leads = page.unwrap().unwrap().leads;
    let second = |millis: i64| (millis - at(0).as_millis()) / 1_000;
    leads
        .into_iter()
        .map(|lead| (lead.job_id.to_string(), second(lead.created_at.as_millis())))
        .collect()
}

async fn backfill(service: &Service) -> BackfillReport {
    service.backfill_matches().run().await.unwrap()
}

/// A Rust job at second 1, a Cobol job at second 2 and one with both at second 3.
async fn three_jobs(service: &Service) {
    for (second, id, title) in [
        (1, "rust", "Rust"),
        (2, "cobol", "Cobol"),
        (3, "both", "Rust, Cobol"),
    ] {
        service.clock.set(at(second));
        service.publish(&job_with(id, json!({"title": title})));
        service.ingest().await;
    }
    service.clock.set(at(10));
}

fn owned(list: &[(&str, i64)]) -> Vec<(String, i64)> {
    list.iter()
        .map(|(id, second)| ((*id).to_owned(), *second))
        .collect()
}

#[tokio::test]
async fn a_filter_change_serves_the_old_matches_until_the_switch_and_keeps_what_remains() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    three_jobs(&service).await;
    service.put_filter(json!({"keywords": "cobol"})).await;
    assert_eq!(listed(&service).await, owned(&[("both", 3), ("rust", 1)]));
    let report = backfill(&service).await;
    assert_eq!((report.jobs, report.superseded), (3, 0));
    assert_eq!(
        report.switched,
        [(Service::organization(), Service::campaign(), 2)]
    );
    assert_eq!(listed(&service).await, owned(&[("cobol", 10), ("both", 3)]));
    assert_eq!(backfill(&service).await, BackfillReport::default());
}

#[tokio::test]
async fn a_job_that_matches_again_takes_its_leads_moment_if_it_has_a_lead() {
    let service = Service::new().await;
    three_jobs(&service).await;
    service.put_filter(json!({"keywords": "fortran"})).await;
    backfill(&service).await;
    assert!(listed(&service).await.is_empty());
    service.put_filter(json!({"keywords": "rust OR cobol"})).await;
    service.clock.set(at(20));
    backfill(&service).await;
    // The two Rust jobs were pushed as leads when they arrived, the Cobol job never was.
    assert_eq!(
        listed(&service).await,
        owned(&[("cobol", 20), ("both", 3), ("rust", 1)])
    );
}

#[tokio::test]
async fn a_filter_change_sends_and_bids_nothing_for_older_jobs() {
    let service = Service::with(acme().campaign(campaign("auto").automatic())).await;
    three_jobs(&service).await;
    let before = (
        service.stores.deliveries.pending_count().await,
        service.stores.automatic_bids.automatic_count().await,
    );
    service.put_filter(json!({"keywords": "cobol"})).await;
    backfill(&service).await;
    let after = (
        service.stores.deliveries.pending_count().await,
        service.stores.automatic_bids.automatic_count().await,
    );
    assert_eq!(before, after);
    service.publish(&job_with("new", json!({"title": "Cobol"})));
    service.ingest().await;
    assert_eq!(
        service.stores.deliveries.pending_count().await,
        before.0.map(|count| count + 1)
    );
}

#[tokio::test]
async fn a_lead_whose_job_left_the_list_can_still_be_bid_on() {
    let (service, lead) = Service::with_lead().await;
    service.put_filter(json!({"keywords": "cobol"})).await;
    backfill(&service).await;
    assert!(listed(&service).await.is_empty());
    service.bid(&lead, request()).await;
    service.submit().await;
    assert_eq!(service.marketplace.proposals().len(), 1);
}

#[tokio::test]
async fn a_campaign_that_lost_its_filters_matches_nothing() {
    let service = Service::new().await;
    three_jobs(&service).await;
    let removal = ProvisioningChange::RemoveFilter(
        Service::organization(),
        Service::campaign(),
        FilterId::parse("f_camp").unwrap(),
    );
    service.commit(removal).await;
    let report = backfill(&service).await;
    assert_eq!(
        (report.jobs, report.switched.len()),
        (0, 1),
        "nothing needs to be read"
    );
    assert!(listed(&service).await.is_empty());
}

#[tokio::test]
async fn several_filters_of_one_campaign_are_alternatives_and_a_job_is_listed_once() {
    let service = Service::new().await;
    three_jobs(&service).await;
    let another = FilterRecord {
        id: FilterId::parse("another").unwrap(),
        name: "Another".to_owned(),
        body: json!({"keywords": "cobol"}),
    };
    let change = ProvisioningChange::PutFilter(Service::organization(), Service::campaign(), another);
    service.commit(change).await;
    assert_eq!(backfill(&service).await.switched[0].2, 3);
    assert_eq!(
        listed(&service).await,
        owned(&[("cobol", 10), ("both", 3), ("rust", 1)])
    );
}

#[tokio::test]
async fn one_pass_over_many_jobs_serves_all_campaigns_and_tells_its_progress() {
    let service = Service::with(acme().campaign(campaign("second").without_filters())).await;
    for number in 0..1_050 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    backfill(&service).await;
    service.put_filter(json!({"keywords": "rust AND build"})).await;
    let second = FilterRecord {
        id: FilterId::parse("f").unwrap(),
        name: "Second".to_owned(),
        body: json!({}),
    };
    let change = ProvisioningChange::PutFilter(
        Service::organization(),
        bidloop_port_contracts::fixture::campaign_id("second"),
        second,
    );
    service.commit(change).await;
    let (store, backfills) = watched(&service);
    let run = backfills.begin().await.unwrap().unwrap();
    assert_eq!(run.scan().progress(), (0, 1_050));
    run.scan().work().await.unwrap();
    assert_eq!(run.scan().progress(), (1_050, 1_050));
    assert_eq!(*store.pages.lock().unwrap(), [500, 500, 50]);
    let report = run.finish().await.unwrap();
    assert_eq!(report.jobs, 1_050);
    assert_eq!(
        report
            .switched
            .iter()
            .map(|(_, _, total)| *total)
            .collect::<Vec<_>>(),
        [1_050, 1_050]
    );
}

#[tokio::test]
async fn filters_that_change_while_stored_jobs_are_read_are_due_still() {
    let service = Service::new().await;
    three_jobs(&service).await;
    service.put_filter(json!({"keywords": "cobol"})).await;
    let run = service.backfill_matches().begin().await.unwrap().unwrap();
    run.scan().work().await.unwrap();
    service.put_filter(json!({"keywords": "fortran"})).await;
    let report = run.finish().await.unwrap();
    assert_eq!((report.superseded, report.switched.len()), (1, 0));
    assert_eq!(
        listed(&service).await,
        owned(&[("both", 3), ("rust", 1)]),
        "the old matches serve on"
    );
    assert_eq!(backfill(&service).await.switched.len(), 1);
    assert!(listed(&service).await.is_empty());
}

#[tokio::test]
async fn a_job_that_arrives_during_a_backfill_is_in_the_new_list_and_acted_on_once() {
    let service = Service::new().await;
    three_jobs(&service).await;
    service.put_filter(json!({"keywords": "cobol"})).await;
    let run = service.backfill_matches().begin().await.unwrap().unwrap();
    run.scan().work().await.unwrap();
    service.clock.advance(Duration::from_secs(1));
    service.publish(&job_with("new", json!({"title": "Cobol"})));
    service.ingest().await;
    run.finish().await.unwrap();
    let ids: Vec<String> = listed(&service).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids.len(), 3, "{ids:?}");
    assert!(ids.contains(&"new".to_owned()) && !ids.contains(&"rust".to_owned()));
    // The two Rust jobs when they arrived, and the new one.
    assert_eq!(service.stores.deliveries.pending_count().await, Ok(3));
}

/// The store, with a record of the jobs that were read. Of the oldest job it has no signature at first, as if that had
/// been stored by a version that knew none.
#[derive(Debug)]
struct Watched {
    store: Arc<dyn MatchStore>,
    read: Mutex<Vec<String>>,
    /// How many were read at once, in order.
    pages: Mutex<Vec<usize>>,
    signed_later: Mutex<Vec<i64>>,
    /// Switches under way, and the most of them that were.
    switching: Mutex<(usize, usize)>,
}

#[async_trait]
impl MatchStore for Watched {
    async fn due_backfills(&self) -> Result<DueBackfills, StoreError> {
        self.store.due_backfills().await
    }

    async fn stored_jobs(
        &self,
        watermark: i64,
        before: Option<i64>,
        limit: u32,
    ) -> Result<Vec<StoredJob>, StoreError> {
        self.store.stored_jobs(watermark, before, limit).await
    }

    async fn signatures(&self, first: i64, last: i64) -> Result<Vec<StoredSignature>, StoreError> {
        let mut signatures = self.store.signatures(first, last).await?;
        let signed_later = self.signed_later.lock().unwrap();
        signatures.retain(|stored| stored.seq > 1 || signed_later.contains(&stored.seq));
        Ok(signatures)
    }

    async fn job_seqs(&self, first: i64, last: i64) -> Result<Vec<i64>, StoreError> {
        self.store.job_seqs(first, last).await
    }

    async fn store_signatures(&self, signatures: &[StoredSignature]) -> Result<(), StoreError> {
        let seqs = signatures.iter().map(|stored| stored.seq);
        self.signed_later.lock().unwrap().extend(seqs);
        self.store.store_signatures(signatures).await
    }

    async fn jobs_at(&self, seqs: &[i64]) -> Result<Vec<StoredJob>, StoreError> {
        let jobs = self.store.jobs_at(seqs).await?;
        self.pages.lock().unwrap().push(jobs.len());
        let mut read = self.read.lock().unwrap();
        read.extend(jobs.iter().map(|job| job.id.to_string()));
        Ok(jobs)
    }

    async fn switch(
        &self,
        backfill: &Backfill,
        watermark: i64,
        matched: &[i64],
        at: Timestamp,
    ) -> Result<SwitchMatches, StoreError> {
        {
            let mut switching = self.switching.lock().unwrap();
            switching.0 += 1;
            switching.1 = switching.1.max(switching.0);
        }
        // Every switch that was begun with it begins before it goes on.
        tokio::task::yield_now().await;
        let switched = self.store.switch(backfill, watermark, matched, at).await;
        self.switching.lock().unwrap().0 -= 1;
        switched
    }

    async fn is_backfill_due(
        &self,
        organization: &OrganizationId,
        campaign: &CampaignId,
    ) -> Result<bool, StoreError> {
        self.store.is_backfill_due(organization, campaign).await
    }

    async fn due_count(&self) -> Result<u64, StoreError> {
        self.store.due_count().await
    }
}

fn watched(service: &Service) -> (Arc<Watched>, BackfillMatches) {
    let store = Arc::new(Watched {
        store: Arc::clone(&service.stores.matches),
        read: Mutex::default(),
        pages: Mutex::default(),
        signed_later: Mutex::default(),
        switching: Mutex::default(),
    });
    let matches = Arc::clone(&store);
    let clock = service.clock.clone();
    (
        store,
        BackfillMatches {
            matches,
            clock,
            threads: Arc::new(CallingThread),
            quarantine: Quarantine::default(),
        },
    )
}

#[tokio::test]
async fn only_jobs_that_their_signatures_let_pass_or_that_have_none_are_read() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    three_jobs(&service).await;
    for number in 0..200 {
        service.publish(&job_with(
            &number.to_string(),
            json!({"title": format!("Cook {number}")}),
        ));
    }
    service.ingest().await;
    service.put_filter(json!({"keywords": "cobol"})).await;
    let (store, backfills) = watched(&service);
    let report = backfills.run().await.unwrap();
    assert_eq!((report.jobs, report.switched[0].2), (203, 2));
    let read = store.read.lock().unwrap().clone();
    for id in ["rust", "cobol", "both"] {
        assert!(read.iter().any(|known| known == id), "{id} of {read:?}");
    }
    assert!(read.len() < 10, "{read:?}");
}

#[tokio::test]
async fn a_job_without_a_signature_has_one_once_it_was_read_for_the_want_of_it() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    three_jobs(&service).await;
    let (store, backfills) = watched(&service);
    for (keywords, expected) in [("fortran", vec!["rust"]), ("pascal", vec![])] {
        service.put_filter(json!({"keywords": keywords})).await;
        store.read.lock().unwrap().clear();
        assert_eq!(backfills.run().await.unwrap().jobs, 3);
        assert_eq!(*store.read.lock().unwrap(), expected, "{keywords}");
    }
    assert_eq!(*store.signed_later.lock().unwrap(), [1]);
}

#[tokio::test]
async fn a_job_that_changed_is_matched_as_it_is_now() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    three_jobs(&service).await;
    service.publish(&job_with("rust", json!({"title": "Fortran"})));
    service.publish(&job_with("cobol", json!({"title": "Pascal"})));
    service.ingest().await;
    service.put_filter(json!({"keywords": "cobol OR fortran"})).await;
    let report = backfill(&service).await;
    assert_eq!((report.jobs, report.switched[0].2), (3, 2));
    let ids: Vec<String> = listed(&service).await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(ids, ["rust", "both"]);
}

async fn put_filter_of(service: &Service, campaign: &str, keywords: &str) {
    let filter = FilterRecord {
        id: FilterId::parse(&format!("f_{campaign}")).unwrap(),
        name: "Changed".to_owned(),
        body: json!({"keywords": keywords}),
    };
    let campaign = CampaignId::parse(campaign).unwrap();
    let change = ProvisioningChange::PutFilter(Service::organization(), campaign, filter);
    service.commit(change).await;
}

/// Of each campaign its id and how many matches it has now.
fn switched(report: &BackfillReport) -> Vec<(String, u64)> {
    let campaigns = report.switched.iter();
    campaigns.map(|(_, id, total)| (id.to_string(), *total)).collect()
}

#[tokio::test]
async fn several_campaigns_are_switched_at_once_and_reported_in_their_order() {
    let mut organization = bare_acme();
    for number in 10..60 {
        organization = organization.campaign(campaign(&format!("camp_{number}")).paused());
    }
    let service = Service::with(organization).await;
    three_jobs(&service).await;
    for number in 10..60 {
        let keywords = ["cobol", "fortran", "rust AND cobol"][number % 3];
        put_filter_of(&service, &format!("camp_{number}"), keywords).await;
    }
    let (store, backfills) = watched(&service);
    let report = backfills.run().await.unwrap();
    let expected: Vec<(String, u64)> = (10..60)
        .map(|number| (format!("camp_{number}"), [2, 0, 1][number % 3]))
        .collect();
    assert_eq!(switched(&report), expected);
    let (under_way, most) = *store.switching.lock().unwrap();
    assert_eq!(under_way, 0);
    assert!((2..=50).contains(&most), "{most}");
}

#[tokio::test]
async fn campaigns_with_many_matches_are_switched_one_after_the_other() {
    let mut organization = bare_acme();
    for number in 1..=3 {
        organization = organization.campaign(campaign(&format!("camp_{number}")).paused());
    }
    let service = Service::with(organization).await;
    for number in 0..2_501 {
        service.publish(&job(&number.to_string()));
    }
    for _ in 0..6 {
        service.ingest().await;
    }
    for number in 1..=3 {
        put_filter_of(&service, &format!("camp_{number}"), "NOT cobol").await;
    }
    let (store, backfills) = watched(&service);
    let report = backfills.run().await.unwrap();
    assert_eq!(
        switched(&report),
        [1, 2, 3].map(|number| (format!("camp_{number}"), 2_501))
    );
    assert_eq!(*store.switching.lock().unwrap(), (0, 1));
}

#[tokio::test]
async fn several_threads_share_the_jobs() {
    let service = Service::new().await;
    for number in 0..2_050 {
        service.publish(&job(&number.to_string()));
    }
    for _ in 0..5 {
        service.ingest().await;
    }
    service.put_filter(json!({"keywords": "NOT cobol"})).await;
    let run = service.backfill_matches().begin().await.unwrap().unwrap();
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| futures::executor::block_on(run.scan().work()).unwrap());
        }
    });
    let report = run.finish().await.unwrap();
    assert_eq!((report.jobs, report.switched[0].2), (2_050, 2_050));
}

#[tokio::test]
async fn a_backfill_that_is_stopped_changes_nothing_and_is_due_still() {
    let service = Service::new().await;
    three_jobs(&service).await;
    service.put_filter(json!({"keywords": "cobol"})).await;
    let run = service.backfill_matches().begin().await.unwrap().unwrap();
    run.scan().stop();
    run.scan().work().await.unwrap();
    assert_eq!(run.finish().await.unwrap().switched, []);
    assert_eq!(listed(&service).await, owned(&[("both", 3), ("rust", 1)]));
    assert_eq!(backfill(&service).await.switched.len(), 1);
}

#[tokio::test]
async fn filters_too_many_for_signatures_find_the_same_jobs() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    three_jobs(&service).await;
    for number in 0..600 {
        let filter = FilterRecord {
            id: FilterId::parse(&format!("f_{number}")).unwrap(),
            name: "One of many".to_owned(),
            body: json!({"keywords": format!("cobol OR word{number}")}),
        };
        let change = ProvisioningChange::PutFilter(Service::organization(), Service::campaign(), filter);
        service.commit(change).await;
    }
    service.put_filter(json!({"keywords": "fortran"})).await;
    let (store, backfills) = watched(&service);
    let report = backfills.run().await.unwrap();
    assert_eq!((report.jobs, report.switched[0].2), (3, 2));
    assert_eq!(store.read.lock().unwrap().len(), 3);
}
