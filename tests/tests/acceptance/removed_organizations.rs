//! An organization that is removed while the service runs: gone at once, erased whole, and nobody else notices.

use acceptance::api::Upload;
use acceptance::document::{EXTERNAL, document, organization};
use acceptance::world::{STEP, all_leads, bid, id, lead_with_status, listed, path};
use acceptance::{Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(a_removed_organization_is_gone_at_once_erased_whole_and_nobody_else_notices);

const GONE: &str = "org_gone";
const GONE_CAMPAIGN: &str = "camp_gone";
const GONE_KEY: &str = "lk_90e090e090e090e090e090e090e090e090e090e090e090e090e090e090e090e0";
const NEW_KEY: &str = "lk_0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e0e";

fn gone(world: &World, key: &str) -> Value {
    let mut described = organization();
    described["id"] = GONE.into();
    described["users"] = json!([{"email": "ann@gone.test"}]);
    described["apiKeys"] = json!([{"id": "key_ci", "key": key}]);
    described["webhooks"] = world.organization()["webhooks"].clone();
    let mut campaign = world.external(GONE_CAMPAIGN, "rust");
    campaign["attachments"] =
        json!([{"name": "portfolio.txt", "contentType": "text/plain", "path": "files/portfolio.txt"}]);
    described["campaigns"] = json!([campaign]);
    described
}

fn removal() -> Value {
    document(json!({"id": GONE, "state": "absent"}))
}

fn prune(world: &World) -> Value {
    world.installation.run(&["prune", "--json"]).expect(0).json()
}

fn a_removed_organization_is_gone_at_once_erased_whole_and_nobody_else_notices(kind: Kind) {
    let world = World::new(kind);
    let installation = &world.installation;
    installation.file("files/portfolio.txt", "Five years of Rust.");
    world.provision(&[world.external(EXTERNAL, "rust")]);
    installation.apply(&document(gone(&world, GONE_KEY)));
    let service = installation.serve();
    let (api, gone_api) = (service.api(), service.api_with(Some(GONE_KEY)));
    let kept = world.publish(&service, EXTERNAL, posts::many("rust", 4), 4);
    let leads = listed(&gone_api, GONE_CAMPAIGN, 4);
    let upload = path(GONE_CAMPAIGN, id(&leads[1]), "attachments");
    let file = Upload {
        name: "offer.txt",
        content_type: "text/plain",
        content: b"offer",
    };
    gone_api.upload(&upload, &[file]).expect(200);
    // A crash may have left this one: no row names it.
    let attachments = installation.attachments();
    attachments.put("org_gone/ld_x/0b-left-over.txt", "left over");
    assert_eq!(attachments.list(GONE).len(), 2);
    assert_eq!(attachments.list(&format!("campaigns/{GONE}")).len(), 1);

    // While the outcome of a bid is not known, the organization stays.
    let away = json!([{"call": "POST /api/proposals", "status": 503}]);
    world.simulator.put_faults(&away).unwrap();
    gone_api
        .post_json(&path(GONE_CAMPAIGN, id(&leads[0]), "bid"), &bid())
        .expect(200);
    let refused = installation.try_apply(&removal()).expect(1);
    let expected = "organizations[0].state: 1 bid is queued, being submitted or unsettled";
    assert!(refused.err.contains(expected), "{}", refused.err);
    listed(&gone_api, GONE_CAMPAIGN, 4);
    world.simulator.put_faults(&json!([])).unwrap();
    lead_with_status(&gone_api, GONE_CAMPAIGN, id(&leads[0]), "submitted");
    assert_eq!(world.bid_complete(id(&leads[0]))["outcome"], "submitted");

    let report = installation.apply(&removal());
    let removed = report["removed"].as_array().unwrap();
    assert_eq!(removed.len(), 8, "{report}");
    assert_eq!(removed[7]["type"], "organization", "{report}");
    gone_api
        .get(&format!("/v1/campaigns/{GONE_CAMPAIGN}/leads"))
        .expect(401);
    gone_api
        .post_json(&path(GONE_CAMPAIGN, id(&leads[2]), "bid"), &bid())
        .expect(401);
    let counted = installation
        .run(&["prune", "--dry-run", "--json"])
        .expect(0)
        .json();
    assert_eq!(counted["removedOrganizations"], json!([GONE]));
    let too_early = installation.try_apply(&document(gone(&world, NEW_KEY))).expect(1);
    assert!(
        too_early.err.contains("is still being erased"),
        "{}",
        too_early.err
    );

    // The other organization's lists, bids and deliveries go on.
    let before = world.deliveries("job.new", 8).len();
    world.simulator.publish(posts::many("rust", 3)).unwrap();
    let all = listed(&api, EXTERNAL, 7);
    assert_eq!(world.deliveries("job.new", before + 3).len(), before + 3);
    api.post_json(&path(EXTERNAL, id(&all[0]), "bid"), &bid())
        .expect(200);
    assert_eq!(world.bid_complete(id(&all[0]))["outcome"], "submitted");

    // The service may be at it already.
    until("all is erased", STEP, || {
        prune(&world)["removedOrganizations"] == json!([])
    });
    for folder in [GONE.to_owned(), format!("campaigns/{GONE}")] {
        assert_eq!(attachments.list(&folder), Vec::<String>::new());
    }
    for (table, rows) in installation.database().rows_as_text() {
        assert!(!rows.contains(GONE), "{table}: {rows}");
    }
    assert_eq!(
        installation.activity(&["--organization", GONE]),
        Vec::<Value>::new()
    );
    assert_eq!(all_leads(&api, EXTERNAL).len(), 7);
    lead_with_status(&api, EXTERNAL, id(&kept[0]), "new");

    // Another organization can have the id, but not the key. It knows the jobs, and nothing of what was done with them.
    let old_key = installation
        .try_apply(&document(gone(&world, GONE_KEY)))
        .expect(1);
    assert!(old_key.err.contains("never works again"), "{}", old_key.err);
    installation.apply(&document(gone(&world, NEW_KEY)));
    let anew = service.api_with(Some(NEW_KEY));
    let leads = listed(&anew, GONE_CAMPAIGN, 7);
    assert!(leads.iter().all(|lead| lead["status"] == "new"), "{leads:?}");
    assert_eq!(
        installation.activity(&["--organization", GONE]),
        Vec::<Value>::new()
    );
    service
        .api_with(Some(GONE_KEY))
        .get(&format!("/v1/campaigns/{GONE_CAMPAIGN}/leads"))
        .expect(401);
    let deliveries = world.receiver.deliveries().len();
    anew.post_json(&path(GONE_CAMPAIGN, id(&leads[0]), "bid"), &bid())
        .expect(200);
    until("its bid is told of", STEP, || {
        world.receiver.deliveries().len() > deliveries
    });
}
