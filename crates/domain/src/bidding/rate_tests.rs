//! Each sentence of decisions B5 and B6 as a test.

use super::*;
use crate::model::{BiddingConfig, effective};
use proptest::prelude::*;
use serde_json::json;

fn config(request: &Value) -> EffectiveConfig {
    let none = BiddingConfig::default();
    effective(
        &BiddingConfig::from_value(request, &["biddingConfig"]).unwrap(),
        &none,
        &none,
    )
}

fn hourly(min: Option<f64>, max: Option<f64>, average: Option<f64>) -> JobTerms {
    JobTerms::new(Some("Hourly"), min, max, None, average)
}

fn fixed(price: Option<f64>) -> JobTerms {
    JobTerms::new(Some("Fixed-price"), None, None, price, None)
}

/// The amount as text, or the code of the reason.
fn offered(request: &Value, job: &JobTerms, profile_rate: Option<f64>) -> Result<String, ReasonCode> {
    offered_in(request, job, profile_rate, OfferMode::Live)
}

fn offered_in(
    request: &Value,
    job: &JobTerms,
    profile_rate: Option<f64>,
    mode: OfferMode,
) -> Result<String, ReasonCode> {
    let config = config(request);
    let outcome = offer(OfferInput {
        config: &config,
        job,
        profile_rate,
        mode,
    });
    assert!(!outcome.steps.is_empty(), "every decision is explained");
    match outcome.terms {
        Ok(terms) => {
            assert_eq!(terms.kind, job.kind);
            Ok(terms.amount.to_string())
        }
        Err(reason) => Err(reason.code),
    }
}

#[expect(clippy::unnecessary_wraps, reason = "compared with the outcome of `offered`")]
fn amount(text: &str) -> Result<String, ReasonCode> {
    Ok(text.to_owned())
}

const UNKNOWN: Result<String, ReasonCode> = Err(ReasonCode::RateUnknown);

fn budget(percent: f64) -> Value {
    json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": percent})
}

fn profile(percent: f64) -> Value {
    json!({"biddingHourlyRateStrategy": "match_profile_rate", "biddingHourlyRatePercentage": percent})
}

#[test]
fn match_job_budget_is_a_percentage_of_the_upper_end() {
    let job = hourly(Some(30.0), Some(50.5), Some(20.0));
    assert_eq!(offered(&budget(90.0), &job, Some(80.0)), amount("45.45"));
}

#[test]
fn match_job_budget_takes_the_lower_end_if_only_that_is_known() {
    assert_eq!(
        offered(&budget(90.0), &hourly(Some(30.0), None, None), Some(80.0)),
        amount("27.00")
    );
}

#[test]
fn match_job_budget_takes_the_profile_rate_if_the_job_names_no_range() {
    assert_eq!(
        offered(&budget(90.0), &hourly(None, None, None), Some(80.0)),
        amount("72.00")
    );
    assert_eq!(offered(&budget(90.0), &hourly(None, None, None), None), UNKNOWN);
}

#[test]
fn match_profile_rate_is_a_percentage_of_the_profile_rate() {
    let job = hourly(Some(30.0), Some(50.0), Some(20.0));
    assert_eq!(offered(&profile(75.0), &job, Some(80.0)), amount("60.00"));
    assert_eq!(offered(&profile(75.0), &job, None), UNKNOWN);
    assert_eq!(offered(&profile(75.0), &job, Some(0.0)), UNKNOWN);
}

#[test]
fn fixed_rate_is_the_fixed_rate_whatever_the_job_says() {
    let request = json!({"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 45.005});
    assert_eq!(
        offered(&request, &hourly(Some(10.0), Some(20.0), Some(5.0)), None),
        amount("45.01")
    );
}

#[test]
fn strategies_other_than_smart_bidding_ignore_the_floor() {
    let request = json!({
        "biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 20, "biddingMinHourlyRate": 40
    });
    assert_eq!(
        offered(&request, &hourly(None, None, None), None),
        amount("20.00")
    );
}

#[test]
fn smart_bidding_starts_from_the_profile_rate_and_moves_into_the_range() {
    let smart = json!({});
    for (job, expected) in [
        (hourly(None, None, None), "40.00"),
        (hourly(Some(30.0), Some(50.0), None), "40.00"),
        (hourly(Some(45.0), Some(50.0), None), "45.00"),
        (hourly(Some(20.0), Some(35.0), None), "35.00"),
        (hourly(Some(45.0), None, None), "45.00"),
        (hourly(Some(35.0), None, None), "40.00"),
        (hourly(None, Some(35.0), None), "35.00"),
        (hourly(None, Some(45.0), None), "40.00"),
        (hourly(Some(35.0), Some(20.0), None), "35.00"),
    ] {
        assert_eq!(offered(&smart, &job, Some(40.0)), amount(expected), "{job:?}");
    }
}

#[test]
fn smart_bidding_moves_halfway_towards_a_lower_average_not_below_the_lower_end() {
    let smart = json!({});
    for (job, expected) in [
        (hourly(None, None, Some(30.0)), "35.00"),
        (hourly(None, None, Some(40.0)), "40.00"),
        (hourly(None, None, Some(90.0)), "40.00"),
        (hourly(None, None, Some(0.0)), "40.00"),
        (hourly(None, None, Some(30.01)), "35.01"),
        (hourly(Some(20.0), Some(30.0), Some(20.0)), "25.00"),
        (hourly(Some(38.0), Some(60.0), Some(10.0)), "38.00"),
        (hourly(Some(50.0), Some(60.0), Some(30.0)), "50.00"),
    ] {
        assert_eq!(offered(&smart, &job, Some(40.0)), amount(expected), "{job:?}");
    }
}

#[test]
fn smart_bidding_never_goes_below_the_floor_even_when_the_range_tops_out_lower() {
    let floor = json!({"biddingMinHourlyRate": 45});
    assert_eq!(
        offered(&floor, &hourly(Some(10.0), Some(20.0), Some(5.0)), Some(40.0)),
        amount("45.00")
    );
    assert_eq!(
        offered(&floor, &hourly(None, None, None), Some(60.0)),
        amount("60.00")
    );
    let odd = json!({"biddingMinHourlyRate": 45.004});
    assert_eq!(
        offered(&odd, &hourly(None, Some(20.0), None), Some(40.0)),
        amount("45.01")
    );
    assert_eq!(
        offered(&odd, &hourly(None, None, None), Some(45.003)),
        amount("45.01")
    );
}

#[test]
fn smart_bidding_without_a_profile_rate_starts_from_the_middle_of_the_range() {
    let smart = json!({});
    for (job, expected) in [
        (hourly(Some(30.0), Some(50.01), None), "40.01"),
        (hourly(Some(30.0), None, None), "30.00"),
        (hourly(None, Some(50.0), None), "50.00"),
        (hourly(Some(20.0), Some(60.0), Some(30.0)), "35.00"),
    ] {
        assert_eq!(offered(&smart, &job, None), amount(expected), "{job:?}");
        assert_eq!(offered(&smart, &job, Some(0.0)), amount(expected), "{job:?}");
    }
}

#[test]
fn smart_bidding_without_profile_rate_and_range_is_unknown_even_with_a_floor() {
    let floor = json!({"biddingMinHourlyRate": 45});
    assert_eq!(offered(&floor, &hourly(None, None, Some(30.0)), None), UNKNOWN);
}

#[test]
fn a_dry_run_does_not_fall_back_to_the_middle_of_the_range() {
    let job = hourly(Some(30.0), Some(50.0), None);
    assert_eq!(offered_in(&json!({}), &job, None, OfferMode::DryRun), UNKNOWN);
    assert_eq!(
        offered_in(&json!({}), &job, Some(45.0), OfferMode::DryRun),
        amount("45.00")
    );
    assert_eq!(
        offered_in(&budget(50.0), &job, None, OfferMode::DryRun),
        amount("25.00"),
        "the budget is known"
    );
}

#[test]
fn an_amount_of_zero_is_unknown() {
    let job = hourly(Some(30.0), Some(50.0), None);
    assert_eq!(offered(&budget(0.0), &job, Some(40.0)), UNKNOWN);
    assert_eq!(
        offered(&budget(0.001), &job, Some(40.0)),
        UNKNOWN,
        "rounds to zero"
    );
    assert_eq!(offered(&profile(0.0), &job, Some(40.0)), UNKNOWN);
    assert_eq!(
        offered(&budget(0.0), &fixed(Some(500.0)), None),
        Err(ReasonCode::AmountUnknown)
    );
    let tiny = json!({"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 0.004});
    assert_eq!(offered(&tiny, &job, None), UNKNOWN);
}

#[test]
fn a_fixed_price_job_is_offered_its_price_and_its_percentage_under_match_job_budget() {
    let job = fixed(Some(499.99));
    assert_eq!(offered(&budget(90.0), &job, None), amount("449.99"));
    assert_eq!(offered(&profile(50.0), &job, Some(40.0)), amount("499.99"));
    assert_eq!(offered(&json!({}), &job, None), amount("499.99"));
    let fixed_rate = json!({"biddingHourlyRateStrategy": "fixed_rate", "biddingFixedHourlyRate": 45});
    assert_eq!(offered(&fixed_rate, &job, None), amount("499.99"));
}

#[test]
fn the_hourly_floor_does_not_concern_a_fixed_price_job() {
    assert_eq!(
        offered(&json!({"biddingMinHourlyRate": 1000}), &fixed(Some(500.0)), None),
        amount("500.00")
    );
}

#[test]
fn a_fixed_price_job_without_a_price_is_amount_unknown() {
    for strategy in [json!({}), budget(90.0), profile(90.0)] {
        for price in [None, Some(0.0), Some(-1.0)] {
            assert_eq!(
                offered(&strategy, &fixed(price), Some(40.0)),
                Err(ReasonCode::AmountUnknown)
            );
        }
    }
}

#[test]
fn a_frozen_configuration_without_its_rate_leaves_the_amount_unknown() {
    let job = hourly(Some(30.0), Some(50.0), None);
    for strategy in ["match_job_budget", "match_profile_rate", "fixed_rate"] {
        assert_eq!(
            offered(&json!({"biddingHourlyRateStrategy": strategy}), &job, Some(40.0)),
            UNKNOWN
        );
    }
}

#[test]
fn each_step_is_explained_with_its_figures() {
    let config = config(&json!({"biddingMinHourlyRate": 39}));
    let job = hourly(Some(30.0), Some(45.0), Some(31.01));
    let outcome = offer(OfferInput {
        config: &config,
        job: &job,
        profile_rate: Some(60.0),
        mode: OfferMode::Live,
    });
    let steps: Vec<Value> = outcome
        .steps
        .iter()
        .map(|step| serde_json::to_value(step).unwrap())
        .collect();
    assert_eq!(
        Value::from(steps),
        json!([
            {"step": "strategy", "says": "The rate is chosen by smart_bidding (from the default).",
             "figures": {"strategy": "smart_bidding"}},
            {"step": "profile_rate", "says": "The profile rate is USD 60.00.", "figures": {"profileRate": 60}},
            {"step": "job_range", "says": "Moved into the job's range, USD 30.00 to USD 45.00, it is USD 45.00.",
             "figures": {"min": 30, "max": 45, "rate": 45}},
            {"step": "client_average",
             "says": "The client pays USD 31.01 on average: halfway towards that, it is USD 38.005.",
             "figures": {"avgHourlyRatePaid": 31.01, "rate": 38.005}},
            {"step": "rounding", "says": "Rounded half up to the cent, it is USD 38.01.", "figures": {"amount": 38.01}},
            {"step": "floor", "says": "Raised to the lowest rate allowed, USD 39.00 (from the request).",
             "figures": {"biddingMinHourlyRate": 39, "rate": 39}}
        ])
    );
}

/// Any figure a marketplace might send, odd ones included.
fn figure() -> impl Strategy<Value = Option<f64>> {
    prop_oneof![
        1 => Just(None),
        4 => (1_u32..20_000).prop_map(|cents| Some(f64::from(cents) / 100.0)),
        1 => any::<f64>().prop_map(Some),
    ]
}

proptest! {
    #[test]
    fn smart_bidding_is_never_below_the_floor(
        min in figure(), max in figure(), average in figure(), profile_rate in figure(), floor in 0.001_f64..200.0,
    ) {
        let config = config(&json!({"biddingMinHourlyRate": floor}));
        let job = hourly(min, max, average);
        for mode in [OfferMode::Live, OfferMode::DryRun] {
            if let Ok(terms) = offer(OfferInput { config: &config, job: &job, profile_rate, mode }).terms {
                prop_assert!(terms.amount.to_decimal() >= crate::model::exact_decimal(floor).unwrap());
            }
        }
    }

    #[test]
    fn smart_bidding_without_a_floor_stays_within_the_range(
        lower in 1_u32..20_000, width in 0_u32..20_000, average in figure(), profile_rate in figure(),
    ) {
        let (min, max) = (f64::from(lower) / 100.0, f64::from(lower + width) / 100.0);
        let config = config(&json!({}));
        let job = hourly(Some(min), Some(max), average);
        let terms = offer(OfferInput { config: &config, job: &job, profile_rate, mode: OfferMode::Live }).terms.unwrap();
        prop_assert!((i64::from(lower)..=i64::from(lower + width)).contains(&terms.amount.cents()));
    }

    #[test]
    fn an_amount_is_always_above_zero_and_no_figure_panics(
        strategy in prop::sample::select(vec!["match_job_budget", "match_profile_rate", "fixed_rate", "smart_bidding"]),
        percent in 0.0_f64..=100.0, rate in 0.001_f64..1e6, payment_type in prop::option::of("Hourly|Fixed"),
        min in figure(), max in figure(), price in figure(), average in figure(), profile_rate in figure(),
    ) {
        let config = config(&json!({
            "biddingHourlyRateStrategy": strategy, "biddingHourlyRatePercentage": percent, "biddingFixedHourlyRate": rate
        }));
        let job = JobTerms::new(payment_type.as_deref(), min, max, price, average);
        let outcome = offer(OfferInput { config: &config, job: &job, profile_rate, mode: OfferMode::Live });
        match (outcome.terms, job.kind) {
            (Ok(terms), kind) => {
                prop_assert!(terms.amount > UsdCents::ZERO);
                prop_assert_eq!(terms.kind, kind);
            }
            (Err(reason), PaymentKind::Hourly) => prop_assert_eq!(reason.code, ReasonCode::RateUnknown),
            (Err(reason), PaymentKind::Fixed) => prop_assert_eq!(reason.code, ReasonCode::AmountUnknown),
        }
    }
}
