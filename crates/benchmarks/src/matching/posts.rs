//! Posts of the workload, put up on the marketplace as a measurement needs them.

use std::iter::Enumerate;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::workload::{Job, Jobs};
use crate::marketplace::Marketplace;

/// How often a steady stream brings something.
const BEAT: Duration = Duration::from_millis(100);

/// Puts up so many posts a second until `stop`; how many they were.
pub(super) fn stream(
    marketplace: &Marketplace,
    a_second: u32,
    stop: &AtomicBool,
    mut posts: impl FnMut(usize) -> Result<Vec<Value>>,
) -> Result<u64> {
    let started = Instant::now();
    let mut published = 0;
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(BEAT);
        let due = started.elapsed().as_millis() * u128::from(a_second) / 1000;
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        marketplace.publish(posts(usize::try_from(due - published)?)?)?;
        published = due;
    }
    Ok(published)
}

/// Jobs of the workload that have just been put up.
#[derive(Debug)]
pub(super) struct Posts {
    seed: u64,
    drawn: Enumerate<Jobs>,
}

impl Posts {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            seed,
            drawn: Jobs::new(seed).enumerate(),
        }
    }

    /// The next ones.
    pub(super) fn some(&mut self, count: usize) -> Result<Vec<Value>> {
        let posted_at = now_ms();
        let posts = self.drawn.by_ref().take(count);
        let posts: Vec<Value> = posts
            .map(|(number, job)| served(&job, &format!("{}{number:016}", self.seed), posted_at))
            .collect();
        ensure!(posts.len() == count, "there are no more jobs");
        Ok(posts)
    }
}

/// A job as the marketplace serves it. `posted_at` is in UNIX milliseconds.
pub(super) fn served(job: &Job, id: &str, posted_at: i64) -> Value {
    json!({
        "id": id, "ciphertext": format!("~{id}"), "url": format!("/jobs/{id}"), "postedAt": posted_at,
        "title": job.title, "description": job.description, "category": job.category,
        "metadata": {"paymentType": "Hourly", "hourlyRate": {"min": job.rate, "max": job.rate}},
        "clientInfo": {"isPaymentVerified": job.payment_verified, "country": job.country},
    })
}

/// Now, UNIX milliseconds: what a post says that has just been put up.
#[expect(clippy::disallowed_methods, reason = "a benchmark's clock is the machine's")]
pub(super) fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    now.map_or(0, |now| i64::try_from(now.as_millis()).unwrap_or(i64::MAX))
}
