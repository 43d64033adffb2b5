//! Reading a second time beside a read that hangs.
//!
//! A read that the marketplace had received when it went away may hang until its time limit, long after the marketplace is
//! back. Giving it up early would never get an answer from a marketplace that is slow. So it goes on, and beside it the
//! same is read again, in vain as long as the marketplace is away: at most two reads at a time.

use std::pin::pin;
use std::time::Duration;

use bidloop_domain::port::MarketplaceError;
use tokio::time::{Instant, sleep_until, timeout, timeout_at};

/// The answer to `read`, or to another one that begins each time when `hanging_after` has passed without an answer.
pub(crate) async fn read_beside_a_hanging_read<T, F>(
    read: impl Fn() -> F,
    hanging_after: Duration,
) -> Result<T, MarketplaceError>
where
    F: Future<Output = Result<T, MarketplaceError>>,
{
    let mut first = pin!(read());
    if let Ok(answer) = timeout(hanging_after, &mut first).await {
        return answer;
    }
    loop {
        let until = Instant::now() + hanging_after;
        let again = async {
            match timeout_at(until, read()).await {
                Err(_) | Ok(Err(MarketplaceError::NoAnswer(_) | MarketplaceError::Unreachable(_))) => {
                    sleep_until(until).await;
                    None
                }
                Ok(answer) => Some(answer),
            }
        };
        tokio::select! {
            answer = &mut first => return answer,
            answer = again => if let Some(answer) = answer {
                return answer;
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::time::Duration;

    use tokio::time::sleep;

    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// When reads begin, and how the first and the others end: after so many seconds, with an answer or none.
    async fn begun(
        first: (u64, bool),
        others: (u64, bool),
    ) -> (Vec<u64>, Result<u64, MarketplaceError>, u64) {
        let (start, begun) = (Instant::now(), RefCell::new(Vec::new()));
        let read = || {
            let number = begun.borrow().len() as u64;
            begun.borrow_mut().push(start.elapsed().as_secs());
            let (seconds, answers) = if number == 0 { first } else { others };
            async move {
                let answer = async {
                    sleep(Duration::from_secs(seconds)).await;
                    answers.then_some(number)
                };
                let no_answer = || MarketplaceError::NoAnswer("none".to_owned());
                timeout(LIMIT, answer).await.ok().flatten().ok_or_else(no_answer)
            }
        };
        let answer = read_beside_a_hanging_read(read, Duration::from_secs(4)).await;
        (begun.take(), answer, start.elapsed().as_secs())
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_is_answered_in_time_is_made_once() {
        assert_eq!(begun((3, true), (0, true)).await, (vec![0], Ok(0), 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_beside_a_hanging_one_answers_for_it() {
        assert_eq!(begun((100, true), (1, true)).await, (vec![0, 4], Ok(1), 5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_read_is_waited_for() {
        assert_eq!(begun((9, true), (9, true)).await, (vec![0, 4, 8], Ok(0), 9));
    }

    #[tokio::test(start_paused = true)]
    async fn reads_without_an_answer_begin_every_four_seconds_until_the_first_ends() {
        for others in [(100, true), (0, false)] {
            let (begun, answer, seconds) = begun((100, true), others).await;
            assert_eq!((begun, seconds), (vec![0, 4, 8], 10));
            assert!(answer.is_err());
        }
    }
}
