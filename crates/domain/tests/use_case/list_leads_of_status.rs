//! List leads of one status (contract section 7).

use bidloop_domain::model::LeadStatus;
use bidloop_domain::port::Quarantine;
use bidloop_domain::use_case::{LeadError, ListLeadsOfStatus, ListedLeads};
use bidloop_port_contracts::fixture::{campaign, campaign_id};
use serde_json::Value;

use crate::service::{Service, bare_acme, job, links};

async fn list(service: &Service, status: LeadStatus, offset: u64, limit: u32) -> (Vec<Value>, ListedLeads) {
    let listed = of_status(service)
        .execute(
            &Service::organization(),
            &Service::campaign(),
            status,
            offset,
            limit,
        )
        .await
        .unwrap();
    (serde_json::from_slice(&listed.json()).unwrap(), listed)
}

fn of_status(service: &Service) -> ListLeadsOfStatus {
    ListLeadsOfStatus {
        feed: service.store.clone(),
        links: links(),
        quarantine: Quarantine::default(),
    }
}

#[tokio::test]
async fn leads_of_a_status_are_counted_and_paged_and_look_as_list_leads_shows_them() {
    let service = Service::new().await;
    for id in ["1", "2", "3", "4"] {
        service.lead(&job(id)).await;
    }
    service.reject(&Service::lead_of("2")).await;
    let (rejected, page) = list(&service, LeadStatus::Rejected, 0, 10).await;
    assert_eq!((page.total, page.count, page.has_more()), (1, 1, false));
    let all = service
        .list_leads()
        .execute(&Service::organization(), &Service::campaign(), 0, 10)
        .await
        .unwrap();
    let all: Vec<Value> = serde_json::from_slice(&all.json()).unwrap();
    let second = all.iter().find(|lead| lead["ciphertext"] == "~2");
    assert_eq!(Some(&rejected[0]), second);
    let (new, page) = list(&service, LeadStatus::New, 0, 2).await;
    assert_eq!((new.len(), page.total, page.has_more()), (2, 3, true));
    let (rest, page) = list(&service, LeadStatus::New, 2, 2).await;
    assert_eq!((rest.len(), page.has_more()), (1, false));
}

#[tokio::test]
async fn a_match_without_a_record_is_new_and_stays_without_one() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    service.publish(&job("1"));
    service.ingest().await;
    let (new, _) = list(&service, LeadStatus::New, 0, 10).await;
    assert_eq!(new[0]["id"], Service::lead_of("1").as_str());
    assert!(!service.is_a_lead("1").await);
    let unknown = of_status(&service)
        .execute(
            &Service::organization(),
            &campaign_id("none"),
            LeadStatus::New,
            0,
            10,
        )
        .await;
    assert_eq!(unknown.unwrap_err(), LeadError::CampaignUnknown);
}
