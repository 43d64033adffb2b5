//! The rules of `SessionStore` (decision E2).

use bidloop_domain::model::{EmailKey, MemberRole, SessionHash};
use bidloop_domain::port::{FoundSession, ProvisioningChange, SESSIONS_OF_A_PERSON};

use crate::Stores;
use crate::fixture::{
    at, at_once, commit, organization, organization_id, password_hash, seconds, session, user,
};

const ANN: &str = "ann@acme.test";

async fn acme(stores: &Stores) {
    organization("org_a")
        .user(ANN, MemberRole::Owner)
        .provision(stores)
        .await;
}

/// Another organization of Ann's, which comes first by name.
async fn another(stores: &Stores) {
    let mut other = organization("org_b").user(ANN, MemberRole::Member);
    other.0.name = "Another".to_owned();
    other.provision(stores).await;
}

/// Opens Ann's session with this number.
async fn open(stores: &Stores, number: u8, second: i64) -> SessionHash {
    let new = session(ANN, number, at(second));
    let opened = stores.sessions.open_session(&new, &password_hash(ANN)).await;
    assert_eq!(opened, Ok(true));
    new.hash
}

async fn find(stores: &Stores, hash: &SessionHash) -> Option<FoundSession> {
    stores.sessions.session(hash).await.unwrap()
}

async fn shown(stores: &Stores, hash: &SessionHash) -> String {
    let found = find(stores, hash).await.unwrap();
    found.member.organization_id().to_string()
}

pub async fn an_opened_session_is_found_with_its_person_and_organization(stores: Stores) {
    acme(&stores).await;
    another(&stores).await;
    let hash = open(&stores, 1, 5).await;
    let found = find(&stores, &hash).await.unwrap();
    assert_eq!(found.member.person.key, EmailKey::of(ANN));
    assert_eq!(found.member.person.email, ANN);
    assert_eq!(found.member.subscription, organization("org_a").0.subscription);
    assert_eq!((found.times.created_at, found.times.last_used_at), (at(5), at(5)));
    let memberships: Vec<_> = found
        .memberships
        .iter()
        .map(|one| {
            (
                one.organization_id.as_str(),
                one.organization_name.as_str(),
                one.role,
            )
        })
        .collect();
    let expected = [
        ("org_b", "Another", MemberRole::Member),
        ("org_a", "Organization org_a", MemberRole::Owner),
    ];
    assert_eq!(memberships, expected);
    assert_eq!(
        found.member.organization, found.memberships[0],
        "the first by name, for none was seen"
    );
    assert_eq!(find(&stores, &session(ANN, 2, at(0)).hash).await, None);
}

pub async fn no_session_is_opened_for_another_password_or_an_unknown_person(stores: Stores) {
    acme(&stores).await;
    for (email, password) in [(ANN, "other"), ("eve@acme.test", ANN)] {
        let new = session(email, 1, at(0));
        let opened = stores.sessions.open_session(&new, &password_hash(password)).await;
        assert_eq!(opened, Ok(false));
        assert_eq!(find(&stores, &new.hash).await, None);
    }
}

pub async fn a_session_shows_the_organization_that_was_seen_last(stores: Stores) {
    acme(&stores).await;
    another(&stores).await;
    let first = open(&stores, 1, 0).await;
    let to = organization_id("org_a");
    assert_eq!(
        stores.sessions.show_organization(&first, &to, at(1)).await,
        Ok(true)
    );
    assert_eq!(shown(&stores, &first).await, "org_a");
    let second = open(&stores, 2, 2).await;
    assert_eq!(shown(&stores, &second).await, "org_a");
}

pub async fn only_an_organization_of_the_person_is_shown_and_only_in_a_live_session(stores: Stores) {
    acme(&stores).await;
    organization("org_b")
        .user("bob@acme.test", MemberRole::Owner)
        .provision(&stores)
        .await;
    let hash = open(&stores, 1, 0).await;
    let sessions = &stores.sessions;
    for other in ["org_b", "org_c"] {
        let switched = sessions
            .show_organization(&hash, &organization_id(other), at(1))
            .await;
        assert_eq!(switched, Ok(false), "{other}");
    }
    assert_eq!(shown(&stores, &hash).await, "org_a");
    let (acme, unknown) = (organization_id("org_a"), session(ANN, 9, at(0)).hash);
    assert_eq!(
        sessions.show_organization(&unknown, &acme, at(1)).await,
        Ok(false)
    );
    let end = at(0).plus(seconds(12 * 60 * 60));
    assert_eq!(sessions.show_organization(&hash, &acme, end).await, Ok(false));
}

pub async fn a_use_is_recorded_and_never_moves_back(stores: Stores) {
    acme(&stores).await;
    let hash = open(&stores, 1, 10).await;
    for (second, expected) in [(70, 70), (40, 70)] {
        stores
            .sessions
            .record_session_use(&hash, at(second))
            .await
            .unwrap();
        assert_eq!(
            find(&stores, &hash).await.unwrap().times.last_used_at,
            at(expected)
        );
    }
    let unknown = session(ANN, 9, at(0)).hash;
    assert_eq!(stores.sessions.record_session_use(&unknown, at(80)).await, Ok(()));
}

pub async fn an_ended_session_is_gone_and_others_stay(stores: Stores) {
    acme(&stores).await;
    let (one, other) = (open(&stores, 1, 0).await, open(&stores, 2, 0).await);
    stores.sessions.end_session(&one).await.unwrap();
    assert_eq!(find(&stores, &one).await, None);
    assert!(find(&stores, &other).await.is_some());
    assert_eq!(stores.sessions.end_session(&one).await, Ok(()));
}

pub async fn a_membership_that_ends_or_changes_ends_the_sessions_that_show_it(stores: Stores) {
    acme(&stores).await;
    another(&stores).await;
    let put = |role| ProvisioningChange::PutUser(organization_id("org_b"), user(ANN, role));
    let remove = ProvisioningChange::RemoveUser(organization_id("org_b"), ANN.to_owned());
    for (number, change) in [(1, put(MemberRole::Owner)), (2, remove)] {
        let here = open(&stores, number, 0).await;
        let there = open(&stores, number + 10, 0).await;
        let (acme, other) = (organization_id("org_a"), organization_id("org_b"));
        assert_eq!(shown(&stores, &here).await, "org_b");
        assert_eq!(
            stores.sessions.show_organization(&there, &acme, at(0)).await,
            Ok(true)
        );
        assert_eq!(
            stores.sessions.show_organization(&here, &other, at(1)).await,
            Ok(true)
        );
        commit(&stores, &[change]).await;
        assert_eq!(find(&stores, &here).await, None);
        assert_eq!(shown(&stores, &there).await, "org_a");
        stores
            .sessions
            .show_organization(&there, &other, at(2))
            .await
            .unwrap();
    }
    commit(&stores, &[put(MemberRole::Member)]).await;
    assert_eq!(
        find(&stores, &session(ANN, 2, at(0)).hash).await,
        None,
        "no session comes back"
    );
}

pub async fn a_removed_organizations_sessions_are_gone(stores: Stores) {
    acme(&stores).await;
    let hash = open(&stores, 1, 0).await;
    commit(
        &stores,
        &[ProvisioningChange::RemoveOrganization(organization_id("org_a"))],
    )
    .await;
    assert_eq!(find(&stores, &hash).await, None);
}

pub async fn a_person_has_so_many_sessions_and_the_one_unused_for_the_longest_goes(stores: Stores) {
    acme(&stores).await;
    let most = u8::try_from(SESSIONS_OF_A_PERSON).unwrap();
    let mut hashes = Vec::new();
    for number in 0..most {
        hashes.push(open(&stores, number, i64::from(number)).await);
    }
    stores
        .sessions
        .record_session_use(&hashes[0], at(500))
        .await
        .unwrap();
    assert!(find(&stores, &hashes[1]).await.is_some());
    // Its clock is behind.
    hashes.push(open(&stores, most, 0).await);
    let mut live = Vec::new();
    for hash in &hashes {
        live.push(find(&stores, hash).await.is_some());
    }
    let ended: Vec<usize> = (0..live.len()).filter(|place| !live[*place]).collect();
    assert_eq!(ended, [1]);
}

pub async fn no_session_outlives_a_password_that_changes_while_it_is_opened(stores: Stores) {
    acme(&stores).await;
    let racing = stores.clone();
    at_once(12, move |number| {
        let stores = racing.clone();
        async move {
            let number = u8::try_from(number).unwrap();
            if number == 6 {
                let mut changed = user(ANN, MemberRole::Owner);
                changed.password_hash = Some(password_hash("another"));
                commit(
                    &stores,
                    &[ProvisioningChange::PutUser(organization_id("org_a"), changed)],
                )
                .await;
            } else {
                let new = session(ANN, number, at(0));
                stores
                    .sessions
                    .open_session(&new, &password_hash(ANN))
                    .await
                    .unwrap();
            }
        }
    })
    .await;
    for number in 0..12 {
        assert_eq!(find(&stores, &session(ANN, number, at(0)).hash).await, None);
    }
}
