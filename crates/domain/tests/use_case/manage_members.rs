//! Members and their roles (decision E1).

use bidloop_domain::model::MemberRole::{self, Member, Owner};
use bidloop_domain::use_case::{NewInvitation, PeopleError};
use bidloop_port_contracts::fixture::organization_id;

use crate::people::{ANN, Console, key};

const BOB: &str = "bob@acme.test";

/// Ann owns `org_one`, Bob is a member of it.
async fn two() -> Console {
    let console = Console::with_ann().await;
    console.put("org_one", BOB, Member, true).await;
    console
}

async fn roles(console: &Console) -> Vec<(String, MemberRole)> {
    let listed = console.members().list(&organization_id("org_one")).await.unwrap();
    let members = listed.members.into_iter();
    members.map(|one| (one.person.email, one.role)).collect()
}

#[tokio::test]
async fn members_are_listed_with_owners_first_and_when_they_were_seen() {
    let console = two().await;
    console.put("org_one", "zoe@acme.test", Owner, false).await;
    let bob = console.member("org_one", BOB).await;
    let listed = console.members().list(bob.organization_id()).await.unwrap();
    let emails: Vec<_> = listed
        .members
        .iter()
        .map(|one| one.person.email.as_str())
        .collect();
    assert_eq!(emails, [ANN, "zoe@acme.test", BOB]);
    assert!(listed.members[2].last_seen_at.is_some());
    assert!(!listed.members[1].has_password);
}

#[tokio::test]
async fn an_owner_changes_a_role_which_ends_the_persons_sessions_there() {
    let console = two().await;
    let (ann, bob) = (console.member("org_one", ANN).await, console.signed_in(BOB).await);
    let members = console.members();
    members.set_role(&ann, &key(BOB), Owner).await.unwrap();
    assert!(!console.lives(&bob).await);
    assert_eq!(
        roles(&console).await,
        [(ANN.to_owned(), Owner), (BOB.to_owned(), Owner)]
    );
    let (actor, message, details) = console.recorded("org_one").await;
    assert_eq!(
        (actor.as_str(), message.as_str()),
        (ANN, "bob@acme.test is an owner now.")
    );
    assert_eq!(
        details,
        r#"{"changes":[{"field":"role","id":"bob@acme.test","new":"owner","old":"member","type":"user"}]}"#
    );
    let again = console.signed_in(BOB).await;
    members.set_role(&ann, &key(BOB), Owner).await.unwrap();
    assert!(console.lives(&again).await, "nothing has changed");
}

#[tokio::test]
async fn a_member_changes_nobody_and_an_owner_of_another_organization_neither() {
    let console = two().await;
    let members = console.members();
    let bob = console.member("org_one", BOB).await;
    // Ann is an owner elsewhere.
    console.put("org_two", BOB, Owner, true).await;
    let ann = console.member("org_two", ANN).await;
    for (who, whom) in [(&bob, ANN), (&bob, BOB), (&ann, BOB)] {
        let refused = members.set_role(who, &key(whom), Owner).await;
        assert_eq!(refused, Err(PeopleError::NotOwner));
        assert_eq!(members.remove(who, &key(whom)).await, Err(PeopleError::NotOwner));
    }
    let owner = console.member("org_one", ANN).await;
    let unknown = members.remove(&owner, &key("eve@acme.test")).await;
    assert_eq!(unknown, Err(PeopleError::Unknown));
}

#[tokio::test]
async fn whoever_was_an_owner_when_the_page_was_loaded_is_asked_again() {
    let console = two().await;
    let members = console.members();
    let ann = console.member("org_one", ANN).await;
    members.set_role(&ann, &key(BOB), Owner).await.unwrap();
    let bob = console.member("org_one", BOB).await;
    members.set_role(&bob, &key(ANN), Member).await.unwrap();
    assert!(ann.is_owner(), "as it was read");
    let refused = members.remove(&ann, &key(BOB)).await;
    assert_eq!(refused, Err(PeopleError::NotOwner));
}

#[tokio::test]
async fn a_member_is_removed_and_the_session_ends() {
    let console = two().await;
    let (ann, bob) = (console.member("org_one", ANN).await, console.signed_in(BOB).await);
    console.members().remove(&ann, &key(BOB)).await.unwrap();
    assert!(!console.lives(&bob).await);
    assert_eq!(roles(&console).await, [(ANN.to_owned(), Owner)]);
    let (_, message, _) = console.recorded("org_one").await;
    assert_eq!(message, "bob@acme.test was removed from the organization.");
}

#[tokio::test]
async fn the_last_owner_neither_leaves_nor_is_removed_nor_demoted() {
    let console = two().await;
    let members = console.members();
    let ann = console.member("org_one", ANN).await;
    let last = Err(PeopleError::LastOwner);
    assert_eq!(members.leave(&ann).await, last);
    assert_eq!(members.remove(&ann, &key(ANN)).await, last);
    assert_eq!(members.set_role(&ann, &key(ANN), Member).await, last);
    let listed = members.list(ann.organization_id()).await.unwrap();
    assert!(listed.is_last_owner(&key(ANN)) && !listed.is_last_owner(&key(BOB)));
    members.set_role(&ann, &key(BOB), Owner).await.unwrap();
    members.leave(&ann).await.unwrap();
    assert_eq!(roles(&console).await, [(BOB.to_owned(), Owner)]);
    assert_eq!(
        console.recorded("org_one").await.1,
        "ann@acme.test left the organization."
    );
}

#[tokio::test]
async fn a_member_leaves_without_an_owner() {
    let console = two().await;
    let bob = console.member("org_one", BOB).await;
    console.members().leave(&bob).await.unwrap();
    assert_eq!(roles(&console).await, [(ANN.to_owned(), Owner)]);
    assert_eq!(console.members().leave(&bob).await, Err(PeopleError::Unknown));
}

#[tokio::test]
async fn the_links_of_somebody_who_is_no_owner_any_more_do_not_revive() {
    let console = two().await;
    console.put("org_one", BOB, Owner, true).await;
    let (ann, bob) = (
        console.member("org_one", ANN).await,
        console.member("org_one", BOB).await,
    );
    let new = NewInvitation {
        email: "new@acme.test",
        name: "",
        role: Member,
    };
    let made = console.invitations().invite(&bob, new).await.unwrap();
    let members = console.members();
    for role in [Member, Owner] {
        members.set_role(&ann, &key(BOB), role).await.unwrap();
    }
    let looked = console.use_link().look(made.token.expose()).await;
    assert_eq!(looked, Err(PeopleError::LinkOver));
    assert_eq!(members.list(ann.organization_id()).await.unwrap().links, []);
}
