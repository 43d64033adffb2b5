//! How many connections the commands of one organization hold at once.
//!
//! A command that waits for a row's lock holds its connection. Commands of one organization wait for the same rows, so
//! without a bound they could hold all connections, and no other organization could do anything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bidloop_domain::port::StoreError;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Organizations that are remembered before those without a command are forgotten.
const REMEMBERED: usize = 1024;

/// The shares of a pool's connections, by organization.
#[derive(Debug, Clone)]
pub(super) struct Shares {
    /// Connections of one organization at most.
    most: usize,
    taken: Arc<Mutex<HashMap<String, Weak<Semaphore>>>>,
}

impl Shares {
    /// A third of the connections each, and at least one: two busy organizations leave some for the others.
    pub(super) fn of(connections: usize) -> Self {
        Self {
            most: (connections / 3).max(1),
            taken: Arc::default(),
        }
    }

    /// Waits until the organization may hold one connection more, for `at_most` so long. The share ends with the permit.
    pub(super) async fn take(
        &self,
        organization: &str,
        at_most: Duration,
    ) -> Result<OwnedSemaphorePermit, StoreError> {
        let share = self.share(organization);
        match tokio::time::timeout(at_most, share.acquire_owned()).await {
            Ok(Ok(permit)) => Ok(permit),
            _ => Err(StoreError::Unavailable(
                "all connections that one organization may use at once are in use".to_owned(),
            )),
        }
    }

    fn share(&self, organization: &str) -> Arc<Semaphore> {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(share) = taken.get(organization).and_then(Weak::upgrade) {
            return share;
        }
        if taken.len() >= REMEMBERED {
            taken.retain(|_, share| share.strong_count() > 0);
        }
        let share = Arc::new(Semaphore::new(self.most));
        taken.insert(organization.to_owned(), Arc::downgrade(&share));
        share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_organization_holds_a_third_of_the_connections_and_another_one_as_many() {
        let shares = Shares::of(6);
        let take = |organization| shares.take(organization, Duration::ZERO);
        let (first, second) = (take("hot").await.unwrap(), take("hot").await.unwrap());
        assert!(matches!(take("hot").await, Err(StoreError::Unavailable(_))));
        let _others = (take("cool").await.unwrap(), take("cool").await.unwrap());
        drop(first);
        let third = take("hot").await.unwrap();
        drop((second, third));
        assert!(take("hot").await.is_ok());
    }

    #[tokio::test]
    async fn organizations_without_a_command_are_forgotten() {
        let shares = Shares::of(3);
        let _held = shares.take("held", Duration::ZERO).await.unwrap();
        for number in 0..3 * REMEMBERED {
            drop(shares.take(&number.to_string(), Duration::ZERO).await.unwrap());
        }
        assert!(shares.taken.lock().unwrap().len() <= REMEMBERED);
        assert!(shares.take("held", Duration::ZERO).await.is_err());
    }
}
