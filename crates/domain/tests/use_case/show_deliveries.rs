//! An endpoint's last deliveries (decision C8).

use bidloop_domain::model::{DeliveryState, EndpointId, EventKind};
use bidloop_domain::use_case::ShowDeliveries;
use bidloop_port_contracts::fixture::organization_id;
use serde_json::Value;

use crate::service::{HOOK, Service, links, request};

fn show_deliveries(service: &Service) -> ShowDeliveries {
    ShowDeliveries {
        deliveries: service.store.clone(),
        links: links(),
    }
}

#[tokio::test]
async fn deliveries_show_what_was_sent_and_answered() {
    let (service, lead) = Service::with_lead().await;
    service.deliver().await;
    service.bid(&lead, request()).await;
    service.submit_all().await;
    service.sender.answer_status(HOOK, 503, "away");
    service.deliver().await;
    let endpoint = EndpointId::parse("wh_all").unwrap();
    let shown = show_deliveries(&service)
        .execute(&Service::organization(), &endpoint)
        .await
        .unwrap();
    let events: Vec<EventKind> = shown.iter().map(|delivery| delivery.event).collect();
    assert_eq!(events, [EventKind::BidComplete, EventKind::JobNew]);
    assert_eq!(shown[0].state, DeliveryState::Failed);
    let end = shown[0].end.as_ref().unwrap();
    assert_eq!(
        (&end.details["responseStatus"], &end.details["responseBody"]),
        (&503.into(), &"away".into())
    );
    assert_eq!(shown[0].title.as_deref(), Some("Rust service"));
    let sent = service.sender.sent_to(HOOK);
    let sent: Vec<Value> = sent
        .iter()
        .rev()
        .map(|webhook| serde_json::from_slice(&webhook.body).unwrap())
        .collect();
    let bodies: Vec<Value> = shown
        .iter()
        .map(|delivery| serde_json::from_str(delivery.body.as_ref().unwrap()).unwrap())
        .collect();
    assert_eq!(bodies[0], sent[0]);
    assert_eq!(
        (&bodies[1]["id"], &bodies[1]["event"]),
        (&sent[1]["id"], &sent[1]["event"])
    );
    for delivery in &shown {
        let names: Vec<&str> = delivery.headers.iter().map(|(name, _)| *name).collect();
        assert!(!names.contains(&"webhook-signature"));
    }
    let elsewhere = show_deliveries(&service)
        .execute(&organization_id("org_other"), &endpoint)
        .await;
    assert_eq!(elsewhere, Ok(Vec::new()));
}
