//! Places for filter previews. A preview reads the signatures of all stored jobs, so only a few run at once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bidloop_domain::model::OrganizationId;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Previews that run at once in the process, and for one organization.
const AT_ONCE: (usize, usize) = (2, 1);
/// How long a preview waits for its place.
const PATIENCE: Duration = Duration::from_secs(2);

/// The places of the process.
#[derive(Debug)]
pub struct Previews {
    all: Arc<Semaphore>,
    /// Of the organizations that have a preview running or waiting.
    by_organization: Mutex<HashMap<OrganizationId, Arc<Semaphore>>>,
}

impl Default for Previews {
    fn default() -> Self {
        Self {
            all: Arc::new(Semaphore::new(AT_ONCE.0)),
            by_organization: Mutex::default(),
        }
    }
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(crate) struct PreviewPlace {
    _own: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Previews {
    /// A place for a preview of the organization; `None` if there is none within two seconds.
    pub(crate) async fn place(&self, organization: &OrganizationId) -> Option<PreviewPlace> {
        let own = self.of(organization);
        let places = async {
            // An organization that waits for itself keeps no place from others.
            let own = own.acquire_owned().await.ok()?;
            let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
            Some(PreviewPlace {
                _own: own,
                _of_all: of_all,
            })
        };
        tokio::time::timeout(PATIENCE, places).await.ok().flatten()
    }

    fn of(&self, organization: &OrganizationId) -> Arc<Semaphore> {
        let mut known = self
            .by_organization
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        // Who runs or waits holds another reference.
        known.retain(|_, places| Arc::strong_count(places) > 1);
        let places = known
            .entry(organization.clone())
            .or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE.1)));
        Arc::clone(places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn organization(number: usize) -> OrganizationId {
        OrganizationId::parse(&format!("org_{number}")).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_organization_has_one_preview_at_a_time_and_the_next_waits() {
        let previews = Arc::new(Previews::default());
        let first = previews.place(&organization(1)).await.unwrap();
        assert!(
            previews.place(&organization(1)).await.is_none(),
            "it is still running"
        );
        assert!(previews.place(&organization(2)).await.is_some());
        let next = tokio::spawn({
            let previews = Arc::clone(&previews);
            async move { previews.place(&organization(1)).await }
        });
        tokio::task::yield_now().await;
        drop(first);
        assert!(next.await.unwrap().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_few_run_at_once_in_the_process_and_no_idle_organization_is_remembered() {
        let previews = Previews::default();
        let mut running = Vec::new();
        for number in 0..AT_ONCE.0 {
            running.push(previews.place(&organization(number)).await.unwrap());
        }
        assert!(previews.place(&organization(100)).await.is_none());
        running.clear();
        assert!(previews.place(&organization(100)).await.is_some());
        assert_eq!(previews.by_organization.lock().unwrap().len(), 1);
    }
}
