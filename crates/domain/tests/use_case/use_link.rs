//! Joining an organization, and setting another password, with a link (decision E2).

use std::time::Duration;

use bidloop_domain::model::InvalidPassword;
use bidloop_domain::model::MemberRole::{self, Member, Owner};
use bidloop_domain::use_case::{LinkAsks, LinkForm, NewInvitation, PeopleError, SignedIn, TryError};
use bidloop_port_contracts::fixture::organization_id;

use crate::people::{ANN, Console, PASSWORD, key, network};

const BOB: &str = "bob@acme.test";
const NEW: &str = "new@acme.test";
const CHOSEN: &str = "battery staple";

/// Ann invites somebody to `org_one`; the link's token.
async fn invited(console: &Console, email: &str) -> String {
    let ann = console.member("org_one", ANN).await;
    let new = NewInvitation {
        email,
        name: "Newcomer",
        role: Member,
    };
    let made = console.invitations().invite(&ann, new).await.unwrap();
    made.token.expose().to_owned()
}

/// Ann makes a reset for Bob, who is a member of `org_one`; the link's token.
async fn reset(console: &Console) -> String {
    console.put("org_one", BOB, Member, true).await;
    let ann = console.member("org_one", ANN).await;
    let made = console.invitations().reset(&ann, &key(BOB)).await.unwrap();
    made.token.expose().to_owned()
}

async fn uses(console: &Console, token: &str, password: &str) -> Result<SignedIn, PeopleError> {
    let form = LinkForm { name: "", password };
    let session = console.use_link().execute(token, form, network(1)).await?;
    let current = console.sessions().current(session.expose()).await;
    Ok(current.unwrap().unwrap())
}

async fn role_of(console: &Console, organization: &str, email: &str) -> Option<MemberRole> {
    let id = organization_id(organization);
    let people = console.service.stores.people.organization_people(&id, &[]);
    let people = people.await.unwrap().unwrap();
    people.member(&key(email)).map(|member| member.role)
}

#[tokio::test]
async fn somebody_new_joins_with_a_password_once() {
    let console = Console::with_ann().await;
    let token = invited(&console, NEW).await;
    let opened = console.use_link().look(&token).await.unwrap();
    assert_eq!(opened.asks, LinkAsks::NameAndPassword);
    assert_eq!(
        (opened.organization.as_str(), opened.role),
        ("Organization org_one", Member)
    );
    let short = uses(&console, &token, "short").await;
    assert_eq!(
        short.err(),
        Some(PeopleError::Password(InvalidPassword::TooShort))
    );
    let joined = uses(&console, &token, CHOSEN).await.unwrap();
    assert_eq!(joined.member.person.name, "Newcomer");
    assert_eq!(joined.member.organization_id().as_str(), "org_one");
    assert!(!joined.member.is_owner());
    let (actor, message, details) = console.recorded("org_one").await;
    assert_eq!(
        (actor.as_str(), message.as_str()),
        (NEW, "new@acme.test joined the organization as a member.")
    );
    assert!(
        !details.contains("staple") && !details.contains(&token),
        "{details}"
    );
    assert_eq!(
        uses(&console, &token, CHOSEN).await.err(),
        Some(PeopleError::LinkOver)
    );
    console.sign_in().execute(NEW, CHOSEN, network(1)).await.unwrap();
}

#[tokio::test]
async fn a_link_works_for_72_hours() {
    let console = Console::with_ann().await;
    let token = invited(&console, NEW).await;
    let almost = Duration::from_secs(72 * 60 * 60 - 1);
    console.service.clock.advance(almost);
    console.use_link().look(&token).await.unwrap();
    console.service.clock.advance(Duration::from_secs(1));
    assert_eq!(
        uses(&console, &token, CHOSEN).await.err(),
        Some(PeopleError::LinkOver)
    );
    for none in ["", "0a", &"0a".repeat(32)] {
        assert_eq!(
            uses(&console, none, CHOSEN).await.err(),
            Some(PeopleError::LinkOver)
        );
    }
}

#[tokio::test]
async fn a_person_of_the_installation_joins_with_the_present_password_throttled() {
    let console = Console::with_ann().await;
    console.put("org_two", BOB, Owner, true).await;
    let token = invited(&console, BOB).await;
    let opened = console.use_link().look(&token).await.unwrap();
    assert_eq!(opened.asks, LinkAsks::PresentPassword);
    let wrong = uses(&console, &token, CHOSEN).await;
    assert!(
        matches!(wrong, Err(PeopleError::Try(TryError::Wrong { .. }))),
        "{wrong:?}"
    );
    assert_eq!(role_of(&console, "org_one", BOB).await, None);
    let joined = uses(&console, &token, PASSWORD).await.unwrap();
    assert_eq!(joined.member.organization_id().as_str(), "org_one");
    assert_eq!(joined.memberships.len(), 2);
    assert_eq!(role_of(&console, "org_two", BOB).await, Some(Owner));
}

#[tokio::test]
async fn tries_of_a_persons_password_wait_as_when_signing_in() {
    let console = Console::with_ann().await;
    console.put("org_two", BOB, Owner, true).await;
    let token = invited(&console, BOB).await;
    for number in 1..=10 {
        let form = LinkForm {
            name: "",
            password: "wrong horse",
        };
        let tried = console.use_link().execute(&token, form, network(number)).await;
        assert!(
            matches!(tried, Err(PeopleError::Try(TryError::Wrong { .. }))),
            "{tried:?}"
        );
    }
    let waits = uses(&console, &token, PASSWORD).await;
    assert!(
        matches!(waits, Err(PeopleError::Try(TryError::Wait { .. }))),
        "{waits:?}"
    );
    let signs_in = console.sign_in().execute(BOB, PASSWORD, network(77)).await;
    assert!(matches!(signs_in, Err(TryError::Wait { .. })), "{signs_in:?}");
}

#[tokio::test]
async fn an_invitation_sets_nobodys_password() {
    let console = Console::with_ann().await;
    console.put("org_two", BOB, Member, false).await;
    let token = invited(&console, BOB).await;
    assert_eq!(
        console.use_link().look(&token).await.err(),
        Some(PeopleError::NeedsReset)
    );
    assert_eq!(
        uses(&console, &token, CHOSEN).await.err(),
        Some(PeopleError::NeedsReset)
    );
    let tried = console.sign_in().execute(BOB, CHOSEN, network(1)).await;
    assert!(matches!(tried, Err(TryError::Wrong { .. })));
    assert_eq!(role_of(&console, "org_one", BOB).await, None);
}

#[tokio::test]
async fn an_invitation_works_only_while_its_maker_is_an_owner() {
    let console = Console::with_ann().await;
    let token = invited(&console, NEW).await;
    console.put("org_one", BOB, Owner, true).await;
    console.use_link().look(&token).await.unwrap();
    console.put("org_one", ANN, Member, true).await;
    assert_eq!(
        uses(&console, &token, CHOSEN).await.err(),
        Some(PeopleError::LinkOver)
    );
}

#[tokio::test]
async fn a_reset_sets_the_password_and_ends_the_persons_sessions() {
    let console = Console::with_ann().await;
    let token = reset(&console).await;
    let before = console.signed_in(BOB).await;
    let opened = console.use_link().look(&token).await.unwrap();
    assert_eq!(opened.asks, LinkAsks::NewPassword);
    let after = uses(&console, &token, CHOSEN).await.unwrap();
    assert_eq!(after.member.person.email, BOB);
    assert!(!console.lives(&before).await);
    console.sign_in().execute(BOB, CHOSEN, network(1)).await.unwrap();
    assert_eq!(
        console.recorded("org_one").await.1,
        "bob@acme.test set another password with a link."
    );
    assert_eq!(
        uses(&console, &token, PASSWORD).await.err(),
        Some(PeopleError::LinkOver)
    );
}

#[tokio::test]
async fn a_reset_works_only_while_its_maker_owns_all_the_persons_organizations() {
    let console = Console::with_ann().await;
    let token = reset(&console).await;
    console.put("org_two", BOB, Member, true).await;
    assert_eq!(
        uses(&console, &token, CHOSEN).await.err(),
        Some(PeopleError::LinkOver)
    );
    console.put("org_two", ANN, Owner, true).await;
    uses(&console, &token, CHOSEN).await.unwrap();
}

#[tokio::test]
async fn a_change_of_the_own_password_withdraws_a_reset() {
    let console = Console::with_ann().await;
    let token = reset(&console).await;
    let bob = console.signed_in(BOB).await;
    let change = console.change_password();
    change
        .execute(&bob, PASSWORD, "another battery", network(1))
        .await
        .unwrap();
    assert_eq!(
        uses(&console, &token, CHOSEN).await.err(),
        Some(PeopleError::LinkOver)
    );
}
