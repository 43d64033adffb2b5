//! Filters tried on stored jobs (contract section 4).

use bidloop_domain::port::Quarantine;
use bidloop_domain::use_case::{FilterPreview, NEAR_MISSES_AMONG, PREVIEWED, TryFilter};
use serde_json::{Value, json};

use crate::service::{Service, job, job_with, links};

fn try_filter(service: &Service) -> TryFilter {
    TryFilter {
        matches: service.store.clone(),
        feed: service.store.clone(),
        links: links(),
        quarantine: Quarantine::default(),
    }
}

async fn preview(service: &Service, body: Value) -> FilterPreview {
    try_filter(service)
        .preview(&body, PREVIEWED)
        .await
        .unwrap()
        .unwrap()
}

fn ids(preview: &FilterPreview) -> Vec<&str> {
    preview.newest.iter().map(|job| job.post.id.as_str()).collect()
}

#[tokio::test]
async fn a_preview_counts_matches_and_shows_what_one_condition_keeps_out() {
    let service = Service::new().await;
    for (id, members) in [
        ("1", json!({})),
        ("2", json!({"title": "Go service"})),
        (
            "3",
            json!({"metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 5, "max": 9}}}),
        ),
        (
            "4",
            json!({"title": "Go", "metadata": {"paymentType": "Hourly", "hourlyRate": {"max": 9}}}),
        ),
    ] {
        service.publish(&job_with(id, members));
    }
    service.ingest().await;
    let shown = preview(&service, json!({"keywords": "rust", "hourlyRate": {"min": 30}})).await;
    assert_eq!((shown.matching, shown.examined, shown.is_complete), (1, 4, true));
    assert_eq!(ids(&shown), ["1"]);
    assert_eq!(shown.newest[0].job_url, "https://market.test/jobs/~1");
    let missed: Vec<(&str, &str)> = shown
        .near_misses
        .iter()
        .map(|(job, condition)| (job.post.id.as_str(), condition.path))
        .collect();
    assert_eq!(missed, [("3", "hourlyRate"), ("2", "keywords")]);
    assert_eq!(shown.near_misses_among, 4);
}

#[tokio::test]
async fn older_jobs_are_counted_by_their_signatures() {
    let service = Service::new().await;
    let count = u64::from(NEAR_MISSES_AMONG) + 600;
    for number in 0..count {
        let title = if number < 5 {
            "Fortran service"
        } else {
            "Rust service"
        };
        service.publish(&job_with(&number.to_string(), json!({ "title": title })));
    }
    service.ingest().await;
    let rare = preview(&service, json!({"keywords": "fortran"})).await;
    assert_eq!((rare.matching, rare.examined, rare.is_complete), (5, count, true));
    assert_eq!(rare.newest.len(), 5);
    assert_eq!(rare.near_misses_among, u64::from(NEAR_MISSES_AMONG));
    let all = preview(&service, json!({})).await;
    assert_eq!((all.matching, all.is_complete), (count, true));
    assert_eq!(all.newest.len(), 10);
}

#[tokio::test]
async fn a_filter_that_rules_nothing_out_is_tried_on_the_newest_jobs_only() {
    let service = Service::new().await;
    for number in 0..5_000 {
        service.publish(&job(&number.to_string()));
    }
    service.ingest().await;
    let all = preview(&service, json!({"hourlyRate": {"min": 30}})).await;
    assert!(!all.is_complete);
    assert!((4_000..5_000).contains(&all.examined), "{}", all.examined);
    assert_eq!(all.matching, all.examined);
}

#[tokio::test]
async fn a_faulty_filter_is_told_with_all_its_faults() {
    let service = Service::new().await;
    let body = json!({"keywords": "AND", "colour": "red"});
    let faults = try_filter(&service)
        .preview(&body, PREVIEWED)
        .await
        .unwrap()
        .unwrap_err();
    assert_eq!(faults.len(), 2);
    let explained = try_filter(&service).explain(&body, "1").await.unwrap();
    assert_eq!(explained.unwrap_err(), faults);
}

#[tokio::test]
async fn a_job_is_explained_by_its_id_address_or_title() {
    let service = Service::new().await;
    service.publish(&job_with("1", json!({"title": "Warehouse inventory in Go"})));
    service.publish(&job("2"));
    service.ingest().await;
    let body = json!({"keywords": "rust"});
    for text in ["1", " https://market.test/jobs/~1 ", "~1", "WAREHOUSE inv"] {
        let tried = try_filter(&service)
            .explain(&body, text)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        assert_eq!(tried.job.post.id.as_str(), "1", "{text}");
        assert!(!tried.explanation.matches);
        assert_eq!(tried.explanation.conditions[0].path, "keywords");
    }
    for text in ["", "no such title"] {
        assert_eq!(try_filter(&service).explain(&body, text).await, Ok(Ok(None)));
    }
}
