//! The HTTP API: the four operations under `/v1`, the three operability endpoints, and the interface description.
//!
//! Owns how requests are read and answered: keys, sizes, media types, shapes, statuses and bodies. Does not own
//! what is decided about a request, which is the use cases' ([`bidloop_domain::use_case`]), nor the order of a
//! request's later checks, which they keep too (decision A1).
//!
//! | read | for |
//! |---|---|
//! | [`HttpApi`] | what the API consists of |
//! | [`serve`] | listening, time limits, stopping |
//! | `errors` | which error is answered how, with its status |
//! | `operation` | the four operations, one file each |
//! | `openapi` | the description that `bidloop openapi` prints |

mod api;
mod bearer;
mod bid_body;
mod errors;

mod multipart;
mod observation;
mod openapi;
mod operability;
mod operation;
mod ports;
mod reject_body;
mod request_body;
mod request_json;
mod routes;
mod server;
mod unread_body;

pub use api::HttpApi;
pub use openapi::openapi;
pub use ports::{Readiness, RequestMetrics};
pub use routes::configure;
pub use server::{Offer, RunningServer, ServerSettings, serve};
