//! Why a job is a match of its campaign (contract section 7).

use bidloop_domain::use_case::{ExplainMatch, LeadAddress, LeadError};
use bidloop_port_contracts::fixture::{campaign, campaign_id, commit, organization_id};
use serde_json::json;

use crate::service::{Service, bare_acme, changed_filter, job};

fn explain_match(service: &Service) -> ExplainMatch {
    ExplainMatch {
        find: service.find_lead(),
    }
}

#[tokio::test]
async fn every_filter_of_the_campaign_gives_its_verdict_as_it_is_now() {
    let two = campaign("camp").filter("f_two", json!({"keywords": "cobol"}));
    let service = Service::with(bare_acme().campaign(two)).await;
    let lead = LeadAddress::of(service.lead(&job("1")).await);
    let verdicts = async || {
        let explained = explain_match(&service)
            .execute(&Service::organization(), &Service::campaign(), &lead)
            .await
            .unwrap();
        explained
            .into_iter()
            .map(|filter| {
                let condition = &filter.explanation.conditions[0];
                (filter.id.to_string(), filter.explanation.matches, condition.path)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(
        verdicts().await,
        [
            ("f_camp".to_owned(), true, "keywords"),
            ("f_two".to_owned(), false, "keywords")
        ]
    );
    commit(&service.stores, &[changed_filter(json!({"keywords": "java"}))]).await;
    assert!(!verdicts().await[0].1);
}

#[tokio::test]
async fn an_unknown_campaign_and_an_unknown_lead_are_told_apart() {
    let (service, lead) = Service::with_lead().await;
    let explain = async |organization: &str, campaign: &str, lead| {
        explain_match(&service)
            .execute(
                &organization_id(organization),
                &campaign_id(campaign),
                &LeadAddress::of(lead),
            )
            .await
            .unwrap_err()
    };
    let unknown = Service::lead_of("2");
    assert_eq!(explain("org_acme", "camp", unknown).await, LeadError::LeadUnknown);
    assert_eq!(
        explain("org_acme", "none", lead.clone()).await,
        LeadError::CampaignUnknown
    );
    assert_eq!(
        explain("org_other", "camp", lead).await,
        LeadError::CampaignUnknown
    );
}
