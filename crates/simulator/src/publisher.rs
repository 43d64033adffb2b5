//! What the simulator publishes by itself, and how fast. Owns the pace; where posts come from is the generator's
//! or a file's affair.

use serde_json::Value;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use crate::clock::now_ms;
use crate::generator::Generator;
use crate::job_file::{self, JobFileError};
use crate::simulator::{Checks, Shared, stopped};

/// Posts that the simulator publishes by itself.
#[derive(Debug)]
pub struct Publishing {
    /// Where the posts come from.
    pub source: PostSource,
    /// Jobs a second. `None`: a file's posts all at once, and nothing after a generator's backlog.
    pub rate: Option<f64>,
    /// Whether a post's `postedAt` becomes the moment of its release. A service acts only on jobs posted
    /// recently, so a file of old posts is otherwise listed but not bid on. Generated posts are always fresh.
    pub fresh_times: bool,
}

/// Where posts come from.
#[derive(Debug)]
pub enum PostSource {
    /// The generator. `backlog` posts of the last hours are published at once, before the first at the rate.
    Generated {
        /// The same seed, the same posts (but for the times and ids, which follow the clock).
        seed: u64,
        /// How many posts stand in the feed from the start.
        backlog: usize,
    },
    /// Posts of a file, in its order; see [`PostSource::from_file`].
    File(PostFile),
}

/// The checked lines of a file of job posts.
#[derive(Debug)]
pub struct PostFile(Vec<Box<str>>);

impl PostSource {
    /// Reads a file of `JobPost` lines. They are published as they are, completed only with what they leave out.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self, JobFileError> {
        job_file::read(path.as_ref()).map(|lines| Self::File(PostFile(lines)))
    }
}

/// Posts still to be released at a rate.
#[derive(Debug)]
pub(crate) struct Release {
    posts: Posts,
    rate: f64,
    fresh_times: bool,
}

#[derive(Debug)]
enum Posts {
    Generated(Box<Generator>),
    File(std::vec::IntoIter<Box<str>>),
}

/// Age of the oldest post of a generated backlog.
const BACKLOG_MS: i64 = 6 * 3_600_000;
/// Between two releases; a higher rate releases several posts at a time.
const TICK: Duration = Duration::from_millis(20);

/// Publishes what stands in the feed from the start, and answers what is to be released from then on.
pub(crate) fn begin(publishing: Publishing, shared: &Shared) -> Option<Release> {
    let rate = publishing.rate.filter(|rate| rate.is_finite() && *rate > 0.0);
    let fresh_times = publishing.fresh_times;
    let posts = match publishing.source {
        PostSource::Generated { seed, backlog } => {
            let mut generator = Generator::new(seed);
            let now = now_ms();
            let count = i64::try_from(backlog).unwrap_or(i64::MAX);
            for left in (1..=count).rev() {
                let age = i128::from(BACKLOG_MS) * i128::from(left) / i128::from(count);
                let post = generator.next(now - i64::try_from(age).unwrap_or(BACKLOG_MS));
                publish(post, shared);
            }
            Posts::Generated(Box::new(generator))
        }
        PostSource::File(PostFile(lines)) => {
            if rate.is_none() {
                for line in lines {
                    release_line(&line, fresh_times, shared);
                }
                return None;
            }
            Posts::File(lines.into_iter())
        }
    };
    rate.map(|rate| Release {
        posts,
        rate,
        fresh_times,
    })
}

/// Releases posts at their rate until none is left or the simulator stops.
pub(crate) async fn run(mut release: Release, shared: Arc<Shared>, mut stop: watch::Receiver<bool>) {
    let started = Instant::now();
    let mut released = 0_u64;
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            () = stopped(&mut stop) => return,
        }
        let due = due(release.rate, started.elapsed());
        while released < due {
            match &mut release.posts {
                Posts::Generated(generator) => publish(generator.next(now_ms()), &shared),
                Posts::File(lines) => match lines.next() {
                    Some(line) => release_line(&line, release.fresh_times, &shared),
                    None => return,
                },
            }
            released += 1;
        }
    }
}

/// How many posts are due after so long; the first one at once.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of posts, never negative"
)]
fn due(rate: f64, elapsed: Duration) -> u64 {
    (rate * elapsed.as_secs_f64()).floor() as u64 + 1
}

fn release_line(line: &str, fresh_times: bool, shared: &Shared) {
    match serde_json::from_str::<Value>(line) {
        Ok(mut post) => {
            if fresh_times {
                post["postedAt"] = Value::from(now_ms());
            }
            publish(post, shared);
        }
        Err(error) => tracing::error!(%error, "a line that was read before cannot be read again"),
    }
}

fn publish(post: Value, shared: &Shared) {
    match shared.complete(post, Checks::Types) {
        Ok((post, _)) => shared.market().publish(post),
        Err(error) => tracing::error!(error, "a post of the simulator's own cannot be published"),
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
