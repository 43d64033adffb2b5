//! Trigger and Test (decision E6).

use std::time::Duration;

use bidloop_domain::model::{
    ActivityKind, ActivityOutcome, Actor, Authorization, EmailKey, EndpointId, EventKind, LeadId, Person,
    SubscriptionStatus, Unauthorized,
};
use bidloop_domain::port::{MAX_TRIES, OutgoingWebhook, ProvisioningChange};
use bidloop_domain::use_case::{MAX_IN_FLIGHT, Requester, TestWith, TryEndpoints, TryEndpointsError};
use bidloop_port_contracts::fixture::{at, campaign, organization_id, webhook};
use serde_json::{Value, json};

use crate::service::{HOOK, Service, acme, bare_acme, config, job};

fn try_endpoints(service: &Service) -> TryEndpoints {
    TryEndpoints {
        deliver: service.deliver_webhooks(MAX_IN_FLIGHT),
        find: service.find_lead(),
        records: service.store.clone(),
        entropy: service.entropy.clone(),
        pause: service.clock.clone(),
    }
}

fn ann() -> Requester {
    let person = Person {
        key: EmailKey::of("ann@acme.test"),
        email: "Ann@acme.test".to_owned(),
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

fn endpoint() -> EndpointId {
    EndpointId::parse("wh_all").unwrap()
}

fn body(webhook: &OutgoingWebhook) -> Value {
    serde_json::from_slice(&webhook.body).unwrap()
}

fn is_marked(webhook: &OutgoingWebhook) -> bool {
    let marks = webhook
        .headers
        .iter()
        .filter(|(name, _)| *name == "x-service-test");
    let marks: Vec<&str> = marks.map(|(_, value)| value.as_str()).collect();
    assert!(marks.is_empty() || marks == ["true"], "{marks:?}");
    !marks.is_empty()
}

/// A paused campaign with a match that is no lead yet.
async fn listed_only() -> Service {
    let service = Service::with(bare_acme().campaign(campaign("camp").paused())).await;
    service.publish(&job("1"));
    service.ingest().await;
    service
}

#[tokio::test]
async fn a_triggered_lead_is_sent_anew_and_the_record_names_the_person() {
    let (service, lead) = Service::with_lead().await;
    service.deliver().await;
    service.clock.set(at(60));
    let tried = try_endpoints(&service)
        .trigger(&ann(), &Service::campaign(), &lead)
        .await
        .unwrap();
    let sent = service.sender.sent_to(HOOK);
    assert_eq!((tried.len(), sent.len()), (1, 2));
    let (first, anew) = (body(&sent[0]), body(&sent[1]));
    assert_eq!(
        (&anew["event"], &anew["data"]),
        (&json!("job.new"), &first["data"])
    );
    assert_eq!(anew["createdAt"], at(60).as_seconds());
    assert_ne!(anew["id"], first["id"], "a new event");
    assert!(!is_marked(&sent[1]));
    assert!(tried[0].delivered);
    assert_eq!(
        (tried[0].response_status, tried[0].url.as_str()),
        (Some(200), HOOK)
    );
    let entries = service.activities(ActivityKind::Delivery).await;
    let entry = entries
        .iter()
        .find(|entry| entry.details["deliveryId"] == anew["id"])
        .unwrap();
    assert_eq!(
        (entry.actor.name.as_deref(), entry.outcome),
        (Some("Ann@acme.test"), ActivityOutcome::Delivered)
    );
    assert_eq!(entry.details.get("test"), None);
}

#[tokio::test]
async fn a_lead_of_a_paused_or_automatic_campaign_is_triggered_too() {
    for campaign in [campaign("camp").paused(), campaign("camp").automatic()] {
        let service = Service::with(bare_acme().campaign(campaign)).await;
        service.publish(&job("1"));
        service.ingest().await;
        let lead = Service::lead_of("1");
        let tried = try_endpoints(&service)
            .trigger(&ann(), &Service::campaign(), &lead)
            .await
            .unwrap();
        assert!(tried[0].delivered);
        assert_eq!(service.sender.sent_to(HOOK).len(), 1);
    }
}

#[tokio::test]
async fn a_failed_try_says_how_it_ended_and_is_not_sent_again() {
    let (service, lead) = Service::with_lead().await;
    service.deliver().await;
    service.sender.answer_status(HOOK, 503, "away");
    let tried = try_endpoints(&service)
        .trigger(&ann(), &Service::campaign(), &lead)
        .await
        .unwrap()
        .remove(0);
    assert!(!tried.delivered);
    assert_eq!(tried.response_status, Some(503));
    assert!(tried.took.is_some() && tried.fault.is_some());
    assert_eq!(tried.end.details["responseBody"], "away");
    service.deliver().await;
    assert_eq!(service.sender.sent_to(HOOK).len(), 2);
}

#[tokio::test]
async fn only_a_new_lead_of_the_own_organization_is_triggered() {
    let (service, lead) = Service::with_lead().await;
    service.reject(&lead).await;
    let endpoints = try_endpoints(&service);
    let refused = async |requester: &Requester, lead: &LeadId| {
        endpoints
            .trigger(requester, &Service::campaign(), lead)
            .await
            .unwrap_err()
    };
    let rejected = refused(&ann(), &lead).await;
    assert!(rejected.to_string().contains("rejected"), "{rejected}");
    let unknown = LeadId::parse("ld_9").unwrap();
    assert_eq!(refused(&ann(), &unknown).await, TryEndpointsError::LeadUnknown);
    let foreign = Requester {
        organization_id: organization_id("org_other"),
        ..ann()
    };
    assert_eq!(refused(&foreign, &lead).await, TryEndpointsError::LeadUnknown);
    assert_eq!(service.sender.sent().len(), 0);
}

#[tokio::test]
async fn without_a_receiver_or_a_subscription_nothing_is_triggered() {
    let service = listed_only().await;
    let lead = Service::lead_of("1");
    let bids_only = webhook("wh_all", None, HOOK, &[EventKind::BidComplete]);
    service
        .commit(ProvisioningChange::PutWebhook(Service::organization(), bids_only))
        .await;
    let endpoints = try_endpoints(&service);
    let tried = endpoints.trigger(&ann(), &Service::campaign(), &lead).await;
    assert_eq!(tried, Err(TryEndpointsError::NoReceiver));
    service
        .commit(acme().status(SubscriptionStatus::Canceled).put_organization())
        .await;
    let tried = endpoints.trigger(&ann(), &Service::campaign(), &lead).await;
    assert_eq!(tried, Err(Unauthorized::SubscriptionLapsed.into()));
    let tested = endpoints.test(&ann(), &endpoint(), TestWith::default()).await;
    assert_eq!(tested, Err(TryEndpointsError::NoLead { can_make: true }));
    let with = TestWith {
        make_lead: true,
        ..TestWith::default()
    };
    let tested = endpoints.test(&ann(), &endpoint(), with).await;
    assert_eq!(tested, Err(Unauthorized::SubscriptionLapsed.into()));
    assert_eq!(service.sender.sent().len(), 0);
    assert!(!service.is_a_lead("1").await, "a refused action makes no lead");
}

#[tokio::test]
async fn a_test_carries_its_header_and_the_most_recent_lead() {
    let (service, _) = Service::with_lead().await;
    service.clock.set(at(5));
    let newest = service.lead(&job("2")).await;
    let tried = try_endpoints(&service)
        .test(&ann(), &endpoint(), TestWith::default())
        .await
        .unwrap();
    let sent = service.sender.sent_to(HOOK);
    assert_eq!((sent.len(), tried.event), (1, EventKind::JobNew));
    assert!(is_marked(&sent[0]));
    assert_eq!(body(&sent[0])["data"]["leadId"], json!(newest));
    assert_eq!(tried.end.details["test"], true);
    assert!(tried.end.message.starts_with("Test: "), "{}", tried.end.message);
    assert_eq!(tried.end.actor, ann().actor);
}

#[tokio::test]
async fn a_tested_bid_complete_is_a_simulated_one() {
    let mut fixed = campaign("camp");
    fixed.0.bidding_config =
        config(json!({"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 70}));
    let service = Service::with(bare_acme().campaign(fixed)).await;
    let lead = service.lead(&job("1")).await;
    let with = TestWith {
        event: Some(EventKind::BidComplete),
        make_lead: false,
    };
    let tried = try_endpoints(&service)
        .test(&ann(), &endpoint(), with)
        .await
        .unwrap();
    assert_eq!(tried.event, EventKind::BidComplete);
    assert!(tried.end.dry_run);
    let sent = service.sender.sent_to(HOOK);
    let data = &body(&sent[0])["data"];
    assert!(is_marked(&sent[0]));
    assert_eq!((&data["leadId"], &data["dryRun"]), (&json!(lead), &json!(true)));
    assert_eq!(data["terms"], json!({"type": "hourly", "amount": 70}));
    let job_new_only = webhook("wh_all", None, HOOK, &[EventKind::JobNew]);
    service
        .commit(ProvisioningChange::PutWebhook(
            Service::organization(),
            job_new_only,
        ))
        .await;
    let refused = try_endpoints(&service).test(&ann(), &endpoint(), with).await;
    assert_eq!(
        refused,
        Err(TryEndpointsError::NotSubscribed(EventKind::BidComplete))
    );
}

#[tokio::test]
async fn an_endpoint_for_bid_complete_alone_is_tested_with_it() {
    let service = Service::with_lead().await.0;
    let bids_only = webhook("wh_all", None, HOOK, &[EventKind::BidComplete]);
    service
        .commit(ProvisioningChange::PutWebhook(Service::organization(), bids_only))
        .await;
    let tried = try_endpoints(&service)
        .test(&ann(), &endpoint(), TestWith::default())
        .await
        .unwrap();
    assert_eq!(tried.event, EventKind::BidComplete);
}

#[tokio::test]
async fn without_a_lead_a_test_offers_one_of_the_latest_match_and_makes_it_when_told() {
    let service = listed_only().await;
    let endpoints = try_endpoints(&service);
    let offered = endpoints.test(&ann(), &endpoint(), TestWith::default()).await;
    assert_eq!(offered, Err(TryEndpointsError::NoLead { can_make: true }));
    assert!(!service.is_a_lead("1").await);
    let with = TestWith {
        event: None,
        make_lead: true,
    };
    let tried = endpoints.test(&ann(), &endpoint(), with).await.unwrap();
    assert!(tried.delivered && service.is_a_lead("1").await);

    let empty = Service::new().await;
    let tested = try_endpoints(&empty).test(&ann(), &endpoint(), with).await;
    assert_eq!(tested, Err(TryEndpointsError::NoLead { can_make: false }));
}

#[tokio::test]
async fn an_eleventh_try_within_a_minute_is_refused_until_the_first_is_old() {
    let (service, lead) = Service::with_lead().await;
    let endpoints = try_endpoints(&service);
    for _ in 0..MAX_TRIES {
        endpoints
            .trigger(&ann(), &Service::campaign(), &lead)
            .await
            .unwrap();
    }
    let again_at = service.now().plus(Duration::from_secs(60));
    let refused = endpoints.test(&ann(), &endpoint(), TestWith::default()).await;
    assert_eq!(
        refused,
        Err(TryEndpointsError::TooManyTries {
            endpoint: endpoint(),
            again_at
        })
    );
    service.clock.set(again_at);
    endpoints
        .test(&ann(), &endpoint(), TestWith::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn an_unknown_endpoint_is_not_tested() {
    let (service, _) = Service::with_lead().await;
    let unknown = EndpointId::parse("wh_none").unwrap();
    let tested = try_endpoints(&service)
        .test(&ann(), &unknown, TestWith::default())
        .await;
    assert_eq!(tested, Err(TryEndpointsError::EndpointUnknown));
    let foreign = Requester {
        organization_id: organization_id("org_other"),
        ..ann()
    };
    let tested = try_endpoints(&service)
        .test(&foreign, &endpoint(), TestWith::default())
        .await;
    assert_eq!(tested, Err(TryEndpointsError::EndpointUnknown));
}
