//! Ends of deliveries (decision C5).

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::{ActivityKind, EventKind, Measure};
use bidloop_domain::port::{
    ClaimedDelivery, DeliveryEnd, DeliveryOutcome, LeaseOwner, StoreError, WebhookAttempt, WebhookFailure,
    WebhookFailureKind,
};
use bidloop_port_contracts::Stores;
use bidloop_port_contracts::fixture::{World, at, campaign, clock_at, organization, seconds, webhook};
use futures::future::join_all;

use super::{Bed, Commands, Cut, cut_tests, of_whole_groups};

cut_tests! {
    DeliveryEnds, 40,
    ends_of_deliveries_cut_off_from_the_server_are_recorded_whole_and_once: Server, Refused;
    ends_of_deliveries_whose_answers_are_cut_off_are_recorded_whole_and_once: Store, Refused;
    ends_of_deliveries_whose_answers_break_off_are_recorded_once: Store, Served;
}

/// The endpoints of an organization. Each gets a delivery of the only lead: deliveries of a lead share a lane.
const ENDPOINTS: usize = 5;

/// The ends of the first group.
const FIRST: usize = 2;

/// How many organizations are provisioned at once.
const AT_ONCE: usize = 16;

const DELIVERIES: &str = "
    SELECT id, state, owner IS NOT NULL, ended_at IS NOT NULL,
        (SELECT count(*) FROM activities WHERE activities.organization_id = deliveries.organization_id
            AND activities.kind = $2 AND activities.details::jsonb ->> 'deliveryId' = deliveries.id)
    FROM deliveries WHERE organization_id = $1";

struct DeliveryEnds {
    world: World,
    ends: Vec<Arc<DeliveryEnd>>,
}

fn owner() -> LeaseOwner {
    LeaseOwner::new("me")
}

/// Every second delivery fails.
fn end(number: usize, claimed: &ClaimedDelivery) -> Arc<DeliveryEnd> {
    let failure = WebhookFailure {
        kind: WebhookFailureKind::UnexpectedStatus,
        message: "500".to_owned(),
    };
    let outcome = DeliveryOutcome::Attempted(WebhookAttempt {
        failure: (!number.is_multiple_of(2)).then_some(failure),
        response_status: Some(200),
        duration: Duration::from_millis(12),
        response_body: "ok".to_owned(),
    });
    Arc::new(DeliveryEnd {
        activity: claimed.facts().activity(&outcome, at(20)),
        delivery: claimed.clone(),
        outcome,
    })
}

async fn finish(stores: &Stores, ends: &[Arc<DeliveryEnd>]) -> Vec<Result<bool, StoreError>> {
    let owner = owner();
    join_all(ends.iter().map(|end| stores.deliveries.finish(end, &owner))).await
}

impl Commands for DeliveryEnds {
    type Answer = bool;

    async fn fresh(bed: &Bed, batch: usize) -> Vec<Self> {
        let of = |number: usize| {
            let builder = organization(&format!("org-{batch}-{number}")).campaign(campaign("camp"));
            (0..ENDPOINTS).fold(builder, |builder, number| {
                let (id, url) = (format!("wh_{number}"), format!("https://hooks.test/{number}"));
                builder.webhook(webhook(&id, None, &url, &[EventKind::JobNew]))
            })
        };
        let organizations = (0..AT_ONCE).map(of).collect();
        let worlds = bed.provision(batch, organizations, 1).await;
        let pending = worlds[0].pending().await;
        let claimed = bed
            .stores
            .deliveries
            .claim(&pending, &owner(), &clock_at(at(10)), seconds(600))
            .await
            .unwrap();
        assert_eq!(claimed.len(), AT_ONCE * ENDPOINTS);
        let ends = |world: World| {
            let of_world = claimed
                .iter()
                .filter(|one| one.organization_id == world.organization);
            Self {
                ends: of_world
                    .enumerate()
                    .map(|(number, one)| end(number, one))
                    .collect(),
                world,
            }
        };
        worlds.into_iter().map(ends).collect()
    }

    async fn give(&self, stores: &Stores) -> Vec<Result<bool, StoreError>> {
        // While a group is gathered, others would join it.
        let (first, others) = self.ends.split_at(FIRST);
        let mut answers = finish(stores, first).await;
        answers.extend(finish(stores, others).await);
        answers
    }

    async fn stored(&self, bed: &Bed, cut: Cut) -> Vec<bool> {
        let organization = &self.world.organization;
        let kind = ActivityKind::Delivery.as_str();
        let rows = bed
            .client
            .query(DELIVERIES, &[&organization.as_str(), &kind])
            .await;
        let rows: HashMap<String, (String, bool, i64)> = rows
            .unwrap()
            .iter()
            .map(|row| (row.get(0), (row.get(1), row.get(3), row.get(4))))
            .collect();
        let sending = ("sending".to_owned(), false, 0);
        let is_stored = |end: &Arc<DeliveryEnd>| {
            let row = &rows[&end.delivery.id.to_string()];
            let state = if end.outcome.is_delivered() {
                "delivered"
            } else {
                "failed"
            };
            let ended = (state.to_owned(), true, 1);
            assert!(*row == sending || *row == ended, "{cut:?}: {row:?} is stored");
            *row == ended
        };
        let stored: Vec<bool> = self.ends.iter().map(is_stored).collect();
        let is_delivered = self
            .ends
            .iter()
            .zip(&stored)
            .map(|(end, stored)| *stored && end.outcome.is_delivered());
        let is_told = is_delivered.clone().any(|is| is);
        let ended = stored.iter().filter(|stored| **stored).count();
        let failed = ended - is_delivered.filter(|is| *is).count();
        for (measure, count) in [
            (Measure::Delivered, usize::from(is_told)),
            (Measure::DeliveryFailed, failed),
            (Measure::EndpointFailed, failed),
            (Measure::EndpointTime, ended),
        ] {
            let [_, counted] = bed.used_and_counted(organization, measure).await;
            assert_eq!(counted, count, "{cut:?}: {measure:?}");
        }
        stored
    }

    fn may_be_stored(&self) -> Vec<Vec<bool>> {
        of_whole_groups(|groups| {
            let stored = (0..ENDPOINTS).map(|number| groups[usize::from(number >= FIRST)]);
            stored.collect()
        })
    }

    fn says_stored(is_ended: &bool, cut: Cut) -> bool {
        assert!(
            is_ended,
            "{cut:?}: a delivery was ended although it was claimed and nobody else ends it"
        );
        true
    }

    async fn repeat(&self, bed: &Bed, stored: &[bool], cut: Cut) {
        let answers = finish(&bed.stores, &self.ends).await;
        for (answer, stored) in answers.into_iter().zip(stored) {
            assert_eq!(answer, Ok(!stored), "{cut:?}: a repeated end");
        }
        assert_eq!(self.stored(bed, cut).await, [true; ENDPOINTS], "{cut:?}");
    }
}
