//! `bidloop bids list|settle`: bids whose answer can never be had (decision B4).

use acceptance::document::{EXTERNAL, ORGANIZATION, campaign, document};
use acceptance::world::{STEP, bid, id, path};
use acceptance::{Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(bids_whose_answer_can_never_be_had_are_listed_and_settled);

fn bids_whose_answer_can_never_be_had_are_listed_and_settled(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("marketplace.timeout_ms", "500");
    let mut described = world.document(&[campaign(EXTERNAL, "rust")]);
    described["organizations"][0]["subscription"]["proposalLimit"] = 2.into();
    world.installation.apply(&described);
    let service = world.installation.serve();
    let api = service.api();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    let gateway = json!([{"call": "POST /api/proposals", "dropAfterCommit": true, "status": 502}]);
    world.simulator.put_faults(&gateway).unwrap();
    for lead in &leads[..2] {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
    }
    until("the proposals are there, the answers lost", STEP, || {
        world.accepted().len() == 2
    });
    let list = |arguments: &[&str]| {
        let mut all = vec!["bids", "list", "--json"];
        all.extend(arguments);
        let listed = world.installation.run(&all).expect(0).json();
        listed.as_array().unwrap().clone()
    };
    assert_eq!(list(&[]).len(), 2);
    assert_eq!(
        list(&["--unsettled"]),
        Vec::<Value>::new(),
        "the marketplace may still answer"
    );
    let removed = json!([{"id": "acct_1", "state": "absent"}]);
    world
        .installation
        .apply(&document(json!({"id": ORGANIZATION, "bidderAccounts": removed})));
    let unsettled = list(&["--unsettled", "--organization", ORGANIZATION]);
    assert_eq!(unsettled.len(), 2);
    assert_eq!(list(&["--unsettled", "--organization", "org_other"]).len(), 0);
    for bid in &unsettled {
        assert_eq!(
            (&bid["account"], &bid["answerOutstanding"]),
            (&json!("removed"), &json!(true)),
            "{bid}"
        );
    }
    let settle = |bid: &Value, as_what: &[&str]| {
        let bid = bid["id"].as_str().unwrap();
        let mut all = vec!["bids", "settle", "--bid", bid];
        all.extend(as_what);
        world.installation.run(&all)
    };
    settle(&unsettled[0], &["--as", "submitted"]).expect(2);
    settle(&unsettled[0], &["--as", "not-submitted", "--proposal-id", "p"]).expect(2);
    // A submitter may have had it when its account was removed.
    let as_submitted = ["--as", "submitted", "--proposal-id", "p_seen", "--json"];
    until("the bid is settled", STEP, || {
        settle(&unsettled[0], &as_submitted).status == 0
    });
    until("the bid is settled", STEP, || {
        settle(&unsettled[1], &["--as", "not-submitted"]).status == 0
    });
    let again = settle(&unsettled[0], &as_submitted).expect(1);
    assert!(again.err.contains("waits for an answer"), "{}", again.err);

    let lead_of = |bid: &Value| bid["leadId"].as_str().unwrap().to_owned();
    let taken = world.bid_complete(&lead_of(&unsettled[0]));
    assert_eq!(
        (&taken["outcome"], &taken["proposalId"]),
        (&json!("submitted"), &json!("p_seen"))
    );
    let not_taken = world.bid_complete(&lead_of(&unsettled[1]));
    assert_eq!(
        (&not_taken["outcome"], &not_taken["reason"]["code"]),
        (&json!("failed"), &json!("deadline_exceeded"))
    );
    let entries = world.installation.activity(&["--lead", &lead_of(&unsettled[0])]);
    let entry = entries
        .iter()
        .find(|entry| entry["kind"] == "submission")
        .unwrap();
    assert_eq!(
        entry["actor"],
        json!({"type": "command", "id": null, "name": "bids settle"})
    );

    // One unit of the quota was given back, the other is used.
    world.simulator.put_faults(&json!([])).unwrap();
    let account = json!([{"id": "acct_1", "token": acceptance::document::TOKEN}]);
    let mut back = document(json!({"id": ORGANIZATION, "bidderAccounts": account}));
    back["organizations"][0]["campaigns"] = json!([{"id": EXTERNAL, "bidderAccountId": "acct_1"}]);
    world.installation.apply(&back);
    api.post_json(&path(EXTERNAL, id(&leads[2]), "bid"), &bid())
        .expect(200);
    let not_taken = lead_of(&unsettled[1]);
    world
        .installation
        .run(&["leads", "reopen", "--lead", &not_taken])
        .expect(0);
    api.post_json(&path(EXTERNAL, &not_taken, "bid"), &bid())
        .expect(402);
}
