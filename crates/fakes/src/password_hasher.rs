//! A password hasher that is fast and hides nothing.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use async_trait::async_trait;
use bidloop_domain::port::{HasherBusy, PasswordHasher};

/// Hashes are numbered, so hashing a password twice gives two hashes. It counts how often a password was checked.
///
/// ```
/// use bidloop_domain::port::PasswordHasher;
/// use bidloop_fakes::PlainPasswordHasher;
///
/// let hasher = PlainPasswordHasher::default();
/// # futures::executor::block_on(async {
/// let hash = hasher.hash("correct horse").await.unwrap();
/// assert_eq!(hasher.verify("correct horse", Some(&hash)).await, Ok(true));
/// assert_eq!(hasher.verify("correct horse", None).await, Ok(false));
/// assert_eq!(hasher.checks(), 2);
/// # });
/// ```
#[derive(Debug, Default)]
pub struct PlainPasswordHasher {
    hashes: AtomicU64,
    checks: AtomicU64,
    is_busy: AtomicBool,
}

impl PlainPasswordHasher {
    /// Whether too many passwords wait from now on.
    pub fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::SeqCst);
    }

    /// How often a password was checked, against a hash or against none.
    pub fn checks(&self) -> u64 {
        self.checks.load(Ordering::SeqCst)
    }

    fn refuse_if_busy(&self) -> Result<(), HasherBusy> {
        if self.is_busy.load(Ordering::SeqCst) {
            return Err(HasherBusy);
        }
        Ok(())
    }
}

#[async_trait]
impl PasswordHasher for PlainPasswordHasher {
    async fn hash(&self, password: &str) -> Result<String, HasherBusy> {
        self.refuse_if_busy()?;
        let number = self.hashes.fetch_add(1, Ordering::SeqCst);
        Ok(format!("{number}${password}"))
    }

    async fn verify(&self, password: &str, hash: Option<&str>) -> Result<bool, HasherBusy> {
        self.refuse_if_busy()?;
        self.checks.fetch_add(1, Ordering::SeqCst);
        let hashed = hash.and_then(|hash| hash.split_once('$'));
        Ok(hashed.is_some_and(|(_, hashed)| hashed == password))
    }
}
