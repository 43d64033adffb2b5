//! The demo's marketplace: a simulator with generated posts. Some jobs have boosts, a warning or a hired bidder, so that
//! every decision occurs.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bidloop_domain::port::Clock;
use bidloop_simulator::{Generator, Options, Random, Simulator};
use serde_json::{Map, Value, json};
use tokio::task::JoinHandle;
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

use crate::DemoError;
use crate::setup::{AUTOMATIC_CAMPAIGN, EXTERNAL_CAMPAIGN, accounts, categories};

/// How many posts are kept: some hours at the default rate.
const KEEP: usize = 20_000;
/// Pause between two releases; a higher rate releases several posts at once.
const TICK: Duration = Duration::from_millis(20);
/// The most posts published at the start.
const OPENING: usize = 60;

/// The running marketplace.
#[derive(Debug)]
pub(crate) struct Market {
    simulator: Arc<Simulator>,
    stop: CancellationToken,
    publisher: Option<JoinHandle<()>>,
}

impl Market {
    /// Listens on a free loopback port; publishes nothing yet.
    pub(crate) async fn start() -> Result<Self, DemoError> {
        let options = Options {
            keep_posts: Some(KEEP),
            ..Options::default()
        };
        let simulator = Simulator::start("127.0.0.1:0", options).await.map_err(|error| {
            DemoError::Failed(format!("the simulated marketplace cannot listen: {error}"))
        })?;
        for (token, account) in accounts() {
            simulator
                .put_account(token, account)
                .map_err(|error| DemoError::Failed(error.to_string()))?;
        }
        Ok(Self {
            simulator: Arc::new(simulator),
            stop: CancellationToken::new(),
            publisher: None,
        })
    }

    pub(crate) fn base_url(&self) -> &str {
        self.simulator.base_url()
    }

    /// Publishes some posts for each campaign at once, then `rate` a second.
    pub(crate) fn open(&mut self, rate: f64, seed: u64, clock: Arc<dyn Clock>) {
        let publishing = Publishing {
            simulator: Arc::clone(&self.simulator),
            published: 0,
            generator: Generator::new(seed),
            seed,
            clock,
        };
        self.publisher = Some(tokio::spawn(publishing.run(rate, self.stop.clone())));
    }

    /// Stops publishing; the marketplace still answers.
    pub(crate) async fn stop_publishing(&mut self) {
        self.stop.cancel();
        if let Some(publisher) = self.publisher.take()
            && let Err(error) = publisher.await
        {
            tracing::error!(%error, "publishing jobs failed");
        }
    }

    pub(crate) async fn close(mut self) {
        self.stop_publishing().await;
        if let Some(simulator) = Arc::into_inner(self.simulator) {
            simulator.shutdown().await;
        }
    }
}

struct Publishing {
    simulator: Arc<Simulator>,
    published: u64,
    generator: Generator,
    seed: u64,
    clock: Arc<dyn Clock>,
}

impl Publishing {
    async fn run(mut self, rate: f64, stop: CancellationToken) {
        self.publish_opening();
        let opened = Instant::now();
        let mut released = 0;
        let mut ticks = tokio::time::interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                () = stop.cancelled() => return,
            }
            while released < due(rate, opened.elapsed()) && !stop.is_cancelled() {
                self.publish_next();
                released += 1;
            }
        }
    }

    /// Publishes until both campaigns have a job.
    fn publish_opening(&mut self) {
        let (external_ones, automatic_ones) = (categories(EXTERNAL_CAMPAIGN), categories(AUTOMATIC_CAMPAIGN));
        let (mut external, mut automatic) = (false, false);
        for _ in 0..OPENING {
            let post = self.publish_next();
            let is_of = |categories: &[String]| categories.iter().any(|known| post["category"] == **known);
            external |= is_of(&external_ones);
            let asks = post["questions"]
                .as_array()
                .is_some_and(|questions| !questions.is_empty());
            automatic |= is_of(&automatic_ones) && !asks;
            if external && automatic {
                return;
            }
        }
    }

    fn publish_next(&mut self) -> Value {
        let post = self.generator.next(self.clock.now().as_millis());
        self.published += 1;
        match self.simulator.publish(vec![post]) {
            Ok(mut published) => {
                let post = published.pop().unwrap_or_default();
                let id = post["id"].as_str().unwrap_or_default();
                if let Some(state) = state(mixed(self.seed.wrapping_add(self.published)))
                    && let Err(error) = self.simulator.patch_job(id, state)
                {
                    tracing::error!(%error, "a job's state cannot be set");
                }
                post
            }
            Err(error) => {
                tracing::error!(%error, "a generated post cannot be published");
                Value::Null
            }
        }
    }
}

/// How many posts are due after `elapsed`, without the opening ones.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a count of posts, never negative"
)]
fn due(rate: f64, elapsed: Duration) -> u64 {
    (rate * elapsed.as_secs_f64()).floor() as u64
}

/// A job's state, if it differs from a fresh job's.
fn state(random: u64) -> Option<Value> {
    let mut state = Map::new();
    let boosts: Vec<u64> = (0..random % 7)
        .skip(2)
        .map(|place| 1 + mixed(random ^ place) % 22)
        .collect();
    if !boosts.is_empty() {
        state.insert("boosts".to_owned(), json!(boosts));
    }
    match (random >> 8) % 100 {
        0..8 => {
            state.insert("alreadyHired".to_owned(), json!(true));
        }
        8..14 => {
            let warning = json!({"code": "crowded", "message": "More than 50 proposals have been sent."});
            state.insert("warnings".to_owned(), json!([warning]));
        }
        14..17 => {
            state.insert("status".to_owned(), json!("closed"));
        }
        _ => {}
    }
    (!state.is_empty()).then_some(Value::Object(state))
}

/// A pseudorandom number from a seed.
fn mixed(number: u64) -> u64 {
    Random::new(number).number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn posts_are_due_at_the_rate() {
        for (rate, seconds, posts) in [(1.0, 0, 0), (1.0, 3, 3), (0.5, 3, 1), (100.0, 2, 200)] {
            assert_eq!(
                due(rate, Duration::from_secs(seconds)),
                posts,
                "{rate} for {seconds} s"
            );
        }
    }

    #[test]
    fn every_state_occurs_and_most_jobs_take_proposals() {
        let states: Vec<Value> = (0..2_000)
            .map(|number| state(mixed(number)).unwrap_or_default())
            .collect();
        let share = |found: &dyn Fn(&Value) -> bool| states.iter().filter(|state| found(state)).count();
        assert!(share(&|state| state["alreadyHired"] == true) > 100);
        assert!(share(&|state| state["warnings"].is_array()) > 60);
        assert!(share(&|state| state["status"] == "closed") > 20);
        assert!(share(&|state| state["boosts"].is_array()) > 800);
        let barred = |state: &Value| {
            ["alreadyHired", "warnings", "status"]
                .iter()
                .any(|name| !state[name].is_null())
        };
        assert!(share(&barred) < 400);
    }
}
