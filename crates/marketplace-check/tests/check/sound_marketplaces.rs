//! Marketplaces that keep the protocol, and checks that may not try everything.

use std::time::Duration;

use bidloop_marketplace_check::{RULES, Report, Verdict};
use serde_json::json;

use crate::faulty_translator::{self, Fault};
use crate::market::{
    TOKEN, assert_nothing_broken, checked, finding, rules_that_are, run, simulator, target, unheld,
};

/// Rules that a check without a fault cannot try.
const NEVER_TRIED: &[&str] = &["answers.retry-after"];

fn assert_sound(report: &Report, not_tried: &[&str]) {
    assert_nothing_broken(report);
    assert_eq!(
        rules_that_are(report, Verdict::NotTried),
        not_tried,
        "{}",
        unheld(report)
    );
    assert_eq!(report.held + report.not_tried, RULES.len());
}

#[test]
fn the_simulator_holds_every_rule() {
    run(async || {
        let simulator = simulator().await;
        let report = checked(&target(simulator.base_url())).await;
        assert_sound(&report, NEVER_TRIED);
        assert_eq!(accepted(&simulator), 1, "one proposal was allowed");
        simulator.shutdown().await;
    });
}

fn accepted(simulator: &bidloop_simulator::Simulator) -> usize {
    simulator
        .proposals()
        .iter()
        .filter(|proposal| proposal["status"] == 201)
        .count()
}

#[test]
fn a_translator_without_a_fault_holds_every_rule() {
    run(async || {
        let simulator = simulator().await;
        let faultless = Fault {
            name: "none",
            breaks: "none",
            request: |_, _| {},
            reply: |_, _, _| {},
        };
        let base_url = faulty_translator::start(&simulator, faultless).await;
        assert_sound(&checked(&target(&base_url)).await, NEVER_TRIED);
        simulator.shutdown().await;
    });
}

#[test]
fn nothing_is_bid_unless_a_job_is_named() {
    run(async || {
        let simulator = simulator().await;
        let mut target = target(simulator.base_url());
        target.allow_proposals = None;
        let report = checked(&target).await;
        let not_tried: Vec<&str> = RULES
            .iter()
            .map(|rule| rule.name)
            .filter(|name| {
                name.starts_with("proposals.") || ["tokens.proposals", "answers.retry-after"].contains(name)
            })
            .collect();
        assert_sound(&report, &not_tried);
        assert_eq!(simulator.stats()["calls"].get("POST /api/proposals"), None);
        simulator.shutdown().await;
    });
}

#[test]
fn without_a_token_the_feed_and_the_refusals_are_checked() {
    run(async || {
        let simulator = simulator().await;
        let mut target = target(simulator.base_url());
        target.token = None;
        let report = checked(&target).await;
        assert_nothing_broken(&report);
        let held = rules_that_are(&report, Verdict::Held);
        for rule in [
            "feed.order",
            "feed.end",
            "tokens.account",
            "tokens.missing",
            "connections.kept",
        ] {
            assert!(held.contains(&rule), "{rule}");
        }
        assert!(simulator.proposals().is_empty());
        simulator.shutdown().await;
    });
}

#[test]
fn an_empty_feed_breaks_no_rule() {
    run(async || {
        let simulator =
            bidloop_simulator::Simulator::start("127.0.0.1:0", bidloop_simulator::Options::default());
        let simulator = simulator.await.unwrap();
        simulator.put_account(TOKEN, json!({"id": "acct_1"})).unwrap();
        let report = checked(&target(simulator.base_url())).await;
        assert_nothing_broken(&report);
        let order = finding(&report, "feed.order");
        assert_eq!(order.result, Verdict::NotTried);
        simulator.shutdown().await;
    });
}

/// The result of the rules of proposals when the marketplace refuses the proposal for a good reason.
fn proposals_after(change: fn(&bidloop_simulator::Simulator)) {
    run(async || {
        let simulator = simulator().await;
        change(&simulator);
        let report = checked(&target(simulator.base_url())).await;
        assert_nothing_broken(&report);
        let accepted = finding(&report, "proposals.accepted");
        assert_eq!(accepted.result, Verdict::NotTried);
        let why = accepted.why.as_deref().unwrap_or_default();
        assert!(why.contains("name ") && why.contains("job"), "{why}");
        simulator.shutdown().await;
    });
}

#[test]
fn a_proposal_that_the_marketplace_cannot_take_is_no_fault() {
    proposals_after(|simulator| {
        simulator
            .put_account(TOKEN, json!({"connectsBalance": 3}))
            .map(drop)
            .unwrap();
    });
    proposals_after(|simulator| simulator.patch_job("job-5", json!({"status": "closed"})).unwrap());
    proposals_after(|simulator| simulator.patch_job("job-5", json!({"eligible": false})).unwrap());
}

#[test]
fn a_job_that_the_account_has_applied_to_before_is_no_fault() {
    run(async || {
        let simulator = simulator().await;
        assert_sound(&checked(&target(simulator.base_url())).await, NEVER_TRIED);
        let mut again = target(simulator.base_url());
        again.run = "again".to_owned();
        let report = checked(&again).await;
        assert_nothing_broken(&report);
        let accepted = finding(&report, "proposals.accepted");
        assert!(
            accepted
                .why
                .as_deref()
                .is_some_and(|why| why.contains("from before")),
            "{accepted:?}"
        );
        simulator.shutdown().await;
    });
}

#[test]
fn calls_that_are_limited_are_repeated_when_the_marketplace_says() {
    run(async || {
        let simulator = simulator().await;
        let limited = json!([
            {"call": "GET /api/account", "times": 1, "status": 429, "retryAfter": 0},
            {"call": "POST /api/proposals", "times": 1, "status": 429, "retryAfter": 0},
        ]);
        simulator.put_faults(&limited).unwrap();
        let report = checked(&target(simulator.base_url())).await;
        assert_eq!(
            rules_that_are(&report, Verdict::Held).len(),
            RULES.len(),
            "{}",
            unheld(&report)
        );
        simulator.shutdown().await;
    });
}

#[test]
fn an_address_where_nothing_answers_is_reported_at_once() {
    run(async || {
        let mut target = target("http://127.0.0.1:9");
        target.timeout = Duration::from_secs(60);
        let report = checked(&target).await;
        assert_eq!(rules_that_are(&report, Verdict::Broken), ["answers.complete"]);
        assert_eq!(report.held, 1, "answers.in-time: {}", unheld(&report));
    });
}

#[test]
fn a_marketplace_that_hangs_is_given_up_after_the_first_call() {
    run(async || {
        let simulator = simulator().await;
        simulator
            .put_faults(&json!([{"call": "GET /api/jobs", "hang": true}]))
            .unwrap();
        let mut target = target(simulator.base_url());
        target.timeout = Duration::from_millis(200);
        let report = checked(&target).await;
        assert_eq!(rules_that_are(&report, Verdict::Broken), ["answers.in-time"]);
        simulator.shutdown().await;
    });
}

#[test]
fn no_report_repeats_a_token() {
    run(async || {
        let simulator = simulator().await;
        let repeating = Fault {
            name: "an error that repeats the token",
            breaks: "account.shape",
            request: |_, _| {},
            reply: |sent, reply, _| {
                if sent.is("GET /api/account") && sent.has_right_token() {
                    reply.error(500, TOKEN);
                }
            },
        };
        let base_url = faulty_translator::start(&simulator, repeating).await;
        let report = serde_json::to_string(&checked(&target(&base_url)).await).unwrap();
        assert!(report.contains("[token]") && !report.contains(TOKEN), "{report}");
        simulator.shutdown().await;
    });
}
