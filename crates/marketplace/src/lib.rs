//! Client of the marketplace protocol over HTTP/1.1 and TLS.
//!
//! [`HyperMarketplace`] implements the domain's [`Marketplace`](bidloop_domain::port::Marketplace). It makes one
//! call at a time and says exactly what is known of it afterwards: whether the request can have arrived, whether an
//! answer came, and whether that answer is one that the protocol has. What follows from it, retries included, is the
//! domain's.
//!
//! One call, from outer to inner: [`HyperMarketplace`] writes the request (`wire`, `upload`) → `exchange` sends it
//! under one deadline over a kept or fresh connection (`connections`) → `answer` judges what came back → `wire` reads
//! it.

mod answer;
mod base_url;
mod connections;
mod exchange;
mod marketplace;
mod request_body;
mod retry_after;
mod upload;
mod wire;

pub use base_url::BaseUrlError;
pub use marketplace::{HyperMarketplace, MarketplaceSettings, MarketplaceSettingsError};
