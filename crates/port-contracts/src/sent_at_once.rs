//! The rules of `JobStore::record_and_claim`: deliveries that are marked as sending when they are stored (decision C5).

use bidloop_domain::model::{DeliveryId, EventId, NewLead};
use bidloop_domain::port::{ClaimedDelivery, MatchedPage, PageCounts, RecordPage, Revision, SendAtOnce};

use crate::Stores;
use crate::deliveries::{begin, finish};
use crate::fixture::{World, activities, at, lead_id, send_at_once, webhook};

async fn record(
    world: &World,
    page: &MatchedPage,
    by: Option<&SendAtOnce>,
) -> (RecordPage, Vec<ClaimedDelivery>) {
    world.stores.jobs.record_and_claim(page, by).await.unwrap()
}

/// Records two jobs, of which the first has a place.
async fn one_of_two(stores: Stores) -> (World, ClaimedDelivery) {
    let world = World::new(stores).await;
    let jobs = vec![world.job("2", at(1)), world.job("1", at(0))];
    let page = world.page(at(60), jobs).await;
    let (recorded, mut claimed) = record(&world, &page, Some(&send_at_once(1))).await;
    let counts = PageCounts {
        new_jobs: 2,
        matches: 2,
        deliveries: 2,
        ..PageCounts::default()
    };
    assert_eq!((recorded, claimed.len()), (RecordPage::Recorded(counts), 1));
    (world, claimed.remove(0))
}

pub async fn what_has_a_place_is_marked_when_it_is_stored_and_the_rest_waits(stores: Stores) {
    let (world, claimed) = one_of_two(stores).await;
    let endpoint = webhook("wh_all", None, World::URL, &[]).endpoint.id;
    let of_job = |id: &str| {
        let event = EventId::job_new(&lead_id("org_acme", "camp", id));
        DeliveryId::derive(event, &world.organization, &endpoint)
    };
    assert_eq!(claimed.id, of_job("1"), "the job that was posted first");
    let pending = world.pending().await;
    assert_eq!(pending.len(), 1);
    assert_eq!(pending[0].id, of_job("2"));
    assert!(finish(&world, &claimed, true, "me").await);
    assert!(!finish(&world, &claimed, true, "me").await, "it ends once");
    let entries = activities(&world.stores, &world.organization).await;
    assert_eq!(entries.len(), 1);
    assert_eq!(entries[0].lead_id.as_ref(), Some(&claimed.lead_id));
}

pub async fn what_is_marked_when_it_is_stored_is_what_a_claim_returns(stores: Stores) {
    let (world, claimed) = one_of_two(stores).await;
    let waited = begin(&world, &world.pending().await, "me").await.remove(0);
    assert_eq!(
        (&claimed.organization_id, &claimed.campaign_id),
        (&waited.organization_id, &waited.campaign_id)
    );
    assert_eq!(claimed.campaign_name.as_deref(), Some("Campaign camp"));
    let target = |delivery: &ClaimedDelivery| {
        let target = &delivery.target;
        let secrets = target.secrets.iter().map(|secret| secret.expose().clone());
        let secrets: Vec<_> = secrets.collect();
        (target.endpoint_id.clone(), target.url.clone(), secrets)
    };
    assert_eq!(target(&claimed), target(&waited));
    assert_eq!(
        (&claimed.payload, claimed.created_at),
        (&waited.payload, waited.created_at)
    );
    let lead = world.find(&claimed.lead_id).await.unwrap().lead;
    assert_eq!(claimed.lead, Some(NewLead::read(lead).unwrap()));
    assert_eq!(
        (claimed.is_test, &claimed.sent_by, claimed.trace_parent),
        (waited.is_test, &waited.sent_by, waited.trace_parent)
    );
}

pub async fn marks_of_a_page_last_from_when_it_is_stored(stores: Stores) {
    let (world, claimed) = one_of_two(stores).await;
    let deliveries = &world.stores.deliveries;
    assert_eq!(deliveries.interrupt_overdue(at(120)).await, Ok(0));
    assert_eq!(deliveries.interrupt_overdue(at(121)).await, Ok(1));
    assert!(!finish(&world, &claimed, true, "me").await);
    assert_eq!(world.pending().await.len(), 1, "the other is left alone");
}

pub async fn a_page_that_is_not_recorded_marks_nothing(stores: Stores) {
    let world = World::new(stores).await;
    let page = world.page(at(60), vec![world.job("1", at(0))]).await;
    let by = send_at_once(1);
    let older = MatchedPage {
        revision: Revision(page.revision.0 - 1),
        ..page.clone()
    };
    let (recorded, claimed) = record(&world, &older, Some(&by)).await;
    assert_eq!((recorded, claimed.len()), (RecordPage::RevisionMoved, 0));
    let (recorded, claimed) = record(&world, &page, Some(&by)).await;
    assert!(matches!(recorded, RecordPage::Recorded(counts) if counts.deliveries == 1));
    assert_eq!(claimed.len(), 1);
    let (recorded, claimed) = record(&world, &page, Some(&send_at_once(1))).await;
    assert_eq!((recorded, claimed.len()), (RecordPage::PositionMoved, 0));
}

pub async fn without_a_process_that_sends_all_of_a_page_waits(stores: Stores) {
    let world = World::new(stores).await;
    let page = world.page(at(60), vec![world.job("1", at(0))]).await;
    let (_, claimed) = record(&world, &page, None).await;
    assert_eq!((claimed.len(), world.pending().await.len()), (0, 1));
}
