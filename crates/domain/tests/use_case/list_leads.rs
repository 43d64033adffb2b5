//! List leads of the specification, decisions A4, A5 and A5b.

use std::time::Duration;

use bidloop_domain::model::LeadStatus;
use bidloop_domain::use_case::{LeadError, ListedLeads, MAX_PAGE, Piece};
use bidloop_port_contracts::fixture::{at, campaign, campaign_id, organization};
use serde_json::{Value, json};

use crate::service::{Service, bare_acme, job, job_with};

async fn list(service: &Service, offset: u64, limit: u32) -> ListedLeads {
    service
        .list_leads()
        .execute(&Service::organization(), &Service::campaign(), offset, limit)
        .await
        .unwrap()
}

fn objects(page: &ListedLeads) -> Vec<Value> {
    let array: Vec<Value> = serde_json::from_slice(&page.json()).unwrap();
    assert_eq!(array.len(), page.count);
    array
}

#[tokio::test]
async fn leads_come_newest_first_and_paging_stops_at_the_last() {
    let service = Service::new().await;
    for id in ["1", "2", "3"] {
        service.publish(&job(id));
        service.ingest().await;
        service.clock.advance(Duration::from_secs(1));
    }
    let first = list(&service, 0, 2).await;
    let titles: Vec<Value> = objects(&first)
        .iter()
        .map(|lead| lead["ciphertext"].clone())
        .collect();
    assert_eq!(titles, ["~3", "~2"]);
    assert_eq!(
        (first.total, first.offset, first.limit, first.has_more()),
        (3, 0, 2, true)
    );
    let last = list(&service, 2, 2).await;
    assert_eq!((last.count, last.has_more()), (1, false));
    let beyond = list(&service, 3, 2).await;
    assert_eq!((beyond.count, beyond.total, beyond.has_more()), (0, 3, false));
}

#[tokio::test]
async fn a_listed_lead_is_the_specifications_object() {
    let service = Service::new().await;
    let job = job_with(
        "1",
        json!({"questions": ["Why?"], "region": "UKOnly", "isFeatured": true}),
    );
    let lead = service.lead(&job).await;
    let page = list(&service, 0, 100).await;
    let url = |operation: &str| format!("https://bids.test/v1/campaigns/camp/leads/{lead}/{operation}");
    assert_eq!(
        objects(&page),
        [json!({
            "id": lead, "status": "new", "createdAt": at(0).as_millis(), "datetime": at(0).as_millis(),
            "title": "Rust service", "description": "Build it.", "jobUrl": "https://market.test/jobs/~1",
            "ciphertext": "~1", "category": null, "occupation": null, "skills": [], "questions": ["Why?"],
            "projectType": null, "projectDuration": null, "isFeatured": true, "region": "UKOnly",
            "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": 40, "max": 60}}, "clientInfo": {},
            "attachments": null, "vendorQualifications": null, "clientReviews": null, "openJobs": null,
            "campaignId": "camp", "campaignName": "Campaign camp", "organizationId": "org_acme",
            "proposalId": null, "bidUrl": url("bid"), "rejectUrl": url("reject"),
        })]
    );
}

#[tokio::test]
async fn every_job_of_a_page_and_no_other_becomes_a_lead() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    for id in ["1", "2"] {
        service.publish(&job(id));
        service.ingest().await;
        service.clock.advance(Duration::from_secs(1));
    }
    assert!(!service.is_a_lead("1").await && !service.is_a_lead("2").await);
    let page = list(&service, 0, 1).await;
    assert_eq!(objects(&page)[0]["id"], json!(Service::lead_of("2")));
    assert!(!service.is_a_lead("1").await && service.is_a_lead("2").await);
    assert_eq!(
        objects(&page)[0]["createdAt"],
        at(1).as_millis(),
        "when it became a match"
    );
}

#[tokio::test]
async fn a_lead_tells_where_it_stands() {
    let (service, lead) = Service::with_bid(crate::service::request()).await;
    assert_eq!(objects(&list(&service, 0, 1).await)[0]["status"], "queued");
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Submitted);
    let listed = objects(&list(&service, 0, 1).await).remove(0);
    assert_eq!(
        (&listed["status"], &listed["proposalId"]),
        (&json!("submitted"), &json!("proposal_1"))
    );
}

#[tokio::test]
async fn another_organizations_campaign_is_unknown() {
    let service = Service::new().await;
    organization("org_other")
        .campaign(campaign("theirs"))
        .provision(&service.stores)
        .await;
    for unknown in ["theirs", "nobodys"] {
        let answer = service
            .list_leads()
            .execute(&Service::organization(), &campaign_id(unknown), 0, MAX_PAGE)
            .await;
        assert!(matches!(answer, Err(LeadError::CampaignUnknown)), "{unknown}");
    }
}

#[tokio::test]
async fn posts_are_read_once_and_a_changed_post_is_shown_at_once() {
    let service = Service::new().await;
    for id in ["1", "2"] {
        service.lead(&job(id)).await;
    }
    let list_leads = service.list_leads();
    let (organization, campaign) = (Service::organization(), Service::campaign());
    let titles = async || {
        let page = list_leads.execute(&organization, &campaign, 0, MAX_PAGE).await;
        let leads = objects(&page.unwrap());
        leads
            .into_iter()
            .map(|lead| lead["title"].clone())
            .collect::<Vec<Value>>()
    };
    let read = || (list_leads.posts.misses(), list_leads.posts.hits());
    assert_eq!((titles().await, read()), (vec![json!("Rust service"); 2], (2, 0)));
    assert_eq!((titles().await, read()), (vec![json!("Rust service"); 2], (2, 2)));
    service.publish(&job_with("1", json!({"title": "Rust, changed"})));
    service.ingest().await;
    let mut changed = titles().await;
    changed.sort_by_key(Value::to_string);
    assert_eq!(changed, ["Rust service", "Rust, changed"]);
    assert_eq!(read(), (3, 3));
}

#[tokio::test]
async fn a_page_is_told_apart_by_a_post_that_changed_and_by_nothing_else() {
    let service = Service::new().await;
    let identity = async || {
        let page = list(&service, 0, 100).await;
        let pieces: Vec<&[u8]> = page.data.iter().map(Piece::identity).collect();
        pieces.concat()
    };
    service.lead(&job("1")).await;
    let first = identity().await;
    assert_eq!(identity().await, first);
    service.publish(&job_with("1", json!({"region": "UKOnly"})));
    service.ingest().await;
    assert_ne!(identity().await, first);
}
