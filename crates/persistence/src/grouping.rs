//! Commands that are carried out together: what arrives while one group is carried out forms the next one.
//!
//! A lone command waits for nobody, and a group shares one commit. Where nobody is kept waiting by it, lanes
//! [gather](Lanes::gathering) a group for a moment. Where callers come again once they are answered, lanes
//! expect them, [their own](Lanes::expecting) or [those of others](Lanes::expecting_others): else the callers would split into
//! groups that take turns.
//!
//! Commands of a few lanes are carried out at the same time, those of one lane group after group. Whoever would make others
//! wait gets a lane apart for as long as commands wait in it: a key (an organization) whose commands fail in their group,
//! or do not get their locks soon, or that fills a group by itself.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bidloop_domain::port::StoreError;
use futures::FutureExt as _;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::Instant;

#[cfg(test)]
mod tests;

/// The most commands of a group whose callers wait: they hold their locks together.
const MOST: usize = 64;
/// The most commands of a gathered group.
const MOST_GATHERED: usize = 256;
/// The most commands of one kind that wait or are carried out. More are refused: they would only wait longer.
const MOST_WAITING: usize = 4_096;

/// How commands of one kind are carried out.
pub(crate) trait Grouped: Clone + Send + Sync + 'static {
    /// What is carried out.
    type Command: Send + Sync + 'static;
    /// What its caller learns.
    type Answer: Send + 'static;

    /// Carries out commands in one transaction, and answers in their order. A command without an answer goes alone.
    /// `Ok(None)`: nothing was changed, because a lock was not had in time.
    fn together(
        &self,
        group: Vec<Arc<Self::Command>>,
        locks: Locks,
    ) -> impl Future<Output = Result<Option<Vec<Option<Self::Answer>>>, StoreError>> + Send;

    /// So many callers of a group are about to be answered. They may soon be back with commands of another kind.
    fn answering(&self, _callers: usize) {}

    /// Carries out a command that could not be carried out with others. It waits for locks patiently.
    fn alone(
        &self,
        command: Arc<Self::Command>,
    ) -> impl Future<Output = Result<Self::Answer, StoreError>> + Send;
}

/// How long a transaction waits for locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locks {
    /// It gives up soon, because others wait for it.
    Soon,
    /// As long as any transaction.
    Patiently,
}

/// What commands of one kind wait in.
pub(crate) struct Lanes<G: Grouped> {
    waiting: Arc<Mutex<Waiting<G>>>,
    /// Of commands that wait or are carried out.
    permits: Arc<Semaphore>,
    patience: Patience,
}

/// What a group waits for before it is carried out.
#[derive(Debug, Clone, Copy)]
enum Patience {
    None,
    /// That this much time is over.
    Pause(Duration),
    /// That the callers of the group before are back, but no longer than this after they were answered.
    Own(Duration),
    /// The same for callers that [others](Lanes::expect) have answered.
    Others(Duration),
}

struct Waiting<G: Grouped> {
    /// The most commands of a group.
    most: usize,
    shared: Vec<Lane<G>>,
    /// By key. Each is led; it is gone when no command waits in it.
    apart: HashMap<u64, VecDeque<Call<G>>>,
}

struct Lane<G: Grouped> {
    calls: VecDeque<Call<G>>,
    /// Whether a task carries out this lane's commands.
    is_led: bool,
    /// How many commands the next group waits for,
    expected: usize,
    /// and until when.
    expected_until: Instant,
    /// Told when as many wait.
    are_back: Arc<Notify>,
}

/// A command whose caller waits for the answer.
struct Call<G: Grouped> {
    key: u64,
    command: Arc<G::Command>,
    answer: oneshot::Sender<Result<G::Answer, StoreError>>,
    _permit: OwnedSemaphorePermit,
}

#[derive(Debug, Clone, Copy)]
enum Place {
    Shared(usize),
    Apart(u64),
}

impl<G: Grouped> Clone for Lanes<G> {
    fn clone(&self) -> Self {
        Self {
            waiting: Arc::clone(&self.waiting),
            permits: Arc::clone(&self.permits),
            patience: self.patience,
        }
    }
}

impl<G: Grouped> Lanes<G> {
    /// `count`: how many groups are carried out at the same time, those of lanes apart not counted.
    pub(crate) fn new(count: usize) -> Self {
        Self::with(count, MOST, Patience::None)
    }

    /// Lanes in which the first command of a group waits for `pause`, unless the group is full: groups are larger, and each
    /// costs about the same.
    pub(crate) fn gathering(count: usize, pause: Duration) -> Self {
        Self::with(count, MOST_GATHERED, Patience::Pause(pause))
    }

    /// Lanes in which a group that follows one with several answers waits until those callers may be back, at most for
    /// `patience`: until as many commands wait as were answered and waited then. A caller that was alone waits for nobody.
    pub(crate) fn expecting(count: usize, patience: Duration) -> Self {
        Self::with(count, MOST, Patience::Own(patience))
    }

    /// A lane in which a group waits for the callers that are [said](Self::expect) to come, at most for `patience`.
    pub(crate) fn expecting_others(patience: Duration) -> Self {
        Self::with(1, MOST, Patience::Others(patience))
    }

    /// So many callers are answered elsewhere now, and may come here next.
    pub(crate) fn expect(&self, callers: usize) {
        if let Patience::Others(patience) = self.patience {
            for lane in &mut self.locked().shared {
                let is_over = lane.expected_until <= Instant::now();
                let still = if is_over { 0 } else { lane.expected };
                lane.expect(still + callers, patience);
            }
        }
    }

    fn with(count: usize, most: usize, patience: Patience) -> Self {
        let lane = |_| Lane {
            calls: VecDeque::new(),
            is_led: false,
            expected: 0,
            expected_until: Instant::now(),
            are_back: Arc::default(),
        };
        Self {
            waiting: Arc::new(Mutex::new(Waiting {
                most,
                shared: (0..count.max(1)).map(lane).collect(),
                apart: HashMap::new(),
            })),
            permits: Arc::new(Semaphore::new(MOST_WAITING)),
            patience,
        }
    }

    /// Carries out the command with others that wait. It is carried out whether or not the caller still waits. Commands of
    /// one key are carried out in the order of their arrival.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if too many wait, or as the transaction ends.
    pub(crate) async fn carry_out(
        &self,
        by: &G,
        key: u64,
        command: Arc<G::Command>,
    ) -> Result<G::Answer, StoreError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned();
        let permit =
            permit.map_err(|_| StoreError::Unavailable("too many commands are waiting".to_owned()))?;
        let (answer, answered) = oneshot::channel();
        let call = Call {
            key,
            command,
            answer,
            _permit: permit,
        };
        let unled = self.locked().put(call);
        if let Some(place) = unled {
            self.lead(by, place);
        }
        answered.await.unwrap_or_else(|_| Err(cut_short()))
    }

    fn locked(&self) -> MutexGuard<'_, Waiting<G>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a task that carries out groups until no command waits there.
    fn lead(&self, by: &G, place: Place) {
        let (lanes, by) = (self.clone(), by.clone());
        tokio::spawn(async move {
            loop {
                lanes.wait(place).await;
                let next = lanes.locked().next_group(place);
                let Some((group, hot)) = next else { return };
                if let Some(key) = hot {
                    lanes.lead(&by, Place::Apart(key));
                }
                match place {
                    Place::Apart(_) => carry_out_apart(&by, group).await,
                    Place::Shared(lane) => {
                        let answers = together(&by, &group, Locks::Soon).await;
                        let answered = match &answers {
                            Ok(answers) => answers.iter().flatten().flatten().count(),
                            Err(_) => group.len(),
                        };
                        by.answering(answered);
                        let left = answer_each(group, answers);
                        let unled = lanes.locked().set_apart(lane, left);
                        for key in unled {
                            lanes.lead(&by, Place::Apart(key));
                        }
                        lanes.expect_again(lane, answered);
                    }
                }
            }
        });
    }

    /// Waits before the next group is carried out.
    async fn wait(&self, place: Place) {
        match (self.patience, place) {
            (Patience::Pause(pause), _) => {
                if !self.locked().is_full(place) {
                    tokio::time::sleep(pause).await;
                }
            }
            (Patience::Own(_) | Patience::Others(_), Place::Shared(lane)) => {
                let (are_back, until) = {
                    let lane = &self.locked().shared[lane];
                    (Arc::clone(&lane.are_back), lane.expected_until)
                };
                let all = async {
                    while self.locked().shared[lane].lacks_some() {
                        are_back.notified().await;
                    }
                };
                // Who is not back by then sends no other command, or has to think.
                let _ = tokio::time::timeout_at(until, all).await;
            }
            (Patience::Own(_) | Patience::Others(_), Place::Apart(_)) | (Patience::None, _) => {}
        }
    }

    /// After several answers, the next group waits for as many callers.
    fn expect_again(&self, lane: usize, answered: usize) {
        if let (Patience::Own(patience), 2..) = (self.patience, answered) {
            let lane = &mut self.locked().shared[lane];
            lane.expect(answered + lane.calls.len(), patience);
        }
    }
}

impl<G: Grouped> Lane<G> {
    fn expect(&mut self, commands: usize, patience: Duration) {
        self.expected = commands.min(MOST);
        self.expected_until = Instant::now() + patience;
    }

    fn lacks_some(&self) -> bool {
        self.calls.len() < self.expected
    }
}

impl<G: Grouped> Waiting<G> {
    /// Returns the place if it is not led yet.
    fn put(&mut self, call: Call<G>) -> Option<Place> {
        if let Some(calls) = self.apart.get_mut(&call.key) {
            calls.push_back(call);
            return None;
        }
        let number = usize::try_from(call.key % self.shared.len() as u64).unwrap_or(0);
        let lane = &mut self.shared[number];
        lane.calls.push_back(call);
        if lane.calls.len() == lane.expected {
            lane.are_back.notify_one();
        }
        let is_led = std::mem::replace(&mut lane.is_led, true);
        (!is_led).then_some(Place::Shared(number))
    }

    /// Whether a whole group waits there.
    fn is_full(&self, place: Place) -> bool {
        let calls = match place {
            Place::Apart(key) => self.apart.get(&key),
            Place::Shared(number) => Some(&self.shared[number].calls),
        };
        calls.is_some_and(|calls| calls.len() >= self.most)
    }

    /// The next calls, and a key that was set apart for the others' sake and is not led yet. `None` if no call waits: the
    /// next one that comes is led anew.
    fn next_group(&mut self, place: Place) -> Option<(Vec<Call<G>>, Option<u64>)> {
        match place {
            Place::Apart(key) => {
                let calls = self.apart.get_mut(&key)?;
                let group = first(calls, self.most);
                if group.is_empty() {
                    self.apart.remove(&key);
                }
                Some((group, None)).filter(|(group, _)| !group.is_empty())
            }
            Place::Shared(number) => {
                let lane = &mut self.shared[number];
                let mut group = first(&mut lane.calls, self.most);
                lane.expected = 0;
                lane.is_led = !group.is_empty();
                let hot = hot(&group, &lane.calls, self.most);
                if let Some(key) = hot {
                    let (of_key, others) = group.into_iter().partition(|call| call.key == key);
                    self.set_apart(number, of_key);
                    group = others;
                    if group.is_empty() {
                        group = first(&mut self.shared[number].calls, self.most);
                    }
                }
                Some((group, hot)).filter(|_| self.shared[number].is_led)
            }
        }
    }

    /// Moves calls that are not answered yet into lanes apart, and with them what waits behind them in their lane. Returns
    /// the keys whose lanes are not led yet.
    fn set_apart(&mut self, lane: usize, calls: Vec<Call<G>>) -> BTreeSet<u64> {
        let keys: BTreeSet<u64> = calls.iter().map(|call| call.key).collect();
        if !keys.is_empty() {
            let waiting = std::mem::take(&mut self.shared[lane].calls);
            let (behind, staying): (VecDeque<_>, VecDeque<_>) =
                waiting.into_iter().partition(|call| keys.contains(&call.key));
            self.shared[lane].calls = staying;
            for call in calls.into_iter().chain(behind) {
                self.apart.entry(call.key).or_default().push_back(call);
            }
        }
        keys
    }
}

/// Takes the first calls out, at most `most`.
fn first<G: Grouped>(calls: &mut VecDeque<Call<G>>, most: usize) -> Vec<Call<G>> {
    calls.drain(..calls.len().min(most)).collect()
}

/// A key that fills more than half of a full group while others wait.
fn hot<G: Grouped>(group: &[Call<G>], behind: &VecDeque<Call<G>>, most: usize) -> Option<u64> {
    if group.len() < most {
        return None;
    }
    let mut counts: HashMap<u64, usize> = HashMap::new();
    for call in group {
        *counts.entry(call.key).or_default() += 1;
    }
    let (key, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    let others_wait = || group.iter().chain(behind).any(|call| call.key != key);
    (count > most / 2 && others_wait()).then_some(key)
}

/// Carries out a group of one key, and answers all of it.
async fn carry_out_apart<G: Grouped>(by: &G, group: Vec<Call<G>>) {
    let mut left = group;
    if left.len() > 1 {
        let answers = together(by, &left, Locks::Patiently).await;
        left = answer_each(left, answers);
    }
    for call in left {
        let alone = by.alone(Arc::clone(&call.command));
        let answer = AssertUnwindSafe(alone).catch_unwind().await;
        // The caller may be gone; what was done is done.
        let _ = call.answer.send(answer.unwrap_or_else(|_| Err(cut_short())));
    }
}

async fn together<G: Grouped>(
    by: &G,
    group: &[Call<G>],
    locks: Locks,
) -> Result<Option<Vec<Option<G::Answer>>>, StoreError> {
    let commands = group.iter().map(|call| Arc::clone(&call.command)).collect();
    match AssertUnwindSafe(by.together(commands, locks))
        .catch_unwind()
        .await
    {
        // A panic rolls back. It may be one command's alone, as an error may be that is not the database's state.
        Err(_) => Ok(None),
        Ok(Err(error @ (StoreError::Backend(_) | StoreError::Corrupt(_)))) => {
            tracing::debug!(%error, "commands are carried out one by one");
            Ok(None)
        }
        // Anything else is every caller's: the commit may have succeeded.
        Ok(done) => done,
    }
}

/// Answers the calls that have an answer, and returns the others.
fn answer_each<G: Grouped>(
    group: Vec<Call<G>>,
    answers: Result<Option<Vec<Option<G::Answer>>>, StoreError>,
) -> Vec<Call<G>> {
    let answers: Vec<Option<Result<G::Answer, StoreError>>> = match answers {
        Ok(Some(answers)) => answers.into_iter().map(|answer| answer.map(Ok)).collect(),
        Ok(None) => return group,
        Err(error) => group.iter().map(|_| Some(Err(error.clone()))).collect(),
    };
    let mut left = Vec::new();
    for (call, answer) in group.into_iter().zip(answers) {
        match answer {
            Some(answer) => drop(call.answer.send(answer)),
            None => left.push(call),
        }
    }
    left
}

fn cut_short() -> StoreError {
    StoreError::Backend("a command was cut short".to_owned())
}
