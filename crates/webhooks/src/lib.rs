//! Sends a webhook: one connection, one request, guarded against addresses that are not public.
//!
//! [`HyperWebhookSender`] implements the domain's [`WebhookSender`](bidloop_domain::port::WebhookSender)
//! with a new hyper connection for each attempt. There is no pool and no retry: an attempt must be provably one (decision
//! C5), and the address connected to must be checked before anything is sent (decision C6). The domain decides the
//! content, the recipients, the signature and the consequences of a failure.
//!
//! [`HyperWebhookSender`] runs an attempt in this order: check the URL ([`Targets`]) → resolve the name and check the
//! addresses ([`Network`]) → connect and check the peer's address → TLS handshake → one request, up to the answer's status
//! line → the first 2 KiB of the answer's body, as far as they arrive within a second.

mod exchange;
mod network;
mod resolver;
mod sender;
mod status_line;
mod target_guard;

pub use network::{Network, OpenedConnection, SystemNetwork};
pub use sender::HyperWebhookSender;
pub use target_guard::{TargetPolicy, Targets};
