//! The Activity record in the console (decision C8).

use bidloop_domain::model::{ActivityKind, ActivityPlace, ActivitySearch};
use bidloop_domain::use_case::{ACTIVITY_PAGE, SearchActivity};
use bidloop_port_contracts::fixture::{activity, at};

use crate::service::{Service, job, request};

fn search_activity(service: &Service) -> SearchActivity {
    SearchActivity {
        activities: service.store.clone(),
        feed: service.store.clone(),
    }
}

fn everything() -> ActivitySearch {
    ActivitySearch::of(Service::organization())
}

#[tokio::test]
async fn a_page_is_newest_first_and_tells_what_came_since() {
    let service = Service::new().await;
    let find = search_activity(&service);
    let lead = service.lead(&job("1")).await;
    service.reject(&lead).await;
    let page = find.page(&everything(), None).await.unwrap();
    assert_eq!(page.titles.get(&lead).map(String::as_str), Some("Rust service"));
    let first = page.found;
    assert_eq!((first.entries.len(), first.below), (1, None));
    let seen = ActivityPlace::of(&first.entries[0]);
    let late = service
        .submit_bid()
        .execute(&Service::requester(), &Service::campaign(), &lead, Ok(request()))
        .await;
    assert!(late.is_err());
    assert_eq!(find.newer(&everything(), seen).await, Ok(1));
    let rejections = ActivitySearch {
        kind: Some(ActivityKind::Rejection),
        ..everything()
    };
    assert_eq!(find.newer(&rejections, seen).await, Ok(0));
    let entry = find.entry(&Service::organization(), seen.id).await.unwrap();
    assert_eq!(entry.as_ref(), first.entries.first());
}

#[tokio::test]
async fn the_csv_is_a_stream_of_bounded_parts_with_one_head() {
    let service = Service::new().await;
    let find = search_activity(&service);
    let count = 1_100;
    for number in 0..count {
        let entry = activity(
            &Service::organization(),
            ActivityKind::Upload,
            "accepted",
            at(number),
        );
        find.activities.record(&entry).await.unwrap();
    }
    let page = find.page(&everything(), None).await.unwrap();
    assert_eq!(page.found.entries.len(), ACTIVITY_PAGE as usize);
    let (mut parts, mut below) = (Vec::new(), None);
    loop {
        let part = find.csv(&everything(), below).await.unwrap();
        parts.push(part.lines.lines().count());
        assert!(part.lines.ends_with("\r\n"));
        below = part.below;
        if below.is_none() {
            break;
        }
    }
    assert_eq!(parts, [501, 500, 100]);
    let first = find.csv(&everything(), None).await.unwrap();
    assert!(first.lines.starts_with("id,at,kind,outcome,actorType,"));
}
