//! Rules 2 and 3 of the bid operation: a strategy's rate must be set somewhere.

use super::validation_fault::{ValidationCode, ValidationFault};
use crate::model::{EffectiveConfig, HourlyRateStrategy};

/// The fault of a strategy whose percentage or fixed rate no layer sets (the specification's bid rules 2 and 3,
/// `docs/rules.md#bid-2`). It does not depend on the job's kind.
///
/// ```
/// use bidloop_domain::bidding::{ValidationCode, check_required_rates};
/// use bidloop_domain::model::{BiddingConfig, effective};
/// use serde_json::json;
///
/// let none = BiddingConfig::default();
/// let layer = |value| BiddingConfig::from_value(&value, &["biddingConfig"]).unwrap();
/// let request = layer(json!({"biddingHourlyRateStrategy": "match_job_budget"}));
///
/// let fault = check_required_rates(&effective(&request, &none, &none)).unwrap();
/// assert_eq!(fault.code, ValidationCode::RatePercentageRequired);
///
/// let campaign = layer(json!({"biddingHourlyRatePercentage": 90}));
/// assert_eq!(check_required_rates(&effective(&request, &none, &campaign)), None);
/// ```
pub fn check_required_rates(config: &EffectiveConfig) -> Option<ValidationFault> {
    let (code, field) = match config.bidding_hourly_rate_strategy {
        HourlyRateStrategy::MatchJobBudget | HourlyRateStrategy::MatchProfileRate
            if config.bidding_hourly_rate_percentage.is_none() =>
        {
            (
                ValidationCode::RatePercentageRequired,
                "biddingHourlyRatePercentage",
            )
        }
        HourlyRateStrategy::FixedRate if config.bidding_fixed_hourly_rate.is_none() => {
            (ValidationCode::FixedRateRequired, "biddingFixedHourlyRate")
        }
        _ => return None,
    };
    Some(ValidationFault {
        path: vec!["biddingConfig".to_owned(), field.to_owned()],
        code,
        message: format!(
            "the strategy {} (set by {}) needs {field} in the request, the lead or the campaign",
            config.bidding_hourly_rate_strategy,
            config.source_of("biddingHourlyRateStrategy"),
        ),
        options: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BiddingConfig, effective};
    use serde_json::{Value, json};

    fn fault(request: &Value, lead: &Value, campaign: &Value) -> Option<(ValidationCode, String)> {
        let [request, lead, campaign] = [request, lead, campaign]
            .map(|value| BiddingConfig::from_value(value, &["biddingConfig"]).unwrap());
        check_required_rates(&effective(&request, &lead, &campaign))
            .map(|fault| (fault.code, fault.path.join(".")))
    }

    #[test]
    fn rule_2_both_matching_strategies_need_a_percentage_from_any_layer() {
        for strategy in ["match_job_budget", "match_profile_rate"] {
            let asked = json!({"biddingHourlyRateStrategy": strategy, "biddingFixedHourlyRate": 40});
            let rate = json!({"biddingHourlyRatePercentage": 0});
            let missing = Some((
                ValidationCode::RatePercentageRequired,
                "biddingConfig.biddingHourlyRatePercentage".to_owned(),
            ));
            assert_eq!(fault(&asked, &json!({}), &json!({})), missing);
            assert_eq!(fault(&json!({}), &json!({}), &asked), missing);
            assert_eq!(
                fault(&json!({"biddingHourlyRatePercentage": null}), &asked, &json!({})),
                missing
            );
            assert_eq!(fault(&rate, &json!({}), &asked), None);
            assert_eq!(fault(&asked, &rate, &json!({})), None);
            assert_eq!(fault(&asked, &json!({}), &rate), None);
        }
    }

    #[test]
    fn rule_3_the_fixed_strategy_needs_a_fixed_rate_from_any_layer() {
        let asked = json!({"biddingHourlyRateStrategy": "fixed_rate", "biddingHourlyRatePercentage": 90});
        let rate = json!({"biddingFixedHourlyRate": 40});
        let missing = Some((
            ValidationCode::FixedRateRequired,
            "biddingConfig.biddingFixedHourlyRate".to_owned(),
        ));
        assert_eq!(fault(&asked, &json!({}), &json!({})), missing);
        assert_eq!(fault(&rate, &json!({}), &asked), None);
        assert_eq!(fault(&asked, &rate, &json!({})), None);
        assert_eq!(fault(&asked, &json!({}), &rate), None);
    }

    #[test]
    fn smart_bidding_needs_no_rate() {
        assert_eq!(fault(&json!({}), &json!({}), &json!({})), None);
    }
}
