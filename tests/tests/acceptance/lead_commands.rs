//! `bidloop leads show|configure|reopen`.

use acceptance::document::{EXTERNAL, campaign};
use acceptance::world::{bid, id, lead_with_status, path};
use acceptance::{Kind, World, posts};
use serde_json::{Value, json};

on_both_databases!(
    a_leads_own_configuration_is_set_replaced_and_cleared,
    a_skipped_lead_is_reopened_and_bid_on_anew_under_another_key,
);

fn a_leads_own_configuration_is_set_replaced_and_cleared(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let lead = id(&leads[0]);
    let configure = |config: &Value| {
        let file = world.installation.file("config.json", config.to_string());
        world.installation.run(&[
            "leads",
            "configure",
            "--lead",
            lead,
            "--file",
            &file.display().to_string(),
        ])
    };
    let shown = world.installation.show(lead);
    let fields: Vec<&String> = shown.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        ["bid", "biddingConfig", "effectiveBiddingConfig", "lead", "status"]
    );
    assert_eq!((&shown["status"], &shown["bid"]), (&json!("new"), &Value::Null));
    assert_eq!(shown["lead"]["title"], "rust");
    let effective = &shown["effectiveBiddingConfig"];
    for (field, value) in [
        ("bidWithWarning", json!("skip")),
        ("biddingHourlyRateStrategy", json!("fixed_rate")),
        ("boostingEnabled", json!(false)),
        ("boostDownToNthPlace", json!(4)),
        ("connectsAbovePrevious", json!(1)),
        ("insufficientBoostConnectsAction", json!("bid_without_boost")),
        ("alreadyHiredAction", json!("skip")),
    ] {
        assert_eq!(effective[field], value, "{field}");
    }
    assert!((effective["biddingFixedHourlyRate"].as_f64().unwrap() - 45.0).abs() < 1e-9);

    configure(&json!({"bidWithWarning": "bid", "minBoost": 2})).expect(0);
    let shown = world.installation.show(lead);
    assert_eq!(
        shown["biddingConfig"],
        json!({"bidWithWarning": "bid", "minBoost": 2})
    );
    assert_eq!(shown["effectiveBiddingConfig"]["minBoost"], 2);
    configure(&json!({"alreadyHiredAction": "bid"})).expect(0);
    assert_eq!(
        world.installation.show(lead)["biddingConfig"],
        json!({"alreadyHiredAction": "bid"})
    );
    for wrong in [json!({"boost": 1}), json!({"boostDownToNthPlace": 9}), json!([])] {
        let refused = configure(&wrong).expect(1);
        assert!(!refused.err.is_empty());
        assert_eq!(
            world.installation.show(lead)["biddingConfig"],
            json!({"alreadyHiredAction": "bid"})
        );
    }
    configure(&json!({})).expect(0);
    assert_eq!(world.installation.show(lead)["biddingConfig"], json!({}));
    for arguments in [
        ["leads", "show", "--lead", "ld_nobody"],
        ["leads", "reopen", "--lead", "ld_nobody"],
    ] {
        world.installation.run(&arguments).expect(1);
    }
    world
        .installation
        .run(&["leads", "reopen", "--lead", lead])
        .expect(1);
    world.installation.run(&["leads", "show"]).expect(2);
}

fn a_skipped_lead_is_reopened_and_bid_on_anew_under_another_key(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let job = world
        .simulator
        .publish(vec![posts::hourly("rust")])
        .unwrap()
        .remove(0);
    let job = job["id"].as_str().unwrap();
    world
        .simulator
        .patch_job(job, json!({"status": "closed"}))
        .unwrap();
    let leads = acceptance::world::listed(&service.api(), EXTERNAL, 1);
    let lead = id(&leads[0]);
    let api = service.api();
    api.post_json(&path(EXTERNAL, lead, "bid"), &bid()).expect(200);
    let end = world.bid_complete(lead);
    assert_eq!(
        (&end["outcome"], &end["reason"]["code"]),
        (&json!("failed"), &json!("job_closed")),
        "{end}"
    );
    lead_with_status(&api, EXTERNAL, lead, "failed");
    assert!(!world.installation.show(lead)["bid"].is_null());

    world.simulator.patch_job(job, json!({"status": "open"})).unwrap();
    world
        .installation
        .run(&["leads", "reopen", "--lead", lead])
        .expect(0);
    lead_with_status(&api, EXTERNAL, lead, "new");
    api.post_json(&path(EXTERNAL, lead, "bid"), &bid()).expect(200);
    let submitted = lead_with_status(&api, EXTERNAL, lead, "submitted");
    assert!(submitted["proposalId"].is_string());
    world
        .installation
        .run(&["leads", "reopen", "--lead", lead])
        .expect(1);
    assert_eq!(world.accepted().len(), 1);
}
