//! What a dry run computes (decision C1, `docs/rules.md#c1`).

use super::job_terms::JobTerms;
use super::rate::{OfferInput, OfferMode, offer};
use crate::model::{Connects, EffectiveConfig, ExplanationStep, TermsJson};

/// What a real bid would offer, as far as it is known without asking the marketplace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// The terms; their amount may be unknown.
    pub terms: TermsJson,
    /// Zero when boosting is off; `None` when it is on, since the boosts on the job are not known.
    pub boost_connects: Option<Connects>,
    /// Each step with its figures.
    pub steps: Vec<ExplanationStep>,
}

/// Simulates a bid. `profile_rate` is the account's last known one, in USD per hour.
///
/// ```
/// use bidloop_domain::bidding::{JobTerms, simulate};
/// use bidloop_domain::model::{BiddingConfig, Connects, effective};
///
/// let none = BiddingConfig::default();
/// let config = effective(&none, &none, &none);
/// let job = JobTerms::new(Some("Hourly"), Some(30.0), Some(50.0), None, None);
///
/// assert_eq!(simulate(&config, &job, None).terms.amount, None, "the profile rate is unknown");
/// let known = simulate(&config, &job, Some(45.5));
/// assert_eq!(serde_json::to_string(&known.terms).unwrap(), r#"{"type":"hourly","amount":45.5}"#);
/// assert_eq!(known.boost_connects, Some(Connects::ZERO));
/// ```
pub fn simulate(config: &EffectiveConfig, job: &JobTerms, profile_rate: Option<f64>) -> DryRun {
    let outcome = offer(OfferInput {
        config,
        job,
        profile_rate,
        mode: OfferMode::DryRun,
    });
    let mut steps = outcome.steps;
    let source = config.source_of("boostingEnabled");
    let boost_connects = if config.boosting_enabled {
        steps.push(ExplanationStep::new(
            "boost_unknown",
            format!("Boosting is on (from {source}); a dry run does not ask what boosts stand on the job."),
        ));
        None
    } else {
        steps.push(ExplanationStep::new(
            "boost_off",
            format!("Boosting is off (from {source})."),
        ));
        Some(Connects::ZERO)
    };
    let amount = outcome.terms.ok().map(|terms| terms.amount);
    DryRun {
        terms: TermsJson {
            kind: job.kind,
            amount,
        },
        boost_connects,
        steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{BiddingConfig, UsdCents, effective};
    use serde_json::{Value, json};

    fn simulated(request: &Value, job: &JobTerms, profile_rate: Option<f64>) -> DryRun {
        let none = BiddingConfig::default();
        let request = BiddingConfig::from_value(request, &["biddingConfig"]).unwrap();
        simulate(&effective(&request, &none, &none), job, profile_rate)
    }

    #[test]
    fn the_boost_is_unknown_when_boosting_is_on_and_zero_when_off() {
        let job = JobTerms::new(Some("Fixed"), None, None, Some(300.0), None);
        assert_eq!(
            simulated(&json!({"boostingEnabled": true, "minBoost": 3}), &job, None).boost_connects,
            None
        );
        assert_eq!(
            simulated(&json!({"minBoost": 3}), &job, None).boost_connects,
            Some(Connects::ZERO)
        );
    }

    #[test]
    fn a_fixed_price_is_known_without_a_profile_rate() {
        let job = JobTerms::new(Some("Fixed"), None, None, Some(300.0), None);
        assert_eq!(
            simulated(&json!({}), &job, None).terms.amount,
            Some(UsdCents::from_cents(30_000))
        );
    }

    #[test]
    fn an_unknown_amount_is_null_beside_its_type() {
        for (payment_type, word) in [("Hourly", "hourly"), ("Fixed-price", "fixed")] {
            let job = JobTerms::new(Some(payment_type), Some(20.0), Some(40.0), None, None);
            let terms = simulated(&json!({}), &job, None).terms;
            assert_eq!(
                serde_json::to_value(terms).unwrap(),
                json!({"type": word, "amount": null})
            );
        }
    }
}
