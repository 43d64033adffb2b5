//! Pruning: what is kept for how long, in steps that end.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::ActivityKind;
use bidloop_domain::port::Prunable;
use bidloop_domain::use_case::{PrunableCount, Prune, Retention};
use bidloop_port_contracts::fixture::{activities, activity, at};

use crate::service::Service;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);
const FOR_EVER: Retention = Retention {
    activity: None,
    deliveries: None,
    jobs: None,
    letters: None,
};

fn prune(service: &Service, retention: Retention) -> Prune {
    Prune {
        store: Arc::clone(&service.stores.retention),
        clock: service.clock.clone(),
        retention,
    }
}

async fn record(service: &Service, count: i64) {
    for second in 0..count {
        let entry = activity(
            &Service::organization(),
            ActivityKind::Bid,
            "accepted",
            at(second),
        );
        service.stores.activities.record(&entry).await.unwrap();
    }
}

#[tokio::test]
async fn what_is_older_than_it_is_kept_goes_in_steps_until_none_is_left() {
    let service = Service::new().await;
    record(&service, 450).await;
    let prune = prune(
        &service,
        Retention {
            activity: Some(DAY),
            ..FOR_EVER
        },
    );
    let mut early = prune.begin().await.unwrap();
    assert_eq!(early.step().await, Ok(Some((Prunable::Activity, 0))));
    assert_eq!(early.step().await, Ok(Some((Prunable::SignIns, 0))));
    assert_eq!(early.step().await, Ok(Some((Prunable::Statistics, 0))));
    assert_eq!(early.step().await, Ok(None));

    service.clock.advance(DAY + Duration::from_secs(439));
    let counted = |kind, rows| PrunableCount {
        kind,
        rows,
        is_least: false,
    };
    let expected = vec![
        counted(Prunable::Activity, 440),
        counted(Prunable::SignIns, 0),
        counted(Prunable::Statistics, 0),
    ];
    assert_eq!(prune.count().await, Ok(expected));
    let mut run = prune.begin().await.unwrap();
    let mut steps = 0;
    while run.step().await.unwrap().is_some() {
        steps += 1;
    }
    assert_eq!(run.removed()[&Prunable::Activity], 440);
    assert!(steps > 2, "{steps} steps");
    let left = activities(&service.stores, &Service::organization()).await;
    assert_eq!(left.len(), 10);
}

#[tokio::test]
async fn what_is_kept_for_ever_is_not_looked_at_but_sign_ins_are_never_kept() {
    let service = Service::new().await;
    record(&service, 3).await;
    service.clock.advance(DAY * 100_000);
    let prune = prune(&service, FOR_EVER);
    let mut run = prune.begin().await.unwrap();
    assert_eq!(run.step().await, Ok(Some((Prunable::SignIns, 0))));
    assert_eq!(run.step().await, Ok(None));
    assert_eq!(prune.count().await.unwrap().len(), 1);
}

#[tokio::test]
async fn jobs_are_as_old_as_the_first_pass_that_found_them() {
    let service = Service::new().await;
    service.publish(&serde_json::json!({
        "id": "1", "ciphertext": "~1", "title": "Nothing that is wanted", "description": "", "url": "/jobs/~1",
        "postedAt": at(-10_000_000).as_millis(),
    }));
    service.ingest().await;
    service.backfill_matches().run().await.unwrap();
    let prune = prune(
        &service,
        Retention {
            jobs: Some(DAY),
            ..FOR_EVER
        },
    );
    let mut removed = Vec::new();
    for _ in 0..3 {
        let mut run = prune.begin().await.unwrap();
        while run.step().await.unwrap().is_some() {}
        removed.push(run.removed().get(&Prunable::Jobs).copied().unwrap_or(0));
        service.clock.advance(DAY);
    }
    assert_eq!(removed, [0, 1, 0]);
}
