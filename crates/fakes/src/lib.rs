//! In-memory adapters for the ports of `bidloop-domain`: for tests of use cases, for simulations, and for the
//! tests of any service that embeds the domain.
//!
//! The fakes keep the same contracts as the real adapters (`bidloop-port-contracts` runs on both), so a use
//! case that works on them works on a database. Nothing here reads the system's time, randomness or network.
//!
//! | port | fake | what a test can do with it |
//! |---|---|---|
//! | every store | [`MemoryStore`] | take the store away, hold back the record of refused requests |
//! | `Clock` | [`SimulatedClock`] | set the time, let it pass |
//! | `Clock` | [`PanickingClock`] | have a use case panic |
//! | `Entropy` | [`SequentialEntropy`] | foresee ids, choose the jitter |
//! | `Marketplace` | [`FakeMarketplace`] | publish jobs, change their state, script faults, count calls |
//! | `WebhookSender` | [`FakeWebhookSender`] | script answers, hold them back, see what was sent |
//! | `BlobStore` | [`MemoryBlobStore`] | look inside, take the storage away |
//! | `ProposalWriter` | [`PlaceholderProposalWriter`] | write letters without a template engine |
//! | `PasswordHasher` | [`PlainPasswordHasher`] | be too busy, see how often a password was checked |
//! | `LinkMailer` | [`KeepingLinkMailer`] | read the mails, let sending fail |
//! | `WorkSignal` | [`RecordingWorkSignal`] | see who was woken |
//!
//! A use case takes its ports as `Arc<dyn …>`, and a test keeps the fakes beside them:
//!
//! ```
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use bidloop_domain::model::Timestamp;
//! use bidloop_domain::port::{Clock, FeedEntry, LeadStore, Marketplace};
//! use bidloop_fakes::{Call, FakeMarketplace, Fault, MemoryStore, SimulatedClock};
//!
//! # futures::executor::block_on(async {
//! let clock = Arc::new(SimulatedClock::at(Timestamp::from_seconds(1_790_000_000)));
//! let marketplace = Arc::new(FakeMarketplace::new(clock.clone()));
//! let leads: Arc<dyn LeadStore> = Arc::new(MemoryStore::new());
//! # let _ = leads;
//!
//! marketplace.publish(
//!     r#"{"id": "177", "ciphertext": "~177", "title": "Rust service", "description": "Axum and tokio.",
//!         "url": "/jobs/~177", "postedAt": 1790000000000}"#,
//! );
//! marketplace.script(Call::Feed, Fault::unavailable());
//!
//! assert!(marketplace.feed(None, 100).await.is_err());
//! clock.advance(Duration::from_secs(1));
//! let page = marketplace.feed(None, 100).await.unwrap();
//! assert!(matches!(&page.entries[..], [FeedEntry::Job { .. }]));
//! assert_eq!(marketplace.calls(Call::Feed), 2);
//! # });
//! ```

mod blob_store;
mod clock;
mod entropy;
mod link_mailer;
mod marketplace;
mod password_hasher;
mod proposal_writer;
mod store;
mod webhook_sender;
mod work_signal;

pub use blob_store::MemoryBlobStore;
pub use clock::{PanickingClock, SimulatedClock};
pub use entropy::SequentialEntropy;
pub use link_mailer::KeepingLinkMailer;
pub use marketplace::{Call, FakeAccount, FakeMarketplace, Fault, ReceivedFile, ReceivedProposal};
pub use password_hasher::PlainPasswordHasher;
pub use proposal_writer::PlaceholderProposalWriter;
pub use store::{HeldRecords, MemoryStore};
pub use webhook_sender::{FakeWebhookSender, HeldAnswer};
pub use work_signal::RecordingWorkSignal;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The lock's content, also after another test thread panicked while it held the lock: every change below is
/// made whole before anything can panic.
fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
