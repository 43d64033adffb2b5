//! Makes job posts to publish. Owns what they say, not when they are released.

use serde_json::{Value, json};

/// A source of job posts that never runs dry.
#[derive(Debug)]
pub struct Generator(u64);

impl Generator {
    /// The same seed makes the same posts.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next post, posted at `now_ms` (UNIX milliseconds).
    pub fn next(&mut self, now_ms: i64) -> Value {
        self.0 = self.0.wrapping_add(1);
        json!({"title": format!("Job {}", self.0), "postedAt": now_ms})
    }
}
