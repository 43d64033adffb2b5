//! A marketplace that fails in every way it can: what passes is retried, what does not is told, nothing is lost.

use std::time::{Duration, Instant};

use acceptance::document::{EXTERNAL, ORGANIZATION, campaign, document};
use acceptance::world::{STEP, all_leads, bid, id, lead_with_status, listed, path};
use acceptance::{Kind, Service, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    passing_faults_are_retried_until_the_proposal_is_accepted,
    retry_after_is_honoured,
    an_answer_that_never_came_is_asked_for_again_under_the_same_key,
    an_answer_that_is_not_the_marketplaces_ends_no_bid_even_beyond_the_deadline,
    an_invalid_token_disconnects_the_account_until_it_is_given_a_new_one,
    a_deadline_ends_a_bid_that_the_marketplace_never_took,
    refusals_end_the_bid_with_their_reason,
    boosts_follow_the_auction_as_the_configuration_says,
    an_account_bids_once_on_a_job_whichever_campaign_asks,
    a_marketplace_that_answers_nonsense_is_survived,
    a_feed_that_fails_is_read_on_where_it_stopped,
    a_feed_entry_that_departs_from_the_protocol_holds_up_nothing,
    of_300_proposals_whose_answers_a_gateway_replaced_none_is_denied_and_none_doubled,
);

/// A world with one lead for each of the posts, of an External campaign that is paused.
fn begin(world: &World, count: usize) -> (Service, Vec<Value>) {
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", count), count as u64);
    (service, leads)
}

fn job_of(lead: &Value) -> &str {
    lead["jobUrl"].as_str().unwrap().rsplit("~02").next().unwrap()
}

fn passing_faults_are_retried_until_the_proposal_is_accepted(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("marketplace.timeout_ms", "800");
    let (service, leads) = begin(&world, 5);
    let api = service.api();
    for (lead, fault) in leads.iter().zip([
        json!([{"call": "POST /api/proposals", "times": 2, "status": 503}]),
        json!([{"call": "POST /api/proposals", "times": 1, "hang": true}]),
        json!([{"call": "POST /api/proposals", "times": 1, "malformed": true}]),
        json!([{"call": "GET /api/jobs/<id>", "times": 1, "status": 500}, {"call": "GET /api/account", "times": 1, "hang": true}]),
        json!([{"call": "GET /api/jobs/<id>", "times": 1, "malformed": true}, {"call": "POST /api/proposals", "times": 1, "status": 502}]),
    ]) {
        world.simulator.put_faults(&fault).unwrap();
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid()).expect(200);
        let end = world.bid_complete(id(lead));
        assert_eq!(end["outcome"], "submitted", "{fault}: {end}");
    }
    let proposals = world.simulator.proposals();
    assert_eq!(proposals.len(), 5);
    assert!(proposals.iter().all(|proposal| proposal["status"] == 201));
}

fn retry_after_is_honoured(kind: Kind) {
    let world = World::new(kind);
    let (service, leads) = begin(&world, 1);
    world
        .simulator
        .put_faults(&json!([{"call": "POST /api/proposals", "times": 1, "status": 429, "retryAfter": 3}]))
        .unwrap();
    service
        .api()
        .post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(200);
    until("the call is refused", STEP, || {
        world.simulator.stats()["faultsStruck"] == 1
    });
    let refused = Instant::now();
    assert_eq!(world.bid_complete(id(&leads[0]))["outcome"], "submitted");
    let waited = refused.elapsed();
    assert!(
        waited >= Duration::from_millis(2_800),
        "came again after {waited:?}"
    );
}

fn an_answer_that_never_came_is_asked_for_again_under_the_same_key(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("marketplace.timeout_ms", "800");
    let (service, leads) = begin(&world, 3);
    let api = service.api();
    for (lead, lost) in leads.iter().zip([
        json!({"dropAfterCommit": true}),
        json!({"dropAfterCommit": true, "hang": true}),
        json!({"dropAfterCommit": true, "status": 500}),
    ]) {
        let mut fault = lost.clone();
        fault["call"] = "POST /api/proposals".into();
        fault["times"] = 2.into();
        world.simulator.put_faults(&json!([fault])).unwrap();
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
        let job = job_of(lead);
        until("the marketplace takes the proposal", STEP, || {
            world.accepted().iter().any(|p| p["jobId"] == job)
        });
        // Whatever the job looks like by now, the proposal is there.
        let state =
            json!({"status": "closed", "alreadyHired": true, "warnings": [{"code": "w", "message": "W"}]});
        world.simulator.patch_job(job, state).unwrap();
        let end = world.bid_complete(id(lead));
        assert_eq!(end["outcome"], "submitted", "{lost}: {end}");
        let accepted = world.accepted();
        let of_job: Vec<&Value> = accepted.iter().filter(|p| p["jobId"] == job).collect();
        assert_eq!(of_job.len(), 1, "{lost}");
        assert_eq!(of_job[0]["proposalId"], end["proposalId"]);
        assert!(of_job[0]["attempts"].as_u64().unwrap() >= 3, "{}", of_job[0]);
    }
    assert_eq!(world.simulator.proposals().len(), 3);
}

/// Decision B4: a gateway's page says nothing about the proposal, whatever its status.
fn an_answer_that_is_not_the_marketplaces_ends_no_bid_even_beyond_the_deadline(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("submission.deadline_ms", "1000");
    let statuses = [502, 504, 408, 401, 402, 404, 409, 422, 429];
    let (service, leads) = begin(&world, statuses.len());
    let api = service.api();
    for (lead, status) in leads.iter().zip(statuses) {
        let gateway = json!([{"call": "POST /api/proposals", "dropAfterCommit": true, "status": status}]);
        world.simulator.put_faults(&gateway).unwrap();
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
        let job = job_of(lead);
        until("the marketplace takes the proposal", STEP, || {
            world.accepted().iter().any(|p| p["jobId"] == job)
        });
    }
    let outage = json!([{"call": "POST /api/proposals", "status": 503}]);
    world.simulator.put_faults(&outage).unwrap();
    // Long enough for the last bid's deadline to pass and for some of them to be tried again.
    let over = Instant::now() + Duration::from_millis(1_500);
    until("the deadline passes", STEP, || Instant::now() >= over);
    for lead in all_leads(&api, EXTERNAL) {
        assert_eq!(lead["status"], "queued", "{lead}");
    }
    world.simulator.put_faults(&json!([])).unwrap();
    for lead in &leads {
        assert_eq!(world.bid_complete(id(lead))["outcome"], "submitted");
    }
    assert_eq!(world.simulator.proposals().len(), statuses.len());
}

fn an_invalid_token_disconnects_the_account_until_it_is_given_a_new_one(kind: Kind) {
    let world = World::new(kind);
    let (service, leads) = begin(&world, 4);
    let api = service.api();
    // The first answer is held up, so that two more bids wait behind it on the same account.
    world.simulator.put_faults(&json!([{"call": "GET /api/account", "times": 1, "delayMs": 1500, "status": 401, "body": {"code": "invalid_token", "message": "no"}}])).unwrap();
    for lead in &leads[..3] {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
    }
    let failed = acceptance::eventually("one bid fails", STEP, || {
        all_leads(&api, EXTERNAL)
            .into_iter()
            .find(|lead| lead["status"] == "failed")
    });
    assert_eq!(world.bid_complete(id(&failed))["reason"]["code"], "invalid_token");
    let refused = api
        .post_json(&path(EXTERNAL, id(&leads[3]), "bid"), &bid())
        .expect(400)
        .json();
    assert!(
        refused["message"].as_str().unwrap().contains("account"),
        "{refused}"
    );
    let waiting = all_leads(&api, EXTERNAL)
        .into_iter()
        .filter(|lead| lead["status"] == "queued")
        .count();
    assert_eq!(waiting, 2, "the account's other bids wait");
    assert!(world.simulator.proposals().is_empty());

    world
        .simulator
        .put_account("token-2", json!({"id": "market-1"}))
        .unwrap();
    let account = json!([{"id": "acct_1", "token": "token-2"}]);
    world
        .installation
        .apply(&document(json!({"id": ORGANIZATION, "bidderAccounts": account})));
    api.post_json(&path(EXTERNAL, id(&leads[3]), "bid"), &bid())
        .expect(200);
    until("the waiting bids are submitted", STEP, || {
        all_leads(&api, EXTERNAL)
            .iter()
            .filter(|lead| lead["status"] == "submitted")
            .count()
            == 3
    });
    assert!(
        world
            .accepted()
            .iter()
            .all(|proposal| proposal["token"] == "token-2")
    );
}

fn a_deadline_ends_a_bid_that_the_marketplace_never_took(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("submission.deadline_ms", "2000");
    let mut document = world.document(&[campaign(EXTERNAL, "rust")]);
    document["organizations"][0]["subscription"]["proposalLimit"] = 1.into();
    world.installation.apply(&document);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    world
        .simulator
        .put_faults(&json!([{"call": "GET /api/jobs/<id>", "status": 503}]))
        .unwrap();
    let api = service.api();
    api.post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(200);
    let end = world.bid_complete(id(&leads[0]));
    assert_eq!(
        (&end["outcome"], &end["reason"]["code"]),
        (&json!("failed"), &json!("deadline_exceeded")),
        "{end}"
    );
    assert_eq!(
        (&end["proposalId"], &end["terms"], &end["connectsSpent"]),
        (&Value::Null, &Value::Null, &json!(0))
    );
    lead_with_status(&api, EXTERNAL, id(&leads[0]), "failed");
    // Its unit of quota is free again.
    world.simulator.put_faults(&json!([])).unwrap();
    api.post_json(&path(EXTERNAL, id(&leads[1]), "bid"), &bid())
        .expect(200);
    assert_eq!(world.bid_complete(id(&leads[1]))["outcome"], "submitted");
}

fn refusals_end_the_bid_with_their_reason(kind: Kind) {
    let world = World::new(kind);
    let (service, leads) = begin(&world, 6);
    let api = service.api();
    let cases = [
        (json!({"status": "closed"}), "failed", "job_closed"),
        (json!({"alreadyHired": true}), "skipped", "already_hired"),
        (
            json!({"warnings": [{"code": "scam", "message": "Careful."}]}),
            "skipped",
            "job_warning",
        ),
        (json!({"eligible": false}), "failed", "not_eligible"),
        (
            json!({"requiredConnects": 1_000_000}),
            "skipped",
            "insufficient_connects",
        ),
    ];
    for (lead, (state, outcome, code)) in leads.iter().zip(cases) {
        world.simulator.patch_job(job_of(lead), state).unwrap();
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
        let end = world.bid_complete(id(lead));
        assert_eq!(
            (&end["outcome"], &end["reason"]["code"]),
            (&json!(outcome), &json!(code)),
            "{end}"
        );
        assert!(end["reason"]["message"].is_string());
        assert_eq!(
            (&end["proposalId"], &end["connectsSpent"]),
            (&Value::Null, &json!(0))
        );
    }
    // A warning that the caller has decided to accept.
    world
        .simulator
        .patch_job(
            job_of(&leads[5]),
            json!({"warnings": [{"code": "scam", "message": "Careful."}]}),
        )
        .unwrap();
    let mut bold = bid();
    bold["biddingConfig"] = json!({"bidWithWarning": "bid"});
    api.post_json(&path(EXTERNAL, id(&leads[5]), "bid"), &bold)
        .expect(200);
    assert_eq!(world.bid_complete(id(&leads[5]))["outcome"], "submitted");
    assert_eq!(world.accepted()[0]["acceptWarnings"], true);
}

fn a_marketplace_that_answers_nonsense_is_survived(kind: Kind) {
    let mut world = World::new(kind);
    world.installation.set("marketplace.timeout_ms", "1000");
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let nonsense: Vec<Value> = [
        json!("jobs"),
        json!({"jobs": 3}),
        json!({"jobs": [], "cursor": 5, "hasMore": "no"}),
        json!({"jobs": [{}, 7, "x", null], "cursor": "c", "hasMore": true}),
    ]
    .into_iter()
    .map(|body| json!({"call": "GET /api/jobs", "times": 1, "status": 200, "body": body}))
    .collect();
    let mut faults = nonsense;
    faults.push(json!({"call": "GET /api/jobs", "times": 1, "malformed": true}));
    faults.push(json!({"call": "GET /api/jobs", "times": 1, "status": 301}));
    faults.push(json!({"call": "GET /api/jobs", "times": 1, "hang": true}));
    faults.push(json!({"call": "GET /api/jobs/<id>", "times": 1, "status": 200, "body": {"job": 1}}));
    faults.push(json!({"call": "GET /api/account", "times": 1, "status": 200, "body": []}));
    faults.push(json!({"call": "POST /api/proposals", "times": 1, "status": 200, "body": {"proposalId": 3}}));
    world.simulator.put_faults(&json!(faults)).unwrap();
    world.simulator.publish(posts::many("rust", 3)).unwrap();
    let service = world.installation.serve();
    let told = acceptance::eventually("the jobs are told", Duration::from_secs(60), || {
        let told = world.receiver.deliveries();
        (told.len() >= 3).then_some(told)
    });
    assert_eq!(told.len(), 3);
    let leads = listed(&service.api(), EXTERNAL, 3);
    service
        .api()
        .post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &bid())
        .expect(200);
    let submitted = acceptance::eventually("the bid is submitted", Duration::from_secs(60), || {
        let found = listed(&service.api(), EXTERNAL, 3).remove(0);
        (found["status"] == "submitted").then_some(found)
    });
    assert!(submitted["proposalId"].is_string());
    assert_eq!(world.simulator.proposals().len(), 1);
    assert!(!service.log().contains("panicked"), "{}", service.log());
    assert!(service.stop().success());
}

fn a_feed_that_fails_is_read_on_where_it_stopped(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[world.external(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let outage: Vec<Value> = [503, 429, 408, 401]
        .iter()
        .map(|status| json!({"call": "GET /api/jobs", "times": 1, "status": status}))
        .collect();
    world.simulator.put_faults(&json!(outage)).unwrap();
    world
        .simulator
        .publish(posts::many("rust during the outage", 4))
        .unwrap();
    acceptance::eventually("the outage is over", Duration::from_secs(60), || {
        let page = service
            .api()
            .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
            .expect(200)
            .json();
        (page["total"] == 6).then_some(())
    });
    assert_eq!(world.deliveries("job.new", 6).len(), 6);
}

fn a_feed_entry_that_departs_from_the_protocol_holds_up_nothing(kind: Kind) {
    let mut world = World::new(kind);
    let page = json!({
        "jobs": [
            {"id": "good-1", "ciphertext": "~1", "title": "rust one", "description": "", "url": "http://m.test/1", "postedAt": 1_700_000_000_000_i64},
            {"title": "no id"},
            {"id": "bad-1", "ciphertext": "~", "title": 7, "description": "", "url": "x", "postedAt": "yesterday"},
            {"id": "", "ciphertext": "~", "title": "rust", "description": "", "url": "x", "postedAt": 1},
            null,
            {"id": "bad-2", "ciphertext": "~", "title": "rust", "description": "", "url": "javascript:alert(1)", "postedAt": 1},
            {"id": "good-2", "ciphertext": "~2", "title": "rust two", "description": "", "url": "http://m.test/2", "postedAt": 1_700_000_000_001_i64},
        ],
        "cursor": "made-up", "hasMore": false,
    });
    world.installation.set("marketplace.poll_interval_ms", "100");
    world.provision(&[campaign(EXTERNAL, "rust")]);
    world
        .simulator
        .put_faults(&json!([{"call": "GET /api/jobs", "times": 1, "status": 200, "body": page}]))
        .unwrap();
    world.simulator.publish(posts::many("rust", 2)).unwrap();
    let service = world.installation.serve();
    let leads = listed(&service.api(), EXTERNAL, 4);
    // The made-up cursor is refused by the marketplace, so reading begins anew.
    let titles: Vec<&str> = leads.iter().map(|lead| lead["title"].as_str().unwrap()).collect();
    for title in ["rust one", "rust two", "rust 1", "rust 2"] {
        assert!(titles.contains(&title), "{titles:?}");
    }
}

/// Decision B7, at the marketplace: standing boosts of 20, 15, 10 and 5.
fn boosts_follow_the_auction_as_the_configuration_says(kind: Kind) {
    let world = World::new(kind);
    let cases = [
        (json!({"boostDownToNthPlace": 2}), Some(16)),
        (json!({"boostDownToNthPlace": 2, "maximumBoost": 25}), Some(21)),
        (json!({"boostDownToNthPlace": 2, "maximumBoost": 18}), Some(16)),
        (json!({"boostDownToNthPlace": 2, "maximumBoost": 15}), Some(0)),
        (
            json!({"boostDownToNthPlace": 4, "connectsAbovePrevious": 3, "minBoost": 9}),
            Some(9),
        ),
        (json!({"boostDownToNthPlace": 4, "minBoost": 200_000}), Some(0)),
        (
            json!({"boostDownToNthPlace": 4, "minBoost": 200_000, "insufficientBoostConnectsAction": "skip"}),
            None,
        ),
    ];
    let (service, leads) = begin(&world, cases.len());
    let api = service.api();
    for (lead, (config, boost)) in leads.iter().zip(cases) {
        let job = job_of(lead);
        world
            .simulator
            .patch_job(job, json!({"boosts": [20, 15, 10, 5], "requiredConnects": 8}))
            .unwrap();
        let mut asked = bid();
        asked["biddingConfig"] = config.clone();
        asked["biddingConfig"]["boostingEnabled"] = true.into();
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &asked)
            .expect(200);
        let end = world.bid_complete(id(lead));
        let Some(boost) = boost else {
            assert_eq!(
                end["reason"]["code"], "insufficient_boost_connects",
                "{config}: {end}"
            );
            continue;
        };
        assert_eq!(end["outcome"], "submitted", "{config}: {end}");
        assert_eq!(
            (&end["boostConnects"], &end["connectsSpent"]),
            (&json!(boost), &json!(boost + 8)),
            "{config}"
        );
        let accepted = world.accepted();
        let proposal = accepted.iter().find(|proposal| proposal["jobId"] == job).unwrap();
        assert_eq!(proposal["boostConnects"], boost, "{config}");
    }
}

fn an_account_bids_once_on_a_job_whichever_campaign_asks(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust"), campaign("camp_other", "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    let first = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let second = listed(&api, "camp_other", 1);
    assert_ne!(
        id(&first[0]),
        id(&second[0]),
        "each campaign has a lead of its own"
    );
    api.post_json(&path(EXTERNAL, id(&first[0]), "bid"), &bid())
        .expect(200);
    assert_eq!(world.bid_complete(id(&first[0]))["outcome"], "submitted");
    api.post_json(&path("camp_other", id(&second[0]), "bid"), &bid())
        .expect(200);
    let end = world.bid_complete(id(&second[0]));
    assert_eq!(
        (&end["outcome"], &end["reason"]["code"]),
        (&json!("failed"), &json!("already_applied")),
        "{end}"
    );
    let lead = lead_with_status(&api, "camp_other", id(&second[0]), "failed");
    assert_eq!(lead["proposalId"], Value::Null);
    assert_eq!(world.simulator.proposals().len(), 1);
}

/// Decision B4. The outage after the gateway's answers outlasts every deadline, within which each bid is tried at least once.
fn of_300_proposals_whose_answers_a_gateway_replaced_none_is_denied_and_none_doubled(kind: Kind) {
    const ACCOUNTS: usize = 10;
    const JOBS: usize = 30;
    const PROPOSALS: usize = ACCOUNTS * JOBS;
    const DEADLINE: Duration = Duration::from_secs(15);
    let mut world = World::new(kind);
    world
        .installation
        .set("submission.deadline_ms", &DEADLINE.as_millis().to_string());
    let campaigns: Vec<String> = (0..ACCOUNTS).map(|number| format!("camp_{number}")).collect();
    let mut accounts = Vec::new();
    let mut described = Vec::new();
    for name in &campaigns {
        let (account, token) = (format!("of_{name}"), format!("token_of_{name}"));
        let balance = json!({"id": account, "connectsBalance": 100_000, "profileHourlyRate": 50});
        world.simulator.put_account(&token, balance).unwrap();
        accounts.push(json!({"id": account, "token": token}));
        let mut campaign = campaign(name, "rust");
        campaign["bidderAccountId"] = account.into();
        described.push(campaign);
    }
    let mut document = world.document(&described);
    document["organizations"][0]["bidderAccounts"] = accounts.into();
    world.installation.apply(&document);
    let service = world.installation.serve();
    let api = service.api();
    world.publish(&service, &campaigns[0], posts::many("rust", JOBS), JOBS as u64);
    let gateway = json!([
        {"call": "POST /api/proposals", "times": PROPOSALS / 2, "dropAfterCommit": true, "status": 502},
        {"call": "POST /api/proposals", "dropAfterCommit": true, "status": 504},
    ]);
    world.simulator.put_faults(&gateway).unwrap();
    for name in &campaigns {
        listed(&api, name, JOBS as u64);
        for lead in all_leads(&api, name) {
            api.post_json(&path(name, id(&lead), "bid"), &bid()).expect(200);
        }
    }
    until("the marketplace has taken every proposal", 3 * STEP, || {
        world.accepted().len() == PROPOSALS
    });
    let outage = json!([{"call": "POST /api/proposals", "status": 503}]);
    world.simulator.put_faults(&outage).unwrap();
    let over = Instant::now() + DEADLINE + Duration::from_secs(2);
    until("the outage is over", STEP, || Instant::now() >= over);
    world.simulator.put_faults(&json!([])).unwrap();
    let all = || campaigns.iter().flat_map(|name| all_leads(&api, name));
    until("every bid has ended", 3 * STEP, || {
        all().all(|lead| lead["status"] != "queued")
    });
    let leads: Vec<_> = all().collect();
    let denied = leads.iter().filter(|lead| lead["status"] != "submitted").count();
    let doubled = world.simulator.proposals().len() - PROPOSALS;
    eprintln!("{PROPOSALS} gateway's answers: {denied} proposals denied, {doubled} doubled");
    assert_eq!((denied, doubled), (0, 0));
}
