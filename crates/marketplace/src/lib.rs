//! Client of the marketplace protocol over HTTP/1.1 and TLS.
//!
//! [`HyperMarketplace`] implements the domain's [`Marketplace`](bidloop_domain::port::Marketplace). Each
//! method makes one call and reports exactly what is known afterwards: whether the request may have arrived, whether there
//! was an answer, and whether it follows the protocol. The domain decides what to do then, retries included.
//!
//! The steps of a call: [`HyperMarketplace`] writes the request (`wire`, `upload`) → `exchange` sends it under one
//! deadline over a pooled or new connection (`connections`) → `answer` tells successes from errors → `wire` reads the
//! body.

mod answer;
mod base_url;
mod connections;
mod exchange;
mod hanging_read;
mod marketplace;
mod request_body;
mod retry_after;
mod upload;
mod wire;

pub use base_url::{BaseUrl, BaseUrlError, percent_encode};
pub use marketplace::{HyperMarketplace, MarketplaceSettings};
