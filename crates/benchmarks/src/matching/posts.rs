//! Posts of the workload, published on the marketplace as a measurement needs them.

use std::iter::Enumerate;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::Result;
use serde_json::{Value, json};

use super::workload::{Job, Jobs};
use crate::marketplace::Marketplace;

/// The interval at which a steady stream publishes.
const BEAT: Duration = Duration::from_millis(100);

/// Publishes this many posts a second until `stop`. Returns how many they were.
pub(crate) fn stream(
    marketplace: &Marketplace,
    a_second: u32,
    stop: &AtomicBool,
    mut posts: impl FnMut(usize) -> Result<Vec<Value>>,
) -> Result<usize> {
    let started = Instant::now();
    let mut published = 0;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(BEAT);
        let due = usize::try_from(started.elapsed().as_millis() * u128::from(a_second) / 1000)?;
        marketplace.publish(posts(due - published)?)?;
        published = due;
    }
    Ok(published)
}

/// Jobs of the workload, posted now.
#[derive(Debug)]
pub(crate) struct Posts {
    seed: u64,
    drawn: Enumerate<Jobs>,
}

impl Posts {
    pub(crate) fn new(seed: u64) -> Self {
        let drawn = Jobs::new(seed).enumerate();
        Self { seed, drawn }
    }

    /// The next ones.
    pub(crate) fn some(&mut self, count: usize) -> Vec<Value> {
        let posted_at = now_ms();
        let posts = self.drawn.by_ref().take(count);
        posts
            .map(|(number, job)| served(&job, &format!("{}{number:016}", self.seed), posted_at))
            .collect()
    }
}

/// A job as the marketplace serves it. `posted_at` is in UNIX milliseconds.
pub(crate) fn served(job: &Job, id: &str, posted_at: i64) -> Value {
    json!({
        "id": id, "ciphertext": format!("~{id}"), "url": format!("/jobs/{id}"), "postedAt": posted_at,
        "title": job.title, "description": job.description, "category": job.category,
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": job.rate, "max": job.rate}},
        "clientInfo": {"isPaymentVerified": job.payment_verified, "country": job.country},
    })
}

/// The current time, in UNIX milliseconds.
#[expect(clippy::disallowed_methods, reason = "a benchmark's clock is the machine's")]
pub(crate) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}
