//! List leads: order, paging, parameters, and what filter changes and pauses do to it.

use std::time::{Duration, Instant};

use acceptance::document::{EXTERNAL, ORGANIZATION, campaign, document};
use acceptance::world::{STEP, all_leads, id, listed, path, stays};
use acceptance::{Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    pages_hold_every_match_once_newest_first,
    paging_while_jobs_arrive_misses_nothing_and_keeps_its_order,
    list_parameters_are_clamped_and_never_refused,
    a_lead_carries_what_the_job_said,
    a_filter_change_switches_the_list_at_once_and_sends_nothing,
    a_pause_by_apply_holds_at_once,
    old_posts_are_listed_and_not_acted_on,
    ids_that_are_no_ids_do_not_exist,
);

fn pages_hold_every_match_once_newest_first(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    for batch in 1..=5_u64 {
        world.publish(
            &service,
            EXTERNAL,
            posts::many(&format!("rust {batch}"), 50),
            batch * 50,
        );
    }
    let path =
        |offset: usize, limit: usize| format!("/v1/campaigns/{EXTERNAL}/leads?offset={offset}&limit={limit}");
    let whole = all_leads(&api, EXTERNAL);
    assert_eq!(whole.len(), 250);
    let created: Vec<i64> = whole
        .iter()
        .map(|lead| lead["createdAt"].as_i64().unwrap())
        .collect();
    assert!(created.is_sorted_by(|a, b| a >= b));
    let mut paged = Vec::new();
    for offset in (0..250).step_by(7) {
        let page = api.get(&path(offset, 7)).expect(200).json();
        let fields: Vec<&String> = page.as_object().unwrap().keys().collect();
        assert_eq!(fields, ["data", "hasMore", "limit", "offset", "total"]);
        assert_eq!(
            (&page["offset"], &page["limit"], &page["total"]),
            (&json!(offset), &json!(7), &json!(250))
        );
        let data = page["data"].as_array().unwrap();
        assert_eq!(page["hasMore"], offset + data.len() < 250);
        paged.extend(data.iter().cloned());
    }
    assert_eq!(
        paged, whole,
        "leads keep their ids, and no page depends on another's size"
    );
    let beyond = api.get(&path(1_000, 10)).expect(200).json();
    assert_eq!(
        (&beyond["data"], &beyond["hasMore"], &beyond["total"]),
        (&json!([]), &json!(false), &json!(250))
    );
}

/// Times that jobs arrive while pages are read, and how many each time.
const ARRIVALS: usize = 40;
const ARRIVING: usize = 3;

/// New matches push older ones down: a lead may be seen again on the next page, but none is passed over.
fn paging_while_jobs_arrive_misses_nothing_and_keeps_its_order(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 200), 200);
    let api = service.api();
    let first: Vec<Value> = all_leads(&api, EXTERNAL);
    let expected = |arrivals: usize| 200 + (arrivals * ARRIVING) as u64;
    let (mut arrivals, mut listed) = (0, 0);
    let started = Instant::now();
    while listed < expected(ARRIVALS) {
        assert!(started.elapsed() < 2 * STEP, "{listed} are listed");
        let mut seen = Vec::new();
        loop {
            let path = format!("/v1/campaigns/{EXTERNAL}/leads?limit=25&offset={}", seen.len());
            let page = api.get(&path).expect(200).json();
            listed = page["total"].as_u64().unwrap();
            // The next jobs are put up as soon as a page tells of the last ones, so that some are always on their way.
            if arrivals < ARRIVALS && listed == expected(arrivals) {
                let arriving = posts::many(&format!("rust {arrivals}"), ARRIVING);
                world.simulator.publish(arriving).unwrap();
                arrivals += 1;
            }
            seen.extend(page["data"].as_array().unwrap().iter().cloned());
            if page["hasMore"] == false {
                break;
            }
        }
        let created: Vec<i64> = seen
            .iter()
            .map(|lead| lead["createdAt"].as_i64().unwrap())
            .collect();
        for page in created.chunks(25) {
            assert!(page.is_sorted_by(|a, b| a >= b), "a page out of order");
        }
        for known in &first {
            assert!(
                seen.iter().any(|lead| lead["id"] == known["id"]),
                "{} was passed over",
                known["title"]
            );
        }
    }
    let all = all_leads(&api, EXTERNAL);
    assert_eq!(all[120..], first, "what was there keeps its order");
}

fn list_parameters_are_clamped_and_never_refused(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    for (query, offset, limit) in [
        ("", 0, 100),
        ("?limit=1000", 0, 100),
        ("?limit=0", 0, 1),
        ("?limit=-5&offset=-1", 0, 1),
        ("?limit=ten&offset=none", 0, 100),
        ("?limit=2.5&offset=", 0, 100),
        ("?offset=2&limit=2", 2, 2),
        ("?unknown=1", 0, 100),
    ] {
        let page = service
            .api()
            .get(&format!("/v1/campaigns/{EXTERNAL}/leads{query}"))
            .expect(200)
            .json();
        assert_eq!(
            (&page["offset"], &page["limit"]),
            (&json!(offset), &json!(limit)),
            "{query}"
        );
    }
}

fn a_lead_carries_what_the_job_said(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let post = json!({
        "title": "rust — “ledger” 🦀", "description": "Lines\nand \"quotes\"\u{2028}", "postedAt": 1_780_000_000_123_i64,
        "category": "Web, Mobile & Software Dev", "occupation": null, "skills": null, "questions": null,
        "projectType": null, "projectDuration": "1 to 3 months", "isFeatured": false, "region": "USOnly",
        "metadata": {"paymentType": "Fixed-price", "fixedPrice": 1200.5, "somethingNew": [1, {"a": null}]},
        "clientInfo": null,
        "attachments": [{"fileName": "a.pdf", "length": null, "uri": "/files/a.pdf"}],
        "extra": {"kept": true},
    });
    let published = world.simulator.publish(vec![post.clone()]).unwrap().remove(0);
    let lead = listed(&service.api(), EXTERNAL, 1).remove(0);
    for field in [
        "title",
        "description",
        "category",
        "occupation",
        "projectType",
        "projectDuration",
        "isFeatured",
        "region",
        "metadata",
        "attachments",
    ] {
        assert_eq!(lead[field], post[field], "{field}");
    }
    assert_eq!(
        (&lead["skills"], &lead["questions"], &lead["clientInfo"]),
        (&json!([]), &json!([]), &json!({}))
    );
    assert_eq!(lead["datetime"], 1_780_000_000_123_i64);
    assert_eq!(lead["jobUrl"], published["url"]);
    assert_eq!(
        (&lead["campaignId"], &lead["campaignName"]),
        (&json!(EXTERNAL), &json!("Campaign camp_ext"))
    );
    assert_eq!(
        (&lead["organizationId"], &lead["proposalId"]),
        (&json!(ORGANIZATION), &Value::Null)
    );
    assert_eq!(lead["status"], "new");
    let prefix = format!("http://{}", service.address());
    for operation in ["bid", "reject"] {
        let url = format!("{prefix}{}", path(EXTERNAL, id(&lead), operation));
        assert_eq!(lead[format!("{operation}Url")], url);
    }
}

fn a_filter_change_switches_the_list_at_once_and_sends_nothing(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    let mut mixed = posts::many("rust", 3);
    mixed.extend(posts::many("golang", 4));
    mixed.push(posts::hourly("rust and golang"));
    let before = world.publish(&service, EXTERNAL, mixed, 4);
    world.deliveries("job.new", 4);
    let set = |keywords: &str| {
        let filters = json!([{"id": "f_camp_ext", "keywords": keywords}]);
        world.installation.apply(&document(
            json!({"id": ORGANIZATION, "campaigns": [{"id": EXTERNAL, "filters": filters}]}),
        ));
    };
    set("golang");
    // No waiting: what apply reported holds.
    let after = all_leads(&api, EXTERNAL);
    assert_eq!(after.len(), 5);
    let both = |leads: &[Value]| {
        leads
            .iter()
            .find(|lead| lead["title"] == "rust and golang")
            .cloned()
            .unwrap()
    };
    assert_eq!(
        both(&after)["createdAt"],
        both(&before)["createdAt"],
        "a match that remains keeps its moment"
    );
    assert_eq!(both(&after)["id"], both(&before)["id"]);
    let newest = both(&before)["createdAt"].as_i64().unwrap();
    for lead in after.iter().filter(|lead| lead["title"] != "rust and golang") {
        assert!(lead["createdAt"].as_i64().unwrap() >= newest);
    }
    // A lead that left the list can still be bid on.
    let left = before.iter().find(|lead| lead["title"] == "rust 1").unwrap();
    api.post_json(&path(EXTERNAL, id(left), "bid"), &acceptance::world::bid())
        .expect(200);
    assert_eq!(world.bid_complete(id(left))["outcome"], "submitted");

    set("rust OR golang");
    let all = all_leads(&api, EXTERNAL);
    assert_eq!(all.len(), 8);
    for old in &before {
        let new = all.iter().find(|lead| lead["id"] == old["id"]).unwrap();
        assert_eq!(
            new["createdAt"], old["createdAt"],
            "a job that has a lead takes its lead's moment"
        );
    }
    set("haskell");
    assert!(all_leads(&api, EXTERNAL).is_empty());
    stays(
        "nothing is told of older jobs",
        Duration::from_millis(300),
        || {
            world
                .receiver
                .deliveries()
                .iter()
                .filter(|delivery| delivery.event() == "job.new")
                .count()
                == 4
        },
    );
}

fn a_pause_by_apply_holds_at_once(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    world.deliveries("job.new", 2);
    let state = |state: &str| {
        world.installation.apply(&document(
            json!({"id": ORGANIZATION, "campaigns": [{"id": EXTERNAL, "state": state}]}),
        ));
    };
    state("paused");
    let leads = world.publish(&service, EXTERNAL, posts::many("rust later", 3), 5);
    // What is told to do, it does.
    let api = service.api();
    api.post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &acceptance::world::bid())
        .expect(200);
    world.bid_complete(id(&leads[0]));
    state("active");
    world.publish(&service, EXTERNAL, vec![posts::hourly("rust at last")], 6);
    let told = world.deliveries("job.new", 3);
    assert_eq!(told[2].data()["lead"]["title"], "rust at last");
    assert_eq!(told.len(), 3, "jobs that came while it was paused are not told");
    // Switching to External pauses, and so does nothing else.
    let switched = world.installation.apply(&document(
        json!({"id": ORGANIZATION, "campaigns": [{"id": EXTERNAL, "mode": "automatic"}]}),
    ));
    assert_eq!(
        switched["changed"][0],
        json!({"type": "campaign", "id": EXTERNAL, "organizationId": ORGANIZATION})
    );
}

fn old_posts_are_listed_and_not_acted_on(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("watch.act_within_minutes", "60");
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let mut old = posts::hourly("rust of yesterday");
    old["postedAt"] = 1_700_000_000_000_i64.into();
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, vec![old, posts::hourly("rust of now")], 2);
    let told = world.deliveries("job.new", 1);
    assert_eq!(told[0].data()["lead"]["title"], "rust of now");
    stays("one job.new", Duration::from_millis(300), || {
        world.receiver.deliveries().len() == 1
    });
}

fn ids_that_are_no_ids_do_not_exist(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let long = "a".repeat(300);
    for id in [
        "%20",
        "a%00b",
        "%F0%9F%A6%80",
        "..%2F..",
        long.as_str(),
        "camp_EXT",
    ] {
        let answer = service.api().get(&format!("/v1/campaigns/{id}/leads"));
        assert_eq!(answer.status, 404, "{id}: {}", answer.text());
        let answer = service
            .api()
            .post_json(&path(EXTERNAL, id, "bid"), &acceptance::world::bid());
        assert_eq!(answer.status, 404, "{id}: {}", answer.text());
    }
    until("it still answers", STEP, || {
        service.api().get("/readyz").status == 200
    });
}
