//! Decision B2: however many requests arrive at once, one lead is queued once and the quota holds.

use std::sync::Barrier;
use std::time::Duration;

use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{bid, id, path, stays};
use acceptance::{Answer, Kind, Service, World, posts, until};
use serde_json::json;

on_both_databases!(
    of_64_bids_at_once_exactly_the_quota_of_ten_is_taken,
    of_20_bids_on_one_lead_exactly_one_is_taken_and_the_others_name_the_status,
);

fn of_64_bids_at_once_exactly_the_quota_of_ten_is_taken(kind: Kind) {
    let world = World::new(kind);
    let mut document = world.document(&[campaign(EXTERNAL, "rust")]);
    document["organizations"][0]["subscription"]["proposalLimit"] = 10.into();
    world.installation.apply(&document);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust job", 64), 64);
    let paths: Vec<String> = leads.iter().map(|lead| path(EXTERNAL, id(lead), "bid")).collect();

    let answers = all_at_once(&service, &paths);
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(taken, 10);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.status, 402, "{}", answer.text());
        let body = answer.json();
        assert!(body["message"].is_string());
        assert_eq!(body["code"], "proposal_limit_reached");
        assert_eq!(body["currentUsage"], 10);
        assert_eq!(body["limit"], 10);
        assert_eq!(body["currentPeriodEnd"], 4_000_000_000_i64);
    }
    until("ten proposals arrive", Duration::from_secs(20), || {
        world.accepted().len() == 10
    });
    stays("ten proposals", Duration::from_millis(300), || {
        world.simulator.proposals().len() == 10
    });
}

fn of_20_bids_on_one_lead_exactly_one_is_taken_and_the_others_name_the_status(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let answers = all_at_once(&service, &vec![path(EXTERNAL, id(&leads[0]), "bid"); 20]);
    let taken = answers.iter().filter(|answer| answer.status == 200).count();
    assert_eq!(taken, 1);
    for answer in answers.iter().filter(|answer| answer.status != 200) {
        assert_eq!(answer.status, 409, "{}", answer.text());
        let body = answer.json();
        let message = body["message"].as_str().unwrap();
        assert!(
            message.contains("queued") || message.contains("submitted"),
            "{message}"
        );
        assert_eq!(
            (&body["statusCode"], &body["error"]),
            (&json!(409), &json!("Conflict"))
        );
    }
    until("the proposal arrives", Duration::from_secs(20), || {
        world.accepted().len() == 1
    });
    stays("one proposal", Duration::from_millis(300), || {
        world.simulator.proposals().len() == 1
    });
}

/// Bids through each path, all released at the same moment.
fn all_at_once(service: &Service, paths: &[String]) -> Vec<Answer> {
    let barrier = Barrier::new(paths.len());
    std::thread::scope(|scope| {
        let clients: Vec<_> = paths
            .iter()
            .map(|path| {
                let (api, barrier) = (service.api(), &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    api.post_json(path, &bid())
                })
            })
            .collect();
        clients.into_iter().map(|client| client.join().unwrap()).collect()
    })
}
