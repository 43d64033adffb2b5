//! Connections: how many there are, and how long each may take for what.
//!
//! The server's own timers cover the first head of a connection and idleness. They do not cover a second head, nor an
//! answer that nobody reads. So every connection runs over a [`GuardedStream`], which knows from its [`Exchange`] whether
//! a head is awaited, a request is served or nothing happens, and ends the connection when that takes too long. Bodies
//! are timed where they are read, since only there it is known who waits for whom.

mod admission;
mod exchange;
mod limits;
mod long_bodies;
mod patience;
mod refused_head;
mod stream;

pub(crate) use admission::Admission;
pub use exchange::SHORT_BODY_BYTES;
pub(crate) use exchange::{EndsRequest, Exchange};
pub use limits::ConnectionLimits;
pub(crate) use long_bodies::LongBodies;
pub(crate) use patience::Patience;
pub(crate) use stream::GuardedStream;
