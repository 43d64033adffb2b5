//! Publishes generated posts or those of a file, at once or at a rate.

use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::now_ms;
use crate::generator::Generator;
use crate::job_file::{self, JobFileError};
use crate::market::job_state::JobStatePatch;
use crate::shared::{Checks, Shared};
use crate::tasks::stopped;

/// Posts that the simulator publishes by itself.
#[derive(Debug)]
pub struct Publishing {
    /// Where the posts come from.
    pub source: PostSource,
    /// Jobs a second. `None`: all posts of a file at once, and only the backlog of a generator.
    pub rate: Option<f64>,
    /// Whether `postedAt` becomes the moment of the release. A service acts only on recent jobs and would otherwise list
    /// the old posts of a file without bidding on them. Generated posts are always recent.
    pub fresh_times: bool,
}

/// Where posts come from.
#[derive(Debug)]
pub enum PostSource {
    /// The generator. Every second job has boosts of other bidders.
    Generated {
        /// The same seed makes the same posts, except for times and ids, which follow the clock.
        seed: u64,
        /// How many posts of the last hours the feed holds from the start.
        backlog: usize,
    },
    /// Posts of a file, in its order; see [`PostSource::from_file`].
    File(PostFile),
}

/// The checked lines of a file of job posts.
#[derive(Debug)]
pub struct PostFile(Vec<Box<str>>);

impl PostSource {
    /// Reads a file of `JobPost` lines. They are published as they are; missing ids, URLs and times are added.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, JobFileError> {
        job_file::read(path.as_ref()).map(|lines| Self::File(PostFile(lines)))
    }
}

/// Posts that are still to be released.
#[derive(Debug)]
pub(crate) struct Release {
    posts: Posts,
    fresh_times: bool,
}

#[derive(Debug)]
enum Posts {
    Generated(Box<Generator>),
    File(std::vec::IntoIter<Box<str>>),
}

impl Release {
    /// Publishes the next post. False if there is none.
    fn release_next(&mut self, shared: &Shared) -> bool {
        match &mut self.posts {
            Posts::Generated(generator) => publish_generated(generator, now_ms(), shared),
            Posts::File(lines) => match lines.next() {
                Some(line) => publish_line(&line, self.fresh_times, shared),
                None => return false,
            },
        }
        true
    }
}

/// The age of the oldest post of a generated backlog.
const BACKLOG_MS: i64 = 6 * 3_600_000;
/// The interval between releases. A higher rate releases several posts at a time.
const TICK: Duration = Duration::from_millis(20);

/// Publishes the posts that the feed holds from the start. Returns the rate and the posts to be released from then on.
pub(crate) fn begin(publishing: Publishing, shared: &Shared) -> Option<(f64, Release)> {
    let rate = publishing.rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    let posts = match publishing.source {
        PostSource::Generated { seed, backlog } => {
            let mut generator = Box::new(Generator::new(seed));
            publish_backlog(&mut generator, backlog, shared);
            Posts::Generated(generator)
        }
        PostSource::File(PostFile(lines)) => Posts::File(lines.into_iter()),
    };
    let mut release = Release {
        posts,
        fresh_times: publishing.fresh_times,
    };
    if rate.is_none() && matches!(release.posts, Posts::File(_)) {
        while release.release_next(shared) {}
    }
    rate.map(|rate| (rate, release))
}

/// Publishes `count` posts, posted at even intervals up to now.
fn publish_backlog(generator: &mut Generator, count: usize, shared: &Shared) {
    let now = now_ms();
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    for left in (1..=count).rev() {
        let age = i128::from(BACKLOG_MS) * i128::from(left) / i128::from(count);
        publish_generated(generator, now - i64::try_from(age).unwrap_or(BACKLOG_MS), shared);
    }
}

/// Releases posts at `rate` a second until none is left or the simulator stops.
pub(crate) async fn run(
    (rate, mut release): (f64, Release),
    shared: Arc<Shared>,
    mut stop: watch::Receiver<bool>,
) {
    let started = Instant::now();
    let mut released = 0_u64;
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut stop) => return,
        }
        while released < due(rate, started.elapsed()) {
            if !release.release_next(&shared) {
                return;
            }
            released += 1;
        }
    }
}

/// How many posts are due after `elapsed`. The first one is due at once.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of posts, never negative"
)]
fn due(rate: f64, elapsed: Duration) -> u64 {
    (rate * elapsed.as_secs_f64()).floor() as u64 + 1
}

fn publish_generated(generator: &mut Generator, posted_at: i64, shared: &Shared) {
    let mut post = generator.next(posted_at);
    // A new URL is made, which leads to this simulator.
    post["url"] = Value::Null;
    publish(post, generator.rival_boosts(), shared);
}

fn publish_line(line: &str, fresh_times: bool, shared: &Shared) {
    match serde_json::from_str::<Value>(line) {
        Ok(mut post) => {
            if fresh_times {
                post["postedAt"] = Value::from(now_ms());
            }
            publish(post, Vec::new(), shared);
        }
        Err(error) => tracing::error!(%error, "a checked line of the file cannot be parsed"),
    }
}

fn publish(post: Value, rival_boosts: Vec<u32>, shared: &Shared) {
    match shared.complete(post, Checks::Types) {
        Ok((post, _)) => {
            let id = Arc::clone(&post.id);
            let mut market = shared.market();
            market.publish(post);
            if !rival_boosts.is_empty()
                && let Err(refusal) = market.patch_job(&id, JobStatePatch::of_boosts(rival_boosts))
            {
                tracing::debug!(
                    message = refusal.message,
                    "a post was dropped right after it was published"
                );
            }
        }
        Err(error) => tracing::error!(error, "a post of the simulator cannot be published"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_post_is_due_at_once_and_the_others_at_the_rate() {
        assert_eq!(due(0.5, Duration::ZERO), 1);
        assert_eq!(due(0.5, Duration::from_millis(3_999)), 2);
        assert_eq!(due(1_000.0, Duration::from_millis(2_500)), 2_501);
    }
}
