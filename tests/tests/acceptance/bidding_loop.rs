//! The loop as a whole: posts become leads, leads become `job.new`, bids, proposals and `bid_complete`.

use std::collections::BTreeSet;
use std::time::{Duration, UNIX_EPOCH};

use acceptance::document::{AUTOMATIC, EXTERNAL, ORGANIZATION, SECRET, campaign};
use acceptance::world::{all_leads, id, lead_with_status, stays};
use acceptance::{Kind, World, posts, until};
use bidloop_client::{SignatureHeaders, WebhookVerifier};
use bidloop_simulator::{Generator, Options, PostSource, Publishing};
use serde_json::{Value, json};

on_both_databases!(
    generated_posts_become_proposals_through_the_external_callers_bids,
    an_automatic_campaign_bids_by_template,
    a_lead_that_the_template_cannot_serve_stays_parked_with_the_reason_in_activity,
    jobs_that_keep_coming_are_all_bid_on,
);

/// The external campaign answers through `bidUrl`; every end is told, and agrees with the marketplace.
fn generated_posts_become_proposals_through_the_external_callers_bids(kind: Kind) {
    let world = World::with_auto_reply(kind);
    let mut external = world.external(EXTERNAL, "rust");
    // A filter without conditions matches every job.
    external["filters"] = json!([{"id": "f_camp_ext", "name": "All"}]);
    world.provision(&[external]);
    let service = world.installation.serve();

    let mut generator = Generator::new(11);
    let posts: Vec<Value> = (0..15).map(|_| fresh(generator.next(0))).collect();
    let published = world.simulator.publish(posts).unwrap();

    let told = world.deliveries("job.new", 15);
    let leads: BTreeSet<&str> = told
        .iter()
        .filter_map(|job| job.data()["leadId"].as_str())
        .collect();
    assert_eq!(leads.len(), 15, "one job.new for each lead");
    for delivery in &told {
        let (envelope, data) = (delivery.json(), delivery.data());
        assert_eq!(envelope["version"], "2026-09-10");
        assert!(
            envelope["createdAt"].as_i64().unwrap() < 10_000_000_000,
            "UNIX seconds"
        );
        assert_eq!(delivery.header("x-service-delivery-id"), Some(delivery.id()));
        assert_eq!(data["organizationId"], ORGANIZATION);
        assert_eq!(data["campaignId"], EXTERNAL);
        let prefix = format!("http://{}/v1/campaigns/{EXTERNAL}/leads/", service.address());
        assert_eq!(data["bidUrl"], format!("{prefix}{}/bid", id(&data["lead"])));
        assert_eq!(data["rejectUrl"], format!("{prefix}{}/reject", id(&data["lead"])));
        let post = published
            .iter()
            .find(|post| post["url"] == data["lead"]["jobUrl"])
            .unwrap();
        for field in [
            "title",
            "description",
            "category",
            "projectDuration",
            "vendorQualifications",
            "openJobs",
        ] {
            assert_eq!(data["lead"][field], post[field], "{field}");
        }
    }

    let ended = world.deliveries("bid_complete", 15);
    let submitted: BTreeSet<String> = ended
        .iter()
        .filter(|end| end.data()["outcome"] == "submitted")
        .map(|end| end.data()["proposalId"].as_str().unwrap().to_owned())
        .collect();
    let proposals: BTreeSet<String> = world
        .accepted()
        .iter()
        .map(|proposal| proposal["proposalId"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(submitted, proposals);
    assert!(
        submitted.len() >= 8,
        "most generated jobs can be bid on: {}",
        submitted.len()
    );
    for end in ended.iter().filter(|end| end.data()["outcome"] != "submitted") {
        // A fixed-price job without a price has no amount to bid.
        assert_eq!(end.data()["reason"]["code"], "amount_unknown", "{}", end.data());
    }
    for lead in all_leads(&service.api(), EXTERNAL) {
        match lead["status"].as_str().unwrap() {
            "submitted" => assert!(proposals.contains(lead["proposalId"].as_str().unwrap())),
            "skipped" => assert!(lead["proposalId"].is_null()),
            other => panic!("a lead is {other}"),
        }
    }
    assert!(service.stop().success());
    let verifier = WebhookVerifier::new([SECRET])
        .unwrap()
        .tolerance(Duration::from_secs(60));
    for delivery in world.receiver.deliveries() {
        let signed = SignatureHeaders::find(|name| delivery.header(name)).unwrap();
        assert_eq!(signed.id, delivery.id());
        let now = UNIX_EPOCH + Duration::from_millis(delivery.received_at().unsigned_abs());
        verifier.check(now, signed, delivery.body()).unwrap();
    }
}

fn an_automatic_campaign_bids_by_template(kind: Kind) {
    let world = World::new(kind);
    let mut automatic = campaign(AUTOMATIC, "logo");
    automatic["mode"] = "automatic".into();
    automatic["state"] = "active".into();
    automatic["proposal"] = json!({
        "coverLetter": "Hello, about {{ title }}.",
        "answers": [{"question": "When can you start?", "answer": "On Monday, with {{ title }}."}],
    });
    world.provision(&[automatic]);
    let service = world.installation.serve();
    let mut post = posts::hourly("A logo for a bakery");
    post["questions"] = json!(["When can you start?"]);
    world
        .simulator
        .publish(vec![post, posts::hourly("A rust expert")])
        .unwrap();

    let end = world.deliveries("bid_complete", 1)[0].data().clone();
    assert_eq!(end["outcome"], "submitted", "{end}");
    assert_eq!(end["terms"], json!({"type": "hourly", "amount": 45}));
    let proposals = world.accepted();
    assert_eq!(proposals.len(), 1);
    assert_eq!(proposals[0]["coverLetter"], "Hello, about A logo for a bakery.");
    assert_eq!(
        proposals[0]["answers"][0]["answer"],
        "On Monday, with A logo for a bakery."
    );
    let lead = end["leadId"].as_str().unwrap();
    let lead = lead_with_status(&service.api(), AUTOMATIC, lead, "submitted");
    assert_eq!(lead["proposalId"], end["proposalId"]);
    assert!(
        world
            .receiver
            .deliveries()
            .iter()
            .all(|delivery| delivery.event() == "bid_complete"),
        "an automatic campaign sends no job.new"
    );
}

fn a_lead_that_the_template_cannot_serve_stays_parked_with_the_reason_in_activity(kind: Kind) {
    let world = World::new(kind);
    let mut automatic = campaign(AUTOMATIC, "logo");
    automatic["mode"] = "automatic".into();
    automatic["state"] = "active".into();
    automatic["proposal"] = json!({"coverLetter": "Hello, about {{ title }}."});
    world.provision(&[automatic]);
    let service = world.installation.serve();
    let mut post = posts::hourly("A logo");
    post["questions"] = json!(["What did you eat today?"]);
    let leads = world.publish(&service, AUTOMATIC, vec![post], 1);

    until("the reason stands in Activity", Duration::from_secs(10), || {
        let lines = world.installation.activity(&["--lead", id(&leads[0])]);
        lines.iter().any(|line| {
            line["kind"] == "bid"
                && line["outcome"] == "refused"
                && line["actor"]["type"] == "service"
                && line["message"]
                    .as_str()
                    .is_some_and(|message| message.contains("What did you eat today?"))
        })
    });
    assert_eq!(all_leads(&service.api(), AUTOMATIC)[0]["status"], "new");
    assert!(world.accepted().is_empty());
}

/// Under a steady stream each job is told, bid on and submitted once.
fn jobs_that_keep_coming_are_all_bid_on(kind: Kind) {
    let publishing = Publishing {
        source: PostSource::Generated { seed: 5, backlog: 20 },
        rate: Some(20.0),
        fresh_times: true,
    };
    let options = Options {
        publishing: Some(publishing),
        ..Options::default()
    };
    let world = World::with(kind, options, Some(acceptance::document::KEY.to_owned()));
    let mut external = world.external(EXTERNAL, "x");
    external["filters"] = json!([{"id": "f_camp_ext", "name": "All"}]);
    world.provision(&[external]);
    let service = world.installation.serve();
    // One account's proposals go out one after the other, and the machine may be busy.
    until("60 bids have ended", Duration::from_secs(60), || {
        let all = world.receiver.deliveries();
        all.iter()
            .filter(|delivery| delivery.event() == "bid_complete")
            .count()
            >= 60
    });
    let unique: BTreeSet<String> = world
        .receiver
        .deliveries()
        .iter()
        .map(|delivery| delivery.id().to_owned())
        .collect();
    assert_eq!(
        unique.len(),
        unique_events(&world),
        "one delivery for each event of each lead"
    );
    let jobs: BTreeSet<String> = world
        .simulator
        .proposals()
        .iter()
        .map(|proposal| proposal["jobId"].to_string())
        .collect();
    stays("one proposal a job", Duration::from_millis(100), || {
        let proposals = world.simulator.proposals();
        proposals.iter().all(|proposal| proposal["status"] == 201) && proposals.len() >= jobs.len()
    });
    assert!(service.stop().success());
}

fn unique_events(world: &World) -> usize {
    let deliveries = world.receiver.deliveries();
    let events: BTreeSet<(String, String)> = deliveries
        .iter()
        .map(|delivery| (delivery.event().to_owned(), delivery.data()["leadId"].to_string()))
        .collect();
    assert_eq!(events.len(), deliveries.len());
    events.len()
}

/// A generated post as if it had just come.
fn fresh(mut post: Value) -> Value {
    post["postedAt"] = Value::Null;
    post["url"] = Value::Null;
    // What the marketplace would demand of the bidder is no part of these rules.
    post
}
