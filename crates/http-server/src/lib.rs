//! The HTTP server under the API and the console: it listens, guards connections, observes requests, reads their bodies,
//! and stops gracefully. It knows no route.
//!
//! | item | content |
//! |---|---|
//! | [`serve`] | listening, stopping |
//! | [`ConnectionLimits`] | how many connections there are, and how long each may take |
//! | [`RequestBody`] | a body, read within limits of size and time |
//! | [`Parts`] | the parts of a `multipart/form-data` body |
//! | [`BytePool`] | how many bytes of bodies are held, shared fairly |
//! | [`Holding`], [`answer_holding`] | an answer to a request whose body may not have been read |
//! | [`ContentTag`], [`StaticContent`], [`gzip`] | entity tags, conditional requests, compression |
//! | [`TrustedProxies`] | which address a request comes from, behind a proxy |
//! | [`RequestObserver`] | counts requests |
//! | [`RequestTracer`], [`traced`] | spans of requests in traces |
//! | [`UseCaseRuntime`] | the thread on which a use case runs, and whether it ends without its caller |

mod byte_pool;
mod client_address;
mod connection;
mod multipart;
mod observation;
mod representation;
mod request_body;
mod request_trace;
mod server;
mod unread_body;
mod use_case_runtime;

pub use byte_pool::{BytePool, ByteShare, NoRoom};
pub use client_address::TrustedProxies;
pub use connection::{ConnectionLimits, SHORT_BODY_BYTES};
pub use multipart::{
    FRAMING_BYTES, FormDataFault, FormPartHead, Parts, Pieces, boundary_of, pieces, send_pieces,
};
pub use observation::RequestObserver;
pub use representation::{
    Answer, Coding, ContentTag, StaticContent, WORTH_COMPRESSING_BYTES, answer_short, asks_for_gzip, gzip,
};
pub use request_body::{BodyFault, RequestBody, declared_length, declares_no_body, is_media_type};
pub use request_trace::{RequestSpan, RequestTracer, traced};
pub use server::{RunningServer, ServerSettings, serve};
pub use unread_body::{Holding, answer_holding};
pub use use_case_runtime::{UseCaseFault, UseCaseRuntime};
