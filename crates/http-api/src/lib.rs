//! The HTTP API: the four operations under `/v1`, the three operability endpoints, and the interface description.
//!
//! This crate reads requests and writes answers: keys, sizes, media types, shapes, statuses and bodies. The
//! [use cases](bidloop_domain::use_case) decide about requests. They also keep the order of the later checks (decision
//! A1).
//!
//! | item | content |
//! |---|---|
//! | [`HttpApi`] | the parts of the API |
//! | [`application`] | the routes |
//! | [`bodies`] | how bodies are read and errors worded, for other adapters |
//! | `bodies_in_flight` | how many bytes of request bodies the service holds |
//! | [`AllowedOrigins`] | which web pages may call the operations |
//! | `compressed_pages` | pages of leads for callers that ask for compression |
//! | `errors` | the status and body of every error |
//! | `operation` | the four operations, one file each |
//! | `description` | the interface description, as JSON and as a page |

mod api;
mod bearer;
mod bid_body;
pub mod bodies;
mod bodies_in_flight;
mod compressed_pages;
mod cross_origin;
mod description;
mod errors;
mod held_readiness;
mod operability;
mod operation;
mod ports;
mod reject_body;
mod request_body;
mod request_json;
mod routes;

pub use api::HttpApi;
pub use bodies_in_flight::BodyLimits;
pub use cross_origin::AllowedOrigins;
pub use description::{Description, openapi};
pub use held_readiness::HeldReadiness;
pub use ports::{Readiness, RequestMetrics};
pub use routes::{Offer, application};
