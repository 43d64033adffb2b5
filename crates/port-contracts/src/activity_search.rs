//! The rules of `ActivityStore` for searching: any combination of conditions finds exactly what a reading of all entries
//! would, newest first.

use bidloop_domain::model::{
    Activity, ActivityKind, ActivityPlace, ActivitySearch, Actor, ActorKind, ApiKeyId,
};

use crate::Stores;
use crate::fixture::{World, activities, activity, at, campaign_id, lead_id, organization, organization_id};

const KINDS: [(ActivityKind, &str); 6] = [
    (ActivityKind::Bid, "accepted"),
    (ActivityKind::Bid, "refused"),
    (ActivityKind::Delivery, "delivered"),
    (ActivityKind::Delivery, "failed"),
    (ActivityKind::Submission, "failed"),
    (ActivityKind::Change, "accepted"),
];

fn actor(number: usize) -> Actor {
    let key = |id: &str| Actor::api_key(&ApiKeyId::parse(id).unwrap(), "A key");
    match number % 4 {
        0 => Actor::service(),
        1 => key("key_1"),
        2 => key("key_2"),
        _ => Actor {
            kind: ActorKind::User,
            id: Some("zoë\u{0}@acme.test".to_owned()),
            name: None,
        },
    }
}

/// Records 60 entries: of each kind and outcome, of several actors, campaigns and leads, some at one moment.
async fn recorded(stores: Stores) -> World {
    let world = World::new(stores).await;
    for number in 0..60 {
        let (kind, outcome) = KINDS[number % KINDS.len()];
        let second = i64::try_from(number / 4).unwrap();
        let mut entry = activity(&world.organization, kind, outcome, at(second));
        entry.actor = actor(number / 3);
        entry.campaign_id = (number % 5 != 0).then(|| campaign_id(["camp", "other"][number % 2]));
        entry.lead_id = (number % 7 == 0).then(|| lead_id("org_acme", "camp", "1"));
        world.stores.activities.record(&entry).await.unwrap();
    }
    world
}

/// Searches a few at a time, to the end.
async fn found(world: &World, search: &ActivitySearch, limit: u32) -> Vec<Activity> {
    let (mut found, mut below) = (Vec::new(), None);
    loop {
        let some = world
            .stores
            .activities
            .search(search, below, limit)
            .await
            .unwrap();
        assert!(some.entries.len() <= limit as usize);
        found.extend(some.entries);
        below = some.below;
        if below.is_none() {
            return found;
        }
    }
}

/// All entries, in the order of their places, newest first.
async fn all(world: &World) -> Vec<Activity> {
    let mut all = activities(&world.stores, &world.organization).await;
    all.sort_by_key(|entry| std::cmp::Reverse(ActivityPlace::of(entry)));
    all
}

pub async fn any_combination_of_conditions_finds_what_meets_them_all(stores: Stores) {
    let world = recorded(stores).await;
    let all = all(&world).await;
    let base = ActivitySearch::of(world.organization.clone());
    let mut matched = 0;
    for conditions in 0..64_u32 {
        let given = |bit: u32| conditions & (1 << bit) != 0;
        for number in 0..KINDS.len() {
            let (kind, outcome) = KINDS[number];
            let who = actor(number);
            let search = ActivitySearch {
                kind: given(0).then_some(kind),
                outcome: given(1).then(|| outcome.parse().unwrap()),
                actor: given(2).then_some((who.kind, who.id)),
                campaign_id: given(3).then(|| campaign_id(["camp", "other"][number % 2])),
                lead_id: given(4).then(|| lead_id("org_acme", "camp", "1")),
                from: given(5).then(|| at(3)),
                to: given(5).then(|| at(12)),
                ..base.clone()
            };
            let expected: Vec<&Activity> = all.iter().filter(|entry| search.finds(entry)).collect();
            let found = found(&world, &search, 7).await;
            assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{search:?}");
            matched += found.len();
        }
    }
    assert!(matched > 0);
}

pub async fn steps_of_a_search_repeat_and_lose_nothing(stores: Stores) {
    let world = recorded(stores).await;
    let all = all(&world).await;
    let search = ActivitySearch::of(world.organization.clone());
    for limit in [1, 4, 60, 100] {
        assert_eq!(found(&world, &search, limit).await, all);
    }
}

pub async fn entries_newer_than_a_place_are_counted_up_to_a_bound(stores: Stores) {
    let world = recorded(stores).await;
    let all = all(&world).await;
    let everything = ActivitySearch::of(world.organization.clone());
    let refused = ActivitySearch {
        outcome: Some("refused".parse().unwrap()),
        kind: Some(ActivityKind::Bid),
        ..everything.clone()
    };
    for (number, entry) in all.iter().enumerate() {
        let place = ActivityPlace::of(entry);
        for (search, at_most) in [(&everything, 100), (&everything, 5), (&refused, 100)] {
            let newer = all[..number].iter().filter(|newer| search.finds(newer)).count() as u64;
            let counted = world.stores.activities.newer(search, place, at_most).await;
            assert_eq!(counted, Ok(newer.min(u64::from(at_most))), "{number} {search:?}");
        }
    }
}

pub async fn an_entry_is_found_by_its_id_in_its_own_organization(stores: Stores) {
    let world = recorded(stores).await;
    organization("org_other").provision(&world.stores).await;
    let entry = all(&world).await.remove(3);
    let record = &world.stores.activities;
    assert_eq!(
        record.find(&world.organization, entry.id).await,
        Ok(Some(entry.clone()))
    );
    let other = organization_id("org_other");
    assert_eq!(record.find(&other, entry.id).await, Ok(None));
    let theirs = ActivitySearch::of(other);
    assert_eq!(found(&world, &theirs, 10).await, []);
    let newer = record.newer(&theirs, ActivityPlace::of(&entry), 10).await;
    assert_eq!(newer, Ok(0));
}
