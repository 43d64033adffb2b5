//! Making and withdrawing links (decision E2).

use std::sync::Arc;
use std::time::Duration;

use bidloop_domain::model::MemberRole::{Member, Owner};
use bidloop_domain::model::{LinkKind, MemberRole};
use bidloop_domain::port::MailError;
use bidloop_domain::use_case::{Invitations, MAX_OPEN_LINKS, NewInvitation, PeopleError};
use bidloop_fakes::KeepingLinkMailer;

use crate::people::{ANN, Console, key};

const BOB: &str = "bob@acme.test";
const NEW: &str = "New@acme.test";

fn to(email: &str, role: MemberRole) -> NewInvitation<'_> {
    NewInvitation {
        email,
        name: " ",
        role,
    }
}

async fn two() -> Console {
    let console = Console::with_ann().await;
    console.put("org_one", BOB, Member, true).await;
    console
}

#[tokio::test]
async fn an_owner_invites_somebody_for_72_hours_and_the_token_is_stored_nowhere() {
    let console = two().await;
    let ann = console.member("org_one", ANN).await;
    let made = console.invitations().invite(&ann, to(NEW, Owner)).await.unwrap();
    assert_eq!(made.token.expose().len(), 64);
    assert_eq!((made.link.kind, made.link.role), (LinkKind::Invitation, Owner));
    assert_eq!(
        (made.link.person.email.as_str(), made.link.person.name.as_str()),
        (NEW, NEW)
    );
    let lifetime = made.link.expires_at.since(made.link.created_at);
    assert_eq!(lifetime, Duration::from_secs(72 * 60 * 60));
    let listed = console.members().list(ann.organization_id()).await.unwrap();
    assert_eq!(listed.links, std::slice::from_ref(&made.link));
    let (actor, message, details) = console.recorded("org_one").await;
    assert_eq!(
        (actor.as_str(), message.as_str()),
        (ANN, "New@acme.test was invited as an owner.")
    );
    assert!(!details.contains(made.token.expose()), "{details}");
    console.service.clock.advance(Duration::from_secs(72 * 60 * 60));
    let listed = console.members().list(ann.organization_id()).await.unwrap();
    assert_eq!(listed.links, []);
}

#[tokio::test]
async fn a_link_is_mailed_where_a_mailer_is_configured_and_works_whether_or_not_the_mail_goes() {
    let console = two().await;
    let ann = console.member("org_one", ANN).await;
    let unmailed = console.invitations().invite(&ann, to(NEW, Owner)).await.unwrap();
    assert_eq!(unmailed.mailed, None);

    let mailer = Arc::new(KeepingLinkMailer::default());
    let invitations = Invitations {
        mailer: Some(mailer.clone()),
        ..console.invitations()
    };
    let made = invitations.invite(&ann, to(NEW, Owner)).await.unwrap();
    assert_eq!(made.mailed, Some(Ok(())));
    let [mail] = mailer.sent().try_into().unwrap();
    assert_eq!((mail.link, mail.token), (made.link, made.token));
    assert_eq!(
        (mail.organization.as_str(), mail.made_by.as_str()),
        ("Organization org_one", ANN)
    );

    let failure = MailError("the mail server is away".to_owned());
    mailer.fail_with(failure.clone());
    let made = invitations.reset(&ann, &key(BOB)).await.unwrap();
    assert_eq!(made.mailed, Some(Err(failure)));
    let listed = console.members().list(ann.organization_id()).await.unwrap();
    assert!(listed.links.contains(&made.link));
}

#[tokio::test]
async fn only_owners_make_and_withdraw_links() {
    let console = two().await;
    let (ann, bob) = (
        console.member("org_one", ANN).await,
        console.member("org_one", BOB).await,
    );
    let invitations = console.invitations();
    let made = invitations.invite(&ann, to(NEW, Member)).await.unwrap();
    let refused = Some(PeopleError::NotOwner);
    assert_eq!(invitations.invite(&bob, to(NEW, Member)).await.err(), refused);
    assert_eq!(invitations.reset(&bob, &key(ANN)).await.err(), refused);
    assert_eq!(invitations.withdraw(&bob, &made.link.id).await.err(), refused);
    invitations.withdraw(&ann, &made.link.id).await.unwrap();
    assert_eq!(
        console.recorded("org_one").await.1,
        "The invitation of New@acme.test was withdrawn."
    );
    let again = invitations.withdraw(&ann, &made.link.id).await;
    assert_eq!(again, Err(PeopleError::LinkOver));
}

#[tokio::test]
async fn a_faulty_address_or_name_and_a_member_are_not_invited() {
    let console = two().await;
    let ann = console.member("org_one", ANN).await;
    let invitations = console.invitations();
    let refused = async |email: &str, name: &str| {
        let new = NewInvitation {
            email,
            name,
            role: Member,
        };
        invitations.invite(&ann, new).await.unwrap_err()
    };
    assert!(matches!(refused("nobody", "").await, PeopleError::Email(_)));
    assert_eq!(refused(NEW, "a\nb").await, PeopleError::Name);
    assert_eq!(refused(NEW, &"x".repeat(201)).await, PeopleError::Name);
    assert_eq!(refused("BOB@acme.test", "").await, PeopleError::AlreadyMember);
}

#[tokio::test]
async fn a_new_link_for_the_same_person_replaces_the_former_one_and_links_are_bounded() {
    let console = two().await;
    let ann = console.member("org_one", ANN).await;
    let invitations = console.invitations();
    let first = invitations.invite(&ann, to(NEW, Member)).await.unwrap();
    let second = invitations
        .invite(&ann, to("new@ACME.test", Member))
        .await
        .unwrap();
    let use_link = console.use_link();
    assert_eq!(
        use_link.look(first.token.expose()).await,
        Err(PeopleError::LinkOver)
    );
    use_link.look(second.token.expose()).await.unwrap();
    for number in 1..MAX_OPEN_LINKS {
        let email = format!("{number}@acme.test");
        invitations.invite(&ann, to(&email, Member)).await.unwrap();
    }
    let refused = invitations.invite(&ann, to("last@acme.test", Member)).await;
    assert_eq!(refused, Err(PeopleError::TooMany("50 open links")));
    invitations.invite(&ann, to(NEW, Member)).await.unwrap();
    console.service.clock.advance(Duration::from_secs(72 * 60 * 60));
    invitations
        .invite(&ann, to("last@acme.test", Member))
        .await
        .unwrap();
    let links = console
        .service
        .stores
        .people
        .organization_people(ann.organization_id(), &[]);
    assert_eq!(
        links.await.unwrap().unwrap().links.len(),
        1,
        "expired ones are gone"
    );
}

#[tokio::test]
async fn a_reset_is_made_by_an_owner_of_all_the_persons_organizations_and_not_for_oneself() {
    let console = two().await;
    let ann = console.member("org_one", ANN).await;
    let invitations = console.invitations();
    assert_eq!(
        invitations.reset(&ann, &key(ANN)).await.err(),
        Some(PeopleError::OwnReset)
    );
    let unknown = invitations.reset(&ann, &key("eve@acme.test")).await;
    assert_eq!(unknown, Err(PeopleError::Unknown));
    let made = invitations.reset(&ann, &key(BOB)).await.unwrap();
    assert_eq!((made.link.kind, made.link.role), (LinkKind::Reset, Member));
    assert_eq!(
        console.recorded("org_one").await.1,
        "A link to set another password was made for bob@acme.test."
    );
    // Ann is a member of it, and no owner.
    console.put("org_two", BOB, Member, true).await;
    let refused = invitations.reset(&ann, &key(BOB)).await;
    assert_eq!(refused, Err(PeopleError::NotOwnerEverywhere));
}
