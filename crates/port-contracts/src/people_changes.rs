//! The rules of `PeopleStore` for changes of people, and for the links by which they join (decisions E1 and E2).

use bidloop_domain::model::{
    ActivityKind, EmailKey, LINK_LIFETIME, LinkHash, LinkId, LinkKind, LinkToken, MemberRole, OneTimeLink,
    OrganizationId, Person, PersonalToken, PersonalTokenHash, PersonalTokenId, PersonalTokenRecord,
    TokenScope,
};
use bidloop_domain::port::{
    OrganizationPeople, PeopleChange, ProvisioningChange, Prunable, PruneCursor, StoredPerson,
};

use crate::Stores;
use crate::fixture::{
    activities, activity, at, at_once, commit, how_many, organization, organization_id, password_hash,
    revision, session,
};

const ANN: &str = "ann@acme.test";
const BOB: &str = "bob@acme.test";

fn acme() -> OrganizationId {
    organization_id("org_a")
}

/// `org_a`, owned by Ann, with the member Bob.
async fn with_people(stores: &Stores) {
    organization("org_a")
        .user(ANN, MemberRole::Owner)
        .user(BOB, MemberRole::Member)
        .provision(stores)
        .await;
}

fn person(email: &str) -> Person {
    Person {
        key: EmailKey::of(email),
        email: email.to_owned(),
        name: "New".to_owned(),
    }
}

/// A link with this number, made by Ann.
fn link(organization: &OrganizationId, kind: LinkKind, email: &str, number: u8) -> (OneTimeLink, LinkHash) {
    let link = OneTimeLink {
        id: LinkId::random([number; 6]),
        organization_id: organization.clone(),
        kind,
        person: person(email),
        role: MemberRole::Member,
        made_by: EmailKey::of(ANN),
        created_at: at(0),
        expires_at: at(0).plus(LINK_LIFETIME),
    };
    (link, LinkToken::from_random([number; 32]).hash())
}

fn put((link, hash): &(OneTimeLink, LinkHash)) -> PeopleChange {
    PeopleChange::PutLink(link.clone(), hash.clone())
}

async fn change(stores: &Stores, changes: &[PeopleChange]) {
    let expected = revision(stores).await;
    assert_eq!(
        stores.people.commit_people(expected, changes, &[]).await,
        Ok(true)
    );
}

async fn read(stores: &Stores, asked: &[EmailKey]) -> OrganizationPeople {
    let read = stores.people.organization_people(&acme(), asked).await;
    read.unwrap().unwrap()
}

async fn open(stores: &Stores, email: &str, number: u8) {
    let (new, password) = (session(email, number, at(0)), password_hash(email));
    let opened = stores.sessions.open_session(&new, &password);
    assert_eq!(opened.await, Ok(true));
}

async fn lives(stores: &Stores, email: &str, number: u8) -> bool {
    let hash = session(email, number, at(0)).hash;
    stores.sessions.session(&hash).await.unwrap().is_some()
}

fn shown(people: &OrganizationPeople) -> Vec<(&str, MemberRole)> {
    let members = people.members.iter();
    members
        .map(|member| (member.person.email.as_str(), member.role))
        .collect()
}

pub async fn an_organizations_people_are_read_with_their_links_and_wherever_they_are(stores: Stores) {
    with_people(&stores).await;
    organization("org_b")
        .user(BOB, MemberRole::Owner)
        .provision(&stores)
        .await;
    open(&stores, ANN, 1).await;
    let made = link(&acme(), LinkKind::Invitation, "new@acme.test", 1);
    let elsewhere = link(&organization_id("org_b"), LinkKind::Invitation, "new@b.test", 2);
    change(&stores, &[put(&made), put(&elsewhere)]).await;
    let asked = [EmailKey::of("BOB@acme.test"), EmailKey::of("eve@acme.test")];
    let people = read(&stores, &asked).await;
    assert_eq!(people.revision, revision(&stores).await);
    assert_eq!(people.name, "Organization org_a");
    assert_eq!(
        shown(&people),
        [(ANN, MemberRole::Owner), (BOB, MemberRole::Member)]
    );
    assert!(people.members[0].has_password);
    assert_eq!(people.members[0].last_seen_at, Some(at(0)));
    assert_eq!(people.members[1].last_seen_at, None);
    assert_eq!(people.links, std::slice::from_ref(&made.0));
    assert_eq!(people.asked.len(), 1);
    assert_eq!(people.asked[0].stored.person.email, BOB);
    assert_eq!(people.asked[0].stored.password_hash, Some(password_hash(BOB)));
    let roles = [
        (acme(), MemberRole::Member),
        (organization_id("org_b"), MemberRole::Owner),
    ];
    assert_eq!(people.asked[0].memberships, roles);
    let unknown = organization_id("org_x");
    let unknown = stores.people.organization_people(&unknown, &[]);
    assert_eq!(unknown.await, Ok(None));
}

pub async fn a_link_is_found_by_its_digest_until_it_is_removed(stores: Stores) {
    with_people(&stores).await;
    let (one, other) = (
        link(&acme(), LinkKind::Invitation, "new@acme.test", 1),
        link(&acme(), LinkKind::Reset, BOB, 2),
    );
    change(&stores, &[put(&one), put(&other)]).await;
    assert_eq!(stores.people.link(&one.1).await, Ok(Some(one.0.clone())));
    let foreign = PeopleChange::RemoveLink(organization_id("org_b"), one.0.id.clone());
    change(&stores, &[foreign]).await;
    assert_eq!(stores.people.link(&one.1).await, Ok(Some(one.0.clone())));
    change(&stores, &[PeopleChange::RemoveLink(acme(), one.0.id)]).await;
    assert_eq!(stores.people.link(&one.1).await, Ok(None));
    assert_eq!(stores.people.link(&other.1).await, Ok(Some(other.0)));
}

/// What a new person's use of a link changes.
fn join(used: &OneTimeLink, number: u8) -> Vec<PeopleChange> {
    let email = &used.person.email;
    vec![
        PeopleChange::RemoveLink(acme(), used.id.clone()),
        PeopleChange::CreatePerson(StoredPerson {
            person: used.person.clone(),
            password_hash: Some(password_hash(email)),
        }),
        PeopleChange::PutMembership(acme(), used.person.key.clone(), used.role),
        PeopleChange::OpenSession(session(email, number, at(7)), acme()),
    ]
}

pub async fn a_new_person_joins_with_a_session_and_a_record_at_once(stores: Stores) {
    with_people(&stores).await;
    let made = link(&acme(), LinkKind::Invitation, "new@acme.test", 1);
    change(&stores, &[put(&made)]).await;
    let before = revision(&stores).await;
    let entry = activity(&acme(), ActivityKind::Change, "accepted", at(7));
    let changes = join(&made.0, 9);
    let committed = stores
        .people
        .commit_people(before, &changes, std::slice::from_ref(&entry));
    assert_eq!(committed.await, Ok(true));
    assert!(revision(&stores).await > before, "plans are made again");
    assert_eq!(activities(&stores, &acme()).await, [entry]);
    let found = stores.people.person(&made.0.person.key).await.unwrap().unwrap();
    assert_eq!(found.person, made.0.person);
    let opened = stores.sessions.session(&session(ANN, 9, at(7)).hash).await;
    let member = opened.unwrap().unwrap().member;
    assert_eq!(member.organization.role, MemberRole::Member);
    assert_eq!(member.person, made.0.person);
    assert_eq!(read(&stores, &[]).await.members[2].last_seen_at, Some(at(7)));
}

pub async fn nothing_of_people_changes_under_another_revision(stores: Stores) {
    with_people(&stores).await;
    let before = revision(&stores).await;
    commit(&stores, &[organization("org_a").put_organization()]).await;
    let entry = activity(&acme(), ActivityKind::Change, "accepted", at(7));
    let remove = PeopleChange::RemoveMember(acme(), EmailKey::of(BOB));
    let committed = stores.people.commit_people(before, &[remove], &[entry]).await;
    assert_eq!(committed, Ok(false));
    assert_eq!(read(&stores, &[]).await.members.len(), 2);
    assert_eq!(activities(&stores, &acme()).await, []);
}

pub async fn changes_of_people_that_fail_change_nothing(stores: Stores) {
    with_people(&stores).await;
    let before = revision(&stores).await;
    let changes = [
        PeopleChange::PutMembership(acme(), EmailKey::of(BOB), MemberRole::Owner),
        PeopleChange::OpenSession(session(BOB, 1, at(0)), organization_id("org_b")),
    ];
    let committed = stores.people.commit_people(before, &changes, &[]).await;
    assert!(committed.is_err(), "{committed:?}");
    assert_eq!(revision(&stores).await, before);
    assert_eq!(shown(&read(&stores, &[]).await)[1], (BOB, MemberRole::Member));
}

pub async fn another_password_ends_all_sessions_but_one_and_withdraws_resets(stores: Stores) {
    with_people(&stores).await;
    for number in 1..=3 {
        open(&stores, BOB, number).await;
    }
    open(&stores, ANN, 4).await;
    let reset = link(&acme(), LinkKind::Reset, BOB, 1);
    let others = [
        link(&acme(), LinkKind::Reset, ANN, 2),
        link(&acme(), LinkKind::Invitation, BOB, 3),
    ];
    change(&stores, &[put(&reset), put(&others[0]), put(&others[1])]).await;
    let set = |hash: &str, kept: Option<u8>| PeopleChange::SetPassword {
        person: EmailKey::of(BOB),
        hash: password_hash(hash),
        kept: kept.map(|number| session(BOB, number, at(0)).hash),
    };
    change(&stores, &[set("another", Some(2))]).await;
    let mut living = Vec::new();
    for (email, number) in [(BOB, 1), (BOB, 2), (BOB, 3), (ANN, 4)] {
        living.push(lives(&stores, email, number).await);
    }
    assert_eq!(living, [false, true, false, true]);
    let found = stores.people.person(&EmailKey::of(BOB)).await.unwrap().unwrap();
    assert_eq!(found.password_hash, Some(password_hash("another")));
    assert_eq!(stores.people.link(&reset.1).await, Ok(None));
    for (kept, hash) in others {
        assert_eq!(stores.people.link(&hash).await, Ok(Some(kept)));
    }
    change(&stores, &[set("third", None)]).await;
    assert!(!lives(&stores, BOB, 2).await);
}

pub async fn a_role_that_changes_ends_the_sessions_that_show_the_organization(stores: Stores) {
    with_people(&stores).await;
    organization("org_b")
        .user(BOB, MemberRole::Member)
        .provision(&stores)
        .await;
    for (number, shown) in [(1, "org_a"), (2, "org_b")] {
        open(&stores, BOB, number).await;
        let hash = session(BOB, number, at(0)).hash;
        let shown = organization_id(shown);
        let switched = stores.sessions.show_organization(&hash, &shown, at(1));
        assert_eq!(switched.await, Ok(true));
    }
    let role = |role| PeopleChange::PutMembership(acme(), EmailKey::of(BOB), role);
    change(&stores, &[role(MemberRole::Member)]).await;
    assert!(lives(&stores, BOB, 1).await, "nothing has changed");
    change(&stores, &[role(MemberRole::Owner)]).await;
    assert!(!lives(&stores, BOB, 1).await);
    assert!(lives(&stores, BOB, 2).await);
    assert_eq!(shown(&read(&stores, &[]).await)[1], (BOB, MemberRole::Owner));
}

pub async fn a_removed_member_leaves_no_session_and_no_link(stores: Stores) {
    with_people(&stores).await;
    open(&stores, BOB, 1).await;
    let reset = link(&acme(), LinkKind::Reset, BOB, 1);
    change(&stores, &[put(&reset)]).await;
    change(&stores, &[PeopleChange::RemoveMember(acme(), EmailKey::of(BOB))]).await;
    assert!(!lives(&stores, BOB, 1).await);
    assert_eq!(stores.people.link(&reset.1).await, Ok(None));
    assert_eq!(stores.people.person(&EmailKey::of(BOB)).await, Ok(None));
    assert_eq!(shown(&read(&stores, &[]).await), [(ANN, MemberRole::Owner)]);
}

pub async fn of_many_uses_of_a_link_at_once_one_counts(stores: Stores) {
    with_people(&stores).await;
    let made = link(&acme(), LinkKind::Invitation, "new@acme.test", 1);
    change(&stores, &[put(&made)]).await;
    let (expected, racing) = (revision(&stores).await, stores.clone());
    let used = at_once(8, move |number| {
        let (stores, number) = (racing.clone(), u8::try_from(number).unwrap());
        let changes = join(&made.0, number);
        async move { stores.people.commit_people(expected, &changes, &[]).await }
    })
    .await;
    assert_eq!(how_many(&used, &Ok(true)), 1);
    assert_eq!(read(&stores, &[]).await.members.len(), 3);
}

pub async fn links_go_with_their_organization_and_some_time_after_their_end(stores: Stores) {
    with_people(&stores).await;
    organization("org_b")
        .user(ANN, MemberRole::Owner)
        .provision(&stores)
        .await;
    let here = link(&acme(), LinkKind::Invitation, "new@acme.test", 1);
    let there = link(&organization_id("org_b"), LinkKind::Invitation, "new@b.test", 2);
    change(&stores, &[put(&here), put(&there)]).await;
    commit(
        &stores,
        &[ProvisioningChange::RemoveOrganization(organization_id("org_b"))],
    )
    .await;
    assert_eq!(stores.people.link(&there.1).await, Ok(None));
    let prune = async |before| {
        let step = stores
            .retention
            .prune(Prunable::SignIns, before, &PruneCursor::Start, 100);
        step.await.unwrap().removed
    };
    assert_eq!(prune(at(60)).await, 0);
    assert_eq!(stores.people.link(&here.1).await, Ok(Some(here.0.clone())));
    assert_eq!(prune(here.0.expires_at).await, 1);
    assert_eq!(stores.people.link(&here.1).await, Ok(None));
}

/// A token of Bob's with this number, in `org_a`.
fn token(number: u8) -> (PersonalTokenRecord, PersonalTokenHash) {
    let record = PersonalTokenRecord {
        id: PersonalTokenId::random([number; 6]),
        organization_id: acme(),
        user: EmailKey::of(BOB),
        name: "Editor".to_owned(),
        scope: TokenScope::Bid,
        created_at: at(i64::from(number)),
        last_used_at: None,
        expires_at: Some(at(900)),
        revoked_at: None,
    };
    (record, PersonalToken::from_random([number; 32]).hash())
}

async fn found(stores: &Stores, hash: &PersonalTokenHash) -> Option<PersonalTokenRecord> {
    let found = stores.people.token(hash).await.unwrap();
    found.map(|found| found.record)
}

pub async fn a_token_is_found_with_its_member_as_of_now_until_it_is_removed(stores: Stores) {
    with_people(&stores).await;
    let ((first, first_hash), (second, second_hash)) = (token(1), token(2));
    let put = |(record, hash): (PersonalTokenRecord, PersonalTokenHash)| PeopleChange::PutToken(record, hash);
    change(&stores, &[put(token(2)), put(token(1))]).await;
    let people = read(&stores, &[EmailKey::of(BOB), EmailKey::of(ANN)]).await;
    assert_eq!(people.asked[0].tokens, [first.clone(), second]);
    assert_eq!(people.asked[1].tokens, []);
    assert_eq!(people.subscription, organization("org_a").0.subscription);
    let with_member = stores.people.token(&first_hash).await.unwrap().unwrap();
    assert_eq!(with_member.record, first);
    assert_eq!(with_member.member.person.email, BOB);
    assert_eq!(
        with_member.member.organization.organization_name,
        "Organization org_a"
    );
    assert!(!with_member.member.is_owner());
    let owner = PeopleChange::PutMembership(acme(), EmailKey::of(BOB), MemberRole::Owner);
    change(&stores, &[owner]).await;
    let with_member = stores.people.token(&first_hash).await.unwrap().unwrap();
    assert!(with_member.member.is_owner());
    assert_eq!(found(&stores, &token(3).1).await, None);
    change(&stores, &[PeopleChange::RemoveToken(acme(), first.id)]).await;
    assert_eq!(found(&stores, &first_hash).await, None);
    let leaves = PeopleChange::RemoveMember(acme(), EmailKey::of(BOB));
    change(&stores, &[leaves]).await;
    assert_eq!(found(&stores, &second_hash).await, None);
}

pub async fn a_token_is_revoked_and_used_in_its_own_organization_and_no_time_moves_back(stores: Stores) {
    with_people(&stores).await;
    let (record, hash) = token(1);
    change(&stores, &[PeopleChange::PutToken(record.clone(), hash.clone())]).await;
    let id = &record.id;
    let other = organization_id("org_b");
    for (organization, second) in [(&other, 90), (&acme(), 70), (&acme(), 40)] {
        let used = stores.people.record_token_use(organization, id, at(second));
        assert_eq!(used.await, Ok(()));
    }
    assert_eq!(found(&stores, &hash).await.unwrap().last_used_at, Some(at(70)));
    let revoke = |organization, second| PeopleChange::RevokeToken(organization, id.clone(), at(second));
    change(&stores, &[revoke(other, 90)]).await;
    assert_eq!(found(&stores, &hash).await.unwrap().revoked_at, None);
    change(&stores, &[revoke(acme(), 80), revoke(acme(), 85)]).await;
    assert_eq!(found(&stores, &hash).await.unwrap().revoked_at, Some(at(80)));
}
