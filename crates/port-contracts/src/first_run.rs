//! The rules of `FirstRunStore` (decision E3).

use bidloop_domain::model::{
    ActivityKind, EmailKey, FirstRunCode, FirstRunCodeHash, MemberRole, OrganizationId, Person,
};
use bidloop_domain::port::{
    CreateFirst, FIRST_RUN_CODES, FirstOrganization, FirstRunCodeState, ProvisioningChange,
};

use crate::Stores;
use crate::fixture::{
    activities, activity, at, at_once, commit, how_many, organization, organization_id, password_hash,
    revision, session,
};

const ANN: &str = "ann@acme.test";

fn code(number: u8) -> FirstRunCodeHash {
    FirstRunCode::from_random([number; 5]).hash()
}

fn first(id: &str, number: u8) -> FirstOrganization {
    let id: OrganizationId = organization_id(id);
    FirstOrganization {
        code: code(number),
        name: "Acme".to_owned(),
        subscription: organization("org_a").0.subscription,
        owner: Person {
            key: EmailKey::of(ANN),
            email: ANN.to_owned(),
            name: "Ann".to_owned(),
        },
        password_hash: password_hash(ANN),
        session: session(ANN, number, at(5)),
        activity: activity(&id, ActivityKind::Change, "accepted", at(5)),
        id,
    }
}

async fn put(stores: &Stores, number: u8, second: i64) -> bool {
    stores
        .first_run
        .put_first_run_code(&code(number), at(second))
        .await
        .unwrap()
}

async fn state(stores: &Stores, number: u8) -> FirstRunCodeState {
    stores.first_run.first_run_code(&code(number)).await.unwrap()
}

pub async fn a_newer_code_replaces_the_former_one(stores: Stores) {
    assert_eq!(stores.first_run.has_no_people().await, Ok(true));
    assert_eq!(state(&stores, 1).await, FirstRunCodeState::Unknown);
    assert!(put(&stores, 1, 0).await);
    assert_eq!(state(&stores, 1).await, FirstRunCodeState::Current);
    assert!(put(&stores, 2, 7).await);
    assert_eq!(state(&stores, 1).await, FirstRunCodeState::Replaced(at(7)));
    assert_eq!(state(&stores, 2).await, FirstRunCodeState::Current);
}

pub async fn only_the_last_codes_are_remembered(stores: Stores) {
    let most = u8::try_from(FIRST_RUN_CODES).unwrap();
    for number in 0..=most {
        put(&stores, number, i64::from(number)).await;
    }
    assert_eq!(state(&stores, 0).await, FirstRunCodeState::Unknown);
    assert_eq!(state(&stores, 1).await, FirstRunCodeState::Replaced(at(2)));
    assert_eq!(state(&stores, most).await, FirstRunCodeState::Current);
}

pub async fn the_first_organization_has_its_owner_a_session_and_a_record(stores: Stores) {
    put(&stores, 1, 0).await;
    let (first, before) = (first("acme", 1), revision(&stores).await);
    assert_eq!(
        stores.first_run.create_first(&first).await,
        Ok(CreateFirst::Created)
    );
    assert_eq!(stores.first_run.has_no_people().await, Ok(false));
    assert!(
        revision(&stores).await.0 > before.0,
        "processes hear of the organization"
    );
    let snapshot = stores
        .provisioning
        .snapshot(std::slice::from_ref(&first.id), &[])
        .await
        .unwrap();
    let created = &snapshot.organizations[0];
    assert_eq!(
        (created.name.as_str(), &created.subscription),
        ("Acme", &first.subscription)
    );
    assert_eq!(
        (created.users[0].email.as_str(), created.users[0].role),
        (ANN, MemberRole::Owner)
    );
    let found = stores
        .sessions
        .session(&first.session.hash)
        .await
        .unwrap()
        .unwrap();
    assert_eq!(
        (found.member.organization_id(), found.member.is_owner()),
        (&first.id, true)
    );
    assert_eq!(activities(&stores, &first.id).await, [first.activity]);
}

pub async fn a_code_works_once_and_then_it_is_over(stores: Stores) {
    put(&stores, 1, 0).await;
    stores.first_run.create_first(&first("acme", 1)).await.unwrap();
    let over = CreateFirst::Refused(FirstRunCodeState::Over);
    assert_eq!(stores.first_run.create_first(&first("other", 1)).await, Ok(over));
    assert_eq!(state(&stores, 1).await, FirstRunCodeState::Over);
    assert!(!put(&stores, 2, 9).await);
    let remove = ProvisioningChange::RemoveOrganization(organization_id("acme"));
    commit(&stores, &[remove]).await;
    assert_eq!(
        state(&stores, 1).await,
        FirstRunCodeState::Unknown,
        "the next start has a code of its own"
    );
}

pub async fn nothing_is_created_with_a_replaced_or_unknown_code(stores: Stores) {
    put(&stores, 1, 0).await;
    put(&stores, 2, 7).await;
    for (number, refused) in [
        (1, FirstRunCodeState::Replaced(at(7))),
        (3, FirstRunCodeState::Unknown),
    ] {
        let created = stores.first_run.create_first(&first("acme", number)).await;
        assert_eq!(created, Ok(CreateFirst::Refused(refused)));
    }
    assert_eq!(stores.first_run.has_no_people().await, Ok(true));
}

pub async fn an_id_that_is_or_was_in_use_is_not_taken(stores: Stores) {
    organization("acme").provision(&stores).await;
    let gone = organization("gone").provision(&stores).await;
    commit(&stores, &[ProvisioningChange::RemoveOrganization(gone)]).await;
    put(&stores, 1, 0).await;
    for id in ["acme", "gone"] {
        assert_eq!(
            stores.first_run.create_first(&first(id, 1)).await,
            Ok(CreateFirst::IdTaken)
        );
    }
    assert_eq!(
        stores.first_run.create_first(&first("new", 1)).await,
        Ok(CreateFirst::Created)
    );
}

pub async fn of_many_first_starts_at_once_one_succeeds(stores: Stores) {
    put(&stores, 1, 0).await;
    let racing = stores.clone();
    let answers = at_once(8, move |number| {
        let stores = racing.clone();
        async move {
            let mut first = first(&format!("acme_{number}"), 1);
            first.session = session(ANN, u8::try_from(number).unwrap(), at(5));
            stores.first_run.create_first(&first).await.unwrap()
        }
    })
    .await;
    assert_eq!(how_many(&answers, &CreateFirst::Created), 1);
    assert_eq!(
        how_many(&answers, &CreateFirst::Refused(FirstRunCodeState::Over)),
        7
    );
}
