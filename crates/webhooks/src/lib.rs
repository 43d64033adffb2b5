//! Sending one webhook: one connection, one request, guarded against addresses that are not public.
//!
//! [`HyperWebhookSender`] implements the domain's [`WebhookSender`](bidloop_domain::port::WebhookSender)
//! over a hyper connection of its own for each attempt. There is no pool and no retry, because an attempt
//! must be provably one (decision C5), and so that the address connected to can be looked at before
//! anything is sent (decision C6). What a webhook says, who gets it, its signature and what its failure
//! leads to are the domain's.
//!
//! One attempt, read from top to bottom in [`sender`](HyperWebhookSender): the URL is judged
//! ([`TargetPolicy`]) → the name is resolved and the answers are judged ([`Network`]) → TCP connect, and
//! the peer's address is judged → TLS against the bundled and the extra roots ([`TrustRoots`]) → one
//! request, up to the answer's status line → the first 2 KiB of the answer's body, as far as they come soon.

mod exchange;
mod network;
mod sender;
mod status_line;
mod target_guard;
mod trust_roots;

pub use network::{Network, OpenedConnection, SystemNetwork};
pub use sender::HyperWebhookSender;
pub use target_guard::TargetPolicy;
pub use trust_roots::{TrustRootError, TrustRoots};
