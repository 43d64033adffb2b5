//! Passwords as Argon2id PHC strings.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use async_trait::async_trait;
use bidloop_domain::port::{Entropy, HasherBusy, PasswordHasher};
use tokio::sync::Semaphore;

use crate::system::SystemEntropy;

/// How many passwords are hashed at once. Each takes a processor for some 30 ms, and 19 MiB.
const AT_ONCE: usize = 2;
/// How many more wait: some two seconds of work on a small machine.
const WAITING: usize = 64;

/// Argon2id with the crate's recommended parameters, on threads of its own.
#[derive(Debug)]
pub(crate) struct Argon2PasswordHasher {
    running: Arc<Semaphore>,
    /// Those that run or wait.
    taken: Arc<AtomicUsize>,
}

impl Argon2PasswordHasher {
    /// The process's hasher: what it limits, it limits for those who share it.
    pub(crate) fn new() -> Self {
        Self {
            running: Arc::new(Semaphore::new(AT_ONCE)),
            taken: Arc::default(),
        }
    }

    /// Runs slow work, unless too much of it waits.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, HasherBusy> {
        let place = Place::take(&self.taken).ok_or(HasherBusy)?;
        let running = Arc::clone(&self.running);
        let running = running.acquire_owned().await.map_err(|_| HasherBusy)?;
        let done = tokio::task::spawn_blocking(move || {
            let done = work();
            // Not before: the caller may have gone away in between.
            drop((running, place));
            done
        });
        done.await.map_err(|_| HasherBusy)
    }
}

/// A place among those that run or wait.
struct Place(Arc<AtomicUsize>);

impl Place {
    fn take(taken: &Arc<AtomicUsize>) -> Option<Self> {
        let more = |count: usize| (count < AT_ONCE + WAITING).then_some(count + 1);
        let is_free = taken
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, more)
            .is_ok();
        is_free.then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl PasswordHasher for Argon2PasswordHasher {
    async fn hash(&self, password: &str) -> Result<String, HasherBusy> {
        let password = password.to_owned();
        self.run(move || hash(&password)).await
    }

    async fn verify(&self, password: &str, stored: Option<&str>) -> Result<bool, HasherBusy> {
        let (password, stored) = (password.to_owned(), stored.map(str::to_owned));
        self.run(move || {
            let Some(stored) = stored else {
                // It takes what verifying takes.
                let _nobodys = hash(&password);
                return false;
            };
            verify(&password, &stored)
        })
        .await
    }
}

fn hash(password: &str) -> String {
    let mut salt = [0; 16];
    SystemEntropy.fill_random(&mut salt);
    Argon2::default()
        .hash_password_with_salt(password.as_bytes(), &salt)
        .map(|hash| hash.to_string())
        // Fails only for invalid parameters and salts; these are constants.
        .unwrap_or_default()
}

fn verify(password: &str, hash: &str) -> bool {
    PasswordHash::new(hash).is_ok_and(|parsed| {
        Argon2::default()
            .verify_password(password.as_bytes(), &parsed)
            .is_ok()
    })
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_hash_verifies_its_password_alone() {
        let hasher = Argon2PasswordHasher::new();
        let hash = hasher.hash("correct horse").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(hasher.verify("correct horse", Some(&hash)).await, Ok(true));
        assert_eq!(hasher.verify("wrong horse", Some(&hash)).await, Ok(false));
        assert_eq!(hasher.verify("correct horse", None).await, Ok(false));
    }

    /// A vector of the reference implementation's `test.c`.
    #[test]
    fn a_stored_hash_with_other_parameters_verifies() {
        let stored = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc";
        assert!(verify("password", stored));
    }

    #[tokio::test]
    async fn two_passwords_are_hashed_at_once_and_only_so_many_wait() {
        let hasher = Argon2PasswordHasher::new();
        let (mut release, mut held) = (Vec::new(), Vec::new());
        for _ in 0..AT_ONCE + WAITING {
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            release.push(sender);
            held.push(Box::pin(hasher.run(move || receiver.recv().is_ok())));
        }
        // Each is polled once: it takes its place.
        for waiting in &mut held {
            assert!(futures::poll!(waiting).is_pending());
        }
        assert_eq!(hasher.running.available_permits(), 0);
        assert_eq!(hasher.verify("correct horse", None).await, Err(HasherBusy));
        for sender in &release {
            sender.send(()).unwrap();
        }
        assert!(join_all(held).await.into_iter().all(|done| done == Ok(true)));
        assert_eq!(hasher.verify("correct horse", None).await, Ok(false));
    }

    #[tokio::test]
    async fn whoever_stops_waiting_frees_the_place() {
        let hasher = Argon2PasswordHasher::new();
        for _ in 0..3 * WAITING {
            let mut waiting = Box::pin(hasher.hash("correct horse"));
            let _started = futures::poll!(&mut waiting);
            drop(waiting);
        }
        // At most those that run hold a place.
        assert!(hasher.taken.load(Ordering::SeqCst) <= AT_ONCE);
    }
}
