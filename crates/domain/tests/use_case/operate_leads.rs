//! Operate leads: contract section 1 (`bidloop leads`), decisions A2 and B1.

use bidloop_domain::bidding::LiveJobStatus;
use bidloop_domain::model::{ActivityKind, ActivityOutcome, Actor, LeadId, LeadStatus};
use bidloop_port_contracts::fixture::{campaign, job_id};
use serde_json::{Value, json};

use crate::service::{Service, bare_acme, config, job, request};

/// A lead whose campaign has the `maximumBoost` 5; its own `minBoost` is 2.
async fn configured() -> (Service, LeadId) {
    let mut campaign = campaign("camp");
    campaign.0.bidding_config = config(json!({"maximumBoost": 5}));
    let service = Service::with(bare_acme().campaign(campaign)).await;
    let lead = service.lead(&job("1")).await;
    let own = service
        .operate_leads()
        .configure(&lead, &json!({"minBoost": 2}))
        .await;
    own.unwrap();
    (service, lead)
}

async fn own_config(service: &Service, lead: &LeadId) -> Value {
    json!(service.context(lead).await.lead.lead.bidding_config)
}

/// A lead in this status.
async fn lead_in(status: LeadStatus) -> (Service, LeadId) {
    let (service, lead) = Service::with_lead().await;
    match status {
        LeadStatus::New => return (service, lead),
        LeadStatus::Rejected => {
            service.reject(&lead).await;
            return (service, lead);
        }
        LeadStatus::Queued | LeadStatus::Submitted => {}
        LeadStatus::Skipped => service
            .marketplace
            .edit_job(&job_id("1"), |job| job.state.already_hired = true),
        LeadStatus::Failed => service
            .marketplace
            .edit_job(&job_id("1"), |job| job.state.status = LiveJobStatus::Closed),
    }
    service.bid(&lead, request()).await;
    if status != LeadStatus::Queued {
        service.submit().await;
    }
    assert_eq!(service.status(&lead).await, status);
    (service, lead)
}

#[tokio::test]
async fn a_lead_is_shown_with_its_configuration_and_the_effective_one() {
    let (service, lead) = configured().await;
    let shown = json!(service.operate_leads().show(&lead).await.unwrap());
    assert_eq!(shown["lead"]["id"], json!(lead));
    assert_eq!(shown["lead"]["campaignName"], "Campaign camp");
    assert_eq!(
        shown["lead"]["bidUrl"],
        format!("https://bids.test/v1/campaigns/camp/leads/{lead}/bid")
    );
    assert_eq!(shown["status"], "new");
    assert_eq!(shown["biddingConfig"], json!({"minBoost": 2}));
    let effective = &shown["effectiveBiddingConfig"];
    assert_eq!(
        (&effective["minBoost"], &effective["maximumBoost"]),
        (&json!(2), &json!(5))
    );
    assert_eq!(effective["bidWithWarning"], "skip");
    assert_eq!(shown["bid"], Value::Null);
    assert_eq!(shown.as_object().unwrap().len(), 5);
}

#[tokio::test]
async fn configuring_replaces_the_whole_configuration_and_an_empty_one_clears_it() {
    let (service, lead) = configured().await;
    for file in [json!({"bidWithWarning": "bid"}), json!({})] {
        service.operate_leads().configure(&lead, &file).await.unwrap();
        assert_eq!(own_config(&service, &lead).await, file);
    }
}

#[tokio::test]
async fn a_faulty_configuration_changes_nothing_and_is_reported_with_all_its_faults() {
    let (service, lead) = configured().await;
    let refused = async |file: Value| {
        let configured = service.operate_leads().configure(&lead, &file).await;
        configured.unwrap_err().to_string()
    };
    let lines = refused(json!({"minBoost": -1, "bidWithWarning": null})).await;
    assert_eq!(
        lines,
        "bidWithWarning: must be one of \"bid\", \"skip\"\nminBoost: must be an integer from 0 to 9007199254740991, or null"
    );
    let line = refused(json!({"minBoost": 6})).await;
    assert!(
        line.starts_with("minBoost: must be at most maximumBoost in the effective configuration"),
        "{line}"
    );
    assert_eq!(refused(json!([])).await, "must be an object, not a list");
    assert_eq!(own_config(&service, &lead).await, json!({"minBoost": 2}));
}

#[tokio::test]
async fn a_skipped_or_failed_lead_is_reopened_and_recorded() {
    for status in [LeadStatus::Skipped, LeadStatus::Failed] {
        let (service, lead) = lead_in(status).await;
        let actor = Actor::command("leads reopen");
        service
            .operate_leads()
            .reopen(&lead, actor.clone())
            .await
            .unwrap();
        assert_eq!(service.status(&lead).await, LeadStatus::New);
        let entries = service.activities(ActivityKind::Submission).await;
        let reopened = entries.iter().find(|entry| entry.actor == actor).unwrap();
        assert_eq!(reopened.outcome, ActivityOutcome::New);
        assert_eq!(reopened.details["reopenedFrom"], status.as_str());
    }
}

#[tokio::test]
async fn a_lead_of_any_other_status_stays_as_it_is() {
    for status in [
        LeadStatus::New,
        LeadStatus::Queued,
        LeadStatus::Submitted,
        LeadStatus::Rejected,
    ] {
        let (service, lead) = lead_in(status).await;
        let reopened = service.operate_leads().reopen(&lead, Actor::service()).await;
        let error = reopened.unwrap_err().to_string();
        assert!(error.contains(status.as_str()), "{error}");
        assert_eq!(service.status(&lead).await, status);
    }
}

#[tokio::test]
async fn an_unknown_lead_is_named() {
    let operate = Service::new().await.operate_leads();
    let nobody = LeadId::parse("ld_x").unwrap();
    let message = "there is no lead \"ld_x\": `bidloop leads list` shows leads and matches, and a match becomes a lead when \
                   the API lists it";
    assert_eq!(operate.show(&nobody).await.unwrap_err().to_string(), message);
    let configured = operate.configure(&nobody, &json!({})).await;
    assert_eq!(configured.unwrap_err().to_string(), message);
    let reopened = operate.reopen(&nobody, Actor::service()).await;
    assert_eq!(reopened.unwrap_err().to_string(), message);
}
