//! Commands that are carried out together: what arrives while one group is carried out forms the next one.
//!
//! Nothing waits for a group to fill, so a lone command waits for nobody. A group shares one commit.

use std::collections::VecDeque;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bidloop_domain::port::StoreError;
use futures::FutureExt as _;
use tokio::sync::oneshot;

/// The most commands of a group: they hold their locks together.
const MOST: usize = 64;

/// What commands of one kind wait in. Those of one lane are carried out one group after the other, those of different lanes
/// at the same time.
pub(crate) struct Lanes<C, A>(Arc<[Lane<C, A>]>);

type Answer<A> = oneshot::Sender<Result<A, StoreError>>;

struct Lane<C, A>(Mutex<Waiting<C, A>>);

struct Waiting<C, A> {
    commands: VecDeque<(C, Answer<A>)>,
    /// Whether a task carries out this lane's commands.
    is_led: bool,
}

impl<C, A> Clone for Lanes<C, A> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<C: Send + 'static, A: Send + 'static> Lanes<C, A> {
    pub(crate) fn new(count: usize) -> Self {
        let lane = |_| {
            Lane(Mutex::new(Waiting {
                commands: VecDeque::new(),
                is_led: false,
            }))
        };
        Self((0..count.max(1)).map(lane).collect())
    }

    /// Carries out the command with those that wait in its lane. It is carried out whether or not the caller still waits.
    /// `together` answers a group's commands in their order.
    pub(crate) async fn carry_out<F>(
        &self,
        lane: u64,
        command: C,
        together: impl Fn(Vec<C>) -> F + Send + Sync + 'static,
    ) -> Result<A, StoreError>
    where
        F: Future<Output = Vec<Result<A, StoreError>>> + Send,
    {
        let (answer, answered) = oneshot::channel();
        let number = usize::try_from(lane % self.0.len() as u64).unwrap_or(0);
        let is_led = {
            let mut waiting = self.0[number].locked();
            waiting.commands.push_back((command, answer));
            std::mem::replace(&mut waiting.is_led, true)
        };
        if !is_led {
            let lanes = self.clone();
            tokio::spawn(async move { lanes.0[number].lead(together).await });
        }
        let cut_short = |_| Err(StoreError::Backend("a command was cut short".to_owned()));
        answered.await.unwrap_or_else(cut_short)
    }
}

impl<C, A> Lane<C, A> {
    fn locked(&self) -> MutexGuard<'_, Waiting<C, A>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out groups until no command waits.
    async fn lead<F>(&self, together: impl Fn(Vec<C>) -> F)
    where
        F: Future<Output = Vec<Result<A, StoreError>>>,
    {
        while let Some((commands, callers)) = self.next_group() {
            // A panic costs its group, not the lane.
            let answers = AssertUnwindSafe(async { together(commands).await })
                .catch_unwind()
                .await;
            for (caller, answer) in callers.into_iter().zip(answers.unwrap_or_default()) {
                // The caller may be gone; what was done is done.
                let _ = caller.send(answer);
            }
        }
    }

    /// `None` if no command waits: the next one that comes is led anew.
    fn next_group(&self) -> Option<(Vec<C>, Vec<Answer<A>>)> {
        let mut waiting = self.locked();
        let count = waiting.commands.len().min(MOST);
        waiting.is_led = count > 0;
        (count > 0).then(|| waiting.commands.drain(..count).unzip())
    }
}

#[cfg(test)]
mod tests {
    use futures::future::join_all;

    use super::*;

    /// Answers each command with the size of its group.
    async fn sizes(group: Vec<u32>) -> Vec<Result<usize, StoreError>> {
        assert!(!group.contains(&13), "an unlucky command");
        vec![Ok(group.len()); group.len()]
    }

    #[tokio::test]
    async fn what_arrives_at_the_same_time_is_carried_out_together_in_groups_of_a_bounded_size() {
        let lanes = Lanes::new(2);
        let asked = (0..70).map(|command| lanes.carry_out(u64::from(command % 2) * 2, command + 100, sizes));
        let answers = join_all(asked).await;
        assert_eq!(answers[..64], vec![Ok(64); 64]);
        assert_eq!(answers[64..], vec![Ok(6); 6]);
        assert_eq!(
            lanes.carry_out(1, 1, sizes).await,
            Ok(1),
            "a lone one waits for nobody"
        );
    }

    #[tokio::test]
    async fn a_panic_costs_its_group_and_not_the_lane() {
        let lanes = Lanes::new(1);
        let answers = join_all([lanes.carry_out(0, 13, sizes), lanes.carry_out(0, 1, sizes)]).await;
        assert!(
            answers
                .iter()
                .all(|answer| matches!(answer, Err(StoreError::Backend(_))))
        );
        assert_eq!(lanes.carry_out(0, 1, sizes).await, Ok(1));
    }

    #[tokio::test]
    async fn a_command_is_carried_out_even_if_its_caller_is_gone() {
        let lanes = Lanes::new(1);
        let carried_out = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&carried_out);
        let noting = move |group: Vec<u32>| {
            noted.lock().unwrap().extend(group.iter().copied());
            let answers: Vec<Result<(), StoreError>> = vec![Ok(()); group.len()];
            async move { answers }
        };
        assert_eq!(lanes.carry_out(0, 1, noting.clone()).now_or_never(), None);
        assert_eq!(lanes.carry_out(0, 2, noting).await, Ok(()));
        assert_eq!(*carried_out.lock().unwrap(), [1, 2]);
    }
}
