//! The rules of `SignInTryStore` (decision E2).

use bidloop_domain::model::{
    EmailKey, FIRST_PAUSE, FREE_TRIES, NetworkOrigin, TRIES_COUNTED, Tries, TrySubject,
};
use bidloop_domain::port::{Prunable, PruneCursor};

use crate::Stores;
use crate::fixture::{at, at_once};

fn address(email: &str) -> TrySubject {
    TrySubject::address(&EmailKey::of(email))
}

fn network(last: u8) -> TrySubject {
    TrySubject::network(NetworkOrigin::of([203, 0, 113, last].into()))
}

/// How many tries are left after one more, or until which second to wait.
async fn try_once(stores: &Stores, subjects: &[TrySubject], second: i64) -> Result<u32, i64> {
    let counted = stores
        .sign_in_tries
        .count_try(subjects, at(second))
        .await
        .unwrap();
    counted
        .map(Tries::left)
        .map_err(|until| until.as_seconds() - at(0).as_seconds())
}

pub async fn tries_are_counted_by_address_and_by_network(stores: Stores) {
    let both = [address("ann@acme.test"), network(1)];
    assert_eq!(try_once(&stores, &both, 0).await, Ok(9));
    assert_eq!(
        try_once(&stores, &[address("bob@acme.test"), network(1)], 0).await,
        Ok(8)
    );
    assert_eq!(
        try_once(&stores, &[address("ann@acme.test"), network(2)], 0).await,
        Ok(8)
    );
    assert_eq!(
        try_once(&stores, &[address("eve@acme.test"), network(3)], 0).await,
        Ok(9)
    );
}

pub async fn a_try_that_has_to_wait_is_not_counted_for_anyone(stores: Stores) {
    for left in (0..10).rev() {
        assert_eq!(try_once(&stores, &[network(1)], 0).await, Ok(left));
    }
    for _ in 0..3 {
        let both = [address("ann@acme.test"), network(1)];
        assert_eq!(try_once(&stores, &both, 59).await, Err(60));
    }
    assert_eq!(
        try_once(&stores, &[address("ann@acme.test"), network(2)], 59).await,
        Ok(9)
    );
    assert_eq!(try_once(&stores, &[network(1)], 60).await, Ok(0));
    assert_eq!(
        try_once(&stores, &[network(1)], 179).await,
        Err(180),
        "the pause is longer"
    );
}

pub async fn a_success_clears_the_address_and_takes_back_the_networks_try(stores: Stores) {
    let both = [address("ann@acme.test"), network(1)];
    for _ in 0..5 {
        try_once(&stores, &both, 0).await.unwrap();
    }
    let tries = &stores.sign_in_tries;
    tries.end_try(&both[..1], &both[1..], at(0)).await.unwrap();
    assert_eq!(try_once(&stores, &both[..1], 0).await, Ok(9));
    assert_eq!(try_once(&stores, &both[1..], 0).await, Ok(5));
    tries
        .end_try(&[], &[address("nobody@acme.test")], at(0))
        .await
        .unwrap();
}

pub async fn failures_are_forgotten_in_time(stores: Stores) {
    for _ in 0..9 {
        try_once(&stores, &[network(1)], 0).await.unwrap();
    }
    let later = i64::try_from(TRIES_COUNTED.as_secs()).unwrap();
    assert_eq!(try_once(&stores, &[network(1)], later).await, Ok(9));
}

pub async fn of_many_tries_at_once_only_the_free_ones_are_counted(stores: Stores) {
    let racing = stores.clone();
    let answers = at_once(24, move |_| {
        let stores = racing.clone();
        async move { try_once(&stores, &[address("ann@acme.test"), network(1)], 0).await }
    })
    .await;
    let counted = answers.iter().filter(|answer| answer.is_ok()).count();
    assert_eq!(counted, usize::try_from(FREE_TRIES).unwrap());
    let pause = i64::try_from(FIRST_PAUSE.as_secs()).unwrap();
    assert!(
        answers
            .iter()
            .filter_map(|answer| answer.err())
            .all(|until| until == pause)
    );
}

pub async fn forgotten_tries_are_pruned_and_others_stay(stores: Stores) {
    try_once(&stores, &[network(1)], 0).await.unwrap();
    try_once(&stores, &[network(2)], 10).await.unwrap();
    let prune = async |second: i64| {
        let retention = &stores.retention;
        let counted = retention
            .count_prunable(Prunable::SignIns, at(second), 10)
            .await
            .unwrap();
        let step = retention
            .prune(Prunable::SignIns, at(second), &PruneCursor::Start, 10)
            .await
            .unwrap();
        assert_eq!(step.removed, counted);
        step.removed
    };
    let later = i64::try_from(TRIES_COUNTED.as_secs()).unwrap();
    assert_eq!(prune(later - 1).await, 0);
    assert_eq!(prune(later).await, 1);
    assert_eq!(try_once(&stores, &[network(2)], 11).await, Ok(8));
}
