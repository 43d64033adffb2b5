//! What Bidloop talks about.

mod timestamp;

pub use timestamp::Timestamp;
