//! The rules of `DeliveryRecords`: an endpoint's last deliveries, with what is known of their ends.

use bidloop_domain::model::{ActivityId, DeliveryState, EndpointId, EventKind};
use bidloop_domain::port::RecordedDelivery;

use crate::Stores;
use crate::deliveries::{begin, finish};
use crate::fixture::{World, at, organization, organization_id, submitted};

async fn of_endpoint(world: &World, endpoint: &str, limit: u32) -> Vec<RecordedDelivery> {
    let endpoint = EndpointId::parse(endpoint).unwrap();
    let records = &world.stores.delivery_records;
    let found = records.of_endpoint(&world.organization, &endpoint, limit).await;
    found.unwrap()
}

pub async fn the_last_deliveries_are_newest_first_with_their_leads(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    world
        .bid_to_the_end(&lead, submitted("p_1", at(10)), at(10))
        .await;
    let found = of_endpoint(&world, "wh_all", 20).await;
    let events: Vec<EventKind> = found.iter().map(|delivery| delivery.payload.kind()).collect();
    assert_eq!(events, [EventKind::BidComplete, EventKind::JobNew]);
    for delivery in &found {
        assert_eq!(
            (&delivery.lead_id, &delivery.campaign_id),
            (&lead.id, &world.campaign)
        );
        assert_eq!(delivery.campaign_name.as_deref(), Some("Campaign camp"));
        assert_eq!(delivery.lead.as_ref().unwrap().lead.id, lead.id);
        assert_eq!(
            (delivery.state, delivery.ended_at),
            (DeliveryState::Pending, None)
        );
        assert_eq!(delivery.end, None);
    }
    assert_eq!((found[0].created_at, found[1].created_at), (at(10), at(0)));
    assert_eq!(of_endpoint(&world, "wh_all", 1).await.len(), 1);
}

pub async fn an_ended_delivery_has_its_entry_of_the_record(stores: Stores) {
    let (world, _) = World::with_lead(stores).await;
    let begun = begin(&world, &world.pending().await, "one").await;
    assert!(finish(&world, &begun[0], true, "one").await);
    let found = of_endpoint(&world, "wh_all", 20).await;
    assert_eq!(found.len(), 1);
    let end = found[0].end.as_ref().unwrap();
    assert_eq!(
        (found[0].state, found[0].ended_at),
        (DeliveryState::Delivered, Some(end.at))
    );
    assert_eq!(end.id, ActivityId::of_delivery(found[0].id));
}

pub async fn another_organizations_endpoint_has_no_deliveries(stores: Stores) {
    let (world, _) = World::with_lead(stores).await;
    organization("org_other").provision(&world.stores).await;
    let other = World {
        organization: organization_id("org_other"),
        ..world.clone()
    };
    assert!(of_endpoint(&other, "wh_all", 20).await.is_empty());
    assert!(of_endpoint(&world, "wh_none", 20).await.is_empty());
}
