//! Changing the own password (decision E2).

use std::time::Duration;

use bidloop_domain::model::InvalidPassword;
use bidloop_domain::use_case::{PeopleError, TryError};
use bidloop_port_contracts::fixture::activities;

use crate::people::{ANN, Console, PASSWORD, network};
use crate::service::Service;

const NEW: &str = "battery staple";

#[tokio::test]
async fn another_password_signs_in_and_other_sessions_end() {
    let console = Console::with_ann().await;
    let (this, other) = (console.signed_in(ANN).await, console.signed_in(ANN).await);
    let changed = console.change_password();
    changed.execute(&this, PASSWORD, NEW, network(1)).await.unwrap();
    assert!(console.lives(&this).await);
    assert!(!console.lives(&other).await);
    let sign_in = console.sign_in();
    assert!(sign_in.execute(ANN, PASSWORD, network(1)).await.is_err());
    sign_in.execute(ANN, NEW, network(1)).await.unwrap();
    let (actor, message, details) = console.recorded("org_one").await;
    assert_eq!(
        (actor.as_str(), message.as_str()),
        (ANN, "ann@acme.test changed the own password.")
    );
    assert!(
        !details.contains("horse") && !details.contains("staple"),
        "{details}"
    );
}

#[tokio::test]
async fn the_present_password_is_asked_for_as_when_signing_in() {
    let console = Console::with_ann().await;
    let (this, other) = (console.signed_in(ANN).await, console.signed_in(ANN).await);
    let change = console.change_password();
    for number in 1..=10 {
        let refused = change.execute(&this, "wrong horse", NEW, network(number)).await;
        assert!(
            matches!(refused, Err(PeopleError::Try(TryError::Wrong { .. }))),
            "{refused:?}"
        );
    }
    let waits = change.execute(&this, PASSWORD, NEW, network(77)).await;
    let retry_after = Duration::from_secs(60);
    assert_eq!(waits, Err(PeopleError::Try(TryError::Wait { retry_after })));
    assert!(console.lives(&other).await, "nothing has changed");
}

#[tokio::test]
async fn a_password_that_cannot_be_set_costs_no_try() {
    let console = Console::with_ann().await;
    let this = console.signed_in(ANN).await;
    let before = console.passwords.checks();
    let refused = console
        .change_password()
        .execute(&this, PASSWORD, "short", network(1))
        .await;
    assert_eq!(refused, Err(PeopleError::Password(InvalidPassword::TooShort)));
    assert_eq!(console.passwords.checks(), before);
}

#[tokio::test]
async fn somebody_who_is_no_member_any_more_changes_nothing() {
    let console = Console::with_ann().await;
    console
        .put(
            "org_one",
            "bob@acme.test",
            bidloop_domain::model::MemberRole::Owner,
            true,
        )
        .await;
    let this = console.signed_in(ANN).await;
    let bob = console.member("org_one", "bob@acme.test").await;
    let ann = crate::people::key(ANN);
    console.members().remove(&bob, &ann).await.unwrap();
    let refused = console
        .change_password()
        .execute(&this, PASSWORD, NEW, network(1))
        .await;
    assert_eq!(refused, Err(PeopleError::Unknown));
}

#[tokio::test]
async fn every_organization_of_the_person_records_it_and_no_other() {
    let console = Console::with_ann().await;
    let this = console.signed_in(ANN).await;
    let change = console.change_password();
    change.execute(&this, PASSWORD, NEW, network(1)).await.unwrap();
    for organization in ["org_one", "org_two"] {
        let (actor, message, _) = console.recorded(organization).await;
        assert_eq!(
            (actor.as_str(), message.as_str()),
            (ANN, "ann@acme.test changed the own password."),
            "{organization}"
        );
    }
    let entries = activities(&console.service.stores, &Service::organization()).await;
    let told: Vec<String> = entries.into_iter().map(|entry| entry.message).collect();
    assert!(
        !told.iter().any(|message| message.contains("password")),
        "{told:?}"
    );
}
