//! What a person does to a lead: reopens it, settles its bid (decisions B1, B4 and E5).

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{
    ActivityKind, Actor, Authorization, BiddingConfig, EmailKey, LeadId, LeadStatus, Person, SessionToken,
    SubscriptionStatus, Unauthorized,
};
use bidloop_domain::use_case::{ManageLead, ManageLeadError, Requester, SettleBids, Settlement};
use bidloop_fakes::{Call, Fault};
use bidloop_port_contracts::fixture::{job_id, organization_id};
use serde_json::{Value, json};

use crate::service::{Service, acme, links, request};

fn manage_lead(service: &Service) -> ManageLead {
    ManageLead {
        requests: service.lead_requests(),
        settle_bids: Arc::new(SettleBids {
            store: service.store.clone(),
            clock: service.clock.clone(),
            entropy: service.entropy.clone(),
            links: links(),
        }),
    }
}

fn ann() -> Requester {
    let person = Person {
        key: EmailKey::of("ann@acme.test"),
        email: "ann@acme.test".to_owned(),
        name: "Ann".to_owned(),
    };
    Requester {
        organization_id: Service::organization(),
        actor: Actor::user(&person),
        authorization: Authorization::Subscription,
        http_status: None,
        trace_parent: None,
    }
}

fn stranger() -> Requester {
    Requester {
        organization_id: organization_id("org_other"),
        ..ann()
    }
}

async fn skipped() -> (Service, LeadId) {
    let (service, lead) = Service::with_lead().await;
    service
        .marketplace
        .edit_job(&job_id("1"), |job| job.state.already_hired = true);
    service.bid(&lead, request()).await;
    service.submit().await;
    assert_eq!(service.status(&lead).await, LeadStatus::Skipped);
    (service, lead)
}

#[tokio::test]
async fn a_member_reopens_a_skipped_lead_and_is_named() {
    let (service, lead) = skipped().await;
    let manage = manage_lead(&service);
    manage.reopen(&ann(), &Service::campaign(), &lead).await.unwrap();
    assert_eq!(service.status(&lead).await, LeadStatus::New);
    let entries = service.activities(ActivityKind::Submission).await;
    let reopened = entries.iter().find(|entry| entry.actor == ann().actor).unwrap();
    assert_eq!(reopened.details["reopenedFrom"], "skipped");
    let again = manage.reopen(&ann(), &Service::campaign(), &lead).await;
    assert_eq!(again, Err(ManageLeadError::NotReopenable(LeadStatus::New)));
}

#[tokio::test]
async fn a_stranger_finds_no_lead_to_reopen_or_settle() {
    let (service, lead) = skipped().await;
    let manage = manage_lead(&service);
    let reopened = manage.reopen(&stranger(), &Service::campaign(), &lead).await;
    assert_eq!(reopened, Err(ManageLeadError::LeadUnknown));
    let settled = manage
        .settle(&stranger(), &Service::campaign(), &lead, Settlement::NotSubmitted)
        .await;
    assert_eq!(settled, Err(ManageLeadError::LeadUnknown));
    assert_eq!(service.status(&lead).await, LeadStatus::Skipped);
}

#[tokio::test]
async fn nothing_is_reopened_while_the_subscription_is_not_active() {
    let (service, lead) = skipped().await;
    service
        .commit(acme().status(SubscriptionStatus::PastDue).put_organization())
        .await;
    let reopened = manage_lead(&service)
        .reopen(&ann(), &Service::campaign(), &lead)
        .await;
    assert_eq!(reopened, Err(Unauthorized::SubscriptionLapsed.into()));
    assert_eq!(service.status(&lead).await, LeadStatus::Skipped);
}

#[tokio::test]
async fn a_member_settles_a_bid_whose_answer_is_outstanding() {
    let (service, lead) = Service::with_bid(request()).await;
    let manage = manage_lead(&service);
    let campaign = Service::campaign();
    let early = manage
        .settle(&ann(), &campaign, &lead, Settlement::NotSubmitted)
        .await;
    assert_eq!(early, Err(ManageLeadError::NotUnanswered));
    service
        .marketplace
        .script(Call::Submit, Fault::gateway_after_commit());
    service.submit().await;
    let signed_out = Requester {
        authorization: Authorization::Session(SessionToken::from_random([1; 32]).hash()),
        ..ann()
    };
    let refused = manage
        .settle(&signed_out, &campaign, &lead, Settlement::NotSubmitted)
        .await;
    assert_eq!(refused, Err(Unauthorized::Ended.into()));
    assert_eq!(service.status(&lead).await, LeadStatus::Queued);
    service.clock.advance(Duration::from_secs(11));
    let found = Settlement::Submitted {
        proposal_id: "p_found".to_owned(),
    };
    let settled = manage.settle(&ann(), &campaign, &lead, found).await;
    assert_eq!(settled, Ok(LeadStatus::Submitted));
    let entries = service.activities(ActivityKind::Submission).await;
    assert!(entries.iter().any(|entry| entry.actor == ann().actor));
}

fn config(value: Value) -> BiddingConfig {
    BiddingConfig::from_value(&value, &[""; 0]).unwrap()
}

#[tokio::test]
async fn a_member_configures_a_lead_and_what_changed_is_recorded() {
    let (service, lead) = Service::with_lead().await;
    let manage = manage_lead(&service);
    let first = config(json!({"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 72.5}));
    for _ in 0..2 {
        manage
            .configure(&ann(), &Service::campaign(), &lead, &first)
            .await
            .unwrap();
        assert_eq!(service.context(&lead).await.lead.lead.bidding_config, first);
    }
    manage
        .configure(&ann(), &Service::campaign(), &lead, &BiddingConfig::default())
        .await
        .unwrap();
    let entries = service.activities(ActivityKind::Change).await;
    assert_eq!(entries.len(), 2, "what changes nothing is not recorded");
    let made = &entries[1];
    assert_eq!((&made.actor, &made.lead_id), (&ann().actor, &Some(lead.clone())));
    assert_eq!(
        made.message,
        "Own bidding of the lead changed: biddingHourlyRateStrategy, biddingFixedHourlyRate."
    );
    assert_eq!(
        entries[0].details["changes"][1],
        json!({"type": "lead", "id": lead, "field": "biddingFixedHourlyRate", "old": 72.5, "new": null})
    );
}

#[tokio::test]
async fn a_leads_configuration_that_contradicts_the_campaigns_is_refused_with_its_field() {
    let (service, lead) = Service::with_lead().await;
    let manage = manage_lead(&service);
    let wrong = config(json!({"minBoost": 9, "maximumBoost": 3}));
    let refused = manage
        .configure(&ann(), &Service::campaign(), &lead, &wrong)
        .await;
    let Err(ManageLeadError::Faulty(faults)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(faults[0].path, ["minBoost"]);
    let foreign = manage
        .configure(
            &stranger(),
            &Service::campaign(),
            &lead,
            &config(json!({"minBoost": 1})),
        )
        .await;
    assert_eq!(foreign, Err(ManageLeadError::LeadUnknown));
    let context = service.context(&lead).await;
    assert_eq!(context.lead.lead.bidding_config, BiddingConfig::default());
    assert!(service.activities(ActivityKind::Change).await.is_empty());
}
