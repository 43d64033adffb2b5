//! The limit of tries that signing in, changing a password, the first start and joining by a link share (decision E2).

use std::sync::Arc;
use std::time::Duration;

use crate::model::{EmailKey, MAX_PASSWORD_BYTES, NetworkOrigin, Secret, Tries, TrySubject};
use crate::port::{Clock, HasherBusy, PasswordHasher, SignInTryStore, StoreError};

/// From how many tries left on people are told their number.
const TOLD_FROM: u32 = 3;

/// Why a password or code was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TryError {
    /// It is wrong. What exactly is wrong is not told.
    #[error("wrong")]
    Wrong {
        /// How many tries are left before the next pause, once they are few.
        tries_left: Option<u32>,
        /// How long that pause is.
        pause: Duration,
    },
    /// There were too many tries. Nothing was checked.
    #[error("too many tries: wait {} s", .retry_after.as_secs())]
    Wait {
        /// How long to wait.
        retry_after: Duration,
    },
    /// Too many people are trying at this moment. Nothing was checked.
    #[error(transparent)]
    Busy(#[from] HasherBusy),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Counts tries and checks passwords.
#[derive(Debug, Clone)]
pub struct Throttle {
    /// The tries, which all replicas share.
    pub tries: Arc<dyn SignInTryStore>,
    /// Checks passwords.
    pub passwords: Arc<dyn PasswordHasher>,
    /// The time.
    pub clock: Arc<dyn Clock>,
}

/// A try that was counted and has not ended.
#[derive(Debug)]
pub(super) struct CountedTry {
    /// Forgotten after a success.
    own: Option<TrySubject>,
    network: TrySubject,
    tries: Tries,
}

impl CountedTry {
    /// The error of a try that failed.
    pub(super) fn wrong(&self) -> TryError {
        let left = self.tries.left();
        TryError::Wrong {
            tries_left: (left <= TOLD_FROM).then_some(left),
            pause: self.tries.pause(),
        }
    }
}

impl Throttle {
    /// Counts a try for a person's address, if it is for one, and for the network that it comes from. It counts as failed
    /// until it ends otherwise, so that many tries at once are counted too.
    pub(super) async fn begin(
        &self,
        person: Option<&EmailKey>,
        network: NetworkOrigin,
    ) -> Result<CountedTry, TryError> {
        let now = self.clock.now();
        let own = person.map(TrySubject::address);
        let network = TrySubject::network(network);
        let subjects: Vec<TrySubject> = own.iter().chain([&network]).cloned().collect();
        match self.tries.count_try(&subjects, now).await? {
            Ok(tries) => Ok(CountedTry { own, network, tries }),
            Err(until) => Err(TryError::Wait {
                retry_after: until.since(now),
            }),
        }
    }

    /// Ends a try that succeeded: the address's failures are forgotten. The network's are not, since a stranger may have an
    /// address of his own.
    pub(super) async fn succeeded(&self, counted: CountedTry) -> Result<(), StoreError> {
        let cleared: Vec<TrySubject> = counted.own.into_iter().collect();
        let now = self.clock.now();
        self.tries.end_try(&cleared, &[counted.network], now).await
    }

    /// Ends a try in which nothing was checked.
    pub(super) async fn did_not_happen(&self, counted: CountedTry) -> Result<(), StoreError> {
        let subjects: Vec<TrySubject> = counted.own.into_iter().chain([counted.network]).collect();
        self.tries.end_try(&[], &subjects, self.clock.now()).await
    }

    /// Checks a password in a counted try. The try goes on if the password is right. Without a hash it takes as long, and
    /// the password is wrong.
    pub(super) async fn check(
        &self,
        counted: CountedTry,
        password: &str,
        hash: Option<&Secret<String>>,
    ) -> Result<CountedTry, TryError> {
        // No password is longer. Hashing one must not cost more.
        let (password, hash) = match password.len() {
            ..=MAX_PASSWORD_BYTES => (password, hash),
            _ => ("", None),
        };
        let hash = hash.map(|hash| hash.expose().as_str());
        match self.passwords.verify(password, hash).await {
            Ok(true) => Ok(counted),
            Ok(false) => Err(counted.wrong()),
            Err(busy) => {
                self.did_not_happen(counted).await?;
                Err(busy.into())
            }
        }
    }

    /// Hashes a password that is to be set in a counted try.
    pub(super) async fn hash(
        &self,
        counted: CountedTry,
        password: &str,
    ) -> Result<(CountedTry, Secret<String>), TryError> {
        match self.passwords.hash(password).await {
            Ok(hash) => Ok((counted, Secret::new(hash))),
            Err(busy) => {
                self.did_not_happen(counted).await?;
                Err(busy.into())
            }
        }
    }
}
