//! Counting tries to sign in, for all replicas together.

use async_trait::async_trait;

use super::StoreError;
use crate::model::{Timestamp, Tries, TrySubject};

/// Tries to sign in, by subject (decision E2).
#[async_trait]
pub trait SignInTryStore: Send + Sync + std::fmt::Debug {
    /// One atomic step: counts a try at `now` for each of the subjects, and returns the tries of the one that has the
    /// fewest left. If one of them has to wait, none is counted; the error is how long, to the latest moment.
    async fn count_try(
        &self,
        subjects: &[TrySubject],
        now: Timestamp,
    ) -> Result<Result<Tries, Timestamp>, StoreError>;

    /// Ends a try that did not fail: forgets those of the subjects in `cleared`, and takes back one of each in
    /// `given_back`.
    async fn end_try(
        &self,
        cleared: &[TrySubject],
        given_back: &[TrySubject],
        now: Timestamp,
    ) -> Result<(), StoreError>;
}
