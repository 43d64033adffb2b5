//! The first start (decision E3).

use bidloop_domain::model::{InvalidPassword, SubscriptionStatus};
use bidloop_domain::use_case::{FirstRunError, FirstRunField, FirstRunForm, TryError};

use crate::people::{ANN, Console, PASSWORD, network};

fn form(code: &str) -> FirstRunForm<'_> {
    FirstRunForm {
        code,
        organization: "Umbrella & Co",
        email: ANN,
        name: None,
        password: PASSWORD,
    }
}

#[tokio::test]
async fn the_newest_code_creates_an_owner_who_is_signed_in_and_then_it_is_over() {
    let console = Console::empty().await;
    let first_run = console.first_run();
    assert_eq!(first_run.is_open().await, Ok(true));
    let code = first_run.new_code().await.unwrap().unwrap();
    let typed = code.expose().to_lowercase().replace('-', " ");
    let token = first_run.execute(form(&typed), network(1)).await.unwrap();
    let member = console
        .sessions()
        .current(token.expose())
        .await
        .unwrap()
        .unwrap()
        .member;
    assert!(member.is_owner());
    assert_eq!(member.organization_id().as_str(), "umbrella-co");
    assert_eq!(member.subscription.status, SubscriptionStatus::Active);
    console
        .sign_in()
        .execute(ANN, PASSWORD, network(1))
        .await
        .unwrap();
    assert_eq!(first_run.is_open().await, Ok(false));
    assert_eq!(first_run.new_code().await, Ok(None));
    assert_eq!(
        first_run.execute(form(code.expose()), network(1)).await,
        Err(FirstRunError::Over)
    );
}

#[tokio::test]
async fn a_replaced_code_says_so_and_wrong_ones_are_throttled() {
    let console = Console::empty().await;
    let first_run = console.first_run();
    let old = first_run.new_code().await.unwrap().unwrap();
    let new = first_run.new_code().await.unwrap().unwrap();
    let replaced = first_run.execute(form(old.expose()), network(1)).await;
    assert!(
        matches!(replaced, Err(FirstRunError::CodeReplaced { .. })),
        "{replaced:?}"
    );
    for code in ["AAAA-AAAA", "", "no code"].into_iter().cycle().take(9) {
        let tried = first_run.execute(form(code), network(1)).await;
        assert!(
            matches!(tried, Err(FirstRunError::Try(TryError::Wrong { .. }))),
            "{tried:?}"
        );
    }
    let waiting = first_run.execute(form(new.expose()), network(1)).await;
    assert!(
        matches!(waiting, Err(FirstRunError::Try(TryError::Wait { .. }))),
        "{waiting:?}"
    );
    first_run.execute(form(new.expose()), network(2)).await.unwrap();
}

#[tokio::test]
async fn a_faulty_form_is_told_before_the_code_is_tried() {
    let console = Console::empty().await;
    let first_run = console.first_run();
    let faulty = [
        (
            FirstRunForm {
                password: "short",
                ..form("x")
            },
            FirstRunError::Password(InvalidPassword::TooShort),
        ),
        (
            FirstRunForm {
                organization: " ",
                ..form("x")
            },
            FirstRunError::Name(FirstRunField::Organization),
        ),
        (
            FirstRunForm {
                email: "ann",
                ..form("x")
            },
            FirstRunError::Email(bidloop_domain::model::InvalidEmail),
        ),
    ];
    for (form, fault) in faulty.into_iter().cycle().take(12) {
        assert_eq!(
            first_run.execute(form, network(1)).await.unwrap_err().to_string(),
            fault.to_string()
        );
    }
}

#[tokio::test]
async fn an_organizations_id_that_is_in_use_is_not_taken() {
    let console = Console::empty().await;
    bidloop_port_contracts::fixture::organization("umbrella-co")
        .provision(&console.service.stores)
        .await;
    let first_run = console.first_run();
    let code = first_run.new_code().await.unwrap().unwrap();
    let token = first_run.execute(form(code.expose()), network(1)).await.unwrap();
    let member = console
        .sessions()
        .current(token.expose())
        .await
        .unwrap()
        .unwrap()
        .member;
    assert_eq!(member.organization_id().as_str(), "umbrella-co-2");
}
