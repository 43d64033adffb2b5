//! [`UploadTurns`]: how many uploads hold their content in memory at once.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Small files are in memory as a whole.
const SMALL: usize = 2;
/// Large ones have two parts in memory.
const LARGE: usize = 2;

/// The turns of uploads. Small files do not wait for large ones, and an owner uploads one large file at a time: on a slow
/// bucket each takes minutes, and the others' go on.
#[derive(Debug)]
pub(crate) struct UploadTurns {
    small: Arc<Semaphore>,
    large: Arc<Semaphore>,
    /// For the owners whose large files are being uploaded or wait.
    owners: Mutex<HashMap<String, Weak<Semaphore>>>,
}

/// Dropped, the turn ends.
#[derive(Debug)]
pub(crate) struct Turn {
    _turns: Vec<OwnedSemaphorePermit>,
}

impl Default for UploadTurns {
    fn default() -> Self {
        Self {
            small: Arc::new(Semaphore::new(SMALL)),
            large: Arc::new(Semaphore::new(LARGE)),
            owners: Mutex::default(),
        }
    }
}

impl UploadTurns {
    pub(crate) async fn of_small(&self) -> io::Result<Turn> {
        Ok(Turn {
            _turns: vec![acquired(&self.small).await?],
        })
    }

    pub(crate) async fn of_large(&self, owner: String) -> io::Result<Turn> {
        let own = acquired(&self.of_owner(owner)).await?;
        let shared = acquired(&self.large).await?;
        Ok(Turn {
            _turns: vec![shared, own],
        })
    }

    fn of_owner(&self, owner: String) -> Arc<Semaphore> {
        let mut owners = self.owners.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = owners.get(&owner).and_then(Weak::upgrade) {
            return known;
        }
        owners.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(1));
        owners.insert(owner, Arc::downgrade(&turns));
        turns
    }
}

async fn acquired(turns: &Arc<Semaphore>) -> io::Result<OwnedSemaphorePermit> {
    Arc::clone(turns).acquire_owned().await.map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn an_owner_with_many_large_files_makes_nobody_else_wait() {
        let turns = UploadTurns::default();
        let of = |owner: &str| turns.of_large(owner.to_owned());
        let first = of("one").await.unwrap();
        let mut second = Box::pin(of("one"));
        assert!(second.as_mut().now_or_never().is_none(), "one at a time");
        let other = of("other").now_or_never().unwrap().unwrap();
        assert!(
            turns.of_small().now_or_never().is_some(),
            "small files have their own"
        );
        let mut third = Box::pin(of("third"));
        assert!(third.as_mut().now_or_never().is_none(), "the memory is used up");
        drop(first);
        assert!(third.as_mut().now_or_never().is_some());
        drop(other);
        second.await.unwrap();
        of("fourth").await.unwrap();
        assert_eq!(turns.owners.lock().unwrap().len(), 1, "the others are forgotten");
    }
}
