//! Sessions of signed-in people (decision E2).

use std::time::Duration;

use bidloop_domain::model::{Authorization, OrganizationId};
use bidloop_domain::use_case::SignedIn;

use crate::people::{ANN, Console, PASSWORD, network};

async fn sign_in(console: &Console) -> String {
    let token = console
        .sign_in()
        .execute(ANN, PASSWORD, network(1))
        .await
        .unwrap();
    token.expose().to_owned()
}

async fn current(console: &Console, token: &str) -> Option<SignedIn> {
    console.sessions().current(token).await.unwrap()
}

#[tokio::test]
async fn a_session_is_its_persons_until_it_is_signed_out() {
    let console = Console::with_ann().await;
    let token = sign_in(&console).await;
    let signed_in = current(&console, &token).await.unwrap();
    assert!(signed_in.csrf.matches(signed_in.csrf.expose()));
    assert_eq!(signed_in.memberships.len(), 2);
    let requester = signed_in.requester();
    assert_eq!(requester.organization_id.as_str(), "org_one");
    assert_eq!(
        requester.authorization,
        Authorization::Session(signed_in.session.clone())
    );
    assert_eq!(requester.actor.name.as_deref(), Some(ANN));
    for other in ["", "0A", &"0a".repeat(32)] {
        assert!(current(&console, other).await.is_none(), "{other}");
    }
    console.sessions().sign_out(&signed_in).await.unwrap();
    assert!(current(&console, &token).await.is_none());
}

#[tokio::test]
async fn a_session_in_use_ends_after_30_days_and_an_unused_one_after_12_hours() {
    let console = Console::with_ann().await;
    let (used, unused) = (sign_in(&console).await, sign_in(&console).await);
    let open_page = console.sessions();
    let hours = |count: u64| Duration::from_secs(count * 60 * 60);
    console.service.clock.advance(hours(11));
    assert!(current(&console, &used).await.is_some());
    // What an open page asks for by itself is no use.
    let asked = open_page.current_of_open_page(&unused).await.unwrap();
    assert!(asked.is_some());
    console.service.clock.advance(hours(1));
    assert!(current(&console, &unused).await.is_none());
    assert!(current(&console, &used).await.is_some());
    let (mut lived, most) = (hours(12), hours(30 * 24));
    while lived + hours(11) < most {
        console.service.clock.advance(hours(11));
        lived += hours(11);
        assert!(current(&console, &used).await.is_some());
    }
    console.service.clock.advance(most.saturating_sub(lived));
    assert!(current(&console, &used).await.is_none());
}

#[tokio::test]
async fn a_person_switches_between_own_organizations_alone() {
    let console = Console::with_ann().await;
    let token = sign_in(&console).await;
    let signed_in = current(&console, &token).await.unwrap();
    let to = |id: &str| OrganizationId::parse(id).unwrap();
    assert_eq!(
        console.sessions().switch(&signed_in, &to("org_two")).await,
        Ok(true)
    );
    let current_now = current(&console, &token).await.unwrap();
    // A page of the former organization changes nothing in the new one.
    assert!(!current_now.csrf.matches(signed_in.csrf.expose()));
    let shown = current_now.member;
    assert_eq!(
        (shown.organization_id().as_str(), shown.is_owner()),
        ("org_two", false)
    );
    // The tests' own organization, of which Ann is no member.
    assert_eq!(
        console.sessions().switch(&signed_in, &to("org_acme")).await,
        Ok(false)
    );
}
