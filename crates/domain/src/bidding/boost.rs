//! How many connects a proposal's boost costs (decision B7, `docs/rules.md#b7`).
//!
//! Owns the choice of place and the check against the account's balance. Does not own paying: the marketplace takes
//! the connects when it accepts the proposal.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::model::{
    BoostedPlace, Connects, EffectiveConfig, ExplanationStep, InsufficientBoostConnectsAction, Reason,
    ReasonCode, count_connects,
};

/// The inputs of [`boost`].
#[derive(Debug, Clone, Copy)]
pub struct BoostInput<'a> {
    /// The configuration in force.
    pub config: &'a EffectiveConfig,
    /// The boosts that other proposals hold on the job, in any order.
    pub standing: &'a [Connects],
    /// The job's own price of a proposal.
    pub required: Connects,
    /// The account's balance.
    pub balance: Connects,
}

/// The boost that a proposal carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoostPlan {
    /// The boost's connects, in addition to the job's own; zero without a boost.
    pub connects: Connects,
    /// The place that they pay for; `None` without a boost.
    pub place: Option<BoostedPlace>,
}

impl BoostPlan {
    /// No boost.
    pub const NONE: Self = Self {
        connects: Connects::ZERO,
        place: None,
    };
}

/// The result of [`boost`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoostOutcome {
    /// A plan that the account can pay together with the job's own connects. Otherwise the bid is skipped with
    /// [`ReasonCode::InsufficientConnects`] or [`ReasonCode::InsufficientBoostConnects`].
    pub plan: Result<BoostPlan, Reason>,
    /// Each step with its figures.
    pub steps: Vec<ExplanationStep>,
}

/// Computes the boost of a proposal.
///
/// ```
/// use bidloop_domain::bidding::{BoostInput, boost};
/// use bidloop_domain::model::{BiddingConfig, Connects, effective};
/// use serde_json::json;
///
/// let none = BiddingConfig::default();
/// let campaign = json!({"boostingEnabled": true, "maximumBoost": 9, "connectsAbovePrevious": 2});
/// let campaign = BiddingConfig::from_value(&campaign, &["biddingConfig"]).unwrap();
/// let config = effective(&none, &none, &campaign);
///
/// let standing = [12, 7, 3].map(Connects::new);
/// let outcome = boost(BoostInput { config: &config, standing: &standing, required: Connects::new(6), balance: Connects::new(40) });
/// let plan = outcome.plan.unwrap();
/// assert_eq!((plan.place.unwrap().get(), plan.connects.get()), (2, 9));
/// ```
pub fn boost(input: BoostInput<'_>) -> BoostOutcome {
    let mut steps = Vec::new();
    let plan = plan(input, &mut steps);
    BoostOutcome { plan, steps }
}

fn plan(input: BoostInput<'_>, steps: &mut Vec<ExplanationStep>) -> Result<BoostPlan, Reason> {
    let BoostInput {
        config,
        required,
        balance,
        ..
    } = input;
    // The job's own connects are checked before the boost.
    let asked = format!(
        "job asks for {}, the account has {balance}",
        count_connects(required)
    );
    let payable = required <= balance;
    let says = if payable {
        format!("The {asked}.")
    } else {
        format!("Not payable: the {asked}.")
    };
    steps.push(
        ExplanationStep::new("job_connects", says)
            .with("requiredConnects", required.get())
            .with("balance", balance.get()),
    );
    if !payable {
        return Err(Reason::new(
            ReasonCode::InsufficientConnects,
            format!("the {asked}"),
        ));
    }

    if !config.boosting_enabled {
        let source = config.source_of("boostingEnabled");
        steps.push(ExplanationStep::new(
            "boost_off",
            format!("Boosting is off (from {source})."),
        ));
        return Ok(BoostPlan::NONE);
    }

    let Some(wanted) = best_place(input, steps) else {
        return Ok(BoostPlan::NONE);
    };
    let total = required.plus(wanted.connects);
    if total <= balance {
        return Ok(wanted);
    }
    let lack = format!(
        "the job's {required} and a boost of {} are {}, the account has {balance}",
        wanted.connects,
        count_connects(total)
    );
    let action = config.insufficient_boost_connects_action;
    let (consequence, outcome) = match action {
        InsufficientBoostConnectsAction::BidWithoutBoost => {
            ("so the bid goes without a boost", Ok(BoostPlan::NONE))
        }
        InsufficientBoostConnectsAction::Skip => (
            "so the bid is skipped",
            Err(Reason::new(ReasonCode::InsufficientBoostConnects, lack.clone())),
        ),
    };
    let source = config.source_of("insufficientBoostConnectsAction");
    steps.push(
        ExplanationStep::new(
            "boost_connects",
            format!("Not payable: {lack}; {consequence} (insufficientBoostConnectsAction, from {source})."),
        )
        .with("requiredConnects", required.get())
        .with("boostConnects", wanted.connects.get())
        .with("balance", balance.get()),
    );
    outcome
}

/// The best place whose cost is within the maximum; without a maximum, the last place worth boosting for.
fn best_place(input: BoostInput<'_>, steps: &mut Vec<ExplanationStep>) -> Option<BoostPlan> {
    let config = input.config;
    let mut standing = input.standing.to_vec();
    standing.sort_unstable_by(|one, other| other.cmp(one));
    let last = config.boost_down_to_nth_place;
    let costs: Vec<(BoostedPlace, Connects)> = last
        .from_best()
        .map(|place| (place, cost_of(place, &standing, config)))
        .collect();

    let chosen = match config.maximum_boost {
        Some(maximum) => costs.iter().find(|(_, cost)| *cost <= maximum),
        None => costs.last(),
    };
    let prices = costs
        .iter()
        .map(|(place, cost)| format!("place {} costs {cost}", place.get()))
        .collect::<Vec<_>>();
    let bound = config.maximum_boost.map_or_else(
        || "there is no maximum".to_owned(),
        |maximum| format!("the maximum is {maximum}"),
    );
    let choice = match chosen {
        Some((place, cost)) => format!("place {} is taken for {}", place.get(), count_connects(*cost)),
        None => "no place is within it, so the proposal goes without a boost".to_owned(),
    };
    steps.push(
        ExplanationStep::new(
            "boost",
            format!("In connects, {}; {bound}: {choice}.", prices.join(", ")),
        )
        .with(
            "standing",
            standing
                .iter()
                .take(4)
                .map(|boost| boost.get())
                .collect::<Vec<_>>(),
        )
        .with(
            "costs",
            costs.iter().map(|(_, cost)| cost.get()).collect::<Vec<_>>(),
        )
        .with("connectsAbovePrevious", config.connects_above_previous.get())
        .with("minBoost", optional(config.min_boost))
        .with("maximumBoost", optional(config.maximum_boost))
        .with(
            "place",
            chosen.map_or(Value::Null, |(place, _)| place.get().into()),
        )
        .with("boostConnects", chosen.map_or(0, |(_, cost)| cost.get())),
    );
    let (place, connects) = *chosen?;
    // A place that costs nothing needs no boost.
    (connects > Connects::ZERO).then_some(BoostPlan {
        connects,
        place: Some(place),
    })
}

fn cost_of(place: BoostedPlace, standing_highest_first: &[Connects], config: &EffectiveConfig) -> Connects {
    let holder = standing_highest_first
        .get(usize::from(place.get()) - 1)
        .copied()
        .unwrap_or(Connects::ZERO);
    holder
        .plus(config.connects_above_previous)
        .max(config.min_boost.unwrap_or(Connects::ZERO))
}

fn optional(connects: Option<Connects>) -> Value {
    connects.map_or(Value::Null, |connects| connects.get().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BiddingConfig, effective};
    use proptest::prelude::*;
    use serde_json::json;

    fn config(boosting: &Value) -> EffectiveConfig {
        let none = BiddingConfig::default();
        let on = json!({"boostingEnabled": true});
        let layer = |value: &Value| BiddingConfig::from_value(value, &["biddingConfig"]).unwrap();
        effective(&layer(boosting), &none, &layer(&on))
    }

    /// The connects of the boost (0: none) and its place, with plenty of balance.
    fn planned(boosting: &Value, standing: &[u64]) -> (u64, Option<u8>) {
        let plan = with_balance(boosting, standing, 6, 1_000_000).unwrap();
        (plan.connects.get(), plan.place.map(BoostedPlace::get))
    }

    fn with_balance(
        boosting: &Value,
        standing: &[u64],
        required: u64,
        balance: u64,
    ) -> Result<BoostPlan, ReasonCode> {
        let standing: Vec<Connects> = standing.iter().copied().map(Connects::new).collect();
        let outcome = boost(BoostInput {
            config: &config(boosting),
            standing: &standing,
            required: Connects::new(required),
            balance: Connects::new(balance),
        });
        assert!(!outcome.steps.is_empty(), "every decision is explained");
        outcome.plan.map_err(|reason| reason.code)
    }

    #[test]
    fn without_boosting_there_is_no_boost() {
        assert_eq!(
            planned(&json!({"boostingEnabled": false, "minBoost": 5}), &[3]),
            (0, None)
        );
    }

    #[test]
    fn with_no_maximum_the_last_place_worth_it_is_taken() {
        assert_eq!(planned(&json!({}), &[20, 15, 10, 5, 2]), (6, Some(4)));
        assert_eq!(
            planned(&json!({"boostDownToNthPlace": 2}), &[20, 15, 10, 5]),
            (16, Some(2))
        );
        assert_eq!(
            planned(
                &json!({"boostDownToNthPlace": 1, "connectsAbovePrevious": 3}),
                &[20]
            ),
            (23, Some(1))
        );
    }

    #[test]
    fn a_place_that_nobody_holds_costs_connects_above_previous() {
        assert_eq!(
            planned(&json!({"connectsAbovePrevious": 3}), &[20, 15]),
            (3, Some(4))
        );
        assert_eq!(
            planned(&json!({"connectsAbovePrevious": 3, "maximumBoost": 3}), &[]),
            (3, Some(1))
        );
    }

    #[test]
    fn the_cost_is_raised_to_the_minimum_boost() {
        assert_eq!(planned(&json!({"minBoost": 9}), &[20, 15, 10, 5]), (9, Some(4)));
        assert_eq!(
            planned(&json!({"minBoost": 9, "maximumBoost": 9}), &[9, 8, 2]),
            (9, Some(2))
        );
        assert_eq!(planned(&json!({"minBoost": 3}), &[20, 15, 10, 5]), (6, Some(4)));
    }

    #[test]
    fn the_best_place_within_the_maximum_is_taken() {
        let standing = [20, 15, 10, 5];
        for (maximum, expected) in [
            (100, (21, Some(1))),
            (21, (21, Some(1))),
            (20, (16, Some(2))),
            (15, (11, Some(3))),
            (6, (6, Some(4))),
        ] {
            assert_eq!(
                planned(&json!({"maximumBoost": maximum}), &standing),
                expected,
                "{maximum}"
            );
        }
    }

    #[test]
    fn with_no_place_within_the_maximum_there_is_no_boost() {
        assert_eq!(planned(&json!({"maximumBoost": 5}), &[20, 15, 10, 5]), (0, None));
        assert_eq!(
            planned(
                &json!({"maximumBoost": 15, "boostDownToNthPlace": 2}),
                &[20, 15, 10, 5]
            ),
            (0, None)
        );
        assert_eq!(planned(&json!({"maximumBoost": 0}), &[]), (0, None));
    }

    #[test]
    fn a_boost_that_is_too_dear_is_no_lack_of_connects() {
        let skip = json!({"maximumBoost": 5, "insufficientBoostConnectsAction": "skip"});
        assert_eq!(with_balance(&skip, &[20, 15, 10, 5], 6, 6), Ok(BoostPlan::NONE));
    }

    #[test]
    fn standing_boosts_are_taken_highest_first_in_whatever_order_they_come() {
        assert_eq!(
            planned(&json!({"maximumBoost": 16}), &[5, 20, 10, 15]),
            (16, Some(2))
        );
    }

    #[test]
    fn a_place_that_costs_nothing_is_held_without_a_boost() {
        assert_eq!(planned(&json!({"connectsAbovePrevious": 0}), &[20]), (0, None));
        assert_eq!(
            planned(&json!({"connectsAbovePrevious": 0, "maximumBoost": 20}), &[20]),
            (20, Some(1))
        );
    }

    #[test]
    fn the_jobs_own_connects_are_looked_at_first() {
        for boosting in [
            json!({"boostingEnabled": false}),
            json!({}),
            json!({"insufficientBoostConnectsAction": "skip"}),
        ] {
            assert_eq!(
                with_balance(&boosting, &[], 6, 5),
                Err(ReasonCode::InsufficientConnects),
                "{boosting}"
            );
        }
        assert_eq!(
            with_balance(&json!({"boostingEnabled": false}), &[], 6, 6),
            Ok(BoostPlan::NONE)
        );
        assert_eq!(
            with_balance(&json!({"boostingEnabled": false}), &[], 0, 0),
            Ok(BoostPlan::NONE)
        );
    }

    #[test]
    fn when_connects_do_not_suffice_for_the_boost_the_action_decides() {
        let skip = json!({"insufficientBoostConnectsAction": "skip"});
        let bid = json!({"insufficientBoostConnectsAction": "bid_without_boost"});
        let standing = [9, 9, 9, 9];
        assert_eq!(
            with_balance(&skip, &standing, 6, 15),
            Err(ReasonCode::InsufficientBoostConnects)
        );
        assert_eq!(with_balance(&bid, &standing, 6, 15), Ok(BoostPlan::NONE));
        let full = BoostPlan {
            connects: Connects::new(10),
            place: BoostedPlace::new(4),
        };
        assert_eq!(with_balance(&skip, &standing, 6, 16), Ok(full));
        assert_eq!(with_balance(&bid, &standing, 6, 16), Ok(full));
    }

    #[test]
    fn the_choice_is_explained_with_its_figures() {
        let config = config(&json!({"maximumBoost": 16, "minBoost": 2}));
        let outcome = boost(BoostInput {
            config: &config,
            standing: &[20, 15].map(Connects::new),
            required: Connects::new(1),
            balance: Connects::new(40),
        });
        let steps: Vec<&str> = outcome.steps.iter().map(|step| step.says.as_str()).collect();
        assert_eq!(
            steps,
            [
                "The job asks for 1 connect, the account has 40.",
                "In connects, place 1 costs 21, place 2 costs 16, place 3 costs 2, place 4 costs 2; the maximum is 16: place 2 is taken for 16 connects."
            ]
        );
        assert_eq!(outcome.steps[1].figures["costs"], json!([21, 16, 2, 2]));
    }

    proptest! {
        #[test]
        fn a_boost_is_never_above_the_maximum_below_the_minimum_or_beyond_the_balance(
            standing in prop::collection::vec(prop_oneof![4 => 0_u64..40, 1 => any::<u64>()], 0..8),
            required in prop_oneof![4 => 0_u64..30, 1 => any::<u64>()],
            balance in prop_oneof![4 => 0_u64..80, 1 => any::<u64>()],
            above in 0_u64..5, place in 1_u8..=4,
            bounds in (prop::option::of(0_u64..20), prop::option::of(0_u64..20)),
            skip in any::<bool>(),
        ) {
            let (min, max) = bounds;
            let action = if skip { "skip" } else { "bid_without_boost" };
            let boosting = json!({
                "minBoost": min, "maximumBoost": max, "connectsAbovePrevious": above, "boostDownToNthPlace": place,
                "insufficientBoostConnectsAction": action,
            });
            match with_balance(&boosting, &standing, required, balance) {
                Ok(plan) => {
                    let boost = plan.connects.get();
                    prop_assert!(u128::from(required) + u128::from(boost) <= u128::from(balance));
                    prop_assert!(boost <= max.unwrap_or(u64::MAX));
                    prop_assert!(boost == 0 || boost >= min.unwrap_or(0));
                    prop_assert_eq!(boost == 0, plan.place.is_none());
                    prop_assert!(plan.place.is_none_or(|held| held.get() <= place));
                }
                Err(ReasonCode::InsufficientConnects) => prop_assert!(required > balance),
                Err(code) => {
                    prop_assert_eq!(code, ReasonCode::InsufficientBoostConnects);
                    prop_assert!(skip && required <= balance);
                }
            }
        }
    }
}
