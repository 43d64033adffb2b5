//! The order of a submission's checks, and what a refusal for lack of connects changes.

use super::*;
use crate::model::{BiddingConfig, LeadStatus, PaymentKind, effective};
use proptest::prelude::*;
use serde_json::{Value, json};

fn config(request: &Value) -> EffectiveConfig {
    let none = BiddingConfig::default();
    effective(
        &BiddingConfig::from_value(request, &["biddingConfig"]).unwrap(),
        &none,
        &none,
    )
}

fn open() -> LiveJobState {
    LiveJobState {
        status: LiveJobStatus::Open,
        already_hired: false,
        warnings: vec![],
        boosts: [9, 7, 5, 3].map(Connects::new).to_vec(),
        required_connects: Connects::new(6),
    }
}

fn warned() -> LiveJobState {
    let warning = JobWarning {
        code: "scam_risk".to_owned(),
        message: "Under review".to_owned(),
    };
    LiveJobState {
        warnings: vec![warning],
        ..open()
    }
}

fn hourly_job() -> JobTerms {
    JobTerms::new(Some("Hourly"), Some(30.0), Some(50.0), None, None)
}

fn decided(request: &Value, live: &LiveJobState, balance: u64) -> Decision {
    decide_job(request, &hourly_job(), live, balance, ConnectsRefusals::default())
}

fn decide_job(
    request: &Value,
    job: &JobTerms,
    live: &LiveJobState,
    balance: u64,
    refusals: ConnectsRefusals,
) -> Decision {
    let config = config(request);
    let balance = Connects::new(balance);
    decide(DecisionInput {
        config: &config,
        job,
        live,
        balance,
        profile_rate: Some(40.0),
        refusals,
    })
}

/// How the bid ended: status, code, and whether its terms were known.
fn ended(decision: Decision) -> (LeadStatus, ReasonCode, bool) {
    match decision {
        Decision::End { reason, terms, steps } => {
            assert!(!steps.is_empty(), "every decision is explained");
            assert!(!reason.message.is_empty());
            (reason.code.status(), reason.code, terms.is_some())
        }
        Decision::Send { .. } => panic!("the bid should have ended"),
    }
}

/// The boost and `acceptWarnings` of what is sent.
fn sent(decision: Decision) -> (u64, bool) {
    match decision {
        Decision::Send {
            terms,
            boost,
            accept_warnings,
            ..
        } => {
            assert_eq!((terms.kind, terms.amount.cents()), (PaymentKind::Hourly, 4_000));
            (boost.connects.get(), accept_warnings)
        }
        Decision::End { reason, .. } => panic!("the bid should have been sent: {reason:?}"),
    }
}

#[test]
fn a_closed_job_fails_before_any_other_check() {
    let live = LiveJobState {
        status: LiveJobStatus::Closed,
        already_hired: true,
        ..warned()
    };
    assert_eq!(
        ended(decided(&json!({}), &live, 0)),
        (LeadStatus::Failed, ReasonCode::JobClosed, false)
    );
}

#[test]
fn already_hired_is_skipped_unless_the_configuration_says_bid() {
    let live = LiveJobState {
        already_hired: true,
        ..open()
    };
    assert_eq!(
        ended(decided(&json!({}), &live, 80)),
        (LeadStatus::Skipped, ReasonCode::AlreadyHired, false)
    );
    assert_eq!(
        sent(decided(&json!({"alreadyHiredAction": "bid"}), &live, 80)),
        (0, false)
    );
}

#[test]
fn a_warning_is_skipped_unless_the_configuration_says_bid() {
    let decision = decided(&json!({}), &warned(), 80);
    assert!(matches!(&decision, Decision::End { reason, .. } if reason.message.contains("scam_risk")));
    assert_eq!(
        ended(decision),
        (LeadStatus::Skipped, ReasonCode::JobWarning, false)
    );
    assert_eq!(
        sent(decided(&json!({"bidWithWarning": "bid"}), &warned(), 80)),
        (0, true)
    );
}

#[test]
fn warnings_are_accepted_exactly_when_the_configuration_says_bid() {
    assert_eq!(
        sent(decided(&json!({"bidWithWarning": "bid"}), &open(), 80)),
        (0, true),
        "also without one"
    );
    assert_eq!(
        sent(decided(&json!({"bidWithWarning": "skip"}), &open(), 80)),
        (0, false)
    );
}

#[test]
fn hiring_is_checked_before_warnings_and_warnings_before_the_amount() {
    let live = LiveJobState {
        already_hired: true,
        ..warned()
    };
    assert_eq!(ended(decided(&json!({}), &live, 0)).1, ReasonCode::AlreadyHired);
    let unknown = json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 0});
    assert_eq!(ended(decided(&unknown, &warned(), 0)).1, ReasonCode::JobWarning);
    assert_eq!(
        ended(decided(&unknown, &open(), 0)),
        (LeadStatus::Skipped, ReasonCode::RateUnknown, false)
    );
}

#[test]
fn a_fixed_price_job_without_a_price_is_skipped() {
    let job = JobTerms::new(Some("Fixed-price"), None, None, None, None);
    let decision = decide_job(&json!({}), &job, &open(), 80, ConnectsRefusals::default());
    assert_eq!(
        ended(decision),
        (LeadStatus::Skipped, ReasonCode::AmountUnknown, false)
    );
}

#[test]
fn too_few_connects_end_the_bid_with_its_terms_known() {
    assert_eq!(
        ended(decided(&json!({}), &open(), 5)),
        (LeadStatus::Skipped, ReasonCode::InsufficientConnects, true)
    );
    let boosting = json!({"boostingEnabled": true, "insufficientBoostConnectsAction": "skip"});
    assert_eq!(
        ended(decided(&boosting, &open(), 9)),
        (LeadStatus::Skipped, ReasonCode::InsufficientBoostConnects, true)
    );
    assert_eq!(sent(decided(&boosting, &open(), 10)), (4, false));
}

#[test]
fn after_a_refusal_the_fresh_balance_decides() {
    let boosting = json!({"boostingEnabled": true});
    let once = ConnectsRefusals::default().after(Connects::new(10));
    let again = |balance| decide_job(&boosting, &hourly_job(), &open(), balance, once);
    assert_eq!(sent(again(9)).0, 0, "the boost is given up");
    assert_eq!(ended(again(5)).1, ReasonCode::InsufficientConnects);
    assert_eq!(sent(again(10)).0, 4, "connects were bought in between");
}

#[test]
fn a_total_refused_twice_is_not_sent_a_third_time() {
    let boosting = json!({"boostingEnabled": true});
    let mut refusals = ConnectsRefusals::default();
    let mut totals = Vec::new();
    loop {
        match decide_job(&boosting, &hourly_job(), &open(), 80, refusals) {
            Decision::Send { boost, .. } => {
                let total = boost.connects.plus(Connects::new(6));
                totals.push(total.get());
                refusals = refusals.after(total);
            }
            Decision::End { reason, steps, .. } => {
                assert_eq!(reason.code, ReasonCode::InsufficientConnects);
                assert!(steps.iter().any(|step| step.step == "refused_connects"));
                break;
            }
        }
        assert!(totals.len() < 10, "deciding anew must come to an end");
    }
    assert_eq!(totals, [10, 10, 6, 6]);
}

#[test]
fn a_live_state_reads_as_the_marketplace_writes_it() {
    let live: LiveJobState = serde_json::from_value(json!({
        "status": "closed", "alreadyHired": true, "warnings": [{"code": "a", "message": "b"}],
        "boosts": [9, 3], "requiredConnects": 6
    }))
    .unwrap();
    assert_eq!(live.status, LiveJobStatus::Closed);
    assert_eq!(live.boosts, [9, 3].map(Connects::new));
}

proptest! {
    #[test]
    fn what_is_sent_is_payable_and_refusals_come_to_an_end(
        boosts in prop::collection::vec(0_u64..30, 0..6), required in 0_u64..20, balances in prop::collection::vec(0_u64..60, 1..8),
        place in 1_u8..=4, max in prop::option::of(0_u64..30), skip in any::<bool>(),
    ) {
        let action = if skip { "skip" } else { "bid_without_boost" };
        let request = json!({
            "boostingEnabled": true, "boostDownToNthPlace": place, "maximumBoost": max,
            "insufficientBoostConnectsAction": action,
        });
        let live = LiveJobState {
            boosts: boosts.into_iter().map(Connects::new).collect(),
            required_connects: Connects::new(required),
            ..open()
        };
        let mut refusals = ConnectsRefusals::default();
        let mut rounds = 0;
        // A marketplace that refuses whatever is sent, while the balance it reports goes up and down.
        for balance in balances.into_iter().cycle() {
            let Decision::Send { boost, .. } = decide_job(&request, &hourly_job(), &live, balance, refusals) else {
                break;
            };
            let total = boost.connects.get() + required;
            prop_assert!(total <= balance);
            refusals = refusals.after(Connects::new(total));
            rounds += 1;
            prop_assert!(rounds <= 130);
        }
    }
}
