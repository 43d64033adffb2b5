//! The lead's page of the console (decisions E5 and E9).

use std::time::Duration;

use bidloop_domain::model::{ActivityOutcome, LeadStatus};
use bidloop_domain::use_case::{LeadAddress, LeadEvent, LeadPageView};
use bidloop_port_contracts::fixture::{campaign, job_id, organization_id};
use serde_json::json;

use crate::service::{HOOK, Service, answer, bare_acme, job, job_with, request};

async fn page(service: &Service, address: &LeadAddress) -> Option<LeadPageView> {
    service
        .show_lead()
        .execute(&Service::organization(), &Service::campaign(), address)
        .await
        .unwrap()
}

fn events(page: &LeadPageView) -> Vec<&LeadEvent> {
    page.timeline.iter().map(|entry| &entry.event).collect()
}

#[tokio::test]
async fn a_match_without_a_record_has_a_page_and_becomes_no_lead() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    service.publish(&job("1"));
    service.clock.advance(Duration::from_secs(2));
    service.ingest().await;
    let address = LeadAddress {
        lead: Service::lead_of("1"),
        job: Some(job_id("1")),
    };
    let shown = page(&service, &address).await.unwrap();
    assert_eq!(
        (shown.status(), shown.post.title.as_str()),
        (LeadStatus::New, "Rust service")
    );
    assert!(shown.is_open() && shown.bid.is_none() && shown.matched.is_some());
    assert_eq!(events(&shown), [&LeadEvent::Posted, &LeadEvent::Matched]);
    assert_eq!(shown.timeline[1].since_posting, 2_000);
    assert!(!service.is_a_lead("1").await);
    let unknown = LeadAddress {
        lead: Service::lead_of("2"),
        job: Some(job_id("2")),
    };
    assert!(page(&service, &unknown).await.is_none());
}

#[tokio::test]
async fn another_organizations_lead_has_no_page() {
    let (service, lead) = Service::with_lead().await;
    let shown = service
        .show_lead()
        .execute(
            &organization_id("org_other"),
            &Service::campaign(),
            &LeadAddress::of(lead),
        )
        .await;
    assert!(shown.unwrap().is_none());
}

#[tokio::test]
async fn the_timeline_tells_what_happened_in_its_order() {
    let service = Service::new().await;
    let lead = service.lead(&job_with("1", json!({"questions": ["Why?"]}))).await;
    service.sender.answer_status(HOOK, 200, "");
    service.deliver().await;
    service.clock.advance(Duration::from_secs(1));
    let mut bid = request();
    bid.question_answer_pairs = vec![answer("Why?", "Because.")];
    service.bid(&lead, bid).await;
    let queued = page(&service, &LeadAddress::of(lead.clone()))
        .await
        .unwrap()
        .bid
        .unwrap();
    assert!(queued.steps.is_empty());
    service.clock.advance(Duration::from_secs(1));
    service.submit_all().await;
    service.sender.answer_status(HOOK, 503, "away");
    service.deliver().await;
    let shown = page(&service, &LeadAddress::of(lead)).await.unwrap();
    let [
        LeadEvent::Posted,
        LeadEvent::Matched,
        LeadEvent::Delivery {
            event,
            host,
            response_status: Some(200),
            reason: None,
            ..
        },
        LeadEvent::BidAccepted,
        LeadEvent::Ended {
            status: ActivityOutcome::Submitted,
            attempts: Some(1),
            proposal_id: Some(_),
        },
        LeadEvent::Delivery {
            event: end,
            response_status: Some(503),
            reason: Some(_),
            ..
        },
    ] = events(&shown)[..]
    else {
        panic!("{:?}", events(&shown))
    };
    assert_eq!(
        (event.as_str(), host.as_str(), end.as_str()),
        ("job.new", "hooks.test", "bid_complete")
    );
    assert_eq!(shown.timeline[3].actor, Some(Service::caller().actor()));
    assert_eq!(shown.timeline[3].since_posting, 1_000);
    let bid = shown.bid.unwrap();
    assert_eq!(bid.summary.status, LeadStatus::Submitted);
    assert_eq!(bid.letter.cover_letter.unwrap().as_str(), "Dear client, …");
    assert_eq!(bid.letter.answers, [answer("Why?", "Because.")]);
    assert_eq!(bid.steps.len(), service.steps().await.len());
    assert_eq!(bid.connects_cost, bid.summary.connects_spent.cost());
}

#[tokio::test]
async fn refused_requests_are_not_in_the_timeline_and_rejections_and_reopenings_are() {
    let (service, lead) = Service::with_lead().await;
    service.reject(&lead).await;
    let late = service
        .submit_bid()
        .execute(&Service::requester(), &Service::campaign(), &lead, Ok(request()))
        .await;
    assert!(late.is_err());
    let shown = page(&service, &LeadAddress::of(lead)).await.unwrap();
    let rejected = LeadEvent::Rejected { reason: None };
    assert_eq!(
        events(&shown),
        [&LeadEvent::Posted, &LeadEvent::Matched, &rejected]
    );
    assert!(!shown.has_more);
}
