//! The amount that a proposal offers (decisions B5 and B6, `docs/rules.md#b5`).
//!
//! Owns the four strategies, their fallbacks, and the rounding. Does not own whether to bid at all
//! ([`decide`](super::decide)).

use rust_decimal::Decimal;
use serde_json::Value;

use super::job_terms::{JobTerms, known_dollars};
use crate::model::{
    EffectiveConfig, ExplanationStep, HourlyRateStrategy, PaymentKind, Percentage, Reason, ReasonCode, Terms,
    UsdCents, decimal_to_number as dollars, usd,
};

/// Whether the amount is for a real proposal or for a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OfferMode {
    /// A real proposal: `smart_bidding` may start from the middle of the job's range.
    Live,
    /// A dry run: without a known profile rate the amount is unknown (decision C1).
    DryRun,
}

/// The inputs of [`offer`].
#[derive(Debug, Clone, Copy)]
pub struct OfferInput<'a> {
    /// The configuration in force.
    pub config: &'a EffectiveConfig,
    /// What the job says about money.
    pub job: &'a JobTerms,
    /// The bidder account's profile rate in USD per hour. Zero or less counts as unknown.
    pub profile_rate: Option<f64>,
    /// For a real proposal or for a dry run.
    pub mode: OfferMode,
}

/// The result of [`offer`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OfferOutcome {
    /// The terms. If the amount is unknown or zero: [`ReasonCode::RateUnknown`] on an hourly job,
    /// [`ReasonCode::AmountUnknown`] on a fixed-price job.
    pub terms: Result<Terms, Reason>,
    /// Each step with its figures.
    pub steps: Vec<ExplanationStep>,
}

/// Computes the amount to offer on a job.
///
/// ```
/// use bidloop_domain::bidding::{JobTerms, OfferInput, OfferMode, offer};
/// use bidloop_domain::model::{BiddingConfig, effective};
/// use serde_json::json;
///
/// let none = BiddingConfig::default();
/// let request = json!({"biddingHourlyRateStrategy": "match_job_budget", "biddingHourlyRatePercentage": 90});
/// let request = BiddingConfig::from_value(&request, &["biddingConfig"]).unwrap();
/// let config = effective(&request, &none, &none);
/// let job = JobTerms::new(Some("Hourly"), Some(30.0), Some(50.5), None, None);
///
/// let outcome = offer(OfferInput { config: &config, job: &job, profile_rate: None, mode: OfferMode::Live });
/// assert_eq!(outcome.terms.unwrap().amount.to_string(), "45.45");
/// assert_eq!(outcome.steps[1].says, "90% of the upper end of the job's range, USD 50.50, is USD 45.45.");
/// ```
pub fn offer(input: OfferInput<'_>) -> OfferOutcome {
    let mut steps = Steps::new();
    let amount = match input.job.kind {
        PaymentKind::Fixed => fixed_price(input, &mut steps),
        PaymentKind::Hourly => hourly_rate(input, &mut steps),
    };
    let kind = input.job.kind;
    // An amount of zero means that a figure was missing (decision B5).
    let terms = match amount {
        Ok(amount) if amount > UsdCents::ZERO => Ok(Terms { kind, amount }),
        Ok(_) => Err("the amount comes out as zero, which counts as unknown".to_owned()),
        Err(unknown) => Err(unknown),
    };
    let terms = terms.map_err(|unknown| {
        let code = match kind {
            PaymentKind::Hourly => ReasonCode::RateUnknown,
            PaymentKind::Fixed => ReasonCode::AmountUnknown,
        };
        steps.push(ExplanationStep::new(
            "amount_unknown",
            format!("No amount to offer: {unknown}."),
        ));
        Reason::new(code, unknown)
    });
    OfferOutcome { terms, steps }
}

/// An amount in cents, or why it is unknown.
type Amount = Result<UsdCents, String>;

fn fixed_price(input: OfferInput<'_>, steps: &mut Steps) -> Amount {
    let price = input
        .job
        .fixed_price
        .ok_or("the fixed-price job names no price")?;
    steps.push(
        ExplanationStep::new("job_price", format!("The job's fixed price is {}.", usd(price)))
            .with("fixedPrice", dollars(price)),
    );
    match input.config.bidding_hourly_rate_strategy {
        HourlyRateStrategy::MatchJobBudget => share(input.config, price, "the job's price", steps),
        _ => rounded(price, steps),
    }
}

fn hourly_rate(input: OfferInput<'_>, steps: &mut Steps) -> Amount {
    let config = input.config;
    let strategy = config.bidding_hourly_rate_strategy;
    let source = config.source_of("biddingHourlyRateStrategy");
    steps.push(
        ExplanationStep::new(
            "strategy",
            format!("The rate is chosen by {strategy} (from {source})."),
        )
        .with("strategy", strategy.as_str()),
    );
    match strategy {
        HourlyRateStrategy::MatchJobBudget => match_job_budget(input, steps),
        HourlyRateStrategy::MatchProfileRate => {
            let profile_rate = needed_profile_rate(input)?;
            share(config, profile_rate, "the profile rate", steps)
        }
        HourlyRateStrategy::FixedRate => {
            let rate = config.bidding_fixed_hourly_rate.ok_or("no fixed rate is set")?;
            let source = config.source_of("biddingFixedHourlyRate");
            steps.push(
                ExplanationStep::new(
                    "fixed_rate",
                    format!("The fixed rate is {} (from {source}).", usd(rate.to_decimal())),
                )
                .with("biddingFixedHourlyRate", dollars(rate.to_decimal())),
            );
            rounded(rate.to_decimal(), steps)
        }
        HourlyRateStrategy::SmartBidding => smart_bidding(input, steps),
    }
}

fn match_job_budget(input: OfferInput<'_>, steps: &mut Steps) -> Amount {
    let (reference, name) = match (input.job.upper_rate, input.job.lower_rate) {
        (Some(upper), _) => (upper, "the upper end of the job's range"),
        (None, Some(lower)) => (
            lower,
            "the lower end of the job's range (its upper end is unknown)",
        ),
        (None, None) => (
            needed_profile_rate(input)?,
            "the profile rate (the job names no range)",
        ),
    };
    share(input.config, reference, name, steps)
}

fn smart_bidding(input: OfferInput<'_>, steps: &mut Steps) -> Amount {
    let job = input.job;
    let mut rate = smart_start(input, steps)?;

    if let Some(moved) = into_range(rate, job) {
        steps.push(
            ExplanationStep::new(
                "job_range",
                format!(
                    "Moved into the job's range, {}, it is {}.",
                    range_text(job),
                    usd(moved)
                ),
            )
            .with("min", optional_dollars(job.lower_rate))
            .with("max", optional_dollars(job.upper_rate))
            .with("rate", dollars(moved)),
        );
        rate = moved;
    }

    if let Some(average) = job.client_average_rate
        && average < rate
    {
        let halfway = midpoint(rate, average);
        let moved = job.lower_rate.map_or(halfway, |lower| halfway.max(lower));
        let held = if moved > halfway {
            ", but not below the range's lower end"
        } else {
            ""
        };
        steps.push(
            ExplanationStep::new(
                "client_average",
                format!(
                    "The client pays {} on average: halfway towards that{held}, it is {}.",
                    usd(average),
                    usd(moved)
                ),
            )
            .with("avgHourlyRatePaid", dollars(average))
            .with("rate", dollars(moved)),
        );
        rate = moved;
    }

    let amount = rounded(rate, steps)?;
    let Some(floor) = input.config.bidding_min_hourly_rate else {
        return Ok(amount);
    };
    // The amount is never below the floor (the specification's `biddingMinHourlyRate`), so a floor with a fraction
    // of a cent is rounded up.
    let lowest = floor.rounded_up();
    if amount >= lowest {
        return Ok(amount);
    }
    steps.push(
        ExplanationStep::new(
            "floor",
            format!(
                "Raised to the lowest rate allowed, {} (from {}).",
                usd(floor.to_decimal()),
                input.config.source_of("biddingMinHourlyRate")
            ),
        )
        .with("biddingMinHourlyRate", dollars(floor.to_decimal()))
        .with("rate", lowest.to_number()),
    );
    Ok(lowest)
}

/// The start of `smart_bidding`: the profile rate, or else the middle of the job's range.
fn smart_start(input: OfferInput<'_>, steps: &mut Steps) -> Result<Decimal, String> {
    if let Some(profile_rate) = known_dollars(input.profile_rate) {
        steps.push(
            ExplanationStep::new(
                "profile_rate",
                format!("The profile rate is {}.", usd(profile_rate)),
            )
            .with("profileRate", dollars(profile_rate)),
        );
        return Ok(profile_rate);
    }
    if input.mode == OfferMode::DryRun {
        return Err("the profile rate is unknown".to_owned());
    }
    let (start, name) = match (input.job.lower_rate, input.job.upper_rate) {
        (Some(lower), Some(upper)) => (midpoint(lower, upper), "the middle of the job's range"),
        (Some(lower), None) => (lower, "the lower end of the job's range, its only known one"),
        (None, Some(upper)) => (upper, "the upper end of the job's range, its only known one"),
        (None, None) => return Err("the profile rate is unknown and the job names no range".to_owned()),
    };
    steps.push(
        ExplanationStep::new(
            "range_start",
            format!(
                "The profile rate is unknown; {name}, {}, stands in for it.",
                usd(start)
            ),
        )
        .with("min", optional_dollars(input.job.lower_rate))
        .with("max", optional_dollars(input.job.upper_rate))
        .with("rate", dollars(start)),
    );
    Ok(start)
}

/// The rate moved to the nearer end of the range; `None` if it lies within.
fn into_range(rate: Decimal, job: &JobTerms) -> Option<Decimal> {
    match (job.lower_rate, job.upper_rate) {
        (Some(lower), _) if rate < lower => Some(lower),
        (_, Some(upper)) if rate > upper => Some(upper),
        _ => None,
    }
}

fn range_text(job: &JobTerms) -> String {
    match (job.lower_rate, job.upper_rate) {
        (Some(lower), Some(upper)) => format!("{} to {}", usd(lower), usd(upper)),
        (Some(lower), None) => format!("{} and more", usd(lower)),
        (None, Some(upper)) => format!("up to {}", usd(upper)),
        (None, None) => "open".to_owned(),
    }
}

fn needed_profile_rate(input: OfferInput<'_>) -> Result<Decimal, String> {
    known_dollars(input.profile_rate).ok_or_else(|| "the profile rate is unknown".to_owned())
}

/// The configured percentage of a reference rate. Bid rule 2 ensures that a percentage is set; without one the amount
/// is unknown.
fn share(config: &EffectiveConfig, reference: Decimal, name: &str, steps: &mut Steps) -> Amount {
    let percentage: Percentage = config
        .bidding_hourly_rate_percentage
        .ok_or("no percentage is set")?;
    let amount = percentage.of(reference).ok_or("the amount is too large")?;
    steps.push(
        ExplanationStep::new(
            "percentage",
            format!(
                "{percentage} of {name}, {}, is {}.",
                usd(reference),
                usd(amount.to_decimal())
            ),
        )
        .with("biddingHourlyRatePercentage", percentage.to_number())
        .with("reference", dollars(reference))
        .with("amount", amount.to_number()),
    );
    Ok(amount)
}

fn rounded(rate: Decimal, steps: &mut Steps) -> Amount {
    let amount = UsdCents::from_decimal(rate).ok_or("the amount is too large")?;
    if amount.to_decimal() != rate {
        steps.push(
            ExplanationStep::new(
                "rounding",
                format!("Rounded half up to the cent, it is {}.", usd(amount.to_decimal())),
            )
            .with("amount", amount.to_number()),
        );
    }
    Ok(amount)
}

fn midpoint(one: Decimal, other: Decimal) -> Decimal {
    // Both are at most `UsdCents::MAX`, so neither step can overflow.
    one.checked_add(other)
        .and_then(|sum| sum.checked_div(Decimal::TWO))
        .unwrap_or(one)
}

fn optional_dollars(amount: Option<Decimal>) -> Value {
    amount.map_or(Value::Null, |amount| dollars(amount).into())
}

type Steps = Vec<ExplanationStep>;

#[cfg(test)]
#[path = "rate_tests.rs"]
mod tests;
