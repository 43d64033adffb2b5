//! Bidding and rejecting: the order of checks, dry runs, question rules, configuration, and what never changes.

use std::time::Duration;

use acceptance::document::{EXTERNAL, KEY, ORGANIZATION, campaign};
use acceptance::world::{STEP, all_leads, bid, id, lead_with_status, path, stays};
use acceptance::{Kind, World, posts, until};
use serde_json::{Value, json};

on_both_databases!(
    checks_come_in_the_order_of_decision_a1,
    every_question_is_quoted_verbatim_and_answered_once,
    a_missing_rate_is_told_by_its_code,
    faults_of_shape_name_their_path,
    a_dry_run_sends_a_simulated_bid_complete_and_changes_nothing_else,
    a_rejected_lead_is_never_bid_on,
    a_rejection_takes_a_reason_of_500_characters_and_no_body_at_all,
    a_bid_overrides_the_lead_which_overrides_the_campaign,
    a_real_bid_without_an_account_is_refused_and_a_dry_run_passes,
    an_unknown_path_is_404_and_a_wrong_method_405_in_the_standard_shape,
    a_skipped_bid_gives_its_unit_of_quota_back,
);

fn checks_come_in_the_order_of_decision_a1(kind: Kind) {
    let world = World::new(kind);
    let mut document = world.document(&[campaign(EXTERNAL, "rust"), campaign("camp_bare", "rust")]);
    document["organizations"][0]["subscription"]["proposalLimit"] = 1.into();
    document["organizations"][0]["campaigns"][1]["bidderAccountId"] = Value::Null;
    let mut other = acceptance::document::organization();
    other["id"] = "org_other".into();
    other["apiKeys"] = json!([{"id": "k", "name": "K", "key": KEY.replace("0123", "9876")}]);
    document["organizations"].as_array_mut().unwrap().push(other);
    world.installation.apply(&document);
    let service = world.installation.serve();
    let mut asking = posts::hourly("rust with a question");
    asking["questions"] = json!(["Why?"]);
    let leads = world.publish(
        &service,
        EXTERNAL,
        vec![posts::hourly("rust one"), posts::hourly("rust two"), asking],
        3,
    );
    let bare = acceptance::world::listed(&service.api(), "camp_bare", 3);
    let api = service.api();
    let by_title = |leads: &[Value], title: &str| {
        id(leads.iter().find(|lead| lead["title"] == title).unwrap()).to_owned()
    };
    let (one, two) = (by_title(&leads, "rust one"), by_title(&leads, "rust two"));
    let asks = by_title(&leads, "rust with a question");
    let malformed = |api: &acceptance::Api, path: &str, body: &[u8]| {
        api.try_call("POST", path, &[("Content-Type", "application/json")], body)
            .unwrap()
    };
    let too_large = vec![b' '; 3 * 1_048_576 + 1];

    // 401 before everything.
    let strangers = [
        None,
        Some("lk_nonsense"),
        Some("0123"),
        Some("lk_0000000000000000000000000000000000000000000000000000000000000000"),
    ];
    for key in strangers {
        let answer = malformed(&service.api_with(key), &path("nowhere", "no", "bid"), &too_large);
        assert_eq!(answer.status, 401, "{}", answer.text());
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
        let body = answer.json();
        assert_eq!(
            (&body["statusCode"], &body["error"]),
            (&json!(401), &json!("Unauthorized"))
        );
        assert!(body["message"].is_string());
    }
    // 413 before 404.
    let answer = malformed(&api, &path("nowhere", "no", "bid"), &too_large).expect(413);
    assert_eq!(answer.json()["statusCode"], 413);
    // 404 before 400; another organization's campaign does not exist.
    for missing in [
        path("nowhere", &one, "bid"),
        path(EXTERNAL, "no", "bid"),
        path("camp_bare", &one, "bid"),
    ] {
        let answer = malformed(&api, &missing, b"{").expect(404);
        assert_eq!(answer.json()["error"], "Not Found");
    }
    let stranger = service.api_with(Some(&KEY.replace("0123", "9876")));
    malformed(&stranger, &path(EXTERNAL, &one, "bid"), b"{").expect(404);
    stranger
        .get(&format!("/v1/campaigns/{EXTERNAL}/leads"))
        .expect(404);
    // 415 right after 404, before the body's shape.
    let answer = api
        .try_call(
            "POST",
            &path(EXTERNAL, &one, "bid"),
            &[("Content-Type", "text/xml")],
            b"{",
        )
        .unwrap();
    assert_eq!(answer.status, 415);
    // The body's shape before the bidding rules, those before 409, that before 402.
    api.post_json(&path(EXTERNAL, &one, "bid"), &bid()).expect(200);
    malformed(&api, &path(EXTERNAL, &one, "bid"), b"{").expect(400);
    let mut wrong = bid();
    wrong["biddingConfig"] = json!({"biddingHourlyRateStrategy": "match_profile_rate"});
    let answer = api.post_json(&path(EXTERNAL, &one, "bid"), &wrong).expect(400);
    assert_eq!(answer.json()["errors"][0]["code"], "rate_percentage_required");
    api.post_json(&path(EXTERNAL, &one, "bid"), &bid()).expect(409);
    // A missing account before the quota, which is used up by now.
    let answer = api
        .post_json(&path("camp_bare", &by_title(&bare, "rust two"), "bid"), &bid())
        .expect(400);
    assert!(
        answer.json()["message"].as_str().unwrap().contains("account"),
        "{}",
        answer.text()
    );
    let answer = api.post_json(&path(EXTERNAL, &asks, "bid"), &bid()).expect(400);
    assert_eq!(answer.json()["errors"][0]["code"], "question_mismatch");
    api.post_json(&path(EXTERNAL, &two, "bid"), &bid()).expect(402);
    // The limit itself passes.
    let mut largest = bid().to_string().into_bytes();
    largest.resize(3 * 1_048_576, b' ');
    malformed(&api, &path(EXTERNAL, &two, "bid"), &largest).expect(402);
}

fn every_question_is_quoted_verbatim_and_answered_once(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let mut post = posts::hourly("rust");
    post["questions"] = json!(["How soon?", "Which one?", "How soon?"]);
    let leads = world.publish(&service, EXTERNAL, vec![post], 1);
    let to = path(EXTERNAL, id(&leads[0]), "bid");
    let api = service.api();
    let with = |pairs: &[(&str, &str)]| {
        let pairs: Vec<Value> = pairs
            .iter()
            .map(|(q, a)| json!({"question": q, "answer": a}))
            .collect();
        json!({"coverLetter": "x", "questionAnswerPairs": pairs})
    };
    let right = [
        ("How soon?", "first"),
        ("Which one?", "that"),
        ("How soon?", "second"),
    ];
    for wrong in [
        &[("how soon?", "a"), ("Which one?", "b"), ("How soon?", "c")][..],
        &[("How soon? ", "a"), ("Which one?", "b"), ("How soon?", "c")],
        &[
            ("How soon?", "a"),
            ("How soon?", "a"),
            ("How soon?", "a"),
            ("Which one?", "b"),
        ],
        &[("How soon?", "a"), ("Which one?", "b")],
        &[],
    ] {
        let answer = api.post_json(&to, &with(wrong)).expect(400).json();
        let error = &answer["errors"][0];
        assert_eq!(error["code"], "question_mismatch");
        assert!(error["message"].is_string() && answer["message"].is_string());
        let options = error["options"].as_array().unwrap();
        assert!(
            !options.is_empty() && options.iter().all(|o| o == "How soon?" || o == "Which one?"),
            "{answer}"
        );
        assert_eq!(error["path"][0], "questionAnswerPairs");
    }
    api.post_json(&to, &with(&right)).expect(200);
    until("the proposal arrives", STEP, || !world.accepted().is_empty());
    let answers: Vec<(String, String)> = world.accepted()[0]["answers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| {
            (
                pair["question"].as_str().unwrap().to_owned(),
                pair["answer"].as_str().unwrap().to_owned(),
            )
        })
        .collect();
    let soon: Vec<&str> = answers
        .iter()
        .filter(|(q, _)| q == "How soon?")
        .map(|(_, a)| a.as_str())
        .collect();
    assert_eq!(
        soon,
        ["first", "second"],
        "identical questions keep the request's order"
    );
    assert_eq!(answers.len(), 3);
}

fn a_missing_rate_is_told_by_its_code(kind: Kind) {
    let world = World::new(kind);
    let mut bare = campaign(EXTERNAL, "rust");
    bare["biddingConfig"] = json!({});
    world.provision(&[bare]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    for (strategy, code) in [
        ("match_job_budget", "rate_percentage_required"),
        ("match_profile_rate", "rate_percentage_required"),
        ("fixed_rate", "fixed_rate_required"),
    ] {
        let mut asked = bid();
        asked["biddingConfig"] = json!({"biddingHourlyRateStrategy": strategy});
        let answer = service
            .api()
            .post_json(&path(EXTERNAL, id(&leads[0]), "bid"), &asked)
            .expect(400)
            .json();
        assert_eq!(answer["errors"][0]["code"], code, "{answer}");
    }
}

fn faults_of_shape_name_their_path(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let api = service.api();
    let bid_path = path(EXTERNAL, id(&leads[0]), "bid");
    for (body, at) in [
        ("{", json!([])),
        ("{\"questionAnswerPairs\": []}", json!(["coverLetter"])),
        ("{\"coverLetter\": \"x\"}", json!(["questionAnswerPairs"])),
        (
            "{\"coverLetter\": \" \\n\", \"questionAnswerPairs\": []}",
            json!(["coverLetter"]),
        ),
        (
            "{\"coverLetter\": null, \"questionAnswerPairs\": []}",
            json!(["coverLetter"]),
        ),
        (
            "{\"coverLetter\": \"x\", \"questionAnswerPairs\": [], \"extra\": 1}",
            json!(["extra"]),
        ),
        (
            "{\"coverLetter\": \"x\", \"questionAnswerPairs\": [{\"question\": \"q\"}]}",
            json!(["questionAnswerPairs", "0", "answer"]),
        ),
        (
            "{\"coverLetter\": \"x\", \"questionAnswerPairs\": [], \"dryRun\": \"yes\"}",
            json!(["dryRun"]),
        ),
        (
            "{\"coverLetter\": \"x\", \"questionAnswerPairs\": [], \"biddingConfig\": {\"boost\": 1}}",
            json!(["biddingConfig", "boost"]),
        ),
        (
            "{\"coverLetter\": \"x\", \"questionAnswerPairs\": [], \"biddingConfig\": {\"boostDownToNthPlace\": 5}}",
            json!(["biddingConfig", "boostDownToNthPlace"]),
        ),
        (
            "{\"coverLetter\": \"x\", \"questionAnswerPairs\": [], \"biddingConfig\": {\"biddingHourlyRatePercentage\": 100.5}}",
            json!(["biddingConfig", "biddingHourlyRatePercentage"]),
        ),
    ] {
        let answer = api
            .try_call(
                "POST",
                &bid_path,
                &[("Content-Type", "application/json")],
                body.as_bytes(),
            )
            .unwrap()
            .expect(400)
            .json();
        assert_eq!(
            (&answer["statusCode"], &answer["error"]),
            (&json!(400), &json!("Bad Request")),
            "{answer}"
        );
        assert_eq!(answer["errors"][0]["path"], at, "{body}: {answer}");
        assert!(answer["errors"][0]["message"].is_string());
    }
}

fn a_dry_run_sends_a_simulated_bid_complete_and_changes_nothing_else(kind: Kind) {
    let world = World::new(kind);
    let mut document = world.document(&[campaign(EXTERNAL, "rust")]);
    document["organizations"][0]["subscription"]["proposalLimit"] = 1.into();
    world.installation.apply(&document);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let lead = &leads[0];
    let mut dry = bid();
    dry["dryRun"] = true.into();
    let calls = |world: &World| {
        let calls = world.simulator.stats()["calls"].clone();
        (
            calls["GET /api/jobs/<id>"].clone(),
            calls["GET /api/account"].clone(),
            calls["POST /api/proposals"].clone(),
        )
    };
    let before = calls(&world);
    let answer = api
        .post_json(&path(EXTERNAL, id(lead), "bid"), &dry)
        .expect(200)
        .json();
    assert_eq!(
        answer,
        json!({"success": true, "leadId": id(lead), "campaignId": EXTERNAL, "organizationId": ORGANIZATION, "dryRun": true})
    );
    let end = world.bid_complete(id(lead));
    assert_eq!(
        end,
        json!({
            "organizationId": ORGANIZATION, "campaignId": EXTERNAL, "leadId": id(lead), "dryRun": true,
            "outcome": "submitted", "reason": null, "proposalId": null, "submittedAt": null,
            "terms": {"type": "hourly", "amount": 45}, "boostConnects": 0, "connectsSpent": 0,
            "connectsCostUsd": 0, "jobUrl": lead["jobUrl"], "title": lead["title"],
        })
    );
    assert_eq!(calls(&world), before, "the marketplace is not contacted");
    assert_eq!(all_leads(&api, EXTERNAL), leads, "the leads are as they were");
    let lines = world.installation.activity(&["--lead", id(lead)]);
    assert!(
        lines
            .iter()
            .any(|line| line["kind"] == "bid" && line["dryRun"] == true && line["outcome"] == "accepted")
    );
    for line in lines.iter().filter(|line| line["kind"] == "delivery") {
        assert_eq!(
            line["dryRun"],
            line["details"]["event"] == "bid_complete",
            "{line}"
        );
    }

    // Neither the quota nor an earlier bid is looked at.
    let answer = api
        .post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
        .expect(200)
        .json();
    assert!(answer.get("dryRun").is_none(), "{answer}");
    api.post_json(&path(EXTERNAL, id(&leads[1]), "bid"), &bid())
        .expect(402);
    lead_with_status(&api, EXTERNAL, id(lead), "submitted");
    for lead in &leads {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &dry).expect(200);
    }
    world.deliveries("bid_complete", 4);
    assert_eq!(world.accepted().len(), 1);
}

fn a_rejected_lead_is_never_bid_on(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    let api = service.api();
    let (reject, to) = (
        path(EXTERNAL, id(&leads[0]), "reject"),
        path(EXTERNAL, id(&leads[0]), "bid"),
    );
    let answer = api
        .post_json(&reject, &json!({"reason": "Too far away."}))
        .expect(200)
        .json();
    assert_eq!(
        answer,
        json!({"success": true, "leadId": id(&leads[0]), "campaignId": EXTERNAL, "organizationId": ORGANIZATION})
    );
    let again = api.post(&reject).expect(400).json();
    assert!(again["message"].as_str().unwrap().contains("rejected"), "{again}");
    let refused = api.post_json(&to, &bid()).expect(409).json();
    assert!(
        refused["message"].as_str().unwrap().contains("rejected"),
        "{refused}"
    );
    let lines = world.installation.activity(&["--lead", id(&leads[0])]);
    assert!(
        lines.iter().any(|line| line["kind"] == "rejection"
            && line["outcome"] == "accepted"
            && line.to_string().contains("Too far away.")),
        "{lines:#?}"
    );
    api.post_json(&path(EXTERNAL, id(&leads[1]), "bid"), &bid())
        .expect(200);
    lead_with_status(&api, EXTERNAL, id(&leads[1]), "submitted");
    let late = api
        .post(&path(EXTERNAL, id(&leads[1]), "reject"))
        .expect(400)
        .json();
    assert!(late["message"].as_str().unwrap().contains("submitted"), "{late}");
    assert_eq!(world.simulator.proposals().len(), 1);
}

fn a_rejection_takes_a_reason_of_500_characters_and_no_body_at_all(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    let api = service.api();
    let reject = |at: usize| path(EXTERNAL, id(&leads[at]), "reject");
    let long = api
        .post_json(&reject(0), &json!({"reason": "é".repeat(501)}))
        .expect(400)
        .json();
    assert_eq!(long["errors"][0]["path"], json!(["reason"]));
    api.post_json(&reject(0), &json!({"why": "x"})).expect(400);
    api.post_json(&reject(0), &json!({"reason": "é".repeat(500)}))
        .expect(200);
    api.post(&reject(1)).expect(200);
    api.post_json(&reject(2), &json!({})).expect(200);
}

fn a_bid_overrides_the_lead_which_overrides_the_campaign(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 3), 3);
    let file = world
        .installation
        .file("config.json", json!({"biddingFixedHourlyRate": 51.5}).to_string());
    let configure = |lead: &Value| {
        let file = file.display().to_string();
        world
            .installation
            .run(&["leads", "configure", "--lead", id(lead), "--file", &file])
            .expect(0);
    };
    configure(&leads[1]);
    configure(&leads[2]);
    let api = service.api();
    let mut overriding = bid();
    overriding["biddingConfig"] =
        json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 50});
    for (lead, body, amount) in [
        (&leads[0], bid(), json!(45)),
        (&leads[1], bid(), json!(51.5)),
        (&leads[2], overriding, json!(30)),
    ] {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &body).expect(200);
        let end = world.bid_complete(id(lead));
        assert_eq!(end["terms"], json!({"type": "hourly", "amount": amount}), "{end}");
        assert_eq!(end["outcome"], "submitted");
        let connects = end["connectsSpent"].as_f64().unwrap();
        assert!(
            (end["connectsCostUsd"].as_f64().unwrap() - connects * 0.15).abs() < 1e-9,
            "{end}"
        );
        assert!(
            end["submittedAt"].as_i64().unwrap() > 1_000_000_000_000,
            "UNIX ms"
        );
    }
}

fn a_real_bid_without_an_account_is_refused_and_a_dry_run_passes(kind: Kind) {
    let world = World::new(kind);
    let mut bare = campaign(EXTERNAL, "rust");
    bare.as_object_mut().unwrap().remove("bidderAccountId");
    world.provision(&[bare]);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let to = path(EXTERNAL, id(&leads[0]), "bid");
    let refused = service.api().post_json(&to, &bid()).expect(400).json();
    assert_eq!(refused["statusCode"], 400);
    let mut dry = bid();
    dry["dryRun"] = true.into();
    service.api().post_json(&to, &dry).expect(200);
    world.bid_complete(id(&leads[0]));
    assert!(world.simulator.proposals().is_empty());
}

fn an_unknown_path_is_404_and_a_wrong_method_405_in_the_standard_shape(kind: Kind) {
    let world = World::new(kind);
    world.provision(&[campaign(EXTERNAL, "rust")]);
    let service = world.installation.serve();
    let api = service.api();
    assert_eq!(api.get("/v1/nothing").expect(404).json()["statusCode"], 404);
    let leads = format!("/v1/campaigns/{EXTERNAL}/leads");
    let answer = api.try_call("DELETE", &leads, &[], b"").unwrap().expect(405);
    assert!(answer.header("allow").unwrap().contains("GET"));
    assert_eq!(answer.json()["error"], "Method Not Allowed");
    api.get(&path(EXTERNAL, "ld_nobody", "bid")).expect(404);
    let known = world.publish(&service, EXTERNAL, vec![posts::hourly("rust")], 1);
    let answer = api.get(&path(EXTERNAL, id(&known[0]), "bid")).expect(405);
    assert_eq!(answer.header("allow"), Some("POST"));
    for answer in [api.get(&leads), api.get("/v1/nothing")] {
        assert!(
            answer
                .headers
                .iter()
                .all(|(name, _)| !name.starts_with("ratelimit"))
        );
    }
}

fn a_skipped_bid_gives_its_unit_of_quota_back(kind: Kind) {
    let world = World::new(kind);
    let mut document = world.document(&[campaign(EXTERNAL, "rust")]);
    document["organizations"][0]["subscription"]["proposalLimit"] = 1.into();
    world.installation.apply(&document);
    let service = world.installation.serve();
    let leads = world.publish(&service, EXTERNAL, posts::many("rust", 2), 2);
    for proposal in [&leads[0], &leads[1]] {
        let job = proposal["jobUrl"].as_str().unwrap().rsplit("~02").next().unwrap();
        world
            .simulator
            .patch_job(job, json!({"alreadyHired": true}))
            .unwrap();
    }
    let api = service.api();
    for lead in &leads {
        api.post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(200);
        let end = world.bid_complete(id(lead));
        assert_eq!(
            (&end["outcome"], &end["reason"]["code"]),
            (&json!("skipped"), &json!("already_hired")),
            "{end}"
        );
        let message = api
            .post_json(&path(EXTERNAL, id(lead), "bid"), &bid())
            .expect(409)
            .json();
        assert!(
            message["message"].as_str().unwrap().contains("skipped"),
            "{message}"
        );
    }
    stays("no proposal", Duration::from_millis(200), || {
        world.simulator.proposals().is_empty()
    });
}
