//! The pages over the in-memory fakes.

mod use_cases;
mod world;
