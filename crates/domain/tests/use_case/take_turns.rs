//! Take turns: one process reads the feed at a time.

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::port::{Clock, LeaseOwner};
use bidloop_domain::use_case::TakeTurns;
use bidloop_fakes::{MemoryStore, SimulatedClock};
use bidloop_port_contracts::fixture::at;

/// Decision D4: reading resumes within this time.
const RESUMES_WITHIN: Duration = Duration::from_secs(5);

struct Processes {
    clock: Arc<SimulatedClock>,
    first: TakeTurns,
    second: TakeTurns,
}

fn processes() -> Processes {
    let clock = Arc::new(SimulatedClock::at(at(0)));
    let store = Arc::new(MemoryStore::new());
    let process = |name: &str| TakeTurns {
        store: store.clone(),
        clock: Arc::clone(&clock) as Arc<dyn Clock>,
        owner: LeaseOwner::new(name),
    };
    Processes {
        first: process("first"),
        second: process("second"),
        clock,
    }
}

#[tokio::test]
async fn the_others_stand_by_as_long_as_the_reader_asks_in_time() {
    let Processes { clock, first, second } = processes();
    for _ in 0..100 {
        let turn = first.ask().await.unwrap();
        assert!(turn.reads);
        assert!(!second.ask().await.unwrap().reads);
        // Once in a while an answer takes long.
        clock.advance(turn.ask_after * 2);
        assert!(!second.ask().await.unwrap().reads);
    }
}

#[tokio::test]
async fn another_takes_over_within_five_seconds_of_the_readers_death() {
    let Processes { clock, first, second } = processes();
    assert!(first.ask().await.unwrap().reads);
    let death = clock.now();
    loop {
        let turn = second.ask().await.unwrap();
        if turn.reads {
            break;
        }
        clock.advance(turn.ask_after);
    }
    assert!(clock.now().since(death) < RESUMES_WITHIN);
    // It was only slow.
    assert!(!first.ask().await.unwrap().reads);
}

#[tokio::test]
async fn another_takes_over_at_once_when_the_reader_ends_its_turn() {
    let Processes { first, second, .. } = processes();
    assert!(first.ask().await.unwrap().reads);
    second.end().await.unwrap();
    assert!(!second.ask().await.unwrap().reads, "the turn was not its own");
    first.end().await.unwrap();
    assert!(second.ask().await.unwrap().reads);
}
