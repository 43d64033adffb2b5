//! The rules of `ActivityStore`: the record of who did what (decision C8).

use bidloop_domain::model::{ActivityKind, ActivityPlace, ActivityQuery, Actor, ActorKind, LeadId};
use serde_json::json;

use crate::Stores;
use crate::fixture::{World, activities, activity, at, at_once};

pub async fn an_entry_comes_back_as_it_was_recorded(stores: Stores) {
    let (world, lead) = World::with_lead(stores).await;
    let mut entry = activity(&world.organization, ActivityKind::Upload, "refused", at(5));
    entry.campaign_id = Some(lead.campaign_id);
    entry.lead_id = Some(lead.id);
    entry.actor = Actor {
        kind: ActorKind::ApiKey,
        id: Some("key_ci".to_owned()),
        name: Some("CI ✓".to_owned()),
    };
    entry.http_status = Some(400);
    entry.dry_run = true;
    entry.message = "Refused: \"x\" is empty.".to_owned();
    let details = json!({"files": ["x"], "sizeBytes": 0, "more": {"null": null, "half": 0.5}});
    entry.details = details.as_object().unwrap().clone();
    world.stores.activities.record(&entry).await.unwrap();
    assert_eq!(activities(&world.stores, &world.organization).await, [entry]);
}

pub async fn entries_are_listed_newest_first(stores: Stores) {
    let world = World::new(stores).await;
    for second in [2, 9, 1, 5] {
        let entry = activity(&world.organization, ActivityKind::Bid, "accepted", at(second));
        world.stores.activities.record(&entry).await.unwrap();
    }
    let times: Vec<_> = activities(&world.stores, &world.organization)
        .await
        .iter()
        .map(|entry| entry.at)
        .collect();
    assert_eq!(times, [at(9), at(5), at(2), at(1)]);
}

pub async fn an_entry_with_a_known_id_is_passed_over(stores: Stores) {
    let world = World::new(stores).await;
    let first = activity(&world.organization, ActivityKind::Bid, "refused", at(1));
    let mut again = activity(&world.organization, ActivityKind::Rejection, "accepted", at(2));
    again.id = first.id;
    world.stores.activities.record(&first).await.unwrap();
    world.stores.activities.record(&again).await.unwrap();
    assert_eq!(activities(&world.stores, &world.organization).await, [first]);
}

pub async fn a_list_holds_only_what_is_asked_for(stores: Stores) {
    use crate::fixture::{campaign, organization};

    let acme = World::new(stores.clone()).await;
    let two = organization("org_two").campaign(campaign("camp"));
    let other = World::bare(stores.clone(), two).await;
    let leads = acme.new_leads(2, at(0)).await;
    let mut expected = Vec::new();
    for lead in &leads {
        let mut entry = activity(&acme.organization, ActivityKind::Bid, "refused", at(1));
        entry.campaign_id = Some(lead.campaign_id.clone());
        entry.lead_id = Some(lead.id.clone());
        stores.activities.record(&entry).await.unwrap();
        expected.push(entry);
    }
    let mut of_other = activity(&other.organization, ActivityKind::Bid, "refused", at(1));
    of_other.campaign_id = Some(other.campaign.clone());
    stores.activities.record(&of_other).await.unwrap();

    let everything = ActivityQuery {
        limit: 10,
        ..ActivityQuery::default()
    };
    let of_acme = ActivityQuery {
        organization_id: Some(acme.organization.clone()),
        ..everything.clone()
    };
    let of_campaign = ActivityQuery {
        campaign_id: Some(acme.campaign.clone()),
        ..of_acme.clone()
    };
    let of_lead = ActivityQuery {
        lead_id: Some(leads[1].id.clone()),
        ..everything.clone()
    };
    let unknown_lead = ActivityQuery {
        organization_id: Some(other.organization.clone()),
        lead_id: Some(leads[1].id.clone()),
        ..everything.clone()
    };
    assert_eq!(stores.activities.list(&everything).await.unwrap().len(), 3);
    assert_eq!(stores.activities.list(&of_acme).await.unwrap().len(), 2);
    assert_eq!(stores.activities.list(&of_campaign).await.unwrap().len(), 2);
    assert_eq!(
        stores.activities.list(&of_lead).await.unwrap(),
        [expected.remove(1)]
    );
    assert_eq!(stores.activities.list(&unknown_lead).await.unwrap(), []);
}

pub async fn a_list_holds_at_most_as_many_as_asked_for_and_those_are_the_newest(stores: Stores) {
    let world = World::new(stores).await;
    for second in 0..5 {
        let entry = activity(&world.organization, ActivityKind::Bid, "refused", at(second));
        world.stores.activities.record(&entry).await.unwrap();
    }
    let query = ActivityQuery {
        limit: 2,
        ..ActivityQuery::default()
    };
    let times: Vec<_> = world
        .stores
        .activities
        .list(&query)
        .await
        .unwrap()
        .iter()
        .map(|entry| entry.at)
        .collect();
    assert_eq!(times, [at(4), at(3)]);
}

pub async fn entries_recorded_at_once_are_all_kept(stores: Stores) {
    let world = World::new(stores).await;
    let recorded = at_once(24, |number| {
        let world = world.clone();
        async move {
            let second = i64::try_from(number).unwrap();
            let entry = activity(&world.organization, ActivityKind::Bid, "refused", at(second));
            world.stores.activities.record(&entry).await
        }
    })
    .await;
    assert!(recorded.iter().all(Result::is_ok));
    assert_eq!(activities(&world.stores, &world.organization).await.len(), 24);
}

pub async fn entries_behind_a_place_are_read_oldest_first(stores: Stores) {
    let world = World::new(stores).await;
    let mut expected = Vec::new();
    for second in [4, 1, 2, 4, 3] {
        let entry = activity(&world.organization, ActivityKind::Bid, "refused", at(second));
        world.stores.activities.record(&entry).await.unwrap();
        expected.push(entry);
    }
    expected.sort_by_key(ActivityPlace::of);
    let query = ActivityQuery {
        organization_id: Some(world.organization.clone()),
        limit: 2,
        ..ActivityQuery::default()
    };
    let mut place = ActivityPlace::of(&expected[0]);
    let mut read = Vec::new();
    loop {
        let page = world.stores.activities.behind(&query, place).await.unwrap();
        assert!(page.len() <= 2);
        let Some(last) = page.last() else { break };
        place = ActivityPlace::of(last);
        read.extend(page);
    }
    assert_eq!(read, expected[1..]);
    let of_nobody = ActivityQuery {
        lead_id: Some(LeadId::parse("ld_nobody").unwrap()),
        ..query
    };
    let first = ActivityPlace::of(&expected[0]);
    assert_eq!(
        world.stores.activities.behind(&of_nobody, first).await.unwrap(),
        []
    );
}
