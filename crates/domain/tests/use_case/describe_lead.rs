//! One lead of a campaign, with its configuration and its bid (contract section 7).

use bidloop_domain::model::LeadStatus;
use bidloop_domain::use_case::{DescribeLead, LeadAddress, LeadError};
use bidloop_port_contracts::fixture::{campaign, organization_id};
use serde_json::Value;

use crate::service::{Service, bare_acme, job, links, request};

fn describe_lead(service: &Service) -> DescribeLead {
    DescribeLead {
        find: service.find_lead(),
        links: links(),
    }
}

#[tokio::test]
async fn a_lead_is_described_as_operators_see_it() {
    let (service, lead) = Service::with_bid(request()).await;
    let described = describe_lead(&service)
        .execute(
            &Service::organization(),
            &Service::campaign(),
            &LeadAddress::of(lead.clone()),
        )
        .await
        .unwrap();
    let shown = service.operate_leads().show(&lead).await.unwrap();
    let value = |shown| serde_json::to_value::<bidloop_domain::use_case::ShownLead>(shown).unwrap();
    let described: Value = value(described);
    assert_eq!(described, value(shown));
    assert_eq!(described["bid"]["status"], "queued");
}

#[tokio::test]
async fn a_match_without_a_record_is_described_and_another_organizations_lead_is_unknown() {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    service.publish(&job("1"));
    service.ingest().await;
    let address = LeadAddress::of(Service::lead_of("1"));
    let describe = describe_lead(&service);
    let described = describe
        .execute(&Service::organization(), &Service::campaign(), &address)
        .await
        .unwrap();
    assert_eq!(described.status, LeadStatus::New);
    assert!(!service.is_a_lead("1").await);
    let foreign = describe
        .execute(&organization_id("org_other"), &Service::campaign(), &address)
        .await;
    assert_eq!(foreign.unwrap_err(), LeadError::CampaignUnknown);
}
