//! Marks of deliveries behind the locks of other transactions (decision C5).

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use bidloop_domain::model::Timestamp;
use bidloop_domain::port::{Clock, LeaseOwner};
use bidloop_port_contracts::fixture::{World, at};

use crate::contracts::stores;
use crate::test_database::{TestDatabase, connect};

#[derive(Debug)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.0.load(Ordering::SeqCst))
    }

    fn monotonic(&self) -> Duration {
        Duration::ZERO
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_delivery_whose_claim_waited_14_s_for_a_lock_is_not_swept_while_it_is_sent() {
    const LASTS: Duration = Duration::from_secs(14);
    let bed = TestDatabase::postgres().await;
    let (world, _) = World::with_lead(stores(&bed.database)).await;
    let pending = world.pending().await;
    let in_the_way = connect(&bed.url()).await;
    in_the_way
        .batch_execute("BEGIN; SELECT id FROM deliveries FOR UPDATE")
        .await
        .unwrap();
    let set = Arc::new(SetClock(AtomicI64::new(at(100).as_millis())));
    let clock: Arc<dyn Clock> = set.clone();
    let deliveries = world.stores.deliveries.clone();
    let claiming = tokio::spawn(async move {
        deliveries
            .claim(&pending, &LeaseOwner::new("me"), &clock, LASTS)
            .await
    });
    let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                   AND wait_event_type = 'Lock'";
    while bed.number(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
    set.0.store(at(114).as_millis(), Ordering::SeqCst);
    in_the_way.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(claiming.await.unwrap().unwrap().len(), 1);
    let deliveries = &world.stores.deliveries;
    // Sending takes 10 s at most.
    assert_eq!(deliveries.interrupt_overdue(at(125)).await, Ok(0));
    assert_eq!(deliveries.interrupt_overdue(at(129)).await, Ok(1));
    bed.close().await;
}
