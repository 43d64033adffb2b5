//! The rules of people and memberships that provisioning and the console share (decision E1).

use bidloop_domain::model::{EmailKey, MemberRole, Person};
use bidloop_domain::port::{ProvisioningChange, StoredPerson, UserRecord};

use crate::Stores;
use crate::fixture::{at, commit, organization, organization_id, password_hash, session, user};

const ANN: &str = "ann@acme.test";

/// The person with the fixture's name and password.
fn stored(email: &str) -> StoredPerson {
    let user = user(email, MemberRole::Owner);
    StoredPerson {
        person: Person {
            key: EmailKey::of(email),
            email: user.email,
            name: user.name,
        },
        password_hash: user.password_hash,
    }
}

async fn person(stores: &Stores, email: &str) -> Option<StoredPerson> {
    stores.people.person(&EmailKey::of(email)).await.unwrap()
}

/// Ann in two organizations.
async fn in_two(stores: &Stores) {
    for id in ["org_a", "org_b"] {
        organization(id)
            .user(ANN, MemberRole::Owner)
            .provision(stores)
            .await;
    }
}

pub async fn a_person_is_found_however_the_address_is_written(stores: Stores) {
    organization("org_a")
        .user("Strasse@acme.test", MemberRole::Member)
        .provision(&stores)
        .await;
    let mut expected = stored("Strasse@acme.test");
    expected.person.key = EmailKey::of("straße@ACME.test");
    assert_eq!(person(&stores, "STRASSE@acme.test").await, Some(expected));
    assert_eq!(person(&stores, "gasse@acme.test").await, None);
}

pub async fn a_person_is_the_same_in_every_organization(stores: Stores) {
    in_two(&stores).await;
    let changed = UserRecord {
        name: "Ann Other".to_owned(),
        password_hash: Some(password_hash("another")),
        ..user(ANN, MemberRole::Member)
    };
    commit(
        &stores,
        &[ProvisioningChange::PutUser(organization_id("org_b"), changed)],
    )
    .await;
    let snapshot = stores
        .provisioning
        .snapshot(&[organization_id("org_a"), organization_id("org_b")], &[])
        .await
        .unwrap();
    let users: Vec<_> = snapshot
        .organizations
        .iter()
        .flat_map(|organization| &organization.users)
        .collect();
    assert_eq!(users.len(), 2);
    for (user, role) in users.into_iter().zip([MemberRole::Owner, MemberRole::Member]) {
        assert_eq!((user.name.as_str(), user.role), ("Ann Other", role));
        assert_eq!(user.password_hash, Some(password_hash("another")));
    }
}

pub async fn only_the_asked_people_are_found(stores: Stores) {
    organization("org_a")
        .user(ANN, MemberRole::Owner)
        .user("bob@acme.test", MemberRole::Member)
        .provision(&stores)
        .await;
    let asked = [EmailKey::of("ANN@acme.test"), EmailKey::of("eve@acme.test")];
    assert_eq!(stores.provisioning.people(&asked).await, Ok(vec![stored(ANN)]));
}

pub async fn a_person_without_a_membership_is_removed(stores: Stores) {
    in_two(&stores).await;
    let remove = |id: &str| ProvisioningChange::RemoveUser(organization_id(id), ANN.to_owned());
    commit(&stores, &[remove("org_a")]).await;
    assert_eq!(person(&stores, ANN).await, Some(stored(ANN)));
    commit(&stores, &[remove("org_b")]).await;
    assert_eq!(person(&stores, ANN).await, None);
}

pub async fn a_removed_organizations_people_go_unless_they_are_elsewhere(stores: Stores) {
    in_two(&stores).await;
    let bob = ProvisioningChange::PutUser(
        organization_id("org_a"),
        user("bob@acme.test", MemberRole::Member),
    );
    let remove = ProvisioningChange::RemoveOrganization(organization_id("org_a"));
    commit(&stores, &[bob]).await;
    commit(&stores, &[remove]).await;
    assert_eq!(person(&stores, ANN).await, Some(stored(ANN)));
    assert_eq!(person(&stores, "bob@acme.test").await, None);
}

pub async fn another_password_by_provisioning_ends_the_persons_sessions(stores: Stores) {
    in_two(&stores).await;
    organization("org_c")
        .user("bob@acme.test", MemberRole::Owner)
        .provision(&stores)
        .await;
    for (email, number) in [(ANN, 1), ("bob@acme.test", 2)] {
        let (new, password) = (session(email, number, at(0)), password_hash(email));
        let opened = stores.sessions.open_session(&new, &password).await;
        assert_eq!(opened, Ok(true));
    }
    let put = |hash: &str| {
        let changed = UserRecord {
            password_hash: Some(password_hash(hash)),
            ..user(ANN, MemberRole::Owner)
        };
        ProvisioningChange::PutUser(organization_id("org_b"), changed)
    };
    commit(&stores, &[put(ANN)]).await;
    let found = async |number: u8| {
        let hash = session(ANN, number, at(0)).hash;
        stores.sessions.session(&hash).await.unwrap().is_some()
    };
    assert!(found(1).await, "nothing has changed");
    commit(&stores, &[put("another")]).await;
    assert_eq!((found(1).await, found(2).await), (false, true));
}
