//! Signing in (decision E2).

use std::time::Duration;

use bidloop_domain::port::HasherBusy;
use bidloop_domain::use_case::TryError;

use crate::people::{ANN, Console, PASSWORD, network};

const MINUTE: Duration = Duration::from_secs(60);

fn wrong(tries_left: Option<u32>) -> TryError {
    TryError::Wrong {
        tries_left,
        pause: MINUTE,
    }
}

#[tokio::test]
async fn a_person_signs_in_however_the_address_is_written() {
    let console = Console::with_ann().await;
    let token = console
        .sign_in()
        .execute(" Ann@ACME.test ", PASSWORD, network(1))
        .await
        .unwrap();
    let signed_in = console.sessions().current(token.expose()).await.unwrap().unwrap();
    assert_eq!(signed_in.member.person.email, ANN);
}

#[tokio::test]
async fn an_unknown_address_and_a_wrong_password_have_one_answer_and_cost_one_check() {
    let console = Console::with_ann().await;
    for (email, password) in [
        (ANN, "wrong horse"),
        ("eve@acme.test", PASSWORD),
        ("no address", PASSWORD),
        (ANN, &"x".repeat(2_000)),
    ] {
        let before = console.passwords.checks();
        let tried = console.sign_in().execute(email, password, network(1)).await;
        assert_eq!(tried, Err(wrong(None)), "{email}");
        assert_eq!(console.passwords.checks(), before + 1, "{email}");
    }
}

#[tokio::test]
async fn the_last_tries_are_told_then_tries_wait_and_nothing_is_checked() {
    let console = Console::with_ann().await;
    let sign_in = console.sign_in();
    for tried in 1..=10_u8 {
        // From another network each time: the address counts.
        let answer = sign_in.execute(ANN, "wrong horse", network(tried)).await;
        let left = 10 - u32::from(tried);
        assert_eq!(answer, Err(wrong((left <= 3).then_some(left))));
    }
    let checks = console.passwords.checks();
    let waiting = sign_in.execute(ANN, PASSWORD, network(99)).await;
    assert_eq!(waiting, Err(TryError::Wait { retry_after: MINUTE }));
    assert_eq!(console.passwords.checks(), checks);
    console.service.clock.advance(MINUTE);
    sign_in.execute(ANN, PASSWORD, network(99)).await.unwrap();
    assert_eq!(
        sign_in.execute(ANN, "wrong horse", network(99)).await,
        Err(wrong(None))
    );
}

#[tokio::test]
async fn a_network_that_tries_many_addresses_waits_also_after_a_success() {
    let console = Console::with_ann().await;
    let sign_in = console.sign_in();
    for number in 0..9 {
        let email = format!("{number}@acme.test");
        sign_in
            .execute(&email, "wrong horse", network(1))
            .await
            .unwrap_err();
    }
    sign_in.execute(ANN, PASSWORD, network(1)).await.unwrap();
    assert_eq!(
        sign_in.execute("9@acme.test", "wrong horse", network(1)).await,
        Err(wrong(Some(0)))
    );
    let waiting = sign_in.execute(ANN, PASSWORD, network(1)).await;
    assert_eq!(waiting, Err(TryError::Wait { retry_after: MINUTE }));
    sign_in.execute(ANN, PASSWORD, network(2)).await.unwrap();
}

#[tokio::test]
async fn a_try_for_which_the_hasher_is_too_busy_is_not_counted() {
    let console = Console::with_ann().await;
    console.passwords.set_busy(true);
    for _ in 0..12 {
        let tried = console.sign_in().execute(ANN, PASSWORD, network(1)).await;
        assert_eq!(tried, Err(TryError::Busy(HasherBusy)));
    }
    console.passwords.set_busy(false);
    console
        .sign_in()
        .execute(ANN, PASSWORD, network(1))
        .await
        .unwrap();
}
