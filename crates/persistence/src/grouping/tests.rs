//! How commands come into groups, and who waits for whom.

use futures::future::join_all;
use tokio::sync::Semaphore;

use super::*;

/// Answers each command with the size of its group.
#[derive(Clone)]
struct Sizes {
    done: Arc<Mutex<Vec<u32>>>,
    /// What a locked command waits for.
    unlocked: Arc<Semaphore>,
}

const PANICS: u32 = 13;
const LOCKED: u32 = 14;
/// Is not answered in a group.
const APART: u32 = 15;
/// Takes three seconds.
const LASTS: u32 = 16;

impl Sizes {
    fn new() -> Self {
        Self {
            done: Arc::default(),
            unlocked: Arc::new(Semaphore::new(0)),
        }
    }

    fn done(&self) -> Vec<u32> {
        self.done.lock().unwrap().clone()
    }

    /// False if a lock was not had soon.
    async fn do_all(&self, commands: &[Arc<u32>], locks: Locks) -> bool {
        assert!(!commands.iter().any(|one| **one == PANICS), "an unlucky command");
        if commands.iter().any(|one| **one == LOCKED) {
            if locks == Locks::Soon {
                return false;
            }
            drop(self.unlocked.acquire().await.unwrap());
        }
        if commands.iter().any(|one| **one == LASTS) {
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
        let done = commands.iter().map(|one| **one);
        self.done.lock().unwrap().extend(done);
        true
    }
}

impl Grouped for Sizes {
    type Command = u32;
    type Answer = usize;

    async fn together(
        &self,
        group: Vec<Arc<u32>>,
        locks: Locks,
    ) -> Result<Option<Vec<Option<usize>>>, StoreError> {
        let (plain, apart): (Vec<_>, Vec<_>) = group.iter().cloned().partition(|one| **one != APART);
        let answers = group.iter().map(|one| (**one != APART).then_some(group.len()));
        let answers: Vec<Option<usize>> = answers.collect();
        assert_eq!(plain.len() + apart.len(), group.len());
        Ok(self.do_all(&plain, locks).await.then_some(answers))
    }

    async fn alone(&self, command: Arc<u32>) -> Result<usize, StoreError> {
        self.do_all(&[command], Locks::Patiently).await;
        Ok(1)
    }
}

async fn all(lanes: &Lanes<Sizes>, by: &Sizes, calls: &[(u64, u32)]) -> Vec<Result<usize, StoreError>> {
    let calls = calls.iter();
    join_all(calls.map(|(key, command)| lanes.carry_out(by, *key, Arc::new(*command)))).await
}

async fn all_after(
    seconds: u64,
    lanes: &Lanes<Sizes>,
    by: &Sizes,
    calls: &[(u64, u32)],
) -> Vec<Result<usize, StoreError>> {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    all(lanes, by, calls).await
}

#[tokio::test]
async fn what_arrives_at_the_same_time_is_carried_out_together_in_groups_of_a_bounded_size() {
    let (lanes, by) = (Lanes::new(2), Sizes::new());
    // Of four keys, all in the first lane.
    let calls: Vec<(u64, u32)> = (0..70).map(|number| (number % 4 * 2, 100)).collect();
    let answers = all(&lanes, &by, &calls).await;
    assert_eq!(answers[..64], vec![Ok(64); 64]);
    assert_eq!(answers[64..], vec![Ok(6); 6]);
    assert_eq!(
        all(&lanes, &by, &[(1, 1)]).await,
        [Ok(1)],
        "a lone one waits for nobody"
    );
}

#[tokio::test]
async fn more_commands_than_may_wait_are_refused_until_some_are_carried_out() {
    let (lanes, by) = (Lanes::new(1), Sizes::new());
    let calls: Vec<(u64, u32)> = (0..MOST_WAITING).map(|_| (7, LOCKED)).collect();
    let waiting = tokio::spawn({
        let (lanes, by) = (lanes.clone(), by.clone());
        async move { all(&lanes, &by, &calls).await }
    });
    while lanes.permits.available_permits() > 0 {
        tokio::task::yield_now().await;
    }
    let refused = all(&lanes, &by, &[(7, 1), (8, 2)]).await;
    assert!(
        refused
            .iter()
            .all(|answer| matches!(answer, Err(StoreError::Unavailable(_)))),
        "{refused:?}"
    );
    by.unlocked.add_permits(MOST_WAITING);
    assert!(
        waiting.await.unwrap().iter().all(Result::is_ok),
        "none of them is lost"
    );
    assert_eq!(all(&lanes, &by, &[(7, 1)]).await, [Ok(1)]);
    assert_eq!(by.done().len(), MOST_WAITING + 1);
}

#[tokio::test(start_paused = true)]
async fn what_comes_within_the_pause_joins_the_group_and_a_full_group_does_not_wait() {
    let (lanes, by) = (Lanes::gathering(1, Duration::from_secs(5)), Sizes::new());
    let started = Instant::now();
    let later = all_after(4, &lanes, &by, &[(2, 2)]);
    let (first, later) = futures::join!(all(&lanes, &by, &[(1, 1)]), later);
    assert_eq!((first, later), (vec![Ok(2)], vec![Ok(2)]));
    assert_eq!(started.elapsed(), Duration::from_secs(5));
    let full: Vec<(u64, u32)> = (0..256).map(|number| (number % 4, 100)).collect();
    assert_eq!(full.len(), MOST_GATHERED);
    // The lane is still led, for as long as a pause.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let started = Instant::now();
    assert_eq!(all(&lanes, &by, &full).await, vec![Ok(256); 256]);
    assert_eq!(started.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn a_group_waits_for_the_callers_of_the_one_before_but_not_for_long() {
    let (lanes, by) = (Lanes::expecting(1, Duration::from_secs(6)), Sizes::new());
    let after = async |seconds, calls: &[_]| all_after(seconds, &lanes, &by, calls).await;
    let started = Instant::now();
    assert_eq!(after(0, &[(1, 1), (2, 2), (3, 3)]).await, vec![Ok(3); 3]);
    let (first, last) = futures::join!(after(1, &[(1, 4), (2, 5)]), after(4, &[(3, 6)]));
    assert_eq!((first, last), (vec![Ok(3); 2], vec![Ok(3)]));
    assert_eq!(
        started.elapsed(),
        Duration::from_secs(4),
        "as soon as all are back"
    );
    assert_eq!(after(1, &[(1, 7), (2, 8)]).await, vec![Ok(2); 2]);
    assert_eq!(
        started.elapsed(),
        Duration::from_secs(10),
        "one does not come back"
    );
    assert_eq!(after(0, &[(1, 9)]).await, [Ok(1)]);
    assert_eq!(started.elapsed(), Duration::from_secs(16));
    let lone = Instant::now();
    for number in 10..13 {
        assert_eq!(after(0, &[(1, number)]).await, [Ok(1)]);
    }
    assert_eq!(lone.elapsed(), Duration::ZERO, "who was alone waits for nobody");
}

#[tokio::test(start_paused = true)]
async fn a_group_waits_for_the_callers_that_others_have_answered_but_not_for_long() {
    let (lanes, by) = (Lanes::expecting_others(Duration::from_secs(6)), Sizes::new());
    let after = async |seconds, calls: &[_]| all_after(seconds, &lanes, &by, calls).await;
    let started = Instant::now();
    assert_eq!(
        after(0, &[(1, 1), (2, 2)]).await,
        vec![Ok(2); 2],
        "none is expected"
    );
    assert_eq!(started.elapsed(), Duration::ZERO);

    lanes.expect(1);
    lanes.expect(2);
    let (first, last) = futures::join!(after(1, &[(1, 3), (2, 4)]), after(4, &[(3, 5)]));
    assert_eq!((first, last), (vec![Ok(3); 2], vec![Ok(3)]));
    assert_eq!(
        started.elapsed(),
        Duration::from_secs(4),
        "as soon as all are back"
    );

    lanes.expect(2);
    assert_eq!(after(1, &[(1, 6)]).await, [Ok(1)]);
    assert_eq!(
        started.elapsed(),
        Duration::from_secs(10),
        "one does not come back"
    );

    lanes.expect(1);
    assert_eq!(after(1, &[(1, 7)]).await, [Ok(1)], "a lone one");
    assert_eq!(after(1, &[(2, 8)]).await, [Ok(1)], "somebody else");
    lanes.expect(5);
    assert_eq!(after(7, &[(1, 9)]).await, [Ok(1)], "no longer expected");
    lanes.expect(1);
    assert_eq!(after(1, &[(1, 10)]).await, [Ok(1)], "those five neither");
    assert_eq!(started.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_group_does_not_wait_for_callers_that_were_not_answered() {
    let (lanes, by) = (Lanes::expecting(1, Duration::from_secs(6)), Sizes::new());
    let locked = tokio::spawn({
        let (lanes, by) = (lanes.clone(), by.clone());
        async move { all(&lanes, &by, &[(7, LOCKED), (7, 2)]).await }
    });
    tokio::time::sleep(Duration::from_secs(1)).await;
    let started = Instant::now();
    assert_eq!(all(&lanes, &by, &[(8, 3)]).await, [Ok(1)]);
    assert_eq!(started.elapsed(), Duration::ZERO);
    by.unlocked.add_permits(1);
    assert_eq!(locked.await.unwrap(), [Ok(2), Ok(2)]);
}

#[tokio::test(start_paused = true)]
async fn callers_that_take_turns_in_two_groups_become_one() {
    let (lanes, by) = (Lanes::expecting(1, Duration::from_secs(6)), Sizes::new());
    let caller = async |starts_after: u64| {
        tokio::time::sleep(Duration::from_secs(starts_after)).await;
        let mut groups = Vec::new();
        for _ in 0..4 {
            groups.push(lanes.carry_out(&by, 0, Arc::new(LASTS)).await.unwrap());
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        groups
    };
    let groups = join_all([0, 0, 1, 1, 1].map(caller)).await;
    assert_eq!(groups[..2], vec![[2, 5, 5, 5]; 2]);
    assert_eq!(groups[2..], vec![[5, 5, 5, 3]; 3], "the two have ended before");
}

#[tokio::test]
async fn a_command_that_panics_fails_alone() {
    let (lanes, by) = (Lanes::new(1), Sizes::new());
    let answers = all(&lanes, &by, &[(0, 1), (0, PANICS), (1, 2), (0, 3)]).await;
    assert_eq!((&answers[0], &answers[2], &answers[3]), (&Ok(1), &Ok(1), &Ok(1)));
    assert!(matches!(answers[1], Err(StoreError::Backend(_))), "{answers:?}");
    assert_eq!(all(&lanes, &by, &[(0, 1)]).await, [Ok(1)]);
}

#[tokio::test]
async fn a_command_is_carried_out_even_if_its_caller_is_gone() {
    let (lanes, by) = (Lanes::new(1), Sizes::new());
    let gone = lanes.carry_out(&by, 0, Arc::new(1)).now_or_never();
    assert_eq!(gone, None);
    assert_eq!(all(&lanes, &by, &[(0, 2)]).await, [Ok(2)]);
    assert_eq!(by.done(), [1, 2]);
}

#[tokio::test]
async fn a_key_whose_locks_are_not_had_soon_makes_nobody_else_wait() {
    let (lanes, by) = (Lanes::new(1), Sizes::new());
    let locked = tokio::spawn({
        let (lanes, by) = (lanes.clone(), by.clone());
        async move { all(&lanes, &by, &[(7, LOCKED), (7, 2), (7, 3)]).await }
    });
    // The locked command's lane is apart once this one is answered twice: in its group, or behind it.
    assert_eq!(all(&lanes, &by, &[(8, 4)]).await, [Ok(1)]);
    assert_eq!(all(&lanes, &by, &[(8, 5), (9, 6)]).await, [Ok(2), Ok(2)]);
    assert!(!locked.is_finished());
    by.unlocked.add_permits(1);
    assert_eq!(locked.await.unwrap(), [Ok(3), Ok(3), Ok(3)]);
    assert_eq!(
        by.done(),
        [4, 5, 6, LOCKED, 2, 3],
        "those of a key in their order"
    );
    // The lane apart is gone with its last command.
    assert_eq!(all(&lanes, &by, &[(7, 7), (8, 8)]).await, [Ok(2), Ok(2)]);
}

#[tokio::test]
async fn later_commands_of_a_key_wait_for_one_that_goes_alone() {
    let (lanes, by) = (Lanes::new(1), Sizes::new());
    let answers = all(&lanes, &by, &[(1, 1), (1, APART), (2, 2)]).await;
    assert_eq!(answers, [Ok(3), Ok(1), Ok(3)]);
    assert_eq!(by.done(), [1, 2, APART]);
}

#[tokio::test]
async fn a_key_that_fills_a_group_makes_nobody_else_wait_for_its_further_commands() {
    let (lanes, by) = (Lanes::new(1), Sizes::new());
    let mut calls = vec![(1, 1); 300];
    calls.push((2, 2));
    let answers = all(&lanes, &by, &calls).await;
    assert_eq!(answers.last(), Some(&Ok(1)), "the only one left in its lane");
    assert_eq!(answers[0], Ok(64));
    let place = by.done().iter().position(|one| *one == 2);
    assert!(place.is_some_and(|place| place <= 64), "{place:?}");
}
